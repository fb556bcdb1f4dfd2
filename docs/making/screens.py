"""Pictures of the pages that people use, from a real browser.

    python -m docs.making.screens --run runs/dates --export exports/dates \\
        [--report explanations/dates] [--litert-js FOLDER] [--out build/screens]

writes every view at the width of a desk and of a phone, light, dark and with forced colours, and as
it is printed, to be looked at. With `--images` it also makes the pictures of the READMEs in
docs/images, and the animation of an answer as it is decoded. Chromium and chromedriver must be
installed.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import functools
import http.server
import io
import pathlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

from PIL import Image

from docs.making.blocks import ROOT
from tests.support.chromium import Chromium

IMAGES = ROOT / "docs" / "images"
WIDTHS = {"desk": 1280, "phone": 390}
TALLEST = 5000
LOOKS = {
    "light": [("prefers-color-scheme", "light")],
    "dark": [("prefers-color-scheme", "dark")],
    "forced": [("prefers-color-scheme", "dark"), ("forced-colors", "active")],
}
TEXT = "september 27, 1994"
FRAME = {"width": 760, "height": 470}
FIRST_PAUSE, PAUSE, LAST_PAUSE = 900, 450, 2500  # milliseconds

# An answer that grows token by token, with where each looks.
GROWING = """
const [source, target, weights, shown] = arguments;
document.body.innerHTML = "<main class=detail><h2></h2><div></div></main>";
document.querySelector("main").style.cssText = "margin: 14px; border: 0";
const [asked, said] = [source.join(""), target.slice(0, shown).join("")];
document.querySelector("h2").textContent = `${asked}  →  ${said}`;
const view = AttentionView.mount(document.querySelector("main div"));
const some = target.map((token, t) => (t < shown ? token : " "));
view.show({ sourceTokens: source, targetTokens: some,
            weights: weights.map((row, t) => row.map((weight) => (t < shown ? weight : 0))) });
if (shown && shown < target.length) view.select({ row: shown - 1, column: null });
for (const part of document.querySelectorAll(".attention-readout, .attention-legend, .right"))
  part.style.visibility = "hidden";
for (const label of document.querySelectorAll("[data-side=target] text, .left text"))
  if (label.textContent.startsWith("␣")) label.style.visibility = "hidden";
"""


@contextlib.contextmanager
def hosted(folder: pathlib.Path) -> Iterator[str]:
    """A host for a folder, since a page from a file may not load WebAssembly."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{host.server_port}"
        finally:
            host.shutdown()


def make_pages(options: argparse.Namespace, folder: pathlib.Path) -> dict[str, tuple[str, str]]:
    """Builds the pages; by name their address, and what is true once a page is ready."""
    from keras_attention.__main__ import main as verb

    data, few = str(ROOT / "data" / "dates" / "test.tsv"), ["--examples", "12"]
    verb(["view", str(options.run), data, *few, "--out", f"{folder}/viewer.html"])
    what_if = ["view", str(options.export), data, "--what-if", *few]
    what_if += ["--out", f"{folder}/what-if.html"]
    for other in options.beside:
        what_if += ["--beside", str(other)]
    verb(what_if)
    edits = "&text=September+27,+1994&hidden=1&weights=own"
    pages = {
        "viewer": ("viewer.html", "document.querySelector('.cell')"),
        "what-if": (f"what-if.html#language=en{edits}", "globalThis.whatIf"),
        "what-if-korean": ("what-if.html#language=ko", "globalThis.whatIf"),
    }
    if options.litert_js:
        litert = ["--litert-js", str(options.litert_js)]
        verb(["view", "--live", str(options.export), "--out", f"{folder}/live", *litert])
        pages["live"] = ("live/index.html#language=en", "globalThis.attentionPage?.shown")
    if options.report:
        (folder / "report").symlink_to(options.report.resolve())
        pages["report"] = ("report/report.html", "document.querySelector('h1')")
    return pages


def open_page(browser: Chromium, url: str, ready: str, width: int) -> None:
    """Opens a page and waits until it is ready, in a window that shows all of it."""
    look(browser, "light")
    browser.open(url, width=width)
    for _ in range(3000):
        if browser.run(f"return Boolean({ready})"):
            break
        time.sleep(0.1)
    else:
        raise TimeoutError(f"{url}: never ready; {browser.log()}")
    height = browser.run("return document.documentElement.scrollHeight")
    window = {"width": width, "height": min(max(height, 700), TALLEST), "deviceScaleFactor": 1}
    browser.devtools("Emulation.setDeviceMetricsOverride", mobile=width < 600, **window)
    time.sleep(0.3)


def look(browser: Chromium, name: str) -> None:
    """What the reader's system prefers from now on."""
    features = [{"name": feature, "value": value} for feature, value in LOOKS[name]]
    browser.devtools("Emulation.setEmulatedMedia", media="", features=features)


def shoot_all(browser: Chromium, host: str, pages: dict, out: pathlib.Path) -> None:
    """Every page at every width in every look, and on paper."""
    for name, (address, ready) in pages.items():
        for size, width in WIDTHS.items():
            open_page(browser, f"{host}/{address}", ready, width)
            beyond = browser.run("return document.documentElement.scrollWidth") - width
            if beyond > 0:
                print(f"{name}, {size}: {beyond} pixels wider than the window")
            for each in LOOKS:
                look(browser, each)
                (out / f"{name}-{size}-{each}.png").write_bytes(browser.screenshot())
            if size == "desk":
                look(browser, "light")
                paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
                printed = browser.devtools("Page.printToPDF", **paper)
                (out / f"{name}.pdf").write_bytes(base64.b64decode(printed["data"]))


def save_small(picture: Image.Image, path: pathlib.Path, height: int) -> None:
    """The upper part of a screenshot, with few colours, so that a clone stays small."""
    picture = picture.crop((0, 0, picture.width, min(height, picture.height)))
    picture.convert("RGB").quantize(128).save(path, optimize=True)


def draw_images(browser: Chromium, host: str, pages: dict, run: pathlib.Path) -> None:
    """The pictures of the READMEs."""
    for name, height in (("viewer", 860), ("live", 760), ("report", 1000), ("what-if", 1160)):
        if name in pages:
            address, ready = pages[name]
            open_page(browser, f"{host}/{address}", ready, WIDTHS["desk"])
            with Image.open(io.BytesIO(browser.screenshot())) as picture:
                save_small(picture, IMAGES / f"page-{name}.png", height)
    animate(browser, f"{host}/{pages['viewer'][0]}", run)


def animate(browser: Chromium, viewer: str, run: pathlib.Path) -> None:
    """`decoding.gif`: the answer grows, and each new token shows where it looks."""
    from keras_attention.readers.translator import Translator

    result = Translator.load(run).translate([TEXT])[0]
    weights = result.attention_weights.tolist()
    browser.open(viewer, **FRAME)
    frames = []
    for shown in [*range(len(result.target_tokens) + 1), len(result.target_tokens)]:
        browser.run(GROWING, result.source_tokens, result.target_tokens, weights, shown)
        time.sleep(0.2)
        with Image.open(io.BytesIO(browser.screenshot())) as picture:
            frames.append(picture.convert("RGB").quantize(48))
    times = [FIRST_PAUSE, *[PAUSE] * (len(frames) - 2), LAST_PAUSE]
    frames[0].save(
        IMAGES / "decoding.gif", save_all=True, append_images=frames[1:], duration=times, loop=0
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder: Callable[[str], pathlib.Path] = pathlib.Path
    parser.add_argument("--run", type=folder, default=ROOT / "runs" / "dates")
    parser.add_argument("--export", type=folder, default=ROOT / "exports" / "dates")
    parser.add_argument("--beside", type=folder, action="append", default=[])
    parser.add_argument("--report", type=folder)
    parser.add_argument("--litert-js", type=folder)
    parser.add_argument("--out", type=folder, default=ROOT / "build" / "screens")
    parser.add_argument("--only", action="append", help="a page's name; repeatable")
    parser.add_argument("--images", action="store_true", help="also make the READMEs' pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, Chromium() as browser:
        pages = make_pages(options, pathlib.Path(place))
        with hosted(pathlib.Path(place)) as host:
            shown = {name: pages[name] for name in options.only or pages}
            shoot_all(browser, host, shown, options.out)
            if options.images:
                draw_images(browser, host, pages, options.run)
    print(options.out)


if __name__ == "__main__":
    main()
