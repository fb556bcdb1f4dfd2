"""Examples into one self-contained HTML page that shows their attention: no network, no server."""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.resources
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keras_attention.plots.attention_map import checked_weights, row_entropy


def render(examples: Iterable, title: str = "Attention") -> str:
    """The page, as text to be written in UTF-8.

    Args:
        examples: Mappings or objects with `source_tokens` (S), `target_tokens` (T),
            `attention_weights` (float `[T, S]`) and `text`; if they have them, also `source` (the
            string), `expected` (what the text should be), `log_probability`, `confidence`, and
            `links` (gold alignment: objects with `source`, `target`, `sure`). None means unknown.
        title: Heading of the page.

    Weights are kept as one byte each, that is to 1/255, and entropies are of the exact weights:
    200 date examples take some 100 kB. Tokens, texts and title may hold anything; none of it is
    read as markup.

    Raises:
        UserError: an example without attention weights.
        ValueError: weights of another shape than `[T, S]`, or outside 0..1.
    """
    data = {"title": title, "examples": [_packed(example) for example in examples]}
    script = asset("attention-view.js") + asset("viewer.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        # Only this one script may run, and nothing may be fetched from anywhere.
        "policy": f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        "title": html.escape(_well_formed(title)),
        "style": asset("attention-view.css") + asset("viewer.css"),
        "data": as_script_data(data),
        "script": script,
    }
    return filled(asset("page.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with each `{{name}}` replaced by the part of that name.

    In one pass, so that nothing inside a part is taken for a place to fill.
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], template)


def asset(name: str, folder: str = "viewer_assets") -> str:
    """The text of one of the page's files."""
    return (importlib.resources.files(__package__) / folder / name).read_text("utf-8")


def as_script_data(data: Any) -> str:
    """JSON that can stand inside a `<script>` element: ASCII without `<`, `>` and `&`."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _packed(example: Any) -> dict[str, Any]:
    def field(name: str, default: Any = None) -> Any:
        if isinstance(example, Mapping):
            return example.get(name, default)
        return getattr(example, name, default)

    source, target = list(field("source_tokens")), list(field("target_tokens"))
    weights = checked_weights(field("attention_weights"), source, target)
    entropies = row_entropy(weights)
    text, expected = field("text"), field("expected")
    return {
        "source": joined(source) if field("source") is None else field("source"),
        "text": joined(target) if text is None else text,
        "expected": expected,
        "source_tokens": source,
        "target_tokens": target,
        "weights": base64.b64encode(np.rint(weights * 255).astype(np.uint8).tobytes()).decode(),
        "entropy": round(float(entropies.mean()), 4) if entropies.size else None,
        "log_probability": _number(field("log_probability")),
        "confidence": _number(field("confidence")),
        "links": [
            {"source": int(link.source), "target": int(link.target), "sure": bool(link.sure)}
            for link in field("links") or ()
        ],
    }


def joined(tokens: Sequence[str]) -> str:
    """Tokens as a string: characters directly, words by a space."""
    return ("" if all(len(token) <= 1 for token in tokens) else " ").join(tokens)


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 6)


def _well_formed(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
