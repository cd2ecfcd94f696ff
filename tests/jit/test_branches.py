"""Branches on data are nodes of the graph, with a graph for each side; else as before."""

import contextlib
import io
import random

import pytest
import torch
from torch import nn

from monograph.jit import optimize
from tests.jit.running import aliases, plain, quiet

X = torch.arange(6.0).reshape(2, 3) + 1
SIGNS = (1, -1, 1, 0.1, -1, 3)
SEEN: list = []


class Held:
    """What programs write to."""

    def __init__(self):
        self.count, self.last = 0, None


def observed(function, calls):
    """What each call gives and leaves behind."""
    SEEN.clear()
    torch.manual_seed(3)
    random.seed(3)
    held, seen = Held(), []
    for args in calls:
        given = [each.detach().clone().requires_grad_(each.requires_grad) for each in args]
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            try:
                result = function(held, *given)
            except Exception as error:  # noqa: BLE001 - what the program raises
                result = error
        tensors = result if isinstance(result, tuple | list) else [result]
        for each in tensors:
            if isinstance(each, torch.Tensor) and each.requires_grad:
                each.double().sum().backward(retain_graph=True)
        seen.append(
            {
                "result": plain(result),
                "types": [type(each) for each in tensors],
                "arguments": plain(given),
                "gradients": plain([each.grad for each in given]),
                "aliases": aliases(given, tensors),
                "same": [[one is two for one in tensors] for two in tensors],
                "held": plain([held.count, held.last, list(SEEN)]),
                "is_last": [each is held.last for each in (*given, *tensors)],
                "printed": text.getvalue(),
                "random": (torch.rand(()).item(), random.random()),
                "modes": torch.is_grad_enabled(),
            }
        )
    return seen


def check(function, calls, **options):
    """Each call as in eager code; the optimizer."""
    optimizer = optimize(**options)
    expected = observed(function, calls)
    found = quiet(observed, optimizer(function), calls)
    for index, (one, two) in enumerate(zip(expected, found, strict=True)):
        assert two == one, f"call {index}"
    return optimizer


def inputs(*, grad=False):
    """Inputs that take either side, in several orders."""
    signed = [(X * sign,) for sign in SIGNS]
    made = [*signed, *signed[::-1]]
    return [tuple(each.clone().requires_grad_(grad) for each in args) for args in made]


def graphs(optimizer):
    """How many graphs were compiled, and at how many places they broke."""
    places = {place for table in optimizer.tables for _, place in table.breaks}
    return sum(sum(table.graphs) for table in optimizer.tables), len(places)


def one_side(held, x):
    """A side that leaves everything as it was."""
    if x.sum() > 0:
        x = x * 2
    return x


def other_side(held, x):
    """The same, the other way round."""
    if not x.sum() > 0:
        x = x * 2
    return x + 0


def both_sides(held, x):
    """Tensors and numbers."""
    if x.sum() > 0:
        y, k, t = x * 2, 3, 0.5
    else:
        y, k, t = x - 1, 5, 1.5
    return y + k, k, t


def early(held, x):
    """A call that returns early."""
    if x.sum() > 0:
        return x * 2
    y = x - 1
    return y.abs()


def nested(held, x):
    """Branches within branches."""
    if x.sum() > 0:
        y = x * 2 if x.max() > 6 else x + 7
        if y.sum() > 30:
            y = y - x
    else:
        y = -x if x.min() < -6 else x
    return y


def looped(held, x):
    """One node in each round."""
    for n in range(3):
        x = x * 0.5 if x.sum() > n else x + 1
    return x


def loop_within(held, x):
    """A side with a loop, and a comprehension."""
    if x.sum() > 0:
        for n in range(3):
            x = x + n
    else:
        parts = [row * 2 for row in (x, x + 1)]
        x = parts[0] + parts[1]
    return x


def numbers(held, x):
    """Branches on numbers that tensors hold."""
    n = x.sum().item()
    if n > 3:
        y = x + n
    elif n < -30 or x.max() > 4:
        y = x - n
    else:
        y = x
    return y, n


def conditions(held, x):
    """`and`, `or` and `not` keep the values themselves."""
    return x.sum() > 0 and x.max() > 5, x.sum() or x.max()


def tuples(held, x):
    """Tuples of tensors."""
    pair = (x, x + 1) if x.sum() > 0 else (x - 1, x)
    return pair[0] * 2, pair[1]


def shapes(held, x):
    """Sides whose tensors have other shapes."""
    y = x[:1] if x.sum() > 0 else x.clone()
    return y * 2, (y + 1).sum()


def called(held, x):
    """Functions that are called in sides."""

    def inner(t, by):
        return t * by if t.max() > 5 else t.relu()

    return inner(x, 2) if x.sum() > 0 else inner(x + 1, by=3)


def both_ways(held, x):
    """Which of two tensors that were there is left."""
    y = x + 1
    a, b = (x, y) if x.sum() > 0 else (y, x)
    return a * 2 + b, b


def comprehensions(held, x):
    """A dict is built in a side, by the frame itself from Python 3.12 on."""
    y = x
    if x.sum() > 0:
        rows = {row.dim(): row * 2 for row in (x, x + 1)}
        y = rows[x.dim()]
    return y * 2


WITHIN_ONE_GRAPH = [
    *(one_side, other_side, both_sides, early, nested, looped, loop_within, numbers, conditions),
    *(tuples, shapes, called, both_ways, comprehensions),
]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("program", WITHIN_ONE_GRAPH)
def test_one_graph_for_both_sides(program, grad):
    """Compiled once, and nothing breaks, whichever side comes first."""
    if grad and program in (numbers, conditions):
        pytest.skip("numbers of what needs gradients warn")
    for calls in (inputs(grad=grad), inputs(grad=grad)[1:], inputs(grad=grad)[3:]):
        assert graphs(check(program, calls)) == (1, 0)


class Gated(nn.Module):
    """Modules in sides, with parameters."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, held, x):
        """Which one is used is up to data."""
        y = self.first(x)
        if y.mean() > 0:
            return y + self.second(x)
        y = self.first(y)
        return nn.functional.gelu(y)


def test_modules_with_gradients():
    """Parameters get the gradients of the side that ran."""
    model = Gated()
    mine, theirs = [], []
    optimizer = optimize()
    for function, grads in ((model, mine), (optimizer(model), theirs)):
        for (x,) in inputs():
            model.zero_grad(set_to_none=True)
            function(None, x).sum().backward()
            grads.append(plain([each.grad for each in model.parameters()]))
    assert mine == theirs
    assert graphs(optimizer) == (1, 0)


# --- what must not be within a graph, or only with care ------------------------------------------


def printed(held, x):
    """A text in one side."""
    if x.sum() > 0:
        print("large", x.shape)  # noqa: T201 - what is tested
        x = x + 1
    return x


def appended(held, x):
    """Lists from outside and of the call."""
    seen = [x]
    if x.sum() > 0:
        SEEN.append("large")
        seen.append(x * 2)
    return seen[-1], len(seen)


def written(held, x):
    """Attributes of an argument."""
    if x.sum() > 0:
        held.count += 1
        held.last = x
    return x * held.count


def in_place(held, x):
    """Memory from outside, and of the side."""
    if x.sum() > 0:
        x.add_(1)
    else:
        y = x * 2
        y.mul_(3)
        x = y
    return x


def in_place_behind(held, x):
    """Writes to what may be memory that was there."""
    y = x + 1
    z = y if x.sum() > 0 else y * 2
    z.mul_(2)
    z += 1
    return y, z


def argument_behind(held, x):
    """The same of an argument."""
    with torch.no_grad():
        z = x if x.sum() > 0 else x * 2
        z.mul_(2)
        z -= 3
    return z


def view_behind(held, x):
    """Views of memory that is written to."""
    y = x * 1
    z = y[0] if x.sum() > 0 else y[1] + 0
    y.add_(5)
    print(z)  # noqa: T201 - what is tested
    z.add_(1)
    return z, y


def printed_behind(held, x):
    """What is printed may be written to behind it."""
    y = x * 1
    z = y if x.sum() > 0 else y * 2
    print(z)  # noqa: T201 - what is tested
    y.add_(5)
    return z


def raising(held, x):
    """Errors of the program and of operators, in sides that run and that do not."""
    if x.sum() > 0:
        if x.max() > 6:
            raise ValueError("too large")
        return x[7] if x.max() > 5 else x
    return x @ x if x.max() < -2 else x


def caught(held, x):
    """Sides within `try`."""
    try:
        x = x @ x if x.sum() > 0 else x * 2
    except RuntimeError as error:
        return str(error)[:20]
    return x


def drawn(held, x):
    """Random numbers of three kinds."""
    if x.sum() > 0:
        return x + torch.rand(2, 3)
    return nn.functional.dropout(x, 0.5) if x.max() > -3 else x * random.random()


def kinds(held, x):
    """Other dtypes, no tensor, other strides."""
    if x.sum() > 0:
        y = x.to(torch.int32)
    elif x.max() > 0:
        y = None
    else:
        y = x.t()
    return y


def looked_at(held, x):
    """Which tensor it is, and of which kind."""
    y = x if x.sum() > 0 else x * 2
    held.last = y
    SEEN.append(y is x)
    kept = [y, y + 1]
    return kept[0], type(y) is torch.Tensor, y.requires_grad, y.is_contiguous()


def looked_at_new(held, x):
    """The same, if the first call leaves a new one."""
    y = x * 2 if x.sum() > 0 else x
    if y is x:
        SEEN.append("same")
    return {"y": y}["y"], y.shape, y.dim()


def closed_over(held, x):
    """A variable that a function shares."""
    total = x * 0

    def add(t):
        nonlocal total
        total = total + t

    if x.sum() > 0:
        add(x)
    else:
        add(x * 2)
    return total


def iterated(held, x):
    """Iterators that sides ask."""
    items = iter([1, 2, 3])
    if x.sum() > 0:
        k = next(items)
    else:
        k, _ = next(items), next(items)
    return x * k, list(items)


def continued(held, x):
    """Ways out of a loop's round, and of the loop."""
    total = x * 0
    for n in (1, 2, 3):
        if (x * n).sum() > 20:
            continue
        if (x * n).sum() < -40:
            break
        total = total + x * n
    return total


def while_data(held, x):
    """A loop that data end."""
    n = 0
    while x.sum() < 30 and n < 4:
        x, n = x + 3, n + 1
    return x, n


def modes(held, x):
    """Modes around sides, and within."""
    with torch.no_grad():
        y = x if x.sum() > 0 else x * 2
        z = y * 1
    if x.sum() > 0:
        with torch.no_grad():
            z = z + y
    return z.requires_grad, z


def deleted(held, x):
    """A variable that one side deletes."""
    y = x + 1
    if x.sum() > 0:
        del y
        z = 1
    else:
        z = 2
    try:
        return y, z
    except UnboundLocalError:
        return z


def strange_memory(held, x):
    """A view that may be of an argument is written to."""
    y = x.view(-1) if x.sum() > 0 else (x * 2).view(-1)
    z = y.view(2, 3)
    z.zero_()
    return z, x


def swapped(held, x):
    """Names of tensors change places."""
    y = x + 1
    if x.sum() > 0:
        x, y = y, x
    w = x
    if y.max() > 2:
        w = y
    return w, x, y, w is x


def listed(held, x):
    """Displays and methods of lists."""
    parts = []
    for n in range(3):
        if x.sum() > n:
            parts.append(x * n)
        else:
            parts = [*parts, x]
    return tuple(parts)


def of_outside(held, x):
    """Other ways to write."""
    if x.sum() > 0:
        SEEN[:] = [1]
        held.__dict__["more"] = 2
    else:
        held.__setattr__("count", held.count + 2)
    return x + held.count


def matrix(held, x):
    """More than one element is no condition."""
    return x.sum() if x > 0 else x


def generators(held, x):
    """Within generators and comprehensions."""

    def rows():
        for row in x:
            yield row * 2 if row.sum() > 6 else row

    return torch.stack(list(rows())), [r for r in x if r.sum() > 0]


HARD = [
    *(printed, appended, written, in_place, in_place_behind, argument_behind, view_behind),
    *(printed_behind, raising),
    *(caught, drawn, kinds, looked_at, looked_at_new, closed_over, iterated, continued, while_data),
    *(modes, deleted, strange_memory, swapped, listed, of_outside, matrix, generators),
]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("program", HARD)
def test_effects_are_those_of_the_side_that_runs(program, grad):
    """In each call, in any order, and with sizes that vary."""
    some = inputs(grad=grad)
    wide = [tuple(torch.cat([each, each], 1).detach() for each in args) for args in some[:3]]
    for calls in (some, some[1:], [*some[3:6], *wide, *some]):
        check(program, calls, cache_size_limit=64)
