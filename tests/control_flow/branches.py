"""Programs with `torch.cond`, those of the documents that the package implements among them."""

import torch
from torch import nn

from tests.control_flow.registry import program


def rows(n: int) -> tuple[torch.Tensor, ...]:
    """A matrix of n positive rows."""
    return (torch.rand(n, 4),)


def two(n: int) -> tuple[torch.Tensor, ...]:
    """Two such matrices."""
    return torch.rand(n, 4), torch.rand(n, 4)


@program(lambda n: (torch.rand(3, 3),), dynamic=None)
class Bad1Fixed(nn.Module):
    """The tutorial's repaired branch."""

    def forward(self, x):
        def true_fn(x):
            return torch.sin(x)

        def false_fn(x):
            return torch.cos(x)

        return torch.cond(x.sum() > 0, true_fn, false_fn, [x])


@program(lambda n: (torch.rand(2, 3, n * 3),), dynamic=None)
class CondPredicate(nn.Module):
    """The documents' condition on a rank and a size."""

    def forward(self, x):
        pred = x.dim() > 2 and x.shape[2] > 10
        return torch.cond(pred, lambda x: x.cos(), lambda y: y.sin(), [x])


@program(lambda n: (torch.rand(n, 3, 4),), sizes=(5, 1, 2, 9))
class CondPredicateOnSizes(nn.Module):
    """The same where the size varies: both branches are in the program."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 3, lambda x: x.cos().sum(2), lambda y: y.sin().sum(2), [x])


@program(rows)
class OptionOne(nn.Module):
    """The guide's repaired branch: one side returns its input."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x, (x,))


class CondBranchModule(nn.Module):
    """The documents' branch that is a method of another module."""

    def subm(self, x):
        """A method."""
        return x.relu()

    def forward(self, x):
        return self.subm(x) + 1


@program(rows)
class BranchClassMethod(nn.Module):
    """Methods of this module and of a submodule as branches."""

    def __init__(self):
        super().__init__()
        self.inner = CondBranchModule()
        self.linear = nn.Linear(4, 4)

    def positive(self, x):
        """A method."""
        return self.linear(x)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.positive, self.inner.subm, (x,))


@program(rows)
class ModulesAsBranches(nn.Module):
    """Submodules themselves."""

    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.right = nn.LayerNorm(4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.left, self.right, (x,)) + x


@program(rows)
class SharedParameter(nn.Module):
    """One parameter used in both branches and around them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4))

    def forward(self, x):
        y = torch.cond(
            x.sum() > 0, lambda x: x * self.weight, lambda x: x - self.weight.exp(), (x,)
        )
        return y @ torch.diag(self.weight)


@program(rows)
class Closures(nn.Module):
    """Tensors and numbers of the enclosing function."""

    def forward(self, x):
        scale, y = 3.0, x.cumsum(1)

        def positive(x):
            return x * scale + y

        return torch.cond(x.sum() > 0, positive, lambda x: x - y.mean(), (x,))


@program(rows)
class NoOperands(nn.Module):
    """Nothing is given, everything is closed over."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)


@program(rows)
class NestedOperands(nn.Module):
    """Operands and results in dictionaries, lists and tuples."""

    def forward(self, x):
        def positive(d, pair):
            return {"a": d["x"] + pair[0], "b": [pair[1], d["x"].sum()]}

        def negative(d, pair):
            return {"a": d["x"] * pair[1], "b": [pair[0] * 2, d["x"].mean()]}

        out = torch.cond(x.sum() > 0, positive, negative, ({"x": x}, (x + 1, x.sin())))
        return out["a"], out["b"]


@program(rows)
class Nested(nn.Module):
    """A branch in a branch, each with closures of its own."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        def outer(x):
            y = self.linear(x)
            return torch.cond(x.sum() > 20, lambda x: x + y, lambda x: self.linear(y) - x, (x,))

        return torch.cond(x.sum() > 0, outer, lambda x: x.neg(), (x,))


@program(rows, sizes=(5, 3, 4, 9))
class BySize(nn.Module):
    """A comparison of sizes, which is no guard."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))


@program(rows, sizes=(5, 3, 4, 9))
class SizeInside(nn.Module):
    """What holds in a branch because of its condition is no guard of the program."""

    def forward(self, x):
        return torch.cond(x.shape[0] >= 4, lambda x: x[3] * 2, lambda x: x[0] - x.shape[0], (x,))


@program(rows, sizes=(5, 3, 4, 9))
class BranchOnSizeInside(nn.Module):
    """Python's own branch on a size in a branch, decided by that branch's condition."""

    def forward(self, x):
        def long(x):
            return x.sum(0) if x.shape[0] > 3 else x[0] * 100

        return torch.cond(x.shape[0] > 3, long, lambda x: x.mean(0), (x,))


@program(rows)
class SizesUsed(nn.Module):
    """Sizes as numbers in both branches, floats made of them too."""

    def forward(self, x):
        n = x.shape[0]
        half = n / 2

        def positive(x):
            return x * half + n * 2

        return torch.cond(x.sum() > 0, positive, lambda x: x / (n + 1) + n * 0.5, (x,))


@program(rows)
class SizesDiffer(nn.Module):
    """As many rows as the branch likes."""

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: x[1:] * 2, lambda x: torch.cat([x, x]), (x,))
        return y.sum(0), y * 3


@program(rows, dynamic=None)
class FixedSizesDiffer(nn.Module):
    """Three rows or five."""

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: x[:3] + 0, lambda x: x + 1, (x,))
        return y.relu()


@program(rows)
class IntegersDiffer(nn.Module):
    """An integer as a result."""

    def forward(self, x):
        y, n = torch.cond(x.sum() > 0, lambda x: (x + 1, 2), lambda x: (x - 1, 7), (x,))
        return y * n


@program(rows)
class ConstantsAgree(nn.Module):
    """None and equal constants beside tensors."""

    def forward(self, x):
        y, none, one = torch.cond(
            x.sum() > 0, lambda x: (x + 1, None, 1), lambda x: (x - 1, None, 1), (x,)
        )
        assert none is None
        return y * one


@program(rows)
class ReturnsOperand(nn.Module):
    """A branch returns what it was given, and the same twice; the results are written to."""

    def forward(self, x):
        a, b = torch.cond(x.sum() > 0, lambda x: (x, x), lambda x: (x + 1, x - 1), (x,))
        a.add_(1)
        return a, b


@program(rows)
class ReturnsView(nn.Module):
    """A branch returns a view of what it was given."""

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: x.view(-1), lambda x: x.reshape(-1) * 2, (x,))
        return y + 1


@program(rows)
class Computed(nn.Module):
    """Branches that agree on a layout that is not contiguous."""

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: (x * 2).t(), lambda x: (x - 1).t(), (x,))
        return y.contiguous() + 1, y


@program(rows)
class WritesToIntermediate(nn.Module):
    """In-place operators on what the branch made itself."""

    def forward(self, x):
        def positive(x):
            y = x.clone()
            y[0] = 0
            y.mul_(2)
            return y

        return torch.cond(x.sum() > 0, positive, lambda x: x.add(1).relu_(), (x,))


@program(rows)
class WritesToCaptured(nn.Module):
    """A tensor of the enclosing function is written to by one branch."""

    def forward(self, x):
        total = torch.zeros(4)

        def positive(x):
            total.add_(x.sum(0))
            return x + total

        y = torch.cond(x.sum() > 0, positive, lambda x: x - total, (x,))
        return y, total


@program(rows)
class WritesThroughView(nn.Module):
    """A part of a tensor of the enclosing function, by both branches."""

    def forward(self, x):
        y = x.clone()

        def positive(x):
            y[0] = 1.0
            return x.sum()

        def negative(x):
            y[:, 1].mul_(3)
            return x.sum()

        s = torch.cond(x.sum() > 0, positive, negative, (x,))
        return y * s


@program(rows)
class WritesToBuffer(nn.Module):
    """A buffer counts how often a branch ran."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        def positive(x):
            self.count.add_(1)
            return x * self.count

        return torch.cond(x.sum() > 0, positive, lambda x: x - self.count, (x,))


@program(rows)
class WritesToInput(nn.Module):
    """An input is changed, inside of a nested branch."""

    def forward(self, x):
        def inner(x):
            x.mul_(2)
            return x.sum()

        def positive(x):
            return torch.cond(x.sum() > 20, inner, lambda x: x.mean(), (x,))

        y = torch.cond(x.sum() > 0, positive, lambda x: x.min(), (x,))
        return y + x


@program(rows, stock=False)
class BatchNormInBranch(nn.Module):
    """Running statistics are updated where the branch runs."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.norm, lambda x: x * 2, (x,))


@program(rows)
class NoGradAround(nn.Module):
    """The whole call under no_grad, and a branch that turns gradients on."""

    def forward(self, x):
        def positive(x):
            with torch.enable_grad():
                return x.sin()

        with torch.no_grad():
            y = torch.cond(x.sum() > 0, positive, lambda x: x.cos(), (x,))
        return y + x


@program(rows)
class NoGradInside(nn.Module):
    """A branch under no_grad."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        def positive(x):
            with torch.no_grad():
                y = self.linear(x)
            return self.linear(y)

        return torch.cond(x.sum() > 0, positive, self.linear, (x,))


@program(rows)
class AutocastInside(nn.Module):
    """A branch under autocast."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        def positive(x):
            with torch.autocast("cpu", torch.bfloat16):
                return self.linear(x).float()

        return torch.cond(x.sum() > 0, positive, self.linear, (x,))


@program(rows)
class ItemInside(nn.Module):
    """A number read from data, in a branch."""

    def forward(self, x):
        return torch.cond(
            x.sum() > 0, lambda x: x * x.max().item(), lambda x: x + x.argmax().item(), (x,)
        )


@program(rows)
class ConditionFromItem(nn.Module):
    """A condition that is a number read from data."""

    def forward(self, x):
        n = (x > 0.5).sum().item()
        return torch.cond(n > 3, lambda x: x + n, lambda x: x - n, (x,))


@program(rows)
class ConstantCondition(nn.Module):
    """Python's own True chooses while the program is captured."""

    def forward(self, x):
        return torch.cond(True, lambda x: x + 1, lambda x: x - 1, (x,))


@program(rows)
class ChainOfBranches(nn.Module):
    """Ten, one after the other."""

    def forward(self, x):
        for i in range(10):
            x = torch.cond(x.sum() > i, lambda x, i=i: x - i, lambda x, i=i: x + i, (x,))
        return x


@program(two)
class TwoDynamicInputs(nn.Module):
    """Operands with one size in common."""

    def forward(self, x, y):
        return torch.cond(x.sum() > 0, lambda x, y: x @ y.t(), lambda x, y: y @ x.t(), (x, y))


@program(rows)
class InSubmodule(nn.Module):
    """The call is made by a submodule, twice."""

    def __init__(self):
        super().__init__()
        self.inner = BranchClassMethod()

    def forward(self, x):
        return self.inner(self.inner(x) - 1)


@program(rows)
class RandomInside(nn.Module):
    """Constants and literals in branches."""

    def forward(self, x):
        def positive(x):
            return x + torch.tensor([1.0, 2.0, 3.0, 4.0]) + torch.arange(4)

        return torch.cond(x.sum() > 0, positive, lambda x: x * torch.ones(4), (x,))
