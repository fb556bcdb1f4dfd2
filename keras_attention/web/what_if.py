"""A page that asks a model what it would have answered had it looked elsewhere: one HTML file.

The model is inside the file, as the export's weights, and is computed in the browser; so every
change is answered at once, without a server and without a network.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import pathlib
import re
from collections.abc import Sequence

from keras_attention.errors import UserError
from keras_attention.folders.export_layout import WEIGHTS, read_manifest
from keras_attention.folders.weights_folder import has_weights
from keras_attention.web.viewer import as_script_data, asset, filled

_STYLES = (
    ("viewer_assets", "attention-view.css"),
    ("viewer_assets", "viewer.css"),
    ("live_assets", "live.css"),
    ("what_if_assets", "what-if.css"),
)
# Modules, each after those that it imports from.
_SCRIPTS = (
    ("viewer_assets", "attention-view.js"),
    ("live_assets", "words.js"),
    ("live_assets", "subwords.js"),
    ("what_if_assets", "engine.js"),
    ("what_if_assets", "search.js"),
    ("what_if_assets", "tree.js"),
    ("what_if_assets", "panel.js"),
    ("what_if_assets", "what-if-words.js"),
    ("what_if_assets", "what-if.js"),
)
ORDERS = ("given", "suspicious", "unsure")


def render(models: Sequence[tuple[str, bytes]], examples: Sequence[str], order: str) -> str:
    """The page, as text to be written in UTF-8.

    Args:
        models: Name and weights file (`weights/NAME.safetensors` of an export) of each model, one
            or several; several answer side by side.
        examples: Sources to offer; the page opens on the first in this order.
        order: How the examples are listed at first, one of `ORDERS`.
    """
    script = _bundle()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    title = ", ".join(name for name, _ in models)
    settings = {
        "title": title,
        "order": order,
        "examples": list(examples),
        "models": [
            {"name": name, "weights": base64.b64encode(content).decode()}
            for name, content in models
        ],
    }
    parts = {
        # Only this one script may run, and nothing may be fetched from anywhere.
        "policy": f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        "title": html.escape(title),
        "style": "".join(asset(name, folder) for folder, name in _STYLES),
        "settings": as_script_data(settings),
        "script": script,
    }
    return filled(asset("page.html", "what_if_assets"), parts)


def read_model(export: pathlib.Path) -> tuple[str, bytes]:
    """Name and weights file of an export, for `render`.

    Raises:
        UserError: it is not a finished export, has no attention or no weights in an open format,
            or holds an ensemble.
    """
    manifest = read_manifest(export)
    name = manifest["name"]
    if not manifest["has_attention"]:
        raise UserError(f"{export}: is of a model without attention, so there is nothing to change")
    if not has_weights(export, manifest):
        raise UserError(f"{export}: has no weights in an open format; export the run again")
    description = json.loads((export / WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))
    if len(description["models"]) > 1:
        raise UserError(f"{export}: holds an ensemble; name the export of a single run")
    return name, (export / WEIGHTS / f"{name}.safetensors").read_bytes()


def _bundle() -> str:
    """All scripts as one, so that the page is one file: their imports and exports fall away."""
    text = "".join(asset(name, folder) for folder, name in _SCRIPTS)
    text = re.sub(r"^import .*?;\n", "", text, flags=re.M)
    return re.sub(r"^export (?=const|function|class)", "", text, flags=re.M)
