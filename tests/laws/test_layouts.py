"""Lowered samples lie in memory as eager's results do, for arguments that lie otherwise too.

Each sample is exported as it is, and called with its matrices transposed, its images as
channels-last, and arguments that lie each in its own way: the strides of what comes back are
eager's, or the call is refused. Exported with such arguments, what is lowered has a derivative
where eager has one.
"""

import contextlib
import itertools
import logging
from dataclasses import replace

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from monograph.diagnostics import MonographError
from monograph.passes import core_decompositions
from monograph.passes.decomposition.layouts import LAID_OUT_ANEW
from tests.laws.database import MANY, operators, seeded
from tests.laws.exporting import copied

pytestmark = [
    pytest.mark.laws,
    pytest.mark.filterwarnings("ignore"),
]

PARTS = 6
ENTRIES = {entry.name: entry for entry in operators()}
LISTED = sorted(name for name in ENTRIES if name.rpartition(".")[2] in LAID_OUT_ANEW)
LISTED += ["nn.functional.logsigmoid", "nn.functional.nll_loss"]


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


def expanded(tensor):
    """The first row for all."""
    return tensor[:1].expand_as(tensor) if tensor.dim() > 1 else tensor


MIXED = ((expanded, transposed), (expanded, expanded, transposed), (transposed, expanded))
"""How the first, second and other arguments lie."""


def laid_out(sample, *how):
    """The arguments of a sample in other layouts, the last for the rest; None where all are one."""
    ways = itertools.chain(how, itertools.repeat(how[-1]))

    def changed(leaf):
        plain = isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
        if not plain or not leaf.numel() or not leaf.is_contiguous():
            return leaf
        return next(ways)(leaf.detach()).requires_grad_(leaf.requires_grad)

    before = pytree.tree_leaves((sample.args, sample.kwargs))
    args, kwargs = pytree.tree_map(changed, (sample.args, sample.kwargs))
    after = pytree.tree_leaves((args, kwargs))
    pairs = zip(before, after, strict=True)
    tensors = [pair for pair in pairs if getattr(pair[0], "layout", None) is torch.strided]
    return None if all(a.stride() == b.stride() for a, b in tensors) else (args, kwargs)


def strides(result):
    """How dense results lie."""
    return [
        (tuple(leaf.shape), leaf.stride())
        for leaf in pytree.tree_leaves(result)
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.numel()
    ]


def samples_of(name):
    """Some samples of an operator that may lie otherwise; a lone vector is made a matrix."""
    try:
        found = list(ENTRIES[name].samples(MANY))
    except Exception:  # noqa: BLE001 - some need libraries that are not here
        return []
    lone = [replace(each, args=(each.args[0].reshape(4, -1),)) for each in found if is_lone(each)]
    apt = [each for each in found if laid_out(each, transposed) is not None]
    places = sorted({i * (len(apt) - 1) // 2 for i in range(3)}) if apt else ()
    return [*lone[:1], *[apt[place] for place in places]]


def is_lone(sample):
    """Whether it is a vector, and nothing else, whose length can be divided."""
    first = sample.args[0] if len(sample.args) == 1 and not sample.kwargs else None
    return isinstance(first, torch.Tensor) and first.dim() == 1 and first.shape[0] in {4, 20}


def faults(name):
    """What lies otherwise than in eager, or fails."""
    for sample in samples_of(name):
        module = sample.build()
        program = None
        with contextlib.suppress(Exception):  # other laws say which are captured and lowered
            given = copied((sample.args, sample.kwargs))
            program = monograph.export(module, *given, strict=False).run_decompositions().module()
        if program is not None:
            yield from differences(name, module, program, sample)


def differences(name, module, program, sample):
    """Call both with each other layout."""
    for how in ((transposed,), (channels_last,), *MIXED):
        given = laid_out(sample, *how)
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
                ways = ", ".join(each.__name__ for each in how)
                yield f"{name}, {ways}: {expected} became {actual}"


def without_derivative(name):
    """What cannot be differentiated once it is lowered, with arguments that lie otherwise."""
    for sample in samples_of(name):
        for how in (transposed, channels_last):
            given = laid_out(sample, how)
            if given is None or not is_differentiable(sample.build(), *given):
                continue
            with contextlib.suppress(Exception):  # as above
                program = monograph.export(sample.build(), *copied(given), strict=False)
                lowered = program.run_decompositions().module()
                if is_differentiable(lowered, *given):
                    continue
                if is_differentiable(program.module(), *given):  # which may ask for what needs one
                    yield f"{name}, {how.__name__}"


def is_differentiable(module, args, kwargs):
    """Whether there is a way back from the results to the arguments, and it can be gone."""

    def followed(leaf):
        is_tensor = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        return leaf.detach().requires_grad_() if is_tensor else leaf

    args, kwargs = pytree.tree_map(followed, (args, kwargs))
    try:
        with seeded():
            results = pytree.tree_leaves(module(*args, **kwargs))
            total = sum(each.abs().sum() for each in results if getattr(each, "grad_fn", None))
            total.backward()
    except Exception:  # noqa: BLE001 - of whatever kind
        return False
    return True


@pytest.mark.parametrize("name", ["lerp", "index_fill"])
def test_derivatives_stay(name):
    """Formulas that lay their result out like an argument."""
    assert not [*without_derivative(name)]


FOR_INFERENCE = {"nn.functional.embedding_bag"}
"""Exported for a weight without gradients, they become operators that have none, and say so."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_derivatives_stay_everywhere(part):
    """Every operator of the database that writes to no argument."""
    names = sorted(ENTRIES.keys() - FOR_INFERENCE)[part::PARTS]
    found = [each for name in names for each in without_derivative(name)]
    assert not found, "\n".join(found)


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
    monkeypatch.setattr("monograph.passes.decomposition.layouts.LAID_OUT_ANEW", frozenset())
    yield
    core_decompositions.cache_clear()


@pytest.mark.usefixtures("_without_the_list")
def test_a_difference_is_found():
    """Without the list, some lie otherwise."""
    assert [*faults("baddbmm")]
