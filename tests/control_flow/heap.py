"""Programs whose branches change lists, dicts, attributes and variables from outside of them."""

import torch
from torch import nn

from tests.control_flow.branching import DOWN, UP, ZERO, branching

MIXED = torch.tensor([9.0, -1.0, 2.0])


class Box:
    """Something with attributes."""

    def __init__(self, value):
        self.value = value


@branching(UP, DOWN, MIXED)
def appended_on_either_side(x):
    """A list of known length."""
    outs = []
    for i in range(3):
        if x[i] > 0:
            outs.append(x + i)
        else:
            outs.append(x * 2)
    return torch.stack(outs)


@branching(UP, DOWN)
def appended_on_one_side(x):
    """The length of a list would depend on data."""
    outs = [x]
    if x.sum() > 0:
        outs.append(x + 1)
    return len(outs), outs[-1]


@branching(UP, DOWN, ZERO, MIXED)
def appended_by_inner_branches(x):
    """A side of a side lengthens the list."""
    found = [x]
    if x.sum() > 0:
        if x[0] > 1.5:
            found.append(x * 2)
            found.append(x + found[-1])
        y = x * 2
    else:
        y = x + 1
    return torch.stack(found).sum(0) + y


@branching(UP, DOWN)
def replaced_in_a_list(x):
    """One item."""
    parts = [x, x * 2]
    if x.sum() > 0:
        parts[0] = parts[1] + 1
    return parts[0] + parts[1]


@branching(UP, DOWN)
def list_of_two_names(x):
    """What one name shows, the other does."""
    one = [x]
    other = one
    if x.sum() > 0:
        one[0] = x + 1
    return other[0]


@branching(UP, DOWN)
def entered_into_a_dict(x):
    """The same key on both sides, which is new."""
    found = {}
    if x.sum() > 0:
        found["a"] = x + 1
    else:
        found["a"] = x - 1
    return found["a"], len(found)


@branching(UP, DOWN)
def entered_on_one_side(x):
    """Another key on either side."""
    found = {}
    if x.sum() > 0:
        found["a"] = x + 1
    else:
        found["b"] = x - 1
    return found.popitem()[1]


@branching(UP, DOWN, MIXED)
def attribute_of_an_object(x):
    """A tensor and a number."""
    box = Box(x)
    box.count = 1
    if x.sum() > 0:
        box.value = x + 1
        if x[0] > 5:
            box.count = box.count + 2
    return box.value * box.count


@branching(UP, DOWN)
def attribute_on_one_side(x):
    """There is one, or none."""
    box = Box(x)
    if x.sum() > 0:
        box.extra = x
    return getattr(box, "extra", box.value)


@branching(UP, DOWN)
def variable_of_an_outer_function(x):
    """Written by a function that a branch calls."""
    y = x

    def double():
        nonlocal y
        y = y * 2

    if x.sum() > 0:
        double()
    return y


@branching(UP, DOWN)
def variable_that_a_comprehension_reads(x):
    """Such a variable is a cell."""
    y = x * 2
    if x.sum() > 0:
        y = x * 3
    return torch.stack([y * i for i in range(3)])


@branching(UP, DOWN, MIXED, ZERO)
def attribute_and_early_return(x):
    """What is written stays written, whoever returns."""
    box = Box(x)

    def work():
        if x.sum() > 0:
            if x[0] > 5:
                box.value = x * 7
                return x
            box.value = x * 3
        box.value = box.value + 1
        return x * 2

    return work(), box.value


@branching(UP, DOWN)
def list_in_an_attribute(x):
    """Another list on one side."""
    box = Box([x])
    if x.sum() > 0:
        box.value = [x + 1]
    return box.value[0]


@branching(UP, DOWN)
def list_of_either_side_changed(x):
    """It is another object on one side, which has another name."""
    first = [x]
    box = Box(first)
    if x.sum() > 0:
        box.value = [x + 1]
    box.value[0] = x * 5
    return first[0]


@branching(UP, DOWN)
def write_begun_anew(x):
    """The branch begins again for the write in place, with the list as it was."""
    y = x.clone()
    seen = [x]
    if x.sum() > 0:
        seen[0] = seen[0] + 1
        y.add_(1)
    return y, seen[0], len(seen)


@branching(UP, DOWN)
class AttributeOfAModule(nn.Module):
    """Left as it was found."""

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        self.last = x
        if x.sum() > 0:
            self.last = x + 1
        found = self.last * 2
        self.last = None
        return found


@branching(UP, DOWN, MIXED)
class BufferReplaced(nn.Module):
    """By a branch, and by a branch in it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        if x.sum() > 0:
            if x[0] > 3:
                self.count = self.count * 2 + x
                return x
            self.count = self.count + 1
        return self.count * x


@branching(UP, DOWN, MIXED)
class BufferReplacedOnOneSide(nn.Module):
    """What it was, or the argument, is a result."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        old, either = self.count, x
        if x[0] > 0:
            either = self.count
        if x.sum() > 0:
            self.count = self.count + 1
        return either, old, self.count


@branching(UP, DOWN, MIXED)
class BufferReplacedAndUsed(BufferReplacedOnOneSide):
    """What it was is a result, too, and what is computed from it or the argument."""

    def forward(self, x):
        either, old, count = super().forward(x)
        return either * 2, old, count


@branching(UP, DOWN, MIXED, UP * 9)
def returns_of_several_sizes(x):
    """What is returned under two conditions has a size from data, and is a number, too."""
    if x.sum() > 0:
        if x[0] > 5:
            found = x[x > 1]
            return found, found.shape[0]
        x = x.repeat(2)
    return x * 2, 7
