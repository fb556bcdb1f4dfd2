"""A report into drawings, one function each. Sees numbers, never a model."""

from __future__ import annotations

from keras_attention.explanation.pages import svg
from keras_attention.explanation.pages.charts import (
    LABELS,
    LARGEST_JSD,
    VALUES,
    WIDTH,
    WORDS,
    bars,
    shown,
    violin,
)
from keras_attention.explanation.pages.heatmaps import pair_of_maps
from keras_attention.explanation.reporting.report import (
    AdversarialReport,
    AgreementReport,
    AlignmentReport,
    AlignmentRow,
    BaselinesReport,
    ErasureReport,
    Histogram,
    InterventionsReport,
    Report,
)


def all_figures(report: Report) -> dict[str, str]:
    """Every drawing that the report has numbers for, by file name without suffix."""
    drawings = {}
    if report.agreement:
        drawings["agreement"] = agreement(report.agreement)
    if report.interventions:
        drawings["interventions"] = interventions(report.interventions, report.task)
        drawings["permutation"] = permutation(report.interventions)
    if report.adversarial:
        drawings["adversarial"] = adversarial(report.adversarial, report.baselines)
    if report.erasure:
        drawings["erasure"] = erasure(report.erasure)
    if report.alignment and report.alignment.gold:
        drawings["alignment"] = alignment(report.alignment, report.alignment.gold)
    for number, example in enumerate(report.examples, 1):
        drawings[f"example_{number}"] = pair_of_maps(example)
    return drawings


def agreement(found: AgreementReport) -> str:
    """Violins of Kendall's τ: attention with each measure, the ceiling, the null."""
    rows = [(WORDS[n], found.kendall_tau[n], found.spread[n], "accent") for n in _measures(found)]
    rows += [
        (_pair(pair), number, found.spread[f"ceiling {pair}"], "second")
        for pair, number in found.ceiling_kendall_tau.items()
    ]
    rows += [
        (WORDS[n], found.null_kendall_tau[n], found.spread[f"null {n}"], "calm")
        for n in _measures(found)
    ]
    titles = {
        0: "attention with a measure of importance",
        3: "ceiling: the measures among themselves",
        6: "null: shuffled attention",
    }
    parts, group_tops, y, height = [], [], 4.0, 34.0
    left, right = LABELS, WIDTH - VALUES

    def x_of(tau: float) -> float:
        return left + (right - left) * (tau + 1) / 2

    body = []
    for index, (label, number, spread, colour) in enumerate(rows):
        if index in titles:
            body.append(svg.text(0, y + 14, titles[index], "strong"))
            y += 24
            group_tops.append(y)
        middle = y + height / 2
        body.append(violin(spread, x_of, middle, height * 0.46, colour))
        if number.value is not None:
            x = x_of(number.value)
            body.append(svg.line(x, middle - 8, x, middle + 8, "whisker"))
        body.append(svg.text(left - 12, middle + 4, label, "", "end"))
        body.append(svg.text(right + 12, middle + 4, shown(number), "small"))
        y += height
    for tick in (-1, -0.5, 0, 0.5, 1):
        for top in group_tops:
            parts.append(svg.line(x_of(tick), top, x_of(tick), top + 3 * height, "grid"))
        body.append(svg.text(x_of(tick), y + 16, f"{tick:g}", "quiet small", "middle"))
    body.append(svg.text(x_of(0), y + 34, "Kendall's τ-b of a step", "quiet small", "middle"))
    words = "; ".join(f"{label}: {shown(number)}" for label, number, _, _ in rows)
    return svg.figure("Agreement with importance", words, WIDTH, y + 42, parts + body)


def interventions(found: InterventionsReport, task: str) -> str:
    """Bars: how many answers stay right when every step's weights are changed."""
    rows = [("unchanged", found.exact_match)] + [
        (name, getattr(found, name).exact_match)
        for name in (
            *("uniform", "permutation", "another_example", "largest_removed", "random_removed"),
            "only_largest",
        )
    ]
    name = "accuracy" if task == "classification" else "exact match"
    colours = ["second", *["accent"] * 6]
    return bars("Answers under changed attention", rows, colours, f"{name}, free-running")


def permutation(found: InterventionsReport) -> str:
    """Violins of the median distance under permutation, by the largest weight of a step."""
    bins = found.permutation_by_largest_weight
    left, top, bottom, width, height = 64.0, 14.0, 250.0, 520.0, 306.0
    step = (width - left) / len(bins)

    def y_of(distance: float) -> float:
        return bottom - (bottom - top) * distance

    parts = [svg.line(left, y_of(t), width, y_of(t), "grid") for t in (0, 0.25, 0.5, 0.75, 1)]
    parts += [
        svg.text(left - 8, y_of(t) + 4, f"{t:g}", "quiet small", "end")
        for t in (0, 0.25, 0.5, 0.75, 1)
    ]
    for place, each in enumerate(bins):
        centre = left + step * (place + 0.5)
        parts.append(violin(each.spread, y_of, centre, step * 0.4, "accent", upright=True))
        if each.median.value is not None:
            y = y_of(each.median.value)
            parts.append(svg.line(centre - 12, y, centre + 12, y, "whisker"))
            parts.append(svg.circle(centre, y, 3.2, "second"))
        end = "]" if each.high == 1 else ")"
        parts.append(
            svg.text(centre, bottom + 18, f"[{each.low:g}, {each.high:g}{end}", "small", "middle")
        )
        note = f"n = {each.median.n:,}"
        parts.append(svg.text(centre, bottom + 34, note, "quiet small", "middle"))
    middle = (left + width) / 2
    parts.append(svg.text(middle, bottom + 52, "largest weight", "quiet small", "middle"))
    label = "median total variation distance"
    y = (top + bottom) / 2
    parts.append(
        svg.text(14, y, label, "quiet small", "middle", transform=f"rotate(-90 14 {y:.1f})")
    )
    words = "; ".join(
        f"largest weight {b.low:g} to {b.high:g}: median {shown(b.median)}" for b in bins
    )
    return svg.figure("Permuted weights", words, width, height, parts)


def adversarial(found: AdversarialReport, baselines: BaselinesReport | None) -> str:
    """Histogram of the largest divergence found, with that between seeds where there is one."""
    left, top, bottom, width, height = 64.0, 34.0, 240.0, 560.0, 288.0

    def x_of(divergence: float) -> float:
        return left + (width - 16 - left) * divergence / 0.7

    groups = [(found.spread, "accent", "adversarial")]
    if baselines:
        groups.append((baselines.spread, "second", "between seeds"))
    tallest = max(_share(spread, count) for spread, _, _ in groups for count in spread.counts)
    tallest = tallest or 1.0
    parts = [svg.rect(x_of(0.6), top, x_of(LARGEST_JSD) - x_of(0.6), bottom - top, "far")]
    parts += [svg.line(x_of(t / 10), top, x_of(t / 10), bottom, "grid") for t in range(8)]
    for number, (spread, colour, _) in enumerate(groups):
        for low, high, count in zip(spread.edges, spread.edges[1:], spread.counts, strict=False):
            tall = (bottom - top) * _share(spread, count) / tallest
            room = (x_of(high) - x_of(low)) / len(groups)
            x = x_of(low) + room * number
            parts.append(svg.rect(x + 0.8, bottom - tall, room - 1.6, tall, colour))
    parts += [
        svg.text(x_of(t / 10), bottom + 17, f"{t / 10:g}", "quiet small", "middle")
        for t in range(8)
    ]
    parts.append(svg.line(left, bottom, width - 16, bottom, "axis"))
    parts.append(svg.text(x_of(0.647), top - 8, "almost disjoint", "small", "middle"))
    for number, (_, colour, label) in enumerate(groups):
        parts.append(svg.rect(left + 130 * number, 8, 11, 11, colour))
        parts.append(svg.text(left + 130 * number + 17, 18, label, "small"))
    parts.append(svg.text(left - 8, top + 10, f"{100 * tallest:.0f} %", "quiet small", "end"))
    parts.append(svg.text(left - 8, bottom, "0 %", "quiet small", "end"))
    middle = (left + width) / 2
    label = "Jensen-Shannon divergence from the model's weights, in nats"
    parts.append(svg.text(middle, bottom + 37, label, "quiet small", "middle"))
    words = f"mean {shown(found.max_jsd)}; above 0.6 with the same answer: {shown(found.survives)}"
    return svg.figure("Adversarial attention", words, width, height, parts)


def erasure(found: ErasureReport) -> str:
    """Probability lost against the share of tokens, attended or random."""
    width, height, top, bottom = WIDTH, 276.0, 40.0, 216.0
    parts, words = [], []
    for place, kind in enumerate(("comprehensiveness", "sufficiency")):
        left = 52.0 + place * 350
        right = left + 288
        own, chance = getattr(found, kind), getattr(found, f"random_{kind}")
        shares = [float(share) for share in own]
        highest = max(0.05, *(n.high or 0 for n in (*own.values(), *chance.values())))
        highest = min(1.0, round(highest + 0.1, 1))

        def x_of(share: float, left=left, right=right) -> float:
            return left + (right - left) * (share / 50) ** 0.5

        def y_of(lost: float, highest=highest) -> float:
            return bottom - (bottom - top) * lost / highest

        title = {
            "comprehensiveness": "lost without these tokens",
            "sufficiency": "lost with these tokens alone",
        }[kind]
        parts.append(svg.text(left, 16, title, "strong"))
        for tick in (0, highest / 2, highest):
            parts.append(svg.line(left, y_of(tick), right, y_of(tick), "grid"))
            parts.append(svg.text(left - 6, y_of(tick) + 4, f"{tick:.2g}", "quiet small", "end"))
        for share in shares:
            label = f"{share:g} %"
            parts.append(svg.text(x_of(share), bottom + 17, label, "quiet small", "middle"))
        for numbers, colour in ((own, "accent"), (chance, "calm")):
            points = [
                (x_of(float(share)), y_of(number.value))
                for share, number in numbers.items()
                if number.value is not None
            ]
            if points:
                parts.append(svg.path(points, f"line line-{colour}"))
                parts += [svg.circle(x, y, 3.4, colour) for x, y in points]
        words.append(f"{kind}: {shown(own['50'])} of attended, {shown(chance['50'])} of random")
    for place, (colour, label) in enumerate((("accent", "most attended"), ("calm", "random"))):
        x = 52 + 150 * place
        parts.append(svg.rect(x, height - 16, 11, 11, colour))
        parts.append(svg.text(x + 17, height - 6, label, "small"))
    note = "share of the source's tokens, at least one"
    parts.append(svg.text(width - 30, height - 6, note, "quiet small", "end"))
    return svg.figure("Erasure", "; ".join(words), width, height, parts)


def alignment(found: AlignmentReport, own: AlignmentRow) -> str:
    """Bars of the alignment error rate, the model's and that of attention which must be wrong."""
    rows = [("model", own.alignment_error_rate), *found.controls.items()]
    colours = ["second", *["calm"] * len(found.controls)]
    return bars("Alignment", rows, colours, "alignment error rate, less is better")


def _measures(found: AgreementReport) -> list[str]:
    return [name for name in found.spread if " " not in name]


def _pair(pair: str) -> str:
    short = {"integrated_gradients": "integrated", "leave_one_out": "leave one out"}
    return " – ".join(short.get(name, name) for name in pair.split("/"))


def _share(spread: Histogram, count: int) -> float:
    total = sum(spread.counts)
    return count / total if total else 0.0
