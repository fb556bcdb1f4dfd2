"""Drives headless Chromium through chromedriver: the W3C WebDriver protocol is JSON over HTTP,
so the standard library is enough."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)

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


def missing() -> str:
    """Why there is no browser to test with; empty if there is one."""
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        return "no chromium on PATH (Debian: apt-get install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "no chromedriver on PATH (Debian: apt-get install chromium-driver)"
    return ""


class Chromium:
    """One browser with one page; a context manager that leaves nothing running."""

    def __enter__(self) -> Chromium:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-")
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={self._port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._session = ""
        try:
            self._wait_for_driver()
            binary = next(filter(None, map(shutil.which, CHROMIUM_NAMES)))
            options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={self._profile.name}"]}
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{made['sessionId']}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._session:
                self._ask("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait(timeout=20)
            self._profile.cleanup()

    def _wait_for_driver(self) -> None:
        for _ in range(200):
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("chromedriver did not start")

    def _ask(self, method: str, path: str, body: dict | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            text = None if method == "GET" else json.dumps(body or {})
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def devtools(self, command: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        body = {"cmd": command, "params": parameters}
        return self._ask("POST", f"{self._session}/goog/cdp/execute", body)

    def open(self, url: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Loads `url` in a window of that size, as a reader who prefers light or dark."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.devtools("Emulation.setEmulatedMedia", features=[feature])
        self._ask("POST", f"{self._session}/url", {"url": "about:blank"})
        self.log()  # forget what earlier pages wrote
        self._ask("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that `script`, the body of a function of `arguments`, returns in the page."""
        body = {"script": script, "args": arguments}
        return self._ask("POST", f"{self._session}/execute/sync", body)

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
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        self._ask("POST", f"{self._session}/actions", {"actions": [pointer]})

    def press(self, *keys: str) -> None:
        """Sends keys, by name or as text, to whatever has the focus."""
        actions = []
        for key in keys:
            for value in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": f"key{way}", "value": value} for way in ("Down", "Up")]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("POST", f"{self._session}/actions", {"actions": [keyboard]})

    def log(self) -> list[str]:
        """What the page wrote to the console since the last call, errors of its policy included."""
        entries = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self._ask("GET", f"{self._session}/screenshot"))
