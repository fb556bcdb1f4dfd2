"""Draws every picture in docs/images: `python -m docs.making.pictures [--runs runs] [...]`.

The small ones are made by the Python blocks of the course, which are executed here. The others
show trained models: `--runs` holds `dates` and `phrases` as page 7 trains them, `--comparison` is
the folder of `python -m keras_attention compare`. A picture whose model is not there is left as it
is and named.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import tempfile

from docs.making.blocks import ROOT, run_page

IMAGES = ROOT / "docs" / "images"
COURSE = ROOT / "docs" / "course"

DATES = ["september 27, 1994", "August 17, 1983", "12/30/05", "12th march 1985"]
DATES += ["FRIDAY, JUNE 24, 2067"]
KOREAN_DATES = ["1986년 12월 25일", "67년 8월 29일", "1990년 8월 17일 금요일"]
PHRASE = "나 는 고양이 로소이다"
LETTERS = "tnjyhlnvaszrrdzopcvnihzrktezwjibkwhegnjlyktuuyvploblifgenqhz"


def draw_page(page: pathlib.Path, runs: pathlib.Path) -> None:
    """Executes a page's Python blocks in a folder of their own; takes the pictures they save."""
    with tempfile.TemporaryDirectory() as folder:
        run_page(page, pathlib.Path(folder), runs, short=True)
        for picture in pathlib.Path(folder).glob("*.png"):
            shutil.copyfile(picture, IMAGES / picture.name)


def maps(run: pathlib.Path, texts: list[str], name: str, **options) -> None:
    """The attention maps of `texts`, each titled by its source and answer."""
    from keras_attention.commands import load_translator
    from keras_attention.plots.figure_files import save_figure
    from keras_attention.plots.heatmap import plot_attention_grid

    translations = load_translator(str(run)).translate(texts)
    titles = options.pop("titles", None) or [
        f"{text} → {each.text}" for text, each in zip(texts, translations, strict=True)
    ]
    save_figure(plot_attention_grid(translations, titles=titles, **options), IMAGES / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=pathlib.Path, default=ROOT / "runs")
    parser.add_argument("--comparison", type=pathlib.Path, default=ROOT / "comparisons" / "dates")
    options = parser.parse_args()
    reverse = options.comparison / "runs" / "reverse" / "attention-1"
    trained = [
        (options.runs / "dates", DATES, "five-dates.png", {}),
        (options.runs / "dates", DATES, "five-dates-grey.png", {"style": "grey"}),
        (options.runs / "dates", KOREAN_DATES, "korean-dates.png", {}),
        (options.runs / "phrases", [PHRASE], "phrase.png", {}),
        (reverse, [LETTERS], "reverse-60.png", {"titles": ["60 letters, written backwards"]}),
    ]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with tempfile.TemporaryDirectory() as runs:
        for page in sorted(COURSE.glob("[0-9]*.md")):
            draw_page(page, pathlib.Path(runs))
    for run, texts, name, more in trained:
        if (run / "config.json").is_file():
            maps(run, texts, name, **more)
        else:
            print(f"{name}: left as it is, since there is no run {run}")
    for name in ("exact_match_per_epoch", "exact_match_by_length", "gradient_norms"):
        made, place = options.comparison / f"{name}.png", IMAGES / f"{name.replace('_', '-')}.png"
        if made.is_file():
            shutil.copyfile(made, place)
        else:
            print(f"{place.name}: left as it is, since there is no {made}")


if __name__ == "__main__":
    main()
