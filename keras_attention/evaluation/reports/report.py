"""Slices and errors as lines for people, as JSON for programs, and as a page."""

from __future__ import annotations

import dataclasses
import html
import pathlib
from collections.abc import Iterable, Sequence

from keras_attention._runtime.files import write_text
from keras_attention.evaluation.evaluation import Evaluation
from keras_attention.evaluation.reports.slices import Errors, Slice

# What is shown of each list; JSON has more.
SHOWN, KEPT = 10, 1000

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
caption { text-align: start; font-weight: 600; padding: 0.25rem 0; }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: start; vertical-align: top; }
td.number { text-align: end; font-variant-numeric: tabular-nums; }
tr { border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
figure { margin: 1rem 0; } figure svg, figure img { max-width: 100%; height: auto; }
"""


@dataclasses.dataclass(frozen=True)
class Report:
    """What `evaluate --by` and `--report` show beside the figures of an evaluation.

    Attributes:
        model, data: What was evaluated, and on what.
        evaluation: The figures.
        errors: See `slices.Errors`.
        by: What the slices are by; None where there are none.
        slices: The worst first.
        kind: Of the target's tokens.
    """

    model: str
    data: str
    evaluation: Evaluation
    errors: Errors
    by: str | None = None
    slices: tuple[Slice, ...] = ()

    def to_dict(self) -> dict:
        """Slices and errors, by name."""
        errors = self.errors
        return {
            "by": self.by,
            "slices": [dataclasses.asdict(each) for each in self.slices],
            "wrong": [dataclasses.asdict(each) for each in errors.wrong[:KEPT]],
            "wrong_in_all": len(errors.wrong),
            "confusion": [
                {"expected": before, "answered": after, "count": count}
                for before, after, count in errors.confusion
            ],
            "groups": [dataclasses.asdict(each) for each in errors.groups[:KEPT]],
        }

    def to_text(self) -> str:
        """Slices and errors as lines for people."""
        errors = self.errors
        lines = []
        if self.by is not None:
            lines.append(f"by {self.by}, the worst first (in brackets: 95 % interval):")
            lines += [
                f"  {each.name}: {each.exact_match:.4f} [{each.low:.4f}, {each.high:.4f}] "
                f"(n={each.n}, token error rate {each.token_error_rate:.4f})"
                for each in self.slices
            ]
        if not errors.wrong:
            return "\n".join([*lines, "no answer is wrong"])
        lines.append("wrong answers, the surest first:")
        lines += [
            f"  {each.confidence:.4f}: {each.source} → {each.answer}, expected {each.reference}"
            for each in errors.wrong[:SHOWN]
        ]
        lines.append("tokens mistaken for others:")
        lines += [
            f"  {count:>5} times {_edit((before, after))}"
            for before, after, count in errors.confusion[:SHOWN]
        ]
        lines.append("errors of one kind:")
        lines += [
            f"  {group.count:>5} times {_edits(group.edits)}, as {group.example.source} → "
            f"{group.example.answer}, expected {group.example.reference}"
            for group in errors.groups[:SHOWN]
        ]
        return "\n".join(lines)


def write_page(
    path: str | pathlib.Path, report: Report, figures: Sequence[tuple[str, str]] = ()
) -> None:
    """Writes the report as one HTML file that loads nothing.

    Args:
        path: The file, which appears whole or not at all.
        report: What to show.
        figures: Captions with drawings as SVG; they stand below the figures of confidence.
    """
    evaluation, errors = report.evaluation, report.errors
    parts = [
        f"<h1>{html.escape(report.model)}</h1><p>on {html.escape(report.data)}</p>",
        _table(
            "All pairs",
            ("pairs", "exact match", "token error rate"),
            [(evaluation.n, _share(evaluation.exact_match), _share(evaluation.token_error_rate))],
        ),
    ]
    if report.slices:
        parts.append(
            _table(
                f"By {report.by}, the worst first",
                ("slice", "pairs", "exact match", "95 % interval", "token error rate"),
                [
                    (
                        each.name,
                        each.n,
                        _share(each.exact_match),
                        f"{each.low:.4f} to {each.high:.4f}",
                        _share(each.token_error_rate),
                    )
                    for each in report.slices
                ],
            )
        )
    parts.append(_confidence(evaluation))
    parts += [
        f"<figure>{drawing}<figcaption>{html.escape(caption)}</figcaption></figure>"
        for caption, drawing in figures
    ]
    if errors.wrong:
        parts += _wrong(errors)
    else:
        parts.append("<p>No answer is wrong.</p>")
    title = html.escape(f"{report.model} on {report.data}")
    write_text(
        path,
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n",
    )


def _confidence(evaluation: Evaluation) -> str:
    says_little = (
        "" if evaluation.reservation is None else f"; says little: {evaluation.reservation}"
    )
    return _table(
        f"The surest answers (expected calibration error {evaluation.calibration_error:.4f}"
        f"{says_little})",
        ("answered", "confidence of at least", "exact match"),
        [
            (f"{point.coverage:.1%}", _share(point.min_confidence), _share(point.exact_match))
            for point in evaluation.coverage
        ],
    )


def _wrong(errors: Errors) -> list[str]:
    return [
        _table(
            f"Errors of one kind ({len(errors.groups)} kinds, {len(errors.wrong)} wrong answers)",
            ("times", "edits", "for example", "answered", "expected"),
            [
                (
                    group.count,
                    _edits(group.edits),
                    group.example.source,
                    group.example.answer,
                    group.example.reference,
                )
                for group in errors.groups[: 5 * SHOWN]
            ],
        ),
        _table(
            "Tokens mistaken for others",
            ("times", "token"),
            [(n, _edit((before, after))) for before, after, n in errors.confusion[: 5 * SHOWN]],
        ),
        _table(
            "Wrong answers, the surest first",
            ("confidence", "source", "answered", "expected"),
            [
                (_share(each.confidence), each.source, each.answer, each.reference)
                for each in errors.wrong[: 20 * SHOWN]
            ],
        ),
    ]


def _table(caption: str, header: Iterable[str], rows: Iterable[Sequence]) -> str:
    def cell(value) -> str:
        number = ' class="number"' if isinstance(value, int) else ""
        return f"<td{number}><bdi>{html.escape(str(value))}</bdi></td>"

    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>\n" for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>\n{body}</table>"


def _edits(edits: Iterable[tuple[str, str]]) -> str:
    return ", ".join(map(_edit, edits))


def _edit(edit: tuple[str, str]) -> str:
    before, after = (_visible(token) for token in edit)
    if not edit[0]:
        return f"{after} added"
    return f"{before} left out" if not edit[1] else f"{before} → {after}"


def _visible(token: str) -> str:
    return f"'{token}'" if token.isspace() else token


def _share(value: float) -> str:
    return f"{value:.4f}"
