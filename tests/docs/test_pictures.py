"""The pictures of the documents: each is one that the script takes, is shown, and is small."""

from tests.docs.pictures import FOLDER, PICTURES, ROOT

LIMIT = 1_500_000
"""Bytes of all together."""


def test_pictures_are_those_that_are_taken():
    """None is left of a page that is gone."""
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.webp" for name in PICTURES}


def test_each_is_shown_in_a_document():
    """Or linked from one."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in documents)
    assert [name for name in PICTURES if f"pictures/{name}.webp" not in text] == []


def test_they_are_small():
    """The repository is cloned with them."""
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < LIMIT
