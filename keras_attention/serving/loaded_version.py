"""One version of an exported model, loaded to be asked by many threads.

It is loaded into a session, as TensorFlow Serving does it, and not by `tf.saved_model.load`: that
builds a Python object for everything in the graph, which takes four times as long, all of it while
no other thread can run, and is never wholly given back.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import json_format

from keras_attention._runtime.plain_paths import plain_path
from keras_attention.folders.export_layout import SOURCE_VOCABULARY
from keras_attention.folders.saved_model_files import read_meta_graph
from keras_attention.serving.statuses import StatusError
from keras_attention.text.vocabulary import Vocabulary

DEFAULT_SIGNATURE = "serving_default"

_INITIALISER = "__saved_model_init_op"

# One text, and a batch of unequal lengths with an empty one: run once before a version is served.
_WARM_UP = ([b"1"], [b"", b"1", b"12345678901234567890"])


class Signature:
    """One signature of a loaded SavedModel; may be called by several threads at once.

    Attributes:
        name: Its name.
        input_name: Of its one input, strings `[n]`.
        joins: Whether a row of its outputs has the same size whatever the other rows are.
    """

    def __init__(self, name: str, definition, session: tf.compat.v1.Session):
        self.name = name
        ((self.input_name, fed),) = definition.inputs.items()
        self._output_names = sorted(definition.outputs)
        outputs = [definition.outputs[name] for name in self._output_names]
        shapes = [[dim.size for dim in output.tensor_shape.dim] for output in outputs]
        self.joins = all(-1 not in shape[1:] for shape in shapes)
        self._call = session.make_callable([output.name for output in outputs], [fed.name])

    def __call__(self, texts: list[bytes]) -> dict[str, np.ndarray]:
        """The outputs for some texts, by name, a row for each.

        Raises:
            StatusError: they are more than the graph itself allows in one batch.
        """
        column = np.empty(len(texts), object)
        column[:] = texts
        try:
            return dict(zip(self._output_names, self._call(column), strict=True))
        except tf.errors.InvalidArgumentError:
            # The one assertion in the graph. TensorFlow's message is long, and ours stays ours.
            raise StatusError(
                "The texts are too many or too long for one batch of this model"
            ) from None


class SourceTokens:
    """The tokens that a version's sources are made of; all others are unknown to it.

    Args:
        description: `kind`, `normal_form` and `tokens` as `SOURCE_VOCABULARY` holds them.
    """

    def __init__(self, description: Mapping[str, Any]):
        tokens = tuple(description["tokens"])
        self._vocabulary = Vocabulary(description["kind"], tokens, description["normal_form"])
        self._known = frozenset(tokens)

    def count(self, text: bytes) -> tuple[int, int]:
        """How many tokens a text has, and how many of them are unknown."""
        tokens = self._vocabulary.split(text.decode("utf-8", "replace"))
        return len(tokens), sum(token not in self._known for token in tokens)


class LoadedVersion:
    """A version that can be asked.

    Args:
        number: Its number.
        folder: Its folder. It may go away once this is made.
        threads: Calls that will run at once.

    Attributes:
        number: As given.
        signatures: `Signature` by name.
        metadata: The signature definitions as TensorFlow Serving's metadata reply has them.
        source_tokens: What it knows, or None where its folder does not say.

    Raises:
        One of `DAMAGED`: the folder cannot be read, or a signature not be called.
    """

    def __init__(self, number: int, folder: pathlib.Path, threads: int = 1):
        self.number = number
        meta_graph = read_meta_graph(folder)
        definitions = meta_graph.signature_def
        self.metadata = {
            name: json_format.MessageToDict(
                definition,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            )
            for name, definition in sorted(definitions.items())
        }
        self.source_tokens = _source_tokens(folder)
        self._session = _load(meta_graph, folder, threads)
        try:
            self.signatures = {
                name: Signature(name, definition, self._session)
                for name, definition in definitions.items()
                if definition.inputs
            }
            for signature in self.signatures.values():
                for texts in _WARM_UP:
                    signature(texts)
        except BaseException:
            self.close()
            raise

    def signature(self, name: str) -> Signature:
        """The signature called `name`, the default one for "".

        Raises:
            StatusError: there is none.
        """
        name = name or DEFAULT_SIGNATURE
        if name in self.signatures:
            return self.signatures[name]
        if name in self.metadata:  # the initialiser, which takes nothing
            raise StatusError(f"Failed to get input map for signature: {name}")
        raise StatusError(f'Serving signature name: "{name}" not found in signature def')

    def close(self) -> None:
        """Gives the memory of the variables back; no call may run or follow."""
        self._session.close()


def _load(meta_graph, folder: pathlib.Path, threads: int) -> tf.compat.v1.Session:
    """A session of its own graph that holds the model.

    One thread for each call that runs: more would only wait for each other in so small a model,
    which costs a fifth of the time of a call.
    """
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=threads, intra_op_parallelism_threads=1
    )
    graph = tf.Graph()
    session = tf.compat.v1.Session(graph=graph, config=config)
    try:
        with graph.as_default(), plain_path(folder) as path:
            saver = tf.compat.v1.train.import_meta_graph(meta_graph)
            saver.restore(session, str(path / "variables" / "variables"))
            if _INITIALISER in meta_graph.signature_def:  # of tables
                outputs = meta_graph.signature_def[_INITIALISER].outputs
                files = {
                    asset.tensor_info.name: str(path / "assets" / asset.filename)
                    for asset in meta_graph.asset_file_def
                }
                session.run(outputs[_INITIALISER].name, files)
    except BaseException:
        session.close()
        raise
    return session


def _source_tokens(folder: pathlib.Path) -> SourceTokens | None:
    try:
        content = (folder / SOURCE_VOCABULARY).read_text(encoding="utf-8")
    except FileNotFoundError:  # exports of earlier versions have none
        return None
    return SourceTokens(json.loads(content))
