"""Run the tests under pairs of Python and PyTorch, each in an environment of its own.

    python -m tools.matrix [--pairs 3.13/2.15 ...] [--append] [-- ARGUMENTS OF PYTEST]

Environments are made once, in `.matrix/` or where MATRIX says, and kept: a folder `3.13-2.15` there
that has a Python and torch is taken as it is. Without a Python of that version the pair is skipped.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from bench.results import ROOT, Results
from tests.python.pythons import executable

FOLDER = Path(os.environ.get("MATRIX", ROOT / ".matrix"))
COLUMNS = ("Python / PyTorch", "passed", "failed", "skipped", "of version", "minutes")
OF_VERSION = re.compile(
    r"^SKIPPED \[(\d+)\].*(?:bytecode of|is of|there is no) Python", re.MULTILINE
)
"""Reasons of tests that only some version of Python can run."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A version of Python with one of PyTorch."""

    python: str
    torch: str

    def __str__(self) -> str:
        return f"{self.python} / {self.torch}"

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return FOLDER / f"{self.python}-{self.torch}"

    @property
    def interpreter(self) -> Path:
        """The Python of its environment."""
        return self.folder / "bin" / "python"


PAIRS = (
    Pair("3.11", "2.13"),
    Pair("3.11", "2.14"),
    Pair("3.12", "2.15"),
    Pair("3.13", "2.15"),
    Pair("3.14", "2.15"),
)


def made(pair: Pair) -> bool:
    """Make an environment, if there is none; False where there is no such Python."""
    if not pair.interpreter.exists():
        base = executable(pair.python)
        if base is None:
            return False
        subprocess.run([base, "-m", "venv", str(pair.folder)], check=True)
    asked = [str(pair.interpreter), "-c", "import torch, pytest, transformers"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        install = [str(pair.interpreter), "-m", "pip", "install", "-q"]
        subprocess.run([*install, f"torch=={pair.torch}.*"], check=True)
        subprocess.run([*install, f"torch=={pair.torch}.*", "--editable", ".[test]"], check=True)
    return True


def run(pair: Pair, arguments: Sequence[str]) -> tuple[str, ...]:
    """Run the tests of one pair: its row of the table."""
    if not made(pair):
        return (str(pair), f"no Python {pair.python}", *["-"] * (len(COLUMNS) - 2))
    paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    begun = perf_counter()
    told = subprocess.run(
        [str(pair.interpreter), "-m", "pytest", "-q", "-rfEs", "-p", "no:randomly", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    minutes = (perf_counter() - begun) / 60
    failed = [line for line in told.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(f"{pair}:", *failed, *([] if "passed" in told.stdout else [told.stderr]), sep="\n  ")
    return (str(pair), *counts(told.stdout), f"{minutes:.1f}")


def counts(text: str) -> tuple[str, ...]:
    r"""How many passed, failed (with errors) and were skipped, and skipped for the version.

    >>> counts("SKIPPED [3] a.py:1: reads bytecode of Python 3.11\n1 failed, 7 passed, 4 skipped")
    ('7', '1', '4', '3')
    """
    last = text.strip().rpartition("\n")[2]
    found = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    failed = found.get("failed", 0) + found.get("error", 0)
    by_version = sum(int(n) for n in OF_VERSION.findall(text))
    return tuple(
        str(n) for n in (found.get("passed", 0), failed, found.get("skipped", 0), by_version)
    )


def main() -> int:
    """Run pair after pair; fails where a test did."""
    parser = argparse.ArgumentParser(description="Run the tests under pairs of Python and PyTorch.")
    parser.add_argument("--pairs", nargs="*", metavar="PYTHON/TORCH", help="those alone")
    parser.add_argument("--append", action="store_true", help="keep the table in RESULTS.md")
    parser.add_argument("arguments", nargs="*", help="of pytest, behind --")
    options = parser.parse_args()
    chosen = [Pair(*each.split("/")) for each in options.pairs or ()] or PAIRS
    arguments = options.arguments or ["-n", "2", "-m", "not slow"]
    found = Results(
        "Tests under pairs of Python and PyTorch",
        COLUMNS,
        [run(each, arguments) for each in chosen],
        (f"`python -m tools.matrix` with `pytest {' '.join(arguments)}`.",),
    )
    found.show()
    if options.append:
        found.append()
    return int(any(row[2] not in {"0", "-"} for row in found.rows))


if __name__ == "__main__":
    sys.exit(main())
