"""Writes the terminal session of the documents: commands that are run, and what they print.

The picture of the README is drawn from the page that shows it.

By hand: `python -W ignore -m tests.docs.session`, after an output changed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "command_line.md"
PICTURE = ROOT / "docs" / "terminal.svg"
BLOCK = re.compile(r"(<!-- session -->\n).*?(<!-- end of session -->)", re.DOTALL)

MODEL = """\
import torch


class Pool(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(16, 4)

    @torch.no_grad()
    def forward(self, x):
        scores = self.score(x)
        doubled = torch.empty(1)
        torch.mul(scores, 2, out=doubled)
        s = scores.sum(0)
        s = sorted([s[0], s[1], s[2], s[3], s.min(), s.max(), s.sum()])
        return doubled.reshape(-1, 8) * (s[-1] - s[0])


def make():
    return Pool().eval(), (torch.randn(4, 16),)
"""
COMMANDS = (
    'monograph export pool.py:make --dynamic "x: rows, 16" -o pool.pt2',
    'monograph fix pool.py:make --dynamic "x: rows, 16" --yes',
    'monograph export pool.py:make --dynamic "x: rows, 16; rows == 2*_rows" --verify -o pool.pt2',
    "monograph verify pool.pt2",
    "monograph convert pool.pt2 --to onnx -o pool.onnx",
    "monograph verify pool.pt2 --handed-over pool.onnx",
    "monograph run pool.pt2 --on pool.onnx",
)
IN_PICTURE = (f"$ {COMMANDS[0]}", f"$ {COMMANDS[2]}", f"$ {COMMANDS[3]}")
STYLES = {"$ ": "bold", "error": "bold red", "help": "green", "no difference": "bold green"}
NOISE = re.compile(r"^W\d{4} .*\n|^an ONNX model does not check.*\n", re.MULTILINE)
"""What PyTorch's translator says of itself; and what depends on the versions installed."""


def session() -> str:
    """The commands with what they print, in a new folder that holds the model."""
    parts = [f"$ cat pool.py\n{MODEL}"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pool.py").write_text(MODEL, encoding="utf-8")
        parts += [f"$ {command}\n{_output(command, folder)}" for command in COMMANDS]
    return "\n".join(parts)


def _output(command: str, folder: str) -> str:
    run = f"{sys.executable} -W ignore -m {command} 2>&1"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    settings = {
        "PYTHONPATH": path,
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        run,
        shell=True,
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    return re.sub(r" +$", "", NOISE.sub("", done.stdout), flags=re.MULTILINE)


def page(text: str) -> str:
    """The page with this session in it."""
    before = PAGE.read_text(encoding="utf-8")
    return BLOCK.sub(lambda found: f"{found[1]}\n```\n{text}```\n\n{found[2]}", before)


def picture() -> str:
    """The refusal, the export and the verification of the session, as a terminal draws them."""
    shown = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert shown is not None, "the page has a session"
    parts = re.split(r"\n(?=\$ )", shown[0].partition("```\n")[2].partition("```")[0])
    kept = [part.rstrip() for part in parts if part.startswith(IN_PICTURE)]
    console = Console(record=True, width=100, file=io.StringIO(), legacy_windows=False)
    for line in "\n\n".join(kept).splitlines():
        style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
        console.print(Text(line, style=style), soft_wrap=True)
    return console.export_svg(title="monograph", unique_id="session") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(session()), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
