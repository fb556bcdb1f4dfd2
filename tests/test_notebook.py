"""The notebook among the examples runs from top to bottom, and shows what it promises."""

import base64

import pytest

from tests.support import ROOT

nbclient = pytest.importorskip("nbclient", reason="needs pip install -r requirements-notebook.txt")
nbformat = pytest.importorskip("nbformat", reason="needs pip install -r requirements-notebook.txt")
pytest.importorskip("ipykernel", reason="needs pip install -r requirements-notebook.txt")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # of the notebook's own client
]

QUICKSTART = ROOT / "examples" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def outputs() -> list[list[dict]]:
    """What each cell of code showed; a cell that fails ends the test."""
    notebook = nbformat.read(QUICKSTART, as_version=4)
    kernel = {"metadata": {"path": str(QUICKSTART.parent)}}
    nbclient.NotebookClient(notebook, timeout=900, resources=kernel).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def text_of(outputs: list[dict]) -> str:
    return "".join(output.get("text", "") for output in outputs)


def test_it_is_committed_without_outputs():
    notebook = nbformat.read(QUICKSTART, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_a_script_runs_in_a_cell(outputs):
    trained = text_of(outputs[1])
    assert trained.splitlines()[-1].startswith("exact match on test: "), trained
    assert not [o for output in outputs for o in output if o.get("output_type") == "error"]


def test_an_answer_is_shown_in_a_line(outputs):
    shown = outputs[2][-1]["data"]["text/plain"]
    assert shown.count("Translation(text='") == 2 and "confidence=0." in shown
    assert len(shown) < 500


def test_a_returned_figure_shows_itself(outputs):
    picture = base64.b64decode(outputs[3][-1]["data"]["image/png"])
    assert picture.startswith(b"\x89PNG") and len(picture) > 5000


def test_commands_of_the_shell_work_with_what_the_notebook_hands_on(outputs):
    """IPython sets MPLBACKEND to a module that another process may not have."""
    said = text_of(outputs[4])
    assert "Traceback" not in said and said.rstrip().endswith("map.png")
    assert said.splitlines()[0].count("\t") == 2
