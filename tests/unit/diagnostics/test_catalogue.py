"""The catalogue: each name once, with a page, a golden message, and its facts listed."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from monograph.diagnostics import (
    Entry,
    MonographError,
    SpecError,
    Text,
    entries,
    find_entry,
    message,
    page_names,
)

GOLDEN = Path(__file__).parents[2] / "messages"


def ours() -> list[Entry]:
    """Return the entries of this folder; other folders may enter messages of their own."""
    families = [entry for entry in entries() if "diagnostics" in entry.template.__module__]
    assert len(families) >= 40
    return families


def test_catalogue_pages_and_goldens_agree() -> None:
    """Every name has a page and a golden message, and nothing else has."""
    names = tuple(entry.name for entry in ours())
    assert page_names() == names
    assert tuple(sorted({p.name.partition(".")[0] for p in GOLDEN.glob("*.md")})) == names


def test_every_entry_is_listed_in_its_file() -> None:
    """The table at the top of a family file names each message with its facts."""
    for entry in ours():
        table = sys.modules[entry.template.__module__].__doc__
        line = next(line for line in table.split("\n") if line.split()[:1] == [entry.name])
        missing = [
            fact for fact in entry.facts if fact not in {"here", "where"} and fact not in line
        ]
        assert not missing, entry.name


def test_every_entry_is_worded_by_the_function_of_its_name() -> None:
    """A search for the name finds the text: the function is the name with underscores."""
    for entry in ours():
        assert entry.template.__name__ == entry.name.replace("-", "_")
        assert issubclass(entry.error, MonographError)
        kinds = {
            parameter.kind for parameter in inspect.signature(entry.template).parameters.values()
        }
        assert kinds <= {inspect.Parameter.KEYWORD_ONLY}


def test_find_entry() -> None:
    """An unknown name has no entry."""
    assert find_entry("sizes-disagree").error.__name__ == "ConstraintViolation"
    assert find_entry("no-such-name") is None


@pytest.mark.parametrize("name", ["Sizes", "sizes_disagree", "sizes-", ""])
def test_names_are_kebab_case(name: str) -> None:
    """Other spellings are refused when the message is written."""
    with pytest.raises(ValueError, match="kebab-case"):
        message(name, SpecError)(lambda: Text("x"))


def test_a_name_is_used_once() -> None:
    """A second message of one name is refused; the same one, imported again, is not."""
    with pytest.raises(ValueError, match="two messages"):
        message("sizes-disagree", SpecError)(lambda: Text("x"))
    entry = find_entry("sizes-disagree")
    assert message(entry.name, entry.error)(entry.template) is entry.template


def test_facts_are_keyword_only() -> None:
    """A template with positional facts is refused."""

    def some_name(left):
        return Text(left)

    with pytest.raises(ValueError, match="keyword-only"):
        message("some-name", SpecError)(some_name)
