"""The report's sections on faithfulness, one function each: HTML, or nothing where not measured."""

from __future__ import annotations

from html import escape

from keras_attention.explanation.pages.charts import WORDS, shown
from keras_attention.explanation.pages.heatmaps import LONGEST_WORD
from keras_attention.explanation.reporting.report import Report, ShownExample
from keras_attention.explanation.reporting.verdict import TABLE
from keras_attention.plots.visible_label import visible_label


def agreement(report: Report, drawings: dict[str, str]) -> list[str]:
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
        f"<tbody>{rows}</tbody></table></div>{limits('agreement')}</section>"
    ]


def changed(report: Report, drawings: dict[str, str]) -> list[str]:
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
        f"{drawings['permutation']}{limits('permutation')}</section>"
    ]


def adversarial(report: Report, drawings: dict[str, str]) -> list[str]:
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
    return ["".join([*parts, limits("adversarial"), "</section>"])]


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


def erasure(report: Report, drawings: dict[str, str]) -> list[str]:
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
        f"{limits('erasure')}</section>"
    ]


def limits(name: str) -> str:
    row = next(row for row in TABLE if row.name == name)
    return f'<p class="limits"><strong>What this does not show.</strong> {escape(row.limits)}</p>'
