"""No common misspelling stands in a document, as codespell knows them."""

import subprocess
import sys

import pytest

from tests.repo.sources import ROOT

pytest.importorskip("codespell_lib")


def test_documents_are_spelt_as_dictionaries_have_it():
    """Those that people read; the words that are none stand in pyproject.toml."""
    paths = [*ROOT.glob("*.md"), ROOT / "docs", ROOT / "changelog.d"]
    command = [sys.executable, "-m", "codespell_lib", "--toml", "pyproject.toml", *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
