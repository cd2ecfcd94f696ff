"""State merge (phi): the two states of a frame at a join point, as one.

What both have in common stays. What differs becomes a result of the branches: tensors and integers
as they are, floats and truths as tensors of one element, whose value is then read off. Containers
made on both sides are taken item by item. Anything else that differs is refused by the name of the
variable, unless nobody reads it.

What is there on one side alone, because the other has left for good, is whatever it is there; the
other returns something of its type, which nobody will read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.flags import has_attributes
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import is_shown, to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import type_text
from monograph.bytecode import MISSING, stand_alike
from monograph.bytecode.evaluation.frame import Mark
from monograph.capture.recording.scalar_tensors import filler, number_tensor
from monograph.capture.restart import Restart
from monograph.diagnostics import Cause, problem
from monograph.integers import Expr, Real, Relation, symbols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.capture.control_flow.region import Region
    from monograph.integers import Int

CONTAINERS: Final = (list, tuple, dict)
ABSENT: Final = Mark("absent")
"""What a state holds that is not there: the way has left for good."""

_ATOMS: Final = frozenset({int, float, bool, complex, str, bytes, type(None), type(...)})


@dataclass(frozen=True, slots=True)
class CommonValue:
    """A value that both ways have in common."""

    value: Any


@dataclass(frozen=True, slots=True)
class RegionResult:
    """The nth result of the branches; `reads` if it is the one element of a tensor."""

    index: int
    reads: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MergedContainer:
    """A container made anew; `keys` are those of a dict."""

    kind: type
    items: tuple[CommonValue | RegionResult | MergedContainer, ...]
    keys: tuple[Any, ...] = ()


MergedValue = CommonValue | RegionResult | MergedContainer


@dataclass(slots=True)
class StateMerge:
    """What is known so far of two states: how each value is made, and what the branches return."""

    regions: Sequence[Region]
    before: frozenset[Expr]
    """The sizes that are known outside of both."""
    written: Sequence[AbstractTensor] = ()
    """Tensors from outside that nobody looks at again, but as what both return."""
    lefts: list[Any] = field(default_factory=list[Any])
    rights: list[Any] = field(default_factory=list[Any])
    containers: list[tuple[Any, Any, MergedContainer]] = field(
        default_factory=list[tuple[Any, Any, MergedContainer]]
    )
    """Those of either state that became one, and as what."""
    where: tuple[str, int] = ("", 0)
    """The variable that is met now, and the place where: "" for what is on the stack."""
    asked: list[tuple[str, tuple[str, int]]] = field(
        default_factory=list[tuple[str, tuple[str, int]]]
    )
    """What each result is called, and where the sides of it met."""
    _met: dict[tuple[int, int], MergedValue] = field(
        default_factory=dict[tuple[int, int], MergedValue]
    )

    def meet(self, left: Any, right: Any, name: str) -> MergedValue:
        """How one value stands for two; `name` is what the code calls it.

        Raises: branches-disagree.
        """
        if left is right and not (self.written and self._is_last_seen(left)):
            return CommonValue(left)
        if left is ABSENT or right is ABSENT:
            return self._alone(left, right)
        known = self._met.get((id(left), id(right)))
        if known is None:
            known = self._met[id(left), id(right)] = self._meet(left, right, name)
        return known

    def _is_last_seen(self, value: Any) -> bool:
        """Whether this is returned, after a write, which callers see by no other name."""
        if not isinstance(value, AbstractTensor):
            return False
        is_own = value.node is not None and value.node.op == "call_function"
        return is_own and any(value is each for each in self.written)

    def _meet(self, left: Any, right: Any, name: str) -> MergedValue:
        if is_same(left, right):
            return CommonValue(left)
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            if has_attributes(left) or has_attributes(right):
                raise _disagree(left, right, name, "attributes")
            return self._result(left, right, name)
        one, other = (kind_of_number(each) for each in (left, right))
        if one is not None and one is other:
            return self._result(left, right, name, reads=one is not int)
        if type(left) is type(right) and type(left) in CONTAINERS:
            one, other = (_left_by(*each) for each in zip(self.regions, (left, right), strict=True))
            keys = _keys(one)
            if len(one) == len(other) and keys == _keys(other):
                pairs = zip(items_of(one), items_of(other), strict=True)
                inner = f"{name}[...]" if " " not in name else f"an item of {name}"
                items = tuple(self.meet(a, b, inner) for a, b in pairs)
                self.containers.append((left, right, MergedContainer(type(left), items, keys)))
                return self.containers[-1][-1]
        if are_texts(left, right):
            return CommonValue(one_of_texts(left, right))
        if stand_alike(left, right):
            return CommonValue(left)
        raise _disagree(left, right, name)

    def _alone(self, left: Any, right: Any) -> MergedValue:
        """A value that one state has."""
        value, region = (right, self.regions[1]) if left is ABSENT else (left, self.regions[0])
        key = (id(left), id(right))
        if key not in self._met:
            self._met[key] = self._made_alone(left, right, value, region)
        return self._met[key]

    def _made_alone(self, left: Any, right: Any, value: Any, region: Region) -> MergedValue:
        kind = kind_of_number(value)
        if isinstance(value, AbstractTensor):
            return self._result(left, right) if _is_inside(value, region) else CommonValue(value)
        if kind is not None:
            if _is_number_inside(value, self.before):
                return self._result(left, right, reads=kind is not int)
        elif type(value) in CONTAINERS:
            pairs = [
                (ABSENT, item) if left is ABSENT else (item, ABSENT)
                for item in items_of(_left_by(region, value))
            ]
            items = tuple(self.meet(one, other, "") for one, other in pairs)
            if not all(isinstance(item, CommonValue) for item in items):
                self.containers.append(
                    (left, right, MergedContainer(type(value), items, _keys(value)))
                )
                return self.containers[-1][-1]
        if type(value) is SymbolicText:
            return CommonValue(one_of_texts(value, value))
        return CommonValue(value)

    def returned(self) -> list[list[Any]]:
        """What either branch returns. Neither is entered."""
        found: list[list[Any]] = []
        sides = (self.lefts, self.rights)
        for region, mine, others in zip(self.regions, sides, sides[::-1], strict=True):
            if all(isinstance(one, torch.Tensor) for one in mine):
                found.append(mine)
                continue
            with region:
                found.append(
                    [
                        _filler(other, self.before) if one is ABSENT else carried(one)
                        for one, other in zip(mine, others, strict=True)
                    ]
                )
        return found

    def _result(
        self, left: Any, right: Any, name: str = "", *, reads: bool = False
    ) -> RegionResult:
        self.asked.append((name, self.where))
        self.lefts.append(left)
        self.rights.append(right)
        return RegionResult(len(self.lefts) - 1, reads)


def _left_by(region: Region, container: Any) -> Any:
    """What a side left in a container: what it wrote to one from outside is put back by now."""
    taken = () if region.effects is None else region.effects.taken
    return next((each.after for each in taken if each.owner is container), container)


def are_texts(left: Any, right: Any) -> bool:
    """Whether both are texts, of which one is not made yet."""
    kinds = {type(left), type(right)}
    return SymbolicText in kinds and kinds <= {SymbolicText, str}


def one_of_texts(left: Any, right: Any) -> SymbolicText:
    """The text that was made on either way; once it decides, texts are made at once."""

    def made() -> str:
        if not is_shown():
            raise Restart("texts")
        return f"{left} or {right}" if left is not right else str(left)

    return SymbolicText(made)


def _is_inside(tensor: AbstractTensor, region: Region) -> bool:
    node = tensor.node
    return node is not None and node.graph is region.graph and node.op != "placeholder"


def _is_number_inside(value: Any, before: frozenset[Expr]) -> bool:
    """Whether a number is only known inside of a region."""
    number = to_python(value)
    if isinstance(number, Expr):
        return not symbols(number) <= before
    return isinstance(number, Relation | Real)


def _filler(value: Any, before: frozenset[Expr]) -> Any:
    """Something of the type of a value of the other branch's, which nobody reads."""
    if not isinstance(value, AbstractTensor):
        return carried(0 if kind_of_number(value) is int else kind_of_number(value)())  # pyright: ignore[reportOptionalCall] - only numbers are returned
    return filler(value.tensor_type, partial(_size, before))


def _size(before: frozenset[Expr], size: Int) -> Any:
    return to_sym(size) if symbols(size) <= before else 0


def is_same(left: Any, right: Any) -> bool:
    """Whether two plain values cannot be told apart: -0.0 is not 0.0."""
    if type(left) not in _ATOMS or type(left) is not type(right):
        return False
    return repr(left) == repr(right) if isinstance(left, float | complex) else left == right


def kind_of_number(value: Any) -> type | None:
    """int, float or bool of a number, symbolic or not; None of anything else."""
    number = to_python(value)
    if issubclass(type(number), Relation):
        return bool
    if issubclass(type(number), Real):
        return float
    if issubclass(type(number), Expr):
        return int
    return type(number) if type(number) in (bool, int, float) else None


def _keys(container: Any) -> tuple[Any, ...]:
    return tuple(container) if isinstance(container, dict) else ()


def items_of(container: Any) -> Sequence[Any]:
    """What a container holds; of a dict, its values."""
    return list(container.values()) if isinstance(container, dict) else container


def _disagree(left: Any, right: Any, name: str, what: str = "value") -> BaseException:
    return problem(
        "branches-disagree",
        causes=[Cause((), described(each)) for each in (left, right)],
        operator="if",
        what=what,
        result=f"`{name}`" if name and " " not in name else name,
        left=described(left),
        right=described(right),
    )


def described(value: Any) -> str:
    """What a value is, in a message."""
    if value is MISSING:
        return "nothing"
    if isinstance(value, AbstractTensor):
        return f"a tensor {type_text(value.tensor_type)}"
    if kind_of_number(value) is not None and not isinstance(value, bool | int | float):
        return "a number of the program"
    if type(value) in _ATOMS:
        return f"`{value!r}`"
    if type(value) in CONTAINERS:
        return f"a {type(value).__name__} of {len(items_of(value))}"
    return f"a {type(value).__name__}"


def carried(value: Any) -> Any:
    """A value as operators carry it: floats and truths as tensors of one element."""
    if isinstance(value, torch.Tensor):
        return value
    kind = kind_of_number(value)
    if kind is bool:
        return number_tensor(value, torch.bool)
    return number_tensor(value, torch.float64) if kind is float else value


class MergedValues:
    """The values, from what the branches returned; of each container, one."""

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = results
        self._containers: dict[MergedContainer, Any] = {}

    def value(self, joined: MergedValue) -> Any:
        """The value that stands for two."""
        if isinstance(joined, CommonValue):
            return joined.value
        if isinstance(joined, RegionResult):
            result = self.results[joined.index]
            return result.item() if joined.reads else result
        if joined not in self._containers:
            self._containers[joined] = self._container(joined)
        return self._containers[joined]

    def _container(self, joined: MergedContainer) -> Any:
        items = [self.value(each) for each in joined.items]
        if joined.kind is dict:
            return dict(zip(joined.keys, items, strict=True))
        return joined.kind(items)


__all__ = [
    "ABSENT",
    "CONTAINERS",
    "CommonValue",
    "MergedValue",
    "MergedValues",
    "RegionResult",
    "StateMerge",
    "are_texts",
    "carried",
    "described",
    "is_same",
    "items_of",
    "kind_of_number",
    "one_of_texts",
]
