"""The family of messages about programs is in the catalogue."""

import pytest

from monograph.diagnostics import UnsupportedError, find_entry
from monograph.program import refusals


@pytest.mark.parametrize("name", [refusals.PROGRAM_CALLED, refusals.MODE_IS_FIXED])
def test_messages_are_entered(name):
    """Importing programs enters their messages."""
    assert find_entry(name).error is UnsupportedError
