"""What holds for every test: the same random numbers each time, whatever ran before it."""

import gc
import os
import sys
import traceback
import zlib
from collections.abc import Generator

import hypothesis
import pytest
import torch

from monograph.host.dispatch import dispatch_keys, with_dispatch_keys
from tests.seeding import reseed

# `make test` judges a change, so it draws the same examples each time; `make laws` draws new ones.
hypothesis.settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("new")
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage in what tests make, and not in the thousands of tests: all of them stay.

    Looking there again and again while they become more costs a third of collecting them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Look once for garbage in what a file's tests made, and let it be: some of it stays.

    Captures that have to know which objects are new look through all there are, and a worker's
    heap grows by a million of them: a test of one second took five minutes in the end.
    """
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what was raised before a failure: a refusal hides why no other way was left."""
    report = yield
    if report.failed and call.excinfo is not None:
        error, texts = call.excinfo.value.__context__, []
        while error is not None and len(texts) < 9:
            texts.append("".join(traceback.format_exception(error, limit=-8, chain=False)))
            error = error.__context__
        report.sections += [("raised before", text) for text in texts]
    return report


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> Generator[None]:
    """Seed PyTorch by the test's name: neither order nor worker changes its numbers.

    Raises: AssertionError for a test that leaves gradients or the collector off, or a profiler on,
        which others would suffer from.
    """
    reseed(zlib.crc32(request.node.nodeid.encode()))
    with with_dispatch_keys(dispatch_keys()):
        yield
        was_enabled = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        has_autograd = (torch.ones((), requires_grad=True) * 1).requires_grad
    profiler, collects = sys.getprofile(), gc.isenabled()
    sys.setprofile(None)
    gc.enable()
    assert profiler is None, f"the test leaves a profiler on: {profiler}"
    assert collects, "the test leaves the collector off"
    assert was_enabled, "the test leaves `no_grad` on"
    assert has_autograd, "the test leaves dispatch below autograd"
