"""Checks of data inside of branches, loops and modes, in files of both readers.

torch.export's reader solves for the symbols of what a graph asserts, in a branch too, and misses
the nodes that bind them; so files type such truths as what they are once they were checked.
"""

from dataclasses import replace

import pytest
import torch

from tests.archive.corpora import Case
from tests.archive.test_matrix import written_here
from tests.control_flow.branching import Function


def in_a_branch(x, y):
    """Two checks settle two numbers, on one side."""
    k, n = x.tolist()
    if y.sum() > 0:
        torch._check(k == 4 * n)
        torch._check(n == 1)
        y = y + k
    else:
        y = y - n
    return y


def in_an_operator(x, y):
    """The same, in `torch.cond`."""
    k, n = x.tolist()

    def checked(y):
        torch._check(k == 4 * n)
        torch._check(n == 1)
        return y + k

    return torch.cond(y.sum() > 0, checked, lambda y: y - k, (y,))


def in_a_loop(x, y):
    """Each round checks."""
    k, n = x.tolist()
    while y.sum() < 30:
        torch._check(k == 4 * n)
        torch._check(n == 1)
        y = y + k
    return y


def of_sizes(x, y):
    """An operator's own check, and one of the user's."""
    k, n = x.tolist()
    if y.sum() > 0:
        z = torch.zeros(k).reshape(4, n)
        torch._check(n == 1)
        y = y + z.sum()
    else:
        y = y - n
    return y


def within_a_branch(x, y):
    """A branch in a branch."""
    k, n = x.tolist()
    is_four = k == 4 * n
    if y.sum() > 0:
        if is_four:
            torch._check(n == 1)
            y = y + k
        else:
            y = y + 2
    return y


def a_bound(x, y):
    """What is asserted on one side need not hold on the other."""
    k, n = x.tolist()
    if y.sum() > 0:
        torch._check(k > 3)
        return y * k
    return y * n if k > 3 else y - n


def a_truth_returned(x, y):
    """A truth among the results that is known when the file is written once more."""
    k, n = x.tolist()
    is_four = k == 4 * n
    torch._check(is_four)
    torch._check(n == 1)
    return y + (1 if is_four else 2), is_four, k


PROGRAMS = (
    in_a_branch,
    in_an_operator,
    in_a_loop,
    of_sizes,
    within_a_branch,
    a_bound,
    a_truth_returned,
)
CALLS = [(4, 1, 1.0), (4, 1, -1.0), (8, 2, -1.0), (8, 2, 1.0), (3, 1, 1.0), (3, 2, -1.0)]


@pytest.mark.parametrize("lowered", [False, True], ids=["captured", "lowered"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_checks_are_read_by_both(program, lowered):
    """The same answers and the same refusals, written and read in turn, twice."""
    calls = [
        lambda k=k, n=n, y=y: ((torch.tensor([k, n]), torch.full((4,), y)), {}) for k, n, y in CALLS
    ]
    case = Case("branching", program.__name__, lambda: Function(program), calls[0], tuple(calls))
    written_here(replace(case, lowered=lowered))
