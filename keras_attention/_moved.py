"""Where the modules of version 0.1 are now: their old names go on working, with a warning.

`sys.meta_path` gets one finder for all of them, so that no file stands for a module that moved.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from types import ModuleType

_PACKAGE = __package__

# The old name to the new one; where a module was divided, to all of its parts.
MOVED: dict[str, tuple[str, ...]] = {
    "attention": ("layers.attention",),
    "attention_map": ("plots.attention_map",),
    "attention_shapes": ("layers.attention_shapes", "layers.attention_masks"),
    "advice": ("training.advice",),
    "calibration": ("engine.calibration", "evaluation.calibration_fit"),
    "character_rules": ("checks.character_rules",),
    "check": ("checks.check",),
    "checkpoint": ("training.checkpoint",),
    "cluster": ("training.cluster",),
    "command_line": ("_runtime.command_line", "commands.options.training_options"),
    "compare": ("comparison.comparison",),
    "compare_figures": ("comparison.figures",),
    "confidence": ("evaluation.confidence",),
    "data": (
        "pairs.pair",
        "pairs.pair_files",
        "pairs.splits",
        "pairs.alignment",
        "pairs.lines",
        "pairs.fingerprint",
        "text.tokens",
    ),
    "dates": ("datasets.dates",),
    "decoding": ("models.decoding",),
    "distribution": ("training.distribution",),
    "ensemble": ("models.ensemble",),
    "export_folder": ("export.exporter",),
    "export_layout": ("folders.export_layout",),
    "export_litert": ("export.litert",),
    "export_publish": ("export.publish",),
    "export_saved_model": ("export.saved_model",),
    "figure_files": ("plots.figure_files",),
    "files": ("_runtime.files",),
    "findings": ("checks.findings",),
    "fused_lstm": ("training.fused_lstm",),
    "generation": ("datasets.generator_command",),
    "inference": ("models.inference",),
    "input_pipeline": ("batching.batches",),
    "label_fonts": ("plots.label_fonts", "plots.visible_label"),
    "litert": ("readers.litert_reader",),
    "litert_encoder": ("export.litert_encoder",),
    "live_page": ("web.live_page",),
    "map_layout": ("plots.map_layout",),
    "metrics": ("evaluation.metrics", "training.losses"),
    "normal_form": ("text.normal_form",),
    "normal_form_graph": ("text.normal_form_graph",),
    "pair_rules": ("checks.pair_rules",),
    "pair_stream": ("pairs.pair_stream", "pairs.splits"),
    "parity": ("evaluation.parity",),
    "phrases": ("datasets.phrases",),
    "quiet": ("_runtime.quiet",),
    "run_folder": ("folders.run_folder",),
    "run_reader": ("readers.run_reader",),
    "saved_model": ("readers.saved_model_reader",),
    "sequence_layers": ("layers.sequence",),
    "serving_warmup": ("export.warmup",),
    "short_dropout": ("training.fast_dropout",),
    "string_tasks": ("datasets.string_tasks",),
    "survey": ("batching.survey",),
    "threads": ("_runtime.threads",),
    "trained_run": ("readers.run",),
    "training_step": ("training.step",),
    "translation": ("readers.translation",),
    "translator": ("readers.translator",),
    "viewer": ("web.viewer",),
    "visualize": ("plots.heatmap",),
    "vocabulary": ("text.vocabulary", "text.repair"),
    "vocabulary_graph": ("text.vocabulary_graph",),
    "explanation.adversary": ("explanation.measures.adversary",),
    "explanation.agreement": ("explanation.measures.agreement",),
    "explanation.alignment": ("explanation.measures.alignment",),
    "explanation.baselines": ("explanation.measures.baselines",),
    "explanation.distances": ("explanation.measures.distances",),
    "explanation.erasure": ("explanation.measures.erasure",),
    "explanation.estimate": ("explanation.reporting.estimate",),
    "explanation.examples": ("explanation.measures.examples",),
    "explanation.figures": ("explanation.pages.figures", "explanation.pages.charts"),
    "explanation.heatmaps": ("explanation.pages.heatmaps",),
    "explanation.importance": ("explanation.measures.importance",),
    "explanation.interventions": ("explanation.measures.interventions",),
    "explanation.measured": ("explanation.measures.measured",),
    "explanation.report": ("explanation.reporting.report",),
    "explanation.report_html": ("explanation.pages.html",),
    "explanation.shown": ("explanation.reporting.shown",),
    "explanation.subject": ("explanation.measures.attribution_model",),
    "explanation.summary": ("explanation.reporting.summary",),
    "explanation.summary_comparison": ("explanation.reporting.summary_comparison",),
    "explanation.summary_faithfulness": ("explanation.reporting.summary_faithfulness",),
    "explanation.svg": ("explanation.pages.svg",),
    "explanation.verdict": ("explanation.reporting.verdict",),
    "explanation.write": ("explanation.pages.write",),
}


# Names inside these modules that are others now.
RENAMED: dict[str, str] = {
    "Subject": "AttributionModel",
    "SequenceSubject": "SequenceAttributionModel",
    "ClassifierSubject": "ClassifierAttributionModel",
    "Opened": "LinearizedReadout",
    "fixed_settings": "matplotlib_defaults",
}


class _MovedModule(ModuleType):
    """Stands under an old name; each attribute is that of the first new module that has it."""

    def __getattr__(self, name: str):
        new = RENAMED.get(name, name)
        for part in MOVED[self.__name__.removeprefix(f"{_PACKAGE}.")]:
            module = importlib.import_module(f"{_PACKAGE}.{part}")
            if hasattr(module, new):
                return getattr(module, new)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


class _MovedFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their old names."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, old = fullname.partition(".")
        if package != _PACKAGE or old not in MOVED:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec):
        return _MovedModule(spec.name)

    def exec_module(self, module):
        self._warn(module.__name__)

    def get_code(self, fullname):
        """For `python -m`: the code of the module that runs under the new name."""
        self._warn(fullname)
        new = self._new_names(fullname)[0]
        spec = importlib.util.find_spec(new)
        if spec is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
            raise ImportError(f"{new} has no code to run", name=new)
        return spec.loader.get_code(new)

    def _warn(self, fullname: str) -> None:
        new = " and ".join(self._new_names(fullname))
        warnings.warn(f"{fullname} is now {new}; import it from there", FutureWarning, stacklevel=2)

    def _new_names(self, fullname: str) -> list[str]:
        old = fullname.removeprefix(f"{_PACKAGE}.")
        return [f"{_PACKAGE}.{part}" for part in MOVED[old]]


def install() -> None:
    """Adds the finder, once a process."""
    if not any(isinstance(finder, _MovedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MovedFinder())
