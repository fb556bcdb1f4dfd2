"""One truth for numbers: `python -m docs.making.numbers [--write]`.

docs/numbers.toml says of every measured number on a page which results file it comes from. Without
an option this lists the numbers that differ, those that nobody has measured, and those that are not
traced; with `--write` it puts the measured ones into the pages. `tests/test_numbers.py` is the same
check.

An entry's `text` is a piece of the page with `{EXPRESSION:FORMAT}` for its numbers (see
`figures.py`); `{*| EXPRESSION:FORMAT}` is a list of numbers with bars between them, as in a table,
`{*, EXPRESSION:FORMAT}` one with commas. The piece may be wrapped differently on the page. With
`names` it stands for a piece with each of them in the place of `<name>`, as the rows of a table do.
Entries under `facts` hold numbers that nobody measures: versions, sizes of a task, what others
published. Entries under `claims` are sentences whose words say what the figures say, with an
expression that `holds` as long as they do.

A number counts as measured if it has a decimal point, a thousands separator or a unit, or is above
twelve; but not a year, and not in code, links, formulas or comments. A number
that an executed Python block of the same page holds is checked there.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping

from benchmarks.result_files import RESULTS
from docs.making.figures import NotMeasured, evaluate

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = ROOT / "docs" / "numbers.toml"
__all__ = ["RESULTS", "Problem", "Trace", "check_page", "load", "measured", "write_page"]

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\d|,\d)")
UNIT = re.compile(
    r"\s?(?:%|ms\b|µs\b|s\b|seconds?\b|minutes?\b|hours?\b|[kMG]B\b|GFLOP|times\b|nats\b|points?\b"
    r"|percent\b|per cent\b|초|분(?!의)|배(?!치)|퍼센트|비트)"
)
YEAR = re.compile(r"(?:19|20)\d\d")
SMALL = 12
FENCE = re.compile(r"^ *(```+)(?P<language>\w*)[^\n]*\n.*?^ *\1 *$", re.M | re.S)
HIDDEN = re.compile(  # indented blocks, inline code, link targets, comments, addresses
    r"^    [^\n]*$|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->|https?://[^\s)]+|<su[bp]>.*?</su[bp]>",
    re.M | re.S,
)
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")
PLACE = re.compile(r"\{(\*[|,] )?([^{}]+?)(?::([^:{}]*))?\}")
ONE = r"\d[\d,]*(?:\.\d+)?"
ONE_IN_LIST = r"\d+(?:,\d{3})*(?:\.\d+)?"
SEPARATORS = {"*| ": " | ", "*, ": ", "}


@dataclasses.dataclass(frozen=True)
class Trace:
    """One entry of docs/numbers.toml, on one page."""

    page: str
    text: str
    aliases: Mapping[str, str]
    holds: str | None = None

    def pattern(self) -> re.Pattern:
        parts, end = [], 0
        for place in PLACE.finditer(self.text):
            number = f"({ONE})"
            if place[1]:
                between = re.escape(SEPARATORS[place[1]])
                number = f"({ONE_IN_LIST}(?:{between}{ONE_IN_LIST})*)"
            parts += [_flexible(self.text[end : place.start()]), number]
            end = place.end()
        return re.compile("".join([*parts, _flexible(self.text[end:])]))

    def is_true(self) -> bool:
        """Whether what the sentence says in words still holds; a piece with numbers says nothing.

        Raises:
            NotMeasured: see `evaluate`.
        """
        return self.holds is None or bool(evaluate(self.holds, self.aliases))

    def values(self) -> list[str]:
        """The numbers as the page must show them.

        Raises:
            NotMeasured: see `evaluate`.
        """
        shown = []
        for listed, expression, form in PLACE.findall(self.text):
            value = evaluate(expression, self.aliases)
            numbers = list(value) if listed else [value]
            between = SEPARATORS.get(listed, "")
            shown.append(between.join(format(number, form or "") for number in numbers))
        return shown


@dataclasses.dataclass(frozen=True)
class Problem:
    """What is wrong with a number; `kind`: differs, not measured, not found or untraced."""

    page: str
    line: int
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.kind}: {self.detail}"


def _flexible(text: str) -> str:
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))


def load() -> tuple[list[Trace], list[str], list[re.Pattern]]:
    """The traces, all pages but the reference, and patterns of facts that hold on every page."""
    content = tomllib.loads(TRACES.read_text(encoding="utf-8"))
    traces = [
        Trace(page, text.replace("<name>", name).strip(), content["aliases"], entry.get("holds"))
        for kind in ("figures", "facts", "claims")
        for entry in content[kind]
        for page in entry["pages"]
        for text in entry["text"]
        for name in entry.get("names", [""])
    ]
    pages = [
        str(path.relative_to(ROOT))
        for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
    ]
    pages = [page for page in pages if "reference/" not in page]
    return traces, pages, [re.compile(pattern) for pattern in content["everywhere"]]


def shown(text: str) -> str:
    """The page with what is no prose blanked, positions kept."""
    for hidden in (FENCE, HIDDEN):
        text = hidden.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def executed_numbers(text: str) -> set[str]:
    """Numbers in the page's executed Python blocks, which fail where they are wrong."""
    return {
        number
        for match in FENCE.finditer(text)
        if match["language"] == "python" and not NOT_RUN.search(text[: match.start()])
        for number in NUMBER.findall(match[0])
    }


def measured(prose: str) -> Iterator[re.Match]:
    """The numbers of a page's prose that somebody must have measured."""
    for match in NUMBER.finditer(prose):
        number = match[0]
        unit = UNIT.match(prose, match.end())
        if YEAR.fullmatch(number) and not unit:
            continue
        if "." in number or "," in number or unit or int(number) > SMALL:
            yield match


def check_page(name: str, traces: list[Trace], everywhere: list[re.Pattern]) -> list[Problem]:
    """All that is wrong with the numbers of one page."""
    text = (ROOT / name).read_text(encoding="utf-8")
    prose, problems, traced = shown(text), [], set()

    def line_of(position: int) -> int:
        return text.count("\n", 0, position) + 1

    for trace in traces:
        matches = list(trace.pattern().finditer(text))
        if not matches:
            problems.append(Problem(name, 1, "not found", trace.text))
            continue
        for match in matches:
            traced.update(range(*match.span()))
        try:
            values, is_true = trace.values(), trace.is_true()
        except NotMeasured as error:
            problems.append(Problem(name, line_of(matches[0].start()), "not measured", str(error)))
            continue
        if not is_true:
            line = line_of(matches[0].start())
            problems.append(Problem(name, line, "differs", f"no longer true: {trace.text}"))
        for match in matches:
            if list(match.groups()) != values:
                detail = f"shows {', '.join(match.groups())}; the results say {', '.join(values)}"
                problems.append(Problem(name, line_of(match.start()), "differs", detail))
    for pattern in everywhere:
        for match in pattern.finditer(text):
            traced.update(range(*match.span()))
    executed = executed_numbers(text)
    for match in measured(prose):
        if match.start() not in traced and match[0] not in executed:
            around = text[max(0, match.start() - 30) : match.end() + 20].replace("\n", " ")
            problems.append(Problem(name, line_of(match.start()), "untraced", around))
    return problems


def write_page(name: str, traces: list[Trace]) -> bool:
    """Puts the measured numbers into a page; whether anything changed."""
    path = ROOT / name
    text = before = path.read_text(encoding="utf-8")
    for trace in traces:
        try:
            values = trace.values()
        except NotMeasured:
            continue
        for match in reversed(list(trace.pattern().finditer(text))):
            for group in range(len(values), 0, -1):
                start, end = match.span(group)
                text = text[:start] + values[group - 1] + text[end:]
    path.write_text(text, encoding="utf-8")
    return text != before


def problems() -> list[Problem]:
    """All that is wrong with the numbers of all checked pages."""
    traces, pages, everywhere = load()
    unknown = {trace.page for trace in traces} - set(pages)
    found = [Problem(page, 1, "not found", "no such page is checked") for page in sorted(unknown)]
    for page in pages:
        found += check_page(page, [trace for trace in traces if trace.page == page], everywhere)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the measured numbers into pages")
    options = parser.parse_args()
    if options.write:
        traces, pages, _ = load()
        for page in pages:
            if write_page(page, [trace for trace in traces if trace.page == page]):
                print(f"{page}: written")
    found = problems()
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
