"""ExportDB cases: what is refused because a program could not repeat it, with what to write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor, nn

from monograph.exportdb.registry import case


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


class _ForceByFunction(nn.Module):
    def energy(self, x: Tensor) -> Tensor:
        return (x**2).sum()

    def forward(self, x: Tensor) -> Tensor:
        return -torch.func.grad(self.energy)(x)


@case("torch.operator", example=_square, error="gradient-in-forward", rewrite=_ForceByFunction)
class GradientInForward(nn.Module):
    """`torch.autograd.grad` within forward; `torch.func.grad` is operators, and is captured."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        return -torch.autograd.grad((x**2).sum(), x)[0]


class _CountedInABuffer(nn.Module):
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return x * self.count


@case("torch.mutation", example=_square, error="attribute-changed", rewrite=_CountedInABuffer)
class CountedInAnAttribute(nn.Module):
    """A number that each call changes; a buffer is state that a program has, too."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return x * self.count


class _Growing(nn.Module):
    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        seen = torch.cat([seen, x])
        return seen.mean(0), seen


def _rows_and_seen() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 3), torch.zeros(0, 3)


@case("torch.mutation", example=_rows_and_seen, error="buffer-reshaped", rewrite=_Growing)
class GrowingBuffer(nn.Module):
    """A buffer that is longer after each call; what grows is handed in and given back."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(0, 3))

    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        self.seen = torch.cat([self.seen, x])
        return self.seen.mean(0), seen


class _InOrder(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([row * 2 for row in x])


@case("python.standard-library", example=_square, error="computed-in-thread", rewrite=_InOrder)
class Threads(nn.Module):
    """Work of other threads is not seen; operators of a program run in their own order."""

    def forward(self, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            return torch.stack([*pool.map(lambda row: row * 2, x)])


class _Reshaped(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.t().reshape(-1)


@case("torch.operator", example=_square, error="view-impossible", rewrite=_Reshaped)
class ViewOfATransposed(nn.Module):
    """No view has these strides, in eager code neither; `reshape` copies where it has to."""

    def forward(self, x: Tensor) -> Tensor:
        return x.t().view(-1)


class _MemoryOfItsOwn(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.mul(x, 2)


@case("torch.operator", example=_square, error="out-resized", rewrite=_MemoryOfItsOwn)
class OutOfAnotherSize(nn.Module):
    """`out=` of another size is resized, which PyTorch warns of; a result needs no `out=`."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.mul(x, 2, out=torch.empty(0))


class _Doubling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while x.sum() < 10:
            x = x * 2
        return x


def _positive() -> tuple[Tensor]:
    return (torch.rand(3, 3) + 0.1,)


@case("torch.dynamic-value", example=_positive, error="recursion-on-data", rewrite=_Doubling)
class RecursionOnData(nn.Module):
    """How often a function calls itself depends on data; a loop is captured as one."""

    def doubled(self, x: Tensor) -> Tensor:
        return self.doubled(x * 2) if x.sum() < 10 else x

    def forward(self, x: Tensor) -> Tensor:
        return self.doubled(x)


class _OfOneType(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.double() if x.sum() > 0 else x.exp().double()


@case("torch.cond", example=_square, error="branches-disagree", rewrite=_OfOneType)
class BranchesOfTwoTypes(nn.Module):
    """The two sides of a branch on data give results of one dtype."""

    def forward(self, x: Tensor) -> Tensor:
        return x.double() if x.sum() > 0 else x.exp()


class _PythonAsItIs(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu() + 1


@case("torch.escape-hatch", example=_square, error="scripted-module", rewrite=_PythonAsItIs)
class ScriptedPart(nn.Module):
    """TorchScript has no Python to capture; the module before `torch.jit.script` has."""

    def __init__(self) -> None:
        super().__init__()
        self.part = torch.jit.script(_PythonAsItIs())

    def forward(self, x: Tensor) -> Tensor:
        return self.part(x)


class _DrawnAndCompared(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        seeded = torch.Generator().manual_seed(0)
        return (torch.rand(3, 3, generator=seeded) < x.sigmoid()).float()


@case("torch.operator", example=_square, error="own-generator", rewrite=_DrawnAndCompared)
class GeneratorOfItsOwn(nn.Module):
    """`bernoulli` takes a generator that no operator of a program does; `rand` has one."""

    def forward(self, x: Tensor) -> Tensor:
        seeded = torch.Generator().manual_seed(0)
        return torch.bernoulli(x.sigmoid(), generator=seeded)


class _WrittenByAnOperator(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        table = torch.zeros(3)
        table[0] = 1
        return x + table


@case("torch.escape-hatch", example=_square, error="memory-exposed", rewrite=_WrittenByAnOperator)
class WrittenThroughNumpy(nn.Module):
    """NumPy writes to the memory of a tensor, where no operator is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.zeros(3)

    def forward(self, x: Tensor) -> Tensor:
        self.table.numpy()[0] = 1
        return x + self.table


@case("torch.mutation", example=_square, error="mutated-constant", rewrite=_CountedInABuffer)
class CountedInAPlainTensor(nn.Module):
    """A tensor that is no buffer is a constant of the program, and is not written to."""

    def __init__(self) -> None:
        super().__init__()
        self.count = torch.zeros((), dtype=torch.int64)

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x * self.count


class _Named(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"double": 2 * x, "half": x / 2}


@case("python.data-structure", example=_square, error="unsupported-output", rewrite=_Named)
class SetOfResults(nn.Module):
    """A set has no order that results could be told apart by; a dictionary names them."""

    def forward(self, x: Tensor) -> set[Tensor]:
        return {2 * x, x / 2}


class _TakenIsAResult(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y, count = torch.cond(
            x.sum() > 0,
            lambda x: (x + 1, torch.ones(())),
            lambda x: (x - 1, torch.zeros(())),
            (x,),
        )
        return y * count


@case("torch.cond", example=_square, error="branch-side-effect", rewrite=_TakenIsAResult)
class BranchThatWrites(nn.Module):
    """A branch of `torch.cond` gives results, and appends to no list of the code around it."""

    def forward(self, x: Tensor) -> Tensor:
        taken: list[str] = []

        def positive(x: Tensor) -> Tensor:
            taken.append("positive")
            return x + 1

        y = torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))
        return y * len(taken)
