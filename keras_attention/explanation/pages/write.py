"""A report into a folder: JSON, page and figures, whole or not at all."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from keras_attention._runtime.files import make_folder, write_text
from keras_attention.errors import UserError
from keras_attention.explanation.pages.figures import all_figures
from keras_attention.explanation.pages.html import render
from keras_attention.explanation.pages.svg import standalone
from keras_attention.explanation.reporting.report import Report

JSON, PAGE, FIGURES = "report.json", "report.html", "figures"


def write_report(report: Report, out: str | os.PathLike) -> pathlib.Path:
    """Writes `report.json`, `report.html` and `figures/*.svg` into the folder `out`.

    All files are made aside first; then an older report's are replaced, `report.json` last.

    Raises:
        UserError: the folder cannot be written to.
    """
    out = make_folder(out)
    aside = pathlib.Path(tempfile.mkdtemp(prefix=".writing-", dir=out))
    try:
        (aside / FIGURES).mkdir()
        for name, drawing in all_figures(report).items():
            write_text(aside / FIGURES / f"{name}.svg", standalone(drawing))
        write_text(aside / PAGE, render(report))
        write_text(aside / JSON, report.to_json())
        shutil.rmtree(out / FIGURES, ignore_errors=True)
        for name in (FIGURES, PAGE, JSON):
            os.replace(aside / name, out / name)
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written to: {error.strerror}; choose another folder with --out"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return out
