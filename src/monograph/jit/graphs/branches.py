"""Branches on data as control flow of the graph: one node `cond`, with a graph for each side.

Both sides of a conditional jump are interpreted, on copies of the frame, to where they join; what
they leave there is merged as a phi does. While a side is recorded nothing may happen that outlives
it: no write, no random number, no text. Where that cannot be promised, the recording of the side
is given up before it happens, and the caller does without.
"""

from __future__ import annotations

import logging
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_execution import run_to
from monograph.bytecode.branches.branch_targets import live_at, ways
from monograph.bytecode.branches.frame_copies import stand_alike
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.tracing import TRACED
from monograph.diagnostics import MonographError
from monograph.host.execution_modes import MODE_SETTERS
from monograph.jit.callables import is_reading
from monograph.jit.graphs.branch_graphs import BranchSide, GivenUp, NotRecordable
from monograph.jit.graphs.sizes import ORDER, SYMBOLIC, ChosenTensor, plain
from monograph.jit.guard_code import ATOMS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from torch.fx import Node

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import Ways
    from monograph.jit.recording import SegmentRecorder

__all__ = [
    "check_call_in_side",
    "check_step_in_side",
    "cond",
    "is_recorded_as_cond",
    "is_recorded_comparison",
]


_LOGGER: Final = logging.getLogger("monograph.jit")


def cond(predicate: Any, if_true: Any, if_false: Any, operands: Any) -> Any:
    """Call the graph of the side that data choose."""
    return (if_true if predicate else if_false)(*operands)


def is_recorded_as_cond(recorder: Any, frame: InterpreterFrame, node: Node, answer: bool) -> bool:  # noqa: FBT001 (it is the answer)
    """Record the conditional jump that a frame stands in, or before, as a node; if it can be.

    Then the frame stands where its sides join. `answer` is what the condition is in this call.
    """
    segment: SegmentRecorder = recorder.segment
    ip = frame.ip
    frame.ip += frame.body.names[ip - 1] in ("TO_BOOL", "COMPARE_OP")
    place, points = (id(frame.code), frame.ip), recorder.points
    is_apart = TRACED.count or recorder.interpreter.handling.error is not None
    is_jump = frame.body.names[frame.ip - 1] in _JUMPS
    if place in points.branches or not is_jump or not segment.takes_numbers or is_apart:
        frame.ip = ip
        return False
    points.branches[place] = frame.code  # while it is recorded, too: a loop comes here again
    kept = segment.saved()
    passing = recorder.interpreter.passing, recorder.interpreter.clean
    try:
        found = _joined_ways(frame)
        for slot in range(len(frame.slots)):
            if (live_at(frame, found.if_true) | live_at(frame, found.if_false)) >> slot & 1:
                recorder.load(frame, slot)
        sides = {way: _side(recorder, frame, found, way) for way in (answer, not answer)}
        _join(segment, frame, found.live, node, sides, answer)
    except (GivenUp, NotRecordable, MonographError, TypeError) as reason:
        _LOGGER.debug("a branch on data is no node of the graph: %s", reason)
        segment.restore(kept)
        recorder.interpreter.passing, recorder.interpreter.clean = passing
        frame.ip = ip
        return False
    del points.branches[place]
    return True


def _joined_ways(frame: InterpreterFrame) -> Ways:
    found = ways(frame)
    if found.join is None or found.within is not None:
        raise NotRecordable("sides of a branch that do not join")
    return found


_JUMPS: Final = frozenset(
    {"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"}
)


def _side(recorder: Any, frame: InterpreterFrame, found: Ways, way: bool) -> tuple[BranchSide, End]:  # noqa: FBT001 (it is the answer)
    """Record one side. Raises: NotRecordable, GivenUp, MonographError, TypeError."""
    segment: SegmentRecorder = recorder.segment
    side = BranchSide(segment.nodes, segment.tainted, len(frame.stack))
    with _within(segment, side):
        end = run_to(frame, found, way)
    if end.kind not in ("joined", "returned") or (end.kind == "returned") is not (
        found.join == EXIT
    ):
        raise NotRecordable(f"a side of a branch that has {end.kind} {end.value!r}")
    return side, end


def is_recorded_comparison(recorder: Any, frame: InterpreterFrame, symbol: str) -> bool:
    """Record a jump on a comparison of numbers that depend on data, of which it stands behind."""
    segment: SegmentRecorder = recorder.segment
    left, right = frame.stack[-2:]
    if not any(type(each) in SYMBOLIC and each.is_data for each in (left, right)):
        return False
    arguments = segment.argument(left), segment.argument(right)
    node = segment.graph.call_function(ORDER[symbol], arguments)
    answer = ORDER[symbol](plain(left), plain(right))
    frame.stack[-2:] = [answer]
    if is_recorded_as_cond(recorder, frame, node, answer):
        return True
    segment.graph.erase_node(node)
    frame.stack[-1:] = [left, right]
    return False


@contextmanager
def _within(segment: SegmentRecorder, side: BranchSide) -> Generator[None]:
    """Record into a side."""
    around = segment.side, segment.graph, segment.nodes, segment.tainted
    segment.side, segment.graph = side, side.graph
    segment.nodes, segment.tainted = side.nodes, side.tainted
    try:
        yield
    finally:
        segment.side, segment.graph, segment.nodes, segment.tainted = around


# --- where sides join -----------------------------------------------------------------------------


class _Phi:
    """The values that two sides leave, and the outputs of their graphs that tell them apart."""

    def __init__(
        self, segment: SegmentRecorder, sides: dict[bool, BranchSide], *, answer: bool
    ) -> None:
        self.segment, self.sides, self.answer = segment, sides, answer
        self.pairs: list[tuple[Any, Any]] = []
        self.made: dict[int, Any] = {}
        self.outputs: dict[bool, list[Any]] = {True: [], False: []}

    def add(self, one: Any, two: Any) -> Any:
        """What a pair becomes, as a function of the node of the branch. Raises: NotRecordable."""
        kind = type(one)
        if one is two or (kind is type(two) and kind in ATOMS and repr(one) == repr(two)):
            return lambda _: one
        if kind is tuple and type(two) is tuple and len(one) == len(two):
            if any(self.segment.guards.is_known(each) for each in (one, two)):
                raise NotRecordable("data choose one of two tuples")
            made = [self.add(*pair) for pair in zip(one, two, strict=True)]
            return lambda node: tuple([each(node) for each in made])
        is_number = type(plain(one)) is type(plain(two)) and type(plain(one)) in (int, float)
        if not is_number and not (kind in _TENSORS and _are_alike(one, two)):
            raise NotRecordable("what a branch on data leaves is of two kinds")
        index = self._index(one, two)
        return lambda node: self._chosen(one, two, node, index)

    def _index(self, one: Any, two: Any) -> int:
        for index, pair in enumerate(self.pairs):
            if pair[0] is one and pair[1] is two:
                return index
        self.pairs.append((one, two))
        for way, value in ((True, one), (False, two)):
            with _within(self.segment, self.sides[way]):
                self.outputs[way].append(self.segment.argument(value))
        return len(self.pairs) - 1

    def _chosen(self, one: Any, two: Any, node: Node, index: int) -> Any:
        """The value of an output in this call, which is known as that from now on."""
        segment = self.segment
        if index in self.made:
            return self.made[index]
        part = segment.graph.call_function(operator.getitem, (node, index))
        real = one if self.answer else two
        if not isinstance(real, torch.Tensor):
            value = segment.unbacked_number(plain(real), part)
        else:
            real = plain(real)
            is_new = id(real) not in segment.nodes and not segment.guards.is_known(real)
            value = (
                real
                if is_new
                else ChosenTensor.of(real, node.all_input_nodes[0], answer=self.answer)
            )
            segment.is_symbolic |= not is_new
            varies = one.shape != two.shape or any(
                id(each) in side.tainted
                for each, side in ((one, self.sides[True]), (two, self.sides[False]))
            )
            segment.choose(value, part, varies=varies)
        self.made[index] = value
        return value


_TENSORS: Final = (torch.Tensor, torch.nn.Parameter, ChosenTensor)


def _are_alike(one: Any, two: Any) -> bool:
    """Whether two tensors are told apart by their values alone, or by their shapes, too."""
    one, two = plain(one), plain(two)
    if type(one) is not type(two):
        return False
    facts = [(t.dtype, t.device, t.layout, t.requires_grad, t.is_inference()) for t in (one, two)]
    if facts[0] != facts[1] or one.layout is not torch.strided:
        return False
    if one.shape == two.shape:
        return one.stride() == two.stride()
    return one.is_contiguous() and two.is_contiguous()


def _join(
    segment: SegmentRecorder,
    frame: InterpreterFrame,
    live: int,
    node: Node,
    sides: dict[bool, tuple[BranchSide, End]],
    answer: bool,  # noqa: FBT001 (it is the answer)
) -> None:
    """Put a frame where its sides join. Raises: NotRecordable."""
    graphs = {way: side for way, (side, _) in sides.items()}
    ends = {way: end for way, (_, end) in sides.items()}
    mine, taken = ends[True].frame, ends[answer]
    other = ends[False].frame
    if mine.leavings or other.leavings or len(mine.stack) != len(other.stack):
        raise NotRecordable("the sides of a branch leave elsewhere")
    phi = _Phi(segment, graphs, answer=answer)
    stack, slots = frame.stack, frame.slots
    if taken.kind == "returned":
        made = [phi.add(ends[True].value, ends[False].value)]
        kept: dict[int, Any] = {}
    else:
        made = [
            phi.add(*_standing(stack, at, pair))
            for at, pair in enumerate(zip(mine.stack, other.stack, strict=True))
        ]
        kept = {
            slot: phi.add(*_standing(slots, slot, pair))
            for slot, pair in enumerate(zip(mine.slots, other.slots, strict=True))
            if live >> slot & 1
        }
    call = _call(segment, node, graphs, phi.outputs)
    stack[:] = [each(call) for each in made]
    for slot, pair in enumerate(zip(mine.slots, other.slots, strict=True)):
        before = slots[slot]
        if slot in kept:
            slots[slot] = kept[slot](call)
        elif pair[0] is not pair[1] and taken.kind != "returned":
            slots[slot] = MISSING
        else:
            continue
        if slots[slot] is not before:
            segment.pending.pop((id(frame), slot), None)
    frame.ip = taken.frame.ip - (taken.kind == "returned")
    segment.n_calls += 1


def _standing(before: list[Any], at: int, pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """The very iterator that both sides have a copy of, if neither has asked it."""
    if at < len(before) and before[at] is not pair[0]:
        one = before[at]
        if all(each is not one and stand_alike(one, each) for each in pair):
            return one, one
    return pair


def _call(
    segment: SegmentRecorder,
    node: Node,
    sides: dict[bool, BranchSide],
    outputs: dict[bool, list[Any]],
) -> Node:
    """Write the node, whose sides take the same operands."""
    operands = list(dict.fromkeys(each for side in sides.values() for each in side.parameters))
    names: list[Node] = []
    for way in (True, False):
        side = sides[way]
        with _within(segment, side):
            for operand in reversed(operands):
                side.graph._root.append(segment.lifted(operand))  # noqa: SLF001 - to the front
        side.graph.output(tuple(outputs[way]))
        name = f"{'true' if way else 'false'}_{len(segment.sides) // 2}"
        segment.sides[name] = side.graph
        names.append(segment.graph.get_attr(name))
    lifted = tuple([segment.lifted(each) for each in operands])
    return segment.graph.call_function(cond, (segment.lifted(node), *names, lifted))


# --- what may happen in sides ---------------------------------------------------------------------

_HARMLESS: Final = frozenset(
    {
        *("LOAD_FAST", "STORE_FAST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF"),
        *("LOAD_SUPER_ATTR", "LOAD_CLOSURE", "LOAD_FAST_AND_CLEAR", "DELETE_FAST"),
        *("BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE", "UNARY_INVERT"),
        *("UNARY_POSITIVE", "UNARY_NOT", "TO_BOOL", "IS_OP", "CONTAINS_OP", "MAKE_FUNCTION"),
        *("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
        *("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RETURN_VALUE", "BUILD_MAP", "FORMAT_VALUE"),
        *("BUILD_CONST_KEY_MAP", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING"),
        *("CONVERT_VALUE", "IMPORT_NAME", "IMPORT_FROM", "GET_LEN"),
    }
)
"""Instructions that write to nothing but the frame, or say themselves what they call."""
_ADDING: Final = frozenset({"LIST_APPEND", "MAP_ADD", "SET_ADD"})
"""Those that write to a display of the frame, so long as it is not complete."""
_OF_CALLEES: Final = _ADDING | {"MAKE_CELL"}
"""Those that write to what the frame of a call that began in the side has made."""
_ASKING: Final = frozenset({"GET_ITER", "UNPACK_SEQUENCE", "LIST_EXTEND", "DICT_MERGE"})
"""Those that ask an iterator that may be older, if they are given one."""
_PURE: Final = (
    *(len, isinstance, issubclass, range, getattr, hasattr, callable, super, iter, tuple, list),
    *(enumerate, zip, reversed, dict, abs, min, max, int, float, bool, str, operator.index),
)


def check_step_in_side(side: BranchSide, frame: InterpreterFrame, name: str, argument: Any) -> None:
    """Raises: NotRecordable, of an instruction whose effect may outlive a side."""
    handler = frame.body.handlers[frame.ip - 1]
    if handler is not None and not (
        handler.target in frame.body.around or _puts_back(frame.body.names, handler.target)
    ):
        raise NotRecordable("a handler within a side of a branch")
    if name in _HARMLESS:
        is_ours = frame.stack and type(frame.stack[-1 - (name == "BINARY_OP")]) in _OWN_IN_PLACE
        if name == "BINARY_OP" and argument.endswith("=") and not is_ours:
            raise NotRecordable("an object is changed in a side of a branch")
        return
    if name in _ASKING and not hasattr(type(frame.stack[-1]), "__next__"):
        if name.startswith("LIST") and frame.is_copy:
            raise NotRecordable("a display that began before a branch")
        return
    is_own_cell = name == "STORE_DEREF" and frame.body.slots[argument] in frame.code.co_cellvars
    if (name in _OF_CALLEES or is_own_cell) and not frame.is_copy:
        return
    if name in _ADDING and len(frame.stack) - argument - (name == "MAP_ADD") >= side.depth:
        return
    if name == "FOR_ITER" and not (frame.is_copy and len(frame.stack) < side.depth):
        return
    raise NotRecordable(f"the instruction {name} in a side of a branch")


_OWN_IN_PLACE: Final = (torch.Tensor, int, float, str, bytes, tuple, bool, complex, *SYMBOLIC)


def _puts_back(names: Sequence[str], target: int) -> bool:
    """Whether a handler puts variables of an inlined comprehension back, and goes on raising."""
    while names[target] in ("SWAP", "POP_TOP", "STORE_FAST"):
        target += 1
    return names[target] == "RERAISE"


def check_call_in_side(callee: Any, takes: bool, args: list[Any]) -> None:  # noqa: FBT001 (what it is)
    """Raises: NotRecordable, of a call whose effect may outlive a side.

    `takes` is whether it is of an operator, of a function that is interpreted, or of sizes.
    """
    owner = getattr(callee, "__self__", None)
    is_pure = any(callee is each for each in _PURE) or is_reading(owner, _name_of(callee))
    is_pure &= not any(hasattr(type(each), "__next__") for each in args)
    is_setter = any(callee is each for each in MODE_SETTERS)
    if not (takes or is_pure) or is_setter or callee is print:
        raise NotRecordable(f"a call of `{_name_of(callee)}` in a side of a branch")


def _name_of(callee: Any) -> str:
    return getattr(callee, "__name__", type(callee).__name__)
