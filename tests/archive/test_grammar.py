"""Files drawn from the grammar: no worker dies, hangs, or raises what is no diagnostic."""

import subprocess
import sys

import pytest

FEW, MANY, AT_ONCE = 60, 5_000, 500
TIMEOUT = 900


def use(first: int, count: int) -> int:
    """Let a worker draw and use files; gives how many were programs."""
    command = [sys.executable, "-m", "tests.archive.grammar", str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    said = done.stdout.splitlines()[-1:] or ["nothing"]
    assert done.returncode == 0, f"{said[0]}: status {done.returncode}\n{done.stderr[-3000:]}"
    return int(said[0].removeprefix("programs "))


def test_drawn_files():
    """Some files, of which some are programs."""
    assert use(0, FEW) > FEW // 10


def test_an_expression_whose_text_is_exponential():
    """Small as it is in the file and in memory: its parts are shared, and text shares nothing."""
    use(14_028, 1)


@pytest.mark.slow
def test_five_thousand_drawn_files(capsys):
    """Many, in several workers one after the other."""
    programs = sum(use(first, AT_ONCE) for first in range(10_000, 10_000 + MANY, AT_ONCE))
    with capsys.disabled():
        sys.stdout.write(
            f"\n{MANY} files drawn from seed 10,000 on: {programs} programs, the others refused\n"
        )
    assert programs > MANY // 10
