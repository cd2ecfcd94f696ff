"""Type inference of loop bodies: what a step of a higher-order operator is given and returns.

A step is recorded once and stands for all, so what it returns must be of the type that it is given.
Where only the order in memory differs, or whether gradients are recorded, the types are widened and
the step is recorded again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor, with_requires_grad
from monograph.abstract.tensor_type import TensorType, type_text
from monograph.capture.control_flow.region import made_at
from monograph.capture.recording.lifting import as_nodes
from monograph.diagnostics import Cause, problem
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, eq, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import MonographError
    from monograph.integers import Int


class CarriedTypes:
    """What is carried from step to step: initial values, and the types that hold for every step."""

    def __init__(self, recorder: Recorder, operator: str, carried: Sequence[Any]) -> None:
        self.recorder = recorder
        self.operator = operator
        self.carried: list[Any] = [
            recorder.abstract(each) if isinstance(each, torch.Tensor) else self._integer(each)
            for each in carried
        ]
        self.types: list[TensorType | None] = [
            each.tensor_type if isinstance(each, AbstractTensor) else None for each in self.carried
        ]
        self.requires_grad = False

    def _integer(self, value: Any) -> Any:
        number = to_python(value)
        if type(number) is int or isinstance(number, Expr):
            return value
        reason = f"it carries a {type(value).__name__}, and carries tensors and integers"
        raise problem("operator-arguments", operator=self.operator, reason=reason)

    def stand_ins(self, region: Region) -> list[Any]:
        """One step's own values of what is carried. The region is entered."""
        return [
            region.number_stand_in("i") if each is None else region.stand_in("carried", each)
            for each in self.types
        ]

    def initial(self) -> list[Any]:
        """The nodes or constants that the loop begins with, of the types of every step."""
        return as_nodes(
            self.recorder.writer,
            [
                self._initial(value, wanted)
                for value, wanted in zip(self.carried, self.types, strict=True)
            ],
        )

    def _initial(self, value: Any, wanted: TensorType | None) -> Any:
        if not isinstance(value, AbstractTensor):
            return self.recorder.convert(value)[1]
        if wanted is not None and wanted.strides is None and value.tensor_type.strides is not None:
            # Not `contiguous`, which is a copy or none as sizes decide.
            form = {"memory_format": torch.contiguous_format}
            value = self.recorder.call(torch.ops.aten.clone.default, (value,), form)
        return value.node


def check_step(
    loop: CarriedTypes, region: Region, outputs: Sequence[Any], *, is_strict: bool = True
) -> bool:
    """Whether a step returns what it is given; False where it is to be recorded with wider types.

    With `is_strict` unset, False also where it would be refused for a layout or for gradients.

    Raises: loop-carry-changes.
    """
    if len(outputs) != len(loop.types):
        raise _changes(region, "structure", "", (len(loop.types), outputs), (len(outputs), outputs))
    settled = True
    for i, (given, made) in enumerate(zip(loop.types, outputs, strict=True)):
        which = f"carried value {i}" if len(outputs) > 1 else ""
        if given is None or not isinstance(made, AbstractTensor):
            _check_number(region, given, made, which)
            continue
        _check_same(region, given, made, which)
        widened = _widened(given, made.tensor_type)
        if made.tensor_type.requires_grad:
            loop.requires_grad = True
        if widened is None:
            raise _changes(
                region,
                "layout",
                which,
                (f"strides {given.stride()}", made),
                (f"strides {made.tensor_type.stride()}", made),
            )
        if widened is not given and is_strict:
            loop.types[i], settled = widened, False
    return settled


def _check_number(region: Region, given: TensorType | None, made: Any, which: str) -> None:
    is_integer = type(to_python(made)) is int or isinstance(to_python(made), Expr)
    if given is not None or not is_integer:
        before = "an integer" if given is None else str(given)
        after = str(made) if isinstance(made, AbstractTensor) else f"a {type(made).__name__}"
        raise _changes(region, "structure", which, (before, made), (after, made))


def _check_same(region: Region, given: TensorType, made: AbstractTensor, which: str) -> None:
    t = made.tensor_type
    for what, one, other in (("dtype", given.dtype, t.dtype), ("device", given.device, t.device)):
        if one != other:
            raise _changes(region, what, which, (one, made), (other, made))
    same = given.rank == t.rank and all(map(_equal, given.shape, t.shape))
    if not same:
        raise _changes(region, "shape", which, (list(given.shape), made), (list(t.shape), made))


def _widened(given: TensorType, made: TensorType) -> TensorType | None:
    """A type for both; None where their elements lie in different orders whatever is done."""
    both = given
    same = all(map(_equal, given.stride(), made.stride()))
    is_wide = given.strides is None  # wherever its memory begins
    if not same or not (is_wide or _equal(given.offset, made.offset)):
        plain = TensorType(given.shape, given.dtype, given.device)
        if made.strides is not None and not all(map(_equal, plain.stride(), made.stride())):
            return None
        both = TensorType(given.shape, given.dtype, given.device)
        both = with_requires_grad(both, given.requires_grad)
    if made.requires_grad and not given.requires_grad:
        both = with_requires_grad(both, True)
    return both


def _equal(one: Int, other: Int) -> bool:
    return one is other or known(eq(one, other)) is True


def _changes(
    region: Region, what: str, which: str, before: tuple[Any, Any], after: tuple[Any, Any]
) -> MonographError:
    value = after[1] if isinstance(after[1], AbstractTensor) else None
    return problem(
        "loop-carry-changes",
        operator=region.operator,
        what=what,
        result=which,
        before=str(before[0]),
        after=str(after[0]),
        causes=[Cause(made_at(value, region), f"returned by the step: {after[0]}")],
    )


def step_type(t: TensorType) -> TensorType:
    """A slice along the first dimension."""
    strides = None if t.strides is None else t.stride()[1:]
    slice_ = TensorType(t.shape[1:], t.dtype, t.device, strides)
    return with_requires_grad(slice_, t.requires_grad)


def stacked(region: Region, value: AbstractTensor, count: Int) -> TensorType:
    """The type of all steps' results, one beside the other.

    Raises: operator-arguments (a size that may differ from step to step).
    """
    t = value.tensor_type
    for size in t.shape:
        if isinstance(size, Expr) and not region.before.issuperset(size.symbols):
            reason = (
                f"its function returns {type_text(t)}, whose sizes may differ from step to step"
            )
            raise problem(
                "operator-arguments",
                at=made_at(value, region),
                operator=region.operator,
                reason=reason,
            )
    return with_requires_grad(TensorType((count, *t.shape), t.dtype, t.device), t.requires_grad)


def pointwise(region: Region) -> bool:
    """Whether every operator of a region works element by element."""
    return all(
        isinstance(node.target, OpOverload)
        and (torch.Tag.pointwise in node.target.tags or node.target.name() == "aten::clone")
        for node in region.graph.nodes
        if node.op == "call_function"
    )


__all__ = ["CarriedTypes", "check_step", "pointwise", "stacked", "step_type"]
