"""Side effects of callbacks in a region: what user code writes to that C calls from a branch.

Interpreted code announces its writes to the regions that it runs in; a callback is not interpreted.
So what each can reach is read before it begins, and what differs when C returns is told of then.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from monograph.bytecode import MISSING
from monograph.capture.plain.reachable_objects import Reach
from monograph.capture.side_effects.container_contents import all_attributes, same
from monograph.capture.side_effects.tracking import Effects, WriteTarget

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
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
            for each in _by_name(place):
                for region in regions:
                    region.add(each)
        reach.close()


def _by_name(place: WriteTarget) -> Iterator[WriteTarget]:
    """The attributes that changed, each by itself, as interpreted code writes to them."""
    if place.kind != "attributes":
        yield place
        return
    owner, before, now = place.owner, place.before, all_attributes(place.owner)
    for name in {**before, **now}:
        held = before.get(name, MISSING)
        if not same(now.get(name, MISSING), held):
            yield WriteTarget("attribute", owner, name, held, place.tracked, place.by)


__all__ = ["told_of_callbacks"]
