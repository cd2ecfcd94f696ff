"""What is put into the caller's objects and is no value of a program is refused at its line."""

import pytest
import torch
from torch import nn

from monograph import MonographError, SideEffectError, export


def filled(d):
    """Fill the caller's dict, in a function of its own."""
    d["b"] = iter([d["a"] * 2])
    return d["a"]


class Fills(nn.Module):
    def forward(self, x, d):
        y = x + 1
        return y + filled(d)


class Appends(nn.Module):
    def forward(self, x, *rest, k):
        k.append(rest[0])
        k.pop()
        rest[0].append(lambda: x)
        return x * 2


class OneOfTwo(nn.Module):
    def forward(self, x, xs, ys):
        ys.append(x * 2)
        xs.append(iter(ys))
        return x * 2


class Restores(nn.Module):
    def forward(self, x, d):
        d["b"] = x
        return d.pop("b") + d["a"]


@pytest.mark.parametrize(
    ("module", "args", "kwargs", "line", "name"),
    [
        (Fills(), (torch.ones(2), {"a": torch.ones(2)}), {}, 'd["b"] = iter', "d"),
        (Appends(), (torch.ones(2), [1]), {"k": []}, "rest[0].append(lambda", "rest"),
        (OneOfTwo(), (torch.ones(2), [], []), {}, "xs.append(iter(ys))", "xs"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_change_is_refused_at_its_line(module, args, kwargs, line, name, strict):
    """The argument and the line that changed it are named; what is put back is free."""
    with pytest.raises(SideEffectError) as caught:
        export(module, args, kwargs, strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert f"the argument `{name}" in str(caught.value)
    assert line in str(caught.value)
    assert "test_input_mutation.py" in str(caught.value)


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


@pytest.mark.parametrize("strict", [True, False])
def test_an_object_of_the_modules_own_is_no_input(strict):
    """What is written to the one would be read from the other."""

    class Box:
        def __init__(self):
            self.held = torch.ones(2)

    class Reads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.boxes = [Box()]

        def forward(self, box):
            box.held = box.held + 1
            return self.boxes[0].held

    module = Reads()
    with pytest.raises(MonographError, match=r"`self.boxes\[0\]` reads an object") as caught:
        export(module, (module.boxes[0],), strict=strict)
    assert caught.value.diagnostic.name == "outside-read"
    assert torch.equal(export(module, (Box(),), strict=strict).module()(Box()), torch.ones(2))
