"""Join points: the states of both sides of a condition become one, in which the frame goes on.

Where one side left for good (a `return` under two conditions, a `break`), what follows is still
recorded once: as one side of a further condition (a flag), whose other side is what left. Until
then what left is carried along (`Frame.leavings`): where a copy of the frame stops, what runs that
copy takes it over.

Law: of values that are on one side alone, that side's are what both sides return; nobody reads them
where the other side was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import CO_GENERATOR
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_execution import finish, move, place_of
from monograph.bytecode.branches.branch_targets import Leaving, live_at, near
from monograph.bytecode.evaluation.frame import MISSING
from monograph.capture.control_flow.branches.object_merge import met_writes, write
from monograph.capture.control_flow.branches.reaching_assignments import ReachingAssignments
from monograph.capture.control_flow.branches.state_merge import ABSENT, MergedValues, StateMerge
from monograph.capture.control_flow.dynamic_context import context_of, enter_context
from monograph.capture.control_flow.higher_order.operators import Branches
from monograph.capture.control_flow.higher_order.result_merge import merge_leaves
from monograph.capture.control_flow.loops.while_capture import as_truth
from monograph.capture.control_flow.region import gives_itself
from monograph.capture.queries.inference_tensors import note_inference
from monograph.capture.restart import Restart
from monograph.diagnostics import MonographError, problem
from monograph.integers import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import Ways
    from monograph.bytecode.evaluation.frame import Mark
    from monograph.capture.control_flow.branches.state_merge import MergedContainer, MergedValue
    from monograph.capture.control_flow.dynamic_context import DynamicContext
    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Expr


@dataclass(frozen=True, slots=True)
class _EarlyExit:
    """One way that leaves on either side, as it will be: its flag, and its state."""

    place: int
    flags: tuple[Any, Any]
    state: list[MergedValue]
    context: DynamicContext
    n_stack: int


def arrive(
    recorder: Recorder,
    frame: InterpreterFrame,
    condition: Any,
    found: Ways,
    regions: Sequence[Region],
    before: frozenset[Expr],
) -> Mark:
    """Put the frame where the nearer way ended, in a state that is either's.

    `before` are the sizes that were known when the regions were begun.

    Raises: Restart, branches-disagree, branch-side-effect.
    """
    ends = [region.result for region in regions]
    places = [place_of(end) for end in ends]
    place = near(frame, found, places)
    context = context_of(recorder, frame)
    try:
        return _arrive(recorder, frame, condition, found, places, place, regions, before)
    except (Restart, MonographError) as error:
        enter_context(recorder, frame, context)
        for region in regions:
            region.discard()
        is_refusal = isinstance(error, MonographError)
        if is_refusal and error.diagnostic.name == "branches-disagree" and place != EXIT:
            raise Restart("merge later", error) from None
        raise


def _arrive(
    recorder: Recorder,
    frame: InterpreterFrame,
    condition: Any,
    found: Ways,
    places: Sequence[int],
    place: int,
    regions: Sequence[Region],
    before: frozenset[Expr],
) -> Mark:
    ends: list[End] = [region.result for region in regions]
    pairs = list(zip(ends, places, strict=True))
    arrived = [end for end, at in pairs if at == place]
    enter_context(recorder, frame, _one_context([end.context for end in arrived]))
    for region in regions:
        region.around = recorder.scopes.regions()
    at_exit = bool(recorder.options.apart) and place == EXIT
    at_exit = at_exit and not frame.code.co_flags & CO_GENERATOR
    roots = [root for region in regions for root, _ in region.written] if at_exit else []
    join = StateMerge(regions, before, roots)
    here = [_state(end, place) if at == place else None for end, at in pairs]
    origins = ReachingAssignments(recorder, frame, found, ends)
    joined = _met(join, here, _names(frame, here, place), place, origins)
    lefts = [_left(join, frame, each, ends, origins) for each in _places_left(ends, place)]
    changes = met_writes(recorder, frame, join, regions, at_exit=at_exit)
    uncertain = _uncertain(recorder, regions, join)
    flags = [left.flags for left in lefts if not _is_one_side(left.flags)]
    for one, other in zip(regions, _as_tensors(regions, flags), strict=True):
        (join.lefts if one is regions[0] else join.rights).extend(other)
    for region, values in zip(regions, join.returned(), strict=True):
        region.result = values
    results = _closed(recorder, regions, condition, join, origins)
    made = MergedValues(results)
    values = [made.value(each) for each in joined]
    for pair, container in uncertain:
        recorder.aliases.may_alias([*pair, made.value(container)])
    write(changes, made, regions[0].effects)
    answers = iter(results[len(results) - len(flags) :])
    truth = as_truth(to_sym(condition)) if len(lefts) > len(flags) else None
    frame.leavings = tuple(
        Leaving(
            left.place,
            _flag(truth, left.flags) if _is_one_side(left.flags) else next(answers),
            tuple(made.value(each) for each in left.state),
            left.context,
            left.n_stack,
        )
        for left in lefts
    )
    if place == EXIT:
        return finish(frame, values[0])
    n_stack = len(arrived[0].frame.stack)
    return move(frame, place, values[:n_stack], values[n_stack:])


# --- what is there -------------------------------------------------------------------------------


def _state(end: End, place: int) -> list[Any]:
    """What a copy of a frame holds that stands there: its stack, and the slots that are read."""
    if place == EXIT:
        return [end.value]
    live = live_at(end.frame, place)
    slots = [each if live >> n & 1 else MISSING for n, each in enumerate(end.frame.slots)]
    return [*end.frame.stack, *slots]


def _names(frame: InterpreterFrame, states: Sequence[list[Any] | None], place: int) -> list[str]:
    """What the code calls what is in a state."""
    if place == EXIT:
        return ["what they return"]
    heights = {len(state) for state in states if state is not None}
    if len(heights) > 1:
        raise problem("bug", reason="two ways join with stacks of different heights")
    return ["what they give"] * (heights.pop() - len(frame.body.slots)) + list(frame.body.slots)


def _met(
    join: StateMerge,
    states: Sequence[Sequence[Any] | None],
    names: Sequence[str],
    place: int,
    origins: ReachingAssignments,
) -> list[MergedValue]:
    sides = [[ABSENT] * len(names) if state is None else state for state in states]
    met: list[MergedValue] = []
    for one, other, name in zip(*sides, names, strict=True):
        join.where = (name, place)
        try:
            met.append(join.meet(one, other, name))
        except MonographError as error:
            raise origins.shown(error, join.where, (one, other)) from None
    return met


def _places_left(ends: Sequence[End], place: int) -> list[int]:
    """Where ways have left for, that which is nearest last."""
    found = [each.place for end in ends for each in end.frame.leavings]
    found += [place_of(end) for end in ends if place_of(end) != place]
    return list(dict.fromkeys(found))


def _left(
    join: StateMerge,
    frame: InterpreterFrame,
    place: int,
    ends: Sequence[End],
    origins: ReachingAssignments,
) -> _EarlyExit:
    """What leaves for one place, on either side."""
    flags: list[Any] = []
    states: list[Sequence[Any] | None] = []
    contexts: list[DynamicContext] = []
    n_stack = 0
    for end in ends:
        before = next((each for each in end.frame.leavings if each.place == place), None)
        if before is not None:
            flags.append(before.flag)
            states.append(before.state)
            contexts.append(before.context)
            n_stack = before.n_stack
        elif place_of(end) == place:
            flags.append(True)
            states.append(_state(end, place))
            contexts.append(end.context)
            n_stack = 0 if place == EXIT else len(end.frame.stack)
        else:
            flags.append(False)
            states.append(None)
    names = _names(frame, [None if each is None else list(each) for each in states], place)
    one, other = flags
    state = _met(join, states, names, place, origins)
    return _EarlyExit(place, (one, other), state, _one_context(contexts), n_stack)


def _one_context(found: Sequence[DynamicContext]) -> DynamicContext:
    """What is in force at a place, for all ways that come there. Raises: Restart."""
    if not all(each.is_like(found[0]) for each in found):
        refusal = problem("branch-side-effect", operator="if", kind="switch", name="")
        raise Restart("merge later", refusal)
    return found[0]


def _as_tensors(regions: Sequence[Region], flags: Sequence[tuple[Any, Any]]) -> list[list[Any]]:
    found: list[list[Any]] = []
    if not flags:
        return [[], []]
    for side, region in enumerate(regions):
        with region:
            found.append([as_truth(pair[side]) for pair in flags])
    return found


def _is_one_side(flags: Sequence[Any]) -> bool:
    """Whether a place is left for on one side always, and never on the other."""
    return all(isinstance(each, bool) for each in flags) and flags[0] != flags[1]


def _flag(truth: Any, flags: tuple[Any, Any]) -> Any:
    return truth if flags[0] else truth.logical_not()


# --- the call ------------------------------------------------------------------------------------


def _closed(
    recorder: Recorder,
    regions: Sequence[Region],
    condition: Any,
    join: StateMerge,
    origins: ReachingAssignments,
) -> list[Any]:
    """Write the call; its results, with what is in doubt about them noted."""
    aliases = recorder.aliases
    lefts, rights = (region.shared(region.result) for region in regions)
    pairs = [
        [
            recorder.abstract(value) if isinstance(value, torch.Tensor) else value
            for value, held in zip(values, sides, strict=True)
            if held is not ABSENT
        ]
        for values, sides in zip(
            zip(*(region.result for region in regions), strict=True),
            zip(join.lefts, join.rights, strict=True),
            strict=True,
        )
    ]
    on_sizes = isinstance(condition, Relation) and recorder.facts.is_backed(condition)
    if on_sizes and not all(map(_lie_alike, pairs)):
        raise Restart("no merge")  # a merged result cannot lie as either does
    written = [tensor for region in regions for tensor, _ in region.written]
    before = [tensor.tensor_type.requires_grad for tensor in written]
    named = [origins.named(*each) for each in join.asked]
    branches = Branches(recorder, regions, (), stays=gives_itself(recorder), named=named)
    leaves = merge_leaves(regions, regions[0].result, regions[1].result)
    results = branches.call(_as_condition(condition), leaves)
    for i, (pair, *roots, result) in enumerate(zip(pairs, lefts, rights, results, strict=True)):
        if isinstance(result, AbstractTensor):
            for side, root in [(n, each) for n, found in enumerate(roots) for each in found]:
                aliases.may_alias([result, root])
                if (side, i) in branches.copied:
                    is_written = any(root is each for each in written)
                    aliases.copied(result, root, by=regions[0] if is_written else None)
            aliases.note_differences(pair, result)
            note_inference(pair, result)
    for tensor, flag in zip(written, before, strict=True):
        aliases.differ("version", tensor.node)
        if tensor.tensor_type.requires_grad is not flag:
            aliases.differ("requires_grad", tensor.node)
    return results


def _lie_alike(values: Sequence[Any]) -> bool:
    tensors = [each.tensor_type for each in values if isinstance(each, AbstractTensor)]
    if all(each.strides is None for each in tensors):
        return True  # they are contiguous, and so is what they are merged to, whatever its sizes
    return all(each.stride() == tensors[0].stride() for each in tensors[1:])


def _uncertain(
    recorder: Recorder, regions: Sequence[Region], join: StateMerge
) -> list[tuple[list[Any], MergedContainer]]:
    """Containers that may be one with others, on one side: not made there, held twice, in doubt.

    Raises: Restart.
    """
    found: list[tuple[list[Any], MergedContainer]] = []
    sides = [[each[side] for each in join.containers] for side in (0, 1)]
    for *pair, joined in join.containers:
        is_certain = all(
            one is ABSENT
            or (
                region.effects is not None
                and (region.effects.tracks_objects or not isinstance(one, tuple))
                and region.effects.made(one)
                and not recorder.aliases.is_aliased(one)
                and sum(one is other for other in side) == 1
            )
            for region, one, side in zip(regions, pair, sides, strict=True)
        )
        if not is_certain:
            found.append(([each for each in pair if each is not ABSENT], joined))
    return found


def _as_condition(condition: Any) -> Any:
    if isinstance(condition, AbstractTensor) and condition.tensor_type.dtype != torch.bool:
        return condition.ne(0)
    return condition


__all__ = ["arrive"]
