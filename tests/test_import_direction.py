"""Data flows one way: a module imports only from the rooms before it in this table."""

import ast
import pathlib

import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "keras_attention"

# Which modules of the package a module may import. A new module gets a line here first.
ALLOWED = {
    "version": set(),
    "errors": set(),
    "__init__": {"errors", "version"},
    "config": {"errors"},
    "data": {"errors"},
    "generation": {"data"},
    "dates": {"data", "errors", "generation"},
    "phrases": {"data", "generation"},
    "attention": {"attention_shapes"},
    "attention_shapes": set(),
    "sequence_layers": set(),
    "metrics": set(),
    "translation": set(),
    "attention_map": {"errors"},
    "figure_files": {"errors", "files"},
    "label_fonts": set(),
    "map_layout": {"attention_map", "errors", "label_fonts"},
    "viewer": {"attention_map"},
    "live_page": {"errors", "export_layout", "viewer"},
    "serving": {"errors", "export_layout", "live_page"},
    "visualize": {"attention_map", "errors", "figure_files", "map_layout"},
    "normal_form": set(),
    "normal_form_graph": {"normal_form"},
    "vocabulary": {"data", "errors", "normal_form"},
    "input_pipeline": {"data", "vocabulary"},
    "pair_stream": {"data"},
    "survey": {"config", "data", "input_pipeline", "vocabulary"},
    "models": {"attention", "config", "sequence_layers"},
    "decoding": {"vocabulary"},
    "inference": {"config", "decoding", "models"},
    "ensemble": {"inference"},
    "files": {"errors"},
    "calibration": {"errors", "files"},
    "confidence": set(),
    "run_folder": {"config", "errors", "files"},
    "trained_run": {
        *("attention", "calibration", "config", "errors", "files", "models", "run_folder"),
        "vocabulary",
    },
    "run_reader": {
        *("calibration", "decoding", "ensemble", "errors", "inference", "threads", "trained_run"),
        *("translation", "vocabulary"),
    },
    "export_layout": {"errors", "files"},
    "saved_model": {"data", "errors", "export_layout", "normal_form", "threads", "translation"},
    "litert": {"errors", "normal_form", "quiet", "translation", "vocabulary"},
    "translator": {
        *("errors", "export_layout", "litert", "run_folder", "run_reader", "saved_model"),
        *("translation", "vocabulary"),
    },
    "evaluation": {"calibration", "confidence", "data", "metrics", "translation", "translator"},
    "checkpoint": {"data", "errors", "files"},
    "book": {"config", "errors", "models", "trained_run", "vocabulary"},
    "cluster": {"errors"},
    "distribution": {"cluster", "errors"},
    "fused_lstm": set(),
    "short_dropout": set(),
    "training_step": {
        *("config", "distribution", "fused_lstm", "metrics", "short_dropout", "threads"),
    },
    "advice": {"evaluation"},
    "training": {
        *(
            "advice",
            "calibration",
            "checkpoint",
            "cluster",
            "config",
            "data",
            "distribution",
            "errors",
        ),
        *("evaluation", "files", "inference", "input_pipeline", "models", "pair_stream"),
        *(
            "run_folder",
            "run_reader",
            "survey",
            "trained_run",
            "training_step",
            "translation",
            "translator",
            "vocabulary",
        ),
    },
    "string_tasks": {"data"},
    "compare": {
        *("checkpoint", "config", "data", "evaluation", "files", "metrics", "run_folder"),
        *("string_tasks", "training"),
    },
    "compare_figures": {"compare", "figure_files"},
    "quiet": set(),
    "threads": set(),
    "vocabulary_graph": {"normal_form_graph", "vocabulary"},
    "serving_warmup": set(),
    "parity": {"translation"},
    "export_saved_model": {
        *("calibration", "inference", "serving_warmup", "trained_run", "vocabulary_graph"),
    },
    "litert_encoder": set(),
    "export_litert": {
        *("calibration", "inference", "litert", "litert_encoder", "models", "trained_run"),
        *("vocabulary", "vocabulary_graph"),
    },
    "export_publish": {"errors", "export_layout", "files"},
    "export_folder": {
        *("data", "errors", "export_layout", "export_litert", "export_publish"),
        *("export_saved_model", "files", "inference", "litert", "parity", "run_folder"),
        *("run_reader", "saved_model", "serving_warmup", "trained_run", "translator", "version"),
    },
    "command_line": {"config", "errors"},
    "beam": {"command_line", "data", "errors", "export_layout", "quiet"},
    "findings": {"data"},
    "pair_rules": {"data", "findings"},
    "character_rules": {"data", "findings"},
    "check": {"character_rules", "data", "errors", "findings", "normal_form", "pair_rules"},
    "explanation": {
        *("config", "data", "dates", "decoding", "errors", "files", "inference"),
        *("input_pipeline", "models", "run_reader", "trained_run", "training_step"),
        *("translator", "vocabulary"),
    },
}
# The verbs may use whatever there is; nothing uses them.
ALLOWED["commands"] = set(ALLOWED)
ALLOWED["__main__"] = {"command_line", "commands", "errors"}


def rooms() -> dict[str, list[pathlib.Path]]:
    """The files of each room: a module, or a folder of several that share one idea."""
    found = {path.stem: [path] for path in PACKAGE.glob("*.py")}
    found |= {
        folder.name: sorted(folder.glob("*.py"))
        for folder in PACKAGE.iterdir()
        if (folder / "__init__.py").is_file()
    }
    return found


def imported_modules(path: pathlib.Path) -> set[str]:
    """Names of the package's rooms that the file at `path` imports at run time."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: write imports in full"
            parts = (node.module or "").split(".")
            if parts[0] == "keras_attention":
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "keras_attention" and len(parts) > 1:
                    found.add(parts[1])
    return found


def test_every_room_has_a_line_in_the_table():
    assert set(rooms()) == set(ALLOWED)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_imports_only_from_earlier_rooms(room):
    imported = set().union(*(imported_modules(path) for path in rooms()[room]))
    extra = imported - ALLOWED[room] - {room}
    assert not extra, f"{room} may not import {sorted(extra)}"


def test_the_table_itself_has_no_cycle():
    seen: set[str] = set()
    while len(seen) < len(ALLOWED):
        ready = {name for name in set(ALLOWED) - seen if ALLOWED[name] <= seen}
        assert ready, f"cycle among {sorted(set(ALLOWED) - seen)}"
        seen |= ready
