"""`docs/exportdb.md` says what the cases say; what it says of torch.export was measured."""

import pytest

from monograph import exportdb
from tests.docs.exportdb_page import PAGE, by_torch, page, written


def test_the_page_is_current():
    """Written anew by `python -W ignore -m tests.docs.exportdb_page`, it is the same."""
    theirs = written()
    assert theirs.keys() == {*exportdb.cases, "version"}
    assert page(theirs) == PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", exportdb.cases.values(), ids=exportdb.cases)
def test_torch_export_does_what_the_page_says(case):
    """Beside it, in the same process."""
    assert written()[case.name] == ("yes" if by_torch(case) else "no")
