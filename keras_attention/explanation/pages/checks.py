"""The report's sections on the map itself: does it depend on anything, and on the right things?"""

from __future__ import annotations

from html import escape

from keras_attention.explanation.pages.charts import decimals, shown
from keras_attention.explanation.pages.heatmaps import LONGEST_WORD
from keras_attention.explanation.pages.sections import limits
from keras_attention.explanation.reporting.report import Report, ShownExample
from keras_attention.plots.visible_label import visible_label

MOST_TOKENS = 3  # of one step, in the table of contributions


def dependence(report: Report) -> list[str]:
    found = report.dependence
    said = [
        "A map that is the same at every step of every example cannot say what an answer came from."
    ]
    if found.on_step.value is not None:
        said.append(
            f"Steps tell {shown(found.on_step)} nats about the position that is looked at. In "
            f"{shown(found.one_position)} of the examples attention looks at one position in every "
            "step."
        )
    if found.on_input.value is not None:
        said.append(f"The maps of two examples at one step are {shown(found.on_input)} nats apart.")
    return [
        f"<section><h2>0. Does the map depend on anything?</h2><p>{' '.join(said)}</p>"
        f"{limits('dependence')}</section>"
    ]


def contrast(report: Report) -> list[str]:
    found = report.contrast
    if found is None:
        return []
    typical = next((each for each in report.examples if each.why == "typical"), None)
    table = _contributions(typical or report.examples[0]) if report.examples else ""
    return [
        "<section><h2>Why this token and not the runner-up?</h2>"
        "<p>At each step the margin, the logit of the answer’s token minus that of the likeliest "
        f"other one, is {shown(found.margin)} on average. {shown(found.through_attention)} of all "
        "margins comes from source tokens through their attention weights, the rest from the "
        "decoder’s state. The most attended token is the one that adds most at "
        f"{shown(found.top_1)} of the steps; Kendall’s τ of attention with what each token adds "
        f"is {shown(found.kendall_tau)}.</p>{table}</section>"
    ]


def _contributions(example: ShownExample) -> str:
    if not example.runner_up:
        return ""
    rows = []
    for step, (token, other) in enumerate(zip(example.answer, example.runner_up, strict=True)):
        parts = example.contribution[step]
        largest = sorted(range(len(parts)), key=lambda place: -abs(parts[place]))[:MOST_TOKENS]
        listed = ", ".join(
            f"<strong>{_label(example.source[place])}</strong> ({place + 1}) "
            f"{decimals(parts[place])}"
            for place in largest
            if abs(parts[place]) >= 0.0005
        )
        rest = example.margin[step] - sum(parts)
        rows.append(
            f"<tr><td>{_label(token)}</td><td>{_label(other)}</td>"
            f'<td class="number">{decimals(example.margin[step])}</td>'
            f'<td>{listed or "–"}</td><td class="number">{decimals(rest)}</td></tr>'
        )
    words = any(len(token) > 1 for token in example.source)
    source = escape((" " if words else "").join(map(visible_label, example.source)))
    return (
        f'<p class="quiet">One example: {source}</p><div class="scroll"><table><thead><tr>'
        '<th>Answer</th><th>Runner-up</th><th class="number">margin</th>'
        "<th>source tokens that add most (place)</th>"
        f'<th class="number">from the state</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</div>"
    )


def _label(token: str) -> str:
    return escape(visible_label(token, LONGEST_WORD))


def sanity(report: Report) -> list[str]:
    parts = []
    if (shuffled := report.randomised) is not None:
        parts.append(
            "<h3>Shuffled weights</h3><p>With every weight array of the model shuffled, a map that "
            "shows what was learnt becomes another one. Kendall’s τ with the model’s own map is "
            f"{shown(shuffled.kendall_tau)}, the largest token is the same at "
            f"{shown(shuffled.top_1)} of the steps, and the divergence is "
            f"{shown(shuffled.divergence)} nats.</p>"
        )
    if (stable := report.stability) is not None:
        parts.append(
            f"<h3>Small changes of the input</h3><p>Noise of {stable.noise:.0%} of the embeddings’ "
            f"norm moves attention by {shown(stable.divergence)} nats and the output by "
            f"{shown(stable.distance)} in total variation; the largest weight keeps its position "
            f"at {shown(stable.same_top)} of the steps. At the steps whose output hardly moves, "
            f"{shown(stable.output_stays)} of all, attention moves by "
            f"{shown(stable.divergence_where_output_stays)} nats.</p>"
        )
    if not parts:
        return []
    return ["".join(["<section><h2>Checks of the map itself</h2>", *parts, "</section>"])]
