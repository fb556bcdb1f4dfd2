"""Notebooks from the course: `python -m docs.making.notebooks [--out build/notebooks]`.

One notebook a page, in both languages: prose becomes cells of Markdown, Python blocks become cells
of code, in their order. The pages are the only source, so nothing here is edited by hand, and
nothing is committed. A notebook needs a clone of the project with its requirements; it runs in a
folder of its own and reads the clone's data.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil

import nbformat

from docs.making.blocks import FENCE, ROOT, blocks_of

LANGUAGES = ("course", "ko")
# A page's blocks read data/ and write pictures and runs.
FIRST_CELL = """\
import os
import pathlib
import shutil
import sys
import tempfile

# All files are written into a folder of their own; the data come from the clone of the project,
# and so does the package where none is installed.
here = pathlib.Path.cwd()
root = next(folder for folder in (here, *here.parents) if (folder / "data" / "dates").is_dir())
sys.path.append(str(root))
os.chdir(tempfile.mkdtemp())
shutil.copytree(root / "data", "data");"""
MARK = re.compile(r"^<!-- (?:not run|shortened in tests|site): .*-->\n", re.M)
DETAILS = re.compile(r"<details><summary>(.*?)</summary>|</details>")
MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
PAGE_LINK = re.compile(r"\]\(([\w-]+)\.md(#[^)]*)?\)")


def prose(text: str) -> str:
    """A page's Markdown as a notebook shows it."""
    text = MARK.sub("", text)
    text = DETAILS.sub(lambda match: f"**{match[1]}**" if match[1] else "", text)
    text = MATH.sub(lambda match: f"$$\n{match[1]}$$", text)
    text = PAGE_LINK.sub(lambda match: f"]({match[1]}.ipynb{match[2] or ''})", text)
    return text.strip()


def notebook_of(page: pathlib.Path, short: bool = False) -> nbformat.NotebookNode:
    """The notebook of a page; `short` takes the blocks as tests run them."""
    text = page.read_text(encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(FIRST_CELL)] if "```python" in text else []
    end = 0
    for match, block in zip(FENCE.finditer(text), blocks_of(text), strict=True):
        if not block.run:  # stays a block in the prose
            continue
        cells.append(nbformat.v4.new_markdown_cell(prose(text[end : match.start()])))
        code = block.short if short else block.code
        cells.append(nbformat.v4.new_code_cell(code.rstrip("\n")))
        end = match.end()
    cells.append(nbformat.v4.new_markdown_cell(prose(text[end:])))
    cells = [cell for cell in cells if cell.source]
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # the same bytes each time
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    return notebook


def write(out: pathlib.Path) -> list[pathlib.Path]:
    """Writes every notebook, and the pictures beside them; returns the notebooks' paths."""
    written = []
    for language in LANGUAGES:
        folder = out / language
        folder.mkdir(parents=True, exist_ok=True)
        for page in sorted((ROOT / "docs" / language).glob("*.md")):
            path = folder / f"{page.stem}.ipynb"
            nbformat.write(notebook_of(page), path)
            written.append(path)
    shutil.copytree(ROOT / "docs" / "images", out / "images", dirs_exist_ok=True)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "notebooks")
    for path in write(parser.parse_args().out):
        print(path)


if __name__ == "__main__":
    main()
