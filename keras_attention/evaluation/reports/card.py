"""A model card: what a model is, what it was trained on, how good it is, and how to load it.

Markdown behind a block of metadata that model hubs read (YAML; as JSON strings, which YAML is a
superset of).
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keras_attention.config import Config
from keras_attention.folders.card_file import MARK
from keras_attention.version import __version__

if TYPE_CHECKING:
    from keras_attention.evaluation.evaluation import Evaluation

_FACTS = ("by_length", "expected_calibration_error", "calibration_reservation", "auroc", "coverage")
_LEAST_OF_A_SLICE = 20  # of fewer pairs a share says nothing


def card_facts(test: Evaluation) -> dict:
    """What a card says of the test pairs beside exact match, for `metrics.json`."""
    figures = test.to_dict()
    return {name: figures[name] for name in _FACTS}


@dataclasses.dataclass(frozen=True)
class Card:
    """The card of a run, or of an export of it.

    Attributes:
        name: Of the model.
        config: How the run was trained.
        metrics: The content of its `metrics.json`.
        tokens: How many tokens source and target vocabulary have.
        manifest: Of the export; None for a run.
    """

    name: str
    config: Config
    metrics: Mapping[str, Any]
    tokens: tuple[int, int]
    manifest: Mapping[str, Any] | None = None

    def to_markdown(self) -> str:
        """The text of README.md."""
        parts = (
            self._metadata(),
            f"# {self.name}\n\n{MARK}",
            self._what_it_is(),
            self._data(),
            self._figures(),
            self._confidence(),
            self._uses(),
            self._loading(),
        )
        return "\n\n".join(part for part in parts if part) + "\n"

    @property
    def _data_name(self) -> str:
        return self.config.data_name or pathlib.PurePath(self.config.data).name

    def _metadata(self) -> str:
        test = self.metrics["test"]
        figures = [
            ("exact_match", test["exact_match"]),
            ("token_error_rate", test["token_error_rate"]),
        ]
        lines = ["---"]
        if self.config.data_license:
            lines.append(f"license: {_quoted(self.config.data_license)}")
        lines += [
            "library_name: keras",
            "pipeline_tag: translation",
            "tags: [keras, tensorflow, litert, attention, seq2seq]",
            "model-index:",
            f"- name: {_quoted(self.name)}",
            "  results:",
            "  - task: {type: translation}",
            f"    dataset: {{name: {_quoted(self._data_name)}, type: {_quoted(self._data_name)}, "
            "split: test}",
            "    metrics:",
            *(f"    - {{type: {name}, value: {value:.6g}}}" for name, value in figures),
            "---",
        ]
        return "\n".join(lines)

    def _what_it_is(self) -> str:
        config = self.config
        attention = f"attention `{config.attention}`" if config.has_attention else "no attention"
        direction = "bidirectional " if config.bidirectional else ""
        start = (
            f" It started from the weights of `{pathlib.PurePath(config.init_from).name}`."
            if config.init_from
            else ""
        )
        return (
            "An encoder–decoder that turns one short text into another: "
            f"{direction}{config.encoder.upper()} of {config.units} units, "
            f"{config.layers} layer{'s' * (config.layers > 1)}, {attention}, "
            f"{self.metrics['parameters']:,} parameters. Sources are cut into "
            f"{config.source_tokens} tokens ({self.tokens[0]:,} known), targets into "
            f"{config.target_tokens} tokens ({self.tokens[1]:,}). It answers with at most "
            f"{config.filled_in('longest_output')} tokens.{start} "
            f"Trained for {self.metrics['epochs']} epochs with keras-attention {__version__}, "
            f"seed {config.seed}."
        )

    def _data(self) -> str:
        licence = self.config.data_license
        says = (
            f"Their licence is {licence}."
            if licence
            else "**Nobody has named their licence**: ask before you pass the model on, and name "
            "it by `--data-license`, or in the run's `config.json`."
        )
        name = f"The pairs are called {self._data_name}. " if self._data_name else ""
        return f"## Data and licence\n\n{name}{says}"

    def _figures(self) -> str:
        rows = [
            f"| {part} | {found['n']:,} | {found['exact_match']:.4f} | "
            f"{found['token_error_rate']:.4f} |"
            for part, found in ((p, self.metrics[p]) for p in ("valid", "test"))
        ]
        table = [
            "## How good it is",
            "",
            "Texts decoded freely and compared to the last character; the validation pairs chose "
            "the weights, the test pairs nothing.",
            "",
            "| pairs | number | exact match | token error rate |",
            "|---|---|---|---|",
            *rows,
        ]
        slices = [
            each
            for each in self.metrics.get("test_details", {}).get("by_length", ())
            if each["n"] >= _LEAST_OF_A_SLICE
        ]
        if slices:
            table += ["", "| tokens of the source | number | exact match |", "|---|---|---|"]
            table += [
                f"| {each['shortest']} to {each['longest']} | {each['n']:,} | "
                f"{each['exact_match']:.4f} |"
                for each in slices
            ]
        return "\n".join(table)

    def _confidence(self) -> str:
        facts = self.metrics.get("test_details")
        if not facts:
            return ""
        lines = [
            "## How sure it is",
            "",
            "`confidence` is the probability that the whole answer is right, fitted on the "
            "validation pairs. Expected calibration error on test: "
            f"{facts['expected_calibration_error']:.4f}.",
        ]
        if facts.get("calibration_reservation"):
            lines[-1] += f" It says little: {facts['calibration_reservation']}."
        lines += ["", "| answered | confidence of at least | exact match |", "|---|---|---|"]
        lines += [
            f"| {point['coverage']:.1%} | {point['min_confidence']:.4f} | "
            f"{point['exact_match']:.4f} |"
            for point in facts["coverage"]
        ]
        return "\n".join(lines)

    def _uses(self) -> str:
        lines = [
            "## What it is for, and what not",
            "",
            "- For texts of the kind that it was trained on. Its figures hold for these alone.",
            "- Not for texts of another kind: it answers those too, and may be sure of a wrong "
            "answer. Leave doubtful answers to a person (`--min-confidence`).",
            "- Not for decisions about people without somebody who checks them.",
        ]
        if self.config.has_attention:
            lines.append(
                "- Its attention maps show where it looked. Whether that explains an answer is a "
                "question of its own: `python -m keras_attention explain` asks it."
            )
        return "\n".join(lines)

    def _loading(self) -> str:
        where = "EXPORT" if self.manifest is not None else "RUN"
        python = [
            "## How to load it",
            "",
            "```python",
            "import keras_attention as ka",
            "",
            f'ka.Translator.load("{where}").translate(["a text"])[0].text',
            "```",
        ]
        if self.manifest is not None:
            name = self.manifest["name"]
            python += [
                "",
                f"A server: `python -m keras_attention serve {where}`, or TensorFlow Serving on "
                f"`serving/{name}`. A phone or a browser: `litert/{name}.tflite`. Without "
                f"TensorFlow: `weights/{name}.safetensors`. Keras: `inference.keras`, after "
                "`from keras_attention import InferenceModel`.",
            ]
            return "\n".join(python)
        python += [
            "",
            "In Keras the import comes first: it registers the layers.",
            "",
            "```python",
            "import keras",
            "from keras_attention import Attention",
            "",
            'model = keras.saving.load_model("RUN/model.keras")',
            "```",
            "",
            'From a model hub, where `model.save("hf://USER/NAME")` has put it, after the same '
            'import: `keras.saving.load_model("hf://USER/NAME")`.',
        ]
        return "\n".join(python)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
