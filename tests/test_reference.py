"""The reference holds every public name, is up to date, and its docstrings are complete."""

import ast
import re

import pytest

from tests.test_docs import PAGES

griffe = pytest.importorskip("griffe", reason="griffe reads the docstrings")

from docs.making import reference  # noqa: E402
from docs.making.blocks import blocks_of  # noqa: E402

PACKAGE = reference.load()
LOOKS_INSIDE = re.compile(r"(?:8|9|1\d)-")
INSIDE = re.compile(r"keras_attention\.(?:engine|explanation)\.")
NAMES = [name for page in reference.public_pages() for name in page["names"]]


def test_the_pages_are_what_the_docstrings_say():
    made = reference.pages()
    found = {path.name: path.read_text(encoding="utf-8") for path in reference.FOLDER.glob("*.md")}
    assert set(found) == set(made)
    stale = [name for name in made if found[name] != made[name]]
    assert not stale, "run `python -m docs.making.reference`"


def test_every_public_name_has_its_place():
    assert len(NAMES) == len(set(NAMES))
    listed = {f"{reference.PACKAGE}.{name}" for name in NAMES}
    in_all = {item.path: name for name, item in reference.names_in_all(PACKAGE).items()}
    assert set(in_all) <= listed, "docs/public.toml lacks what an __all__ makes public"


def test_what_the_pages_import_is_public():
    """A reader may use what a page shows; private modules and constants aside.

    Pages 8 to 12 of the course look inside the audit and the NumPy model, and say so.
    """
    imported = set()
    for page in PAGES:
        for block in blocks_of(page.read_text(encoding="utf-8")):
            for node in ast.walk(ast.parse(block.code)):
                if not isinstance(node, ast.ImportFrom):
                    continue
                inside = LOOKS_INSIDE.match(page.name) and INSIDE.match(node.module)
                if node.module.startswith("keras_attention") and not inside:
                    imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    public = {reference.object_at(PACKAGE, name).path for name in NAMES}
    missing = set()
    for path in imported:
        if "._" in path or path.rsplit(".", 1)[1].isupper():
            continue
        target = PACKAGE[path.removeprefix("keras_attention.")]
        target = target.final_target if target.is_alias else target
        if target.path not in public:
            missing.add(path)
    assert not missing


@pytest.mark.parametrize("name", NAMES)
def test_a_public_docstring_is_complete(name):
    assert not reference.complaints(reference.object_at(PACKAGE, name))


def test_every_option_is_on_its_page():
    page = (reference.FOLDER / "options.md").read_text(encoding="utf-8")
    config = PACKAGE["config.Config"]
    flags = {"--" + name.replace("_", "-") for name in reference.parameters_of(config)}
    assert set(re.findall(r"^\| `(--[\w-]+)`", page, re.M)) == flags


SAMPLE = '''
import numpy as np

def whole(values: np.ndarray, seed: int) -> np.ndarray:
    """Shuffles.

    Args:
        values: float `[N]`.
        seed: integer.

    Raises:
        ValueError: there is nothing to shuffle.
    """
    if not len(values):
        raise ValueError("nothing")
    return values

def partial(values: np.ndarray, seed: int) -> np.ndarray:
    """Shuffles with a seed."""
    if not len(values):
        raise ValueError("nothing")
    return values

def silent(x): ...
'''


def test_an_incomplete_docstring_is_noticed(tmp_path):
    (tmp_path / "sample.py").write_text(SAMPLE, encoding="utf-8")
    module = griffe.load("sample", search_paths=[tmp_path], docstring_parser="google")
    assert reference.complaints(module["whole"]) == []
    assert reference.complaints(module["partial"]) == [
        "does not say what values is",
        "does not say when it raises ValueError",
        "does not give the shapes of its arrays",
    ]
    assert reference.complaints(module["silent"]) == ["has no docstring"]
