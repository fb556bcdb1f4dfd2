"""The shape of the package: small rooms, each with a line that says what it holds."""

import ast
import subprocess
import sys

import pytest

from tests.support import ROOT

PACKAGE = ROOT / "keras_attention"
ROOMS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
MOST_MODULES = 14


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_is_small_and_says_what_it_holds(room):
    modules = [path for path in room.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES
    assert ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))


def test_imports_go_down_the_floors():
    checked = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


# What the benchmarks measure, or what sets that up; nothing else of the inside.
MEASURED = {
    "__main__",
    "_runtime.process",
    "_runtime.quiet",
    "_runtime.threads",
    "batching.batches",
    "batching.survey",
    "batching.training_data",
    "commands.train",
    "config",
    "datasets.dates",
    "engine",
    "engine.architecture",
    "engine.decoder",
    "evaluation.confidence",
    "evaluation.evaluation",
    "evaluation.trust.measured",
    "explanation.audit",
    "explanation.measures.attribution_model",
    "explanation.measures.baselines",
    "explanation.measures.examples",
    "explanation.measures.interventions",
    "explanation.pages.write",
    "folders.export_layout",
    "folders.run_folder",
    "folders.saved_model_files",
    "layers.attention",
    "models.inference",
    "models.training_model",
    "pairs.answers",
    "pairs.pair",
    "pairs.pair_files",
    "pairs.pair_stream",
    "pairs.parallel",
    "pairs.splits",
    "readers.attention_links",
    "readers.engine_reader",
    "readers.litert_reader",
    "readers.run",
    "readers.run_reader",
    "recipe",
    "text.vocabulary",
    "training.length_penalty",
    "training.step",
    "training.trainer",
}
PUBLIC = {"", "commands", "errors", "readers.translator"}
DOORS = [ROOT / "train.py", ROOT / "export.py"]
NEIGHBOURS = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/*.py")])


def modules_of_ours(path) -> set[str]:
    """The modules of the package that a file imports from, without the package's name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            assert not [
                a.name
                for a in node.names
                if "keras_attention" in node.module and a.name.startswith("_")
            ], path
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    ours = {name for name in found if name.partition(".")[0] == "keras_attention"}
    return {name.partition(".")[2] for name in ours}


@pytest.mark.parametrize("door", DOORS, ids=lambda path: path.name)
def test_a_door_opens_on_the_verbs_alone(door):
    assert modules_of_ours(door) == {"__main__"}
    assert len(door.read_text(encoding="utf-8").splitlines()) < 20


@pytest.mark.parametrize("path", NEIGHBOURS, ids=lambda path: path.name)
def test_benchmarks_and_examples_use_public_names_and_what_they_measure(path):
    assert modules_of_ours(path) <= PUBLIC | MEASURED


def test_no_permission_is_left_over():
    used = set().union(*map(modules_of_ours, NEIGHBOURS))
    assert MEASURED <= used
