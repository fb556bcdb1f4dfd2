"""What tests ask of a browser, whichever it is: W3C WebDriver's commands, and a few besides."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

KEYS = {
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Tab": "\ue004",
    "Backspace": "\ue003",
}


class Browser:
    """One browser with one page; a context manager that leaves nothing running."""

    def __enter__(self) -> Browser:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def _start(self) -> None:
        raise NotImplementedError

    def _command(self, name: str, **parameters: Any) -> Any:
        """The value of one of WebDriver's commands: Navigate, ExecuteScript, PerformActions, …"""
        raise NotImplementedError

    def resize(self, width: int, height: int) -> None:
        """Gives the page a size in CSS pixels; below 600 that of a phone."""
        raise NotImplementedError

    def prefer(self, scheme: str, printed: bool = False) -> None:
        """Makes the page see a reader who prefers light or dark, on a screen or on paper."""
        raise NotImplementedError

    def compose(self, text: str, commit: bool = False) -> None:
        """Shows what an input method has put together so far, or enters it for good."""
        raise NotImplementedError

    def offline(self, is_so: bool) -> None:
        """Cuts the browser off from every network, this machine's included."""
        raise NotImplementedError

    def log(self) -> list[str]:
        """What the page wrote to the console since the last call, errors of its policy included."""
        raise NotImplementedError

    def pdf(self) -> bytes:
        """The page on sheets of A4."""
        raise NotImplementedError

    def open(self, url: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Loads `url` in a window of that size, as a reader who prefers light or dark."""
        self.resize(width, height)
        self.prefer(scheme)
        self._command("Navigate", url="about:blank")
        self.log()  # forget what earlier pages wrote
        self._command("Navigate", url=url)

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that `script`, the body of a function of `arguments`, returns in the page."""
        return self._command("ExecuteScript", script=script, args=arguments)

    def point(self, selector: str, x: float = 0.5, y: float = 0.5, click: bool = False) -> None:
        """Moves the pointer over an element; `x` and `y` are parts of its width and height."""
        left, top, width, height = self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];",
            selector,
        )
        place = {"x": round(left + x * width), "y": round(top + y * height)}
        actions = [{"type": "pointerMove", "duration": 0, "origin": "viewport", **place}]
        if click:
            actions += [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        self._command(
            "PerformActions", actions=[{"type": "pointer", "id": "m", "actions": actions}]
        )

    def press(self, *keys: str) -> None:
        """Sends keys, by name or as text, to whatever has the focus."""
        actions = []
        for key in keys:
            for value in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": f"key{way}", "value": value} for way in ("Down", "Up")]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._command("PerformActions", actions=[keyboard])

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._command("TakeScreenshot"))


BROWSERS = ["chromium", pytest.param("firefox", marks=pytest.mark.slow)]


def opened_browser(name: str) -> Iterator[Browser]:
    """The browser of a module's tests; they are skipped where it is not installed."""
    from tests.support import chromium, firefox

    module, kind = {
        "chromium": (chromium, chromium.Chromium),
        "firefox": (firefox, firefox.Firefox),
    }[name]
    if reason := module.missing():
        pytest.skip(f"the page is not tried in a browser: {reason}")
    with kind() as running:
        yield running
