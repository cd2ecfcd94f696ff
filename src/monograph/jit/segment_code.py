"""Code generation: a recorded segment becomes one Python function from a state to the next one.

def replay(s):
try: <guards, each `if fails: return its index`>
except Exception: return -1
try: g0, g1 = GRAPH(v0, v1)
except Exception: return None          # nothing has happened yet
<objects made again> <writes to objects from outside, in their order>
return [what the next point begins with, or the result]
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.execution_modes import MODE_SETTERS, MODE_STATE
from monograph.jit.effects.data_checks import check_lines
from monograph.jit.program_points import FramePlan, is_mark, key_of, plan_of
from monograph.jit.state_recipes import RecipeWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.guard_code import SegmentGuard
    from monograph.jit.point_table import PointTable
    from monograph.jit.recording import SegmentRecorder

__all__ = ["CompiledSegment", "compile_segment"]


@dataclass(slots=True, eq=False)
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
    inputs: list[torch.Tensor] = field(default_factory=list[torch.Tensor])


def compile_segment(
    segment: SegmentRecorder,
    frames: list[InterpreterFrame] | None,
    value: Any,
    points: PointTable,
    reason: str,
    *,
    is_compiled: bool,
) -> CompiledSegment:
    """Write the function of a segment, and compile its graph. Raises: NotMade."""
    began = time.perf_counter()
    outputs: list[Any] = []

    def output(tensor: torch.Tensor) -> str | None:
        node = segment.nodes.get(id(tensor))
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
    lines = list(segment.guards.lines)
    body = [*_guarded(lines)]
    graph = None
    if segment.n_calls:
        segment.graph.output(tuple(outputs))
        graph = torch.fx.GraphModule(torch.nn.Module(), segment.graph)
        body += _graph_call(segment, len(outputs))
    conditions = [(recipe.made(tensor), value) for tensor, value, _ in segment.checks]
    body += [f"  {line}" for line in check_lines(conditions, _leaving(segment, "return None"))]
    body += [f"  {line}" for line in (*recipe.lines, *writes)]
    body.append(f"  return [{result}]")
    constants = dict(segment.guards.constants)
    constants["MODES"], constants["modes"] = MODE_STATE, segment.modes
    if graph is not None and is_compiled:
        inputs = [tensor for _, tensor in segment.inputs]
        constants["GRAPH"] = points.compile(graph, inputs)
    scope: dict[str, Any] = dict(constants)
    source = "\n".join(["def replay(s):", *body])
    exec(compile(source, "<segment>", "exec"), scope)  # noqa: S102 - the lines above
    plans = tuple(plan_of(frame) for frame in frames or ())
    points.log(source, graph)
    return CompiledSegment(
        replay=scope["replay"],
        source=source,
        guards=tuple(segment.guards.guards),
        lines=tuple(lines),
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
    )


def _guarded(lines: list[str]) -> list[str]:
    return [
        "  try:",
        "    if MODES() != modes: return -2",
        *(f"    {line}" for line in lines),
        "  except Exception: return -1",
    ]


def _graph_call(segment: SegmentRecorder, n_outputs: int) -> list[str]:
    names = "".join(f"g{index}, " for index in range(n_outputs))
    inputs = ", ".join(name for name, _ in segment.inputs)
    call = f"{names}= GRAPH({inputs})" if names else f"GRAPH({inputs})"
    # Where half of it may have happened, what it raises is what eager code raises.
    leave = "raise" if segment.mutates or segment.draws else "return None"
    lines = [f"  try: {call}", "  except Exception:"]
    return [*lines, *[f"    {line}" for line in _leaving(segment, leave)]]


def _leaving(segment: SegmentRecorder, leave: str) -> list[str]:
    """What leaves a replay whose graph ran, perhaps in part: under the modes it began with."""
    if not segment.sets_modes:
        return [leave]
    return [f"{segment.guards.constant(MODE_SETTERS[0])}(modes[0])", leave]


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
                parts.append(recipe.made(held))
        parts += [recipe.made(held) for held in frame.stack if not is_mark(held)]
    return ", ".join(parts)


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
