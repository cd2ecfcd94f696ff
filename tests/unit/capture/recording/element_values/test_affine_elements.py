"""What positions that count up, or all are alike, answer at every size: as in eager code."""

import random

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import DataDependentError

MOST = 7


class Asks(nn.Module):
    """Takes a way by what it is told of the size of its input."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask

    def forward(self, x):
        return x + 1 if self.ask(x.shape[0]) else x * 3


def exported(ask, *, least=0):
    """Capture it for every size, without a look at data."""
    shapes = ({0: monograph.Dim("n", min=least)},)
    return monograph.export(
        *(Asks(ask), (torch.ones(4),)),
        dynamic_shapes=shapes,
        strict=False,
        control_flow="refuse",
    )


def packed(n, start=0):
    """Ask as models of transformers do whether sequences are packed into one."""
    positions = (torch.arange(n) + start)[None]
    steps = torch.diff(positions, prepend=positions[:, :1] - 1, dim=-1)
    return (steps != 1).cumsum(-1)


DECIDED = {
    "one sequence": (lambda n: (packed(n)[:, -1] == 0).all(), 1),
    "one sequence, later": (lambda n: (packed(n, 5)[:, -1] == 0).all(), 1),
    "none is negative": (lambda n: (torch.arange(n) < 0).any(), 0),
    "all are below": (lambda n: (torch.arange(n) < n).all(), 0),
    "one is as great": (lambda n: (torch.arange(n) >= n).any(), 0),
    "every second": (lambda n: (torch.arange(n)[1::2].diff() == 2).all(), 0),
    "backwards": (lambda n: (torch.arange(0, -n, -1).diff() == -1).all(), 1),
    "two at once": (
        lambda n: torch.cat([torch.arange(n), torch.arange(n, 2 * n)]).diff().eq(1).all(),
        1,
    ),
    "rows and columns": (
        lambda n: (torch.arange(n)[:, None] * 3 + torch.arange(5)).diff(dim=1).ne(1).any(),
        0,
    ),
    "shifted": (lambda n: ((torch.arange(n + 1)[1:] - torch.arange(n)) == 1).all(), 0),
    "beside itself": (lambda n: (torch.arange(n).expand(3, n) == torch.arange(n)).all(), 0),
    "alike": (lambda n: torch.full((n,), 3).cumsum(0).diff().eq(3).all(), 0),
    "no mask": (lambda n: torch.ones(2, n, dtype=torch.int64).bool().logical_not().any(), 0),
    "neither": (lambda n: ((torch.arange(n) < 0) | (torch.arange(n) > n)).any(), 0),
    "the last": (lambda n: torch.arange(n)[-1] == n - 1, 1),
    "the last of rows": (
        lambda n: (torch.arange(n).view(1, n).expand(3, n)[:, -1] + 1 == n).all(),
        1,
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_it_is_answered_for_all_sizes(name):
    """No guard is needed, and no size is told otherwise than by eager code."""
    ask, least = DECIDED[name]
    program = exported(ask, least=least)
    for n in range(least, MOST):
        x = torch.rand(n)
        assert torch.equal(program.module()(x), Asks(ask)(x))


OPEN = {
    "at some sizes": lambda n: (torch.arange(n) < 3).all(),
    "of nothing": lambda n: (torch.arange(n) >= 0).any(),
    "where parts do not meet": lambda n: (
        torch.cat([torch.arange(n), torch.arange(n)]).diff().eq(1).all()
    ),
    "what was written to": lambda n: (torch.arange(n).mul_(2).diff() == 1).all(),
    "in eight bits": lambda n: (torch.arange(n).to(torch.int8) >= 0).all(),
    "what leaves 64 bits": lambda n: (torch.full((n,), 3) * 2**20 * 2**20 * 2**20 * 16 > 0).all(),
    "sizes that may": lambda n: (torch.full((n,), n) * 2**20 * 2**20 * 2**20 * 16 >= 0).all(),
    "truths as numbers": lambda n: (((torch.arange(n) >= 0) & 1) == 0).all(),
    "truths and a size": lambda n: ((torch.arange(n) >= 0) & n).bool().all(),
    "truths or a number": lambda n: ((torch.arange(n) < 0) | 2).bool().all(),
    "a number that wraps": lambda n: (torch.zeros(n, dtype=torch.int8) == 256).all(),
}


@pytest.mark.parametrize("name", OPEN)
def test_it_is_left_to_data(name):
    """The answer is another one at another size."""
    with pytest.raises(DataDependentError):
        exported(OPEN[name])


# --- drawn ---------------------------------------------------------------------------------------

SOURCES = [
    lambda n, k: torch.arange(n),
    lambda n, k: torch.arange(k, n + k),
    lambda n, k: torch.arange(k, 2 * n + k, 2),
    lambda n, k: torch.arange(n, 0, -1),
    lambda n, k: torch.full((n,), k),
    lambda n, k: torch.zeros(n, 2, dtype=torch.int64),
    lambda n, k: torch.ones(2, n, dtype=torch.int64),
    lambda n, k: torch.arange(n)[:, None] - torch.arange(3),
]
STEPS = [
    lambda t, n, k: t + k,
    lambda t, n, k: t - n,
    lambda t, n, k: t * k,
    lambda t, n, k: t + torch.arange(t.shape[-1]),
    lambda t, n, k: t - t[..., :1],
    lambda t, n, k: t[1:],
    lambda t, n, k: t[..., k:],
    lambda t, n, k: t[..., :k],
    lambda t, n, k: t[..., :-1],
    lambda t, n, k: t[..., ::2],
    lambda t, n, k: t[-1:],
    lambda t, n, k: t[None],
    lambda t, n, k: t.unsqueeze(-1),
    lambda t, n, k: t.squeeze(),
    lambda t, n, k: t.reshape(-1),
    lambda t, n, k: t.view(*t.shape[:-1], 1, t.shape[-1]),
    lambda t, n, k: t.expand(3, *t.shape),
    lambda t, n, k: t.diff(),
    lambda t, n, k: t.diff(dim=0),
    lambda t, n, k: torch.diff(t, prepend=t[..., :1] - k),
    lambda t, n, k: torch.diff(t, append=t[..., -1:] + k),
    lambda t, n, k: t.cumsum(-1),
    lambda t, n, k: t.narrow(-1, 0, 1),
    lambda t, n, k: torch.cat([t, t + n]),
    lambda t, n, k: torch.cat([t[:1] - k, t]),
    lambda t, n, k: t.clone().add_(k),
    lambda t, n, k: t.to(torch.int32).to(torch.int64),
    lambda t, n, k: torch.where(t > k, t, k),
    lambda t, n, k: t.clamp(max=k),
]
QUESTIONS = [
    lambda t, n, k: (t == k).all(),
    lambda t, n, k: (t != k).any(),
    lambda t, n, k: (t >= k).all(),
    lambda t, n, k: (t < k).any(),
    lambda t, n, k: (t <= n).all(),
    lambda t, n, k: (t > n).any(),
    lambda t, n, k: ~(t < n).all(),
    lambda t, n, k: ((t < 0) & (t > n)).any(),
    lambda t, n, k: (t == t.clone()).all(),
    lambda t, n, k: (t < t + 1).all() | (t > k).all(),
    lambda t, n, k: t.flatten()[0] == k,
]


def drawn(seed):
    """Draw a question about a tensor that is made of the size."""
    draw = random.Random(seed)
    source, k = draw.choice(SOURCES), draw.randrange(-2, 4)
    steps = [(draw.choice(STEPS), draw.randrange(4)) for _ in range(draw.randrange(1, 4))]
    question, of = draw.choice(QUESTIONS), draw.randrange(-1, 3)

    def ask(n):
        t = source(n, k)
        for step, by in steps:
            t = step(t, n, by)
        return question(t, n, of)

    return ask


def outcome(function, x):
    """What it gives, None where the contract leaves the size out, or the error."""
    try:
        return function(x)
    except monograph.ContractError:
        return None
    except (RuntimeError, IndexError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("first", range(0, 800, 100))
def test_what_is_drawn_is_answered_as_in_eager_code(first):
    """Most are left to data; of the others, sizes are told what eager code finds."""
    n_answered = 0
    for seed in range(first, first + 100):
        ask = drawn(seed)
        try:
            program = exported(ask).module()
        except (monograph.MonographError, RuntimeError, IndexError, ValueError):
            continue
        n_answered += 1
        for n in range(MOST):
            x = torch.rand(n)
            found, right = outcome(program, x), outcome(Asks(ask), x)
            if isinstance(found, torch.Tensor) and isinstance(right, torch.Tensor):
                assert torch.equal(found, right), f"seed {seed}, size {n}"
    assert n_answered > 10
