"""A report as one HTML page that needs nothing else: no network, no scripts, light and dark."""

from __future__ import annotations

from html import escape

from keras_attention.explanation.pages import svg
from keras_attention.explanation.pages.figures import WORDS, all_figures, decimals, shown
from keras_attention.explanation.pages.heatmaps import LONGEST_WORD
from keras_attention.explanation.reporting.report import PositionRow, Report, ShownExample
from keras_attention.explanation.reporting.verdict import IS, IS_NOT, TABLE, Judgement
from keras_attention.plots.visible_label import visible_label

PAGE_STYLE = """
* { box-sizing: border-box; }
html { color-scheme: light dark; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK KR", "NanumGothic",
  "Apple SD Gothic Neo", "Malgun Gothic", sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 17px; margin: 0; color: var(--quiet); font-weight: 600; }
h2 { font-size: 20px; margin: 0 0 6px; }
h3 { font-size: 16px; margin: 22px 0 6px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.quiet { color: var(--quiet); }
section, header { background: var(--surface); border: 1px solid var(--edge); border-radius: 12px;
  padding: 22px 26px; margin: 0 0 18px; }
.verdict { font-size: 32px; line-height: 1.2; font-weight: 700; margin: 6px 0; }
.facts { color: var(--quiet); font-size: 14px; margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--quiet); vertical-align: bottom; }
th, td { padding: 7px 10px; border-bottom: 1px solid var(--edge); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.outcome { display: inline-block; padding: 1px 10px; border-radius: 99px; font-weight: 600;
  font-size: 13px; }
.yes { color: var(--yes); background: var(--yes-ground); }
.no { color: var(--no); background: var(--no-ground); }
.partly { color: var(--partly); background: var(--partly-ground); }
.undefined { color: var(--quiet); background: var(--page); }
.limits { border-left: 3px solid var(--edge); padding-left: 12px; color: var(--quiet);
  font-size: 14.5px; }
td.bar { min-width: 84px; }
td.bar i { display: block; height: 4px; border-radius: 2px; background: var(--accent);
  margin-top: 3px; }
.tokens { line-height: 2.1; margin: 4px 0 12px; }
.tokens span { padding: 3px 5px; border-radius: 4px; margin-right: 2px; white-space: pre; }
.maps { margin: 14px 0 26px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 640px) { section, header { padding: 16px; } .verdict { font-size: 25px; }
  .wide { display: none; } td.number, th.number { white-space: normal; } }
"""


def render(report: Report) -> str:
    """The whole page."""
    drawings = all_figures(report)
    sections = [
        _header(report),
        _criteria(report),
        *_agreement(report, drawings),
        *_changed(report, drawings),
        *_adversarial(report, drawings),
        *_erasure(report, drawings),
        *_alignment(report, drawings),
        *_baselines(report),
        _positions(report),
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
        "<p class='quiet'>Attention is called an explanation where every criterion of "
        "faithfulness says yes, none where every one says no, and MIGHT be one where they "
        "disagree. Alignment is about plausibility: it can keep attention from being an "
        "explanation, but cannot make it one.</p></section>"
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
        f'<td class="number">{yes} {row.yes:g}</td><td class="number">{no} {row.no:g}</td>'
        f'<td><span class="outcome {judgement.outcome}">{judgement.outcome}</span></td></tr>'
    )


def _agreement(report: Report, drawings: dict[str, str]) -> list[str]:
    found = report.agreement
    if found is None:
        return []
    rows = "".join(
        f"<tr><td>{escape(WORDS[name])}</td>"
        f'<td class="number">{shown(found.kendall_tau[name])}</td>'
        f'<td class="number">{shown(found.null_kendall_tau[name])}</td>'
        f'<td class="number">{shown(found.top_1[name])}</td>'
        f'<td class="number">{shown(found.null_top_1[name])}</td></tr>'
        for name in found.kendall_tau
    )
    undefined = ""
    if found.undefined.value:
        undefined = (
            f"<p>At {found.undefined.value:.1%} of the steps some τ is undefined, because a "
            "measure or attention has one value for all tokens; they are left out.</p>"
        )
    return [
        "<section><h2>1. Does attention agree with measures of importance?</h2>"
        "<p>Kendall's τ compares rankings: 1 is the same order, 0 no relation, −1 the reverse. "
        "Measures of importance disagree with each other, too, so attention is compared with "
        "them as a ceiling, and with shuffled attention as a null.</p>"
        f'{drawings["agreement"]}{undefined}<div class="scroll"><table><thead><tr>'
        '<th>Attention with</th><th class="number">Kendall τ</th><th class="number">shuffled</th>'
        '<th class="number">same largest token</th><th class="number">shuffled</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{_limits('agreement')}</section>"
    ]


def _changed(report: Report, drawings: dict[str, str]) -> list[str]:
    found = report.interventions
    if found is None:
        return []
    return [
        "<section><h2>2a. Do other weights change the answer?</h2>"
        "<p>The weights of every step are replaced while the model answers freely. Below, one "
        "step at a time: for each step the median effect of 100 permutations, by how peaked its "
        "attention is.</p>"
        f"{drawings['interventions']}<h3>One step at a time</h3>"
        f"<p>Median total variation distance, mean over steps: {shown(found.permutation_median)}; "
        f"of each answer's most sensitive step: {shown(found.permutation_of_answer)}.</p>"
        f"{drawings['permutation']}{_limits('permutation')}</section>"
    ]


def _adversarial(report: Report, drawings: dict[str, str]) -> list[str]:
    found = report.adversarial
    if found is None:
        return []
    segment = ""
    if found.max_jsd_by_segment is not None:
        segment = (
            " Summed over the segments of the gold alignment, where moving weight within a "
            f"segment is no other story: {shown(found.max_jsd_by_segment)}."
        )
    parts = [
        "<section><h2>2b. Must the weights be these ones?</h2>"
        "<p>For each step the attention that is furthest from the model's, while the output moves "
        f"by at most ε = {found.epsilon:g} in total variation. Mean divergence "
        f"{shown(found.max_jsd)} nats of at most 0.693; {shown(found.survives)} of the steps keep "
        f"their answer under weights beyond 0.6.{segment}</p>{drawings['adversarial']}"
    ]
    titles = {
        "furthest": "Where the adversary gets furthest",
        "typical": "A typical case",
        "nearest": "Where it gets least far",
    }
    for number, example in enumerate(report.examples, 1):
        parts.append(f"<h3>{titles[example.why]}</h3>")
        parts.append(_example(example, drawings[f"example_{number}"]))
    if report.examples:
        parts.append(
            "<p class='quiet'>Rows are answer tokens with their probability, columns source "
            "tokens. Orange outlines: the gold alignment, dashed where a link is only possible.</p>"
        )
    return ["".join([*parts, _limits("adversarial"), "</section>"])]


def _example(example: ShownExample, drawing: str) -> str:
    if len(example.answer) != 1 or len(example.source) < 4:
        return f'<div class="maps">{drawing}</div>'
    # One step: running text with shaded tokens, as in the literature on sentiment.
    lines = [
        f"<p>{title}: <strong>{escape(example.answer[0])}</strong> with probability {p[0]:.3f}</p>"
        f'<div class="tokens">{_shaded(example.source, weights[0])}</div>'
        for title, weights, p in (
            ("The model's attention", example.attention, example.probability),
            ("The adversary's attention", example.adversarial, example.adversarial_probability),
        )
    ]
    return (
        f"<p class='quiet'>Divergence {example.divergence[0]:.3f} nats; the right answer is "
        f"{escape(example.reference[0])}.</p>{''.join(lines)}"
    )


def _shaded(tokens, weights) -> str:
    parts = []
    for token, weight in zip(tokens, weights, strict=True):
        # By the square root, so that a tenth of the weight shows; the number is in the tooltip.
        shade = f"color-mix(in srgb, var(--accent) {round(75 * weight**0.5)}%, transparent)"
        label = escape(visible_label(token, LONGEST_WORD))
        parts.append(f'<span style="background: {shade}" title="{weight:.3f}">{label}</span>')
    return " ".join(parts)


def _erasure(report: Report, drawings: dict[str, str]) -> list[str]:
    found = report.erasure
    if found is None:
        return []
    return [
        "<section><h2>3. Does the answer need what attention points at?</h2>"
        "<p>The most attended tokens are erased from the source (comprehensiveness), or all others "
        "are (sufficiency); how much of the answer's probability is lost? Random tokens are the "
        f"yardstick. AOPC comprehensiveness {shown(found.aopc_comprehensiveness)} against "
        f"{shown(found.random_aopc_comprehensiveness)} of random tokens; AOPC sufficiency, where "
        f"less is better, {shown(found.aopc_sufficiency)} against "
        f"{shown(found.random_aopc_sufficiency)}.</p>{drawings['erasure']}"
        f"{_limits('erasure')}</section>"
    ]


def _alignment(report: Report, drawings: dict[str, str]) -> list[str]:
    found = report.alignment
    if found is None or report.task == "classification":
        return []
    forward = (
        f"<p>Share of steps that look no further left than the step before: "
        f"{shown(found.monotonicity)}.</p>"
    )
    if found.gold is None:
        return [
            "<section><h2>4. Does attention point where a person would?</h2><p>There is no gold "
            f"alignment in this data (its third column), so this is not known.</p>{forward}"
            "</section>"
        ]
    tables = [
        _alignment_table(title, rows)
        for title, rows in (("By field", found.by_field), ("By form of the source", found.by_group))
        if rows
    ]
    return [
        "<section><h2>4. Does attention point where a person would?</h2>"
        f"<p>Alignment error rate {shown(found.gold.alignment_error_rate)}: precision "
        f"{shown(found.gold.precision)}, recall of sure links {shown(found.gold.recall)}. "
        f"{shown(found.gold.mass)} of all weight lies on gold links. The controls must be worse, "
        f"or the measure shows nothing.</p>{drawings['alignment']}{forward}"
        f"{''.join(tables)}{_limits('alignment')}</section>"
    ]


def _alignment_table(title: str, rows) -> str:
    body = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{row.alignment_error_rate.n:,}</td>'
        f'<td class="number">{shown(row.alignment_error_rate)}</td>'
        f'<td class="number">{shown(row.pointing_accuracy)}</td>'
        f'<td class="number">{shown(row.pointing_accuracy_within_1)}</td>'
        f'<td class="number">{shown(row.mass)}</td></tr>'
        for name, row in rows.items()
    )
    return (
        f'<h3>{title}</h3><div class="scroll"><table><thead><tr><th></th><th class="number">steps'
        '</th><th class="number">alignment error rate</th><th class="number">points at a gold link'
        '</th><th class="number">within one token</th><th class="number">weight on gold</th></tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _baselines(report: Report) -> list[str]:
    found = report.baselines
    if found is None:
        return []
    rows = [
        ("the model", found.exact_match),
        ("trained with uniform attention", found.uniform_trained),
    ]
    if found.no_attention is not None:
        rows.append(("trained without attention", found.no_attention))
    rows += [(f"trained with {name.replace('_', ' ')}", n) for name, n in found.other_seeds.items()]
    body = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{shown(number)}</td></tr>'
        for name, number in rows
    )
    return [
        "<section><h2>5. Other models for comparison</h2>"
        "<p>The same recipe on the same data. Divergence of attention between seeds: "
        f"{shown(found.between_seeds_jsd)} nats.</p><table><thead><tr><th>Model</th>"
        f'<th class="number">exact match</th></tr></thead><tbody>{body}</tbody></table>'
        f"{_limits('need')}{_limits('seeds')}</section>"
    ]


_COLUMNS = (
    ("largest_weight", "largest weight", 1.0),
    ("kendall_tau", "τ with leave one out", 1.0),
    ("top_1", "same top as gradient", 1.0),
    ("permutation", "moved by permutation", 1.0),
    ("adversarial", "adversary's divergence", 0.6931),
    ("comprehensiveness", "lost with top token, beyond random", 1.0),
    ("pointing_accuracy", "points at gold", 1.0),
)


def _positions(report: Report) -> str:
    if len(report.positions) < 2:
        return ""
    columns = [c for c in _COLUMNS if any(getattr(row, c[0]) for row in report.positions)]
    head = "".join(f"<th>{label}</th>" for _, label, _ in columns)
    body = "".join(_position_row(row, columns) for row in report.positions)
    return (
        "<section><h2>Position by position</h2><p>What holds on average need not hold anywhere: "
        "many an output token, such as a separator, needs no source token at all, and attention "
        'there explains nothing.</p><div class="scroll"><table><thead><tr><th>output</th>'
        f'<th class="number">n</th>{head}</tr></thead><tbody>{body}</tbody></table></div></section>'
    )


def _position_row(row: PositionRow, columns) -> str:
    cells = []
    for name, _, whole in columns:
        number = getattr(row, name)
        if number is None or number.value is None:
            cells.append('<td class="bar quiet">–</td>')
            continue
        share = min(max(number.value / whole, 0.0), 1.0)
        cells.append(
            f'<td class="bar" title="{shown(number)}">{decimals(number.value)}'
            f'<i style="width: {100 * share:.0f}%"></i></td>'
        )
    name = f"{row.position + 1} {row.name}".strip()
    count = max((getattr(row, c[0]).n for c in columns if getattr(row, c[0])), default=0)
    return f'<tr><td>{escape(name)}</td><td class="number">{count:,}</td>{"".join(cells)}</tr>'


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


def _limits(name: str) -> str:
    row = next(row for row in TABLE if row.name == name)
    return f'<p class="limits"><strong>What this does not show.</strong> {escape(row.limits)}</p>'
