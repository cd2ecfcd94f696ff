"""Programs in which one object may be another, by a condition on data: right or refused.

Eager code sees through either name what is written through the other, and may ask whether they are
one. Registered beside `branching`.
"""

import torch
from torch import nn

from tests.control_flow.branching import DOWN, UP, ZERO, branching

FAR = torch.full((3,), 50.0)


@branching(UP, DOWN, ZERO, FAR)
def one_made_twice(x):
    """Two variables are one tensor that was made inside, on one side."""
    if x.sum() > 0:
        a = b = x + 1
    else:
        a, b = x - 1, x * 2
    a.add_(1)
    return a, b


@branching(UP, DOWN)
def views_of_one(x):
    """Two variables share memory that was made inside."""
    if x.sum() > 0:
        a = x + 1
        b = a[:2]
    else:
        a, b = x - 1, x[:2] * 2
    b.add_(1)
    return a, b


@branching(UP, DOWN)
def one_of_two_is_copied(x):
    """A copy is a tensor of its own."""
    if x.sum() > 0:
        a = b = x + 1
    else:
        a, b = x - 1, x * 2
    a = a.clone()
    a.add_(1)
    return a, b


@branching(UP, DOWN, FAR, refused="write-after-branch")
def by_two_branches(x):
    """What an inner branch leaves in doubt, an outer one passes on."""
    z = x.clone()
    y = z
    if x.sum() > 0:
        if x[0] > 5:
            y = z + 1
    else:
        y = x * 2
    y.add_(1)
    return y, z


@branching(UP, DOWN, ZERO)
def made_outside_of_a_loop(x):
    """A round makes a variable one with a tensor that is not carried."""
    z = x.clone() + 10
    y = x * 1
    while y.sum() < 3:
        y = z
    z.add_(1)
    return y, z


@branching(UP, DOWN, ZERO)
def made_one_by_a_loop(x):
    """A round makes two variables one."""
    a, b = x * 1, x * 2
    while a.sum() < 3:
        a = b = a.abs() + 1
    a.add_(1)
    return a, b


@branching(UP, DOWN)
def asks_which(x):
    """Identity is no value."""
    y = x if x.sum() > 0 else x.clone()
    return y + (1 if y is x else 2)


@branching(UP, DOWN)
def looks_for_it(x):
    """Sets tell objects apart by identity."""
    z = x.clone()
    y = z
    if x.sum() > 0:
        y = x + 1
    return x * len({y, z})


@branching(UP, DOWN)
def asks_about_another(x):
    """What was not in any branch is what it is."""
    z = x.clone()
    y = z + 1 if x.sum() > 0 else z + 2
    return y + (1 if y is z else 2)


@branching(UP, DOWN, refused="write-after-branch")
def list_of_either(x):
    """A list that may be another grows."""
    kept = [x]
    if x.sum() > 0:
        found = kept
    else:
        found = [x + 1]
    found.append(x * 2)
    return kept, found


@branching(UP, DOWN, refused="write-after-branch")
def list_that_was_there(x):
    """So does the other."""
    kept = [x]
    if x.sum() > 0:
        found = kept
    else:
        found = [x + 1]
    kept.append(x * 2)
    return kept, found


@branching(UP, DOWN, refused="write-after-branch")
def lists_that_are_one(x):
    """Two variables are one list, on one side."""
    if x.sum() > 0:
        a = b = [x]
    else:
        a, b = [x + 1], [x + 2]
    a.append(x * 2)
    return a, b


@branching(UP, DOWN)
def lists_that_are_one_on_both_sides(x):
    """Two variables are one list after either side, so they are after the `if`."""
    if x.sum() > 0:
        a = b = [x, x * 3]
    else:
        a = b = [x + 1, x]
    a.append(x * 2)
    b[0] = b[1]
    return a, b, a is b


@branching(UP, DOWN)
def list_made_by_either(x):
    """A list that each side makes is the program's own."""
    if x.sum() > 0:
        found = [x, x + 1]
    else:
        found = [x - 1, x]
    found.append(x * 2)
    return torch.stack(found)


@branching(UP, DOWN, FAR, refused="write-after-branch")
def list_through_a_loop(x):
    """Where no round comes, a list is the one that was there."""
    kept = [x]
    found = kept
    while found[0].sum() < 20:
        found = [found[0] + 5]
    kept.append(x)
    return found


@branching(UP, DOWN)
def truth_is(x):
    """There is one True."""
    on, off = (x.sum() > 0).item(), not x.sum() > 0
    return x * (2 if on is True else 3) * (5 if off is not False else 7)


@branching(UP, DOWN)
def number_is(x):
    """There is one object for each small number."""
    k = 1
    if x.sum() > 0:
        k = 2
    one = 1
    return x * (3 if k is one else 4)


@branching(UP, DOWN)
def asks_for_gradients(x):
    """One side is followed by autograd."""
    x = x.clone().requires_grad_()
    y = x.detach() if x.sum() > 0 else x * 2
    z = y + 1
    return (z * (2 if z.requires_grad else 3)).detach()


@branching(UP, DOWN)
class AsksForGradientsAfterAWrite(nn.Module):
    """A write on one side makes autograd follow."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        y = x.clone()
        if x.sum() > 0:
            y.mul_(self.weight)
        return (y * (2 if y.requires_grad else 3)).detach()


@branching(UP, DOWN)
class AsksForGradientsOnOneSide(nn.Module):
    """What the other side wrote is not written on this one."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        y = x.clone()
        if x.sum() > 0:
            y.mul_(self.weight)
            y = y * (5 if y.requires_grad else 7)
        else:
            y = y * (2 if y.requires_grad else 3)
        return y.detach()


@branching(UP, DOWN)
def asks_how_it_lies(x):
    """One side lies as what it is a view of."""
    y = x.expand(2, 3)
    if x.sum() > 0:
        y = y.contiguous()
    return y * (2 if y.is_contiguous() else 3)


@branching(UP, DOWN)
def asks_for_writes(x):
    """One side writes."""
    y = x.clone()
    if x.sum() > 0:
        y.add_(1)
    return x * y._version


@branching(UP, DOWN)
def names_one_of_two(x):
    """An attribute is given to what may be another tensor."""
    y = x.clone()
    z = y
    if x.sum() > 0:
        z = x + 1
    z.tag = 3
    return x * getattr(y, "tag", 2)


@branching(UP, DOWN)
def names_in_a_branch(x):
    """An attribute is given to a tensor from outside, on one side."""
    y = x.clone()
    if x.sum() > 0:
        y.tag = 3
    return x * getattr(y, "tag", 2)


@branching(UP, DOWN, ZERO)
def names_by_two_branches(x):
    """A name is given by an inner branch, and by the outer one to another tensor."""

    def named():
        y, z = x.clone(), x + 1
        if x.sum() > 0:
            if x[0] > 1.5:
                y.tag = 3
            z.tag = 5
        else:
            y.tag = 7
        return getattr(y, "tag", 2) + getattr(z, "tag", 4)

    return x * named()


@branching(UP, DOWN)
def names_both_ways(x):
    """Either side gives the name, and another value."""
    y = x.clone()
    if x.sum() > 0:
        y.tag = 3
    else:
        y.tag = x[0]
    return x * y.tag


@branching(UP, DOWN, refused="branch-side-effect")
def names_what_it_writes_to(x):
    """A side writes to the tensor, of which there is a view."""
    y = x.clone()
    first = y[0]
    if x.sum() > 0:
        y.add_(1)
        y.tag = 3
    return first * getattr(y, "tag", 2)


@branching(UP, DOWN, refused="branch-side-effect")
def names_for_the_caller(x):
    """The name is given in a function that ends before somebody asks for it."""
    y = x.clone()

    def named():
        if x.sum() > 0:
            y.tag = 3

    named()
    return x * getattr(y, "tag", 2)


@branching(UP, DOWN, refused="outside-read")
def large_number_is(x):
    """Nobody knows how many objects there are for one large number."""
    k = 1000
    if x.sum() > 0:
        k = 2000
    one = 1000
    return x * (3 if k is one else 4)


@branching(UP, DOWN)
def named_on_one_side(x):
    """A tensor has an attribute of the program's own, and the other has none: until it is read."""
    y = x.clone()
    y.tag = 3
    if x.sum() > 0:
        y = x + 1
    return x * getattr(y, "tag", 2)


class HoldsTable(nn.Module):
    """A tensor that is no buffer."""

    def __init__(self):
        super().__init__()
        self.table = torch.full((3,), 2.0)


@branching(UP, DOWN, ZERO)
class AsksForTheTableAfterABranch(HoldsTable):
    """Whether one side gave an attribute, which no operator was asked about."""

    def forward(self, x):
        y = self.table if x.sum() > 0 else x * 2
        return y + 1, y is self.table, self.table is not y


@branching(UP, DOWN, ZERO)
class AsksForTheTableAfterALoop(HoldsTable):
    """As above, of a `while`."""

    def forward(self, x):
        y, left = x * 2, x.sum()
        while left > 0:
            y = self.table
            left = left - 1
        return y + 1, y is self.table


@branching(UP, DOWN, ZERO)
class TakesTheTable(HoldsTable):
    """A loop carries what was made, and then an attribute; another begins with what that gave."""

    def forward(self, x):
        y, left = x * 2, x.sum()
        while left > 0:
            y, left = self.table, left - 1
        y, left = y.detach(), x.sum()
        while left > 1:
            y, left = self.table, left - 1
        return y + 1


@branching(UP, DOWN, refused="write-after-branch")
class WritesToTheTable(HoldsTable):
    """Where a round came, it writes to the attribute."""

    def forward(self, x):
        y, left = x * 2, x.sum()
        while left > 0:
            y, left = self.table, left - 1
        return y.add_(1)


@branching(UP, DOWN, refused="branch-decides")
class AsksWhichOfTwoTables(HoldsTable):
    """Rounds let two attributes change places."""

    def forward(self, x):
        a, b, left = self.table, FAR, x.sum()
        while left > 0:
            a, b, left = b, a, left - 1
        return a + b, a is self.table


@branching(UP, DOWN, ZERO)
class CountsOnOneSide(nn.Module):
    """A buffer is replaced on one side, and left on the other."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        if x.sum() > 0:
            self.count = self.count + x
        return x * 2


@branching(UP, DOWN, ZERO)
def rolling_window(x):
    """What each round carries is the end of what it made."""
    y, left = x, x.sum()
    while left > 0:
        y, left = torch.cat([y, x])[-3:], left - 1
    return y * 2


@branching(UP, DOWN, refused="branch-decides")
def asks_where_it_begins(x):
    """In a round, of what the one before it made or what was there."""
    y, begin, left = x * 2, 0, x.sum()
    while left > 0:
        begin = begin + y.storage_offset()
        y, left = torch.cat([y, x])[-3:], left - 1
    return y * begin
