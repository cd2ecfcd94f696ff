"""Operator traits: what a schema says about recording an operator, looked up once.

Whether it may be dropped when nobody uses its result, and which rule types it; what it does to the
memory of its arguments is in `abstract/aliasing.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.differentiability import WITHOUT_HISTORY
from monograph.abstract.kernel_errors import OF_INDICES, OF_NO_ELEMENTS, may_raise
from monograph.capture.recording.nonzero_counts import COUNTING, SUMMING
from monograph.diagnostics import problem
from monograph.host.dispatch import overloads_named, schema_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.host.overloads import aten as _aten
from monograph.host.process_groups import NAMESPACES as COLLECTIVES
from monograph.integers import eq, require
from monograph.rules.registry import RULES, find_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.abstract.tensor_type import TensorType


_OF_TORCH: Final = frozenset({"aten", "prims"})
_SHIPPED: Final = frozenset(
    {
        "_c10d_functional",
        "_quantized",
        "c10d",
        "inductor",
        "mkldnn",
        "onednn",
        "prim",
        "profiler",
        "quantized",
        "quantized_decomposed",
        "sparse",
        "torchaudio",
        "torchvision",
    }
)
"""Namespaces of operators whose meta kernels are tested where they come from."""
ASSERT_SCALAR = torch.ops.aten._assert_scalar.default  # noqa: SLF001 - an operator's name
ENDS_FACTORIES = frozenset(
    id(getattr(torch.ops.aten, name).default) for name in ("lift_fresh", "detach", "detach_")
)
"""The identities of what C++ dispatches last where it makes a tensor, beside operators that take
`pin_memory`."""
_RESIZING: Final = torch.ops.aten.resize_.default
"""It changes a tensor's sizes as in-place views do, without their tag."""
_KEPT = ("_assert", "_print", "sym_constrain", "_check")


_BY_DATA: Final = torch.Tag.dynamic_output_shape
_RAISES_BY_LAYOUT: Final[dict[OpOverload, tuple[LayoutQuestion, ...]]] = {
    **dict.fromkeys((_aten.view.default, _aten.view_as.default, _aten.unflatten.int), ("form",)),
    **dict.fromkeys((_aten.view.dtype, _aten.view_as_complex.default), ("strides", "offset")),
}
"""Operators that raise for some layouts of their argument, and what decides it."""


class Operator:
    """Facts about one overload that recording needs on every call."""

    __slots__ = (
        "aliasing",
        "answers_now",
        "argument_names",
        "base_name",
        "counts",
        "droppable",
        "inplace_view",
        "is_collective",
        "is_custom",
        "mutated",
        "overload",
        "raises_by_layout",
        "raises_when_empty",
        "returned_arguments",
        "rule",
        "rule_is_functional_sibling",
        "silent_flag",
        "sums",
        "without_history",
        "writes_out",
    )

    def __init__(self, overload: OpOverload) -> None:
        schema = schema_of(overload)
        self.overload = overload
        self.base_name = schema.name.split("::")[-1]
        self.aliasing = aliasing = aliasing_of(overload)
        self.argument_names, self.mutated = aliasing.argument_names, aliasing.written
        self.returned_arguments = aliasing.returned
        random = torch.Tag.nondeterministic_seeded in overload.tags
        self.is_collective = overload.namespace in COLLECTIVES
        kept = self.is_collective or self.base_name.startswith(_KEPT)
        self.droppable = not self.mutated and not random and not kept and _is_known(overload)
        self.is_custom = overload.namespace not in _OF_TORCH and overload.namespace not in _SHIPPED
        own = overload.namespace in _OF_TORCH
        self.answers_now = own and _returns_plain_numbers(schema) and not self.mutated and not kept
        self.silent_flag = aliasing.silent_flag
        if self.silent_flag is not None:
            self.droppable = False
        by_data = _BY_DATA in overload.tags or self.base_name == "repeat_interleave"
        self.counts = by_data or id(overload) in COUNTING
        self.sums = id(overload) in SUMMING
        self.without_history = WITHOUT_HISTORY.get(self.base_name, ()) if own else ()
        self.raises_by_layout = _RAISES_BY_LAYOUT.get(overload, ())
        of_elements = self.base_name.removesuffix("_") in OF_NO_ELEMENTS | OF_INDICES
        self.raises_when_empty = of_elements and overload.namespace == "aten"
        self.inplace_view = torch.Tag.inplace_view in overload.tags or overload is _RESIZING
        self.rule: Callable[..., Any] | None = find_rule(overload)
        self.rule_is_functional_sibling = False
        is_out_variant = self.mutated == aliasing.outs and len(self.mutated) == len(schema.returns)
        self.writes_out = bool(self.mutated) and is_out_variant
        if self.rule is None and self.writes_out:
            self.rule = _rule_without_out(overload)
            self.rule_is_functional_sibling = self.rule is not None
        elif self.rule is None and self.mutated:
            self.rule = _sibling_rule(overload)
            self.rule_is_functional_sibling = self.rule is not None


def _is_known(overload: OpOverload) -> bool:
    """Operators of PyTorch's own declare their side effects; custom ones may print or count."""
    return overload.namespace in _OF_TORCH or bool(schema_of(overload).returns)


def _returns_plain_numbers(schema: Any) -> bool:
    """Such as `is_same_size`: answered during capture, nothing to compute at run time."""
    kinds = {str(result.type) for result in schema.returns}
    return bool(kinds) and kinds <= {"bool", "int", "ScalarType", "Device"}


def _sibling_rule(overload: OpOverload) -> Callable[..., Any] | None:
    """The rule of the functional variant of an in-place operator: `add` for `add_`.

    Overload names do not always agree (`pow_.Scalar` is `pow.Tensor_Scalar`); argument types do.
    """
    name = schema_of(overload).name.split("::")[-1]
    if not name.endswith("_") or name.endswith("__"):
        return None
    for sibling in overloads_named(overload.namespace, name[:-1]):
        if _argument_types(sibling) == _argument_types(overload):
            return find_rule(sibling)
    return None


def _rule_without_out(overload: OpOverload) -> Callable[..., Any] | None:
    """The rule of the functional variant of an `out=` operator: `add.Tensor` for `add.out`."""
    name = schema_of(overload).name.split("::")[-1]
    wanted = _argument_types(overload)
    for sibling in overloads_named(overload.namespace, name):
        if sibling is not overload and _argument_types(sibling) == wanted:
            return find_rule(sibling)
    return None


def _argument_types(overload: OpOverload) -> list[tuple[str, str]]:
    """Names and types of the arguments, those of `out=` left out."""
    outs = aliasing_of(overload).outs
    return [(a.name, str(a.type)) for a in schema_of(overload).arguments if a.name not in outs]


class Operators:
    """The operators met so far, by identity."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[int, Operator] = {}
        """By the identities of their overloads."""

    def forget(self) -> None:
        """A rule was added: what is known may be out of date."""
        self.known.clear()

    def of(self, overload: OpOverload) -> Operator:
        """Facts about an overload."""
        found = self.known.get(id(overload))
        if found is None:
            found = self.known[id(overload)] = Operator(overload)
        return found


OPERATORS = Operators()
"""Overloads live as long as the process, so what is known of them may as well."""
RULES.watchers.append(OPERATORS.forget)


def is_droppable(target: Any) -> bool:
    """Whether a node of this target may go when nobody uses its result."""
    if isinstance(target, OpOverload):
        return OPERATORS.of(target).droppable
    return not isinstance(target, HigherOrderOperator)


def only_computes(call: Node) -> bool:
    """Whether a call may go when nobody uses its result: it has no effect, and does not raise."""
    return is_droppable(call.target) and not may_raise(call)


def is_unused(node: Node) -> bool:
    """Whether a node of a graph may go: nobody uses its result, and it does nothing else."""
    return not node.users and node.op == "call_function" and only_computes(node)


def written_out(outputs: list[Any], result: Any) -> list[tuple[Any, TensorType]]:
    """The tensors that `out=` was given, with the types of what is written to them."""
    results = result if isinstance(result, list | tuple) else (result,)
    return [(given[0], t) for given, t in zip(outputs, results, strict=True) if given]


def require_same_shape(
    result: TensorType, target: TensorType, name: str = "sizes-disagree"
) -> None:
    """What is written must have the shape of what it is written to.

    Raises: sizes-disagree, or the `name` given.
    """
    if len(result.shape) != len(target.shape):
        raise problem(name, left=str(target.shape), right=str(result.shape))
    for dim, (size, wanted) in enumerate(zip(result.shape, target.shape, strict=True)):
        if size is not wanted:
            require(eq(size, wanted), name, left=wanted, right=size, dim=dim)
