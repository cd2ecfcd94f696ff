"""A sampling profiler of an export: which function of the model is captured now, and for how long.

Another thread looks at the frames of the one that exports; what is captured does not change by it.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.cli.output import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType, FrameType

EVERY = 0.1
"""Seconds between two looks."""
SHOWN = 5
OURS = str(Path(__file__).parents[1])


@contextmanager
def watched(what: str) -> Generator[Callable[[], list[str]]]:
    """Say what is captured meanwhile; give a function that tells where the time went."""
    seen: Counter[str] = Counter()
    done, caller = threading.Event(), threading.get_ident()
    with progress() as told:
        told(what)

        def watch() -> None:
            while not done.wait(EVERY):
                frame = sys._current_frames().get(caller)  # noqa: SLF001  (the only way there is)
                place = None if frame is None else _users(frame)
                if place is not None:
                    seen[place] += 1
                    told(f"{what}: {place}")
                del frame

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield lambda: _times(seen)
        finally:
            done.set()
            thread.join()


def _users(frame: FrameType | None) -> str | None:
    """The innermost function of the user's on a stack, run or interpreted."""
    while frame is not None:
        code: CodeType = frame.f_code
        if code.co_filename.startswith(OURS):
            # The loop of the interpreter has the interpreted frame in a variable.
            found = getattr(_local(frame, "frame"), "code", None) if code.co_name == "run" else None
            code = found if found is not None else code
        if _is_users(code.co_filename):
            name = code.co_qualname.rpartition("<locals>.")[2]
            return f"{name} ({Path(code.co_filename).name}:{code.co_firstlineno})"
        frame = frame.f_back
    return None


def _local(frame: FrameType, name: str) -> Any:
    """A variable of a function that runs, to whose values nothing refers afterwards."""
    variables: Any = frame.f_locals
    found = variables.get(name)
    if type(variables) is dict:  # from Python 3.13 on it is no copy
        variables.clear()
    return found


def _is_users(file: str) -> bool:
    inside = {"site-packages", "dist-packages"} & set(Path(file).parts)
    own = file.startswith((OURS, "<", sys.base_prefix, sys.prefix))
    return not own and (not inside or "transformers" in Path(file).parts)


def _times(seen: Counter[str]) -> list[str]:
    total = sum(seen.values())
    if total * EVERY < 1:
        return []
    rows = [f"  {count / total:4.0%}  {place}" for place, count in seen.most_common(SHOWN)]
    return [f"the export took {total * EVERY:.1f} s, of which", *rows]


__all__ = ["watched"]
