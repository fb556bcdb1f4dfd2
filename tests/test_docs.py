"""The documentation is true: its Python blocks run, the tests and files that it names exist.

Every block that starts with ```python in docs/*.md and README.md is executed, in the order of the
page; the blocks of one page share their names, and the working directory is an empty folder. A
block that cannot run here (it needs a trained run, the network, a minute) is marked by a line just
above it:

    <!-- not run: needs a trained run -->

Such a block must still compile. Blocks of other languages (bash, text, json) are not run; commands
are tested where the script they call is.
"""

import pathlib
import re
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted(ROOT.glob("docs/*.md")) + [path for path in [ROOT / "README.md"] if path.exists()]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+)python\s*\n(?P<code>.*?)^ *(?P=ticks) *$", re.M | re.S
)
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)


def python_blocks(text: str) -> list[tuple[int, str, bool]]:
    """(line of the first code line, code, whether to run it) of each Python block in the text."""
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        run = not NOT_RUN.search(text[: match.start()])
        found.append((line, textwrap.dedent(match["code"]), run))
    return found


@pages
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code, run in python_blocks(page.read_text(encoding="utf-8")):
        # Blank lines before the code make a traceback show the line of the page.
        compiled = compile("\n" * (line - 1) + code, str(page), "exec")
        if run:
            exec(compiled, namespace)


@pages
def test_named_tests_exist(page):
    for file, name in re.findall(r"\b(test_\w+\.py)::(test_\w+)", page.read_text(encoding="utf-8")):
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", source, re.M), f"{file} has no {name}"


@pages
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(
        r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n```bash\nls\n```\n<!-- not run: slow -->\n```python\ny\n```\n"
    assert python_blocks(text) == [(3, "x = 1\n", True), (10, "y\n", False)]
    assert python_blocks("- item\n  ```python\n  z = 2\n  ```\n") == [(3, "z = 2\n", True)]
