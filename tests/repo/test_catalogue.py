"""Every name a message can have is explained on a page and shown by a golden file."""

import monograph.diagnostics
from tests.repo.sources import ROOT

GOLDENS = ROOT / "tests" / "messages"


def catalogue():
    """Give every name a message can have."""
    return {entry.name for entry in monograph.diagnostics.entries()}


def test_every_name_has_a_page_and_no_page_is_an_orphan():
    """The catalogue and the pages hold the same names."""
    assert catalogue() ^ set(monograph.diagnostics.page_names()) == set()


def test_every_name_has_a_golden_and_no_golden_is_an_orphan():
    """The catalogue and the golden messages hold the same names."""
    assert catalogue() ^ {path.name.partition(".")[0] for path in GOLDENS.glob("*.md")} == set()
