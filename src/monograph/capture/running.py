"""A capture: as many traces of user code as it takes to know that the program is right.

One, as a rule. Sizes of 0 and 1 in the example, what a call leaves behind, and what guards leave
out are each settled by another trace; `Session.run` says in which order.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from monograph.bytecode.evaluation.recursion_limit import with_room
from monograph.capture.captured import GRAD_MODE, account
from monograph.capture.control_flow.higher_order import inlining, operators
from monograph.capture.filled_caches import Computed, values_of
from monograph.capture.inputs.example_inputs import Inputs, read_inputs
from monograph.capture.installation import OVERRIDES, THREAD, terminals
from monograph.capture.internal_errors import refusal_of
from monograph.capture.plain import debuggers, threads
from monograph.capture.plain.line_tracing import noting_lines
from monograph.capture.recording import scope_tracking
from monograph.capture.recording.inferences import operator_asking
from monograph.capture.recording.recorder import Recorder
from monograph.capture.recovery.error_recovery import Problems
from monograph.capture.restart import Restart
from monograph.capture.run_options import RunOptions
from monograph.capture.side_effects.garbage_collection import (
    collections_unwatched,
    uncollected_alone,
)
from monograph.capture.side_effects.impure_functions import resolve
from monograph.capture.side_effects.module_mutation import Watched
from monograph.capture.side_effects.module_state import taking_turns
from monograph.capture.side_effects.process_state import Situation, given_back
from monograph.capture.size_probing.both_ways import MOST_REGIONS, is_worth_it
from monograph.capture.size_probing.probing import probed
from monograph.capture.size_probing.size_hints import in_general
from monograph.capture.torch_overrides import (
    autograd_overrides,
    clocks,
    data_parallel_modules,
    export_queries,
    guarded_queries,
    mode_queries,
    number_classes,
    symbolic_numbers,
    tensor_text,
    torch_functions,
)
from monograph.capture.tracing import Request, Trace
from monograph.diagnostics import BugError, MonographError, problem, raised_at, together
from monograph.host.dispatch import without_fake_mode
from monograph.host.module_calls import named_parts
from monograph.host.process_groups import FSDP, reshard
from monograph.integers import Facts, use
from monograph.lazy_imports import deferred
from monograph.logs import listener_for

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.captured import Capture
    from monograph.capture.side_effects.module_mutation import Left
    from monograph.diagnostics import Frame

follow_caller = deferred("monograph.capture.caller_grad:follow_caller")
at_other_sizes, do_the_same, states_left = (
    deferred(f"monograph.capture.scratch_buffers:{name}")
    for name in ("at_other_sizes", "do_the_same", "states_left")
)
OVERRIDING = (
    *(autograd_overrides, debuggers, export_queries, guarded_queries, mode_queries, operators),
    *(clocks, data_parallel_modules, inlining, number_classes, scope_tracking),
    *(symbolic_numbers, tensor_text, threads, torch_functions),
)
"""The families of function overrides, each of which enters its own into the table."""


def capture(request: Request) -> Capture:
    """Run `module(*args, **kwargs)` on abstract tensors and write its graph.

    The module, its state, everything that user code wrote to and every function of torch are as
    before, whatever happens. Captures in other threads go on meanwhile, but for those of a module
    that is captured: they wait.

    Raises: not-a-module, scripted-module, capture-inside-capture, module-not-found,
        attribute-changed, write-outlives-call, outside-read, and what inputs, rules and user code
        refuse.
    """
    if not isinstance(request.module, torch.nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise problem("not-a-module", given=request.module)
    modules: list[torch.nn.Module] = []
    for path, each in named_parts(request.module):
        kind: Any = type(each)
        if not issubclass(kind, torch.nn.Module):  # a weak reference says that it is one
            raise problem("not-a-module", given=each)
        if isinstance(each, torch.jit.ScriptModule):
            raise problem("scripted-module", path=path)
        modules.append(each)
        if isinstance(getattr(type(each), "forward", None), property):
            _ = each.forward  # a program writes its code now, not while it is captured
    if FSDP in sys.modules:
        reshard(modules)
    if THREAD.is_capturing:
        raise problem("capture-inside-capture")
    THREAD.is_capturing = True
    THREAD.terminals = terminals()
    resolve()
    try:
        with (
            uncollected_alone(),
            collections_unwatched(),
            taking_turns(modules),
            OVERRIDES.installed(modules),
            without_fake_mode(),
            _untouched(request),
        ):
            captured = with_room(Session(request).run)
    finally:
        THREAD.is_capturing = False
    if request.problems is None:
        return captured
    return replace(captured, problems=request.problems.found())


@contextmanager
def _untouched(request: Request) -> Generator[None]:
    """Random generators and switches of the process are as before; who changed them is refused.

    An exception that is not the module's own leaves as a diagnostic. Raises: capture-failed, bug.
    """
    before = Situation()
    try:
        with nullcontext() if request.problems is None else given_back():
            yield
    except Restart as unmet:  # no region is left that could begin again
        before.restore()
        raise problem("data-dependent-branch", at=raised_at(unmet)) from unmet
    except BaseException as error:
        before.restore()
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error
    changed = before.restore(partial(_lines_at, request))
    if request.problems is not None:
        request.problems.note_unless_known(changed)
    elif changed:
        raise together(changed)


def _lines_at(
    request: Request, differs: dict[int, Callable[[], bool]]
) -> dict[int, tuple[Frame, ...]]:
    """The lines after which something of the process first differs, as plain Python runs them."""
    again = replace(request, strict=False, control_flow="refuse", problems=None)
    with noting_lines(differs) as found, suppress(Exception, Restart):
        Session(again).run()
    return found


class Session:
    """The traces of one capture."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.watched: Watched | None = None
        """What the first run changed: those after it look who reads and writes it."""
        self.flags: frozenset[str] = frozenset()
        self.scratch: Mapping[str, TensorType | None] = {}

    def run(self) -> Capture:
        """Trace once, or as often as it takes to know that what a call leaves behind does no harm.

        Raises: buffer-reshaped, attribute-changed, write-outlives-call.
        """
        goes_on = self.request.problems is not None
        trace, options = in_general(self.read, self.trace, self.probe, goes_on=goes_on)
        if options.branches:
            trace, options = self.both_ways(trace, options)
        if trace.captured is not None and not trace.harm:
            if trace.filled:
                self.check_filled(trace, options)
            return trace.captured
        self.watched = trace.changed
        if trace.captured is None:
            trace = self.watched_run(trace, options)
        if trace.harm:
            flags = trace.new_flags()
            if flags and not self.is_repeated(trace, options):
                self.flags, self.watched = self.flags | flags, None
                return self.run()
            scratch = trace.new_scratch()
            if scratch and not self.scratch:
                return self.with_scratch(scratch, trace.harm[0])
            self.settle_harm(trace, options)
        self.check_filled(trace, options)
        assert trace.captured is not None, "a run that watches captures"
        return probed(trace.captured, self.read, self.trace_again, options)

    def watched_run(self, first: Trace, options: RunOptions) -> Trace:
        """The run once more, looking who reads and writes what the first one changed.

        Raises: write-outlives-call (user code fails by what nobody can put back, an iterator).
        """
        try:
            return self.trace(*self.read(options))
        except MonographError:
            raise
        except Exception as error:
            if not first.harm or refusal_of(error) is not None:
                raise
            raise first.harm[0] from error

    def both_ways(self, first: Trace, options: RunOptions) -> tuple[Trace, RunOptions]:
        """The run, or another that records both ways where it branched on sizes, if that pays."""
        request = self.request
        goes_on = request.problems is not None
        if first.captured is None or request.control_flow != "capture" or goes_on:
            return first, options
        most = first.captured.recorder.n_regions + MOST_REGIONS
        try:
            again, others = in_general(self.read, self.trace, self.probe, both_ways=most)
        except (Exception, Restart) as error:
            if isinstance(refusal_of(error) or error, BugError):
                raise
            return first, options  # it is refused, or the module's own: there is a run that ended
        if again.captured is None or len(again.harm) > len(first.harm):
            return first, options
        if not is_worth_it(first.captured, again.captured):
            return first, options
        return again, others

    def read(self, options: RunOptions) -> tuple[Inputs, Facts]:
        """The inputs of one trace, with facts of their own."""
        request, facts = self.request, Facts()
        if request.relations_deferred or self.flags or self.scratch:
            options = replace(
                options,
                relations_deferred=request.relations_deferred,
                flags=self.flags,
                scratch={**self.scratch, **options.scratch},
            )
        facts.listener = None if options.fixed else listener_for(facts, operator_asking)
        with use(facts):
            inputs = read_inputs(
                request.module, request.args, request.kwargs, request.dynamic_shapes, facts, options
            )
        return inputs, facts

    def trace(
        self, inputs: Inputs, facts: Facts, recording: Callable[..., Recorder] = Recorder
    ) -> Trace:
        """Run user code once; twice where it asked for the grad mode of the caller."""
        trace = Trace(self.request, inputs, facts, self.watched).run(recording)
        found, goes_on = trace.captured, self.request.problems is not None
        if found is not None and not goes_on and GRAD_MODE in found.recorder.answers_noted.answers:
            follow_caller(found, partial(self._once, inputs.options))
        return trace

    def _once(self, options: RunOptions) -> Capture | None:
        inputs, facts = self.read(options)
        return Trace(self.request, inputs, facts, self.watched).run().captured

    def trace_again(
        self, inputs: Inputs, facts: Facts, recording: Callable[..., Recorder] = Recorder
    ) -> Trace:
        """As `trace`, to compare: a run that asks to be made otherwise differs."""
        try:
            return self.trace(inputs, facts, recording)
        except Restart as restart:
            raise RuntimeError(restart.reason) from restart

    def probe(self, trace: Trace, options: RunOptions) -> Trace:
        """The trace, with the sizes of 0 and 1 let in that make no difference."""
        if trace.captured is not None and not trace.harm and trace.facts.symbols:
            trace.captured = probed(trace.captured, self.read, self.trace_again, options)
        return trace

    def with_scratch(
        self, scratch: Mapping[str, TensorType | None], harm: MonographError
    ) -> Capture:
        """The capture with these as scratch buffers, where that is what they are.

        Raises: buffer-reshaped.
        """
        self.scratch = scratch
        try:
            first, captured = self.trace_again(*self.read(RunOptions())), self.run()
            if first.reshaped and self.is_settled(first, captured):
                return captured
        except Exception as error:
            raise harm from error
        raise harm

    def is_settled(self, first: Trace, captured: Capture) -> bool:
        """Whether calls that begin with what any call left do as captured, and leave as much."""
        left, known = first.reshaped, first.facts
        for others in states_left(left, known):
            inputs, facts = self.read(RunOptions())
            with use(facts):
                types, earlier = at_other_sizes(left, known, facts, others)
            inputs = replace(inputs, options=replace(inputs.options, scratch=types))
            later = self.trace_again(inputs, facts)
            if later.captured is None or later.harm or str(later.reshaped) != str(left):
                return False
            if not do_the_same(captured, later.captured, earlier):
                return False
        return True

    def check_filled(self, trace: Trace, options: RunOptions) -> None:
        """A call that finds the caches filled does the same, for all one can tell of sizes.

        Raises: attribute-changed, write-outlives-call.
        """
        request, first = self.request, trace.captured
        if not trace.filled or trace.left is None or trace.harm or request.ignores_side_effects:
            return
        values = {} if first is None else values_of(trace.left.tensors, first)
        is_given = trace.left.give(values)
        session = Session(replace(request, ignores_side_effects=True))
        session.watched = Watched(frozenset())
        try:
            after = copy_context().run(_begun_with, trace.left, session, options).captured
        except Exception:  # noqa: BLE001 - it uses what was computed in the call before
            return
        if after is None or first is None:
            return
        if is_given:
            before = Computed(first, trace.left.tensors)
            is_alike = Computed(after, values.values()).is_like(before)
        else:
            is_alike = _does(after) == _does(first)
        if not is_alike:
            raise trace.filled[0]

    def is_repeated(self, trace: Trace, options: RunOptions) -> bool:
        """Whether the next call does the same, and leaves nothing new."""
        try:
            return not _next_call(trace, self.request, options).harm
        except Exception:  # noqa: BLE001 - whoever refuses it afterwards says why
            return False

    def settle_harm(self, trace: Trace, options: RunOptions) -> None:
        """Raise what is left behind and does harm, or note it if the capture is to go on."""
        problems = self.request.problems
        if problems is None:
            _check_next_call(trace, self.request, options)
            return
        try:
            after = _next_call(trace, replace(self.request, problems=Problems()), options)
        except MonographError:
            for error in trace.harm:
                problems.note(error, "the program does not do it")
        else:
            problems.note_unseen(trace.harm if after.harm else [])


def _does(captured: Capture) -> list[str]:
    """What a capture computes, whatever sizes it is for: 0 and 1 are let in afterwards."""
    guards = {str(guard.relation) for guard in captured.facts.guards}
    return [line for line in account(captured) if line not in guards]


def _check_next_call(trace: Trace, request: Request, options: RunOptions) -> None:
    """A call begun with what this one left must do the same and leave nothing new."""
    if _next_call(trace, request, options).harm:
        raise trace.harm[0]


def _next_call(trace: Trace, request: Request, options: RunOptions) -> Trace:
    """A call begun with what this one left, which does the same.

    Raises: what this one is refused for, where it does not.
    """
    if trace.captured is None or trace.left is None or not trace.can_begin_a_call:
        raise trace.harm[0]
    try:
        after = copy_context().run(_begun_with, trace.left, Session(request), options)
    except Exception as error:
        raise trace.harm[0] from error
    if after.captured is None or account(after.captured, regions=True) != account(
        trace.captured, regions=True
    ):
        raise trace.harm[0]
    return after


def _begun_with(left: Left, session: Session, options: RunOptions) -> Trace:
    """A trace that begins with what another left."""
    with left.in_place():
        return session.trace_again(*session.read(options))


__all__ = ["OVERRIDING", "capture"]
