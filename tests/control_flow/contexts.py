"""Branches on data in generators and handlers, and where a side leaves a `with` or an `except`."""

import torch

from tests.control_flow.branching import DOWN, UP, ZERO, branching

FAR = torch.full((3,), 50.0)


@branching(UP, DOWN, ZERO)
def yields_after_a_branch(x):
    """In a generator, and in what a generator expression calls."""

    def rows():
        count = 0
        for row in x:
            if row > 1.5:
                count = count + 1
            yield row * count

    def chosen(row):
        if row > 0:
            return row * 2
        return row - 1

    return torch.stack([*rows()]), sum(chosen(row) for row in x)


@branching(UP, FAR, ZERO)
def loops_in_a_generator(x):
    """A `while` between two values, a `for` that is left early over them."""

    def sums(y):
        for _ in range(3):
            while y.sum() < 5:
                y = y + 1
            yield y
            y = y - 3

    total = torch.zeros(3)
    for each in sums(x):
        total = total + each
        if total.sum() > 20:
            break
    return total


@branching(UP, DOWN, ZERO)
def handler_is_left(x):
    """By `return` on one side, by its end on the other; another branch follows."""
    try:
        x.no_attribute  # noqa: B018 - it raises
    except AttributeError:
        if x.sum() > 0:
            return x * 2
        x = x - 1
    if x.sum() > -5:
        x = x + 1
    return x * 3


@branching(UP, FAR, ZERO + 1)
def loop_in_a_handler(x):
    """With both ways out of it; the exception is handled until then."""
    try:
        raise KeyError("a")
    except KeyError as error:
        while x.sum() < 20:
            x = x * 2 + len(error.args)
            if x[0] > 4:
                return x * 2
            if x[1] > 40:
                break
        x = x - 1
    return x * 3


@branching(UP, DOWN)
def gradients_beside(x):
    """What is returned early was made without gradients; what comes after the `with` has them."""
    with torch.no_grad():
        if x.sum() > 0:
            return x * 2
        y = x * 3
    if y.sum() > -30:
        y = y * x
    return y + 1


@branching(UP, DOWN, FAR)
def loop_without_gradients(x):
    """Left by `return` within the mode, and a `for` by `break`."""
    with torch.no_grad():
        while x.abs().sum() < 20:
            x = x * 2
            if x[0] > 4:
                return x * 100
    for _ in range(3):
        with torch.no_grad():
            x = x * 2
            if x.sum() > 10:
                break
            x = x - 1
    return x + 1


@branching((UP, torch.ones(3, 3)), (DOWN, torch.ones(3, 3) / 3))
def casts_beside(x, y):
    """Autocast is left by `return` on one side."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        if x.sum() > 0:
            return (y @ y).float() * x
        y = y @ y
    return y.float() @ (y.float() / 3) * x
