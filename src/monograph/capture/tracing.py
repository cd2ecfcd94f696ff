"""One trace: user code runs once on abstract tensors, interpreted or as plain Python.

`Trace.run` is the list of its steps; whatever happens, all that was put in place is put back.
"""

from __future__ import annotations

from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from monograph.abstract.symbolic_text import told
from monograph.abstract.symbols import showing
from monograph.capture.branch_equivalence import overlooked
from monograph.capture.captured import Capture
from monograph.capture.caught_refusals import raise_swallowed, raise_swallowed_before
from monograph.capture.inputs.example_inputs import may_be_fixed, write_inputs
from monograph.capture.inputs.input_mutation import Given
from monograph.capture.inputs.outputs import close_outputs, drop_unused
from monograph.capture.installation import heard_by
from monograph.capture.plain.line_tracing import noting_lines
from monograph.capture.plain.profiling import Plain
from monograph.capture.queries.noted_answers import Subject
from monograph.capture.recording.graph_writer import GraphWriter
from monograph.capture.recording.module_calls import ModuleCalls
from monograph.capture.recording.recorder import Recorder
from monograph.capture.recording.scopes import Scopes
from monograph.capture.recovery.error_recovery import Continuing
from monograph.capture.restart import Restart
from monograph.capture.run_options import ExportingAnswers
from monograph.capture.side_effects.module_mutation import (
    Left,
    Watched,
    find_arrays,
    find_changes,
    find_filled,
    find_harm,
    find_spent,
    flags_changed,
    reshaped,
    watching,
)
from monograph.capture.side_effects.module_state import ModuleState
from monograph.capture.side_effects.observations import Assumption, Observations
from monograph.capture.side_effects.persistent_writes import is_filled_once
from monograph.capture.strict.interpreting import Strict
from monograph.capture.torch_overrides.caught_errors import note_divisions
from monograph.capture.torch_overrides.guarded_queries import note_implied
from monograph.capture.torch_overrides.inference_mode import inference_results
from monograph.capture.torch_overrides.mode_queries import only_sets_flags
from monograph.capture.torch_overrides.symbolic_numbers import deciding
from monograph.capture.torch_overrides.tensor_answers import ANSWERS
from monograph.capture.torch_overrides.tensor_memory import check_shown
from monograph.diagnostics import MonographError, noted
from monograph.host.dispatch import below_autograd
from monograph.host.execution_modes import is_any_autocast
from monograph.host.module_calls import named_parts
from monograph.host.trees import unflatten
from monograph.integers import use
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import torch
    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.capture.inputs.input_mutation import Aftermath
    from monograph.capture.inputs.outputs import Outputs
    from monograph.capture.recovery.error_recovery import Problems
    from monograph.capture.side_effects.module_mutation import Attribute
    from monograph.capture.side_effects.persistent_writes import Effect
    from monograph.capture.side_effects.tracking import WriteTarget
    from monograph.diagnostics import Frame
    from monograph.integers import Facts

record_in_parts = deferred("monograph.capture.queries.autocast_composites:record_in_parts")
leave_views_open = deferred("monograph.capture.torch_overrides.open_views:leave_views_open")
ControlFlow = Literal["capture", "capture_sizes", "refuse"]
"""Both ways of branches on data, on sizes too, or neither."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be captured, and how.

    `kept_calls` names modules whose calls are recorded. `strict` interprets user code, otherwise it
    runs as plain Python. `control_flow` says where interpreted code goes both ways of a branch.
    `ignores_side_effects` reports writes that outlive the call, instead of
    refusing them. `problems` collects what the capture would be refused for, where it is to go on.
    `exporting` is what `torch.compiler.is_exporting()` and `is_compiling()` say, and who asked.
    `relations_deferred` leaves relations that no declaration can spell to the contract.
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
    exporting: ExportingAnswers = field(default_factory=ExportingAnswers)
    relations_deferred: bool = False
    spent: set[Attribute] = field(default_factory=set[Any])
    """Attributes that lead to iterators which its runs used up, strict and plain ones."""
    lost: list[MonographError] = field(default_factory=list[Any])
    """Refusals of what its runs changed outside and nobody can put back: it differs only once."""


class Trace:
    """One run of user code, and what became of it.

    `watched` is what it is to look at: who reads and writes what the run before it changed.
    Without that it ends without a capture where something was changed.
    """

    def __init__(
        self, request: Request, inputs: Inputs, facts: Facts, watched: Watched | None = None
    ) -> None:
        self.request, self.inputs, self.facts, self.watched = request, inputs, facts, watched
        self.captured: Capture | None = None
        self.changed = Watched(frozenset())
        """What it changed, which another run is to watch."""
        self.refused: list[tuple[WriteTarget, MonographError]] = []
        self.harm: list[MonographError] = []
        """What outlives it and may matter to the next call."""
        self.filled: list[MonographError] = []
        """The caches that it filled, refusals each, for the case that the next call notices."""
        self.left: Left | None = None
        self.reshaped: dict[str, TensorType] = {}
        """The types that it left scratch buffers with."""

    def run(self, recording: Callable[..., Recorder] = Recorder) -> Trace:
        """Capture; what user code sets in context variables ends with it."""
        with use(self.facts):
            copy_context().run(self._steps, recording)
        return self

    def _steps(self, recording: Callable[..., Recorder]) -> None:
        self._open(recording)
        try:
            ended = self._recorded()
        finally:
            self.recorder.close()
            self.request.spent.update(find_spent(self.state))
            self.request.lost.extend(e for place, e in self.refused if _is_lost(place))
        if ended is None:
            return
        outputs, after = ended
        for (name, value), at in self.request.exporting.found.items():
            self.observed.assumptions.append(Assumption("query", name, value, at))
        inference: tuple[int, ...] = ()
        if self.recorder.scopes.sets_inference:
            inference = inference_results(self.recorder, outputs.leaves)
        drop_unused(self.recorder, self.calls.kept)
        if self.recorder.facts.assertions:
            note_divisions(self.recorder)
        note_implied(self.recorder)
        self.captured = Capture(
            self.inputs,
            self.input_nodes,
            outputs,
            self.state,
            self.recorder,
            self.facts,
            self.calls,
            self.observed,
            after.changes,
            inference,
        )

    # --- the steps -----------------------------------------------------------------------------

    def _recorded(self) -> tuple[Outputs, Aftermath] | None:
        """Run user code where all that it asks and does is recorded; None: it must be run again."""
        with (
            heard_by(self.recorder),
            deciding(at_once=self.inputs.options.decided),
            self.state,
            watching(self.watched, self.arrays),
            below_autograd(),
            self.recorder,
            noted() as notes,
        ):
            # Containers of users may compute when they are put together, as a cache does.
            self.arguments = unflatten(self.leaves, self.inputs.spec)
            self.given = Given(self.inputs, self.leaves, *self.arguments)
            with self._seer() as seer:
                self.recorder.watcher = seer.watcher
                with self._lines() as lines, seer.watching(self.recorder):
                    try:
                        # In a list, which the collector knows: what else refers to it is asked.
                        result = [self._call_module()]
                        if self.recorder.from_factory is not None:
                            self.recorder.begin_history()
                    except MonographError:
                        raise
                    except Exception:  # what user code raises may come of what it caught
                        raise_swallowed(notes)
                        note_implied(self.recorder)
                        raise
                raise_swallowed(notes)
                if self.recorder.shown:
                    check_shown(self.recorder)
                if self.recorder.families is not None:
                    self.recorder.families.check_attributes()
                after = self.given.aftermath(result[0])
                counted = self.given.counted(after, {leaf.path for leaf in self.inputs.leaves})
                if counted:
                    raise Restart("count", counted)
                if not self._judge_effects(seer.lasting(lines, result), after, lines):
                    return None
                return close_outputs(self.recorder, self.state, result[0], after.values), after

    def _open(self, recording: Callable[..., Recorder]) -> None:
        """A graph writer and a recorder; placeholders of the module's state and of the inputs."""
        request, facts, inputs = self.request, self.facts, self.inputs
        named = named_parts(request.module)
        scopes, writer = Scopes(named, Trace._call_module.__code__), GraphWriter()
        if request.problems is not None and recording is Recorder:
            request.problems.forget()
            recording = partial(Continuing, problems=request.problems)
        recorder = self.recorder = recording(writer, scopes, facts, ANSWERS)
        recorder.may_be_fixed, recorder.options = may_be_fixed(inputs), inputs.options
        facts.locate = recorder.origin
        facts.rounded, facts.shortened = writer.keep_rounded, writer.shortened
        facts.overlook = partial(overlooked, facts)
        facts.runs_plainly = not request.strict
        self.state = ModuleState(named)
        self.state.write_placeholders(writer, recorder)
        if inputs.options.flags:
            self.state.write_flags(inputs.options.flags, writer, recorder)
        self.leaves, self.input_nodes = write_inputs(inputs, writer, recorder)
        recorder.input_nodes = self.input_nodes
        if facts.symbols:
            leave_views_open(recorder)
        if is_any_autocast():
            record_in_parts(recorder)
        recorder.exporting = request.exporting
        subjects = self._subjects()
        recorder.answers_noted.begin(subjects)
        self.arrays = find_arrays(self.state, subjects)
        recorder.module_modes.only_sets_flags = all(
            only_sets_flags(type(each)) for each in self.state.modules
        )
        writer.begin_body()
        if isinstance(recorder, Continuing):
            recorder.rehearse_with(self._real_values(), inputs.examples)
        self.calls = ModuleCalls(recorder, request.kept_calls)
        self.observed = Observations()

    def _call_module(self) -> Any:
        """Run user code: walks over its frames stop here."""
        if self.state.flags:
            self.state.read_flags()
        try:
            return self.request.module(*self.arguments[0], **self.arguments[1])
        except Exception as error:
            with showing():
                error.args = told(error.args)
            raise_swallowed_before(error)
            raise
        finally:
            for reshard, _ in self.recorder.scopes.gathered.values():
                reshard()
            if self.recorder.threads is not None:
                self.recorder.threads.wait()
            for refusal in self.recorder.refused_elsewhere:
                raise refusal

    def _judge_effects(
        self,
        lasting: list[Effect],
        after: Aftermath,
        lines: dict[tuple[int, str], tuple[Frame, ...]],
    ) -> bool:
        """Look at what the run left behind; whether its graph can be closed.

        Raises: buffer-reshaped, attribute-changed, write-outlives-call.
        """
        request, given = self.request, self.given
        effects = [e for e in lasting if not given.looks_after(e.place.owner, after)]
        is_open = bool(effects) and not self.state.flags  # the next call may not fill them
        caches = [e for e in effects if is_filled_once(e.place)] if is_open else []
        effects = [e for e in effects if e.is_seen_outside() or not e.place.is_equal]
        effects = [e for e in effects if e not in caches] if caches else effects
        # What others may look at is missed there, whatever the next call does.
        effects.sort(key=lambda effect: not effect.is_seen_outside())
        self.refused = [(effect.place, effect.refusal()) for effect in effects]
        refusals = [each for _, each in self.refused] or [*request.lost]
        spent = request.spent
        self.changed = Watched(find_changes(self.state) | spent, tuple(e.place for e in effects))
        if self.watched is None:
            # Plain Python does not say which line writes.
            must_see_lines = not request.strict and bool(effects or after.lost)
            if self.changed.names or must_see_lines:
                self.harm = refusals
                return False
        else:
            self.harm = find_harm(self.state, self.watched, spent)
            self.reshaped = reshaped(self.state)
        is_missed = bool(effects) and effects[0].is_seen_outside()
        missed = bool(spent or request.lost) or is_missed
        self.harm = refusals + self.harm if missed else self.harm + refusals
        if self.harm and not missed:
            self.left = Left(self.state, [effect.place for effect in effects])
        elif after.lost and not missed:
            self.harm = [given.refusal(after.lost[0], lines)]
        self.filled = [effect.refusal() for effect in caches] if caches else []
        if self.watched is not None:
            self.filled += find_filled(self.state, self.watched)
        if self.filled and not self.harm:
            self.left = Left(self.state, [effect.place for effect in caches])
        if request.ignores_side_effects:
            self.harm = self.observed.ignore(self.harm)
        goes_on = request.problems is not None
        if self.harm and not (
            goes_on or self.can_begin_a_call or self.new_flags() or self.new_scratch()
        ):
            raise self.harm[0]
        return True

    def new_flags(self) -> frozenset[str]:
        """The truths of the module that it changed, which another run can have as buffers."""
        if not self.request.strict or self.request.control_flow == "refuse":
            return frozenset()  # code branches on them
        return flags_changed(self.state, self.changed) - self.inputs.options.flags

    def new_scratch(self) -> dict[str, TensorType | None]:
        """The buffers that it reshaped, which another run can have as scratch buffers."""
        return dict.fromkeys(self.reshaped.keys() - self.inputs.options.scratch.keys())

    @property
    def can_begin_a_call(self) -> bool:
        """Whether another call can begin with what this one left."""
        return self.left is not None and self.left.can_begin_a_call

    # --- what the steps need -------------------------------------------------------------------

    def _seer(self) -> Strict | Plain:
        """Who sees what user code does."""
        request, recorder = self.request, self.recorder
        if not request.strict:
            seer = Plain(recorder.scopes, self.state, self.arguments, self.observed)
        else:
            seer = Strict(
                recorder,
                self.state,
                self.arguments,
                self.observed,
                control_flow=request.control_flow,
            )
        if isinstance(recorder, Continuing):
            seer.refuse = recorder.refuse
            if isinstance(seer, Strict):
                seer.go_past = recorder.go_past
        return seer

    def _lines(self) -> AbstractContextManager[dict[tuple[int, str], tuple[Frame, ...]]]:
        """Where what plain Python changed in the run before differs first."""
        if self.watched is None or self.request.strict:
            return nullcontext({})
        places = {place.key: partial(_differs, place.as_now()) for place in self.watched.places}
        return noting_lines({**self.given.differences(), **places})

    def _real_values(self) -> dict[Node, Any]:
        """What the placeholders stand for in the example."""
        own = {each.node: each.real for each in self.state.tensors}
        inputs = zip(self.input_nodes, self.inputs.leaves, strict=True)
        return own | {node: leaf.value for node, leaf in inputs}

    def _subjects(self) -> dict[Node, Subject]:
        """The tensors that may be others when the program is called."""
        found = {each.node: Subject(each.target, None, each.real) for each in self.state.tensors}
        leaves = zip(self.inputs.leaves, self.input_nodes, strict=True)
        for number, (leaf, node) in enumerate(leaves):
            if leaf.tensor_type is not None:
                found[node] = Subject(leaf.path, number, leaf.value)
        return found


def _differs(place: WriteTarget) -> bool:
    return not place.is_as_before()


def _is_lost(place: WriteTarget) -> bool:
    """Whether what was there could not be put back, when the run ended."""
    return place.kind == "hidden" and _differs(place)


__all__ = ["ControlFlow", "Request", "Trace"]
