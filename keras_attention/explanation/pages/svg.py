"""Drawings as SVG text that follows the reader's light or dark theme; no library, no pixels."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Also what the page is drawn with. Contrast of text is at least 4.5 to 1 in both themes.
THEME = """
:root { --page: #f4f6f9; --surface: #ffffff; --ink: #1c2430; --quiet: #566273; --edge: #dfe4ec;
  --accent: #1d5fa8; --second: #b4540a; --calm: #8a97a8; --gold: #d95f02; --yes: #0b6e4f;
  --yes-ground: #e0f3ea; --no: #a8321a; --no-ground: #fbe7e2; --partly: #7a5a00;
  --partly-ground: #fbf1d3; --cell: #205e9f; --cell-ground: #f2f5f9; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #0e131a; --surface: #161c25; --ink: #e8edf4;
  --quiet: #9fabbb; --edge: #2b3442; --accent: #8ec2ff; --second: #f0a35e; --calm: #7d8a9c;
  --gold: #ff9a3d; --yes: #6fd6ac; --yes-ground: #123528; --no: #ffa08a; --no-ground: #451f17;
  --partly: #f0cf6b; --partly-ground: #3d3110; --cell: #8ec2ff; --cell-ground: #1d2632; } }
"""

STYLE = """
svg.figure { display: block; width: 100%; height: auto; color: var(--ink);
  font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK KR", "NanumGothic",
  "Apple SD Gothic Neo", "Malgun Gothic", sans-serif; }
svg.figure text { fill: var(--ink); }
svg.figure .quiet { fill: var(--quiet); }
svg.figure .small { font-size: 11.5px; }
svg.figure .strong { font-weight: 600; }
svg.figure .grid { stroke: var(--edge); stroke-width: 1; }
svg.figure .axis { stroke: var(--quiet); stroke-width: 1; }
svg.figure .accent { fill: var(--accent); }
svg.figure .second { fill: var(--second); }
svg.figure .calm { fill: var(--calm); }
svg.figure .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
svg.figure .line-accent { stroke: var(--accent); }
svg.figure .line-second { stroke: var(--second); }
svg.figure .line-calm { stroke: var(--calm); stroke-dasharray: 5 4; }
svg.figure .whisker { stroke: var(--ink); stroke-width: 1.4; }
svg.figure .middle { stroke: var(--surface); stroke-width: 2.4; }
svg.figure .cell { fill: var(--cell); }
svg.figure .cells { fill: var(--cell-ground); }
svg.figure .gold { fill: none; stroke: var(--gold); stroke-width: 1.6; }
svg.figure .possible { stroke-dasharray: 3 2; }
svg.figure .far { fill: var(--no-ground); }
"""


def text(x: float, y: float, content: str, classes: str = "", anchor: str = "start", **more) -> str:
    """A text element; the content is escaped."""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{_class(classes)}{_more(more)}>'
        f"{escape(content)}</text>"
    )


def rect(x: float, y: float, width: float, height: float, classes: str = "", **more) -> str:
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(height)}"'
        f"{_class(classes)}{_more(more)}/>"
    )


def line(x1: float, y1: float, x2: float, y2: float, classes: str = "") -> str:
    return f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"{_class(classes)}/>'


def path(points: Sequence[tuple[float, float]], classes: str, closed: bool = False) -> str:
    """Straight lines from point to point."""
    steps = " L".join(f"{_n(x)} {_n(y)}" for x, y in points)
    return f'<path d="M{steps}{" Z" if closed else ""}"{_class(classes)}/>'


def circle(x: float, y: float, radius: float, classes: str) -> str:
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"{_class(classes)}/>'


def whisker(low: float, high: float, y: float) -> str:
    """A horizontal confidence interval."""
    ends = [line(x, y - 4, x, y + 4, "whisker") for x in (low, high)]
    return line(low, y, high, y, "whisker") + "".join(ends)


def figure(name: str, description: str, width: float, height: float, parts: Sequence[str]) -> str:
    """A whole drawing; the description is for people who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" role="img" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" style="max-width: {_n(width)}px">'
        f"<title>{escape(name)}</title><desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def standalone(drawing: str) -> str:
    """The drawing as a file of its own: with its style, and on a ground."""
    ground = '<rect width="100%" height="100%" style="fill: var(--surface)"/>'
    style = f"<style>{THEME}{STYLE}</style>{ground}"
    head, title, rest = drawing.partition("<title>")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}{style}{title}{rest}\n'


def _class(classes: str) -> str:
    return f' class="{classes}"' if classes else ""


def _more(more: dict) -> str:
    return "".join(f' {name.replace("_", "-")}="{escape(str(v))}"' for name, v in more.items())


def _n(number: float) -> str:
    """Short, and the same everywhere."""
    return f"{number:.1f}".removesuffix(".0")
