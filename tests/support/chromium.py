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

from tests.support.browser import Browser

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

_PATHS = {
    "Navigate": ("POST", "/url"),
    "ExecuteScript": ("POST", "/execute/sync"),
    "PerformActions": ("POST", "/actions"),
    "TakeScreenshot": ("GET", "/screenshot"),
}


def missing() -> str:
    """Why there is no browser to test with; empty if there is one."""
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        return "no chromium on PATH (Debian: apt-get install chromium chromium-driver)"
    if not shutil.which("chromedriver"):
        return "no chromedriver on PATH (Debian: apt-get install chromium-driver)"
    return ""


class Chromium(Browser):
    """Chromium, and what only its DevTools protocol can do."""

    _session = ""

    def _start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-")
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={self._port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
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
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=300)
        try:
            text = None if method == "GET" else json.dumps(body or {})
            connection.request(method, path, text, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{method} {path}: {value['error']}: {value['message']}")
        return value

    def _command(self, name: str, **parameters: Any) -> Any:
        method, path = _PATHS[name]
        return self._ask(method, self._session + path, parameters)

    def _devtools(self, command: str, **parameters: Any) -> Any:
        body = {"cmd": command, "params": parameters}
        return self._ask("POST", f"{self._session}/goog/cdp/execute", body)

    def resize(self, width: int, height: int) -> None:
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme: str, printed: bool = False) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        media = "print" if printed else ""
        self._devtools("Emulation.setEmulatedMedia", media=media, features=[feature])

    def compose(self, text: str, commit: bool = False) -> None:
        if commit:
            self._devtools("Input.insertText", text=text)
        else:
            at = {"selectionStart": len(text), "selectionEnd": len(text)}
            self._devtools("Input.imeSetComposition", text=text, **at)

    def offline(self, is_so: bool) -> None:
        self._devtools("Network.enable")
        conditions = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self._devtools("Network.emulateNetworkConditions", offline=is_so, **conditions)

    def log(self) -> list[str]:
        entries = self._ask("POST", f"{self._session}/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def pdf(self) -> bytes:
        made = self._devtools("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(made["data"])
