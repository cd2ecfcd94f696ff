"""Who else holds what a loop or a branch may have left as it was, when it is written to.

Where nobody does, it is written to; where somebody may, the sides are recorded apart, or refused.
"""

import collections
import functools

import torch
from torch import nn

from tests.control_flow.branching import branching
from tests.control_flow.peeled import ALL


@branching(*ALL)
def held_in_cell(x):
    """A function that goes on holding it."""
    z = x * 1

    def f():
        return z

    y = z
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return f() * 2, y


@branching(*ALL)
def held_in_dict(x):
    """A dict."""
    d = {"a": x * 1}
    y = d["a"]
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return d["a"] * 2, y


@branching(*ALL)
def held_in_partial(x):
    """C holds it."""
    y = x * 1
    p = functools.partial(torch.mul, y)
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return p(2), y


@branching(*ALL)
def held_in_deque(x):
    """Another container of C."""
    y = x * 1
    p = collections.deque([y])
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return p[0] * 2, y


@branching(*ALL)
def held_in_generator(x):
    """A generator that stands still."""
    y = x * 1

    def gen(t):
        yield t * 2
        yield t * 3

    g = gen(y)
    a = next(g)
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return next(g), a, y


@branching(*ALL)
def held_in_iterator(x):
    """An iterator over a list."""
    y = x * 1
    g = iter([y])
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return next(g) * 2, y


@branching(*ALL)
def held_in_zip(x):
    """An iterator over iterators."""
    y = x * 1
    g = zip([y], [x], strict=True)
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return next(g)[0] * 2, y


@branching(*ALL)
def held_in_default(x):
    """A function's default."""
    y = x * 1

    def f(t=y):
        return t

    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return f() * 2, y


@branching(*ALL)
def held_in_view(x):
    """A view of it."""
    y = x * 1
    v = y[1:]
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return v * 2, y


@branching(*ALL)
def held_in_detached(x):
    """One without a history."""
    y = x * 1
    v = y.detach()
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return v * 2, y * 1


@branching(*ALL)
def held_in_method(x):
    """A method of it."""
    y = x * 1
    m = y.mul
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return m(2), y


@branching(*ALL)
def held_in_caller(x):
    """The caller of the function with the loop."""

    def grow(y):
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return y * 1

    z = x * 1
    return grow(z), z * 2


@branching(*ALL)
def held_in_expression(x):
    """The stack of the caller."""
    z = x * 1

    def grow(y):
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return y * 1

    return (x * 3) + (lambda t: t * 2 + grow(t) + t)(z)


@branching(*ALL)
def held_in_temporaries(x):
    """Nobody: it was made for the call."""

    def grow(y):
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return y * 1

    return grow(x * 1) + 1


@branching(*ALL)
def held_in_tuple_on_stack(x):
    """A tuple that is not complete yet."""

    def grow(y):
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return y * 1

    a = x * 1
    return [(b, grow(b), b * 2) for b in [a]][-1][2]


@branching(*ALL)
def held_in_attribute(x):
    """An object."""

    class Box:
        pass

    b = Box()
    b.t = x * 1
    y = b.t
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    return b.t * 2, y


@branching(*ALL)
def held_in_attribute_of_tensor(x):
    """A tensor."""
    y = x * 1
    x.tag = y
    while y.sum() < 20:
        y = y + 1
    y.add_(1)
    r = x.tag * 2
    del x.tag
    return r, y


@branching(*ALL, refused="write-after-branch")
def held_in_list_of_rounds(x):
    """A list, from one round to the next."""
    y = x * 1
    kept = [y]
    for _ in range(2):
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        kept.append(y)
    return sum(kept)


@branching(*ALL, refused="write-after-branch")
def held_swapped(x):
    """What a round gives was the other variable before it."""
    a, b = x * 1, x * 2
    while a.sum() < 20:
        a, b = b + 1, a
    a.add_(1)
    return a, b * 1


@branching(*ALL, refused="write-after-branch")
def held_swapped_alone(x):
    """The two change places, and nothing else happens."""
    a, b = x * 1, x * 2
    n = 0
    while n + a.sum() < 20:
        a, b = b, a
        n = n + 5
    a.add_(1)
    return a, b * 1


@branching(*ALL, refused="write-after-branch")
def held_one_before_parted_in_a_round(x):
    """Two names of one tensor, which a number of rounds parts."""
    a = b = x * 1
    n = 0
    while a.sum() < 20:
        a = a + 1
        b = a if n < 1 else a * 2
        n += 1
    a.add_(1)
    return a * 1, b * 1


@branching(*ALL, refused="write-after-branch")
def held_one_before_parted_by_data(x):
    """Two names of one tensor, which data parts."""
    a = b = x * 1
    while a.sum() < 20:
        a = a + 1
        b = a
        if a[0] > 5.5:
            b = a + 2
    a.add_(1)
    return a * 1, b * 1


@branching(*ALL)
def held_branch_then_write(x):
    """Nobody: the variable has another value."""
    y = x * 1
    if x[0] > 5:
        y = y * 2
    y.add_(1)
    return y


@branching(*ALL)
def held_branch_then_write_held(x):
    """A list, over a branch."""
    y = x * 1
    h = [y]
    if x[0] > 5:
        y = y * 2
    y.add_(1)
    return y * 1, h[0] * 1


@branching(*ALL)
def held_branch_input(x):
    """The caller of the program."""
    y = x
    if x[0] > 5:
        y = y * 2
    y.add_(1)
    return y * 1


@branching(*ALL)
def held_for_rows(x):
    """A row of what is gone over."""
    last = x[0]
    for r in x.clone():
        last = r
    last.add_(1)
    return last * 1, x * 1


@branching(*ALL, refused="write-after-branch")
def held_chain(x):
    """A loop, then a branch."""
    y = x * 1
    while y.sum() < 20:
        y = y + 1
    z = y
    if x[0] > 4:
        y = y * 2
    y.add_(1)
    z.mul_(2)
    return y * 1, z * 1


@branching(*ALL)
def held_in_exception(x):
    """An exception."""
    y = x * 1
    try:
        raise ValueError(y)
    except ValueError as e:
        k = e
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return k.args[0] * 1, y * 1


@branching(*ALL, refused="write-after-branch")
def held_in_numpy(x):
    """An array in its memory."""
    y = torch.zeros(3)
    a = y.numpy()
    while (y + x).sum() < 20:
        y = y + 1
    y.add_(1)
    return y, torch.from_numpy(a) * 1


@branching(*ALL)
class HeldAsABuffer(nn.Module):
    """The module."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.ones(3))

    def forward(self, x):
        y = self.kept
        while (y + x).sum() < 23:
            y = y + 1
        y.add_(1)
        return y * 1


@branching(*ALL)
class HeldAsANewBuffer(HeldAsABuffer):
    """The module, from this call on."""

    def forward(self, x):
        y = x * 1
        self.kept = y
        while y.sum() < 20:
            y = y + 1
        y.add_(1)
        return y * 1, self.kept * 1
