"""Lowered samples lie in memory as eager's results do, for arguments that lie otherwise too.

Each sample is exported as it is, and called with its matrices transposed and its images as
channels-last: the strides of what comes back are eager's, or the call is refused.
"""

import contextlib
import logging

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from monograph.diagnostics import MonographError
from monograph.passes import core_decompositions
from monograph.passes.decomposition.layouts import LAID_OUT_ANEW
from tests.laws.database import operators, seeded
from tests.laws.exporting import copied

pytestmark = [
    pytest.mark.laws,
    pytest.mark.filterwarnings("ignore"),
]

PARTS = 6
ENTRIES = {entry.name: entry for entry in operators()}
LISTED = sorted(name for name in ENTRIES if name.rpartition(".")[2] in LAID_OUT_ANEW)


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def transposed(tensor):
    """The same values, the last two dimensions swapped in memory."""
    return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor


def channels_last(tensor):
    """The same values, as convolutions like images."""
    is_image = tensor.dim() == 4
    return tensor.contiguous(memory_format=torch.channels_last) if is_image else tensor


def laid_out(sample, how):
    """The arguments of a sample in another layout, None where there is none."""

    def changed(leaf):
        plain = isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
        if not plain or not leaf.numel() or not leaf.is_contiguous():
            return leaf
        return how(leaf.detach()).requires_grad_(leaf.requires_grad)

    before = pytree.tree_leaves((sample.args, sample.kwargs))
    args, kwargs = pytree.tree_map(changed, (sample.args, sample.kwargs))
    after = pytree.tree_leaves((args, kwargs))
    tensors = [pair for pair in zip(before, after, strict=True) if hasattr(pair[0], "stride")]
    return None if all(a.stride() == b.stride() for a, b in tensors) else (args, kwargs)


def strides(result):
    """How dense results lie."""
    return [
        (tuple(leaf.shape), leaf.stride())
        for leaf in pytree.tree_leaves(result)
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.numel()
    ]


def faults(name):
    """What lies otherwise than in eager, or fails."""
    try:
        samples = list(ENTRIES[name].samples(3))
    except Exception:  # noqa: BLE001 - some need libraries that are not here
        return
    for sample in samples:
        module = sample.build()
        program = None
        with contextlib.suppress(Exception):  # other laws say which are captured and lowered
            given = copied((sample.args, sample.kwargs))
            program = monograph.export(module, *given, strict=False).run_decompositions().module()
        if program is not None:
            yield from differences(name, module, program, sample)


def differences(name, module, program, sample):
    """Call both with each other layout."""
    for how in (transposed, channels_last):
        given = laid_out(sample, how)
        if given is None:
            continue
        with seeded():
            try:
                expected = strides(module(*given[0], **given[1]))
            except Exception:  # noqa: BLE001 - some layouts eager refuses
                continue
        with seeded(), contextlib.suppress(MonographError):
            actual = strides(program(*given[0], **given[1]))
            if actual != expected:
                yield f"{name}, {how.__name__}: {expected} became {actual}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_lowered_results_lie_as_in_eager(part):
    """Every operator of the database that writes to no argument."""
    found = [fault for name in sorted(ENTRIES)[part::PARTS] for fault in faults(name)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", LISTED)
def test_those_that_are_laid_out_anew_are_refused(name):
    """The list keeps what their formulas would lay out otherwise."""
    assert not [*faults(name)]


@pytest.fixture
def _without_the_list(monkeypatch):
    """Lowering that knows of no such operator, and remembers nothing of it afterwards."""
    core_decompositions.cache_clear()
    monkeypatch.setattr("monograph.passes.decomposition.lowering.LAID_OUT_ANEW", frozenset())
    yield
    core_decompositions.cache_clear()


@pytest.mark.usefixtures("_without_the_list")
def test_a_difference_is_found():
    """Without the list, some lie otherwise."""
    assert [*faults("baddbmm")]
