"""The example that chats runs: it trains, exports, and answers in a process without the library."""

import subprocess
import sys

import pytest

from tests.repo.sources import ROOT


@pytest.mark.slow
def test_the_example_answers():
    """After a few steps of training it says something, and to what is too long that it is."""
    pytest.importorskip("transformers")
    command = [sys.executable, ROOT / "examples" / "chat.py", "--steps", "3"]
    command += ["--ask", "1" * 40, "--ask", "3 + 4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the program is for 24 tokens" in done.stdout
    assert "3 + 4 =" in done.stdout
