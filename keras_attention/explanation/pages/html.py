"""A report as one HTML page that needs nothing else: no network, no scripts, light and dark."""

from __future__ import annotations

from html import escape

from keras_attention.explanation.pages import svg
from keras_attention.explanation.pages.charts import shown
from keras_attention.explanation.pages.checks import contrast, dependence, sanity
from keras_attention.explanation.pages.comparisons import alignment, baselines, positions
from keras_attention.explanation.pages.figures import all_figures
from keras_attention.explanation.pages.sections import adversarial, agreement, changed, erasure
from keras_attention.explanation.pages.style import PAGE_STYLE
from keras_attention.explanation.reporting.report import Report
from keras_attention.explanation.reporting.verdict import IS, IS_NOT, TABLE, Judgement


def render(report: Report) -> str:
    """The whole page."""
    drawings = all_figures(report)
    sections = [
        _header(report),
        _criteria(report),
        *dependence(report),
        *agreement(report, drawings),
        *changed(report, drawings),
        *adversarial(report, drawings),
        *erasure(report, drawings),
        *alignment(report, drawings),
        *baselines(report),
        *contrast(report),
        *sanity(report),
        positions(report),
        _definitions(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>Is this attention an explanation?</title>\n"
        f"<style>{svg.THEME}{svg.STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(report: Report) -> str:
    verdict = report.verdict
    tone = {IS: "yes", IS_NOT: "no"}.get(verdict.overall, "partly")
    overall = verdict.overall[0].upper() + verdict.overall[1:]
    return (
        "<header><h1>Is this attention an explanation?</h1>"
        f'<p class="verdict"><span style="color: var(--{tone})">{escape(overall)}</span></p>'
        f"<p>{escape(verdict.reason)}</p>"
        f'<p class="facts">{escape(report.description)} · {report.task} · '
        f"{report.n_examples:,} examples, {report.n_steps:,} steps · seed {report.seed}</p>"
        "</header>"
    )


def _criteria(report: Report) -> str:
    rows = "".join(map(_criterion_row, report.verdict.judgements))
    return (
        '<section><h2>Criterion by criterion</h2><div class="scroll"><table><thead><tr>'
        '<th>Question</th><th class="wide">Measured</th>'
        '<th class="number">Value [95 % interval]</th>'
        '<th class="number">“yes”</th><th class="number">“no”</th><th>Outcome</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        "<p class='quiet'>A map that depends neither on the step nor on the input is never an "
        "explanation. Any other is called one where every criterion of faithfulness says yes, "
        "none where every one says no, and MIGHT be one where they disagree. Alignment is about "
        "plausibility: it can keep attention from being an explanation, but cannot make it "
        "one.</p></section>"
    )


def _criterion_row(judgement: Judgement) -> str:
    row = judgement.criterion
    more = row.yes > row.no
    yes, no = ("≥", "≤") if more else ("≤", "≥")
    return (
        f"<tr><td><strong>{escape(row.question)}</strong><br>"
        f'<span class="quiet">{row.name}, {row.about}</span></td>'
        f'<td class="wide">{escape(row.measure)}</td>'
        f'<td class="number">{shown(judgement.number)}</td>'
        f'<td class="number">{yes}\N{NO-BREAK SPACE}{row.yes:g}</td>'
        f'<td class="number">{no}\N{NO-BREAK SPACE}{row.no:g}</td>'
        f'<td><span class="outcome {judgement.outcome}">{judgement.outcome}</span></td></tr>'
    )


def _definitions(report: Report) -> str:
    why = "".join(
        f"<tr><td>{row.name}</td><td>{escape(row.measure)}</td><td>{escape(row.why)}</td></tr>"
        for row in TABLE
    )
    return (
        "<section><h2>How it was measured</h2><p>Teacher forcing on the model's own answers, "
        "without dropout; alignment on the references. Other weights at one step change only that "
        "step's output, since the decoder's states do not depend on attention, so all steps are "
        "measured exactly and at once. Intervals: 95 %, by bootstrap over examples, or Wilson's "
        "for shares of examples. report.json holds every number with its definition.</p>"
        '<div class="scroll"><table><thead><tr><th>Criterion</th><th>Measure</th>'
        f"<th>Why these thresholds</th></tr></thead><tbody>{why}</tbody></table></div></section>"
    )
