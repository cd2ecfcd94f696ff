"""`docs/exportdb.md` says what the cases say; what it says of torch.export was measured."""

import pytest

from monograph import explain, exportdb
from tests.docs.exportdb_page import FOLDER, PAGE, by_torch, case_page, page, written


def test_the_page_is_current():
    """Written anew by `python -W ignore -m tests.docs.exportdb_page`, it is the same."""
    theirs = written()
    assert theirs.keys() == {*exportdb.cases, "version"}
    assert page(theirs) == PAGE.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", exportdb.cases.values(), ids=exportdb.cases)
def test_the_page_of_each_case_is_current(case):
    """Its source, and the graph it gives today."""
    assert case_page(case) == (FOLDER / f"{case.name}.md").read_text(encoding="utf-8")


def test_no_page_is_of_a_case_that_is_gone():
    """And each error name that has a case names it, with its page, where it is explained."""
    assert {path.stem for path in FOLDER.glob("*.md")} == {*exportdb.cases}
    for case in exportdb.cases.values():
        if case.error:
            assert f"`{case.name}` (docs/exportdb/{case.name}.md)" in explain(case.error)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", exportdb.cases.values(), ids=exportdb.cases)
def test_torch_export_does_what_the_page_says(case):
    """Beside it, in the same process."""
    assert written()[case.name] == ("yes" if by_torch(case) else "no")
