"""Profilers of other people's, which wait while ours watches: Python has room for one a thread.

One written in Python is told everything by ours. One in C cannot be called: `cProfile`'s is put
back afterwards, and counts what ran meanwhile as its caller's. Others cannot be put back.
"""

from __future__ import annotations

import sys
from _lsprof import Profiler
from typing import Any


def can_wait(profile: Any) -> bool:
    """Whether another may take a profiler's place for a while."""
    return profile is None or callable(profile) or isinstance(profile, Profiler)


def resume(profile: Any) -> None:
    """Let a profiler that waited go on."""
    if isinstance(profile, Profiler):
        profile.enable()
    else:
        sys.setprofile(profile)
