"""Side effects of callbacks in a region: what user code writes to that C calls from a branch.

Interpreted code announces its writes to the regions that it runs in; a callback is not interpreted.
So what each can reach is read before it begins, and what differs when C returns is told of then.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from monograph.capture.plain.reachable_objects import Reach
from monograph.capture.side_effects.tracking import Effects

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from contextlib import AbstractContextManager

    from monograph.capture.plain.profiling import Plain


@contextmanager
def told_of_callbacks(
    watching: AbstractContextManager[None], watcher: Plain, regions: Sequence[Effects]
) -> Generator[None]:
    """A native call in regions, which `watcher` watches: tell them what its callbacks changed."""
    effects = Effects(())
    reach = Reach(effects)
    watcher.beside.append(reach)
    try:
        with watching:
            yield
    finally:
        watcher.beside.remove(reach)
        reach.settle()
        for place in effects.differing():
            for each in place.by_name():
                for region in regions:
                    region.add(each)
        reach.close()


__all__ = ["told_of_callbacks"]
