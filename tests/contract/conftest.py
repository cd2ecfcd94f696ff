"""What all tests of contracts need."""

import gc
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def _no_collection_at_the_recursion_limit(request: pytest.FixtureRequest) -> Generator[None]:
    """Keep finalizers that a collection runs from failing there, where nobody can catch it."""
    is_deep = "depth_until_it_ends" in request.node.nodeid and gc.isenabled()
    if is_deep:
        gc.disable()
    yield
    if is_deep:
        gc.enable()
