"""The cache of one function: its program points, the segments from each, and what is counted."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import frame_filter, problem
from monograph.jit.graphs.sizes import is_marked
from monograph.jit.guard_failures import GuardFailure, failure_of
from monograph.jit.program_points import FramePlan, key_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    import torch
    from torch.fx import GraphModule

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.evaluation.frame import ThreadState
    from monograph.jit.segment_code import CompiledSegment

__all__ = ["LOGGER", "RAISED", "PointTable", "ProgramPoint", "place_of"]

LOGGER: Final = logging.getLogger("monograph.jit")
RAISED: Final = "the call raises"
_MOST_GIVEN_WAY: Final = 24
"""After so many calls whose recording stopped early, a function runs natively for good."""


class ProgramPoint:
    """One point, with the segments that were recorded from it."""

    __slots__ = ("is_exact", "is_left", "n_given_up", "numbers", "plans", "segments", "varies")

    def __init__(self, plans: tuple[FramePlan, ...]) -> None:
        """The plans are of the frames that are open here."""
        self.plans = plans
        self.segments: list[CompiledSegment] = []
        self.n_given_up = 0
        """How many segments were given up, for data said something else than they assumed."""
        self.is_exact = False
        """Whether metadata were met that differ in the middle of a segment."""
        self.varies = False
        """Whether sizes are values of the graphs that are recorded from here."""
        self.numbers: dict[tuple[int, int], float | None] = {}
        """What variables held that were numbers, None of those that have had several values."""
        self.is_left = False
        """Whether a graph has just found other metadata, though its guards hold."""

    @property
    def place(self) -> str:
        """The file and line of the innermost function."""
        plan = self.plans[-1]
        return f"{plan.code.co_filename}:{plan.code.co_firstlineno}"

    def has_varied(self, slot: tuple[int, int], value: Any) -> bool:
        """Whether a variable is a number, and was another one when it was recorded before.

        Not a number is none that varies: it is not even equal to itself.
        """
        if type(value) not in (int, float):
            return False
        if self.numbers.setdefault(slot, value) != value:
            self.numbers[slot] = None
        return self.numbers[slot] is None

    def is_held(self, state: list[Any]) -> bool:
        """Whether the guards of a segment hold already."""
        return any(failure_of(segment, state) is None for segment in self.segments)

    def add(self, segment: CompiledSegment) -> None:
        """Enter a segment."""
        self.segments.append(segment)


class PointTable:
    """What is known of one function that is run just in time."""

    def __init__(
        self,
        backend: Callable[[GraphModule, list[torch.Tensor]], Any],
        *,
        name: str = "function",
        limit: int = 8,
        nopython: bool = False,
        dynamic: bool | None = None,
        observe: Callable[..., Any] | None = None,
        debug: bool = False,
        assumes_data: bool = True,
    ) -> None:
        """`observe` is told of graph breaks and recompilations, `debug` prints what is compiled."""
        self.debug = debug
        self.compile = backend
        self.reads_metadata: bool = getattr(backend, "reads_metadata", True)
        self.name = name
        self.limit = limit
        self.nopython = nopython
        self.dynamic = dynamic
        self.observe = observe
        self.assumes_data = assumes_data and observe is None and not nopython
        self.clear()

    def clear(self) -> None:
        """Forget everything that was compiled and seen."""
        self.points: dict[Any, ProgramPoint] = {}
        self.natives: dict[tuple[int, int], tuple[str, str]] = {}
        """Instructions that run by themselves, with the reason, and where that is."""
        self.breaks: Counter[tuple[str, str]] = Counter()
        """How often each reason was met while recording, by its place."""
        self.is_native = False
        """Whether the function is only called from now on."""
        self.n_given_way = 0
        self._codes: list[CodeType] = []
        self.assumed: dict[Any, Any] = {}
        """What data have said, by where they were asked; see `assume`."""
        self.varied: set[Any] = set()
        """Where they have said one thing and another."""
        self.branches: dict[tuple[int, int], CodeType] = {}
        """Branches on data whose sides cannot be recorded, or are being recorded."""

    @property
    def graphs(self) -> list[int]:
        """How many graphs were compiled from each point, also those that were given up."""
        return [
            point.n_given_up + sum(each.n_operators > 0 for each in point.segments)
            for point in self.points.values()
        ]

    def is_dynamic(self, state: list[Any]) -> bool:
        """Whether users say that sizes vary: by `dynamic=True`, or by marks on tensors."""
        return self.dynamic is not False and (self.dynamic is True or is_marked(state))

    def at(self, frames: Sequence[InterpreterFrame]) -> ProgramPoint:
        """The point where these frames stand."""
        return self.point(tuple([plan_of(frame) for frame in frames]))

    def point(self, plans: tuple[FramePlan, ...]) -> ProgramPoint:
        """The point of these plans."""
        key = tuple([key_of(plan) for plan in plans])
        found = self.points.get(key)
        if found is None:
            found = self.points[key] = ProgramPoint(plans)
        return found

    def note_break(self, reason: str, frame: InterpreterFrame, place: str = "") -> None:
        """Count a graph break that was met. Raises: graph-break, with `nopython`."""
        place = place or place_of(frame)
        self.breaks[reason, place] += 1
        LOGGER.info("%s: graph break at %s: %s", self.name, place, reason)
        if self.observe is not None:
            self.observe("break", self, reason=reason, place=place)
        if self.nopython:
            at = tuple(frame_filter().frame(each.code, each.lasti) for each in _stack(frame))
            raise problem("graph-break", at=at, reason=reason)

    def log(self, source: str, graph: GraphModule | None) -> None:
        """Say what was compiled, to who listens to `monograph.jit` at DEBUG."""
        if self.debug:
            said = f"{self.name}: compiled\n{source}\n{graph and graph.graph}"
            print(said, file=sys.stderr)  # noqa: T201 - asked for
        if LOGGER.isEnabledFor(logging.DEBUG):
            LOGGER.debug("%s: compiled\n%s\n%s", self.name, source, graph and graph.graph)

    def note_recompilation(self, point: ProgramPoint, state: list[Any]) -> GuardFailure | None:
        """Tell of the guards that failed, where segments were there already."""
        failure = None
        for segment in point.segments:
            failure = failure_of(segment, state, point.place)
            if failure is not None:
                LOGGER.info("%s: compiled again: %s", self.name, failure)
                if self.observe is not None:
                    self.observe("recompilation", self, failure=failure)
        return failure

    def assume(self, frame: InterpreterFrame, answer: Any) -> Any:
        """Note what data say at an instruction, and the calls that lead there.

        As long as they say the same in each call, that is assumed; the result is what names the
        place then. None where they have not, and where users want to know of each break.
        """
        if not self.assumes_data:
            return None
        frames = _stack(frame)
        at = tuple([part for each in frames for part in (id(each.code), each.ip)])
        if self.assumed.setdefault(at, answer) != answer or at in self.varied:
            self.varied.add(at)
            return None
        self._codes += [each.code for each in frames]
        return at

    def give_way(self, reason: str, at: tuple[CodeType, int] | None, place: str = "") -> None:
        """The rest of a call ran unrecorded; the instruction that led there is native now."""
        self.n_given_way += 1
        if at is None and self.n_given_way <= _MOST_GIVEN_WAY and reason == RAISED:
            return
        if at is None or (id(at[0]), at[1]) in self.natives or self.n_given_way > _MOST_GIVEN_WAY:
            self.is_native = True
            self.breaks[reason, "the whole function"] += 1
            return
        self._codes.append(at[0])
        self.natives[id(at[0]), at[1]] = reason, place

    def place_of(self, interpreter: ThreadState) -> Callable[[], str]:
        """What gives the line of user code that is interpreted."""

        def place() -> str:
            frame = interpreter.current
            return "" if frame is None else place_of(frame)

        return place


def _stack(frame: InterpreterFrame | None) -> list[InterpreterFrame]:
    found: list[InterpreterFrame] = []
    while frame is not None:
        found.append(frame)
        frame = frame.back
    return found


def place_of(frame: InterpreterFrame) -> str:
    """The file and line of a frame."""
    shown = frame_filter().frame(frame.code, frame.lasti)
    return f"{shown.code.co_filename}:{shown.line}"
