"""A report into a folder: JSON, page and figures, whole or not at all."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from keras_attention._runtime.files import make_folder, write_text
from keras_attention._runtime.replacement import replace_together
from keras_attention.errors import UserError
from keras_attention.explanation.pages.figures import all_figures
from keras_attention.explanation.pages.html import render
from keras_attention.explanation.pages.svg import standalone
from keras_attention.explanation.reporting.matrices import to_json
from keras_attention.explanation.reporting.report import Report

JSON, PAGE, FIGURES, EXAMPLES = "report.json", "report.html", "figures", "examples"
_ASIDE = ".writing-report-"


def write_report(report: Report, out: str | os.PathLike[str]) -> pathlib.Path:
    """Writes `report.json`, `report.html`, `figures/*.svg` and `examples/*.json` into `out`.

    All files are made aside first and moved together. `report.json` is moved last: a folder that
    has one has a whole report.

    Raises:
        UserError: the folder cannot be written to.
    """
    out = make_folder(os.fspath(out))
    for left in out.glob(f"{_ASIDE}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    aside = pathlib.Path(tempfile.mkdtemp(prefix=_ASIDE, dir=out))
    new, old = aside / "new", aside / "old"
    try:
        (new / FIGURES).mkdir(parents=True)
        old.mkdir()
        for name, drawing in all_figures(report).items():
            write_text(new / FIGURES / f"{name}.svg", standalone(drawing))
        write_text(new / PAGE, render(report))
        write_text(new / JSON, report.to_json())
        (new / EXAMPLES).mkdir()
        digits = len(str(len(report.matrices)))
        for number, matrices in enumerate(report.matrices, 1):
            write_text(new / EXAMPLES / f"{number:0{digits}}.json", to_json(matrices))
        places = (EXAMPLES, FIGURES, PAGE, JSON)
        replace_together([(new / name, out / name) for name in places], old)
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written to: {error.strerror}; choose another folder with --out"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return out
