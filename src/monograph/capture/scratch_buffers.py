"""Scratch buffers: buffers that calls leave with another shape, and none computes with.

`self.mem = torch.zeros_like(self.mem)` begins a call, and later comes `torch.zeros_like(x)` where
the shapes differ: what the call before left there is asked for its shape alone. A program does not
write such a buffer.

Law: it is one if it is in no state_dict, and a call that begins with what any call may have left
gives the same. A size there follows from those of the earlier call, which are those of this call or
others; each case is a trace, where the others are symbols of their own. The traces together must
leave nothing out: all they may ask of another size is that it is another.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from torch.fx.node import map_arg

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.operators import ASSERT_SCALAR, OPERATORS, is_droppable
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, ne, substitute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from torch.fx.node import Node

    from monograph.capture.captured import Capture
    from monograph.integers import Facts

_MOST_SIZES: Final = 3
_FILLS: Final = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), 0),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), 1),
}
"""Factories of which the result's type says all but this number."""


def states_left(left: Mapping[str, TensorType], facts: Facts) -> list[tuple[str, ...]]:
    """For each state that an earlier call may have left: the sizes that were others then.

    Sizes are called as their sources are, `x.shape[0]`. Raises: ValueError (too many).
    """
    sizes = sorted({facts.source_of(each) for t in left.values() for each in _symbols(t)})
    if len(sizes) > _MOST_SIZES:
        raise ValueError(sizes)
    return [others for n in range(len(sizes) + 1) for others in combinations(sizes, n)]


def _symbols(t: TensorType) -> set[Expr]:
    sizes = [each for each in (*t.shape, *t.stride()) if isinstance(each, Expr)]
    return {symbol for size in sizes for symbol in size.symbols}


def at_other_sizes(
    left: Mapping[str, TensorType], facts: Facts, now: Facts, others: Collection[str]
) -> tuple[dict[str, TensorType], dict[Expr, Expr]]:
    """The types of one such state among the symbols of another trace, and those of `others`.

    Raises: KeyError (a size that no input has).
    """
    sizes = {now.source_of(each): each for each in now.symbols}
    earlier: dict[Expr, Expr] = {}
    values: dict[Expr, Any] = {}
    for source in {facts.source_of(each) for t in left.values() for each in _symbols(t)}:
        symbol = next(each for each in facts.symbols if facts.source_of(each) == source)
        values[symbol] = same = sizes[source]
        if source in others:
            hint = now.hints[same] + 1
            values[symbol] = made = now.symbol(f"earlier{len(earlier)}", hint=hint)
            earlier[made] = same
    return {path: _with_sizes(t, values) for path, t in left.items()}, earlier


def _with_sizes(t: TensorType, values: Mapping[Expr, Any]) -> TensorType:
    shape, strides = (
        tuple([substitute(n, values) if isinstance(n, Expr) else n for n in sizes])
        for sizes in (t.shape, t.stride())
    )
    return TensorType(shape, t.dtype, t.device, None if t.strides is None else strides)


# --- whether two traces do the same --------------------------------------------------------------


class _UncomparableError(Exception):
    """A trace does what is not compared here."""


def do_the_same(first: Capture, later: Capture, earlier: Mapping[Expr, Expr]) -> bool:
    """Whether a call computes what the first did, for all sizes that the first is asked for.

    Of the sizes of earlier calls, it may know that they differ from those of this one.
    """
    numbers: dict[Any, int] = {}
    try:
        same = _account(first, numbers) == _account(later, numbers)
    except _UncomparableError:
        return False
    guards = {str(guard.relation) for guard in first.facts.guards}
    differ = {ne(*pair) for pair in earlier.items()}
    asked = [guard.relation for guard in later.facts.guards if guard.relation not in differ]
    return same and all(each.symbols.isdisjoint(earlier) and str(each) in guards for each in asked)


def _account(captured: Capture, numbers: dict[Any, int]) -> list[Any]:
    """What two traces that do the same agree on, but for guards. Raises: _UncomparableError."""
    made, effects = _numbered(captured, numbers)
    recorder, leaves = captured.recorder, captured.outputs.leaves
    return [
        *(made[each.node] if each.node is not None else str(each.value) for each in leaves),
        *effects,
        *(f"{name} {real.tolist()}" for name, real in recorder.writer.constants.items()),
        f"{captured.outputs.spec} {captured.changes}",
        f"{sorted(recorder.answers_noted.answers, key=str)}",
    ]


def _numbered(captured: Capture, numbers: dict[Any, int]) -> tuple[dict[Node, int], list[Any]]:
    """Value numbering: nodes that compute the same have one number; and what has an effect.

    Raises: _UncomparableError (something is written to, or a node has a subgraph).
    """
    made: dict[Node, int] = {}
    effects: list[Any] = []
    states = captured.recorder.scopes.states
    for node in captured.recorder.writer.graph.nodes:
        if node.op == "output":
            continue
        key = _key(node, made, states.get(node))
        made[node] = numbers.setdefault(key, len(numbers))
        if node.op == "call_function" and not is_droppable(node.target):
            effects.append(key)
    return made, effects


def _key(node: Node, made: Mapping[Node, int], state: Any) -> Any:
    if node.op == "placeholder":
        return node.name
    target = node.target
    if isinstance(target, OpOverload):
        operator, value = OPERATORS.of(target), node.meta.get("val")
        if operator.mutated or not (operator.droppable or target is ASSERT_SCALAR):
            raise _UncomparableError
        if target.namespace == "aten" and operator.base_name in _FILLS:
            assert isinstance(value, AbstractTensor), "a factory makes a tensor"
            t = value.tensor_type
            sizes = f"{t.shape} {t.stride()}"
            return _FILLS[operator.base_name], sizes, t.dtype, t.device, t.requires_grad
    elif node.op != "call_function" or not is_droppable(target):
        raise _UncomparableError
    given = map_arg((node.args, node.kwargs), lambda each: f"%{made[each]}")
    return str(target), str(given), str(state)


__all__ = ["at_other_sizes", "do_the_same", "states_left"]
