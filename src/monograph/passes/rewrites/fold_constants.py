"""Constant folding: what depends on constants alone is computed now and becomes a constant.

Opt-in, because it trades memory for time. Law: only what nobody writes to and the caller does not
get hold of is folded, since a constant is one tensor for all calls; and only what computes the same
each time: operators of PyTorch that draw nothing. An assertion that holds of constants goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node, map_arg

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.operators import OPERATORS
from monograph.host.dispatch import RANGE_OPERATORS, has_memory, storage_key
from monograph.host.operator_types import OpOverload
from monograph.passes.alias_analysis import Sharing, is_pure
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput
from monograph.passes.rewrites.registry import rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

_LET_GO: Final = object()
"""A value that only values which are known are computed of."""


@rewrite
def fold_constants(edited: ProgramCopy, *, state: bool = False, max_elements: int = 2**20) -> None:
    """Compute what depends on constants, at most `max_elements` large.

    With `state`, parameters and buffers that the program does not write to are constants too:
    they get no gradients through what is folded, and new values of theirs are not seen.
    """

    def is_constant(held: StateInput, tensor: torch.Tensor) -> bool:
        return state or (held.kind == "constant" and not tensor.requires_grad)

    Folding(edited, max_elements).fold(is_constant)
    edited.drop_unused_constants()


@dataclass(frozen=True, slots=True)
class FoldedConstant:
    """A constant in the place of what was computed: `name` is that value's in the graph.

    `operators` computed it, of the state named in `sources`; it is a tensor at `target`.
    """

    name: str
    target: str
    operators: tuple[str, ...]
    sources: tuple[str, ...]


class Folding:
    """One folding; `values` are those of the nodes that are known."""

    def __init__(self, edited: ProgramCopy, max_elements: int | None = None) -> None:
        self.edited, self.max_elements = edited, max_elements
        self.sharing = Sharing(edited.module, *_in_one_memory(edited))
        inputs = (node for node in edited.placeholders() if node.name in edited.written)
        self.written = {self.sharing.root(node) for node in inputs}
        self.values: dict[Node, Any] = {}

    def fold(self, is_constant: Callable[[StateInput, torch.Tensor], bool]) -> list[FoldedConstant]:
        """Fold, and say what; `is_constant` is asked of state that no call writes to."""
        for node in self.edited.placeholders():
            held, tensor = self.edited.state_inputs.get(node.name), self.edited.tensor_of(node)
            if held is None or tensor is None or self.is_changed(node):
                continue
            if is_constant(held, tensor):
                self.values[node] = tensor.detach()
        for node in self.edited.graph.nodes:
            self._visit(node)
        return self._put()

    def is_changed(self, node: Node) -> bool:
        """Whether calls write to the memory of this state."""
        return self.sharing.is_written(node) or self.sharing.root(node) in self.written

    def _visit(self, node: Node) -> None:
        """Compute a value of what is known, where that may be done once for all calls."""
        if not self._is_foldable(node):
            return
        args = map_arg(node.args, self.values.__getitem__)  # pyright: ignore[reportArgumentType]
        kwargs = map_arg(node.kwargs, self.values.__getitem__)  # pyright: ignore[reportArgumentType]
        target: Any = node.target
        try:
            # What needs no gradient has none; and views may see later writes to what they are of.
            with torch.inference_mode(mode=False), torch.enable_grad():
                self.values[node] = target(*args, **kwargs)
        except (RuntimeError, TypeError, ValueError, ArithmeticError, LookupError):
            return  # it stays for the call to refuse
        for each in node.all_input_nodes:
            if each.op == "call_function" and all(user in self.values for user in each.users):
                self.values[each] = _LET_GO

    def _is_foldable(self, node: Node) -> bool:
        if node.op != "call_function" or any(
            each not in self.values or self.values[each] is _LET_GO for each in node.all_input_nodes
        ):
            return False
        if self.sharing.is_written(node) or self.sharing.is_returned(node):
            return False
        if isinstance(node.target, OpOverload):
            known = OPERATORS.of(node.target)
            if known.is_custom or node.target in RANGE_OPERATORS:
                return False
            return known.droppable or known.base_name.startswith("_assert")
        return is_pure(node)

    def _put(self) -> list[FoldedConstant]:
        """Put constants in the place of what is known and used, and erase the rest."""
        stays: set[Node] = set()
        for node in reversed(self.values):
            used = any(user not in self.values or user in stays for user in node.users)
            if used and not self._can_be_state(node):
                stays.add(node)
        known = [node for node in self.values if node not in stays]
        for node in stays:
            del self.values[node]
        used = [
            node
            for node in known
            if node.op != "placeholder" and any(user not in self.values for user in node.users)
        ]
        found = [self._described(node) for node in used]
        for node, each in zip(used, found, strict=True):
            made, val = StateInput("constant", each.target), node.meta["val"]
            node.replace_all_uses_with(self.edited.add_state(made, self.values[node], val))
        self.edited.is_typed = True
        for node in reversed(known):
            if not node.users and node.op != "placeholder":
                self.edited.graph.erase_node(node)
        return found

    def _can_be_state(self, node: Node) -> bool:
        """Whether a value is a tensor that lies in memory as its type says."""
        value, val = self.values[node], node.meta.get("val")
        if node.op == "placeholder":
            return False
        if not isinstance(value, torch.Tensor) or not isinstance(val, AbstractTensor):
            return False
        if not has_memory(value) or value.is_conj() or value.is_neg():
            return False
        kind = val.tensor_type
        return (
            (self.max_elements is None or value.numel() <= self.max_elements)
            and (value.dtype, value.device) == (kind.dtype, kind.device)
            and (*value.shape, *value.stride()) == (*kind.shape, *kind.stride())
        )

    def _described(self, node: Node) -> FoldedConstant:
        inputs, operators, waiting = set[str](), dict[Node, None](), [node]
        while waiting:
            each = waiting.pop()
            if each.op == "placeholder":
                inputs.add(self.edited.state_inputs[each.name].target)
            elif each not in operators:
                operators[each] = None
                waiting += each.all_input_nodes
        names = tuple(str(each.target) for each in reversed(operators))
        target = self.edited.new_target("folded")
        self.edited.tensors[target] = self.values[node]
        return FoldedConstant(node.name, target, names, tuple(sorted(inputs)))


def _in_one_memory(edited: ProgramCopy) -> list[list[Node]]:
    """The placeholders, those together that may share memory: state does where it does now."""
    found: dict[Any, list[Node]] = {}
    for node in edited.placeholders():
        tensor = edited.tensor_of(node)
        place = storage_key(tensor) if tensor is not None and has_memory(tensor) else None
        found.setdefault(place, []).append(node)
    return [*found.values()]


__all__ = ["FoldedConstant", "Folding", "fold_constants"]
