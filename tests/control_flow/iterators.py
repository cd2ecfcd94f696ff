"""Iterators and generators that both sides of a branch on data reach through an object."""

from contextlib import contextmanager

import torch

from tests.control_flow.branching import DOWN, UP, ZERO, branching

REFUSED = "branch-side-effect"


def _numbers():
    yield 1
    yield 2
    yield 3


def _squares(numbers):
    for number in numbers:
        yield number * number


class _Holder:
    """Holds an iterator."""

    def __init__(self, iterator):
        self.iterator = iterator


@branching(UP, DOWN)
def context_manager_is_left(x):
    """By `return` on one side; what follows its `yield` writes to a tensor and to a list."""
    log, count = [], torch.zeros(())

    @contextmanager
    def counting():
        log.append(1)
        yield
        log.append(2)
        count.add_(1)

    def inner(x):
        with counting():
            if x.sum() > 0:
                return x * 2
            y = x - 1
        return y * 3

    return inner(x) + len(log) + count


@branching(UP, DOWN)
def both_sides_advance_alike(x):
    """A generator of an object."""
    held = _Holder(_numbers())
    if x.sum() > 0:
        x = x * next(held.iterator)
    else:
        x = x - next(held.iterator)
    return x + next(held.iterator)


@branching(UP, DOWN)
def nested_sides_advance_alike(x):
    """A generator of a list, within two branches, and once more in between."""
    held = [_numbers()]
    if x.sum() > 0:
        y = x * next(held[0])
        if x[0] > 0.5:
            y = y + next(held[0])
        else:
            y = y - next(held[0])
    else:
        next(held[0])
        y = x - next(held[0])
    return y + next(held[0])


@branching(UP, DOWN)
def unused_after_a_side(x):
    """An iterator of C that one side alone asks, and nobody after it."""
    held = [iter([1, 2, 3])]
    if x.sum() > 0:
        x = x + next(held[0])
    return x * 2


@branching(UP, DOWN)
def iterators_of_sides(x):
    """Made by a side, and held by an object of it."""
    if x.sum() > 0:
        held = _Holder(iter([1, 2, 3]))
        made = _Holder(_numbers())
        x = x + next(held.iterator) + next(held.iterator) + sum(made.iterator)
        next(held.iterator)
    else:
        x = x + sum(n * m for n, m in zip([1, 2], _squares(_numbers()), strict=False))
    return x * 2


@branching(UP, DOWN, refused=REFUSED)
def one_side_advances_a_generator(x):
    """Of an object."""
    held = _Holder(_numbers())
    first = next(held.iterator) if x.sum() > 0 else 0
    return x + next(held.iterator) + first


@branching(UP, DOWN, refused=REFUSED)
def one_side_advances_a_closure(x):
    """By a function that knows the generator."""
    numbers = _numbers()

    def following():
        return next(numbers)

    first = following() if x.sum() > 0 else 0
    return x + following() + first


@branching(UP, DOWN, refused=REFUSED)
def one_side_advances_a_list(x):
    """An iterator of C."""
    held = [iter([1, 2, 3])]
    first = next(held[0]) if x.sum() > 0 else 0
    return x + next(held[0]) + first


@branching(UP, DOWN, refused=REFUSED)
def one_side_uses_up(x):
    """An iterator within another one, by a function of C and by a `for`."""
    held = {"rest": iter([1, 2, 3])}
    if x.sum() > 0:
        x = x + sum(a for a, _ in zip(held["rest"], [1, 2], strict=False))
    for each in held["rest"]:
        x = x + each
    return x


@branching(UP, DOWN, refused=REFUSED)
def generator_asks_a_shared_iterator(x):
    """Each side lets a generator ask an iterator that a list holds."""
    numbers = iter([1, 2, 3])
    held = [_squares(numbers), numbers]
    if x.sum() > 0:
        x = x + next(held[0])
    else:
        x = x - next(held[0])
    return x + next(held[1])


@branching(UP, DOWN, refused=REFUSED)
def closed_on_one_side(x):
    """A generator is over on one side."""
    held = [_numbers()]
    next(held[0])
    if x.sum() > 0:
        held[0].close()
    return x + next(held[0], 7)


@branching(UP, DOWN, refused=REFUSED)
def rounds_advance(x):
    """Each round of a `while` on data asks once."""
    held = [iter([1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 10)]
    while x.sum() < 20:
        x = x + next(held[0])
    return x


@branching(UP, DOWN, refused=REFUSED)
def rounds_advance_a_generator(x):
    """Each round of a `while` on data asks a generator."""
    held = _Holder(_squares([1, 2, 3, 4, 5, 6, 7, 8, 9, 10] * 10))
    while x.sum() < 20:
        x = x + next(held.iterator)
    return x


# --- held by a variable and by something else --------------------------------------------------


@branching(UP, DOWN)
def held_twice_and_not_advanced(x):
    """The variable and the list hold one iterator behind the branch, too."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    x = x * 2 if x.sum() > 0 else x - 1
    return x + next(numbers) + next(held[0]) * 10, numbers is held[0]


@branching(UP, DOWN)
def held_by_a_caller(x):
    """By a variable of the caller's, and by one of a function with a branch."""

    def inner(numbers, x):
        y = x * 2 if x.sum() > 0 else x - 1
        return y + next(numbers)

    numbers, squares = iter([1, 2, 3]), _squares([4, 5, 6])
    x = inner(numbers, inner(squares, x))
    return x + next(numbers) * 10 + next(squares)


@branching(UP, DOWN)
def asked_within_a_for(x):
    """By the loop and by its body, through a list, with a branch between them."""
    numbers = iter([1, 2, 3, 4])
    held = [numbers]
    for number in numbers:
        x = x * 2 if x.sum() > number else x - 1
        x = x + next(held[0], 0)
    return x


@branching(UP, ZERO)
def behind_a_side_that_raises(x):
    """The way that raises is left out, and what it would have advanced."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    if x.sum() < 0:
        message = f"{next(numbers)}"
        raise ValueError(message)
    return x + next(numbers) + next(held[0]) * 10


@branching(UP, DOWN, refused=REFUSED)
def variable_advances_on_one_side(x):
    """And a list is asked behind the branch."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    first = next(numbers) if x.sum() > 0 else 0
    return x + next(held[0]) + first


@branching(UP, DOWN, refused=REFUSED)
def variable_advances_on_both_sides(x):
    """A generator, which the caller holds, too."""

    def inner(numbers, x):
        return x * next(numbers) if x.sum() > 0 else x - next(numbers)

    numbers = _numbers()
    return inner(numbers, x) + next(numbers)


@branching(UP, DOWN, refused=REFUSED)
def both_are_asked_on_one_side(x):
    """The list first, so that the variable's copy is not where it should be."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    if x.sum() > 0:
        x = x * next(held[0]) + next(numbers)
    return x


@branching(UP, DOWN, refused=REFUSED)
def copy_is_asked_before_the_list(x):
    """The other way round."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    if x.sum() > 0:
        x = x * next(numbers) + next(held[0])
    return x


@branching(UP, DOWN, refused=REFUSED)
def for_on_one_side(x):
    """Left early."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    if x.sum() > 0:
        for number in numbers:
            x = x * number
            break
    return x + next(held[0])


@branching(UP, DOWN, refused=REFUSED)
def within_another_branch(x):
    """The outer side has a copy, and the inner one a copy of that."""
    numbers = iter([1, 2, 3])
    held = [numbers]
    if x.sum() > 0:
        if x.sum() > 1:
            x = x * 2
        x = x + next(numbers)
    else:
        x = x - next(numbers)
    return x + next(held[0])
