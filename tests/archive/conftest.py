"""The order of the tests: those that install a hook for ever come last."""

import pytest

WATCHING = {"test_fuzz.py", "test_hostile.py"}
"""The tests that use `watching.py`."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put them behind all others, whatever order was drawn."""
    items.sort(key=lambda item: item.path.name in WATCHING)
