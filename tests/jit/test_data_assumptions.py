"""What data say is assumed while they say the same; then graphs end where they are asked."""

import sys
import types

import pytest
import torch

from monograph import explain
from monograph.diagnostics import MonographError
from monograph.jit import optimize
from tests.jit.running import plain

X = torch.arange(6.0).reshape(2, 3) + 1


def calls(function, *inputs):
    """Call as in eager code and optimized; the optimizer, with the results compared."""
    optimizer = optimize()
    optimized = optimizer(function)
    for args in inputs:
        mine, theirs = ([each.clone() for each in args] for _ in range(2))
        torch.manual_seed(0)
        expected = function(*mine), torch.rand(())
        torch.manual_seed(0)
        assert plain((optimized(*theirs), torch.rand(()))) == plain(expected)
        assert plain(theirs) == plain(mine)
    return optimizer


def breaks_of(optimizer):
    """The reasons of breaks."""
    return [reason for table in optimizer.tables for reason, _ in table.breaks]


def masked(x, mask):
    """As models that leave a mask out where it masks nothing."""
    skip = mask is None or mask.all()
    return x * 2 if skip else x.masked_fill(~mask, 0.0).sum()


def split(x, mask):
    """Its sides leave lists of two lengths, which no node of a graph gives."""
    parts = [x * 2] if mask.all() else [x, x.masked_fill(~mask, 0.0)]
    return parts[-1]


FULL, SOME = torch.ones(2, 3, dtype=torch.bool), torch.tensor([[True, False, True]] * 2)


def test_one_graph_while_data_say_the_same():
    """No break, and one graph."""
    optimizer = calls(split, (X, FULL), (X, FULL), (X + 1, FULL))
    assert breaks_of(optimizer) == []
    assert len(optimizer.entries) == 1


def test_a_break_where_they_have_varied():
    """The graph that assumed is given up, once."""
    inputs = [(X, FULL), (X, SOME), (X, FULL), (X, SOME), (X, ~SOME), (X[:1], SOME[:1])]
    assert breaks_of(calls(masked, *inputs, *inputs)) == []
    optimizer = calls(split, *inputs, *inputs)
    assert set(breaks_of(optimizer)) == {"a branch on data"}
    assert sum(table.points[key].n_given_up for table in optimizer.tables for key in table.points)


def test_numbers_and_shapes_out_of_data():
    """Numbers that Python asks for, and sizes that data give."""

    def f(x, n):
        rows = x[x[:, 0] > n.sum()]
        times = int(n.max())
        return [rows * k for k in range(times)], rows.shape[0], {times: rows.shape}

    n = torch.tensor([1, 2])
    inputs = [(X, n), (X, n), (X + 3, n), (X, n + 1), (X, n * 0), (X[:1], n)]
    calls(f, *inputs, *inputs[::-1])


def test_nothing_happens_twice():
    """Writes and random numbers before a question of data, and after it."""

    def before(x, y):
        x.add_(1)
        return y * torch.rand(()) if x.sum() > 30 else y - 1

    def after(x, y):
        if x.sum() > 30:
            x.mul_(2)
            return y * torch.rand(())
        y.sub_(1)
        return y + torch.rand(())

    inputs = [(X, X), (X, X), (X * 2, X), (X, X + 1), (X * 3, X)]
    calls(before, *inputs, *inputs)
    calls(after, *inputs, *inputs)
    assert not breaks_of(calls(after, *inputs[:2]))


def test_effects_of_python_wait_for_the_answer():
    """What is written to objects before the question is written once."""
    seen = []

    def f(x):
        seen.append(x.shape[0])
        y = (x * 2).relu()
        if y.max() > 20:
            seen.append("large")
        return y

    optimized = optimize()(f)
    for x in (X, X, X * 5, X, X * 5, X):
        optimized(x)
    assert seen == [2, 2, 2, "large", 2, 2, "large", 2]


def test_handlers_and_modes_around_questions():
    """A replay that is left puts the modes back."""

    def f(x):
        with torch.no_grad():
            y = x * 2
            large = y.sum() > 50
            if large:
                y = y + 1
        return y * x, torch.is_grad_enabled()

    inputs = [(X.requires_grad_(),), (X * 5,), (X * 5,), (X,)]
    calls(f, *[(each[0].detach().requires_grad_(),) for each in (*inputs, *inputs)])
    X.requires_grad_(requires_grad=False)


@pytest.mark.parametrize("other", [1.0, -4.0])
def test_what_a_given_up_side_wrote_to_is_an_input_still(other):
    """One condition is assumed, its way writes, and so the next one ends the graph."""
    held = types.SimpleNamespace()

    def f(x, t):
        if t[0] > 0:
            x.add_(1)
        if x.sum() > 0:
            held.way = 1
        return x

    one = torch.ones(3)
    calls(f, *[(torch.full((3,), k), one) for k in (1.0, other, 1.0, -other, other)])


def test_loops_on_data():
    """The number of rounds is another in each call."""

    def f(x):
        n = 0
        while x.sum() < 200:
            x, n = x * 1.5, n + 1
        return x, n

    optimizer = calls(f, *[(X * k,) for k in (1, 2, 9, 20, 1, 30, 5, 5)])
    most = 8 if sys.version_info < (3, 12) else 10  # there the jump back stands by itself
    assert sum(sum(table.graphs) for table in optimizer.tables) < most


@pytest.mark.parametrize("backend", ["aot_eager", lambda graph, _: graph.forward])
def test_other_backends(backend):
    """Graphs end at questions of data for those that trace."""
    optimized = optimize(backend)(masked)
    for mask in (FULL, FULL, SOME, FULL, SOME):
        assert torch.equal(optimized(X, mask), masked(X, mask))


def test_who_asks_for_breaks_is_told():
    """With `nopython`, and in `explain`, a branch on data is a break at once."""
    with pytest.raises(MonographError, match="a branch on data"):
        optimize(nopython=True)(split)(X, FULL)
    assert [reason for reason, _, _ in explain(split, X, FULL).breaks] == ["a branch on data"]
