"""Hooks of the static site (`mkdocs.yml`): what GitHub shows by itself, made at build time.

Equations become MathML, diagrams rows of boxes, and solutions are read as Markdown, so that no page
needs a script, a font or a file from elsewhere. Links to files outside of docs/ become plain text,
since the site does not hold these files.
"""

from __future__ import annotations

import html
import pathlib
import re

from latex2mathml.converter import convert

from keras_attention.datasets.known import SAMPLE_SOURCES
from keras_attention.pairs.pair_files import read_pairs
from keras_attention.web import what_if

DOCS = pathlib.Path(__file__).resolve().parents[1]
MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.M | re.S)
WHAT_IF = re.compile(r"^<!-- site: what-if (\w+) -->$", re.M)
# The models inside the what-if page: the default run on dates, and a smaller one to set beside it.
MODELS = DOCS / "making" / "what_if_models"
FRAME_TITLES = {
    "en": "What if the model looked elsewhere?",
    "ko": "모델이 다른 곳을 본다면?",
}
OPEN_ALONE = {"en": "Open it on a page of its own", "ko": "따로 열기"}
EXAMPLES = 30
MARK = re.compile(r"^<!-- (?:not run|shortened in tests): .*-->\n", re.M)
LINK = re.compile(
    r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]*)?)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)"
)
NODE = re.compile(r'^(\w+)(?:\["(.*?)"\]|\[(.*?)\])?$', re.S)
EDGE = re.compile(r'\s*(?:-->|--\s*(?:"(.*?)"|([^"]*?))\s*-->)\s*')


def diagram(text: str) -> str:
    """A flow chart of chains, `a["x"] -- label --> b`, as one row of boxes a chain.

    Raises:
        ValueError: a line is no chain.
    """
    names: dict[str, str] = {}
    chains = []
    for line in text.strip().splitlines()[1:]:
        parts = EDGE.split(line.strip())
        nodes = [NODE.match(part) for part in parts[::3]]
        if None in nodes:
            raise ValueError(f"a diagram's line must be a chain of nodes. Received: {line!r}")
        names |= {node[1]: node[2] or node[3] for node in nodes if node[2] or node[3]}
        labels = [one or other or "" for one, other in zip(parts[1::3], parts[2::3], strict=True)]
        chains.append(([node[1] for node in nodes], labels))
    rows = []
    for nodes, labels in chains:
        row = []
        for node, label in zip(nodes, [*labels, None], strict=True):
            row.append(f"<b>{html.escape(names.get(node, node))}</b>")
            if label is not None:
                label = html.escape(label.replace("<br>", " "))
                row.append(f"<i>{label}</i> →" if label else "→")
        rows.append(f"<p>{' '.join(row)}</p>")
    return f'<div class="diagram">{"".join(rows)}</div>'


def what_if_frame(language: str, root: str) -> str:
    """The what-if page inside of another; `root` leads from there to the first folder."""
    address = f"{root}what-if.html#language={language}"
    return (
        f'<iframe class="what-if" src="{address}" title="{FRAME_TITLES[language]}" '
        'loading="lazy"></iframe>\n'
        f'<p><a href="{address}">{OPEN_ALONE[language]}</a></p>'
    )


def on_post_build(config, **_) -> None:
    """Called by MkDocs at the end: writes the what-if page, which is no page of its own."""
    files = sorted(MODELS.glob("*.safetensors"))
    samples = [text for texts in SAMPLE_SOURCES.values() for text in texts[:5]]
    dates = read_pairs(DOCS.parent / "data" / "dates" / "test.tsv")[:EXAMPLES]
    sources = [*samples, *(pair.source for pair in dates)]
    page = what_if.render([(file.stem, file.read_bytes()) for file in files], sources, "given")
    (pathlib.Path(config["site_dir"]) / "what-if.html").write_text(page, encoding="utf-8")


def on_page_markdown(markdown: str, page, **_) -> str:
    """Called by MkDocs with each page's text."""
    folder = (DOCS / page.file.src_path).parent

    def linked(match: re.Match) -> str:
        target = (folder / match[2]).resolve()
        if not target.is_relative_to(DOCS):
            return match[1]  # not in the site
        if target.is_file() and target.suffix not in (".md", ".png", ".svg"):
            return match[1]
        return match[0]

    markdown = MARK.sub("", markdown)
    root = "../" * page.file.src_path.count("/")
    markdown = WHAT_IF.sub(lambda match: what_if_frame(match[1], root), markdown)
    markdown = MATH.sub(
        lambda match: f'<div class="equation">{convert(match[1].strip(), display="block")}</div>',
        markdown,
    )
    markdown = MERMAID.sub(lambda match: diagram(match[1]), markdown)
    markdown = markdown.replace("<details>", '<details markdown="1">')
    return LINK.sub(linked, markdown)
