"""Loop-carried writes: tensors from outside that iterations write to are carried too.

An iteration begins with a copy of what the one before left. Behind the loop, the last value is
copied back into the tensor, which is a write like any other there.

Law: what an iteration is given by one name it may not write to by another. One that holds what it
writes to, or a view of it, besides (as what is carried, appended, returned, or iterated over), is
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.capture.control_flow.region import copied_as, refused_write
from monograph.capture.control_flow.region_calls import write_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.control_flow.region import Copied, CopyNeeded, Region
    from monograph.capture.recording.recorder import Recorder


class CarriedWrites:
    """What is known so far of what the iterations of a loop write to."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._held: Copied = {}
        """All that hold each of these, the owner first."""

    @property
    def roots(self) -> list[AbstractTensor]:
        """The tensors, which a loop begins with."""
        return [same[0] for same in self._held.values()]

    def add(self, found: CopyNeeded) -> None:
        """Begin anew with a tensor that an iteration writes to.

        Raises: branch-writes (it is what the iteration was given), Restart (of a region around).
        """
        node = found.tensor.storage_root.node
        if node is not None and node.graph is found.region.graph:
            raise refused_write(found.region, found.tensor.storage_root, at=found.at)
        copied_as(found, self._held)

    def begin_iteration(self, region: Region, values: Sequence[Any]) -> None:
        """Let copies of what the iteration before left stand for the tensors."""
        for same, value in zip(self._held.values(), values, strict=True):
            region.copy_of(same, value)
            self.recorder.aliases.differ("version", value.node)

    def holds(self, value: Any) -> bool:
        """Whether this is such a tensor, as code outside holds it."""
        return any(value is each for same in self._held.values() for each in same)

    def check(self, region: Region, others: Iterable[Any]) -> None:
        """Refuse what eager code would see change when an iteration writes to it by another name.

        Raises: branch-writes.
        """
        held = [self.recorder.abstract(each).storage_root for each in others]
        for root, copy in region.written:
            if any(each is root or each is copy for each in held):
                reason = "and iterations hold it, or a view of it, besides"
                raise refused_write(region, root, reason)

    def copy_back(self, region: Region, values: Sequence[AbstractTensor]) -> None:
        """Behind the loop, write what the last iteration left; `region` is that of an iteration."""
        for root, last in zip(self.roots, values, strict=True):
            required = root.tensor_type.requires_grad
            write_back(region, root, last)
            self.recorder.aliases.differ("version", root.node)
            if root.tensor_type.requires_grad is not required:
                self.recorder.aliases.differ("requires_grad", root.node)


__all__ = ["CarriedWrites"]
