"""Re-tracing: a recorder follows an earlier capture with sizes fixed, until they differ.

Law: if a run ends without a difference, then at these sizes the graph of the earlier capture
computes what this run's graph computes: the same operators in the same order, on the same values,
under the same regions, with results of the same types. What the other capture calls a size, this
one may call a number; they agree if they are equal there, given what this run guards.

Two kinds of operators of the other capture may be missing here, because they do nothing there: a
view with the sizes, the strides and the offset of what it views, to whose memory nothing is written
afterwards (autograd refuses some writes to views alone), and an assertion that holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.operators import ASSERT_SCALAR
from monograph.capture.recording.recorder import Recorder
from monograph.capture.size_probing.layout_differences import are_unseen, are_written_to, may_begin
from monograph.host.dispatch import without_modes
from monograph.host.fx_nodes import append_node, is_removed
from monograph.host.overloads import aten as _aten
from monograph.host.trees import pytree
from monograph.integers import (
    Expr,
    Real,
    Relation,
    eq,
    substitute,
    substitute_real,
    substitute_relation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.captured import Capture
    from monograph.capture.queries.tensor_answers import TensorAnswers
    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.scopes import Scopes
    from monograph.diagnostics import Spot
    from monograph.integers import Facts, Int

_VIEWS: Final = frozenset(
    {_aten.expand.default, _aten.view.default, _aten.reshape.default, _aten.slice.Tensor}
)
"""Views that differ from their source, if at all, in what a `TensorType` says."""
_ATTENTION: Final = _aten.scaled_dot_product_attention.default


class Different(BaseException):  # no error: user code must not catch it
    """The run does something else than the capture it follows: what, and the user's lines."""

    def __init__(self, what: str, at: tuple[Spot, ...] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


class Follower(Recorder):
    """Records one run beside an earlier capture.

    `values` says what the symbols of that capture are here: numbers, or symbols of this run.
    """

    def __init__(
        self,
        writer: GraphWriter,
        scopes: Scopes,
        facts: Facts,
        answers: TensorAnswers,
        *,
        expected: Capture,
        values: Mapping[Expr, Int],
    ) -> None:
        super().__init__(writer, scopes, facts, answers)
        self._expected = expected
        self._values: dict[Expr, Int] = dict(values)
        self._ahead: Iterator[Node] = iter(expected.recorder.operations)
        self._placeholders: dict[tuple[Node, Node], bool] = {}
        self._same: dict[Node, Node] = {}
        self._instead: dict[Node, Node] = {}
        self._here: dict[object, Any] = {}
        self._last: tuple[Node, Node] | None = None
        self._difference: Different | None = None
        self._lying: set[Node] = set()
        """What lies otherwise in memory here (see `layout_differences`)."""

    # --- following ---------------------------------------------------------------------------

    def append(
        self,
        target: Any,
        base: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        beside: Node | None = None,
    ) -> Node:
        """A node at the end of the graph, the counterpart of the other capture's next."""
        del beside
        if self._difference is not None:
            raise self._difference
        self._check_last_result()
        writer = self.writer
        node = append_node(
            writer.graph, writer.new_name(base), "call_function", target, args, kwargs
        )
        node.meta = {}
        self.operations.append(node)
        counterpart = self._next(node)
        self._same[node] = self._canonical(counterpart)
        self._last = (node, counterpart)
        return node

    def finish(self, captured: Capture) -> None:
        """The run returned: nothing may be left over, and what it returned must agree.

        Raises: Different.
        """
        if self._difference is not None:
            raise self._difference
        self._check_last_result()
        for node in self._ahead:
            if not self._does_nothing(node):
                raise Different(f"does not run {node.target}")
        theirs = self._expected
        if captured.outputs.spec != theirs.outputs.spec:
            raise Different("returns another structure")
        if captured.inference_results != theirs.inference_results:
            raise Different("returns other inference tensors")
        for mine, other in zip(captured.outputs.leaves, theirs.outputs.leaves, strict=True):
            if isinstance(mine.value, torch.Tensor) or isinstance(other.value, torch.Tensor):
                agrees = self._agree(mine.node, other.node)
                agrees = agrees and self._same_result(mine.value, other.value)
            else:
                agrees = self._equal(_number(mine.value), _number(other.value))
            if not agrees:
                raise Different("returns something else")
        self._check_account(captured)

    def _check_account(self, captured: Capture) -> None:
        """What is written to, and asked about, agrees too.

        Raises: Different.
        """
        other = self._expected.recorder
        if captured.changes != self._expected.changes:
            raise Different("changes its arguments in another way")
        if self.mutated.keys() != other.mutated.keys():
            raise Different("writes to other inputs or buffers")
        if (self._lying and self.shows_layout) or not are_unseen(self._expected, self._lying):
            raise Different("lays out otherwise in memory what is seen")
        if self._instead and are_written_to(self._expected, self._instead.keys()):
            raise Different("writes to what is a view at other sizes")
        if not self.layouts_asked.keys() <= other.layouts_asked.keys():
            raise Different("asks how its inputs lie in memory")
        if not self.answers_noted.answers.keys() <= other.answers_noted.answers.keys():
            raise Different("asks about other modes, or other flags of tensors")
        other.asks_dtype = other.asks_dtype or self.asks_dtype
        other.module_modes.found.update(self.module_modes.found)

    def _next(self, node: Node) -> Node:
        """The operator of the other capture that this one is."""
        for other in self._ahead:
            if self._is_call_of(node, other):
                return other
            if not self._does_nothing(other):
                raise self._differ(_difference(node, other))
        raise self._differ(f"runs {node.target} besides")

    def _is_call_of(self, node: Node, other: Node) -> bool:
        if node.target is not other.target:
            return False
        if is_removed(other):
            # Nobody used its result, and nobody may here.
            return True
        if self.scopes.regions() != self._expected.recorder.scopes.states.get(other, ()):
            return False
        if node.target is ASSERT_SCALAR:
            return self._agree(node.args[0], other.args[0])
        if _is_of_one_key(node):
            return self._agree(_without_causal(node), _without_causal(other))
        mine, theirs = node.args, other.args
        if len(mine) != len(theirs):
            return False
        for one, another in zip(mine, theirs, strict=True):
            # Almost every argument is a constant, or an earlier result.
            if one is another or (isinstance(one, Node) and self._same.get(one) is another):
                continue
            if not self._agree(one, another):
                return False
        return not (node.kwargs or other.kwargs) or self._agree(node.kwargs, other.kwargs)

    def _does_nothing(self, other: Node) -> bool:
        """Whether leaving out this operator of the other capture makes no difference here."""
        if is_removed(other):
            return True
        if other.target is ASSERT_SCALAR:
            return self._at(_number_of(other.args[0])) is True
        source = other.args[0] if other.target in _VIEWS else None
        if not isinstance(source, Node):
            return False
        before, after = source.meta.get("val"), other.meta.get("val")
        if not isinstance(before, AbstractTensor) or not isinstance(after, AbstractTensor):
            return False
        if not self._same_type(before.tensor_type, after.tensor_type, are_both_theirs=True):
            return False
        sizes: Any = other.args[1] if len(other.args) > 1 else ()
        is_inferred = isinstance(sizes, list | tuple) and -1 in sizes
        if is_inferred and self._at(eq(after.tensor_type.numel(), 0)) is not False:
            return False  # of no elements PyTorch infers no size
        self._instead[other] = self._canonical(source)
        return True

    def _canonical(self, other: Node) -> Node:
        return self._instead.get(other, other)

    def _differ(self, what: str) -> Different:
        self._difference = Different(what, self.origin())
        return self._difference

    # --- agreeing ----------------------------------------------------------------------------

    def _agree(self, mine: Any, theirs: Any) -> bool:
        """Whether an argument is what the other capture's is."""
        if mine is theirs:
            return True
        if isinstance(mine, Node) or isinstance(theirs, Node):
            return self._agree_node(mine, theirs)
        if isinstance(mine, list | tuple):
            return (
                isinstance(theirs, list | tuple)
                and len(mine) == len(theirs)
                and all(map(self._agree, mine, theirs))
            )
        if isinstance(mine, dict):
            return (
                isinstance(theirs, dict)
                and mine.keys() == theirs.keys()
                and all(self._agree(mine[key], theirs[key]) for key in mine)
            )
        return self._equal(mine, theirs)

    def _agree_node(self, mine: Any, theirs: Any) -> bool:
        if isinstance(mine, Node) and isinstance(theirs, Node):
            if mine.op == "placeholder":
                if self._is_placeholder(mine, theirs):
                    return True
            elif self._same.get(mine) is self._canonical(theirs):
                return True
        number, other = _number_of(mine), _number_of(theirs)
        return number is not None and other is not None and self._equal(number, other)

    def _is_placeholder(self, mine: Node, theirs: Node) -> bool:
        """Whether the input, parameter, buffer or constant is the other capture's."""
        theirs = self._canonical(theirs)
        if (mine, theirs) not in self._placeholders:
            real = self.writer.constant_of.get(mine)
            other = self._expected.recorder.writer.constant_of.get(theirs)
            if real is None or other is None:
                same = theirs.op == mine.op and theirs.name == mine.name and real is other
            else:
                same = _same_data(real, other)
            self._placeholders[mine, theirs] = same
        return self._placeholders[mine, theirs]

    def _check_last_result(self) -> None:
        if self._last is None:
            return
        mine, theirs = self._last
        self._last = None
        if is_removed(theirs) or "val" not in mine.meta:
            return
        ours, others = mine.meta["val"], theirs.meta.get("val")
        if self._same_result(ours, others):
            return
        begins = may_begin(theirs) or not self._lying.isdisjoint(theirs.all_input_nodes)
        if begins and isinstance(ours, AbstractTensor) and isinstance(others, AbstractTensor):
            self._lying.add(theirs)
            if self._same_elements(ours.tensor_type, others.tensor_type):
                return
        raise self._differ(f"gets another result of {mine.target}")

    def _same_result(self, mine: Any, theirs: Any) -> bool:
        if isinstance(mine, AbstractTensor):
            return isinstance(theirs, AbstractTensor) and self._same_type(
                mine.tensor_type, theirs.tensor_type
            )
        if isinstance(mine, list | tuple):
            ours, others = pytree.tree_leaves(mine), pytree.tree_leaves(theirs)
            return len(ours) == len(others) and all(map(self._same_result, ours, others))
        return self._equal(_number(mine), _number(theirs))

    def _same_type(
        self, mine: TensorType, theirs: TensorType, *, are_both_theirs: bool = False
    ) -> bool:
        """Whether two types agree here, as far as the elements of the tensor show it."""
        shape = [self._at(size) for size in mine.shape] if are_both_theirs else mine.shape
        if not self._same_elements(mine, theirs, shape):
            return False
        if mine.strides is None and theirs.strides is None and mine.offset is theirs.offset:
            return True
        if 0 in shape:
            return True
        steps, offset = mine.stride(), mine.offset
        if are_both_theirs:
            steps, offset = [self._at(step) for step in steps], self._at(offset)
        return self._equal(offset, theirs.offset) and all(
            size == 1 or self._equal(step, other)
            for size, step, other in zip(shape, steps, theirs.stride(), strict=True)
        )

    def _same_elements(
        self, mine: TensorType, theirs: TensorType, shape: Sequence[Any] | None = None
    ) -> bool:
        """Whether two types differ in their strides and offset at most."""
        if mine.dtype is not theirs.dtype or mine.device != theirs.device:
            return False
        shape = mine.shape if shape is None else shape
        return len(shape) == theirs.rank and all(
            one is other or self._equal(one, other)
            for one, other in zip(shape, theirs.shape, strict=True)
        )

    def _equal(self, mine: Any, theirs: Any) -> bool:
        """Whether a number or constant is the other capture's, at the sizes of this one."""
        if mine is theirs:
            return True
        other = self._at(theirs)
        if mine is other:
            return True
        if isinstance(mine, Expr) or isinstance(other, Expr):
            both = isinstance(mine, Expr | int) and isinstance(other, Expr | int)
            return both and self.facts.known(eq(mine, other)) is True
        if isinstance(mine, Relation) or isinstance(other, Relation):
            return self._truth(mine) is not None and self._truth(mine) is self._truth(other)
        if type(mine) is not type(other):
            return False
        if isinstance(mine, float | complex):
            return repr(mine) == repr(other)
        return bool(mine == other)

    def _truth(self, value: Any) -> bool | None:
        return self.facts.known(value) if isinstance(value, bool | Relation) else None

    def _at(self, theirs: Any) -> Any:
        """A number of the other capture, written in the symbols of this one."""
        if not isinstance(theirs, Expr | Real | Relation):
            return theirs
        if theirs not in self._here:
            self._here[theirs] = self._translated(theirs)
        return self._here[theirs]

    def _translated(self, theirs: Expr | Real | Relation) -> Any:
        for symbol in theirs.symbols - self._values.keys():
            # It depends on data: numbered in the order of the operators, which is the same.
            mine = next((s for s in self.facts.symbols if s.name == symbol.name), None)
            if mine is None or not self.facts.is_unbacked(mine):
                raise self._differ("has other data-dependent sizes")
            self._values[symbol] = mine
        try:
            match theirs:
                case Expr():
                    return substitute(theirs, self._values)
                case Real():
                    return substitute_real(theirs, self._values)
                case _:
                    return substitute_relation(theirs, self._values)
        except ZeroDivisionError:
            raise self._differ("divides by zero") from None


def _number(value: Any) -> Any:
    """The number as it was written down; constants as they are."""
    node = getattr(value, "node", None) if isinstance(value, _SYMBOLIC) else None
    return node.value if isinstance(node, SymbolNode) else value


_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _is_of_one_key(node: Node) -> bool:
    """Whether it is an attention to one key, which no causal mask hides from anybody."""
    key: Any = node.args[1] if node.target is _ATTENTION else None
    keys = key.meta.get("val") if isinstance(key, Node) else None
    return isinstance(keys, AbstractTensor) and keys.tensor_type.shape[-2] == 1


def _without_causal(node: Node) -> dict[str, Any]:
    """The arguments of an attention, by name, and defaults where none are given."""
    defaults = {"attn_mask": None, "dropout_p": 0.0}
    return {**defaults, **aliasing_of(_ATTENTION).bound(node.args, node.kwargs), "is_causal": None}


def _number_of(argument: Any) -> Any:
    """The number that an argument is, or that its node computes; None if it is a tensor."""
    value = argument.meta.get("val") if isinstance(argument, Node) else argument
    if isinstance(value, torch.Tensor | list | tuple):
        return None
    return _number(value)


def _difference(mine: Node, theirs: Node) -> str:
    if mine.target is theirs.target:
        return f"calls {mine.target} with other arguments"
    return f"runs {mine.target} where other sizes run {theirs.target}"


def _same_data(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two constants are the same, bit for bit."""
    if one is other:
        return True
    if one.dtype is not other.dtype or one.device != other.device or one.shape != other.shape:
        return False
    with without_modes(), torch.no_grad():
        return one.stride() == other.stride() and torch.equal(_bytes(one), _bytes(other))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1).contiguous().view(torch.uint8)


__all__ = ["Different", "Follower"]
