"""Chromium without a window, driven by the DevTools protocol over a pair of pipes.

No driver and no package is needed: `--remote-debugging-pipe` speaks JSON that ends in a null byte.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
SWITCHES = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowUp": 38, "ArrowDown": 40}


class Browser:
    """One page of one browser; a context manager."""

    def __init__(self, profile):
        command_in, self._to = os.pipe()
        self._from, answers_out = os.pipe()
        # The protocol is read from descriptor 3 and written to descriptor 4.
        shell = f"exec {CHROMIUM} {' '.join(SWITCHES)} --user-data-dir='{profile}' about:blank"
        shell += f" 3<&{command_in} 4>&{answers_out}"
        self._process = subprocess.Popen(
            ["bash", "-c", shell],
            pass_fds=(command_in, answers_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_in)
        os.close(answers_out)
        self._read, self._sent, self._session = b"", 0, None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.size(1280, 800)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._to)
            os.close(self._from)

    def call(self, method, **params):
        """Call a method of the protocol, and give its result; events are passed over."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._read:
                chunk = os.read(self._from, 1 << 20)
                assert chunk, "the browser has ended"
                self._read += chunk
            text, _, self._read = self._read.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                return answer["result"]

    def run(self, script):
        """The value of an expression of JavaScript, awaited."""
        found = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def open(self, path, ready="document.body && document.body.hasAttribute('data-ready')"):
        """Open a file, and wait until it has been laid out."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait(ready)

    def wait(self, condition, seconds=60):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"never: {condition}"
            time.sleep(0.02)

    def size(self, width, height):
        """Give the page a size in pixels; narrow ones are a phone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme):
        """Prefer `dark` or `light`, as a user of the system does."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def press(self, key):
        """Press a key."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = KEYS.get(key, ord(key[0].upper()))
        pressed = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def type(self, text):
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def click(self, x, y, times=1):
        """Click at a point, once or twice."""
        for n in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call(
                    "Input.dispatchMouseEvent",
                    type=kind,
                    x=x,
                    y=y,
                    button="left",
                    clickCount=n,
                )

    def picture(self, path):
        """Write what is to be seen, as the name of the file ends: `.png` or `.webp`."""
        options = {"quality": 82} if path.suffix == ".webp" else {}
        found = self.call("Page.captureScreenshot", format=path.suffix[1:], **options)
        path.write_bytes(base64.b64decode(found["data"]))
