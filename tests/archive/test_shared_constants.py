"""Constants of two names, and constants that are views of each other or of state, in files."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from tests.archive.corpora import Case
from tests.archive.test_matrix import written_here, written_there


class Twice(nn.Module):
    """Two names for one tensor."""

    def __init__(self):
        super().__init__()
        self.a = torch.arange(6.0)
        self.b = self.a

    def forward(self, x):
        return x * self.a[:3] + self.b[3:], self.a, self.b


class Views(nn.Module):
    """Views of a constant."""

    def __init__(self):
        super().__init__()
        self.a = torch.arange(6.0)
        self.b, self.c = self.a[3:], self.a.view(2, 3)

    def forward(self, x):
        return x * self.a[:3] + self.b + self.c[1], self.a, self.b, self.c


class OfABuffer(nn.Module):
    """A buffer under another name, and a view of it, which is written to."""

    is_persistent = True

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(6.0), persistent=self.is_persistent)
        self.b, self.c = self.a[3:], self.a

    def forward(self, x):
        return x * self.a[:3] + self.b + self.c[:3], self.a, self.b


class OfAVolatileBuffer(OfABuffer):
    """The same, of a buffer that is not in the state."""

    is_persistent = False


class OfABufferWritten(OfABuffer):
    """Through either name."""

    def forward(self, x):
        self.a.add_(1)
        self.b.mul_(2)
        return x * self.b + self.c[:3]


class OfAParameter(nn.Module):
    """A view without gradients."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.arange(6.0))
        self.b = self.a.detach()[3:]

    def forward(self, x):
        return x * self.a[:3] + self.b


SHARED = torch.arange(3.0)


class OfAGlobal(nn.Module):
    """An attribute that is a global, too."""

    def __init__(self):
        super().__init__()
        self.a = SHARED

    def forward(self, x):
        return x * self.a + SHARED, self.a, SHARED


PROGRAMS = (Twice, Views, OfABuffer, OfAVolatileBuffer, OfABufferWritten, OfAParameter, OfAGlobal)
CALLS = tuple([lambda n=n: ((torch.full((3,), n),), {}) for n in (1.0, -2.0, 1.0)])


@pytest.mark.parametrize("lowered", [False, True], ids=["captured", "lowered"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("way", [written_here, written_there], ids=lambda each: each.__name__)
def test_what_is_shared_is_read_by_both(program, way, lowered):
    """Results, what they are or share memory with, and what is written to."""
    way(replace(Case("shared", program.__name__, program, CALLS[0], CALLS), lowered=lowered))
