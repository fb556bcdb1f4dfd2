"""The notebooks made from the course hold what the pages hold, and run from top to bottom."""

import re

import pytest

from docs.making.blocks import blocks_of
from tests.support import ROOT

nbclient = pytest.importorskip("nbclient", reason="needs pip install -r requirements-notebook.txt")
nbformat = pytest.importorskip("nbformat", reason="needs pip install -r requirements-notebook.txt")
pytest.importorskip("ipykernel", reason="needs pip install -r requirements-notebook.txt")

from docs.making import notebooks  # noqa: E402

PAGES = sorted((ROOT / "docs/course").glob("[0-9]*.md"), key=lambda p: int(p.name.split("-")[0]))
KOREAN = sorted((ROOT / "docs/ko").glob("[0-9]*.md"))


def code_of(notebook) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("page", [*PAGES, *KOREAN], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_notebook_holds_the_page_s_blocks_and_its_prose(page):
    text = page.read_text(encoding="utf-8")
    notebook = notebooks.notebook_of(page)
    nbformat.validate(notebook)
    run = [block.code.rstrip("\n") for block in blocks_of(text) if block.run]
    assert code_of(notebook) == [notebooks.FIRST_CELL, *run]
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"^#+ .*", text, re.M)[0] in prose
    assert (
        "<details>" not in prose
        and "```math" not in prose
        and ".md)" not in re.sub(r"\]\(\.\./[^)]*\)", "", prose)
    )
    last = [line for line in text.splitlines() if line][-1]
    assert last in prose


def test_the_same_page_gives_the_same_bytes(tmp_path):
    first, second = (notebooks.write(tmp_path / name) for name in ("one", "two"))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    pictures = {
        match
        for path in first
        for match in re.findall(r"\]\(\.\./(images/[^)]+)\)", path.read_text(encoding="utf-8"))
    }
    assert pictures and all((tmp_path / "one" / picture).is_file() for picture in pictures)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of the notebook's own client
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs_from_top_to_bottom(page):
    notebook = notebooks.notebook_of(page)  # the page as it is, not shortened
    kernel = {"metadata": {"path": str(ROOT)}}
    nbclient.NotebookClient(notebook, timeout=1800, resources=kernel).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("output_type") == "error"]
    if page.stem.startswith("8-"):
        said = "".join(output.get("text", "") for output in outputs)
        assert float(re.search(r"([\d.]+) of 500 test dates", said)[1]) > 0.95, said
