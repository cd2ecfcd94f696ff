"""Programs with a `for` over a symbolic number of values, in Python's own words.

Each is a function of a tensor whose dimension 1 varies, and is called with no round, one, two and
many. Where eager code raises without a round, so does the program.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from tests.seeding import reseed


@dataclass(frozen=True, slots=True)
class Looped:
    """A program, and what its export is refused for, if it is.

    `gradients` is whether those of its result with respect to x are compared. With fewer rounds
    than `least` the contract refuses what eager code can do. `stock` is whether torch's own `scan`
    runs it, which has to have a round of every loop inside.
    """

    name: str
    make: Callable[[], nn.Module]
    refused: str = ""
    gradients: bool = True
    least: int = 0
    stock: bool = True


PROGRAMS: dict[str, Looped] = {}


def looped(make: Callable | None = None, **options) -> Callable:
    """Register a function of x, or a module class."""

    def register(make: Callable) -> Callable:
        name = make.__name__
        assert name not in PROGRAMS, f"two programs are called {name}"
        module = make if isinstance(make, type) else lambda: Function(make)
        PROGRAMS[name] = Looped(name, module, **options)
        return make

    return register if make is None else register(make)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def example(n: int, *, seed: int = 0) -> torch.Tensor:
    """An input with n columns."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, n, 4, generator=generator)


# --- what is carried ----------------------------------------------------------------------------


@looped
def running_state(x):
    """A recurrence."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        h = torch.tanh(h * 0.5 + x[:, t])
    return h


@looped(least=1)
def first_round_apart(x):
    """What a round reads, the first one made: in eager a name that has no value before."""
    for t in range(x.shape[1]):
        if t == 0:
            h = x[:, t] * 2
        else:
            h = torch.tanh(h + x[:, t])
    return h


@looped(least=1)
def bound_by_an_earlier_round(x):
    """A side of a branch on data binds a name, which later rounds read where it does not."""
    y = x.abs() + 1
    for t in range(x.shape[1]):
        if y.sum() > 0:
            h = y * 2
        y = y * (0.5 - t)
        h = h + 1
    return h.sum(1)


@looped
class LSTMLoop(nn.Module):
    """A cell of torch's, its two states in a tuple."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.cell = nn.LSTMCell(4, 5)

    def forward(self, x):
        state = (x.new_zeros(3, 5), x.new_zeros(3, 5))
        for t in range(x.size(1)):
            state = self.cell(x[:, t], state)
        return state


@looped
def rows(x):
    """A tensor is iterated over."""
    h = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        h = h * 0.5 + row
    return h


@looped
def numbered_rows(x):
    """`enumerate`, with a beginning."""
    h = torch.zeros(3, 4)
    for i, row in enumerate(x.transpose(0, 1), 2):
        h = h + row * i
    return h


@looped
def rows_of_two(x):
    """`zip` of two that are as long."""
    h = torch.zeros(3, 4)
    for a, b in zip(x.transpose(0, 1), x.transpose(0, 1).exp(), strict=True):
        h = h * 0.5 + a * b
    return h


@looped
def backwards(x):
    """`reversed(range(n))`."""
    h = torch.zeros(3, 4)
    for t in reversed(range(x.shape[1])):
        h = h * 0.5 + x[:, t]
    return h


@looped
def counting_down(x):
    """A negative step."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1] - 1, -1, -1):
        h = h * 0.5 + x[:, t]
    return h


@looped
def every_other(x):
    """A beginning and a step; the first value is left out."""
    h = torch.zeros(3, 4)
    for t in range(1, x.shape[1], 2):
        h = h * 0.5 + x[:, t]
    return h


@looped
def numbers(x):
    """Integers, floats and truths change from round to round."""
    k, z, even = 0, 1.0, True
    for i in range(x.shape[1]):
        k += 2 * i
        z = z * 0.5
        even = not even
    return x * k + z + even


@looped
def neighbours(x):
    """A round reads what lies beside its own."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1] - 1):
        h = h + x[:, t] * x[:, t + 1]
    return h


@looped
def growing_window(x):
    """A slice whose length is the round's number."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        h = h + x[:, : t + 1].sum(1)
    return h


@looped(stock=False)
def loop_in_loop(x):
    """The inner one is as long as the outer one's number."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        for s in range(t):
            h = h + x[:, s] * x[:, t]
    return h


@looped
def two_loops(x):
    """One after the other, the second with what the first made."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        h = h + x[:, t]
    mean = h / x.shape[1]
    spread = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        spread = spread + (x[:, t] - mean) ** 2
    return mean, spread


@looped
class LayersOfLoops(nn.Module):
    """A loop in each of a fixed number of layers."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        h = torch.zeros(3, 4)
        for layer in self.layers:
            for t in range(x.shape[1]):
                h = torch.tanh(layer(h) + x[:, t])
        return h


# --- what happens in a round --------------------------------------------------------------------


@looped
def first_round_differs(x):
    """A condition on the number of the round."""
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        if t == 0:
            h = x[:, t].exp()
        else:
            h = h * 0.5 + x[:, t - 1]
    return h


@looped
def left_out(x):
    """`continue` on data."""
    h = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        if row.sum() > 0:
            continue
        h = h + row
    return h


@looped
def read_after(x):
    """The loop's own variables, which exist only if there was a round."""
    for i, row in enumerate(x.transpose(0, 1)):
        y = row * i
    return y + row, i


@looped
def helper_with_loop(x):
    """A function of its own, called twice."""

    def total(x, start):
        for t in range(x.shape[1]):
            start = start + x[:, t]
        return start

    return total(x, torch.zeros(3, 4)) - total(x.exp(), torch.ones(3, 4))


# --- writes -------------------------------------------------------------------------------------


@looped
def written_to(x):
    """Into a tensor of the final size, as RWKV does."""
    out = torch.zeros_like(x)
    h = torch.zeros(3, 4)
    for t in range(x.shape[1]):
        h = h * 0.5 + x[:, t]
        out[:, t] = h
    return out


@looped
def written_through_a_view(x):
    """The view was taken before the loop."""
    out = torch.zeros_like(x)
    inner = out[:, :, 1:3]
    for t in range(x.shape[1]):
        inner[:, t] = x[:, t, :2]
    return out, inner


@looped
def summed_in_place(x):
    """`+=` on a tensor from outside."""
    total = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        total += row.exp()
    return total


@looped
class Buffered(nn.Module):
    """A buffer is written to in every round, and lasts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        for row in x.transpose(0, 1):
            self.seen.add_(row.detach().sum(0))
        return x * self.seen


# --- lists that grow ----------------------------------------------------------------------------


@looped
def stacked(x):
    """What every round made, in a new dimension."""
    h, outs = torch.zeros(3, 4), []
    for t in range(x.shape[1]):
        h = torch.tanh(h * 0.5 + x[:, t])
        outs.append(h)
    return torch.stack(outs, 1), torch.stack(outs), torch.stack(outs, dim=-1), h


@looped
def concatenated(x):
    """What every round made, in a dimension that it has."""
    outs = []
    for row in x.transpose(0, 1):
        outs.append(row[:, :2] * 2)  # noqa: PERF401 - as people write it
    return torch.cat(outs), torch.cat(outs, dim=-1), torch.concat(outs, 1), outs[-1]


@looped
def two_a_round(x):
    """Two items for each row, and a list for other things."""
    outs, sums = [], []
    for row in x.transpose(0, 1):
        outs.append(row * 2)
        sums.append(row.sum())
        outs.append(row * 3)
    return torch.stack(outs, 1), torch.stack(sums), len(outs)


@looped
def comprehension(x):
    """A list that is built."""
    return torch.stack([row.exp() for row in x.transpose(0, 1)], 1)


@looped
def comprehension_by_number(x):
    """With the round's number, and a nested function."""
    return torch.cat([(lambda k: x[:, k] * k)(t) for t in range(x.shape[1])], 1)


@looped
def looped_over(x):
    """The list is iterated over, and asked for its length and its items."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    h = torch.zeros(3, 4)
    for out in outs:
        h = h * 0.5 + out
    k = torch.zeros(3, 4)
    for i in range(len(outs)):
        k = k * 0.25 + outs[i]
    return h, k, len(outs)


@looped
def rows_in_a_list(x):
    """`list(x)`, which a dictionary holds meanwhile."""
    rows = list(x.transpose(0, 1) * 2)
    found = {}
    found.__setitem__("rows", rows)
    return torch.cat(found["rows"], 1), torch.stack([row.max() for row in list(x.movedim(1, 0))])


@looped(gradients=False)
def numbers_gone_over(x):
    """What `tolist` gives, gone over at once: numbers, and lists of them."""
    h = torch.zeros(3, 4)
    for n in x.argmax(2)[0].tolist():
        h = h * 0.5 + n
    for a, _, b, c in x.argmax(0).tolist():
        h = h * a + b - c
    return h


@looped
def held_elsewhere(x):
    """The list has another name, and lies in a dictionary."""
    outs = []
    found = {"outs": outs}
    same = outs
    for row in x.transpose(0, 1):
        found["outs"].append(row * 2)
    return torch.stack(same, 1)


@looped
class Stateful(nn.Module):
    """A list of an object that the call makes, filled by a method, layer after layer."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.cells = nn.ModuleList(nn.GRUCell(4, 4) for _ in range(2))

    def forward(self, x):
        for cell in self.cells:
            outs, h = [], x.new_zeros(3, 4)
            for t in range(x.shape[1]):
                h = cell(x[:, t], h)
                outs.append(h)
            x = torch.stack(outs, dim=1)
        return x


@looped
class Conditioned(nn.Module):
    """What is appended depends on data."""

    def forward(self, x):
        outs = []
        for row in x.transpose(0, 1):
            out = row
            if row.sum() > 0:
                out = row * 2
            outs.append(out)
        return torch.stack(outs, 1)


@looped(least=1)
def sum_from_zero(x):
    """What is carried is a number at first."""
    total = 0
    for row in x.transpose(0, 1):
        total = total + row
    return total


@looped
class StateFromNone(nn.Module):
    """A cell that makes its own first state, as torch's do."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.gru = nn.GRU(4, 4, batch_first=True)

    def forward(self, x):
        h, outs = None, []
        for t in range(x.shape[1]):
            out, h = self.gru(x[:, t : t + 1], h)
            outs.append(out)
        return torch.cat(outs, 1), h


@looped
def extended(x):
    """By other ways to append."""
    outs, others = [], []
    for row in x.transpose(0, 1):
        outs.extend([row, row * 2])
        others += [row]
    return torch.stack(outs), torch.stack(others)


@looped
def lists_in_lists(x):
    """A loop in a loop, each with a list."""
    outs = []
    for row in x.transpose(0, 1):
        inner = []
        for other in x.transpose(0, 1):
            inner.append(other * row)  # noqa: PERF401
        outs.append(torch.stack(inner).sum(0))
    return torch.stack(outs)


@looped
def differences(x):
    """The row before, which is nothing at first."""
    before, outs = None, []
    for row in x.transpose(0, 1):
        outs.append(row if before is None else row - before)
        before = row
    return torch.stack(outs)


@looped
def in_branches(x):
    """Loops in both branches of an `if` on data, and a `while` in a loop."""
    h = torch.zeros(3, 4)
    if x.sum() > 0:
        for row in x.transpose(0, 1):
            h = h + row
    else:
        for row in x.transpose(0, 1):
            k = row.abs().sum() + 0.1
            while k < 10:
                k = k * 2
            h = h - row * k
    return h


@looped(least=1)
def first_of_list(x):
    """A list that begins with an item, and is asked whether it is empty."""
    outs = [x.sum(1)]
    for i, row in enumerate(x.transpose(0, 1)):
        outs.append(row + i)
    empty = [row for row in x.transpose(0, 1)]  # noqa: C416 - as people write it
    return torch.stack(outs) + (1 if empty else 2)


@looped
def popped(x):
    """An item is taken out."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    outs.pop()
    return x


@looped
def sliced(x):
    """A part of it."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    return torch.stack(outs[1:])


@looped
def counted(x):
    """Items are counted by C."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    k = 0
    for _ in enumerate(outs):
        k += 1
    return x * k


@looped(refused="list-grown")
def handed_over(x):
    """As arguments of a call."""

    def total(*rows):
        return sum(rows)

    return total(*[row.exp() for row in x.transpose(0, 1)])


@looped
def copied(x):
    """Another list of the same items."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    return torch.stack(list(outs))


@looped(refused="list-grown")
def taken_apart(x):
    """Into variables."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    first, _, _, _, _ = outs
    return first


@looped
def added(x):
    """A longer one."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    return torch.stack([*outs, x[:, 0]])


@looped
def added_to_another(x):
    """In a new list, by `+`."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    return torch.stack(outs + [x[:, 0]])


@looped
def repeated(x):
    """In a new list, by `*`."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    return torch.stack(outs * 2)


@looped
def looked_into(x):
    """A round looks at what the rounds before it appended."""
    outs = [x.sum(1)]
    for row in x.transpose(0, 1):
        outs.append(outs[-1] * 0.5 + row)
    return torch.stack(outs)


@looped
def counted_by_rounds(x):
    """A round asks how many were appended."""
    outs = []
    for row in x.transpose(0, 1):
        outs.append(row / (len(outs) + 1))
    return torch.stack(outs)


@looped
def asked_by_rounds(x):
    """A round asks whether any were appended."""
    outs = []
    for row in x.transpose(0, 1):
        outs.append(row + 1 if outs else row)
    return torch.stack(outs)


@looped
def inserted(x):
    """At the beginning."""
    outs = []
    for row in x.transpose(0, 1):
        outs.insert(0, row)
    return torch.stack(outs)


@looped
def last_of_two_lists(x):
    """Two lists, each of the other's last item; both begin with one."""
    a, b = [x.sum(1)], [x.mean(1)]
    for row in x.transpose(0, 1):
        a.append(b[-1] + row)
        b.append(a[-1] * 0.5)
    return torch.stack(a), torch.stack(b)


@looped(least=1)
def stacked_by_rounds(x):
    """A round stacks what was appended so far, as attention to the past does."""
    outs = []
    for row in x.transpose(0, 1):
        past = torch.stack(outs).sum(0) if outs else torch.zeros(3, 4)
        outs.append(torch.tanh(row * 2 + past))
    return torch.stack(outs, 1)


@looped
def window_by_rounds(x):
    """A round takes the last three, of which the first ones lie before the loop."""
    outs = [x.sum(1)]
    for row in x.transpose(0, 1):
        outs.append(torch.stack(outs[-3:]).sum(0) * 0.1 + row)
    return torch.stack(outs)


@looped(stock=False)
def last_by_inner_rounds(x):
    """A loop in a loop looks at the list that the outer one fills."""
    outs = [x.sum(1)]
    for row in x.transpose(0, 1):
        h = row
        for other in x.transpose(0, 1):
            h = h + outs[-1] * other
        outs.append(torch.tanh(h))
    return torch.stack(outs)


@looped
def backwards_and_joined(x):
    """Reversed, in two ways, and joined with others."""
    outs = [row * 2 for row in x.transpose(0, 1)]
    h = torch.zeros(3, 4)
    for out in reversed(outs):
        h = h * 0.5 + out
    joined = tuple(outs[::-1]) + (h,)
    return h, torch.stack(joined), len(joined)


@looped
def taken_from_both_ends(x):
    """What was there before, and the last item, of which there are two in each round."""
    outs = [x.mean(1)]
    for row in x.transpose(0, 1):
        outs.append(row * 2)
        outs.append(row * 3)
    last, first = outs.pop(), outs.pop(0)
    return torch.stack([*outs, x.sum(1)]), last, first, len(outs)


@looped
def history_of_an_object(x):
    """A method appends to a list of an object, and counts it."""

    class History:
        def __init__(self):
            self.states = [x.sum(1)]

        def step(self, row):
            self.states.append(self.states[-1] * 0.5 + row)
            return len(self.states)

    history, n = History(), 0
    for row in x.transpose(0, 1):
        n = history.step(row)
    return torch.stack(history.states), n


@looped
def items_lie_transposed(x):
    """An item has the strides that eager code gives it."""
    outs = [(row * 2).t() for row in x.transpose(0, 1)]
    return torch.stack([*outs, x.sum(1).t()]), torch.cat([each.t() for each in outs] + [x.sum(1)])


@looped(refused="branch-returns")
def returned_row(x):
    """Eager code gives a view of x."""
    outs = [row for row in x.transpose(0, 1)]  # noqa: C416 - as people write it
    return torch.stack(outs), outs[0]


@looped(refused="list-grown")
def replaced(x):
    """An item is."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    outs[0] = x.sum(1)
    return torch.stack(outs)


@looped(refused="branch-writes")
def appended_and_written(x):
    """All items are one tensor, which every round changes."""
    outs, z = [], x.sum(1)
    for row in x.transpose(0, 1):
        z.add_(row)
        outs.append(z)
    return torch.stack(outs)


@looped(refused="write-after-branch")
def begun_and_written(x):
    """What is carried begins as what rounds write to."""
    z = x.sum(1)
    h = z
    for row in x.transpose(0, 1):
        z.add_(row)
        h = h * 0.5 + z
    return h


@looped(refused="branch-writes")
def carried_and_written(x):
    """What is carried becomes what rounds write to."""
    z, h, g = x.sum(1), torch.zeros(3, 4), torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        z.add_(row)
        g = h + z
        h = z
    return g


@looped(refused="branch-writes")
def rows_and_written(x):
    """What is iterated over is written to."""
    y, h = x * 1, torch.zeros(3, 4)
    for row in y.transpose(0, 1):
        y.add_(1)
        h = h + row
    return h


@looped(refused="branch-writes")
def rows_written(x):
    """Rows are written to, which are views."""
    y = x * 1
    for row in y.transpose(0, 1):
        row.mul_(2)
    return y


@looped(refused="list-grown")
def returned(x):
    """As a result."""
    return [row.exp() for row in x.transpose(0, 1)]


@looped(refused="write-after-branch")
def item_written(x):
    """An item of the list is what the last round made."""
    outs = [row.exp() for row in x.transpose(0, 1)]
    outs[-1].add_(1)
    return torch.stack(outs)


@looped(refused="loop-carry-changes")
def shapes_differ(x):
    """What rounds append differs in size."""
    outs = []
    for t in range(x.shape[1]):
        outs.append([x[:, t]])  # noqa: PERF401
    return outs


@looped
def unbound(x):
    """What `unbind` gives, gone over at once."""
    h = torch.zeros(3, 4)
    for row in x.unbind(1):
        h = torch.tanh(h + row)
    for row in torch.unbind(x, dim=-2):
        h = h * 0.5 - row
    return h


@looped
def unbound_and_stacked(x):
    """In a comprehension."""
    return torch.stack([row * 2 for row in x.unbind(1)], 1)


@looped(least=1)
def split_into_ones(x):
    """Slices that keep the dimension."""
    h = torch.zeros(3, 1, 4)
    for piece in x.split(1, dim=1):
        h = h * 0.5 + piece
    for piece in torch.split(x, 1, -2):
        h = h - piece.cos()
    return h


# --- refused ------------------------------------------------------------------------------------


@looped
def growing_tensor(x):
    """What is carried has another size in each round."""
    y = x[:, :0]
    for t in range(x.shape[1]):
        y = torch.cat([y, x[:, t : t + 1] * 2], 1)
    return y


@looped
def generated(x):
    """A prompt, to which each round adds what it makes of all before."""
    ids = x.sum(1, keepdim=True) * 1
    for t in range(x.shape[1]):
        ids = torch.cat([ids, ids.mean(1, keepdim=True) + t], 1)
    return ids, ids.shape[1]


@looped
def grown_in_front(x):
    """New rows come before the old ones, which change, and are written to afterwards."""
    y = torch.zeros(3, 0, 4)
    for row in x.transpose(0, 1):
        y = torch.cat([row.unsqueeze(1), y * 0.5], 1)
        y.mul_(2)
    y.add_(1)
    return y


@looped
def grown_by_two(x):
    """Two tensors, along unlike dimensions, one of them by two."""
    keys, values = torch.zeros(3, 2, 0), torch.zeros(0, 4)
    for row in x.transpose(0, 1):
        keys = torch.cat([keys, row[:, :2].unsqueeze(-1), row[:, 2:].unsqueeze(-1)], -1)
        values = torch.cat([values, row])
    return keys, values


@looped(stock=False)
def attended(x):
    """A cache of keys that each round attends to, in a loop over the rows, twice nested."""
    out = torch.zeros(3, 0, 4)
    for row in x.transpose(0, 1):
        keys = torch.zeros(3, 0, 4)
        for other in x.transpose(0, 1):
            keys = torch.cat([keys, torch.tanh(other * row)[:, None]], 1)
        out = torch.cat([out, (keys @ row[:, :, None]).sum(1, keepdim=True) + row[:, None]], 1)
    return out


@looped(least=1)
def grown_from_the_input(x):
    """Without a round, it would be x itself."""
    y = x
    for row in x.transpose(0, 1):
        y = torch.cat([y, row.unsqueeze(1)], 1)
    return y


@looped(refused="loop-carry-changes")
def doubled(x):
    """Longer by another number in each round."""
    y = torch.ones(1, 3)
    for _ in range(x.shape[1]):
        y = torch.cat([y, y])
    return y


@looped(refused="branch-writes")
def grown_and_written(x):
    """The first round writes to what callers see."""
    y = x
    for row in x.transpose(0, 1):
        y.add_(1)
        y = torch.cat([y, row[:, None].clone()], 1)
    return y


@looped
def left_by_break(x):
    """Once enough is there."""
    h, n = torch.zeros(3, 4), 0
    for row in x.transpose(0, 1):
        h = h * 0.5 + row
        n += 1
        if h.sum() > 1:
            break
    return h * n


@looped
def left_by_break_or_not(x):
    """An `else`, and a `break` before anything is done."""
    h = torch.zeros(3, 4)
    for t in reversed(range(x.shape[1])):
        if x[:, t].sum() > 2:
            break
        h = h + x[:, t] * t
    else:
        h = h * 100
    return h


@looped
def returned_by_data(x):
    """A round returns what it made, or leaves by `break`, or goes on."""
    h = torch.zeros(3, 4)
    for i, row in enumerate(x.transpose(0, 1)):
        h = torch.tanh(h + row)
        if h.sum() > 2:
            return h * i
        if row.sum() < -4:
            break
    return h - 1


@looped(stock=False)
def inner_loops_return(x):
    """Out of two loops, the inner one of which another leaves by `break`."""
    h = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        for other in x.transpose(0, 1):
            h = h + other * row
            if h.sum() > 30:
                return h
        for other in x.transpose(0, 1):
            h = h - other
            if h.sum() < -3:
                break
    return h * 0.5


@looped
def summed_and_left(x):
    """What is written to in place, until it is enough."""
    out = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        out.add_(row)
        if out.sum() > 1:
            break
    return out


@looped(refused="branches-disagree")
def returns_inside(x):
    """A round that always returns."""
    for row in x.transpose(0, 1):
        if x.shape[0] == 3:
            return row
    return x


@looped(least=1)
def dictionary(x):
    """A dictionary that has another entry after the first round."""
    seen = {"first": x}
    for t, row in enumerate(x.transpose(0, 1)):
        seen["last"] = row * t
    return seen


@looped(refused="loop-raises")
def raises(x):
    """In every round."""
    h = torch.zeros(3, 4)
    for row in x.transpose(0, 1):
        h = h + row * int("many")
    return h


@looped(refused="write-after-branch")
def written_after(x):
    """What a loop returns may be what it began with."""
    h = x[:, 0]
    for t in range(x.shape[1] - 1):
        h = h + x[:, t]
    h.add_(1)
    return h, x


@looped(refused="list-grown")
def last_of_rows(x):
    """Eager code gives a view of x."""
    rows = [x[:, t] for t in range(x.shape[1])]
    return torch.stack(rows), rows[-1]


@looped(least=1)
def last_of_what_is_made(x):
    """A tensor of its own, asked for twice."""
    rows = [x[:, t] * 2 for t in range(x.shape[1])]
    return rows[-1] + 1, rows[-1], torch.stack(rows)


@looped(least=1, gradients=False)
class TakesAnAttribute(nn.Module):
    """What was made before the loop gives way to an attribute, which no round makes."""

    def __init__(self):
        super().__init__()
        self.table = torch.full((3,), 2.0)

    def forward(self, x):
        h = x.sum(1)
        for _ in range(x.shape[1]):
            h = self.table
        return h * 2


@looped
def rolling_window(x):
    """What each round carries is the end of what it made."""
    h = x[:, :2].sum(1) * 2
    for _ in range(x.shape[1]):
        h = torch.cat([h, h[:1]])[1:]
    return h * 2
