"""ExportDB cases: lists, dictionaries, tuples, dataclasses, and what takes them apart."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from monograph.exportdb.registry import case


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _two() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 2), torch.tensor(4)


class Pair(NamedTuple):
    """A named tuple of users."""

    left: Tensor
    right: Tensor


@dataclasses.dataclass
class Options:
    """A dataclass of users."""

    scale: float = 2.0
    names: list[str] = dataclasses.field(default_factory=lambda: ["a", "b"])


@case(
    "python.data-structure",
    example=_two,
    extra=lambda: (torch.randn(3, 2), torch.tensor(1)),
    in_torch="dictionary",
)
class Dictionary(nn.Module):
    """A dictionary that is made and changed within the call."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        elements: dict[str, Tensor] = {}
        elements["x2"] = x * x
        return y * elements["x2"]


@case(
    "python.data-structure",
    "python.control-flow",
    example=lambda: ([torch.randn(3), torch.randn(1)],),
    in_torch="list_unpack",
)
class ListUnpack(nn.Module):
    """A list of inputs taken apart with a star."""

    def forward(self, args: list[Tensor]) -> Tensor:
        x, *others = args
        return x + others[0]


@case(
    "python.data-structure",
    "python.assert",
    "torch.dynamic-shape",
    example=_square,
    in_torch="list_contains",
)
class ListContains(nn.Module):
    """Whether a size is in a list of numbers."""

    def forward(self, x: Tensor) -> Tensor:
        assert x.size(-1) in [6, 3]
        assert x.size(0) not in [4, 5, 6]
        assert "monkey" not in ["cow", "pig"]
        return x + x


@case(
    "python.data-structure",
    "torch.operator",
    example=lambda: ({1: torch.randn(3, 2), 2: torch.randn(3, 2)},),
    in_torch="pytree_flatten",
)
class PytreeFlatten(nn.Module):
    """A structure that is taken apart into its leaves."""

    def forward(self, x: dict[int, Tensor]) -> Tensor:
        leaves, _ = pytree.tree_flatten(x)
        return leaves[0] + 1


@case("python.data-structure", example=lambda: (Pair(torch.randn(2), torch.randn(2)),))
class NamedTuples(nn.Module):
    """Named tuples go in and come out with their class."""

    def forward(self, pair: Pair) -> Pair:
        return Pair(pair.right * 2, pair.left)


@case("python.data-structure", example=_square)
class DictionaryOfResults(nn.Module):
    """Results in dictionaries and lists, nested, in the order they were put there."""

    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"last": x[-1], "all": [x, (x.sum(), x.mean())]}


@case("python.data-structure", example=_square)
class DefaultDictionary(nn.Module):
    """`collections.defaultdict`, `Counter` and `deque` within the call."""

    def forward(self, x: Tensor) -> Tensor:
        groups: dict[str, list[Tensor]] = collections.defaultdict(list)
        for i, name in enumerate("aba"):
            groups[name].append(x[i])
        last = collections.deque(groups["a"], maxlen=1)
        return last[0] * collections.Counter("aba")["a"]


@case("python.data-structure", "python.object-model", example=_square)
class DataclassWithin(nn.Module):
    """A dataclass that the call makes and reads."""

    def forward(self, x: Tensor) -> Tensor:
        options = Options(scale=3.0)
        options.names.append("c")
        return x * options.scale + len(options.names)


@case("python.data-structure", "python.builtin", example=_square)
class Comprehensions(nn.Module):
    """Comprehensions over tensors, with conditions, nested."""

    def forward(self, x: Tensor) -> Tensor:
        rows = [row * i for i, row in enumerate(x) if i != 1]
        table = {i: [cell + i for cell in row] for i, row in enumerate(rows)}
        return torch.stack([cell for row in table.values() for cell in row])


@case("python.data-structure", "python.builtin", example=_square)
class SortedByKey(nn.Module):
    """Python's own sorting, of what is no tensor."""

    def forward(self, x: Tensor) -> Tensor:
        named = {"b": x[0], "a": x[1], "c": x[2]}
        return torch.stack([named[name] for name in sorted(named, key=lambda name: -ord(name))])


@case("python.data-structure", example=lambda: (torch.randn(2, 3), None), in_torch="optional_input")
class OptionalInput(nn.Module):
    """An input that may be left out: whether it is there is part of the call's structure."""

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        if y is not None:
            return y * x
        return x + x


@case(
    "python.data-structure",
    example=lambda: (
        torch.randn(4),
        (torch.randn(4), torch.randn(4)),
        *(torch.ones(4), torch.ones(4)),
    ),
    kwargs=lambda: {"mykw0": torch.ones(4), "input0": torch.randn(4), "input1": torch.randn(4)},
    in_torch="fn_with_kwargs",
)
class FnWithKwargs(nn.Module):
    """Positional inputs, a tuple of them, more of them, and keywords of every kind."""

    def forward(
        self,
        pos0: Tensor,
        tuple0: tuple[Tensor, ...],
        *myargs: Tensor,
        mykw0: Tensor,
        **mykwargs: Tensor,
    ) -> Tensor:
        out = pos0
        for arg in (*tuple0, *myargs):
            out = out * arg
        out = out * mykw0
        return out * mykwargs["input0"] * mykwargs["input1"]


@case(
    "python.data-structure",
    example=lambda: (torch.randn(3), {"scale": torch.tensor(2.0), "bias": torch.tensor(1.0)}),
)
class DictionaryInput(nn.Module):
    """A dictionary of inputs, by any of its keys."""

    def forward(self, x: Tensor, given: dict[str, Tensor]) -> Tensor:
        return x * given["scale"] + given.get("bias", 0)


@case(
    "python.data-structure",
    "torch.dynamic-shape",
    example=lambda: (torch.randn(1, 2, 1, 4), [(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4))]),
)
class KeyValueCache(nn.Module):
    """Keys and values of earlier calls go in, and come out longer."""

    def forward(self, q: Tensor, past: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Any]:
        present: list[tuple[Tensor, Tensor]] = []
        for keys, values in past:
            keys, values = torch.cat([keys, q], 2), torch.cat([values, q], 2)  # noqa: PLW2901
            q = nn.functional.scaled_dot_product_attention(q, keys, values)
            present.append((keys, values))
        return q, present


@case("python.data-structure", "python.builtin", example=_square)
class Unpacking(nn.Module):
    """Starred targets, merged dictionaries, and swapped variables."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        first, *middle, last = x
        first, last = last, first
        found = {"first": first}
        return {**found, "last": last + middle[0]}


@case("python.data-structure", example=_square)
class SlicesOfLists(nn.Module):
    """Lists of tensors that are sliced, extended, inserted into, and reversed."""

    def forward(self, x: Tensor) -> Tensor:
        rows = [*x.unbind(), x[0]]
        rows.insert(1, x[2] * 2)
        del rows[0]
        rows[1:3] = [rows[1] + rows[2]]
        return torch.stack(rows[::-1])


@case("python.data-structure", "python.builtin", example=_square)
class SetsOfNames(nn.Module):
    """Sets decide what is computed."""

    def forward(self, x: Tensor) -> Tensor:
        wanted = {"sin", "cos"} & {"sin", "tan"}
        return x.sin() if "sin" in wanted else x


@case("python.data-structure", "python.object-model", example=_square)
class ListSubclass(nn.Module):
    """A list with a method of its own."""

    def forward(self, x: Tensor) -> Tensor:
        return Rows(x.unbind()).total()


class Rows(list[Tensor]):
    """Rows of a matrix."""

    def total(self) -> Tensor:
        """Their sum."""
        return torch.stack(list(self)).sum(0)
