"""What an operator's schema says about recording it, looked up once per operator.

Which arguments it writes to, which argument each result shares storage with, whether it may be
dropped when nobody uses its result, and which rule types it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.recording.nonzero_counts import COUNTING, SUMMING
from monograph.host.dispatch import overloads_named, schema_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.rules.registry import RULES, find_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_SILENT_WRITES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "_batch_norm_impl_index": "training",
        "batch_norm": "training",
        "cudnn_batch_norm": "training",
        "instance_norm": "use_input_stats",
        "miopen_batch_norm": "training",
        "native_batch_norm": "training",
    }
)
"""Operators that update `running_mean` and `running_var` without declaring it: under which flag."""

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
STATISTICS = ("running_mean", "running_var")
_KEPT = ("_assert", "_print", "sym_constrain", "_check")


class Operator:
    """Facts about one overload that recording needs on every call."""

    __slots__ = (
        "answers_now",
        "argument_names",
        "base_name",
        "counts",
        "droppable",
        "inplace_view",
        "is_custom",
        "mutated",
        "overload",
        "returned_arguments",
        "rule",
        "rule_is_functional_sibling",
        "shared",
        "silent_flag",
        "sums",
        "writes_out",
    )

    def __init__(self, overload: OpOverload) -> None:
        schema = schema_of(overload)
        self.overload = overload
        self.base_name = schema.name.split("::")[-1]
        self.argument_names: tuple[str, ...] = tuple(a.name for a in schema.arguments)
        self.mutated: tuple[str, ...] = tuple(
            a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write
        )
        self.returned_arguments = _returned_arguments(schema)
        self.shared = _shared_arguments(schema)
        random = torch.Tag.nondeterministic_seeded in overload.tags
        kept = self.base_name.startswith(_KEPT)
        self.droppable = not self.mutated and not random and not kept and _is_known(overload)
        self.is_custom = overload.namespace not in _OF_TORCH and overload.namespace not in _SHIPPED
        own = overload.namespace in _OF_TORCH
        self.answers_now = own and _returns_plain_numbers(schema) and not self.mutated and not kept
        self.silent_flag: str | None = _SILENT_WRITES.get(self.base_name)
        if self.silent_flag is not None:
            self.droppable = False
        self.counts = id(overload) in COUNTING or overload is torch.ops.aten.bincount.default
        self.sums = id(overload) in SUMMING
        self.inplace_view = torch.Tag.inplace_view in overload.tags
        self.rule: Callable[..., Any] | None = find_rule(overload)
        self.rule_is_functional_sibling = False
        self.writes_out = bool(self.mutated) and _is_out_variant(schema)
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


def _returned_arguments(schema: Any) -> tuple[str | None, ...]:
    """For each result, the argument that is written to and returned as it is."""
    written: dict[str, str] = {
        name: argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
        for name in argument.alias_info.before_set
    }
    return tuple(
        next((written[n] for n in result.alias_info.before_set if n in written), None)
        if result.alias_info is not None and result.alias_info.is_write
        else None
        for result in schema.returns
    )


def _shared_arguments(schema: Any) -> str | None:
    """The argument whose storage results view, if any."""
    if schema.name == "aten::data":  # its schema leaves it out
        return "self"
    sources: dict[str, str] = {
        name: argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and not argument.alias_info.is_write
        for name in argument.alias_info.before_set
    }
    for result in schema.returns:
        if result.alias_info is not None:
            for name in result.alias_info.before_set:
                if name in sources:
                    return sources[name]
    return _listed_views(schema)


def _listed_views(schema: Any) -> str | None:
    """The argument that a list of results views: `Tensor(a -> *)`, as in `split` and `unbind`."""
    for argument in schema.arguments:
        info = argument.alias_info
        if info is not None and not info.is_write and "*" in _plain_names(info.after_set):
            return argument.name
    return None


def _plain_names(names: Any) -> set[str]:
    return {name.rpartition("::")[2] for name in names}


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


def _is_out_variant(schema: Any) -> bool:
    """Whether what is written are the `out=` arguments, which are returned."""
    written = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return all(a.kwarg_only for a in written) and len(written) == len(schema.returns)


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
    return [
        (a.name, str(a.type))
        for a in schema_of(overload).arguments
        if not (a.kwarg_only and a.alias_info is not None and a.alias_info.is_write)
    ]


class Operators:
    """The operators met so far, by identity."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[int, Operator] = {}

    def forget(self) -> None:
        """A rule was added: what is known may be out of date."""
        self._by_id.clear()

    def of(self, overload: OpOverload) -> Operator:
        """Facts about an overload."""
        found = self._by_id.get(id(overload))
        if found is None:
            found = self._by_id[id(overload)] = Operator(overload)
        return found


OPERATORS = Operators()
"""Overloads live as long as the process, so what is known of them may as well."""
RULES.watchers.append(OPERATORS.forget)


def is_droppable(target: Any) -> bool:
    """Whether a node of this target may go when nobody uses its result."""
    if isinstance(target, OpOverload):
        return OPERATORS.of(target).droppable
    return not isinstance(target, HigherOrderOperator)
