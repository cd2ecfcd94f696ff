"""Programs that compilers of CPython write unlike each other, from version to version.

Inlined comprehensions, whose variables are put aside; tests of `while` that stand twice; the ways
back of a loop, once for each way that ends there; `and`, `or` and chained comparisons, which copy
what they ask; pairs of loads and stores; names of keywords on the stack. Registered beside
`branching`.
"""

import sys

import torch

from tests.control_flow.branching import DOWN, UP, ZERO, branching

MIXED = torch.tensor([9.0, -1.0, 2.0])
ALL = (UP, DOWN, ZERO, MIXED)


@branching(*ALL)
def comprehension_after_a_loop_on_data(x):
    """The list is made of what the loop leaves."""
    while x.abs().sum() < 40:
        x = x * 2 + 1
    return [each + 1 for each in x.unbind()]


@branching(*ALL)
def a_variable_put_aside(x):
    """A comprehension uses the name of a variable, which has its value again afterwards."""
    each = x + 1
    if x.sum() > 0:
        made = [each * 2 for each in (x, x - 1)]
    else:
        made = [each * 3 for each in (x, x + 1)]
    return each, made


@branching(*ALL)
def a_variable_that_is_there_on_one_side(x):
    """Nobody reads it but the comprehension."""
    if x.sum() > 0:
        k = x * 2
        x = x + k
    return sum(k * x for k in (1, 2)), [k + x for k in (3, 4)]


@branching(*ALL, refused="branch-side-effect" if sys.version_info < (3, 12) else "")
def comprehensions_in_each_other(x):
    """Each in a round of a loop on data, which assigns what they read: a cell before 3.12."""
    rounds = 0
    while x.abs().sum() < 50:
        rows = [[a * b for a in (x, x + 1)] for b in (1, 2)]
        x = rows[0][1] + rows[1][0]
        rounds = rounds + 1
    return x, rounds


@branching(*ALL)
def conditions_within(x):
    """Each item is of one side or the other."""
    return [(part * 2 if part.sum() > 0 else part - 1) for part in (x, -x, x * x)]


@branching(*ALL)
def dictionaries_and_sets(x):
    """Comprehensions of other kinds, on either side."""
    if x.sum() > 0:
        made = {name: x * n for n, name in enumerate("ab")}
    else:
        made = {name: x - n for n, name in enumerate("ab")}
    return made["a"] + made["b"] * len({n % 2 for n in range(5)})


@branching(*ALL)
def closures_within(x):
    """A cell is made within a comprehension, and outlives it."""
    functions = [lambda y, n=n: y * n + x for n in range(3)]
    if x.sum() > 0:
        return functions[2](x)
    return functions[1](x) + sum(f(x) for f in [lambda y: y + n for n in range(2)])  # noqa: B023 - as people write it


@branching(*ALL)
def errors_within(x):
    """What a comprehension put aside is put back where it raises."""
    n = 5
    try:
        [1 // n for n in (2, 1, 0)]
    except ZeroDivisionError:
        x = x + n
    if x.sum() > 10:
        return x * n
    return x - n


@branching(*ALL)
def assigned_within(x):
    """A name that a comprehension assigns for the function around it."""
    last = x
    parts = [last := last * 2 + n for n in range(2)]
    return (last if x.sum() > 0 else -last), parts


@branching(*ALL)
def kept_conditions(x):
    """`or` of data keeps what it asked."""
    total = x.sum() > 0 or x.max() > 5
    both = x.sum() > 0 and x.min() > -1
    return torch.as_tensor(total), torch.as_tensor(both)


@branching(*ALL)
def mixed_conditions(x):
    """`and` within `or`, in a test and as a value."""
    y = x * 2 if (x.sum() > 0 and x.min() > 0) or x.max() > 8 else x - 1
    z = (x[0] > 0 and x[1] < 0) or x[2] > 2
    return y, torch.as_tensor(z)


@branching(*ALL)
def chained(x):
    """A comparison of three, of which the middle is asked twice."""
    if -1 < x.sum() < 8:
        x = x + 1
    return x * 2 if not 0 < x[0] <= 5 else x


@branching(*ALL)
def left_in_many_ways(x):
    """A `while` in a `for`, left by its test, by `break` and by `return`; `continue` in both."""
    for i in range(3):
        k = 0
        while x.abs().sum() < 30 * (i + 1):
            x, k = x * 1.5 + 1, k + 1
            if x[0] > 60:
                return x * k
            if x[1] > 20:
                break
            if x[2] < 0:
                continue
            x = x + 0.5
        if k == 0:
            continue
        x = x - k
    return x


@branching(*ALL)
def begun_by_its_test(x):
    """Two conditions decide whether another round comes."""
    n = 0
    while n < 5 and x.abs().sum() < 100:
        x, y = x * 2 + n, x
        n += 1
        x = x + y
    return x


@branching(*ALL)
def named_arguments(x):
    """Calls by keyword on both sides."""

    def mixed(a, b, *, scale=1, shift=0):
        return a * scale + b * shift

    if x.sum() > 0:
        return mixed(x, b=x + 1, shift=2)
    return mixed(a=x, b=-x, scale=3, shift=1)


@branching(*ALL)
def filtered_into_one(x):
    """What a comprehension of `any` asks is data."""
    if any(part.sum() > 4 for part in (x, -x)):
        return x + 1
    return x - 1
