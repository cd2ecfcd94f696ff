"""Containers among the inputs belong to the caller, and who changes one is told the line."""

import pytest
import torch
from torch import nn

from monograph import SideEffectError, export


def filled(d):
    """Fill the caller's dict, in a function of its own."""
    d["b"] = d["a"] * 2
    return d["b"]


class Fills(nn.Module):
    def forward(self, x, d):
        y = x + 1
        return y + filled(d)


class Appends(nn.Module):
    def forward(self, x, *rest, k):
        k.append(rest[0])
        k.pop()
        rest[0].append(x)
        return x * 2


class Restores(nn.Module):
    def forward(self, x, d):
        d["b"] = x
        return d.pop("b") + d["a"]


@pytest.mark.parametrize(
    ("module", "args", "kwargs", "line", "name"),
    [
        (Fills(), (torch.ones(2), {"a": torch.ones(2)}), {}, 'd["b"] = d["a"] * 2', "d"),
        (Appends(), (torch.ones(2), [1]), {"k": []}, "rest[0].append(x)", "rest"),
    ],
)
def test_a_change_is_refused_at_its_line(module, args, kwargs, line, name):
    """The argument and the line that changed it are named; what is put back is free."""
    with pytest.raises(SideEffectError) as caught:
        export(module, args, kwargs)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert f"the argument `{name}" in str(caught.value)
    assert line.split("[")[0] in str(caught.value)
    assert "test_given.py" in str(caught.value)


def test_what_is_put_back_is_free():
    """A container that is as it was after the call may have changed in between."""
    program = export(Restores(), (torch.ones(2), {"a": torch.ones(2)}))
    assert torch.equal(program.module()(torch.ones(2), {"a": torch.ones(2)}), torch.full((2,), 2.0))


def test_the_callers_containers_are_untouched():
    """The refused export changes nothing of what it was given."""
    given = {"a": torch.ones(2)}
    with pytest.raises(SideEffectError):
        export(Fills(), (torch.ones(2), given))
    assert list(given) == ["a"]
