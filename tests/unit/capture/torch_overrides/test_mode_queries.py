"""Flags of modules are heard when they are read, and only then."""

import threading

import pytest
import torch
from torch import nn

import monograph


def modes_of(module, *, strict):
    """What the capture heard."""
    return dict(monograph.export(module, (torch.randn(2, 3),), strict=strict).contract.modes.asked)


class Asking(nn.Module):
    """Reads its own flag, sets another's, and never asks a third."""

    def __init__(self):
        super().__init__()
        self.set = nn.Dropout()
        self.silent = nn.Linear(3, 3)
        self.inner = nn.Sequential(nn.Dropout().eval())

    def forward(self, x):
        before = vars(self.set)["training"]
        self.set.train(mode=False)
        y = self.inner(self.set(self.silent(x)))
        self.set.train(before)
        return y * 2 if self.training else y


@pytest.mark.parametrize("strict", [True, False])
def test_flags_that_were_read(strict):
    """By path, with what they said; those that the run set itself are its own business."""
    module = Asking()
    assert modes_of(module, strict=strict) == {"": True, "inner.0": False}
    assert modes_of(nn.Linear(3, 3), strict=strict) == {}
    assert "training" not in vars(nn.Module)
    assert module.set.training


class Frozen(nn.Module):
    """Changes what `train` does."""

    def train(self, mode=True):
        return super().train(mode and False)

    def forward(self, x):
        return x + 1


def test_modules_that_change_what_train_does():
    """No more is known of these."""
    program = monograph.export(nn.Sequential(Frozen()), (torch.randn(3),))
    assert program.contract.modes.asked == ()
    assert not program.contract.modes.only_sets_flags


def test_other_threads_have_no_part_in_it():
    """Modules of theirs work as ever, and are not heard."""

    class Meanwhile(nn.Module):
        def __init__(self):
            super().__init__()
            self.other = nn.Dropout()

        def forward(self, x):
            seen = []
            thread = threading.Thread(target=lambda: seen.append(self.other.training))
            thread.start()
            thread.join()
            assert seen == [True]
            return x + 1

    assert modes_of(Meanwhile(), strict=False) == {}
