"""Side effects of callbacks in a region: what user code writes to that C calls from a branch.

Interpreted code announces its writes to the regions that it runs in; a callback is not interpreted.
So what each can reach is read before it begins, and what differs when C returns is told of then.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from monograph.bytecode import MISSING
from monograph.capture.plain.reachable_objects import Reach
from monograph.capture.side_effects.container_contents import all_attributes, same
from monograph.capture.side_effects.tracking import Effects, WriteTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    from monograph.capture.plain.callbacks import Callbacks
    from monograph.capture.plain.profiling import Plain


class CallbackWrites:
    """Watches native calls as `callbacks` does, and in regions what their callbacks write to."""

    def __init__(
        self,
        callbacks: Callbacks,
        watcher: Callable[[], Plain],
        regions: Callable[[], Sequence[Effects]],
    ) -> None:
        """`regions` are the effects of those that the run is in."""
        self._callbacks, self._watcher, self._regions = callbacks, watcher, regions

    def around(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> AbstractContextManager[Any] | None:
        """What to have around a native call: nothing, if it can call nothing of the user's."""
        watching = self._callbacks.around(callee, args, kwargs)
        return self._compared(watching) if watching and self._regions() else watching

    @contextmanager
    def _compared(self, watching: AbstractContextManager[Any]) -> Generator[None]:
        effects = Effects(())
        reach = Reach(effects)
        beside = self._watcher().beside
        beside.append(reach)
        try:
            with watching:
                yield
        finally:
            beside.remove(reach)
            reach.settle_cells()
            for place in effects.differing():
                for each in _by_name(place):
                    for region in self._regions():
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


__all__ = ["CallbackWrites"]
