"""Programs that random drawing found: each was captured wrong, or failed inside, before.

Registered beside `branching`.
"""

import torch
from torch import nn

from tests.control_flow.branching import DOWN, UP, ZERO, branching

APART = (UP, DOWN)


@branching(APART, (DOWN, UP), (ZERO, UP))
def returns_under_a_plain_truth(a, b):
    """The inner condition is a `bool` of Python's, and its way leaves the outer one."""
    if a.any():  # noqa: SIM102 - it is what was wrong
        if bool(a.sum() > 0):
            return b + 1
    return b * 2


@branching((UP, UP / 3), APART, (DOWN, UP), (UP, -UP), stock=False)
def number_asked_in_a_mode(a, b):
    """What is asked of a number is computed beside the mode, and its branches in none."""
    j, f = 2, 0.5
    if a.sum() > 1:
        with torch.no_grad():
            if 0 < b.sum() < 3:
                j = j * 2 - 1
            elif (b > 0).sum().item() > 1:
                f = f / 2
            else:
                a = a if (b.min() > 0) else b
    return a * j, a[:1], f


@branching((UP, UP), APART, (DOWN, UP), (ZERO, ZERO), stock=False)
def numbers_of_either_side_as_floats(a, b):
    """A number from data has no limit that callers could be asked for."""
    i, j, f = 1, 2, 0.5
    for row in a.unbind(0):
        a = a + row
        if (a > 0).sum().item() > i:
            f = f / 2 + i
        else:
            i = max(i, j)
        if (b > 0).sum().item() > 2:
            j = round(f)
    return a, i, j


@branching(APART, (DOWN, UP))
class InputCalledAsABuffer(nn.Module):
    """What is written is the buffer, in the lowered program too, where writes are results."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))

    def forward(self, a, b):
        if a.sum() > 0:
            self.b.mul_(0.5)
        return a + b, self.b * 2


@branching((UP, UP / 3), APART, (DOWN, UP), (UP, -UP))
def number_asked_under_autocast(a, b):
    """What is asked of a number is computed beside the mode, also in a branch."""
    with torch.autocast("cpu", torch.bfloat16):
        if (a > 0).sum().item() > 2:
            if a.sum() > 3:
                a = a + 1
        elif (b > 0).sum().item() > 1:
            b = b + a
    return a, b


class Box:
    """Something that has an attribute."""

    def __init__(self, n):
        self.n = n


@branching((UP, UP), APART, refused="branch-side-effect")
def counted_in_an_object(a, b):
    """A round is run anew where its branches ask for care: what it wrote before is put back."""
    box, k = Box(1), torch.zeros(())
    while k < a.sum() and b.max() > 1:
        k = k + 1
        box.n += 1
    return a * box.n


@branching((UP, UP), APART, (DOWN, UP))
def written_under_autocast(a, b):
    """A side is begun anew because it writes: the mode around it is not left by that."""
    c = a * 2
    with torch.autocast("cpu", torch.bfloat16):
        if a.sum() > 0.5:
            a = torch.tanh(c) - 0.5
        else:
            c.sub_(1)
        d = c[None] @ b[:, None]
    return a, c, d


@branching((UP, UP), APART, (DOWN, UP))
def written_without_gradients(a, b):
    """Nor is code run that follows in any case."""
    c, kept = a * 2, []
    try:
        with torch.no_grad():
            if a.sum() > 0.5:
                c.sub_(1)
            d = c * b
    finally:
        kept.append(c)
    return c, d, kept


@branching((UP, UP), APART, (DOWN, UP), stock=False)
def returned_in_a_dict_after_a_mode(a, b):
    """Sides that end behind the mode are begun anew inside it, for the dict's sake."""
    c = a * 2
    kept = [c]
    with torch.autocast("cpu", torch.bfloat16):
        if a.sum() > 0.5:
            c = c.detach()
        c.sub_(1)
        d = c[None] @ b[:, None]
    return a, {"d": d}, kept[0]


@branching((UP, UP / 3), APART, (DOWN, UP), (UP, -UP), (DOWN, -UP), stock=False)
def one_list_by_two_conditions(a, b):
    """What an inner condition may have left as it was, the outer one may have, too."""
    xs = [a, b]
    ys = xs
    if b.sum() > 1 or a.sum() > 0:
        xs = [each * 2 for each in xs]
    return a, xs is ys


@branching((UP, UP / 3), APART, (DOWN, UP), (UP, -UP), (DOWN, -UP), stock=False)
def list_of_two_conditions_is_written(a, b):
    """And whoever writes to it writes to what others hold."""
    xs = [a, b]
    ys = xs
    if b.sum() > 1 or a.sum() > 0:
        xs = [each * 2 for each in xs]
    xs[0] = b + 1
    return ys[0] * 1


@branching((UP, UP), APART, (UP / 6, UP), (UP / 6, -UP), stock=False)
def told_by_one_side(a, b):
    """What holds on one side of a branch (`n == 6`) is put for no number of the other."""
    n = (a.sum() * 6).long().item()
    is_other = n != 6 and (b > 0).all().item()
    c = b + n / 4 if n == 6 else b - n / 4
    return c, n / 4, is_other


@branching((UP, UP), APART, (DOWN, UP))
def first_of_a_dict_that_changes(a, b):
    """An iterator over what changed since says nothing of where it stands."""
    held = {"a": a, "b": b}
    if a.sum() > 0:
        b = b + next(iter(held.values()))
        held.pop("a")
    else:
        held.pop("a")
    return b


@branching(UP, DOWN)
def conjugates_on_one_side(x):
    """What is asked of the result has another answer on either side."""
    z = torch.complex(x, x)
    if x.sum() > 0:
        z = z.conj()
    return x + 1 if z[1:].is_conj() else x


@branching(UP, DOWN)
def negates_lazily_on_one_side(x):
    """The imaginary part of a conjugate is a view that is negated when it is read."""
    y = x
    if x.sum() > 0:
        y = torch.complex(x, x).conj().imag
    return x + 1 if y.is_neg() else x


@branching(UP, UP * 10, refused="branch-decides")
def conjugates_in_rounds(x):
    """An even number of rounds leaves no conjugate."""
    z = torch.complex(x, x)
    while z.real.sum() < 20:
        z = (z * 1.5).conj()
    return x + 1 if z.is_conj() else x
