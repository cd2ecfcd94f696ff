"""`is` in plain capture: as in eager code, or refused with its line, whatever it compares."""

import operator
from operator import is_ as same

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


class Calls(nn.Module):
    """Calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, tensors):
        return tensors[0] * (2 if self.function(tensors) else 3)


class Pair:
    """Holds two."""

    def __init__(self, tensors):
        self.one, self.other = tensors


def assigned(tensors):
    """Before they are compared."""
    one = tensors[0]
    other = tensors[1]
    return one is other


def looped(tensors):
    """Each with those before it."""
    return any(one is other for at, one in enumerate(tensors) for other in tensors[:at])


def chosen(tensors):
    """One of them by a condition."""
    one, other = tensors
    return (one if one.dim() else other) is (other if one.dim() else one)


def of_an_object(tensors):
    """By attributes."""
    pair = Pair(tensors)
    return pair.one is pair.other


INPUTS = {
    "items": lambda tensors: tensors[0] is not tensors[1],
    "assigned": assigned,
    "looped": looped,
    "chosen": chosen,
    "object": of_an_object,
    "walrus": lambda tensors: (one := tensors[0]) is tensors[1] or one is None,
    "function in C": lambda tensors: operator.is_(*tensors),
    "another name": lambda tensors: same(*tensors),
    "called by C": lambda tensors: all(map(operator.is_not, tensors[:1], tensors[1:])),
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("strict", [True, False])
def test_inputs_that_may_be_one_tensor_are_not_compared(name, strict):
    """The next call may give one tensor twice, or two."""
    x = torch.ones(3)
    for given in ([x, x], [x, x + 1]):
        with pytest.raises(MonographError) as caught:
            monograph.export(Calls(INPUTS[name]), (given,), strict=strict)
        assert caught.value.diagnostic.name == "outside-read"
        code = INPUTS[name].__code__
        assert caught.value.diagnostic.at[0].code.co_filename == code.co_filename


LIES = {
    "method": lambda tensors: tensors[0].__hash__() % 2,
    "of any object": lambda tensors: object.__hash__(tensors[0]) % 2,
    "of its class": lambda tensors: type(tensors[0]).__hash__(tensors[0]) % 2,
    "of tensors": lambda tensors: torch.Tensor.__hash__(tensors[0]) % 2,
    "of another object": lambda _: object.__hash__(KEY) % 2,
    "called by C": lambda tensors: sum(map(object.__hash__, tensors)) % 2,
    "hash called by C": lambda tensors: sum(map(hash, tensors)) % 2,
    "id called by C": lambda tensors: sum(map(id, tensors)) % 2,
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("strict", [True, False])
def test_where_tensors_lie_is_no_number(name, strict):
    """By whatever road code asks."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Calls(LIES[name]), ([torch.ones(3)],), strict=strict)
    assert caught.value.diagnostic.name == "outside-read"
    assert caught.value.diagnostic.at[0].code.co_filename == __file__


class Key:
    """Hashed as any object."""

    def __hash__(self):
        return super().__hash__()


KEY = Key()
KEYS = {KEY: 1}


@pytest.mark.parametrize("strict", [True, False])
def test_what_hashes_by_where_it_lies_is_a_key(strict):
    """Nobody learns the number."""
    monograph.export(
        Calls(lambda _: [KEYS[each] for each in KEYS]), ([torch.ones(3)],), strict=strict
    )


class Holds(nn.Module):
    """Its parameter is in a list, too; what an operator gave is in attributes."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.held, self.last = [self.w], None

    def forward(self, x):
        n = sum(2 if each is self.w else 3 for each in self.held)
        made = [x.float(), x]
        kinds = [type(each) is nn.Linear for each in self.modules() if each is not self]
        is_last = self.last is x
        return x * n * (2 if made[0] is made[1] else 3) * (5 if is_last or kinds else 7)


@pytest.mark.parametrize("strict", [True, False])
def test_what_is_the_same_in_every_call_is_answered(strict):
    """Plain code is interpreted for it."""
    x = torch.rand(3)
    program = monograph.export(Holds(), (x,), strict=strict).module()
    assert torch.equal(program(x), Holds()(x))


class ComparesWhatIsNoTensor(nn.Module):
    """A module, a class, a dtype, a function."""

    def __init__(self):
        super().__init__()
        self.part, self.act = nn.Linear(3, 3), torch.relu

    def forward(self, x):
        for each in self.modules():
            if (
                type(each) is nn.Linear
                and each is self.part
                and self.act is torch.relu
                and x.dtype is torch.float32
            ):
                x = each(x)
        return x


def test_what_is_no_tensor_is_compared_as_it_runs():
    """Nothing is interpreted for it."""
    x, module = torch.rand(2, 3), ComparesWhatIsNoTensor()
    program = monograph.export(module, (x,), strict=False, control_flow="refuse").module()
    assert torch.allclose(program(x), module(x))
