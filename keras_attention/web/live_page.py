"""The page that answers while one types: as a server hands it out, or as a static site.

Both are the same files. With a server the page asks its REST API; as a static site it runs the
`.tflite` file in the browser with LiteRT.js, so that any static host is enough.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_attention._runtime.lock import folder_lock
from keras_attention._runtime.replacement import replace_together
from keras_attention.datasets.known import SAMPLE_SOURCES
from keras_attention.errors import UserError
from keras_attention.folders.export_layout import LITERT
from keras_attention.pairs.exceptions import Exceptions
from keras_attention.web.viewer import as_script_data, asset, filled

# What a page offers to try: only sources that the model answers at least this surely.
SURE = 0.5

LITERT_JS = "@litertjs/core"
LITERT_JS_VERSION = "2.5.3"
# LiteRT.js loads one of its builds: the first, or the second where the browser lacks relaxed SIMD.
# The other two are for threads and for GPUs, of which so small a model has no use.
_BUILDS = ("litert_wasm_internal", "litert_wasm_compat_internal")

_SCRIPTS = ("live.js", "words.js")
_STYLES = ("live.css",)
_SHARED = ("attention-view.js", "attention-view.css", "viewer.css")
_MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}


def sure_examples(confidences: Callable[[list[str]], Sequence[float]]) -> dict[str, list[str]]:
    """The `SAMPLE_SOURCES` by language that a model answers with a confidence of `SURE` at least.

    Args:
        confidences: Answers texts with the confidence of each.
    """
    texts = [text for group in SAMPLE_SOURCES.values() for text in group]
    sure = {t for t, c in zip(texts, confidences(texts), strict=True) if c >= SURE}
    chosen = {
        language: [t for t in group if t in sure] for language, group in SAMPLE_SOURCES.items()
    }
    return {language: group for language, group in chosen.items() if group}


def for_server(
    manifest: Mapping[str, Any], examples: Mapping[str, Sequence[str]], longest_text: int
) -> dict[str, tuple[str, bytes]]:
    """The page's files by path, "" being the page itself, as (media type, content).

    Args:
        manifest: Of the export that is served.
        examples: Texts to offer, by language ("" where it is unknown).
        longest_text: Characters that the server accepts.
    """
    settings = {
        "model": "server-model.js",
        "name": manifest["name"],
        "hasAttention": manifest["has_attention"],
        "sourceTokens": manifest["source_tokens"],
        "confidenceMeans": manifest.get("confidence_means", "right"),
        "longestText": longest_text,
        "examples": examples,
    }
    files = {"": (_MEDIA_TYPES[".html"], _page(settings).encode())}
    for name, text in _assets("server-model.js").items():
        files[f"assets/{name}"] = (_MEDIA_TYPES[pathlib.Path(name).suffix], text.encode())
    return files


def find_litert_js(folder: str | pathlib.Path | None = None) -> pathlib.Path:
    """The folder of the npm package `@litertjs/core`.

    Args:
        folder: It, or a folder that holds `node_modules`; by default the current one.

    Raises:
        UserError: it is not there, or its dependency is not.
    """
    start = pathlib.Path("." if folder is None else folder)
    for place in (start, start / LITERT_JS, start / "node_modules" / LITERT_JS):
        needed = [place / "dist" / "index.js", place.parent / "wasm-utils" / "dist" / "index.js"]
        needed += [place / "wasm" / f"{build}.wasm" for build in _BUILDS]
        if all(path.is_file() for path in needed):
            return place
    raise UserError(
        f"--litert-js: {LITERT_JS} is not in {start / 'node_modules'}; run `npm install "
        f"{LITERT_JS}@{LITERT_JS_VERSION}` there, or name the folder that has node_modules"
    )


def write_static_site(
    export: pathlib.Path,
    manifest: Mapping[str, Any],
    examples: Mapping[str, Sequence[str]],
    litert_js: pathlib.Path,
    out: pathlib.Path,
    exceptions: Exceptions | None = None,
) -> dict[str, int]:
    """Writes the page, the model and LiteRT.js into a new folder, whole or not at all.

    Args:
        export: Where the model comes from; the float32 `.tflite` file is taken.
        manifest: The export's.
        examples: As for `for_server`.
        litert_js: As found by `find_litert_js`.
        out: Must not exist, be empty, or be a site that this function wrote.
        exceptions: The dictionary beside the model.

    Returns:
        Bytes of all files ("site") and of what one visitor loads ("visit").

    Raises:
        UserError: `out` holds something else, cannot be written to, or is being written to.
    """
    with folder_lock(out):
        if any(out.iterdir()) and not (out / "litert-js" / "NOTICE.txt").is_file():
            raise UserError(f"--out: {out} exists and is not a live page; choose a new folder")
        try:
            aside = pathlib.Path(tempfile.mkdtemp(prefix=".building-", dir=out.parent))
        except OSError as error:
            raise UserError(f"--out: {out} cannot be written: {error.strerror}") from None
        new, old = aside / "new", aside / "old"
        try:
            for folder in (new, old):
                folder.mkdir()
            visit = _build_site(export, manifest, examples, litert_js, new, exceptions)
            replace_together([(new, out)], old)
        except OSError as error:
            raise UserError(f"--out: {out} cannot be written: {error.strerror}") from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    site = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return {"site": site, "visit": visit}


def _build_site(export, manifest, examples, litert_js, aside, exceptions) -> int:
    """Writes the site's files; returns the bytes that one visit loads."""
    name = manifest["name"]
    description = json.loads((export / LITERT / f"{name}.json").read_text(encoding="utf-8"))
    settings = {
        "model": "litert-model.js",
        "name": name,
        "hasAttention": manifest["has_attention"],
        "sourceTokens": manifest["source_tokens"],
        "confidenceMeans": manifest.get("confidence_means", "right"),
        "longestText": description["longest_source"],
        "examples": examples,
        "file": f"model/{name}.tflite",
        "description": description,
        "exceptions": {
            key: {"text": answer, "tokens": exceptions.target.split(answer)}
            for key, answer in (exceptions or {}).items()
        },
    }
    imports = {
        LITERT_JS: "./litert-js/core/index.js",
        "@litertjs/wasm-utils": "./litert-js/wasm-utils/index.js",
    }
    (aside / "index.html").write_text(_page(settings, imports), encoding="utf-8")
    (aside / "assets").mkdir()
    for file, text in _assets("litert-model.js", "subwords.js").items():
        (aside / "assets" / file).write_text(text, encoding="utf-8")
    (aside / "model").mkdir()
    shutil.copyfile(export / LITERT / f"{name}.tflite", aside / settings["file"])
    copied = aside / "litert-js"
    packages = {"core": litert_js, "wasm-utils": litert_js.parent / "wasm-utils"}
    for package, folder in packages.items():
        (copied / package).mkdir(parents=True)
        shutil.copyfile(folder / "dist" / "index.js", copied / package / "index.js")
    (copied / "wasm").mkdir()
    for build in _BUILDS:
        for suffix in (".js", ".wasm"):
            shutil.copyfile(
                litert_js / "wasm" / (build + suffix), copied / "wasm" / (build + suffix)
            )
    (copied / "LICENSE.txt").write_text(_own("apache-2.0.txt"), encoding="utf-8")
    (copied / "NOTICE.txt").write_text(_notice(packages), encoding="utf-8")
    loaded = [p for p in aside.rglob("*") if p.is_file() and p.suffix != ".txt"]
    return sum(p.stat().st_size for p in loaded if not p.stem.startswith(_BUILDS[1]))


def _notice(packages: Mapping[str, pathlib.Path]) -> str:
    lines = ["The files in this folder are unchanged parts of these npm packages:", ""]
    for folder in packages.values():
        package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        source = package["repository"]["url"]
        lines.append(f"{package['name']} {package['version']}, {package['license']}, {source}")
    lines += ["", "LICENSE.txt is the Apache License, Version 2.0, that they are under.", ""]
    return "\n".join(lines)


def _assets(*scripts_of_model: str) -> dict[str, str]:
    texts = {name: asset(name) for name in _SHARED}
    return texts | {name: _own(name) for name in (*_SCRIPTS, *_STYLES, *scripts_of_model)}


def _own(name: str) -> str:
    return asset(name, "live_assets")


def _page(settings: Mapping[str, Any], imports: Mapping[str, str] | None = None) -> str:
    """The HTML. A static site gets its policy in the page, since its host may not send one."""
    head = ""
    if imports:
        script = json.dumps({"imports": imports})
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-{digest}'; "
            "style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
            "form-action 'none'"
        )
        head = (
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<script type="importmap">{script}</script>\n'
        )
    parts = {
        "head": head,
        "title": html.escape(settings["name"]),
        "settings": as_script_data(settings),
    }
    return filled(_own("page.html"), parts)
