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
