"""Capture: run user code once on abstract tensors, interpreted or as plain Python.

The order is the story: flatten the examples, open facts and a recorder, put abstract tensors in the
module's place, run, close the graph, and put everything back, also when user code raises.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import torch

from monograph.bytecode.evaluation.recursion_limit import with_room
from monograph.capture.branch_equivalence import overlooked
from monograph.capture.captured import Capture
from monograph.capture.caught_refusals import raise_swallowed
from monograph.capture.control_flow.higher_order.operators import control_flow
from monograph.capture.inputs.example_inputs import Inputs, may_be_fixed, read_inputs, write_inputs
from monograph.capture.inputs.input_mutation import Given
from monograph.capture.inputs.outputs import close_outputs, drop_unused
from monograph.capture.plain.line_tracing import noting_lines
from monograph.capture.plain.profiling import Plain
from monograph.capture.queries.noted_answers import Subject
from monograph.capture.recording.graph_writer import GraphWriter
from monograph.capture.recording.module_calls import ModuleCalls
from monograph.capture.recording.recorder import Recorder
from monograph.capture.recording.scopes import Scopes
from monograph.capture.recovery.error_recovery import Continuing, Problems
from monograph.capture.side_effects.garbage_collection import without_garbage_collection
from monograph.capture.side_effects.module_mutation import (
    Left,
    Watched,
    find_changes,
    find_harm,
    watching,
)
from monograph.capture.side_effects.module_state import ModuleState
from monograph.capture.side_effects.observations import Observations
from monograph.capture.side_effects.process_state import Situation
from monograph.capture.size_probing.probing import probed
from monograph.capture.size_probing.size_hints import in_general
from monograph.capture.strict.interpreting import Strict
from monograph.capture.torch_overrides.autograd_overrides import backwards
from monograph.capture.torch_overrides.float_division import python_division
from monograph.capture.torch_overrides.guarded_queries import (
    asking,
    note_implied,
    note_layouts,
)
from monograph.capture.torch_overrides.mode_queries import hearing
from monograph.capture.torch_overrides.size_conditions import deciding
from monograph.capture.torch_overrides.size_hashing import hashing
from monograph.capture.torch_overrides.tensor_answers import ANSWERS
from monograph.capture.torch_overrides.tensor_literals import literals
from monograph.capture.torch_overrides.tensor_text import printing
from monograph.capture.torch_overrides.torch_check import checks
from monograph.diagnostics import MonographError, noted, problem, together
from monograph.host.dispatch import active_modes, below_autograd
from monograph.host.flags import exporting, uncompiled
from monograph.host.trees import pytree
from monograph.integers import Facts, use
from monograph.logs import listener_for

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from torch.fx.node import Node

    from monograph.capture.inputs.input_mutation import Aftermath
    from monograph.capture.run_options import RunOptions
    from monograph.capture.side_effects.persistent_writes import Effect
    from monograph.capture.side_effects.tracking import WriteTarget
    from monograph.diagnostics import Frame

_LOCK = threading.Lock()
"""One capture at a time: module state, `nn.Module.__call__` and `torch.tensor` are process-wide."""


ControlFlow = Literal["capture", "capture_sizes", "refuse"]
"""Both ways of branches on data, on sizes too, or neither."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be captured, and how.

    `kept_calls` names modules whose calls are recorded. `strict` interprets user code, otherwise it
    runs as plain Python. `control_flow` says where interpreted code goes both ways of a branch.
    `ignores_side_effects` reports writes that outlive the call, instead of
    refusing them. `problems` collects what the capture would be refused for, where it is to go on.
    """

    module: torch.nn.Module
    args: Any
    kwargs: Any
    dynamic_shapes: Any = None
    kept_calls: tuple[str, ...] = ()
    strict: bool = True
    ignores_side_effects: bool = False
    control_flow: ControlFlow = "refuse"
    problems: Problems | None = None


def capture(request: Request) -> Capture:
    """Run `module(*args, **kwargs)` on abstract tensors and write its graph.

    Once, unless the example holds a dynamic size of 0 or 1 that must be taken literally, or the run
    leaves something behind. The module, its state, everything that user code wrote to and every
    process-wide patch are as before, whatever happens.

    Raises: not-a-module, scripted-module, capture-inside-capture, module-not-found,
        attribute-changed, write-outlives-call, outside-read, and what inputs, rules and user code
        refuse.
    """
    if not isinstance(request.module, torch.nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise problem("not-a-module", given=request.module)
    for path, module in request.module.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise problem("scripted-module", path=path)
    if not _LOCK.acquire(blocking=not _is_capturing()):
        raise problem("capture-inside-capture")
    try:
        with without_garbage_collection(), _untouched(request.problems):
            captured = with_room(partial(_settled, request))
    finally:
        _LOCK.release()
    if request.problems is None:
        return captured
    return replace(captured, problems=request.problems.found())


@contextmanager
def _untouched(problems: Problems | None) -> Generator[None]:
    """Random generators and switches of the process are as before; who changed them is refused."""
    before = Situation()
    try:
        yield
    except BaseException:
        before.restore()
        raise
    changed = before.restore()
    if problems is not None:
        problems.note_unless_known(changed)
    elif changed:
        raise together(changed)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of user code: what it captured, what it changed, and whether that does harm."""

    captured: Capture | None
    watched: Watched
    """What a run that watches is to look at."""
    harm: list[MonographError] = field(default_factory=list[MonographError])
    left: Left | None = None


def _settled(request: Request) -> Capture:
    """Run once, or as often as it takes to know that what a call leaves behind does no harm.

    Raises: buffer-reshaped, attribute-changed, write-outlives-call.
    """
    read, again = partial(_read, request), partial(_run, request)
    run, options = in_general(read, again, partial(_probed, read, again))
    if run.captured is not None and not run.harm:
        return run.captured
    watched = run.watched
    if run.captured is None:
        run = _attempt(request, options, watched)
    if run.harm:
        _settle_harm(run, request, options)
    assert run.captured is not None, "a run that watches captures"
    return probed(run.captured, read, partial(again, watched=watched), options)


def _probed(read: Any, again: Any, run: _Run, options: RunOptions) -> _Run:
    """The run, with the sizes of 0 and 1 let in that make no difference."""
    if run.captured is None or run.harm:
        return run
    return replace(run, captured=probed(run.captured, read, again, options))


def _settle_harm(run: _Run, request: Request, options: RunOptions) -> None:
    """Raise what is left behind and does harm, or note it if the capture is to go on."""
    if request.problems is None:
        _check_next_call(run, request, options)
        return
    aside = replace(request, problems=Problems())
    try:
        _check_next_call(run, aside, options)
    except MonographError:
        for error in run.harm:
            request.problems.note(error, "the program does not do it")


def _check_next_call(run: _Run, request: Request, options: RunOptions) -> None:
    """A call begun with what this run left must do the same and leave nothing new."""
    if run.captured is None or run.left is None or not run.left.can_begin_a_call:
        raise run.harm[0]
    try:
        after = copy_context().run(_begun_with, run.left, request, options)
    except Exception as error:
        raise run.harm[0] from error
    if after.captured is None or after.harm or _account(after.captured) != _account(run.captured):
        raise run.harm[0]


def _begun_with(left: Left, request: Request, options: RunOptions) -> _Run:
    """A run that begins with what another left."""
    with left.in_place():
        return _attempt(request, options)


def _account(captured: Capture | None) -> list[str]:
    """Everything about a capture that two equal ones agree on."""
    if captured is None:
        return []
    writer, states = captured.recorder.writer, captured.recorder.scopes.states
    return [
        *(
            f"{node} {node.target} {node.args} {node.kwargs} {states.get(node)}"
            for node in writer.graph.nodes
        ),
        *(str(guard.relation) for guard in captured.facts.guards),
        *(f"{name} {real.tolist()}" for name, real in writer.constants.items()),
        f"{captured.outputs.spec} {sorted(captured.recorder.mutated)} {captured.changes}",
        f"{sorted(captured.recorder.answers_noted.answers, key=str)}",
        *(str(leaf.value) for leaf in captured.outputs.leaves if leaf.node is None),
    ]


def _read(request: Request, options: RunOptions) -> tuple[Inputs, Facts]:
    """The inputs of one run, with facts of their own."""
    facts = Facts()
    facts.listener = None if options.fixed else listener_for(facts)
    with use(facts):
        inputs = read_inputs(
            request.module, request.args, request.kwargs, request.dynamic_shapes, facts, options
        )
    return inputs, facts


def _attempt(request: Request, options: RunOptions, watched: Watched | None = None) -> _Run:
    """One run with inputs of its own."""
    return _run(request, *_read(request, options), watched)


def _run(
    request: Request,
    inputs: Inputs,
    facts: Facts,
    watched: Watched | None = None,
    recording: Callable[..., Recorder] = Recorder,
) -> _Run:
    """One run. Without watching it ends without a capture where something was changed.

    What it sets in context variables ends with it.
    """
    with use(facts):
        run = partial(_run_under, request, inputs, facts, watched, recording)
        return copy_context().run(run)


def _run_under(
    request: Request,
    inputs: Inputs,
    facts: Facts,
    watched: Watched | None,
    recording: Callable[..., Recorder],
) -> _Run:
    scopes = Scopes(request.module, _run_under.__code__)
    writer = GraphWriter()
    if request.problems is not None and recording is Recorder:
        request.problems.forget()
        recording = partial(Continuing, problems=request.problems)
    recorder = recording(writer, scopes, facts, ANSWERS)
    facts.locate = recorder.origin
    facts.overlook = partial(overlooked, facts)
    facts.runs_plainly = not request.strict
    state = ModuleState(request.module)
    state.write_placeholders(writer, recorder)
    leaves, input_nodes = write_inputs(inputs, writer, recorder)
    recorder.input_nodes = input_nodes
    recorder.may_be_fixed, recorder.options = may_be_fixed(inputs), inputs.options
    writer.begin_body()
    if isinstance(recorder, Continuing):
        recorder.rehearse_with(_real_values(state, inputs, input_nodes), inputs.examples)
    calls = ModuleCalls(recorder, request.kept_calls)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        for context in (
            scopes,
            exporting(),
            literals(),
            checks(),
            python_division(),
            control_flow(recorder),
            deciding(at_once=inputs.options.decided),
            state,
            watching(watched),
            hearing(recorder, request.module),
            backwards(),
            hashing(),
            uncompiled(),
            below_autograd(),
            printing(),
            asking(recorder, state.modules, _subjects(inputs, input_nodes, state)),
            recorder,
        ):
            stack.enter_context(context)
        notes = stack.enter_context(noted())
        arguments = pytree.tree_unflatten(leaves, inputs.spec)
        given = Given(inputs, leaves, *arguments)
        observed = Observations()
        seer = stack.enter_context(_seer(request, recorder, state, arguments, observed))
        with _lines(given, watched, request) as lines, seer.watching(recorder):
            result = request.module(*arguments[0], **arguments[1])
        raise_swallowed(notes)
        after = given.aftermath(result)
        effects = [e for e in seer.lasting(lines) if not given.looks_after(e.place.owner, after)]
        now = Watched(find_changes(state), tuple(effect.place for effect in effects))
        if watched is None and (now.names or _must_see_lines(request, effects, after)):
            return _Run(None, now)
        harm, left = _left_behind(state, watched, effects)
        if after.lost and not harm:
            harm = [given.refusal(after.lost[0], lines)]
        if request.ignores_side_effects:
            harm = observed.ignore(harm)
        goes_on = request.problems is not None
        if harm and not goes_on and (left is None or not left.can_begin_a_call):
            raise harm[0]
        outputs = close_outputs(recorder, state, result, after.values)
    note_layouts(recorder)
    drop_unused(recorder, calls.kept)
    note_implied(recorder)
    captured = Capture(
        inputs, input_nodes, outputs, state, recorder, facts, calls, observed, after.changes
    )
    return _Run(captured, now, harm, left)


def _seer(
    request: Request, recorder: Recorder, state: ModuleState, arguments: Any, observed: Observations
) -> Strict | Plain:
    """Who sees what user code does."""
    scopes = recorder.scopes
    if request.strict:
        seer = Strict(recorder, state, arguments, observed, control_flow=request.control_flow)
    else:
        seer = Plain(scopes, state, arguments, observed)
    if isinstance(recorder, Continuing):
        seer.refuse = recorder.refuse
        if isinstance(seer, Strict):
            seer.go_past = recorder.go_past
    return seer


def _must_see_lines(request: Request, effects: list[Effect], after: Aftermath) -> bool:
    """Whether plain Python must run again, because it does not say which line writes."""
    return not request.strict and bool(effects or after.lost)


def _lines(
    given: Given, watched: Watched | None, request: Request
) -> AbstractContextManager[dict[tuple[int, str], tuple[Frame, ...]]]:
    """Where what plain Python changed in the run before differs first."""
    if watched is None or request.strict:
        return nullcontext({})
    places = {place.key: partial(_differs, place.as_now()) for place in watched.places}
    return noting_lines({**given.differences(), **places})


def _differs(place: WriteTarget) -> bool:
    return not place.is_as_before()


def _real_values(
    state: ModuleState, inputs: Inputs, input_nodes: tuple[Node, ...]
) -> dict[Node, Any]:
    """What the placeholders stand for in the example."""
    own = {t.node: t.real for t in state.tensors}
    return own | {n: leaf.value for n, leaf in zip(input_nodes, inputs.leaves, strict=True)}


def _subjects(inputs: Inputs, nodes: tuple[Node, ...], state: ModuleState) -> dict[Node, Subject]:
    """The tensors that may be others when the program is called."""
    found = {each.node: Subject(each.target, None, each.real) for each in state.tensors}
    for number, (leaf, node) in enumerate(zip(inputs.leaves, nodes, strict=True)):
        if leaf.tensor_type is not None:
            found[node] = Subject(leaf.path, number, leaf.value)
    return found


def _left_behind(
    state: ModuleState, watched: Watched | None, lasting: list[Effect]
) -> tuple[list[MonographError], Left | None]:
    """What outlives the run and may do harm, and how to begin another with it."""
    harm = [] if watched is None else find_harm(state, watched)
    harm += [effect.refusal() for effect in lasting]
    return harm, Left(state, [effect.place for effect in lasting]) if harm else None


def _is_capturing() -> bool:
    """Whether this thread is inside a capture already."""
    return any(isinstance(mode, Recorder) for mode in active_modes())
