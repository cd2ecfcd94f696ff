"""Programs that ask, or write to, what is another object where a loop had no round.

Every program is called with data for no round, one, two and many.
"""

import torch
from torch import nn

from tests.control_flow.branching import branching

NONE = torch.full((3,), 50.0)
ONE = torch.tensor([5.0, 6.0, 8.5])
TWO = torch.tensor([5.0, 6.0, 6.0])
MANY = torch.tensor([-1.0, -2.0, -4.0])
ALL = (ONE, NONE, TWO, MANY)


@branching(*ALL)
def both_written(x):
    """First the one, then the other."""
    z = x.clone()
    y = z
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    z.mul_(2)
    return y, z


@branching(*ALL)
def what_came_out_written(x):
    """Nobody has another name for it, or z is one."""
    z = x.clone()
    y = z
    while y.sum() < 20:
        y = y * 1 + 1
    y.mul_(3)
    return z + 1, y, z


@branching(*ALL)
def view_of_it_written(x):
    """A row of what the loop began with."""
    z = x.clone()
    y, first = z, z[0]
    while y.sum() < 20:
        y = y + 1
    first.add_(5)
    return y * 1, z


@branching(*ALL)
def one_made_of_another(x):
    """A round puts a tensor from outside in the variable."""
    z = x.clone() + 30
    y = x * 1
    while y.sum() < 20:
        y = z
    z.add_(1)
    y.mul_(2)
    return y, z


@branching(*ALL)
def two_made_one(x):
    """A round makes two variables one tensor."""
    a, b = x * 1, x * 2
    while a.sum() < 20:
        a = b = a.abs() + 1
    a.add_(1)
    b.mul_(2)
    return a, b, a is b


@branching(*ALL)
def two_that_were_one(x):
    """A round makes two tensors of one."""
    a = b = x * 1
    while a.sum() < 20:
        a, b = a + 1, b + 2
    a.add_(1)
    return a * 1, b, a is b


@branching(*ALL)
def two_that_stay_one(x):
    """They are one before each round, and after it."""
    a = b = x * 1
    while a.sum() < 20:
        a = a + 1
        b = a
    a.add_(1)
    return a, b, a is b


@branching(*ALL)
def asked_whether_it_is(x):
    """Identity."""
    y = x
    while y.sum() < 20:
        y = y + 1
    return y * (2 if y is x else 3)


@branching(*ALL)
def appended_to_what_was_there(x):
    """Where no round comes, the list is the one that was there."""
    kept = [x]
    found = kept
    while found[0].sum() < 20:
        found = [found[0] + 1]
    kept.append(x)
    return found[0], len(found), len(kept)


@branching(*ALL)
def twice_in_a_loop(x):
    """The loop on data stands in one that is unrolled."""
    z = x.clone()
    for i in range(2):
        y = z
        while y.sum() < 20 + 3 * i:
            y = y + 1
        z.mul_(2)
        x = x + y
    return x, y * 1, z


@branching(*ALL)
def within_a_branch(x):
    """On one side of a condition."""
    z = x.clone()
    y = z
    if x[0] < 20:
        while y.sum() < 20:
            y = y + 1
        z.mul_(2)
    return y * 1, z


@branching(*ALL)
def left_in_the_middle(x):
    """By `break`, before and after something was made."""
    z = x.clone()
    y = z
    n = 0
    while y.sum() < 20:
        if y[0] > 5.5:
            break
        y = y + 1
        n += 1
        if y[1] > 9:
            break
    z.mul_(2)
    return y + 0, z, n


@branching(*ALL)
def returned_in_the_middle(x):
    """By `return`."""
    z = x.clone()
    y = z
    while y.sum() < 20:
        if y[0] > 5.5:
            return y * 2, z, 7
        y = y + 1
    z.mul_(2)
    return y * 3, z, 8


@branching(*ALL, refused="write-after-branch")
def tested_at_the_end(x):
    """The first round has come when it is asked for the first time."""
    z = x.clone()
    y = z
    while True:
        w = y
        y = y + 1
        if y.sum() > 20:
            break
    z.mul_(2)
    w.add_(1)
    return y, z, w * 1


@branching(*ALL)
def both_tests(x):
    """Two conditions."""
    z = x.clone()
    y, n = z, 0
    while y.sum() < 20 and n < 4:
        y = y + 1
        n += 1
    z.mul_(2)
    return y, z, n


@branching(*ALL)
def written_in_rounds(x):
    """A tensor from outside that rounds write to, too."""
    z, w = x.clone(), x * 0
    y = z
    while y.sum() < 20:
        y = y + 1
        w.add_(y)
    z.mul_(2)
    return y, z, w


@branching(*ALL)
def input_written(x):
    """The caller sees it."""
    y = x
    while y.sum() < 20:
        y = y + 1
    x.mul_(2)
    return y * 1


@branching(*ALL)
class BufferWritten(nn.Module):
    """A buffer that the loop began with."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(3))

    def forward(self, x):
        y = self.kept
        while (y + x).sum() < 23:
            y = y + 1
        self.kept.add_(2)
        return y + x


@branching(*ALL)
class AsksForGradients(nn.Module):
    """A parameter makes the difference."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        y = x
        while y.sum() < 20:
            y = y + self.weight
        return y * 2 if y.requires_grad else y * 3


@branching(*ALL)
def asks_how_what_comes_out_lies(x):
    """The layout of what a loop gives."""
    y = torch.stack([x, x]).t()
    while y.sum() < 40:
        y = (y + 1).contiguous()
    return (y.stride()[0] * y).contiguous()


@branching(*ALL)
def loop_in_a_loop_of_data(x):
    """What the inner loop leaves in doubt is written in a round of the outer one."""
    n = 0
    z = x.clone()
    while z.sum() < 40:
        y = z
        while y.sum() < 20:
            y = y + 1
        z = z + 20
        n += 1
    return z, n


@branching(*ALL)
def named_afterwards(x):
    """An attribute, which is there by both names or by one."""
    z = x * 1
    y = z
    while y.sum() < 20:
        y = y + 1
    z.tag = 3
    return y * getattr(y, "tag", 2)


@branching(*ALL)
def in_a_helper(x):
    """The loop is in a function that is called; who calls it writes."""

    def grown(y):
        while y.sum() < 20:
            y = y + 1
        return y

    z = x.clone()
    y = grown(z)
    return y + z


@branching(*ALL)
def written_in_a_helper(x):
    """The loop and the write are."""

    def grown(z):
        y = z
        while y.sum() < 20:
            y = y + 1
        z.mul_(2)
        return y

    z = x.clone()
    y = grown(z)
    return y * 1, z
