"""Code generation: a recorded segment becomes one Python function from a state to the next one.

def replay(s):
try: <guards, each `if fails: return its index`>    # those that tags stand for: where a tag changed
except Exception: return -1
try: g0, g1 = GRAPH(v0, v1)
except OtherMetadata: return OTHER     # what Python was told in the middle is another now
except Exception: return None          # nothing has happened yet
<objects made again> <writes to objects from outside, in their order>
return [what the next point begins with, or the result]
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.autograd import RecomputationEnds
from monograph.host.execution_modes import (
    AUTOCAST_STATE,
    MODE_SETTERS,
    MODE_STATE,
    restore_autocast,
)
from monograph.jit.graphs.expectations import OtherData, OtherMetadata
from monograph.jit.graphs.graph_code import SegmentGraph
from monograph.jit.graphs.sizes import SYMBOLIC
from monograph.jit.guard_code import tensor_condition
from monograph.jit.program_points import FramePlan, is_mark, key_of, plan_of
from monograph.jit.state_recipes import RecipeWriter
from monograph.jit.version_tags import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule, Node

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.guard_code import GuardWriter, SegmentGuard
    from monograph.jit.point_table import PointTable
    from monograph.jit.recording import SegmentRecorder

__all__ = ["OTHER", "OTHER_DATA", "CompiledSegment", "compile_segment"]


@dataclass(slots=True, eq=False, repr=False)
class CompiledSegment:
    """A segment that was recorded: what it relies on, its graph, and where it ends.

    `plans` are the frames at its end, none where the call returned; `reason` is why it broke there.
    """

    replay: Callable[[list[Any]], Any]
    source: str
    guards: tuple[SegmentGuard, ...]
    lines: tuple[str, ...]
    constants: dict[str, Any]
    graph: GraphModule | None
    n_operators: int
    plans: tuple[FramePlan, ...] = ()
    outer_key: tuple[Any, ...] = ()
    n_outer: int = 0
    reason: str = ""
    seconds: float = 0.0
    hits: int = 0
    modes: Any = None
    draws: bool = False
    varies: bool = False
    """Whether sizes are values of its graph."""
    inputs: list[torch.Tensor] = field(default_factory=list[torch.Tensor])
    writer: _ReplayWriter | None = None
    """What writes the code once more, with guards of all metadata; None where it has them."""

    def __repr__(self) -> str:
        """In one line; the guards and the graph are attributes."""
        ending = self.reason or "the return"
        operators = f"operators: {self.n_operators}, then {ending}"
        return f"<segment; {operators}; guards: {len(self.guards)}, hits: {self.hits}>"

    def guard_metadata(self) -> None:
        """Rely on all metadata of the inputs from now on, which tells entries apart early."""
        if self.writer is not None:
            self.writer.guard_metadata()
            self.source, self.replay = self.writer.written()
            self.guards, self.lines = self.writer.guarded
            self.writer = None


OTHER: Final = -4
"""What a replay returns whose graph found other metadata in the middle."""
OTHER_DATA: Final = -5
"""What a replay returns where data say something else than was assumed."""


class _ReplayWriter:
    """Writes the function of a segment; keeps nothing alive but constants."""

    def __init__(
        self, segment: SegmentRecorder, constants: dict[str, Any], body: list[str]
    ) -> None:
        """`body` is what follows the guards."""
        self._guards = segment.guards
        self._body = body
        self._constants = constants
        self._inputs = [
            (
                name,
                segment.guards.label(tensor),
                segment.guards.asked(tensor),
                *tensor_condition(segment.guards, name, tensor),
            )
            for name, tensor in segment.tensors
            if not segment.guards.has_metadata_of(tensor)
        ]

    @property
    def guarded(self) -> tuple[tuple[SegmentGuard, ...], tuple[str, ...]]:
        """The guards, and their lines."""
        return tuple(self._guards.guards), tuple(self._guards.lines)

    def guard_metadata(self) -> None:
        """Guard all metadata of the inputs."""
        for name, label, place, fails, expected in self._inputs:
            self._guards.check(fails, label, expected, name, place=place)

    def written(self) -> tuple[str, Any]:
        """The source and the function."""
        scope = self._constants
        scope.update(self._guards.constants)
        source = "\n".join(["def replay(s):", *_guarded(self._guards, scope, self._body)])
        source = "\n".join([source, *self._body])
        scope = dict(scope)
        exec(compile(source, "<segment>", "exec"), scope)  # noqa: S102 - the lines above
        return source, scope["replay"]


def compile_segment(
    segment: SegmentRecorder,
    frames: list[InterpreterFrame] | None,
    value: Any,
    points: PointTable,
    reason: str,
    *,
    is_compiled: bool,
    is_exact: bool,
) -> CompiledSegment:
    """Write the function of a segment, and compile its graph. Raises: NotMade.

    Where the backend reads no metadata, those of inputs are guarded if Python asked for them, or
    the graph does what cannot be taken back; with `is_exact`, or another backend, always.
    """
    began = time.perf_counter()
    outputs: list[Any] = []

    def output(value: Any) -> str | None:
        node = value.node if type(value) in SYMBOLIC else segment.nodes.get(id(value))
        if node is None:
            return None
        if node not in outputs:
            outputs.append(node)
        return f"g{outputs.index(node)}"

    for tensor, _, _ in segment.checks:
        output(tensor)
    recipe = RecipeWriter(segment.guards, output, lambda each: id(each) in segment.made_functions)
    result = _result(segment, recipe, frames, value)
    writes = _writes(segment, recipe)
    segment.guard_aliases()
    is_exact |= segment.is_exact or segment.reads_metadata
    if is_exact:
        segment.settle_numbers()
    body: list[str] = []
    graph = None
    checks: list[Node] = []
    if segment.n_calls or outputs or segment.expectations:
        segment.graph.output(tuple(outputs))
        checks = segment.expected(is_exact=is_exact)
        graph = SegmentGraph(segment.graph, segment.sides)
        body += _graph_call(segment, len(outputs))
    conditions = [(recipe.made(tensor), value) for tensor, value, _ in segment.checks]
    body += [f"  {line}" for line in _check_lines(conditions, _leaving(segment, "return None"))]
    body += [f"  {line}" for line in (*_mode_left(segment), *recipe.lines, *writes)]
    body += [f"  {line}" for line in recipe.positions]
    body.append(f"  return [{result}]")
    constants = dict(segment.guards.constants)
    constants["MODES"], constants["modes"] = MODE_STATE, segment.modes
    constants["OtherMetadata"], constants["OTHER"] = OtherMetadata, OTHER
    constants["OtherData"], constants["OTHER_DATA"] = OtherData, OTHER_DATA
    constants["VARIED"], constants["Ends"] = points.varied, RecomputationEnds
    if graph is not None and is_compiled:
        inputs = [tensor for _, tensor in segment.inputs]
        constants["GRAPH"] = points.compile(graph, inputs)
        for node in checks:
            node.graph.erase_node(node)
    writer = _ReplayWriter(segment, constants, body)
    if is_exact:
        writer.guard_metadata()
    segment.guards.forget()
    source, replay = writer.written()
    guards, lines = writer.guarded
    plans = tuple(plan_of(frame) for frame in frames or ())
    points.log(source, graph)
    return CompiledSegment(
        replay=replay,
        source=source,
        guards=guards,
        lines=lines,
        constants=constants,
        graph=graph,
        n_operators=segment.n_calls,
        plans=plans,
        outer_key=tuple(key_of(plan) for plan in plans[:-1]),
        n_outer=sum(1 + sum(p.slots) + sum(m is None for m in p.stack) for p in plans[:-1]),
        reason=reason,
        seconds=time.perf_counter() - began,
        modes=segment.modes,
        draws=segment.draws,
        varies=segment.varies and not is_exact,
        writer=None if is_exact else writer,
    )


_FEWEST: Final = 12
"""So many guards take longer than looking at tags."""


def _guarded(guards: GuardWriter, constants: dict[str, Any], body: list[str]) -> list[str]:
    lines = guards.lines
    renewal: list[str] = []
    if len(guards.fixed_lines) >= _FEWEST:
        stamp: list[bytes | None] = [None]
        constants["MEMORY"], constants["WORDS"] = MEMORY, guards.tags.words()
        constants["STAMP"] = stamp
        constants["RENEW"] = _renewal(guards, constants, stamp)
        renewal = ["if MEMORY[WORDS].tobytes() != STAMP[0] and RENEW(s) is not None: return -3"]
        lines = _unfixed(guards, body)
    return [
        "  try:",
        "    if MODES() != modes: return -2",
        *(f"    {line}" for line in (*renewal, *lines)),
        "  except Exception: return -1",
    ]


_NAMES: Final = re.compile(r"\b[av]\d\w*")


def _unfixed(guards: GuardWriter, body: list[str]) -> list[str]:
    """The guards that tags do not stand for, and the reads that these and the body need."""
    used = {name for line in body for name in _NAMES.findall(line)}
    found: list[str] = []
    for index in range(len(guards.lines) - 1, -1, -1):
        line = guards.lines[index]
        name = line.partition(" = ")[0]
        if index not in guards.fixed_lines or (name in used and not line.startswith("if ")):
            used.update(_NAMES.findall(line))
            found.append(line)
    return found[::-1]


def _renewal(
    guards: GuardWriter, constants: dict[str, Any], stamp: list[bytes | None]
) -> Callable[[list[Any]], int | None]:
    """Check all guards, and take the tags as they are now for the stamp if they hold."""
    checks: list[Callable[[list[Any]], int | None]] = []
    words, tags, lines = constants["WORDS"], guards.tags, list(guards.lines)

    def renew(state: list[Any]) -> int | None:
        if not checks:
            source = "\n".join(["def check(s):", *(f"  {line}" for line in lines)])
            scope = dict(constants)
            exec(compile(source, "<guards>", "exec"), scope)  # noqa: S102 - lines of guards
            checks.append(scope["check"])
        seen = MEMORY[words].tobytes() if tags.are_given() else None
        failed = checks[0](state)
        if failed is None:
            stamp[0] = seen
        return failed

    return renew


def _graph_call(segment: SegmentRecorder, n_outputs: int) -> list[str]:
    names = "".join(f"g{index}, " for index in range(n_outputs))
    inputs = ", ".join(name for name, _ in segment.inputs)
    call = f"{names}= GRAPH({inputs})" if names else f"GRAPH({inputs})"
    # Where half of it may have happened, what it raises is what eager code raises.
    leave = "raise" if segment.mutates or segment.draws else "return None"
    lines = [f"  try: {call}"]
    if segment.sets_autocast:
        lines.insert(0, f"  autocast = {segment.guards.constant(AUTOCAST_STATE)}()")
    if segment.assumptions:
        lines += ["  except OtherData as other:", "    VARIED.add(other.args[0])"]
        lines += [f"    {line}" for line in _leaving(segment, "return OTHER_DATA")]
    ways_out = ("OtherMetadata", "return OTHER"), ("Ends", "raise"), ("Exception", leave)
    for kind, left in ways_out:
        lines += [f"  except {kind}:", *(f"    {line}" for line in _leaving(segment, left))]
    return lines


def _leaving(segment: SegmentRecorder, leave: str) -> list[str]:
    """What leaves a replay whose graph ran, perhaps in part: under the modes it began with."""
    lines: list[str] = []
    if segment.sets_modes:
        lines.append(f"{segment.guards.constant(MODE_SETTERS[0])}(modes[0])")
    if segment.sets_autocast:
        lines.append(f"{segment.guards.constant(restore_autocast)}(autocast)")
    return [*lines, leave]


def _mode_left(segment: SegmentRecorder) -> list[str]:
    """What sets the mode that a segment ends with: in what a backend compiles, nothing may."""
    if not segment.sets_modes:
        return []
    return [f"{segment.guards.constant(MODE_SETTERS[0])}({torch.is_grad_enabled()})"]


def _result(
    segment: SegmentRecorder,
    recipe: RecipeWriter,
    frames: list[InterpreterFrame] | None,
    value: Any,
) -> str:
    if frames is None:
        return recipe.made(value)
    parts: list[str] = []
    for frame in frames:
        parts.append(recipe.made(frame.function))
        for slot, held in enumerate(frame.slots):
            pending = segment.pending.get((id(frame), slot))
            if pending is not None:
                parts.append(pending[0])
            elif not is_mark(held):
                parts.append(_made(segment, recipe, held))
        parts += [_made(segment, recipe, held) for held in frame.stack if not is_mark(held)]
    return ", ".join(parts)


def _made(segment: SegmentRecorder, recipe: RecipeWriter, value: Any) -> str:
    """The expression of a value of a frame: tokens of context variables come of writes."""
    name, _ = segment.tokens.get(id(value), ("", False))
    return name or recipe.made(value)


def _writes(segment: SegmentRecorder, recipe: RecipeWriter) -> list[str]:
    made: list[str] = []
    for write in segment.writes:
        values = [recipe.made(value) for value in write.values]
        made.append(write.code.format(recipe.made(write.owner), *values))
    for iterator, n in segment.advanced.values():
        if n:
            name = recipe.made(iterator)
            made.append(
                f"for _ in {recipe.function(range)}({n}): {recipe.function(next)}({name}, None)"
            )
    return made


def _check_lines(conditions: list[tuple[str, bool]], leave: list[str]) -> list[str]:
    """What leaves a replay where a condition is another than it was."""
    lines: list[str] = []
    for name, value in conditions:
        lines += [f"if bool({name}) is not {value}:", *[f"  {each}" for each in leave]]
    return lines
