"""`docs/operators.md` says what the registry of rules and PyTorch's own tables say."""

import subprocess
import sys

import pytest

from monograph.host.versions import version
from tests.docs.operators_page import PAGE, page


def test_the_page_of_operators_is_current():
    """Written anew by `python -m tests.docs.operators_page`, it is the same."""
    if version() != "2.13":
        pytest.skip("the page of operators is of PyTorch 2.13")
    script = "import sys; from tests.docs.operators_page import page; sys.stdout.write(page())"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == PAGE.read_text(encoding="utf-8")


def test_the_page_counts_rules():
    """At least as many operators have rules as the project promises."""
    lines = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(lines) > 1000
    ruled = [line for line in lines if "*" not in line]
    assert len(ruled) >= 300
