"""The Python blocks of a page, and running them: for the tests, the pictures and the notebooks.

A block that starts with ```python is run, in the order of the page; the blocks of a page share
their names. A comment on the line above a block changes that:

    <!-- not run: needs a trained run -->

    <!-- shortened in tests: train[:45000] → train[:4000] -->

The second replaces text of the block, in tests only, where the real thing takes a minute; the long
tests run the page as it is. A page runs in a folder that holds the project's `data` and a folder
`runs`, as a clone of the project does; small runs are shared by the pages that train them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+)python\s*\n(?P<code>.*?)^ *(?P=ticks) *$", re.M | re.S
)
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")
SHORTENED = re.compile(r"<!-- shortened in tests: (?P<long>.+?) → (?P<short>.+?) -->\s*\Z")


@dataclasses.dataclass(frozen=True)
class Block:
    """One Python block.

    Attributes:
        line: Of the page, of the first line of code.
        code: As it stands on the page.
        run: Whether it is run at all.
        short: The code as tests run it.
    """

    line: int
    code: str
    run: bool
    short: str


def blocks_of(text: str) -> list[Block]:
    """The Python blocks of a page.

    Raises:
        ValueError: what shall be shortened does not stand in the block exactly once.
    """
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        line = text.count("\n", 0, match.start("code")) + 1
        code = short = textwrap.dedent(match["code"])
        if shortened := SHORTENED.search(before):
            if code.count(shortened["long"]) != 1:
                raise ValueError(
                    f"{shortened['long']!r} must stand once in the block at line {line}"
                )
            short = code.replace(shortened["long"], shortened["short"])
        found.append(Block(line, code, not NOT_RUN.search(before), short))
    return found


def run_page(
    page: pathlib.Path, folder: pathlib.Path, runs: pathlib.Path, short: bool
) -> dict[str, object]:
    """Runs a page's blocks in an empty folder; returns their names.

    Args:
        page: The page.
        folder: Where its files go; it becomes the working directory meanwhile.
        runs: Stands for `runs` in it.
        short: Whether to run the shortened blocks.
    """
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "runs").symlink_to(runs)
    names: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for block in blocks_of(page.read_text(encoding="utf-8")):
            code = block.short if short else block.code
            # Blank lines before the code make a traceback show the line of the page.
            compiled = compile("\n" * (block.line - 1) + code, str(page), "exec")
            if block.run:
                exec(compiled, names)
    return names
