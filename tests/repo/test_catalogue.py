"""Every name a message can have is explained on a page and shown by a golden file."""

import monograph.diagnostics
from tests.repo.sources import ROOT

GOLDENS = ROOT / "tests" / "messages"


def test_every_name_has_a_page_and_no_page_is_an_orphan():
    """The catalogue and the pages hold the same names."""
    names = [entry.name for entry in monograph.diagnostics.entries()]
    assert sorted(monograph.diagnostics.page_names()) == names


def test_every_name_has_a_golden_and_no_golden_is_an_orphan():
    """The catalogue and the golden messages hold the same names."""
    names = [entry.name for entry in monograph.diagnostics.entries()]
    assert sorted(path.stem for path in GOLDENS.glob("*.md")) == names
