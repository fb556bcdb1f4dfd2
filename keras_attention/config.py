"""Every option of a run: one frozen, documented, validated dataclass, to and from JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import pathlib
import types
import typing
from collections.abc import Collection
from typing import Any, Literal

from keras_attention.errors import UserError

# Of each variable's gradient: far above what a healthy step shows, so that it only cuts explosions.
DEFAULT_CLIPNORM = 1.0
DEFAULT_DATA = "data/dates"
# Epochs, where nobody names them: enough steps to learn, whether there are many pairs or few.
DEFAULT_STEPS, LEAST_EPOCHS, MOST_EPOCHS = 1300, 2, 100

# What TensorFlow's float32 and int32 hold.
_LARGEST_FLOAT = 3.4e38
_LARGEST_INT = 2**31 - 1


class _Unasked(float):
    """A default that stands where nobody gave a number, and makes way for another option."""


# What `--freeze` can name; see `models.warm_start`.
FREEZABLE = (
    *("source_embedding", "encoder", "target_embedding", "decoder"),
    *("attention", "attentional_layer", "affine"),
)


def _option(
    default,
    group: str,
    help: str,
    choices: tuple[str, ...] = (),
    least=None,
    below=None,
    metavar: str = "PATH",
):
    return dataclasses.field(
        default=default,
        metadata={
            "group": group,
            "help": help,
            "choices": choices,
            "least": least,
            "below": below,
            "metavar": metavar,
        },
    )


@dataclasses.dataclass(frozen=True)
class Config:
    """The options of `train.py`, in the groups and with the defaults that `--help` shows.

    Raises:
        UserError: an option is out of range, or two options contradict each other.
    """

    data: str = _option(
        DEFAULT_DATA,
        "Run",
        "folder with train.tsv, valid.tsv, test.tsv, or one .tsv file that --seed splits 80/10/10",
    )
    data_name: str | None = _option(
        None, "Run", "what the data are called, for the model card", metavar="NAME"
    )
    data_license: str | None = _option(
        None,
        "Run",
        "the licence of the data, for the model card; as model hubs write it, such as cc-by-sa-3.0",
        metavar="LICENCE",
    )
    out: str = _option("runs/dates", "Run", "the run folder to write")
    seed: int = _option(1, "Run", "of initial weights, dropout, batch order and the split", least=0)
    resume: bool = _option(
        False,
        "Run",
        "go on where the run in --out stopped, or for more --epochs; starts afresh where there is "
        "no run",
    )
    overwrite: bool = _option(False, "Run", "replace the run in --out")

    source_tokens: Literal["char", "word", "subword"] = _option(
        "char",
        "Tokens",
        "what a source is cut into; subword: frequent pieces of words, learned from the training "
        "pairs",
        choices=("char", "word", "subword"),
    )
    target_tokens: Literal["char", "word", "subword"] = _option(
        "char", "Tokens", "what a target is cut into", choices=("char", "word", "subword")
    )
    subwords: int = _option(
        8000,
        "Tokens",
        "pieces to learn for a side of subwords, single characters included",
        least=1,
    )
    joint: bool = _option(
        False, "Tokens", "learn the same subwords for both sides, from sources and targets together"
    )
    source_form: str = _option(
        "none",
        "Tokens",
        "Unicode normal form that sources are brought into before they are cut; NFD turns Hangul "
        "syllables and accented letters into their parts",
        choices=("none", "NFC", "NFD"),
    )
    reverse_source: bool = _option(
        False, "Tokens", "let the encoder read from the end, as the book does; undone in all output"
    )
    unknown_rate: float = _option(
        0.001,
        "Tokens",
        "share of source tokens replaced by the unknown token in training, so that it is trained",
        least=0.0,
        below=1.0,
    )
    longest_output: int | None = _option(
        None,
        "Tokens",
        "tokens after which decoding stops; by default a quarter more than the longest target",
        least=1,
    )

    encoder: str = _option("lstm", "Model", "recurrent cell of both sides", choices=("lstm", "gru"))
    bidirectional: bool = _option(
        True, "Model", "let the encoder read both ways, each with half the units"
    )
    layers: int = _option(1, "Model", "recurrent layers on each side", least=1)
    units: int = _option(128, "Model", "width of the recurrent layers", least=1)
    embedding_size: int = _option(32, "Model", "width of the token embeddings", least=1)
    attention: str = _option(
        "dot",
        "Model",
        "score of the attention; 'none' is the plain fixed-vector model, 'peeky' shows that vector "
        "to every decoder step",
        choices=("none", "peeky", "dot", "scaled_dot", "general", "additive"),
    )
    attention_normalizer: str = _option(
        "softmax",
        "Model",
        "scores into attention weights; sparsemax and entmax15 give weights of exactly 0; needs "
        "attention",
        choices=("softmax", "sparsemax", "entmax15"),
    )
    attentional_layer: bool = _option(
        False,
        "Model",
        "mix context and state by a layer of --units with tanh before the affine layer (Luong et "
        "al., 2015, equation 5); needs attention",
    )
    initial_state: str = _option(
        "full",
        "Model",
        "what starts the decoder: the encoder's full last state, or only its hidden state h, "
        "as in the book",
        choices=("full", "hidden"),
    )

    epochs: int | None = _option(
        None,
        "Training",
        f"passes over the training pairs; by default as many as make {DEFAULT_STEPS:,} steps, but "
        f"at least {LEAST_EPOCHS} and at most {MOST_EPOCHS}",
        least=1,
    )
    shuffle_buffer: int = _option(
        100_000,
        "Training",
        "training pairs held in memory and shuffled together; more than these stream from the "
        "folder's files",
        least=1,
    )
    batch_size: int = _option(64, "Training", "pairs per step, over all workers together", least=1)
    learning_rate: float = _option(
        4e-3, "Training", "of Adam at its highest; it falls to 0 along a cosine", least=0.0
    )
    warmup: float = _option(
        0.0,
        "Training",
        "share of all steps in which the learning rate rises to its highest",
        least=0.0,
        below=1.0,
    )
    clipnorm: float | None = _option(
        None,
        "Training",
        f"largest norm of each variable's gradient, {DEFAULT_CLIPNORM:g} by default; 0 switches "
        "clipping off",
        least=0.0,
    )
    global_clipnorm: float | None = _option(
        None,
        "Training",
        "largest norm of all gradients together, in place of --clipnorm; the book clips so, at 5",
        least=0.0,
    )
    dropout: float = _option(
        0.1,
        "Training",
        "on source embeddings, between layers, and before the affine layer",
        least=0.0,
        below=1.0,
    )
    decoder_input_dropout: float = _option(
        0.4,
        "Training",
        "on the decoder's input embeddings; keeps it from reciting training targets",
        least=0.0,
        below=1.0,
    )
    label_smoothing: float = _option(
        0.0, "Training", "share of the target's probability spread evenly", least=0.0, below=1.0
    )
    patience: int = _option(
        5, "Training", "epochs without a better validation result before training stops", least=1
    )
    select_by: str = _option(
        "auto",
        "Training",
        "validation result by which the best epoch is chosen, whose weights are kept; auto: exact "
        "match where a fifth of the answers is right, else chrF",
        choices=("auto", "exact_match", "token_error_rate", "loss", "bleu", "chrf"),
    )

    init_from: str | None = _option(
        None,
        "Training",
        "start from the weights of this finished run: the options of the model and its tokens are "
        "that run's, its tokens stay, those of the new data are added",
        metavar="RUN",
    )
    freeze: str | None = _option(
        None,
        "Training",
        f"parts that --init-from's weights keep, joined by commas: {', '.join(FREEZABLE)}",
        metavar="PART,PART",
    )

    def __post_init__(self):
        if isinstance(self.clipnorm, _Unasked) and self.global_clipnorm is not None:
            object.__setattr__(self, "clipnorm", None)
        if self.clipnorm is not None and self.global_clipnorm is not None:
            raise UserError(
                "--clipnorm: cannot be given together with --global-clipnorm; choose one. "
                f"Received: clipnorm={self.clipnorm}, global_clipnorm={self.global_clipnorm}"
            )
        if self.clipnorm is None and self.global_clipnorm is None:
            object.__setattr__(self, "clipnorm", _Unasked(DEFAULT_CLIPNORM))
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, checked(field, getattr(self, field.name)))
        if self.learning_rate == 0:
            raise UserError("--learning-rate: must be above 0. Received: learning_rate=0")
        if self.attentional_layer and not self.has_attention:
            raise UserError(
                "--attentional-layer: needs a model with attention; leave it out. "
                f"Received: attention={self.attention!r}"
            )
        if self.attention_normalizer != "softmax" and not self.has_attention:
            raise UserError(
                "--attention-normalizer: needs a model with attention; leave it out. "
                f"Received: attention={self.attention!r}"
            )
        if self.bidirectional and self.units % 2:
            raise UserError(
                "--units: must be even with --bidirectional, since each direction gets half. "
                f"Received: units={self.units}"
            )
        if self.joint and (self.source_tokens, self.target_tokens) != ("subword", "subword"):
            raise UserError(
                "--joint: needs --source-tokens subword and --target-tokens subword. Received: "
                f"source_tokens={self.source_tokens!r}, target_tokens={self.target_tokens!r}"
            )
        self._check_frozen()
        if self.resume and self.overwrite:
            raise UserError("--resume: cannot be given together with --overwrite; choose one")

    def _check_frozen(self) -> None:
        if self.freeze is None:
            return
        unknown = [part for part in self.frozen_parts if part not in FREEZABLE]
        if unknown:
            raise UserError(
                f"--freeze: must be parts of {', '.join(FREEZABLE)}, joined by commas. "
                f"Received: freeze={self.freeze!r}"
            )
        if self.init_from is None:
            raise UserError(
                "--freeze: needs --init-from; parts of an untrained model would never be trained"
            )

    @property
    def frozen_parts(self) -> tuple[str, ...]:
        """The names in `freeze`."""
        return () if self.freeze is None else tuple(self.freeze.split(","))

    @property
    def has_attention(self) -> bool:
        """Whether the model has attention weights at all."""
        return self.attention not in ("none", "peeky")

    def epochs_for(self, batches: int) -> int:
        """`epochs`, or where they are left open as many as suit so many batches."""
        if self.epochs is not None:
            return self.epochs
        return min(max(math.ceil(DEFAULT_STEPS / batches), LEAST_EPOCHS), MOST_EPOCHS)

    def filled_in(self, name: Literal["epochs", "longest_output"]) -> int:
        """A number that training fills in where it is left open, in the config of a run.

        Args:
            name: Of the option.

        Raises:
            ValueError: it is still open.
        """
        number: int | None = getattr(self, name)
        if number is None:
            raise ValueError(f"{name} must be filled in, as in a run. Received: {name}=None")
        return number

    def to_json(self) -> str:
        # ASCII, since a path may hold bytes that are no UTF-8.
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


# A run from before these options existed was trained as their defaults say.
ADDED_FIELDS = frozenset(
    {
        *("source_form", "attention_normalizer", "attentional_layer", "shuffle_buffer", "warmup"),
        *("select_by", "subwords", "joint"),
        *("data_name", "data_license", "init_from", "freeze"),
    }
)

# What a run that starts from another one's weights must have in common with it.
SHAPE_FIELDS = (
    *("source_tokens", "target_tokens", "joint", "source_form", "reverse_source"),
    *("encoder", "bidirectional", "layers", "units", "embedding_size"),
    *("attention", "attention_normalizer", "attentional_layer", "initial_state"),
)

# What training fills in where it is left open: a run holds the numbers.
RESOLVED_FIELDS = frozenset({"epochs", "longest_output"})

# What may differ between a run and its resumption: where things lie, not what is computed.
PLACE_FIELDS = frozenset({"data", "out", "resume", "overwrite"})


def flag_of(field: dataclasses.Field) -> str:
    """`batch_size` → `--batch-size`."""
    return "--" + field.name.replace("_", "-")


def checked(field: dataclasses.Field, value: Any) -> Any:
    """The value of an option, an integer made a float where a float is due.

    Raises:
        UserError: it has another type or is out of range; the message begins with the flag.
    """
    flag = flag_of(field)
    kind: Any
    kind, optional = type_of(field)
    if value is None and optional:
        return None
    if kind is float and type(value) is int and abs(value) <= _LARGEST_FLOAT:
        value = float(value)
    received = f"Received: {field.name}={value!r}"
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UserError(f"{flag}: must be of type {kind.__name__}. {received}")
    choices, least = field.metadata["choices"], field.metadata["least"]
    below = field.metadata["below"]
    if choices and value not in choices:
        raise UserError(f"{flag}: must be one of {', '.join(choices)}. {received}")
    if kind is str and (not value or "\0" in value):
        what = "a path" if field.metadata["metavar"] in ("PATH", "RUN") else "a text"
        raise UserError(f"{flag}: must be {what}. {received}")
    if kind is float and not abs(value) <= _LARGEST_FLOAT:
        raise UserError(f"{flag}: must be finite. {received}")
    if kind is int and value > _LARGEST_INT:
        raise UserError(f"{flag}: must be at most {_LARGEST_INT}. {received}")
    if least is not None and value < least:
        raise UserError(f"{flag}: must be at least {least}. {received}")
    if below is not None and value >= below:
        raise UserError(f"{flag}: must be below {below}. {received}")
    return value


@functools.cache
def _type_hints() -> dict:
    return typing.get_type_hints(Config)


def type_of(field: dataclasses.Field) -> tuple[type, bool]:
    """The plain type of a field and whether None is allowed."""
    hint = _type_hints()[field.name]
    if isinstance(hint, types.UnionType):
        return next(kind for kind in hint.__args__ if kind is not types.NoneType), True
    if typing.get_origin(hint) is Literal:
        return str, False
    return hint, False


def read_config_file(path: str | pathlib.Path, beside: Collection[str] = ()) -> dict:
    """The fields that a JSON file gives, each checked by itself.

    Args:
        path: A JSON file of one object, whose keys are fields of `Config`; UTF-8.
        beside: Keys that are no fields, which the caller checks.

    Raises:
        UserError: the file is missing, is not a JSON object, names a field twice or one that this
            version does not know, or a value is not allowed; the message begins with the path.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8-sig")
        fields = json.loads(text, object_pairs_hook=_without_repetition)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; name a JSON file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8; save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}: is not JSON: {error.msg}; mend the line") from None
    except _Repeated as error:
        raise UserError(f"{path}: gives {error} twice; keep one of the two lines") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, a thousand brackets
        raise UserError(f"{path}: cannot be read as options: {error}") from None
    if not isinstance(fields, dict):
        raise UserError(f"{path}: must hold one JSON object with the options as keys")
    check_fields(fields, str(path), beside)
    return fields


def check_fields(fields: dict, where: str, beside: Collection[str] = ()) -> None:
    """Whether all keys are fields of `Config`, with values that they may have.

    Args:
        fields: What a file gives.
        where: Begins the error's line.
        beside: Keys that are no fields.

    Raises:
        UserError: one is unknown, or a value is not allowed.
    """
    of_config = {field.name: field for field in dataclasses.fields(Config)}
    unknown = sorted(set(fields) - set(of_config) - set(beside))
    if unknown:
        raise UserError(
            f"{where}: has an option that this version does not know: {', '.join(unknown)}; "
            "remove it, or use the version of the program that wrote the file"
        )
    for name, field in of_config.items():
        if name in fields:
            try:
                checked(field, fields[name])
            except UserError as error:
                raise UserError(f"{where}: {error}") from None


class _Repeated(Exception):
    """A JSON object has a key more than once; the argument is the key."""


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Repeated(key)
        found[key] = value
    return found


def merge(file_fields: dict, flags: dict) -> Config:
    """A config from the fields of a file and the flags of a command line; flags win.

    A clipping rule given by a flag replaces the one of the file, whichever of the two it is; so
    does --resume or --overwrite: the file may be the run's own, which says how it was started.
    """
    fields = dict(file_fields)
    if flags.get("resume") or flags.get("overwrite"):
        fields.pop("resume", None)
        fields.pop("overwrite", None)
    if flags.get("clipnorm") is not None or flags.get("global_clipnorm") is not None:
        fields.pop("clipnorm", None)
        fields.pop("global_clipnorm", None)
    return Config(**{**fields, **flags})


def load_config(path: str | pathlib.Path) -> Config:
    """The config of a run folder's `config.json`.

    Args:
        path: The file.

    Raises:
        UserError: as `read_config_file`; also if a field is missing that every version wrote.
    """
    fields = read_config_file(path)
    missing = sorted({f.name for f in dataclasses.fields(Config)} - set(fields) - ADDED_FIELDS)
    if missing:
        raise UserError(
            f"{path}: lacks {', '.join(missing)}; it was written by another version of the "
            "program: use that version, or train again with --overwrite"
        )
    try:
        return Config(**fields)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
