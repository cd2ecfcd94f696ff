"""`docs/exportdb.md` says what the cases say; what it says of torch.export was measured."""

import pytest

from tests.docs.exportdb_page import (
    FOLDER,
    PAGE,
    by_torch,
    case_page,
    features,
    own_pages,
    page,
    written,
)


def test_the_page_is_current():
    """Written anew by `python -W ignore -m tests.docs.exportdb_page`, it is the same."""
    theirs = written()
    assert theirs.keys() == {*features(), "version"}
    assert page(theirs) == PAGE.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", own_pages().values(), ids=own_pages())
def test_the_page_of_each_case_is_current(case):
    """Its source, and the graph it gives today."""
    assert case_page(case) == (FOLDER / f"{case.name}.md").read_text(encoding="utf-8")


def test_no_page_is_of_a_case_that_is_gone():
    """Each that is no error's has one."""
    assert {path.stem for path in FOLDER.glob("*.md")} == {*own_pages()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", features().values(), ids=features())
def test_torch_export_does_what_the_page_says(case):
    """Beside it, in the same process."""
    assert written()[case.name] == ("yes" if by_torch(case) else "no")
