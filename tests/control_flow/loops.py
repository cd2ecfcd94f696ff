"""Programs with `map`, `while_loop`, `scan` and `associative_scan`."""

import torch
import torch._higher_order_ops as hops
from torch import nn

from tests.control_flow.branches import rows, two
from tests.control_flow.registry import program

# --- map ---------------------------------------------------------------------------------------


@program(lambda n: (torch.rand(n, 4), torch.rand(4), torch.rand(())))
class MapModule(nn.Module):
    """The tutorial's."""

    def forward(self, xs, y, z):
        def body(x, y, z):
            return x + y + z

        return hops.map(body, xs, y, z)


@program(two)
class MapTree(nn.Module):
    """A dictionary is mapped, a tuple comes out, parameters are closed over."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, y):
        def body(d, k):
            return self.linear(d["x"]) * k, d["y"].sum()

        return hops.map(body, {"x": x, "y": y}, torch.tensor(2.0))


@program(lambda n: (torch.rand(3, n, 4),), dynamic=1)
class MapOverFixed(nn.Module):
    """The dimension that varies is inside of the slices."""

    def forward(self, x):
        return hops.map(lambda x: x.softmax(0) + x.shape[0], x)


@program(rows)
class MapOfCond(nn.Module):
    """A branch for each row."""

    def forward(self, x):
        def body(row):
            return torch.cond(row.sum() > 0, lambda r: r.exp(), lambda r: r - 1, (row,))

        return hops.map(body, x)


@program(lambda n: (torch.rand(4, n),), dynamic=1)
class MapOfView(nn.Module):
    """Slices that do not lie side by side."""

    def forward(self, x):
        return hops.map(lambda r: r.view(2, 2) @ r.reshape(2, 2), x.t().contiguous())


@program(lambda n: (torch.rand(n, 3, 4),))
class MapOfMap(nn.Module):
    """One in the other."""

    def forward(self, x):
        scale = x.mean()
        return hops.map(lambda m: hops.map(lambda r: r * scale + m.sum(), m), x)


@program(rows)
class CondOfMap(nn.Module):
    """A loop in one branch only."""

    def forward(self, x):
        return torch.cond(
            x.sum() > 0, lambda x: hops.map(lambda r: r.cumsum(0), x), lambda x: x * 2, (x,)
        )


# --- while_loop --------------------------------------------------------------------------------


@program(rows)
class Simple(nn.Module):
    """A counter and a value."""

    def forward(self, x):
        return hops.while_loop(
            lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + i), (torch.tensor(0), x)
        )


@program(rows)
class UntilData(nn.Module):
    """No trips, one, or many, by what is in the tensor."""

    def forward(self, x):
        return hops.while_loop(lambda x: x.sum() < 30, lambda x: (x.abs() * 1.5 + 0.5,), (x,))


@program(rows)
class IntegerCounter(nn.Module):
    """Python's own integer is carried, and compared with a size."""

    def forward(self, x):
        i, y = hops.while_loop(lambda i, x: i < x.shape[0], lambda i, x: (i + 1, x + i), (0, x))
        return y * i


@program(rows)
class LoopWithParameters(nn.Module):
    """A module is the step."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.limit = nn.Buffer(torch.tensor(3))

    def forward(self, x):
        def step(i, x):
            return i + 1, torch.tanh(self.linear(x))

        return hops.while_loop(lambda i, x: i < self.limit, step, (torch.tensor(0), x))[1]


@program(rows)
class NestedCarry(nn.Module):
    """A dictionary is carried."""

    def forward(self, x):
        def going(i, d):
            return (i < 3) & (d["x"].sum() < 1000)

        def step(i, d):
            return i + 1, {"x": d["x"] * 2, "y": d["y"] + d["x"]}

        return hops.while_loop(going, step, (torch.tensor(0), {"x": x, "y": x.neg()}))


@program(rows)
class Newton(nn.Module):
    """Square roots to a precision."""

    def forward(self, x):
        x = x.abs() + 0.1

        def going(guess):
            return ((guess * guess - x).abs() > 1e-4).any()

        return hops.while_loop(going, lambda guess: ((guess + x / guess) / 2,), (x + 1,))[0]


@program(rows)
class LoopInLoop(nn.Module):
    """Each step runs a loop."""

    def forward(self, x):
        def step(i, x):
            j, y = hops.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + i), (i * 0, x))
            return i + 1, y + j

        return hops.while_loop(lambda i, x: i < 4, step, (torch.tensor(0), x))[1]


@program(lambda n: (torch.rand(4, n),), dynamic=1)
class CarriesView(nn.Module):
    """What is carried first lies otherwise than what comes later."""

    def forward(self, x):
        y = hops.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, (y * 2).contiguous()), (torch.tensor(0), x.t())
        )[1]
        return y + 1


@program(rows)
class CondInLoop(nn.Module):
    """A branch in each step."""

    def forward(self, x):
        def step(i, x):
            return i + 1, torch.cond(x.sum() > 5, lambda x: x / 2, lambda x: x + i, (x,))

        return hops.while_loop(lambda i, x: i < 6, step, (torch.tensor(0), x))[1]


# --- scans -------------------------------------------------------------------------------------


@program(rows)
class Cumulative(nn.Module):
    """The documents' running sum."""

    def forward(self, x):
        def add(carry, row):
            new = carry + row
            return new, new.clone()

        return hops.scan(add, torch.zeros(4), x)


@program(lambda n: (torch.rand(2, n, 4),), dynamic=1)
class ScanOverTime(nn.Module):
    """A cell over the second dimension, with parameters."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        def step(h, row):
            h = self.cell(row, h)
            return h, h * 2

        return hops.scan(step, torch.zeros(2, 4), x, dim=1)


@program(two)
class ScanTree(nn.Module):
    """Trees are carried and scanned, from the end."""

    def forward(self, x, y):
        def step(carry, rows):
            a, b = carry["a"] * 0.5 + rows[0], carry["b"] + rows[1].sum()
            return {"a": a, "b": b}, (a + b, rows[1] * 2)

        init = {"a": torch.ones(4), "b": torch.zeros(())}
        return hops.scan(step, init, (x, y), reverse=True)


@program(rows)
class Associative(nn.Module):
    """Sums of all rows so far."""

    def forward(self, x):
        return hops.associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")


@program(two)
class AssociativeTree(nn.Module):
    """A linear recurrence, as pairs."""

    def forward(self, a, b):
        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        return hops.associative_scan(combine, (a, b), 0, combine_mode="generic")


@program(lambda n: (torch.rand(3, n),), dynamic=1)
class AssociativeReverse(nn.Module):
    """Along the last dimension, from the end, with a closure."""

    def forward(self, x):
        scale = torch.tensor(0.5)
        return hops.associative_scan(
            lambda a, b: a * b * scale, x, 1, reverse=True, combine_mode="generic"
        )


@program(lambda n: (torch.rand(5, 2, 2),), dynamic=None)
class AssociativeMatrices(nn.Module):
    """Products of matrices: not element by element, so it is taken apart."""

    def forward(self, x):
        return hops.associative_scan(lambda a, b: a @ b, x, 0, combine_mode="generic")
