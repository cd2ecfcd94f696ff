"""Python's own `if` on a value inside a tensor: both ways are recorded, and become one `cond`.

The interpreter stands at a conditional jump whose answer depends on data. Either way is run by a
copy of the frame, as the body of a branch, to where both meet: after the `if`, or in the function's
return. What the copies hold then is joined (see `joining`), and the frame goes on from there.

A way that raises leaves the other as the only one: the program asserts that it is taken. A
condition that decides whether a loop goes on is that loop's (see `loops`); in a step of it, another
one may leave it early: that way arrives at the test with an answer that leaves.

Law: the state in which the frame goes on is, for either answer, the state in which eager code
would; what cannot be told apart as a value (an object that is None on one side, a list that is
longer on one) is refused with its name, unless nobody reads it.

A tensor that is, on one side, the very tensor from outside comes out as a copy of it, as all
results of operators do. Eager code would see writes to either in the other; so both are refused to
be written to from then on. So are containers, and who asks which object is which (see `doubts`).
"""

from __future__ import annotations

from dataclasses import replace
from operator import add
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import is_grad_enabled  # as it is, not as user code is watched asking it

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.flow import EXIT
from monograph.bytecode.forking import End, finish, loop_test, move, run_to, ways
from monograph.bytecode.frame import MISSING
from monograph.capture.control_flow import Branches, record_both
from monograph.capture.data import known_value
from monograph.capture.doubts import differences, shared
from monograph.capture.joining import Join, Made, carried
from monograph.capture.loops import as_truth, loop
from monograph.capture.subgraphs import gives_itself
from monograph.diagnostics import MonographError, problem
from monograph.integers import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode import Frame
    from monograph.bytecode.forking import Ways
    from monograph.capture.recorder import Recorder
    from monograph.capture.subgraphs import Body

_NAME: Final = "if"
"""How messages call what runs the branches."""


_OURS: Final = (MonographError, RecursionError, MemoryError)
"""Exceptions that are not the program's, or say nothing about it."""


_MOST_BRANCHES: Final = 2000


class _Raised(Exception):  # noqa: N818 - it says that something else was raised
    """One way ended by an exception of the program's, which may or may not happen at run time."""

    def __init__(self, answer: bool, error: BaseException) -> None:  # noqa: FBT001 - its answer
        super().__init__(answer)
        self.answer = answer
        self.error = error


def fork(recorder: Recorder, frame: Frame, value: Any, *, on_sizes: bool = False) -> Any:
    """Go both ways at a conditional jump on a value that is only known at run time.

    True or False where it is known now, or where the other way raises; NotImplemented where the
    question is none of ours. `on_sizes` asks for both ways by sizes, too, wherever both can be
    recorded; the way of the example, with a guard, is right everywhere else.

    Raises: branches-disagree, branch-side-effect, branch-writes, and what either way refuses.
    """
    condition = _condition(recorder, value, on_sizes=on_sizes)
    if condition is None:
        return NotImplemented
    if frame.names is not None or _is_handling(frame):
        return NotImplemented
    has_example = isinstance(condition, Relation) and recorder.facts.is_backed(condition)
    test = loop_test(frame)
    if test is not None:
        return NotImplemented if has_example else loop(recorder, frame, value, test)
    found = ways(frame)
    if found.join is None:
        return NotImplemented
    try:
        return _both(recorder, frame, condition, found)
    except _Raised as raised:
        return NotImplemented if has_example else _only_way(recorder, frame, value, raised)
    except MonographError:
        if has_example:
            return NotImplemented
        raise


def _is_handling(frame: Frame) -> bool:
    """Whether an exception is being handled: that is no part of the frame that is copied."""
    handling = frame.interpreter.handling
    return handling.error is not None or handling.previous is not None


def inverted(recorder: Recorder, value: Any, *, on_sizes: bool = False) -> Any:
    """`not` of a value that is only known at run time, NotImplemented of any other."""
    if not can_fork(recorder, value, on_sizes=on_sizes):
        return NotImplemented
    return torch.sym_not(truth_value(value))


def can_fork(recorder: Recorder, value: Any, *, on_sizes: bool = False) -> bool:
    """Whether a condition on this value is only known at run time."""
    return _condition(recorder, value, on_sizes=on_sizes) is not None


def truth_value(value: Any) -> Any:
    """A condition on data as a `torch.SymBool`."""
    number = value.item() if isinstance(value, AbstractTensor) else value
    return number if isinstance(number, torch.SymBool) else number != 0


def _condition(recorder: Recorder, value: Any, *, on_sizes: bool) -> Any:
    """What decides at run time: a tensor of one element, a relation; None where that is known."""
    if isinstance(value, AbstractTensor):
        if value.recorder is not recorder or known_value(recorder, value) is not None:
            return None
        if value.tensor_type.numel() != 1:
            return None
        return value
    condition = to_python(value)
    if not isinstance(condition, Relation):
        return None
    if recorder.facts.is_backed(condition) and not on_sizes:
        return None
    return condition if recorder.facts.prove(condition) is None else None


# --- both ways ---------------------------------------------------------------------------------


def _both(recorder: Recorder, frame: Frame, condition: Any, found: Ways) -> Any:
    bodies, ends = _run(recorder, frame, condition, found)
    if found.within is None and {end.kind for end in ends} == {"joined", "returned"}:
        _give_up(bodies)
        found = replace(found, join=EXIT)
        bodies, ends = _run(recorder, frame, condition, found)
    kinds = {end.kind for end in ends}
    if found.within is not None and kinds != {"joined"}:
        raise problem("loop-leaves", how=min(kinds - {"joined"}))
    if kinds not in ({"joined"}, {"returned"}):
        _give_up(bodies)
        return NotImplemented
    try:
        return _joined(recorder, frame, condition, found, bodies, ends)
    except MonographError:
        _give_up(bodies)
        raise


def _joined(
    recorder: Recorder,
    frame: Frame,
    condition: Any,
    found: Ways,
    bodies: Sequence[Body],
    ends: Sequence[End],
) -> Any:
    """Write the call, and put the frame where both ways meet."""
    if found.within is not None:
        for body, end in zip(bodies, ends, strict=True):
            with body:  # the answers at the loop's test, where both ways arrive
                end.frame.stack[-1] = as_truth(end.frame.stack[-1])
    join = Join()
    names, pairs = _states(frame, found, ends)
    joined = [join.meet(*pair, name) for name, pair in zip(names, pairs, strict=True)]
    for body, values in zip(bodies, (join.lefts, join.rights), strict=True):
        with body:
            body.result = [carried(value) for value in values]
    results = _closed(recorder, bodies, condition)
    made = Made(results)
    values = [made.value(each) for each in joined]
    recorder.doubts.entangle(_uncertain(bodies, join, made))
    if ends[0].kind == "returned":
        return finish(frame, values[0])
    n_stack = len(ends[0].frame.stack)
    assert found.join is not None, "both ways arrived somewhere"
    return move(frame, found.join, values[:n_stack], values[n_stack:])


def _run(
    recorder: Recorder, frame: Frame, condition: Any, found: Ways
) -> tuple[list[Body], list[End]]:
    """Record either way as a body."""
    recorder.n_branches += 2
    if recorder.n_branches > _MOST_BRANCHES:
        raise problem("branches-multiply", count=_MOST_BRANCHES)
    arguments = [(recorder, frame, found, answer) for answer in (True, False)]
    bodies = record_both(recorder, _NAME, condition, (_go, _go), arguments)
    return bodies, [body.result for body in bodies]


def _go(recorder: Recorder, frame: Frame, found: Ways, answer: bool) -> End:  # noqa: FBT001 - the condition's answer
    modes = (is_grad_enabled(), recorder.scopes.autocast)
    try:
        end = run_to(frame, found, answer)
    except TypeError as error:
        raise problem("branch-copies", reason=str(error)) from error
    if end.kind == "raised":
        if isinstance(end.value, _OURS):
            raise end.value
        raise _Raised(answer, end.value)
    if modes != (is_grad_enabled(), recorder.scopes.autocast):
        torch.set_grad_enabled(modes[0])
        raise problem("branch-side-effect", operator=_NAME, kind="switch", name="")
    return end


def _give_up(bodies: Sequence[Body]) -> None:
    for body in bodies:
        body.give_up()


def _states(
    frame: Frame, found: Ways, ends: Sequence[End]
) -> tuple[list[str], list[tuple[Any, Any]]]:
    """What the two copies hold, pair by pair, with the names that the code has for it."""
    left, right = ends
    if left.kind == "returned":
        return ["the result"], [(left.value, right.value)]
    if len(left.frame.stack) != len(right.frame.stack):
        raise problem("bug", reason="two ways join with stacks of different heights")
    names = [""] * len(left.frame.stack)
    pairs = list(zip(left.frame.stack, right.frame.stack, strict=True))
    slots = zip(frame.body.slots, left.frame.slots, right.frame.slots, strict=True)
    for n, (name, one, other) in enumerate(slots):
        names.append(name)
        pairs.append((one, other) if found.live >> n & 1 else (MISSING, MISSING))
    return names, pairs


def _closed(recorder: Recorder, bodies: Sequence[Body], condition: Any) -> list[Any]:
    """Write the call; its results, with what is in doubt about them noted."""
    doubts = recorder.doubts
    lefts, rights = (shared(doubts, body, body.result) for body in bodies)
    pairs = list(zip(*(body.result for body in bodies), strict=True))
    written = [tensor for body in bodies for tensor, _ in body.written]
    before = [tensor.tensor_type.requires_grad for tensor in written]
    branches = Branches(recorder, bodies, (), stays=gives_itself(recorder))
    results = branches.close(_as_condition(condition))
    for pair, roots, result in zip(pairs, map(add, lefts, rights), results, strict=True):
        if isinstance(result, AbstractTensor):
            if roots:
                doubts.entangle([result, *roots])
            for question in differences(doubts, pair, result.tensor_type):
                doubts.differ(question, result.node)
    for tensor, flag in zip(written, before, strict=True):
        doubts.differ("version", tensor.node)
        if tensor.tensor_type.requires_grad is not flag:
            doubts.differ("requires_grad", tensor.node)
    return results


def _uncertain(bodies: Sequence[Body], join: Join, made: Made) -> list[Any]:
    """Containers that may be one with others, on one side: not made there, or held twice."""
    found: list[Any] = []
    sides = [[each[side] for each in join.containers] for side in (0, 1)]
    for *pair, joined in join.containers:
        is_certain = all(
            body.part is not None
            and body.part.made(one)
            and sum(one is other for other in side) == 1
            for body, one, side in zip(bodies, pair, sides, strict=True)
        )
        if not is_certain:
            found += [made.value(joined), *pair]
    return found


def _as_condition(condition: Any) -> Any:
    if isinstance(condition, AbstractTensor) and condition.tensor_type.dtype != torch.bool:
        return condition.ne(0)
    return condition


# --- one way raises ------------------------------------------------------------------------------


def _only_way(recorder: Recorder, frame: Frame, value: Any, raised: _Raised) -> Any:
    """Assert that the way is taken that does not raise, and take it.

    An exception that somebody around would catch is a way of its own: that is not done here.
    """
    if _is_caught(frame):
        return NotImplemented
    condition = truth_value(value)
    holds = to_python(torch.sym_not(condition) if raised.answer else condition)
    recorder.assert_now(holds, "".join(format_exception_only(raised.error)).strip())
    return not raised.answer


def _is_caught(frame: Frame | None) -> bool:
    """Whether a frame of the program has a handler around what it is doing now."""
    while frame is not None:
        if frame.body.handlers[frame.ip - 1] is not None:
            return True
        frame = frame.back
    return False
