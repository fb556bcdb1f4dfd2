"""The documentation is true: its Python blocks run, the tests and files that it names exist.

Every block that starts with ```python in docs/, below it, and in README.md is executed, in the
order of the page; `docs/making/blocks.py` says how, and how a block is marked that cannot run here
(it needs a trained run, the network, a minute). Such a block must still compile. Blocks of other
languages (bash, text, json) are not run; commands are tested where the script they call is.

A Korean page holds the blocks of its English page, letter for letter, so that one run serves both.
"""

import itertools
import pathlib
import re
import tomllib

import pytest

from docs.making.blocks import blocks_of, run_page
from docs.making.numbers import FENCE
from tests.support import ROOT

PAGES = sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("README*.md"))
# Pages outside of the course that are there in Korean as well.
IN_BOTH = {"explanation.md", "shipping.md"}
KOREAN = {
    page: ROOT / "README.md"
    if page.parent == ROOT
    else ROOT / "docs" / ("" if page.name in IN_BOTH else "course") / page.name
    for page in PAGES
    if page.name == "README.ko.md" or page.parent.name == "ko"
}
# Of any language but diagrams and equations, whose words are translated.
ANY_FENCE = re.compile(r"^ *```(?!mermaid|math)\w+\n.*?^ *```$", re.M | re.S)


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> pathlib.Path:
    """What the pages train, which several of them share."""
    return tmp_path_factory.mktemp("runs")


# They train models.
SLOW = {f"docs/course/{number}-" for number in range(8, 13)}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=[pytest.mark.slow] if name_of(page).startswith(tuple(SLOW)) else []
        )
        for page in PAGES
        if page not in KOREAN
    ],
    ids=name_of,
)
def test_python_blocks_run(page, tmp_path, runs):
    run_page(page, tmp_path, runs, short=True)


@pages
def test_named_tests_exist(page):
    text = page.read_text(encoding="utf-8")
    for file, name in re.findall(r"\b((?:\w+/)*test_\w+\.py)::(test_\w+)", text):
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", source, re.M), f"{file} has no {name}"


@pages
def test_links_to_files_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def numbers_in_tables(text: str) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return re.findall(r"\d+(?:[.,]\d+)*", "\n".join(rows))


@pytest.mark.parametrize("page", KOREAN, ids=name_of)
def test_korean_pages_hold_the_same_blocks_pictures_and_numbers(page):
    korean, english = (path.read_text(encoding="utf-8") for path in (page, KOREAN[page]))
    assert ANY_FENCE.findall(korean) == ANY_FENCE.findall(english)
    assert re.findall(r"!\[.*?\]\((.*?)\)", korean) == re.findall(r"!\[.*?\]\((.*?)\)", english)
    assert numbers_in_tables(korean) == numbers_in_tables(english)
    assert len(re.findall("^#+ ", korean, re.M)) == len(re.findall("^#+ ", english, re.M))


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_picture_of_the_floors_is_the_contract(name):
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = contracts["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "floors")
    floor = {name: n for n, layer in enumerate(layers) for name in layer.split(" | ")}
    picture = (ROOT / name).read_text(encoding="utf-8").split("```mermaid", 1)[1].split("```", 1)[0]
    boxes = [box.split(" · ") for box in re.findall(r'\["([^<"]+)', picture)]
    below_all = {"version", "_moved", "_registration"}
    assert {part for box in boxes for part in box} == set(floor) - {"__main__", *below_all}
    for above, below in itertools.pairwise(boxes):
        assert max(floor[part] for part in above) < min(floor[part] for part in below)


def test_every_page_of_the_course_is_there_in_korean():
    names = {path.name for path in (ROOT / "docs" / "course").glob("*.md")}
    assert names | IN_BOTH == {path.name for path in (ROOT / "docs" / "ko").glob("*.md")}
    contents = (ROOT / "docs" / "course" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \d+ \| \[[^]]*\]\(([^)]*)\)", contents, re.M)
    assert sorted(listed, key=lambda name: int(name.split("-")[0])) == listed
    assert set(listed) == names - {"README.md"}


def test_pictures_are_small_and_shown():
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large"
        assert f"images/{picture.name})" in texts, f"{picture.name} is shown on no page"


def test_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n<!-- not run: slow -->\n```python\ny\n```\n"
    assert [(b.line, b.code, b.run) for b in blocks_of(text)] == [
        (3, "x = 1\n", True),
        (10, "y\n", False),
    ]
    assert [b.code for b in blocks_of("- item\n  ```python\n  z = 2\n  ```\n")] == ["z = 2\n"]


def test_a_shortened_block_says_what_it_shortens():
    text = "<!-- shortened in tests: range(99) → range(2) -->\n```python\nx = range(99)\n```\n"
    (block,) = blocks_of(text)
    assert (block.code, block.short) == ("x = range(99)\n", "x = range(2)\n")
    with pytest.raises(ValueError, match="must stand once"):
        blocks_of(text.replace("x = range(99)", "x = range(98)"))
