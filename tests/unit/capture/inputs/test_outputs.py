"""Results: what a program gives back is of its own call."""

import copy
from collections import defaultdict

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


class Gives(nn.Module):
    """A dict that makes what it has not."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def forward(self, x):
        return defaultdict(self.factory(x), a=x * 2)


@pytest.mark.parametrize("strict", [True, False])
def test_a_dict_that_makes_lists_is_a_result(strict):
    """Each call makes its own."""
    program = monograph.export(Gives(lambda _: list), (torch.ones(2),), strict=strict).module()
    result = program(torch.ones(2))
    assert result["missing"] == []
    assert "missing" not in program(torch.ones(2))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "factory", [lambda x: lambda: x, lambda x: lambda x=x: x, lambda x: x.clone]
)
def test_a_dict_that_makes_what_the_capture_knows_is_refused(factory, strict):
    """A missing key would be a tensor of the capture."""
    with pytest.raises(MonographError, match=r"output\.default_factory"):
        monograph.export(Gives(factory), (torch.ones(2),), strict=strict)


def flags_of(results):
    """What callers can ask of tensors: themselves, and which lie in one memory."""
    own = [(t.requires_grad, t.is_leaf, t._is_view(), t.stride(), t.tolist()) for t in results]
    memory = [t.untyped_storage().data_ptr() for t in results]
    return own, [memory.index(each) for each in memory]


LEFT = [
    lambda old, leaf: (leaf,),
    lambda old, leaf: (leaf.view(2, 2), leaf),
    lambda old, leaf: (leaf, old),
    lambda old, leaf: (leaf[:2], old[1:3]),
    lambda old, leaf: (leaf * 2, leaf),
    lambda old, leaf: (old.view(2, 2), old.add_(1)),
]


class Replaces(nn.Module):
    """A buffer that is replaced, and what was it before a result."""

    def __init__(self, buffer, leaving):
        super().__init__()
        self.register_buffer("last", buffer)
        self.leaving = leaving

    def forward(self, x):
        old = self.last
        self.last = old * 2 + x
        return self.leaving(old, old.detach().requires_grad_())


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("leaving", LEFT)
def test_a_replaced_buffer_that_is_still_seen(leaving, strict):
    """Results that lie in the old tensor are leaves and views as in eager code."""
    module, its_copy = (Replaces(torch.arange(4.0), leaving) for _ in range(2))
    program = monograph.export(its_copy, (torch.ones(4),), strict=strict).module()
    for _ in range(2):
        found, expected = program(torch.ones(4)), module(torch.ones(4))
        assert flags_of(found) == flags_of(expected)
        if len(found) == 2 and found[1].is_leaf and found[1].requires_grad:
            one, other = (
                torch.autograd.grad(both[0].sum(), both[1], allow_unused=True)[0]
                for both in (found, expected)
            )
            assert torch.equal(one, other)


class Exchanged(nn.Module):
    """Two buffers that change places, with results that lie in what was the one."""

    def __init__(self, buffer):
        super().__init__()
        self.register_buffer("last", buffer)
        self.register_buffer("other", copy.deepcopy(buffer))
        self.other.fill_(-1)

    def forward(self, x):
        old = self.last
        self.last, self.other = self.other, self.last
        return old, old[1:3], self.last + x


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("step", [1, 2])
def test_what_is_seen_of_a_replaced_buffer_lies_as_it_did(step, strict):
    """With gaps, or whole."""
    module = Exchanged(torch.arange(8.0)[: 4 * step : step])
    its_copy = copy.deepcopy(module)
    program = monograph.export(its_copy, (torch.ones(4),), strict=strict).module()
    for _ in range(2):
        found, expected = program(torch.ones(4)), module(torch.ones(4))
        for one, other in zip(found, expected, strict=True):
            assert one.stride() == other.stride()
            assert torch.equal(one, other)
        assert found[0].untyped_storage().data_ptr() == found[1].untyped_storage().data_ptr()


SHARING = {
    "buffer": lambda module, t: module.register_buffer("other", t[1:3]),
    "parameter": lambda module, t: module.register_parameter("other", nn.Parameter(t.view(2, 2))),
    "attribute": lambda module, t: setattr(module, "other", t[1:3]),
    "itself": lambda module, t: setattr(module, "other", t),
    "itself in a list": lambda module, t: setattr(module, "others", [t]),
}


class Shares(nn.Module):
    """A buffer that is replaced, in whose memory another tensor lies."""

    def __init__(self, share):
        super().__init__()
        whole = torch.arange(4.0)
        self.register_buffer("last", whole)
        share(self, whole)

    def forward(self, x):
        self.last = self.last * 2 + x
        return (self.others[0] if hasattr(self, "others") else self.other) * 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", SHARING)
def test_what_lies_in_the_memory_of_a_replaced_buffer_is_refused(kind, strict):
    """It stays what it is there; a program would write to it."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Shares(SHARING[kind]), (torch.ones(4),), strict=strict)
    assert caught.value.diagnostic.name == "state-shares-memory"
    assert caught.value.diagnostic.at[0].code is Shares.forward.__code__


def test_buffers_that_lie_apart_in_one_memory_may_be_replaced():
    """As parts of one tensor."""

    def made():
        module = Shares(lambda module, t: module.register_buffer("other", t[2:]))
        module.last = module.last[:2]
        return module

    module, program = made(), monograph.export(made(), (torch.ones(2),)).module()
    for _ in range(2):
        assert torch.equal(program(torch.ones(2)), module(torch.ones(2)))
        assert torch.equal(program.last, module.last)
