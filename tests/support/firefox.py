"""Drives headless Firefox through Marionette, the protocol that geckodriver speaks to it.

It is WebDriver's commands as JSON over a socket, so neither geckodriver nor a library is needed.
"""

from __future__ import annotations

import base64
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
from typing import Any

from tests.support.browser import Browser

FIREFOX_NAMES = ("firefox-esr", "firefox")

FLAGS = ("--headless", "--marionette", "--remote-allow-system-access", "--no-remote")

# Besides what Marionette sets by itself, which keeps Firefox from asking its maker's servers.
PREFERENCES = {
    "marionette.port": 0,
    "network.disable-localhost-when-offline": True,
    "ui.prefersReducedMotion": 0,
}

_ERRORS = """
const found = Services.console.getMessageArray()
  .filter((m) => m instanceof Ci.nsIScriptError && /^(http|file):/.test(m.sourceName))
  .map((m) => `${m.category}: ${m.errorMessage}`);
Services.console.reset();
return found;
"""
_CONSOLE = """
const storage = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
const id = window.windowGlobalChild.innerWindowId;
const found = storage.getEvents(id).filter((e) => ["error", "warn"].includes(e.level))
  .map((e) => `${e.level}: ${[...e.arguments].join(" ")}`);
storage.clearEvents(id);
return found;
"""
_RESIZE = """
const [width, height] = arguments;
const style = gBrowser.selectedBrowser.style;
for (const [side, size] of [["width", width], ["height", height]])
  for (const name of [side, `min-${side}`, `max-${side}`]) style.setProperty(name, `${size}px`);
"""
_PREFER = """
const name = "layout.css.prefers-color-scheme.content-override";
Services.prefs.setIntPref(name, arguments[0] === "dark" ? 0 : 1);
gBrowser.selectedBrowser.browsingContext.mediumOverride = arguments[1] ? "print" : "";
"""
# A text input processor is what input methods of the system talk to; one for the whole page.
_COMPOSE = """
const [text, commit] = arguments;
const processor = (globalThis.inputMethod ??= Cc["@mozilla.org/text-input-processor;1"]
  .createInstance(Ci.nsITextInputProcessor));
if (!processor.beginInputTransactionForTests(window)) throw new Error("no input");
if (commit) {
  processor.commitCompositionWith(text);
} else {
  processor.setPendingCompositionString(text);
  processor.appendClauseToPendingComposition(text.length, processor.ATTR_RAW_CLAUSE);
  processor.setCaretInPendingComposition(text.length);
  processor.flushPendingComposition();
}
"""


def missing() -> str:
    """Why there is no browser to test with; empty if there is one."""
    if any(shutil.which(name) for name in FIREFOX_NAMES):
        return ""
    return "no firefox on PATH (Debian: apt-get install firefox-esr)"


class Firefox(Browser):
    """Firefox, and what only its own scripts can do."""

    _socket: socket.socket | None = None
    _asked = 0

    def _start(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="firefox-")
        folder = pathlib.Path(self._profile.name)
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items())
        (folder / "user.js").write_text("\n".join(lines), "utf-8")
        binary = next(filter(None, map(shutil.which, FIREFOX_NAMES)))
        self._process = subprocess.Popen(
            [
                binary,
                "--headless",
                "--marionette",
                "--remote-allow-system-access",
                "--no-remote",
                "--profile",
                str(folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = self._wait_for_port(folder / "MarionetteActivePort")
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self._read()  # its greeting
        self._command("NewSession", capabilities={"alwaysMatch": {}})
        self._command("SetWindowRect", width=2000, height=1400)

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def _wait_for_port(self, path: pathlib.Path) -> int:
        for _ in range(1200):
            if path.exists() and (text := path.read_text(encoding="ascii")):
                return int(text)
            if self._process.poll() is not None:
                break
            time.sleep(0.05)
        raise TimeoutError("firefox did not start")

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._received(1)
        content, size = b"", int(length[:-1])
        while len(content) < size:
            content += self._received(size - len(content))
        return json.loads(content)

    def _received(self, most: int) -> bytes:
        part = self._socket.recv(most)
        if not part:
            raise ConnectionError("firefox is gone")
        return part

    def _ask(self, command: str, **parameters: Any) -> Any:
        self._asked += 1
        message = json.dumps([0, self._asked, command, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(message), message))
        _, number, error, result = self._read()
        if error or number != self._asked:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result.get("value", result)

    def _command(self, name: str, **parameters: Any) -> Any:
        return self._ask(f"WebDriver:{name}", **parameters)

    def _in_firefox(self, script: str, *arguments: Any) -> Any:
        """Runs a script in Firefox itself rather than in the page."""
        self._ask("Marionette:SetContext", value="chrome")
        try:
            return self._command("ExecuteScript", script=script, args=arguments)
        finally:
            self._ask("Marionette:SetContext", value="content")

    def _in_page(self, script: str, *arguments: Any) -> Any:
        """Runs a script of Firefox's own in the page's process."""
        return self._command("ExecuteScript", script=script, args=arguments, sandbox="system")

    def resize(self, width: int, height: int) -> None:
        self._in_firefox(_RESIZE, width, height)
        end = time.monotonic() + 10
        while self.run("return [innerWidth, innerHeight]") != [width, height]:
            if time.monotonic() > end:
                raise TimeoutError(f"the page did not get {width} by {height} pixels")
            time.sleep(0.02)

    def prefer(self, scheme: str, printed: bool = False) -> None:
        self._in_firefox(_PREFER, scheme, printed)

    def compose(self, text: str, commit: bool = False) -> None:
        self._in_page(_COMPOSE, text, commit)

    def offline(self, is_so: bool) -> None:
        self._in_firefox("Services.io.offline = arguments[0];", is_so)

    def log(self) -> list[str]:
        return self._in_firefox(_ERRORS) + self._in_page(_CONSOLE)

    def pdf(self) -> bytes:
        page = {"width": 21.0, "height": 29.7}  # centimetres
        return base64.b64decode(self._command("Print", page=page))
