"""What forward writes back as it was is no change; any other is one, and refused."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

import monograph
from monograph.diagnostics import SideEffectError


class Holds(nn.Module):
    """A list, a dict and a tensor that is no buffer."""

    def __init__(self, change):
        super().__init__()
        self.change = change
        self.cells = [torch.ones(3), torch.zeros(3)]
        self.named = {"a": torch.full((3,), 2.0)}
        self.table = torch.full((3,), 4.0)

    def forward(self, x):
        self.change(self, x)
        return x + self.cells[0] * self.named["a"] - self.table


def converted(self, x):
    """As torchvision's anchors."""
    self.cells = [each.to(dtype=x.dtype, device=x.device) for each in self.cells]


def copied(self, x):
    """Other containers with the same in them."""
    self.cells, self.named = list(self.cells), {**self.named}


def converted_in_a_dict(self, x):
    """As above, by name."""
    self.named = {name: each.to(x.dtype) for name, each in self.named.items()}


def converted_alone(self, x):
    """A tensor of its own."""
    self.table = self.table.contiguous().to(x.device)


AS_THEY_WERE = [converted, copied, converted_in_a_dict, converted_alone]


def reversed_(self, x):
    """The same tensors in another order."""
    self.cells = self.cells[::-1]


def longer(self, x):
    """The list that was there has one more."""
    old, self.cells = self.cells, [each.to(x.dtype) for each in self.cells]
    old.append(x)


def made_anew(self, x):
    """Another value."""
    self.table = self.table.to(x.dtype) * 2


def changed_places(self, x):
    """Each is what the other was."""
    first, second = self.cells
    self.cells = [second.to(x.dtype), first.to(x.dtype)]


def written(self, x):
    """Converted, and written to."""
    self.cells = [each.to(x.dtype) for each in self.cells]
    self.cells[0].add_(1)


CHANGED = [reversed_, longer, made_anew, changed_places, written]


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("change", AS_THEY_WERE)
def test_what_is_as_it_was_is_no_change(change, strict):
    """Each call agrees with a module that was called as often, and the attributes stay."""
    module, eager = Holds(change), Holds(change)
    before = [*module.cells, module.named["a"], module.table]
    program = monograph.export(module, (torch.ones(3),), strict=strict).module()
    now = [*module.cells, module.named["a"], module.table]
    assert all(one is other for one, other in zip(before, now, strict=True))
    for _ in range(3):
        x = torch.randn(3)
        assert torch.equal(program(x), eager(x))


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("change", CHANGED)
def test_any_other_is_refused(change, strict):
    """The next call would find something else."""
    with pytest.raises(SideEffectError, match=r"attribute-changed|mutated-constant"):
        monograph.export(Holds(change), (torch.ones(3),), strict=strict)


class Symmetric(nn.Module):
    """A parametrization."""

    def forward(self, weight):
        return weight.triu() + weight.triu(1).mT


class UsesTheCache(nn.Module):
    """PyTorch fills a global dict meanwhile, and puts an empty one in its place."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        parametrize.register_parametrization(self.linear, "weight", Symmetric())

    def forward(self, x):
        with parametrize.cached():
            return self.linear(self.linear(x))


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_a_package_may_empty_a_global_of_its_own(strict):
    """As before is what it held, not which dict that is."""
    module, x = UsesTheCache(), torch.randn(2, 4)
    program = monograph.export(module, (torch.ones(2, 4),), strict=strict).module()
    torch.testing.assert_close(program(x), module(x))
