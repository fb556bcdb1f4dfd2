"""The report's sections on alignment and on other models, and the table by output position."""

from __future__ import annotations

from html import escape

from keras_attention.explanation.pages.charts import decimals, shown
from keras_attention.explanation.pages.sections import limits
from keras_attention.explanation.reporting.report import PositionRow, Report


def alignment(report: Report, drawings: dict[str, str]) -> list[str]:
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
        f"{''.join(tables)}{limits('alignment')}</section>"
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


def baselines(report: Report) -> list[str]:
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
        f"{limits('need')}{limits('seeds')}</section>"
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


def positions(report: Report) -> str:
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
