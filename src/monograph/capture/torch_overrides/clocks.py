"""Function overrides of clocks: user code is told a number that no program can compute.

Law: a reading may be subtracted, printed, logged and dropped. Where the program would need it, in
a result, an operator or a condition, it is refused as any read from outside, with the line of the
clock. So nothing that user code measures is repeated as it was during the export.
"""

from __future__ import annotations

import functools
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.symbols import to_sym
from monograph.capture.code_policy import is_entered
from monograph.capture.installation import OVERRIDES, THREAD, listening
from monograph.capture.side_effects.impure_functions import clock, is_own_business, refusal
from monograph.diagnostics import snippet
from monograph.integers import Real, fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.recording.recorder import Recorder

_CLOCKS: Final = (
    *("time", "monotonic", "perf_counter", "process_time", "thread_time"),
    *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns"),
)


@OVERRIDES.override(time, *(name for name in _CLOCKS if hasattr(time, name)))
def _clock(original: Callable[[], float]) -> Callable[[], float]:
    name = original.__name__

    @functools.wraps(original)
    def read() -> Any:
        recorder, now = listening() or THREAD.started_by, original()
        if recorder is None or recorder.closed:
            return now
        found = clock(f"time.{name}")
        asker = recorder.scopes.filter.asker(sys._getframe(1))
        if is_own_business(found, asker) or not is_entered(asker, ""):
            return now
        if recorder is THREAD.started_by:
            recorder.refused_elsewhere.append(
                refusal(found, recorder.scopes.user_frames(sys._getframe()))
            )
            return now
        return _reading(recorder, name, now)

    return read


def _reading(recorder: Recorder, name: str, now: float) -> Any:
    """A number of which nothing is known, and which nothing in the program computes."""
    at = recorder.origin()
    symbol = fresh(snippet(at[:1]) or f"time.{name}()", None, None)

    def needed() -> float:
        """Raises: outside-read."""
        recorder.refuse(refusal(clock(f"time.{name}"), at))
        return now

    recorder.facts.outside[symbol] = needed
    return to_sym(symbol if isinstance(now, int) else Real("unbacked", (symbol,)))
