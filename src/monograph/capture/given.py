"""The containers among the inputs, which belong to the caller: a program does not change them.

Law: after forward returned, every argument has the structure and the leaves it had, or the export
is refused. Plain Python does not say who changed a list. So a run after which one differs is run
again, traced line by line, and the line after which the first one differs is the one to name.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from monograph.diagnostics import FrameFilter, problem, user_frames
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

    from monograph.capture.inputs import Inputs
    from monograph.diagnostics import Frame, MonographError


class Given:
    """The containers that one run of user code is given, as they were."""

    __slots__ = ("_before", "_seen")

    def __init__(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        names = list(inputs.arguments.by_name)
        positional = names[: len(names) - len(kwargs)]
        named = [(positional[min(i, len(positional) - 1)], each) for i, each in enumerate(args)]
        containers = [
            pair for pair in (*named, *kwargs.items()) if not pytree.tree_is_leaf(pair[1])
        ]
        self._before = [(name, each, *pytree.tree_flatten(each)) for name, each in containers]
        self._seen: tuple[Frame, ...] = ()

    def changed(self) -> str | None:
        """The name of the first argument that is not what it was."""
        for name, container, leaves, spec in self._before:
            now, structure = pytree.tree_flatten(container)
            if structure != spec or any(a is not b for a, b in zip(now, leaves, strict=True)):
                return name
        return None

    def refusal(self, name: str) -> MonographError:
        """The refusal of a run that changed this argument."""
        return problem("write-outlives-call", at=self._seen, kind="argument", name=name)

    @contextmanager
    def traced(self, *, wanted: bool) -> Generator[None]:
        """Note after which line of user code the first argument differs, if that is wanted."""
        if not wanted or not self._before:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._tracer())
        try:
            yield
        finally:
            sys.settrace(before)

    def _tracer(self) -> Any:
        files = FrameFilter()
        # The line that each running function is at: what changed since then, that line changed.
        lines: dict[FrameType, tuple[Frame, ...]] = {}

        def at_line(frame: FrameType, event: str, _: Any) -> Any:
            if self._seen:
                return None
            if self.changed() is not None:
                self._seen = lines.get(frame, ())
            elif event == "line":
                lines[frame] = user_frames(frame)
            return at_line

        def at_call(frame: FrameType, _event: str, _: Any) -> Any:
            return None if self._seen or files.is_library(frame.f_code.co_filename) else at_line

        return at_call
