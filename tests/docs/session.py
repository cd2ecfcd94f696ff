"""Writes the terminal session of `README.md`: commands that are run, and what they print.

By hand: `python -W ignore -m tests.docs.session`, after an output changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
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
        doubled = torch.empty(0)
        torch.mul(scores, 2, out=doubled)
        low, high = sorted([scores.mean(), scores.max()])
        return doubled.reshape(-1, 8) * (high - low)


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
    readme = README.read_text(encoding="utf-8")
    return BLOCK.sub(lambda found: f"{found[1]}\n```\n{text}```\n\n{found[2]}", readme)


if __name__ == "__main__":
    README.write_text(page(session()), encoding="utf-8")
