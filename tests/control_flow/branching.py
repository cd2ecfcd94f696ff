"""Programs that branch on values inside tensors, in Python's own words, as users write them.

Each comes with inputs that take every way through it. A program is a function of tensors.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from tests.seeding import reseed


@dataclass(frozen=True, slots=True)
class Branching:
    """A program, the calls that take every way, and what its export is refused for, if it is."""

    name: str
    make: Callable[[], nn.Module]
    calls: tuple[tuple[torch.Tensor, ...], ...]
    refused: str = ""
    stock: bool = True
    """Whether torch.export loads and runs the file: its branches take no numbers, unlike ours."""


PROGRAMS: dict[str, Branching] = {}


def branching(*calls: tuple, refused: str = "", stock: bool = True) -> Callable:
    """Register a function, or a module class; the first call is the example."""

    def register(make: Callable) -> Callable:
        name = make.__name__
        assert name not in PROGRAMS, f"two programs are called {name}"
        is_module = isinstance(make, type)
        given = tuple(call if isinstance(call, tuple) else (call,) for call in calls)
        PROGRAMS[name] = Branching(
            name, make if is_module else lambda: Function(make), given, refused, stock
        )
        return make

    return register


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


UP = torch.tensor([1.0, 2.0, 3.0])
DOWN = torch.tensor([-1.0, -2.0, -4.0])
ZERO = torch.zeros(3)
YES = torch.tensor(True)
NO = torch.tensor(False)


@branching(torch.ones(3, 3), -torch.ones(3, 3))
class Bad1(nn.Module):
    """The tutorial's branch on data, for which it says to use `torch.cond`."""

    def forward(self, x):
        if x.sum() > 0:
            return torch.sin(x)
        return torch.cos(x)


@branching(UP, DOWN)
def bad_data_dependent_if(x):
    """The guide's: one side returns its input."""
    if x.sum() > 0:
        return x * 2
    return x


@branching(UP, DOWN)
def if_else(x):
    """Both sides compute."""
    if x.sum() > 0:
        y = x + 1
    else:
        y = x * 2
    return y


@branching(UP, DOWN)
def if_alone(x):
    """One side does nothing."""
    y = x * 3
    if x.sum() > 0:
        y = y + 1
    return y


@branching(UP, DOWN, ZERO)
def elif_chain(x):
    """Three ways."""
    s = x.sum()
    if s > 0:
        y = x.sin()
    elif s < 0:
        y = x.cos()
    else:
        y = x - 1
    return y, s


@branching(UP, DOWN)
def conditional_expression(x):
    """The value stands on the stack."""
    return (x.exp() if x[0] > 0 else x.abs()) + 1


@branching(UP, DOWN, ZERO)
def early_return(x):
    """Guard clauses."""
    if x.sum() > 0:
        return x.sin()
    if x.sum() < 0:
        return x.cos()
    return x + 7


@branching((UP, YES), (UP, NO), (DOWN, YES))
def boolean_input(x, flag):
    """A tensor of one truth is a condition."""
    if flag:
        return x + 1
    return x - 1


@branching(UP, DOWN)
def negated(x):
    """`not` of a condition."""
    if not x.sum() > 0:
        x = x.neg()
    return x * 2


@branching(UP, DOWN, ZERO, torch.tensor([5.0, -1.0, -1.0]))
def both_conditions(x):
    """`and`."""
    if x[0] > 0 and x[1] > 0:
        return x.sqrt().nan_to_num()
    return x.abs()


@branching(UP, DOWN, ZERO, torch.tensor([5.0, -1.0, -1.0]))
def either_condition(x):
    """`or`."""
    if x[0] > 3 or x[1] > 0:
        y = x + 10
    else:
        y = x - 10
    return y


@branching(UP, DOWN)
def item_compared(x):
    """A number read from a tensor decides."""
    if x.sum().item() > 0:
        return x * 2
    return x * 3


@branching(UP, DOWN, torch.tensor([1.0, -1.0, 2.0]))
def written_by_several(x):
    """One branch after the other writes to one tensor, as experts do."""
    out = torch.zeros_like(x)
    for i in range(3):
        if x[i] < 0:
            continue
        out.index_add_(0, torch.tensor([i, 0]), x[:2] * i)
    return out


@branching(UP, DOWN)
def nested(x):
    """An `if` in an `if`."""
    y = x
    if x.sum() > 0:
        y = x + 1
        if x[0] > 0.5:
            y = y * 2
    else:
        y = x - 1
    return y


@branching(UP, DOWN)
def several_variables(x):
    """Two variables differ, one does not."""
    a, b, c = x, x + 1, x + 2
    if x.sum() > 0:
        a, b = b, a
    return a * 2, b * 3, c


@branching(UP, DOWN)
def numbers_by_branch(x):
    """Ints, floats and truths differ by branch."""
    if x.sum() > 0:
        k, scale, on = 2, 0.5, True
    else:
        k, scale, on = 5, 1.5, False
    y = x * k + scale
    if on:
        y = y + 100
    return y


@branching(UP, DOWN)
def break_on_data(x):
    """A loop of known length, left early."""
    for i in range(4):
        x = x + i
        if x.sum() > 8:
            break
    return x


@branching(UP, DOWN)
def continue_on_data(x):
    """A round is left out."""
    total = torch.zeros(3)
    for i in range(3):
        if x[i] < 0:
            continue
        total = total + x * i
    return total


@branching(UP, DOWN)
def chain_of_ifs(x):
    """Twenty of them, one after the other."""
    for i in range(20):
        if x.sum() > i:
            x = x - 0.25
        else:
            x = x + 0.5
    return x


@branching(torch.tensor([1.0, float("nan"), 2.0]), UP)
def clamp_if_nan(x):
    """Repair what is broken."""
    if torch.isnan(x).any():
        x = torch.nan_to_num(x, nan=0.0)
    return x / 2


@branching(UP, DOWN)
def assertion(x):
    """An assertion on data is checked when the program runs."""
    assert x.sum() < 100, "too large"
    return x + 1


@branching(UP, DOWN)
def raise_if_bad(x):
    """So is an exception."""
    if torch.isinf(x).any():
        raise ValueError("infinite")
    return x - 1


@branching(UP, DOWN)
def tuple_by_branch(x):
    """Both sides return a structure."""
    if x.sum() > 0:
        return {"a": x, "b": (x + 1, 3)}
    return {"a": x.neg(), "b": (x * 2, 3)}


@branching(UP, DOWN)
class EarlyExit(nn.Module):
    """A classifier that stops when it is sure."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        h = self.first(x).relu()
        logits = self.head(h)
        if logits.softmax(-1).max() > 0.7:
            return logits
        h = self.second(h).relu()
        return self.head(h)


@branching(UP, DOWN)
class Experts(nn.Module):
    """One of two layers is used."""

    def __init__(self):
        super().__init__()
        reseed(1)
        self.small, self.large = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 3))

    def forward(self, x):
        layer = self.large(x) if x.norm() > 3.8 else self.small(x)
        return layer.tanh()


@branching(UP, DOWN)
def helper_returns(x):
    """The branch is in a function that is called."""

    def pick(t):
        if t.sum() > 0:
            return t.sin()
        return t.cos()

    return pick(x) + pick(-x)


@branching(UP, DOWN)
def dead_differences(x):
    """What differs and is not read again does not matter."""
    if x.sum() > 0:
        name, y = "up", x + 1
    else:
        name, y = None, x + 2
    return y


@branching(UP, DOWN)
def text_by_branch(x):
    """A text cannot depend on data: the ways are apart until it is read."""
    if x.sum() > 0:
        name = "sin"
    else:
        name = "cos"
    return getattr(x, name)()


@branching(UP, DOWN)
def set_on_one_side(x):
    """A variable that exists on one side only: who reads it on the other would raise."""
    if x.sum() > 0:
        y = x + 1
    if x.sum() > 0:
        return y
    return x


@branching(UP, DOWN, refused="branches-disagree")
def dtype_by_branch(x):
    """A type cannot depend on data."""
    if x.sum() > 0:
        return x
    return x.long()


@branching(UP, DOWN)
def written_afterwards(x):
    """Whether y is x depends on data, and x is written to."""
    z = x.clone()
    y = z
    if x.sum() > 0:
        y = z + 1
    y.add_(1)
    return y, z


@branching(UP, DOWN)
def list_by_branch(x):
    """A list has a length."""
    found = []
    if x.sum() > 0:
        found.append(x)
    return sum(found, x)


@branching(UP, DOWN)
def written_in_a_branch(x):
    """A tensor of the call's own is changed in place on one side."""
    y = x.clone()
    if x.sum() > 0:
        y.mul_(2)
    return y


@branching(UP, DOWN)
class BufferInABranch(nn.Module):
    """A buffer counts on one side."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        if x.sum() > 0:
            self.count.add_(1)
        return x + self.count


# --- loops ---------------------------------------------------------------------------------------


@branching(UP, DOWN, torch.full((3,), 50.0), ZERO)
def halve_until_small(x):
    """Zero, one, many rounds."""
    while x.abs().sum() > 10:
        x = x / 2
    return x


@branching(torch.tensor(2.0), torch.tensor(9.0), torch.tensor(0.5))
def newton(a):
    """Iterate until converged."""
    x = a
    while (x * x - a).abs() > 1e-5:
        x = (x + a / x) / 2
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def do_while(x):
    """The test stands at the end."""
    while True:
        x = x * 0.75
        if x.sum() < 5:
            break
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def sides_that_come_to_a_loop(x):
    """One of two sides jumps to where every round begins."""
    if x.sum() > 0:
        x = x * 0.75
    else:
        x = x.cos()
    while True:
        x = x * 0.75
        if x.sum() < 5:
            break
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def sides_that_come_to_a_test(x):
    """From Python 3.14 on that is where the condition is asked."""
    if x.sum() > 0:
        x = x * 0.75
    else:
        x = x.cos()
    while x.sum() > 5:
        x = x * 0.75
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def counted(x):
    """An integer counts rounds, a float shrinks, a truth flips."""
    n, step, on = 0, 1.0, False
    while x.sum() < 20:
        x = x + step
        n = n + 1
        step = step * 1.5
        on = not on
    return x, n


@branching(UP, DOWN, torch.full((3,), 50.0))
def two_tests(x):
    """`and` in the test."""
    rounds = 0
    while x.sum() < 20 and x.max() < 6:
        x = x + 1
        rounds = rounds + 1
    return x, rounds


@branching(UP, DOWN, torch.full((3,), 50.0))
def left_early(x):
    """`break` in a loop on data."""
    n = 0
    while x.sum() < 40:
        x = x + 3
        if x[0] > 7:
            break
        n = n + 1
    return x, n


@branching(UP, DOWN, torch.full((3,), 50.0))
def rounds_left_out(x):
    """`continue` in a loop on data."""
    n = 0
    while x.sum() < 40:
        x = x + 3
        if x[0] > 7:
            continue
        n = n + 1
    return x, n


@branching(UP, DOWN, torch.full((3,), 50.0))
def branch_in_a_loop(x):
    """An `if` in a round."""
    while x.sum() < 20:
        if x[0] > 3:
            x = x + 5
        else:
            x = x + 1
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def loop_in_a_branch(x):
    """A loop on one side."""
    if x[0] > 0:
        while x.sum() < 20:
            x = x * 2
    else:
        x = x - 1
    return x


@branching(torch.full((3,), 0.5), UP, torch.full((3,), 50.0))
def loop_in_a_loop(x):
    """Both on data."""
    while x.sum() < 100:
        y = x
        while y.sum() < 50:
            y = y * 2
        x = y + 10
    return x


@branching(UP, DOWN)
class GreedyDecode(nn.Module):
    """Decode until the end token or the limit."""

    def __init__(self):
        super().__init__()
        reseed(2)
        self.embed, self.cell, self.out = nn.Embedding(5, 3), nn.Linear(3, 3), nn.Linear(3, 5)

    def forward(self, h):
        token = torch.zeros((), dtype=torch.long)
        score = torch.zeros(())
        n = 0
        while token != 3 and n < 6:
            h = torch.tanh(self.cell(h) + self.embed(token))
            logits = self.out(h)
            token = logits.argmax()
            score = score + logits.max()
            n += 1
        return token, score, n


@branching(UP, DOWN, torch.full((3,), 50.0), refused="loop-carry-changes")
def list_that_grows(x):
    """A list has a length."""
    found = [x]
    while x.sum() < 20:
        x = x + 4
        found = [*found, x]
    return torch.stack(found)


@branching(UP, torch.full((3,), 50.0), refused="loop-carry-changes")
def shape_that_grows(x):
    """A shape is the same in every round."""
    while x.sum() < 20:
        x = torch.cat([x, x])
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def returns_from_a_loop(x):
    """A result is returned from inside."""
    while x.sum() < 20:
        x = x + 1
        if x[0] > 4:
            return x * 100
    return x


@branching(UP, UP * 50, DOWN + 5, torch.tensor([0.0, 30.0, 1.0]), torch.tensor([2.0, 18.0, 0.0]))
def returns_two_things_from_a_loop(x):
    """A tensor and how many rounds there were, under two conditions."""
    i = 0
    while x.sum() < 100:
        x = x * 2
        i += 1
        if x[0] > 10:
            if x[1] > 30:
                return x, i
            x = x + 1
    return x - 1, -i


@branching(UP, UP * 50, DOWN + 5)
def returns_what_was_there_before(x):
    """The loop is left with a tensor from outside of it."""
    y = x
    while x.sum() < 100:
        x = x * 2
        if x[0] > 10:
            return y
    return x


@branching(UP, UP * 50, DOWN + 5)
def left_by_return_alone(x):
    """No test but one inside."""
    while True:
        x = x * 2 + 1
        if x.sum() > 50:
            return x


@branching(UP, UP * 50)
def returns_in_the_first_round(x):
    """There is no second."""
    while x.sum() < 100:
        return x * 5
    return x


@branching(UP, UP * 9, UP * 50, DOWN + 5, torch.tensor([0.0, 30.0, 1.0]))
def returns_from_two_loops(x):
    """A loop on data in one that is unrolled."""
    for i in range(4):
        k = 0
        while x.sum() < 20 * (i + 1):
            x = x * 1.5 + 1
            k = k + 1
            if x[0] > 30:
                return x * k
            if x[1] > 40:
                break
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def raises_at_the_end_of_a_round(x):
    """The second part of the condition alone counts as what leaves the loop."""
    n = 0
    while n < 1:
        n += 1
        if (x > 4).all() or x.sum() < 0:
            raise ValueError(n)
    return x * n


@branching(UP, UP * 9, torch.full((3,), 50.0))
def returns_a_size_of_its_own(x):
    """What is returned has a size that a round makes."""
    while x.sum() < 100:
        x = x * 2
        if x[0] > 10:
            return x[x > 11]
    return x


@branching(UP, DOWN, torch.full((3,), 50.0))
def written_after_a_loop(x):
    """Without a round, y is z."""
    z = x.clone()
    y = z
    while y.sum() < 20:
        y = y + 1
    z.mul_(2)
    return y, z


@branching(UP, DOWN)
def modes_inside(x):
    """Gradients are off on one side, whole."""
    if x.sum() > 0:
        with torch.no_grad():
            y = x * 2
    else:
        y = x * 3
    return y


@branching(UP, DOWN)
def left_by_return(x):
    """A return leaves a mode that was entered before the branch."""
    with torch.no_grad():
        if x.sum() > 0:
            return x * 2
        y = x * 3
    return y + 1


@branching(UP, DOWN)
def catches_what_it_raises(x):
    """An exception that is caught is a way like any other, refused or right."""
    if x.sum() > 0:
        try:
            y = x[7]
        except IndexError:
            y = x * 5
    else:
        y = x
    return y


@branching(UP, DOWN, refused="data-dependent-branch")
def caught_around(x):
    """An exception that a caller catches decides what comes next."""

    def check(t):
        if t.sum() > 0:
            raise ValueError
        return t + 1

    try:
        return check(x)
    except ValueError:
        return x * 9


@branching(UP, DOWN)
def while_handling(x):
    """A branch while an exception is handled."""
    try:
        raise KeyError
    except KeyError:
        if x.sum() > 0:
            x = x + 1
        else:
            x = x - 1
    return x


@branching(UP, DOWN)
def dropout_in_a_branch(x):
    """Random numbers are drawn on the side that is taken."""
    if x.sum() > 0:
        torch.manual_seed  # noqa: B018 - only named
        return x + 1
    return x - 1


@branching((UP, torch.tensor(0)), (UP, torch.tensor(1)), (DOWN, torch.tensor(5)))
def trip_count(x, n):
    """`while` over a number read from a tensor."""
    i = 0
    while i < n.item():
        x = x + i
        i = i + 1
    return x, i


@branching(UP, DOWN, torch.full((3,), 50.0))
def tuple_state(x):
    """A tuple and a dict are carried, item by item."""
    state = (x, x * 0)
    memory = {"last": x, "rounds": 0}
    while state[0].sum() < 20:
        a, b = state
        state = (a + 2, b + a)
        memory = {"last": b, "rounds": memory["rounds"] + 1}
    return state, memory


@branching(UP, DOWN, ZERO)
def bool_of_a_tensor(x):
    """`bool(...)` is a truth that is only known at run time."""
    on = bool(x.sum() > 0)
    if on:
        return x + 1
    return x * (2 if bool(x.sum() < 0) is True else 3)


@branching(UP, DOWN)
def matched(x):
    """`match` on a truth."""
    match bool(x.sum() > 0):
        case True:
            return x + 1
        case _:
            return x - 1


@branching(UP, DOWN, refused="branch-side-effect")
def filtered(x):
    """A comprehension leaves items out: a list has a length."""
    return [row * 2 for row in x if row > 0]


@branching(UP, DOWN, refused="branch-side-effect")
def filtered_into_a_dict(x):
    """So has a dict."""
    return {i: row * 2 for i, row in enumerate(x) if row > 1}


@branching(UP, DOWN)
def chosen_in_a_comprehension(x):
    """A condition that chooses what an item is."""
    return torch.stack([row * 2 if row > 0 else row - 1 for row in x])


TWO, FIVE = torch.tensor(2), torch.tensor(5)


@branching((UP, TWO), (DOWN, FIVE))
def lists_compared(x, n):
    """Sizes and a number from data, in lists that are compared."""
    if [x.shape[0], n, n + 1] != [3, 2, 3]:
        return x + 1
    return x - 1


@branching((UP, TWO), (DOWN, FIVE))
def tuples_compared(x, n):
    """In tuples of which a plain item may differ."""
    y = x * 2 if (x.shape[0], n) == (3, 2) else x * 3
    return y + (1 if (4, n) == (3, 2) else 2)


@branching((UP, TWO), (UP, torch.tensor(0)))
def asserts_in_words_of_sizes(x, n):
    """As models check their shapes: the words of what never fails need not be recorded."""
    count = n.clone()
    y = x.new_zeros(n.item(), 2)
    assert list(y.size()) == [count, 2], f"it is {y.size()}, and should have {count.item()} rows"
    return y.sum() + x
