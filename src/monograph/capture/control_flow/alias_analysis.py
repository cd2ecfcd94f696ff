"""What a condition on data leaves in doubt: which object a variable is, and what is so on one side.

Results of branches and loops are objects of their own, as results of operators are. Eager code goes
on with the very objects of the side that was taken. Where that makes a difference, nobody is told
a side's truth as the program's: whoever asks, or writes to one of several that may be one, is
refused.

- *storages*: tensors that may lie in one memory with others; nobody writes to them.
- *objects*: tensors (of those storages) and containers that may be one with others; nobody asks
  whether they are, and nobody changes them.
- *apart*: tensors that are copies of others (of those storages) although eager code has one memory
  for both, as a side writes to it, or it lies as no result of a branch does; the program does not
  return both.
- *answers*: what a tensor says of itself (its layout, where in its memory it begins, whether it
  requires gradients, how often it was written to), where the sides, or rounds, would say different
  things; nobody asks, nor of what is computed from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.abstract.tensor import AbstractTensor
from monograph.diagnostics import problem
from monograph.host.fx_nodes import inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.control_flow.subgraphs import Body

Question = Literal["layout", "offset", "requires_grad", "version"]

_WORDS: Final[dict[Question, str]] = {
    "layout": "how a tensor lies in memory",
    "offset": "where in its memory a tensor begins",
    "requires_grad": "whether a tensor requires gradients",
    "version": "how often a tensor was written to",
}


class Doubts:
    """What is in doubt so far."""

    __slots__ = ("_answers", "_certain", "_copies", "_may_be", "_objects", "_storages")

    def __init__(self) -> None:
        # By identity; the objects are kept, so that none of these is given to a new one.
        self._storages: dict[int, AbstractTensor] = {}
        self._may_be: dict[int, list[AbstractTensor]] = {}
        self._copies: list[tuple[AbstractTensor, AbstractTensor, BaseException]] = []
        self._objects: dict[int, Any] = {}
        self._answers: dict[Question, set[Node]] = {}
        # Nodes that were asked about and are not in doubt; until one is that others may use.
        self._certain: dict[Question, set[Node]] = {}

    # --- entered -----------------------------------------------------------------------------

    def entangle(self, objects: Iterable[Any]) -> None:
        """Each of these may be one with another that is here: of tensors, the first with others."""
        roots: list[AbstractTensor] = []
        for each in objects:
            if isinstance(each, AbstractTensor):
                roots.append(each.storage_root)
                self._storages[id(roots[-1])] = roots[-1]
            else:
                self._objects[id(each)] = each
        if len(roots) > 1:
            self._may_be.setdefault(id(roots[0]), []).extend(roots[1:])

    def part(self, copy: AbstractTensor, root: AbstractTensor, after: str = "if") -> None:
        """These are entangled, and the first is a copy where eager code has one memory.

        `after` is the word that the statement begins with which made the copy.
        """
        self._copies.append((copy.storage_root, root, problem("branch-returns", after=after)))

    def release(self, tensor: AbstractTensor) -> None:
        """Nobody sees this tensor's memory by another name any more."""
        del self._storages[id(tensor.storage_root)]

    def differ(self, question: Question, node: Node | None) -> None:
        """What this node makes gives no answer that holds on every side."""
        if node is not None:
            self._answers.setdefault(question, set()).add(node)
            if node.users or node in self._certain.get(question, ()):
                self._certain.pop(question, None)

    # --- asked -------------------------------------------------------------------------------

    def is_entangled(self, value: Any) -> bool:
        """Whether an object may be one with another."""
        if isinstance(value, AbstractTensor):
            return id(value.storage_root) in self._storages
        return id(value) in self._objects

    def may_be(
        self, tensor: AbstractTensor, without: AbstractTensor | None = None
    ) -> list[AbstractTensor]:
        """The storages that a tensor may lie in, its own first; not by way of one of them."""
        found = [tensor.storage_root]
        for one in found:
            for each in self._may_be.get(id(one), ()):
                if each is not without and not any(each is other for other in found):
                    found.append(each)
        return found

    def check_same(self, left: Any, right: Any) -> None:
        """Code asks whether two values are one object.

        Raises: branch-decides.
        """
        if left is not right and self.is_entangled(left) and self.is_entangled(right):
            raise problem("branch-decides", what="whether two variables are one object")

    def check_hash(self, tensor: AbstractTensor) -> None:
        """Code looks for a tensor in a set or a dict. Raises: branch-decides."""
        if id(tensor.storage_root) in self._storages:
            raise problem("branch-decides", what="whether two variables are one object")

    def check_write(self, value: Any, name: str = "") -> None:
        """Code changes an object. Raises: write-after-branch."""
        if self.is_entangled(value):
            raise problem("write-after-branch", kind=_kind(value), name=name)

    def check_returned(
        self, values: Iterable[Any], is_seen: Callable[[AbstractTensor], bool]
    ) -> None:
        """These leave the program; `is_seen` tells what callers see besides.

        Raises: branch-returns.
        """
        if not self._copies:
            return
        tensors = [value for value in values if isinstance(value, AbstractTensor)]
        returned = list({id(each.storage_root): each.storage_root for each in tensors}.values())
        for copy, root, refusal in self._copies:
            copied = self.may_be(root)
            ones = [each for each in returned if _is_in(copy, self.may_be(each))]
            if not ones:
                continue
            others = [each for each in copied if is_seen(each)]
            others += [
                each
                for each in returned
                if each is not copy
                and any(_is_in(one, copied) for one in self.may_be(each, without=copy))
            ]
            if any(one is not other for one in ones for other in others):
                raise refusal

    def check_answer(self, question: Question, tensor: AbstractTensor) -> None:
        """Code asks a tensor something about itself. Raises: branch-decides."""
        if self.is_in_doubt(question, tensor):
            raise problem("branch-decides", what=_WORDS[question])

    def is_in_doubt(self, question: Question, tensor: AbstractTensor) -> bool:
        """Whether the sides would give different answers for it, or for what it is made of."""
        doubtful = self._answers.get(question)
        if not doubtful or tensor.node is None:
            return False
        # What was found is remembered: questions about a chain would each walk through all of it.
        certain = self._certain.setdefault(question, set())
        after: dict[Node, Node | None] = {tensor.node: None}
        waiting = [tensor.node]
        while waiting:
            node = waiting.pop()
            if node in doubtful:
                found: Node | None = node
                while found is not None:
                    doubtful.add(found)
                    found = after[found]
                return True
            for each in inputs_of(node):
                if each not in after and each not in certain:
                    after[each] = node
                    waiting.append(each)
        certain.update(after)
        return False


def _is_in(tensor: AbstractTensor, tensors: Iterable[AbstractTensor]) -> bool:
    return any(each is tensor for each in tensors)


def _kind(value: Any) -> str:
    return "tensor" if isinstance(value, AbstractTensor) else type(value).__name__


# --- what joining leaves in doubt ----------------------------------------------------------------


def shared(doubts: Doubts, body: Body, values: Sequence[Any]) -> list[list[Any]]:
    """For each result of a body: the objects that it may be one with, itself if results of it."""
    roots = [each.storage_root if isinstance(each, AbstractTensor) else None for each in values]
    found: list[list[Any]] = []
    for root in roots:
        if root is None:
            found.append([])
        elif body.is_outside(root) or doubts.is_entangled(root):
            found.append([root])
        else:
            found.append([root] if sum(each is root for each in roots) > 1 else [])
    return found


def differences(
    doubts: Doubts, values: Iterable[AbstractTensor], result: TensorType
) -> list[Question]:
    """What tensors that one result stands for do not say alike, and as the result does."""
    found: list[Question] = []
    for value in values:
        t = value.tensor_type
        if t.requires_grad != result.requires_grad or doubts.is_in_doubt("requires_grad", value):
            found.append("requires_grad")
        if not _lie_alike(t, result) or doubts.is_in_doubt("layout", value):
            found.append("layout")
    return found


def _lie_alike(one: TensorType, other: TensorType) -> bool:
    if one.strides is None and other.strides is None:
        return one.offset is other.offset or one.offset == other.offset
    return one.stride() == other.stride() and one.offset == other.offset


__all__ = ["Doubts", "Question", "differences", "shared"]
