"""Tensors from outside that the rounds of a loop write to: they are carried too.

A round begins with a copy of what the last one left. Behind the loop, the last value is copied back
into the tensor, which is a write like any other there.

Law: what a round is given by one name it may not write to by another. A round that holds what it
writes to, or a view of it, besides (as what is carried, appended, returned, or iterated over), is
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.control_flow.subgraphs import copied_as, refused_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.control_flow.subgraphs import Body, Copied, WritesOutside
    from monograph.capture.recording.recorder import Recorder


class CarriedWrites:
    """What is known so far of what the rounds of a loop write to."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._held: Copied = {}
        """All that hold each of these, the owner first."""

    @property
    def roots(self) -> list[AbstractTensor]:
        """The tensors, which a loop begins with."""
        return [same[0] for same in self._held.values()]

    def add(self, found: WritesOutside, body: Body) -> None:
        """Begin anew with what a round writes to, whose body this is.

        Raises: branch-writes (it is what the round was given), WritesOutside (another body writes).
        """
        if found.body is not body:
            raise found
        node = found.tensor.storage_root.node
        if node is not None and node.graph is found.body.graph:
            raise refused_write(found.body, found.tensor.storage_root, at=found.at)
        copied_as(found, self._held)

    def begin_round(self, body: Body, values: Sequence[Any]) -> None:
        """Let copies of what the round before left stand for the tensors."""
        for same, value in zip(self._held.values(), values, strict=True):
            body.copy_of(same, value)

    def holds(self, value: Any) -> bool:
        """Whether this is such a tensor, as code outside holds it."""
        return any(value is each for same in self._held.values() for each in same)

    def check(self, body: Body, others: Iterable[Any]) -> None:
        """Refuse what eager code would see change when a round writes to it by another name.

        Raises: branch-writes.
        """
        held = [self.recorder.abstract(each).storage_root for each in others]
        for root, copy in body.written:
            if any(each is root or each is copy for each in held):
                reason = "and rounds hold it, or a view of it, besides"
                raise refused_write(body, root, reason)

    def copy_back(self, body: Body, values: Sequence[AbstractTensor]) -> None:
        """Behind the loop, write what the last round left; `body` is that of a round."""
        for root, last in zip(self.roots, values, strict=True):
            required = root.tensor_type.requires_grad
            self.recorder.call(torch.ops.aten.copy_.default, (body.held_by(root), last), {})
            self.recorder.doubts.differ("version", root.node)
            if root.tensor_type.requires_grad is not required:
                self.recorder.doubts.differ("requires_grad", root.node)


__all__ = ["CarriedWrites"]
