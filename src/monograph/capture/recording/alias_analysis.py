"""Alias analysis across branches and loops: which tensors and objects may be one with others.

Results of branches and loops are objects of their own, as results of operators are; eager code goes
on with the very objects of the side that was taken. Where that makes a difference, the answer of
one side is no answer of the program: whoever asks, or writes to one of several that may be one, is
refused. Four relations are kept:

- *storages*: tensors that may lie in one memory with others; nobody writes to them.
- *objects*: tensors (of those storages) and containers that may be one with others; nobody asks
  whether they are, and nobody changes them.
- *copies*: tensors that are copies of others (of those storages) although eager code has one memory
  for both, as a side writes to it, or it lies as no result of a branch does; the program does not
  return both, nor one that lies otherwise than on some side.
- *answers*: what a tensor says of itself (its layout, where in its memory it begins, whether it
  requires gradients, how often it was written to, whether it is a lazy conjugate), where the sides,
  or iterations, would say different things; nobody asks, nor of what is computed from it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.abstract.aliasing import LAZY_BITS, LazyBit, bit_sources, flips_bit
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.reference_counts import OF_SUBSCRIPT
from monograph.diagnostics import problem
from monograph.host.fx_nodes import inputs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType

Question = Literal["layout", "offset", "requires_grad", "version"] | LazyBit

_WORDS: Final[dict[Question, str]] = {
    "layout": "how a tensor lies in memory",
    "offset": "where in its memory a tensor begins",
    "requires_grad": "whether a tensor requires gradients",
    "version": "how often a tensor was written to",
    "is_conj": "whether a tensor is conjugated lazily",
    "is_neg": "whether a tensor is negated lazily",
}


class AliasAnalysis:
    """What may be one with something else, so far."""

    __slots__ = (
        *("_aliases", "_answers", "_certain", "_copies", "_laid", "_objects", "_origins"),
        *("_storages", "doubted", "is_merging", "origin", "peeled"),
    )

    def __init__(self, doubted: list[Any]) -> None:
        self.doubted = doubted
        """The conditions for whose sides' sake something was refused: see `RunOptions.apart`."""
        self.origin: Any = None
        """The condition whose sides are merged now."""
        self.is_merging = False
        """Whether what is written is the last values of what sides wrote: those were checked."""
        self.peeled: frozenset[Any] = frozenset()
        """The tests of loops whose first iteration is recorded by itself, on this side."""
        self._origins: dict[Any, list[Any]] = {}
        # By identity; the objects are kept, so that none of these is given to a new one.
        self._storages: dict[int, AbstractTensor] = {}
        self._aliases: dict[int, list[AbstractTensor]] = {}
        self._copies: list[tuple[AbstractTensor, AbstractTensor, BaseException, Any]] = []
        self._laid: dict[int, tuple[AbstractTensor, BaseException]] = {}
        self._objects: dict[int, Any] = {}
        self._answers: dict[Question, set[Node]] = {}
        # Nodes that were asked about and have one answer; until one is that others may use.
        self._certain: dict[Question, set[Node]] = {}

    # --- noted -----------------------------------------------------------------------------

    def may_alias(self, objects: Iterable[Any]) -> None:
        """Each of these may be one with another that is here: of tensors, the first with others."""
        roots: list[AbstractTensor] = []
        for each in objects:
            if isinstance(each, AbstractTensor):
                roots.append(each.storage_root)
                self._storages[id(roots[-1])] = roots[-1]
            else:
                self._objects[id(each)] = each
            self._note_origin(id(roots[-1] if isinstance(each, AbstractTensor) else each))
        if roots:  # one alone may be what nobody says: it is beside itself
            self._aliases.setdefault(id(roots[0]), []).extend(roots[1:] or roots)

    def copied(
        self, copy: AbstractTensor, root: AbstractTensor, after: str = "if", by: Any = None
    ) -> None:
        """These may alias, and the first is a copy where eager code has one memory.

        `after` is the word that the statement begins with which made the copy; what is made `by`
        one call of one tensor that it writes to shares that call's copy of it.
        """
        refusal = problem("branch-returns", after=after)
        self._copies.append((copy.storage_root, root, refusal, by))

    def differ(self, question: Question, node: Node | None) -> None:
        """What this node makes gives no answer that holds on every side."""
        if node is not None:
            self._answers.setdefault(question, set()).add(node)
            self._note_origin(node)
            if node.users or node in self._certain.get(question, ()):
                self._certain.pop(question, None)

    def note_differences(
        self, values: Iterable[AbstractTensor], result: AbstractTensor, after: str = "if"
    ) -> None:
        """Note what tensors that one result stands for do not say alike, and as the result does.

        `after` is as `copied` takes it.
        """
        t = result.tensor_type
        for value in values:
            one = value.tensor_type
            if one.requires_grad != t.requires_grad or self.is_ambiguous("requires_grad", value):
                self.differ("requires_grad", result.node)
            if (
                one.offset != t.offset
                or not _have_same_strides(one, t)
                or self.is_ambiguous("layout", value)
            ):
                self.differ("layout", result.node)
            for bit in LAZY_BITS:  # results have none
                if _may_have(bit, value):
                    self.differ(bit, result.node)
            self.note_strides(value, result, after)

    def note_strides(self, value: AbstractTensor, result: AbstractTensor, after: str) -> None:
        """Note a result that lies otherwise than what it stands for: no program returns it."""
        is_same = _have_same_strides(value.tensor_type, result.tensor_type)
        if not is_same or id(value.storage_root) in self._laid:
            refusal = problem("branch-returns", after=after, lies=True)
            self._laid[id(result.storage_root)] = (result.storage_root, refusal)

    def _note_origin(self, key: Any) -> None:
        if self.origin is not None:
            self._origins.setdefault(key, []).append(self.origin)

    @contextmanager
    def merging(self, origin: Any, *, are_apart: bool = False) -> Generator[None]:
        """What is noted meanwhile is for the sake of this condition."""
        self.origin, self.is_merging = origin, are_apart
        try:
            yield
        finally:
            self.origin, self.is_merging = None, False

    @contextmanager
    def of_one_side(self, sides: list[Any]) -> Generator[None]:
        """What is noted meanwhile says nothing of the other side; it is added to `sides`."""
        before = (self._storages, self._aliases, self._objects, self._answers, self._certain)
        peeled = self.peeled
        self._storages, self._objects = dict(self._storages), dict(self._objects)
        self._aliases = {key: [*each] for key, each in self._aliases.items()}
        self._answers = {key: {*each} for key, each in self._answers.items()}
        self._certain = {}
        try:
            yield
            sides.append((self._storages, self._aliases, self._objects, self._answers))
        finally:
            self._storages, self._aliases, self._objects, self._answers, self._certain = before
            self.peeled = peeled

    def note_sides(self, sides: Iterable[Any]) -> None:
        """Where sides are merged, what was noted on either counts."""
        for storages, aliases, objects, answers in sides:
            self._storages |= storages
            self._objects |= objects
            for key, each in aliases.items():
                known = self._aliases.setdefault(key, [])
                ids = {*map(id, known)}  # each side begins with all that was known before
                known += [one for one in each if id(one) not in ids]
            for question, nodes in answers.items():
                self._answers.setdefault(question, set()).update(nodes)
                self._certain.pop(question, None)

    # --- asked -------------------------------------------------------------------------------

    def _doubt(self, value: Any) -> None:
        """Something is about to be refused for what is in doubt about this."""
        key = id(value.storage_root if isinstance(value, AbstractTensor) else value)
        self.doubted += self._origins.get(key, ())

    def is_aliased(self, value: Any) -> bool:
        """Whether an object may be one with another."""
        if issubclass(type(value), AbstractTensor):
            return id(value.storage_root) in self._storages
        return id(value) in self._objects

    def possible_storages(
        self, tensor: AbstractTensor, without: AbstractTensor | None = None
    ) -> list[AbstractTensor]:
        """The storages that a tensor may lie in, its own first; not by way of one of them."""
        found = [tensor.storage_root]
        for one in found:
            for each in self._aliases.get(id(one), ()):
                if each is not without and not any(each is other for other in found):
                    found.append(each)
        return found

    def possible_objects(self, value: Any) -> list[Any]:
        """What a value may be: itself, or what one side gave or left as it was."""
        if not isinstance(value, AbstractTensor) or value.storage_root is not value:
            return [value]
        return self.possible_storages(value)

    def check_same(self, left: Any, right: Any) -> None:
        """Code asks whether two values are one object.

        Raises: branch-decides.
        """
        if left is right or not self.is_aliased(left) or not self.is_aliased(right):
            return
        is_tensor = isinstance(left, AbstractTensor) and isinstance(right, AbstractTensor)
        ones = self._connected(left.storage_root) if is_tensor else None
        if ones is None or _is_in(right.storage_root, ones):
            self._doubt(left)
            self._doubt(right)
            raise problem("branch-decides", what="whether two variables are one object")

    def check_hash(self, tensor: AbstractTensor) -> None:
        """Code looks for a tensor in a set or a dict. Raises: branch-decides."""
        if id(tensor.storage_root) in self._storages:
            self._doubt(tensor)
            raise problem("branch-decides", what="whether two variables are one object")

    def check_write(self, value: Any, name: str = "") -> None:
        """Code changes an object. Raises: write-after-branch."""
        if self.is_aliased(value) and not self.is_merging and self._is_seen_besides(value):
            self._doubt(value)
            raise problem("write-after-branch", kind=_kind(value), name=name)

    def _is_seen_besides(self, value: Any) -> bool:
        """Whether code may hold something else that lies in the memory of this."""
        ones = self._connected(value.storage_root) if isinstance(value, AbstractTensor) else None
        return ones is None or any(self._is_held(ones, n) for n in range(1, len(ones)))

    def _connected(self, root: AbstractTensor) -> list[AbstractTensor] | None:
        """What may be one with this, over however many others; None where nobody knows."""
        ones = [root]
        for one in ones:
            found = [*self._aliases.get(id(one), ())]
            for key, others in self._aliases.items():
                if key in self._storages and _is_in(one, others):
                    found.append(self._storages[key])
            if _is_in(one, found):
                return None
            ones += [each for each in found if not _is_in(each, ones)]
        return ones

    def _is_held(self, ones: list[AbstractTensor], n: int) -> bool:
        """Whether more refers to a tensor than its node, the analysis and this list of them."""
        node = ones[n].node
        if node is None or (node.op != "call_function" and ones[n].recorder.aliases is self):
            return True
        held = [self._storages.values(), *self._aliases.values(), [node.meta.get("val")], ones]
        held += [each[:2] for each in self._copies]
        n_known = sum(each is ones[n] for some in held for each in some)
        del held
        return sys.getrefcount(ones[n]) > n_known + OF_SUBSCRIPT

    def check_returned(
        self, values: Iterable[Any], is_seen: Callable[[AbstractTensor], bool]
    ) -> None:
        """These leave the program; `is_seen` tells what callers see besides.

        Raises: branch-returns.
        """
        tensors = [value for value in values if isinstance(value, AbstractTensor)]
        for each in tensors if self._laid else ():
            for one in self.possible_storages(each):
                if id(one) in self._laid:
                    raise self._laid[id(one)][1]
        if not self._copies:
            return
        returned = list({id(each.storage_root): each.storage_root for each in tensors}.values())
        for copy, root, refusal, by in self._copies:
            copied = self.possible_storages(root)
            alike = [c for c, r, _, b in self._copies if by is not None and b is by and r is root]
            ones = [each for each in returned if _is_in(copy, self.possible_storages(each))]
            if not ones:
                continue
            others = [each for each in copied if is_seen(each)]
            others += [
                each
                for each in returned
                if each is not copy
                and not _is_in(each, alike)
                and any(_is_in(one, copied) for one in self.possible_storages(each, without=copy))
            ]
            if any(one is not other for one in ones for other in others):
                raise refusal

    def check_answer(self, question: Question, tensor: AbstractTensor) -> None:
        """Code asks a tensor something about itself. Raises: branch-decides."""
        if self.is_ambiguous(question, tensor):
            raise problem("branch-decides", what=_WORDS[question])

    def check_bit(self, bit: LazyBit, node: Node) -> None:
        """Code asks what views have from this node. Raises: branch-decides."""
        if node in self._answers.get(bit, ()):
            self.doubted += self._origins.get(node, ())
            raise problem("branch-decides", what=_WORDS[bit])

    def is_ambiguous(self, question: Question, tensor: AbstractTensor) -> bool:
        """Whether the sides would give different answers for it, or for what it is made of."""
        ambiguous = self._answers.get(question)
        if not ambiguous or tensor.node is None:
            return False
        # What was found is remembered: questions about a chain would each walk through all of it.
        certain = self._certain.setdefault(question, set())
        after: dict[Node, Node | None] = {tensor.node: None}
        waiting = [tensor.node]
        while waiting:
            node = waiting.pop()
            if node in ambiguous:
                self.doubted += self._origins.get(node, ())
                found: Node | None = node
                while found is not None:
                    ambiguous.add(found)
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


def _may_have(of_tensor: LazyBit, tensor: AbstractTensor) -> bool:
    """Whether a tensor is conjugated or negated lazily; what is complex and given may be."""
    flips = False
    for node, bit in bit_sources(tensor.node, of_tensor):
        flips ^= flips_bit(node, bit)
        if node.op == "placeholder" and bit == "is_conj" and node.meta["val"].is_complex():
            return True
    return flips


def _kind(value: Any) -> str:
    return "tensor" if isinstance(value, AbstractTensor) else type(value).__name__


def _have_same_strides(one: TensorType, other: TensorType) -> bool:
    return (one.strides is None and other.strides is None) or one.stride() == other.stride()


__all__ = ["AliasAnalysis", "Question"]
