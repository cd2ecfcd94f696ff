"""Hundreds of index expressions, drawn at random: reading and writing agree with eager."""

import random

import numpy as np
import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import ContractError, MonographError

SHAPE = (4, 5, 6)
EXPRESSIONS = 150


def elements(draw):
    """Draw one element of an index, as a function of the tensor."""
    n = draw.randint(-4, 3)
    m = draw.randint(0, 3)
    mask = [draw.random() < 0.5 for _ in range(draw.choice(SHAPE))]
    rows = [draw.randint(-4, 3) for _ in range(draw.choice((1, 2, 2, 3)))]
    return draw.choice(
        [
            lambda x: n,
            lambda x: np.int64(n),
            lambda x: slice(None),
            lambda x: slice(n, None),
            lambda x: slice(None, n),
            lambda x: slice(m, m + 2),
            lambda x: slice(None, None, m + 1),
            lambda x: slice(None, x.shape[0] // 2),
            lambda x: slice(x.shape[0] - 1, None),
            lambda x: x.shape[0] - 1,
            lambda x: None,
            lambda x: None,
            lambda x: Ellipsis,
            lambda x: draw is None,
            lambda x: True,
            lambda x: rows,
            lambda x: tuple(rows),
            lambda x: np.array(rows),
            lambda x: torch.tensor(rows),
            lambda x: torch.tensor([rows]),
            lambda x: torch.tensor(n),
            lambda x: torch.tensor(mask),
            lambda x: mask,
            lambda x: torch.tensor(True),
        ]
    )


def expression(seed):
    """Draw an index of up to four elements."""
    draw = random.Random(seed)
    parts = [elements(draw) for _ in range(draw.choice((1, 1, 2, 2, 3, 4)))]
    if sum(part(torch.empty(SHAPE)) is Ellipsis for part in parts) > 1:
        parts = parts[:1]
    if len(parts) == 1 and draw.random() < 0.5:
        return parts[0]
    return lambda x: tuple(part(x) for part in parts)


class Reads(nn.Module):
    """`x[index]`."""

    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x):
        return x[self.index(x)]


class Writes(Reads):
    """`x[index] = 7`, and the same with a tensor."""

    def forward(self, x):
        x[self.index(x)] = 7.0
        x[self.index(x)] = torch.tensor(2.0)
        return x * 1


def outcome(module, x):
    """Give the result, or the class of what was raised."""
    x = x.clone()
    try:
        return module(x), x
    except ContractError:
        raise
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        return error


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("kind", [Reads, Writes])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "chunk", [0, *(pytest.param(chunk, marks=pytest.mark.slow) for chunk in (1, 2, 3))]
)
def test_index_expressions(kind, dynamic, chunk):
    """Capture raises what eager raises; the program gives what eager gives, at other sizes too.

    The first 150 expressions have each kind of element some twenty times; 450 others are slow.
    """
    shapes = {"x": [monograph.Dim.AUTO] * 3} if dynamic else None
    for seed in range(chunk * EXPRESSIONS, (chunk + 1) * EXPRESSIONS):
        module = kind(expression(seed))
        expected = outcome(module, torch.randn(SHAPE))
        index = module.index(torch.empty(SHAPE))
        try:
            program = monograph.export(module, (torch.randn(SHAPE),), dynamic_shapes=shapes)
        except (MonographError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raised = error if isinstance(error, MonographError) else expected
            agrees = isinstance(expected, Exception) and type(raised) is type(error)
            if not agrees:
                raise AssertionError(f"{index}: {expected!r} became {error!r}") from error
            continue
        called = program.module()
        for sizes in (SHAPE, (7, 5, 6), (4, 8, 9), (3, 3, 3), (1, 1, 1), (0, 5, 6)):
            x = torch.randn(sizes)
            try:
                actual = outcome(called, x)
            except ContractError:
                assert sizes != SHAPE, index
                continue
            expected = outcome(module, x)
            if isinstance(expected, Exception):
                assert isinstance(actual, Exception), f"{index} at {sizes}: {expected!r} was lost"
                continue
            assert not isinstance(actual, Exception), f"{index} at {sizes}: {actual!r}"
            for one, other in zip(expected, actual, strict=True):
                assert one.shape == other.shape, f"{index} at {sizes}"
                assert torch.equal(one, other), f"{index} at {sizes}"
