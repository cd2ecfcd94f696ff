"""Programs as people write them, with conditions on data: decoding, solving, gating, retrying.

Their calls take every way, and no round of each loop, one, and many.
"""

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from tests.control_flow.branching import branching
from tests.seeding import reseed

FLAT = torch.tensor([0.1, 0.1, 0.1, 0.1])
PEAK = torch.tensor([4.0, 0.0, -1.0, 0.5])
LATE = torch.tensor([-1.0, 0.2, 6.0, 0.3])
DARK = torch.tensor([-3.0, -2.0, -5.0, -4.0])
NANS = torch.tensor([float("nan"), 1.0, -2.0, 3.0])
HUGE = torch.tensor([1e3, -1e3, 2e3, 0.0])
ALL = (FLAT, PEAK, LATE, DARK, HUGE)


@branching(*ALL)
class BeamSearchStep(nn.Module):
    """One step for two beams, which ends a beam that has said the last word."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.head = nn.Linear(4, 6)

    def forward(self, state):
        scores = torch.log_softmax(self.head(state), 0)
        best, words = scores.topk(2)
        finished = []
        for beam in range(2):
            if words[beam] == 2:
                finished.append(best[beam] / 2)
            else:
                finished.append(best[beam] - 100)
        done = torch.stack(finished)
        if done.max() > best.max() - 1:
            return done, words
        return best, words


@branching(*ALL)
class GreedyUntilEnd(nn.Module):
    """Words until the last one, or eight."""

    def __init__(self):
        super().__init__()
        reseed(1)
        self.cell = nn.Linear(4, 4)

    def forward(self, state):
        words = torch.full((8,), -1)
        n = 0
        while n < 8 and state.argmax() != 2:
            words[n] = state.argmax()
            state = torch.tanh(self.cell(state)) * 2
            n = n + 1
        return words, n


@branching(*ALL)
class AdaptiveComputation(nn.Module):
    """Ponder until it is sure, or five times."""

    def __init__(self):
        super().__init__()
        reseed(2)
        self.cell, self.halt = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        total, out, steps = torch.zeros(()), torch.zeros(4), 0
        while total < 0.9:
            x = torch.tanh(self.cell(x))
            p = torch.sigmoid(self.halt(x)).squeeze()
            if steps >= 4 or total + p > 0.9:
                return out + (1 - total) * x, steps + 1
            out = out + p * x
            total = total + p
            steps = steps + 1
        return out, steps


@branching(*ALL, stock=False)
class EarlyExitClassifier(nn.Module):
    """Return from the first layer that is sure."""

    def __init__(self):
        super().__init__()
        reseed(3)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
        self.heads = nn.ModuleList([nn.Linear(4, 3) for _ in range(4)])

    def forward(self, x):
        for i, (layer, head) in enumerate(zip(self.layers, self.heads, strict=True)):
            x = torch.relu(layer(x))
            probabilities = head(x).softmax(0)
            if probabilities.max() > 0.5:
                return probabilities, i
        return probabilities, -1


@branching(*ALL)
class ExpertsOfWhichSomeAreEmpty(nn.Module):
    """Experts without rows are passed over."""

    def __init__(self):
        super().__init__()
        reseed(4)
        self.experts = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])

    def forward(self, x):
        chosen = (x.abs() * 3).long() % 3
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            taken = chosen == i
            if not taken.any():
                continue
            out = torch.where(taken, expert(x[:, None])[:, 0], out)
        return out


@branching(*ALL, NANS)
def clamp_if_not_finite(x):
    """Repair what an overflow left."""
    x = torch.exp(x)
    if torch.isinf(x).any() or torch.isnan(x).any():
        limit = torch.finfo(x.dtype).max - 1000
        x = torch.clamp(x.nan_to_num(), min=-limit, max=limit)
    return x


@branching(*ALL)
def line_search(x):
    """Try again with half the step until it is an improvement, at most six times."""

    def loss(x):
        return (x**2).sum() + x[0]

    step = torch.ones(())
    for _ in range(6):
        candidate = x - step * 1.9 * x
        if loss(candidate) < loss(x):
            x = candidate
            break
        step = step / 2
    return x, step


@branching(torch.tensor(2.0), torch.tensor(1.0), torch.tensor(0.0), torch.tensor(1e4))
def square_root(a):
    """Newton's way, until it is there."""
    if a <= 0:
        return torch.zeros(()), 0
    x, n = a, 0
    while (x * x - a).abs() > 1e-4 * a:
        x = (x + a / x) / 2
        n += 1
    return x, n


@branching(*ALL)
def power_iteration(x):
    """Until the direction stays, or twenty times."""
    matrix = torch.diag(torch.tensor([3.0, 1.0, 0.5, 0.1])) + 0.01
    if x.norm() < 1e-6:
        return x, torch.zeros(())
    v = x / x.norm()
    for _ in range(20):
        w = matrix @ v
        w = w / w.norm()
        if (w - v).abs().max() < 1e-2:
            break
        v = w
    return v, v @ matrix @ v


@branching(*ALL)
class TrainingSwitch(nn.Module):
    """Statistics that a buffer keeps, where the input is sound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.momentum = 0.1

    def forward(self, x):
        if self.training:
            if x.abs().max() < 100:
                self.mean = self.mean * (1 - self.momentum) + x * self.momentum
            else:
                x = x.clamp(-100, 100)
        return x - self.mean


@branching(*ALL, NANS)
def guards_one_after_the_other(x):
    """Clauses that return what to say instead."""
    if torch.isnan(x).any():
        return x.nan_to_num(), 1
    if x.abs().max() > 100:
        return x / x.abs().max(), 2
    if (x < 0).all():
        return -x, 3
    total = x.sum()
    if total > 1:
        if x[0] > 1:
            return x / total, 4
        x = x - 1
    return x * 2, 0


@branching(*ALL)
def top_p(logits):
    """The least words that have nine tenths of the mass."""
    probabilities, order = logits.softmax(0).sort(descending=True)
    mass, kept = torch.zeros(()), torch.zeros(4, dtype=torch.bool)
    for i in range(4):
        kept[order[i]] = True
        mass = mass + probabilities[i]
        if mass >= 0.9:
            break
    return torch.where(kept, logits, -1e9), mass


@branching(*ALL)
def none_until_found(x):
    """What was found is None at first."""
    found = None
    for i in range(2):
        if x[i] > 3:
            found = x[i] * 2
            break
    if found is None:
        return x.sum()
    return found


@branching(*ALL, stock=False)
def temperature_fallback(x):
    """Decode again, warmer, as long as the answer is too sure or too vague."""
    tries = 0
    for temperature in (1.0, 2.0, 4.0):
        p = (x / temperature).softmax(0)
        tries += 1
        needs = False
        if p.max() > 0.8:
            needs = True
        if (p * p.log().nan_to_num(neginf=0.0)).sum() > -0.3:
            needs = True
        if not needs:
            break
    return p, tries


@branching(*ALL)
class GatedSkip(nn.Module):
    """A layer is left out where its gate is shut, and remembers that."""

    def __init__(self):
        super().__init__()
        reseed(5)
        self.gates = nn.ModuleList([nn.Linear(4, 1) for _ in range(3)])
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        skipped = {"count": 0, "last": torch.tensor(-1)}
        for i, (gate, layer) in enumerate(zip(self.gates, self.layers, strict=True)):
            if gate(x) > 0:
                x = x + F.gelu(layer(x))
            else:
                skipped["count"] = skipped["count"] + 1
                skipped["last"] = torch.tensor(i)
        return x, skipped


@branching(
    *((torch.tensor(a), torch.tensor(b)) for a, b in ((12, 18), (7, 0), (5, 5), (0, 3), (89, 55)))
)
def greatest_common_divisor(a, b):
    """By Euclid."""
    rounds = 0
    while b != 0:
        a, b = b, a % b
        rounds += 1
    return a, rounds


@branching(*ALL)
def bisection(x):
    """Until the interval is short, leaving where the root is hit."""

    def value(t):
        return t**3 - x[0]

    low, high = torch.tensor(-16.0), torch.tensor(16.0)
    if value(low) * value(high) > 0:
        return low, high
    while high - low > 0.5:
        middle = (low + high) / 2
        if value(middle) == 0:
            return middle, middle
        if value(low) * value(middle) < 0:
            high = middle
        else:
            low = middle
    return low, high


@branching(*ALL, stock=False)
def bubble_sort(x):
    """Until nothing is exchanged."""
    x = x.clone()
    for end in range(3, 0, -1):
        swapped = False
        for i in range(end):
            if x[i] > x[i + 1]:
                x = torch.cat([x[:i], x[i + 1 : i + 2], x[i : i + 1], x[i + 2 :]])
                swapped = True
        if not swapped:
            break
    return x


class Fields(OrderedDict):
    """Keeps what it is given as an item and as an attribute of one name, as libraries do."""

    def __init__(self, value):
        super().__init__()
        self["value"] = value

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        super().__setattr__(name, value)


@branching(*ALL)
class ResultsWithFields(nn.Module):
    """Each round reads a field of what it makes."""

    def forward(self, x):
        n = torch.zeros(())
        while n < 3 and x.sum() < 5:
            made = Fields(x + 1)
            x, n = made.value, n + 1
        return x, n
