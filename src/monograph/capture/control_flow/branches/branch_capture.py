"""Branch capture: an `if` on a value inside a tensor is recorded on both sides, as one `cond`.

The interpreter stands at a conditional jump whose answer depends on data. Either side is run by a
copy of the frame, as a region, to the join point (the immediate post-dominator of the jump): after
the `if`, or in the function's return. There the two states are merged (see `state_merge`), and the
frame goes on.

A side that raises leaves the other as the only one: the program asserts that it is taken. A
condition that decides whether a loop goes on is that loop's (see `loops`); in an iteration of it,
another one may leave it early: that side arrives at the test with an answer that leaves.

Law: the state in which the frame goes on is, for either answer, the state in which eager code
would; what cannot be told apart as a value (an object that is None on one side, a list that is
longer on one) is refused with its name, unless nobody reads it.

A tensor that is, on one side, the very tensor from outside comes out as a copy of it, as all
results of operators do. Eager code would see writes to either in the other; so both are refused to
be written to from then on. So are containers, and who asks which object is which: see
`recording.alias_analysis`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import showing, to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.branches.branch_execution import (
    MOVED,
    End,
    answered,
    finish,
    run_on,
    run_to,
)
from monograph.bytecode.branches.branch_targets import (
    condition_of,
    early,
    later,
    loop_test,
    never_returns,
    onwards,
    same_loop,
    until_round_ends,
    ways,
)
from monograph.bytecode.branches.frame_copies import snapshot
from monograph.bytecode.evaluation.frame import RETURN
from monograph.capture import caught_refusals
from monograph.capture.branch_equivalence import is_about_small
from monograph.capture.control_flow.branches.join_point import arrive
from monograph.capture.control_flow.branches.object_merge import SavedValues
from monograph.capture.control_flow.dynamic_context import (
    context_of,
    enter_context,
    within_context,
)
from monograph.capture.control_flow.higher_order.operators import record_both
from monograph.capture.control_flow.loops.while_capture import as_truth, loop
from monograph.capture.internal_errors import refusal_of
from monograph.capture.numpy_arrays import AbstractArray
from monograph.capture.recording.unbacked_values import known_value, state_value
from monograph.capture.restart import Restart, restarted
from monograph.diagnostics import MonographError, problem
from monograph.integers import Contradiction, Expr, Relation, ne, negate, relation_text, require

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_targets import LoopTest, Ways
    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder

_NAME: Final = "if"
"""How messages call what runs the branches."""


_OURS: Final = (MonographError, RecursionError, MemoryError)
"""Exceptions that are not the program's, or say nothing about it."""


_MOST_BRANCHES: Final = 4000
_DEEPEST: Final = 100
"""How many regions may be around a branch: CPython lets no more be interpreted in each other."""
_MOST_UNMERGED: Final = 4
"""How many conditions may be unmerged at once: each doubles what is recorded."""


_MOST_CALLS: Final = 24
"""How many calls of one function may be within a branch of each other."""
_MOST_JOINS: Final = 4
"""How many of the places are tried where ways can be joined later, besides the last."""


def fork(recorder: Recorder, frame: InterpreterFrame, value: Any, *, on_sizes: bool = False) -> Any:
    """Go both ways at a conditional jump on a value that is only known at run time.

    True or False where it is known now, or where the other way raises; NotImplemented where the
    question is none of ours. `on_sizes` asks for both ways by sizes, too, wherever both can be
    recorded; the way of the example, with a guard, is right everywhere else.

    Raises: branches-disagree, branch-side-effect, branch-writes, and what either way refuses.
    """
    value = value.tensor if type(value) is AbstractArray else value
    condition = _condition(recorder, value, on_sizes=on_sizes)
    if condition is None or frame.names is not None:
        return NotImplemented
    has_example = isinstance(condition, Relation) and recorder.facts.is_backed(condition)
    test = loop_test(frame)
    if test is not None and (has_example or not _is_to_peel(recorder, frame)):
        return NotImplemented if has_example else _looped(recorder, frame, value, test)
    found = ways(frame)
    if found.join is None or (found.keeps_if is not None and isinstance(value, torch.SymInt)):
        return NotImplemented  # what is kept is a number, no truth
    places = _places(recorder, frame, found, has_example=has_example)
    try:
        return _forked(recorder, frame, condition, places)
    except Restart as restart:
        if restart.reason != "one side":
            raise
        return NotImplemented if has_example else _only_side(recorder, frame, value, restart)
    except MonographError as reason:
        if has_example:
            caught_refusals.answered(reason)
            return NotImplemented
        if not isinstance(reason.__cause__, Restart):
            raise
        if _may_be_merged_later(recorder, frame):
            raise Restart("merge later", reason) from None
        raise reason from None


def inverted(recorder: Recorder, value: Any, *, on_sizes: bool = False) -> Any:
    """`not` of a value that is only known at run time, NotImplemented of any other."""
    if not can_fork(recorder, value, on_sizes=on_sizes):
        return NotImplemented
    return torch.sym_not(truth_value(value.tensor if type(value) is AbstractArray else value))


def can_fork(recorder: Recorder, value: Any, *, on_sizes: bool = False) -> bool:
    """Whether a condition on this value is only known at run time."""
    return _condition(recorder, value, on_sizes=on_sizes) is not None


def truth_value(value: Any) -> Any:
    """A condition on data as a `torch.SymBool`."""
    number = value.item() if isinstance(value, AbstractTensor) else value
    return number if isinstance(number, torch.SymBool) else number != 0


def _condition(recorder: Recorder, value: Any, *, on_sizes: bool) -> Any:
    """What decides at run time: a tensor of one element, a relation; None where that is known."""
    value = value.tensor if type(value) is AbstractArray else value
    if issubclass(type(value), AbstractTensor):
        if value.recorder is not recorder or known_value(recorder, value) is not None:
            return None
        if value.tensor_type.numel() != 1 or state_value(recorder, value) is not None:
            return None
        return value
    condition: Any = to_python(value)
    if issubclass(type(condition), Expr):
        condition = ne(condition, 0)
    if not issubclass(type(condition), Relation):
        return None
    if recorder.facts.prove(condition) is not None:
        return None
    if not recorder.facts.is_backed(condition) or (on_sizes and not recorder.options.both_ways):
        return condition
    if any(is_about_small(recorder.facts, each) for each in (condition, negate(condition))):
        return None
    if not on_sizes:
        recorder.options.branches.append(str(condition))
        return None
    return condition


# --- both ways ---------------------------------------------------------------------------------


def _places(
    recorder: Recorder, frame: InterpreterFrame, found: Ways, *, has_example: bool
) -> Iterator[Ways]:
    """Where the ways can be joined: the nearest first, and a few later ones."""
    if condition_of(frame) in recorder.options.apart:
        yield until_round_ends(frame, found)
        return
    if has_example:
        yield found
        return
    nearest = early(frame, found)
    yield nearest
    yield from later(frame, nearest, _MOST_JOINS)


def _forked(
    recorder: Recorder, frame: InterpreterFrame, condition: Any, places: Iterator[Ways]
) -> Any:
    """Record both sides, and merge them at the first join point where they can be one state.

    What nothing can stand for on one side may be asked about before it is used (`if y is None`), or
    forgotten: then the sides are recorded further, each by itself, to where that is done.
    """
    # A copy is of a call that is counted already.
    recorder.branching.append(None if frame.is_copy else frame.code)
    try:
        if recorder.branching.count(frame.code) > _MOST_CALLS:
            if recorder.options.both_ways:
                raise Restart("one way")
            name = frame.code.co_qualname.rpartition("<locals>.")[2]
            raise problem("recursion-on-data", name=name, count=_MOST_CALLS)
        return _joined_at_one_of(recorder, frame, condition, places)
    finally:
        recorder.branching.pop()


def _joined_at_one_of(
    recorder: Recorder, frame: InterpreterFrame, condition: Any, places: Iterator[Ways]
) -> Any:
    before = (SavedValues(frame.stack), SavedValues(frame.slots), frame.ip, frame.leavings)
    context = context_of(recorder, frame)

    def put_back() -> None:
        frame.stack[:], frame.slots[:], frame.ip, frame.leavings = before
        enter_context(recorder, frame, context)

    is_apart = condition_of(frame) in recorder.options.apart
    reason: Restart | None = None
    for n, each in enumerate(places):
        try:
            with _unmerged(recorder, n > 0 or is_apart):
                go = partial(_start, recorder, frame, each)
                signal = _both(recorder, frame, condition, each, go)
        except BaseException as error:
            put_back()
            if isinstance(error, MonographError):
                _doubt_around(recorder, frame)
            if isinstance(error, Restart) and error.reason == "no merge":
                return NotImplemented
            if isinstance(error, Restart) and error.reason == "merge later":
                reason = reason or error
            elif not (isinstance(error, MonographError) and _is_alike(error, reason)):
                raise
            continue
        try:
            return gone_on(recorder, frame, signal)
        except BaseException:
            put_back()
            raise
    assert reason is not None, "every other way out returns or raises"
    raise reason.cause from reason


def _doubt_around(recorder: Recorder, frame: InterpreterFrame) -> None:
    """What its own condition apart does not mend, as the sides end within another's, is that's."""
    options, here = recorder.options, condition_of(frame)
    is_of_code = any(code is frame.code for code, _ in options.doubted)
    if is_of_code and here not in options.apart and options.apart.issuperset(options.doubted):
        options.doubted.append(here)


def _is_alike(error: MonographError, reason: Restart | None) -> bool:
    """Whether an error is the refusal because of which the sides are merged later."""
    return reason is not None and error.diagnostic.name == reason.cause.diagnostic.name


@contextmanager
def _unmerged(recorder: Recorder, really: bool) -> Generator[None]:  # noqa: FBT001 - it is what it says
    """Until two sides are merged, all that follows is recorded for each of them.

    Raises: branches-multiply.
    """
    recorder.n_unmerged += really
    try:
        if recorder.n_unmerged > _MOST_UNMERGED:
            raise problem("branches-multiply", count=_MOST_UNMERGED)
        yield
    finally:
        recorder.n_unmerged -= really


def _may_be_merged_later(recorder: Recorder, frame: InterpreterFrame) -> bool:
    """Whether the frame is a copy that another condition of the same code has run to here."""
    return (
        bool(frame.body.stops) and recorder.region is not None and recorder.region.operator == _NAME
    )


def _both(
    recorder: Recorder,
    frame: InterpreterFrame,
    condition: Any,
    found: Ways,
    go: Callable[[bool], End],
) -> Any:
    """Record either side as a region, and put the frame where it goes on."""

    def prepare(restart: Restart) -> bool:
        if restart.reason != "track objects":
            return False
        around = recorder.region
        if around is not None and around.effects is not None and not around.effects.tracks_objects:
            return False  # the outermost condition begins anew
        recorder.tracks_objects = True
        return True

    return restarted(partial(_joined, recorder, frame, condition, found, go), prepare)


def _is_to_peel(recorder: Recorder, frame: InterpreterFrame) -> bool:
    """Whether a loop is recorded apart from its first iteration, which is yet to come, or runs.

    What may be something else where there is no iteration is one thing on either side.
    """
    here, aliases = condition_of(frame), recorder.aliases
    if here in aliases.peeled:
        aliases.peeled -= {here}
        return False
    return here in recorder.options.apart or any(same_loop(here, each) for each in aliases.peeled)


def _looped(recorder: Recorder, frame: InterpreterFrame, value: Any, test: LoopTest) -> Any:
    """Record a loop, and go on behind it, or from where an iteration has left for."""
    return gone_on(recorder, frame, loop(recorder, frame, value, test))


def gone_on(recorder: Recorder, frame: InterpreterFrame, signal: Any) -> Any:
    """Go on from where a frame was put, unless it stops there: the way to it is written already."""
    if signal is RETURN or not frame.leavings or frame.ip in frame.body.stops:
        return signal
    try:
        return _settle(recorder, frame)
    except Restart as restart:
        if restart.reason != "merge later":
            raise
        raise restart.cause from restart


def _joined(
    recorder: Recorder,
    frame: InterpreterFrame,
    condition: Any,
    found: Ways,
    go: Callable[[bool], End],
) -> Any:
    before = frozenset(recorder.facts.symbols)
    sides: list[Any] = []
    if recorder.options.apart:
        go = partial(_of_one_side, recorder, frame, go, sides)
    regions = _run(recorder, condition, go)
    recorder.aliases.note_sides(sides)
    ends = [region.result for region in regions]
    if any(end.kind == "yielded" for end in ends):
        for region in regions:
            region.discard()
        raise Restart("no merge")
    if found.within is not None and answered(ends, found):
        for region, end in zip(regions, ends, strict=True):
            with region:  # the answers at the loop's test, where both ways arrive
                end.frame.stack[-1] = as_truth(end.frame.stack[-1])
    with recorder.aliases.merging(condition_of(frame), are_apart=bool(sides)):
        return arrive(recorder, frame, condition, found, regions, before)


def _of_one_side(
    recorder: Recorder,
    frame: InterpreterFrame,
    go: Callable[[bool], End],
    sides: list[Any],
    answer: bool,  # noqa: FBT001 - the condition's answer
) -> End:
    test = loop_test(frame)
    with recorder.aliases.of_one_side(sides):
        if test is not None and test.stays_if is answer:
            recorder.aliases.peeled |= {condition_of(frame)}
        return go(answer)


def _settle(recorder: Recorder, frame: InterpreterFrame) -> Any:
    """Go on from where a frame stands, or from where a way has left for, as its flag says."""
    head, *rest = frame.leavings
    frame.leavings = ()
    found = onwards(frame, head)

    def go(answer: bool) -> End:  # noqa: FBT001 - the flag's answer
        copied = snapshot(frame)
        if answer:
            enter_context(recorder, frame, head.context)
            return run_on(copied, found, head)
        copied.leavings = tuple(rest)
        if rest and _settle(recorder, copied) is RETURN:
            return End("returned", copied, copied.value)
        return run_on(copied, found)

    try:
        signal = _both(recorder, frame, head.flag, found, partial(_go, recorder, frame, go))
        return gone_on(recorder, frame, signal)
    except Restart as restart:
        if restart.reason != "one side":
            raise
        if restart.cause[0] or is_caught(frame.back):
            raise Restart("no merge") from None
        _assert_not(recorder, truth_value(head.flag.logical_not()), restart)
        enter_context(recorder, frame, head.context)
        end = run_on(frame, found, head)
        return finish(frame, end.value) if end.kind == "returned" else MOVED


def _run(recorder: Recorder, condition: Any, go: Callable[[bool], End]) -> list[Region]:
    """Record either way as a region."""
    recorder.n_regions += 2
    if 0 < recorder.options.both_ways < recorder.n_regions:
        raise Restart("one way")
    if recorder.n_regions > _MOST_BRANCHES:
        raise problem("branches-multiply", kind="all", count=_MOST_BRANCHES)
    if recorder.region is not None and recorder.region.depth > _DEEPEST:
        raise problem("branches-multiply", kind="within", count=_DEEPEST)
    try:
        return record_both(recorder, _NAME, condition, (go, go), ((True,), (False,)))
    except Contradiction:  # no call takes one of them, which only what follows of it shows
        raise Restart("no merge") from None


def _start(recorder: Recorder, frame: InterpreterFrame, found: Ways, answer: bool) -> End:  # noqa: FBT001 - the condition's answer
    begun = len(recorder.facts.assertions)
    try:
        return _go(recorder, frame, partial(run_to, frame, found), answer)
    except MonographError as refusal:
        if not never_returns(frame, found, answer):
            raise
        caught_refusals.answered(refusal)
        # It raises whatever is refused of it: the words of its exception, in most cases.
        error = RuntimeError("raised, in words that no graph can say")
        raise _one_side(recorder, answer, error, begun) from None


def _go(
    recorder: Recorder,
    frame: InterpreterFrame,
    run: Callable[[bool], End],
    answer: bool,  # noqa: FBT001 - the condition's answer
) -> End:
    begun = len(recorder.facts.assertions)
    try:
        end = within_context(recorder, frame, partial(run, answer))
    except TypeError as error:
        raise problem("branch-copies", reason=str(error)) from error
    if end.kind == "raised":
        if isinstance(end.value, _OURS):
            raise end.value
        refusal = refusal_of(end.value)
        if refusal is not None:
            raise refusal from end.value
        raise _one_side(recorder, answer, end.value, begun)
    return end


# --- one side raises -----------------------------------------------------------------------------


def _one_side(recorder: Recorder, answer: bool, error: BaseException, begun: int) -> Restart:  # noqa: FBT001 - the condition's answer
    """This side raises, as far as it follows the example: by what it has stated since it began."""
    stated = [each.relation for each in recorder.facts.assertions[begun:]]
    return Restart("one side", (answer, error, stated))


_ABSTRACT: Final = re.compile(r"AbstractTensor\(TensorType\((.*?)\)\)")
"""What stands in a text for the numbers that a call would show."""


def _only_side(recorder: Recorder, frame: InterpreterFrame, value: Any, restart: Restart) -> Any:
    """Assert that the side is taken that does not raise, and take it.

    An exception that somebody around would catch is a side of its own: that is not done here.
    """
    if is_caught(frame):
        return NotImplemented
    condition, raising = truth_value(value), restart.cause[0]
    _assert_not(recorder, condition if raising else torch.sym_not(condition), restart)
    return not raising


def _assert_not(recorder: Recorder, condition: Any, restart: Restart) -> None:
    for stated in restart.cause[2]:
        if recorder.facts.is_backed(stated):
            question = relation_text(stated)
            require(stated, "data-dependent-size", question=question, size="a size")
    holds = to_python(torch.sym_not(condition))
    with showing(names=True):
        said = "".join(format_exception_only(restart.cause[1])).strip()
        recorder.assert_now(holds, _ABSTRACT.sub(r"a tensor (\1)", said))


def is_caught(frame: InterpreterFrame | None) -> bool:
    """Whether a frame of the program has a handler around what it is doing now."""
    while frame is not None:
        if frame.body.handlers[frame.ip - 1] is not None:
            return True
        frame = frame.back
    return False
