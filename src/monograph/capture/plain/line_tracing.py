"""Line tracing: after which line of user code something first differs."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from monograph.capture.installation import THREAD
from monograph.diagnostics import frame_filter, user_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Mapping
    from types import FrameType

    from monograph.diagnostics import Frame

Key = TypeVar("Key", bound="Hashable")


@contextmanager
def noting_lines(
    differs: Mapping[Key, Callable[[], bool]],
) -> Generator[dict[Key, tuple[Frame, ...]]]:
    """Fill in, for each thing, the lines at which it first differed, innermost first."""
    found: dict[Key, tuple[Frame, ...]] = {}
    if not differs:
        yield found
        return
    before = sys.gettrace()
    sys.settrace(_tracer(dict(differs), found))
    try:
        yield found
    finally:
        sys.settrace(before)


def _tracer(waiting: dict[Key, Callable[[], bool]], found: dict[Key, tuple[Frame, ...]]) -> Any:
    files = frame_filter()
    # The line that each running function is at: what changed since then, that line changed.
    lines: dict[FrameType, tuple[Frame, ...]] = {}

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        if not waiting:
            return None
        for key in [key for key, differs in waiting.items() if differs()]:
            del waiting[key]
            found[key] = lines.get(frame) or user_frames(frame)
        if event == "line":
            lines[frame] = user_frames(frame)
        return at_line

    def at_call(frame: FrameType, _event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        library = files.is_library(file) or file == "<string>"
        by_collector = THREAD.looked_away is not None
        return None if library or by_collector or not waiting else at_line

    return at_call
