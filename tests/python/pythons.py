"""The other Pythons of this machine, and how to ask them something."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

__all__ = ["VERSIONS", "ask", "executable"]

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
SCRIPT = "import sys; print('%d.%d' % sys.version_info[:2])"


def candidates(version: str) -> list[str]:
    """Give where a version may be: this very Python, on PATH, or installed beside this one."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = [sys.executable] if version == here else []
    found += filter(None, [shutil.which(f"python{version}")])
    beside = Path(sys.base_prefix).parent.glob(f"{version}*/bin/python{version}")
    return found + [str(path) for path in sorted(beside)]


@cache
def executable(version: str) -> str | None:
    """Find a Python of this version that runs, or None."""
    for path in candidates(version):
        told = subprocess.run([path, "-c", SCRIPT], capture_output=True, text=True, check=False)
        if told.stdout.strip() == version:
            return path
    return None


def ask(version: str, *question: str, seconds: float = 600) -> dict:
    """Run `tests.python.answers` with a Python of this version and give its answer."""
    path = executable(version)
    assert path is not None
    # The hash seed is fixed because CPython's own tests print sets.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    told = subprocess.run(
        [path, "-X", "utf8", "-m", "tests.python.answers", *question],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert told.returncode == 0, (
        f"{version} {question}:\n{told.stdout[-2000:]}{told.stderr[-4000:]}"
    )
    return json.loads(told.stdout.splitlines()[-1])
