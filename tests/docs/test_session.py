"""The terminal session of the documents: a model is refused three times, fixed, handed over."""

import re

import pytest

from tests.docs.session import BLOCK, PAGE, PICTURE, picture, session

pytest.importorskip("onnxruntime")


def comparable(text):
    """Without sizes of files and the last digits of numbers, which depend on versions."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", re.sub(r"\d+ bytes", "bytes", text))


@pytest.mark.slow
def test_the_session_is_current():
    """Run again, each command prints what the page shows."""
    shown = BLOCK.search(PAGE.read_text(encoding="utf-8"))[0]
    assert comparable(session()) in comparable(shown)


def test_the_session_shows_what_it_is_for():
    """Three refusals, each fixed with a diff; verified before and after it is handed over."""
    shown = BLOCK.search(PAGE.read_text(encoding="utf-8"))[0]
    for name in ("out-resized", "data-dependent-branch", "relation-not-declared"):
        assert f"\n{name} at pool.py:" in shown
    assert shown.count("\nno difference: 20 of 20") == 2
    assert "give the same" in shown
    assert "tensor([[" in shown


def test_the_picture_of_the_readme_shows_the_session():
    """Drawn again, it is the same."""
    assert picture() == PICTURE.read_text(encoding="utf-8")
