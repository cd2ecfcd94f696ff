"""Autograd views: which tensors are views of one base, and who wrote to them.

Law: an in-place write that autograd follows makes the base require gradients and, through it, all
of its views, whichever of them was written to; a view requires them in any mode where its base
does, also where that is told to later: then it is a leaf, until its memory is written to. `detach`
begins a family of its own over the same memory. So does `.data`, and autograd does not count what
is written to it: it never refuses a gradient because of that.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import is_grad_enabled  # as it is, not as user code is watched asking it

from monograph.abstract.aliasing import (
    ARGUMENT,
    BEGINS_HISTORY,
    FRESH,
    Aliasing,
    Result,
    source_of,
    view_chain,
)
from monograph.abstract.flags import ATTRIBUTES, has_attributes
from monograph.abstract.tensor import (
    AbstractTensor,
    lies_in,
    make_tensor,
    with_requires_grad,
)
from monograph.abstract.tensor_type import is_differentiable
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx.node import Node

    from monograph.abstract.aliasing import Results
    from monograph.abstract.tensor_type import TensorType

    Abstract = Callable[[torch.Tensor], AbstractTensor]
    Memory = tuple[AbstractTensor, int]
    """The owner of a memory, and how often that was written to by then."""


_CONTIGUOUS: Final = torch.ops.aten.contiguous.default
GAVE_ITSELF: Final = "whether `{}` gave back its argument"


def _has_history(made: AbstractTensor, t: TensorType) -> bool:
    """Whether autograd takes it for a view: no view of floats as ints is one."""
    return is_differentiable(made.tensor_type.dtype) or not is_differentiable(t.dtype)


class Lineage:
    """The families of one capture."""

    __slots__ = (
        *("_apart", "_bases", "_beside", "_by_base", "_by_layout", "_doubted", "_followed"),
        "_names",
        *("_views", "_writes", "joined", "n_writes", "taken_over"),
    )

    def __init__(self) -> None:
        self._names: dict[int, list[AbstractTensor]] = {}
        self._by_layout: list[AbstractTensor] = []
        """What operators gave that is their argument where that lies as its type says."""
        self._doubted: list[tuple[AbstractTensor, AbstractTensor]] = []
        """Arguments, and what operators gave for them that may be the same object."""
        self._apart: dict[int, tuple[AbstractTensor, list[Node]]] = {}
        self._bases: dict[int, AbstractTensor] = {}
        self._beside: dict[Node, list[AbstractTensor]] = {}
        self._by_base: dict[int, tuple[AbstractTensor, int]] = {}
        """Views that require gradients because their bases do, and after how many writes so."""
        self._views: dict[int, list[AbstractTensor]] = {}
        self._writes: dict[int, list[Node]] = {}
        self.n_writes = 0
        self.joined: list[AbstractTensor] = []
        """Tensors that lie in one memory by `set_`, although each is noted to have its own."""
        self.taken_over: list[tuple[Node, Memory, Memory, dict[Node, int]]] = []
        """Nodes that copy what a tensor has in common with another from then on."""
        self._followed: tuple[int, set[Node]] = (0, set())
        """Nodes behind which everything was told already, after so many writes."""

    def view(
        self, table: Aliasing, made: Any, args: Any, kwargs: dict[str, Any], abstract: Abstract
    ) -> None:
        """An operator that may give views of its arguments gave this: one tensor, or several."""
        for i, each in enumerate(made if isinstance(made, list | tuple) else (made,)):
            argument = table.source_of_result(i, args, kwargs)
            source = argument
            if not isinstance(argument, AbstractTensor):
                if not isinstance(argument, torch.Tensor):
                    continue
                source = abstract(argument)
            t = source.tensor_type
            found = table.results(t, each.tensor_type, args, kwargs, lies=True)
            if found == FRESH:
                found = table.results(t, each.tensor_type, args, kwargs, lies=False)
            if found != FRESH:
                each.view_of = source.storage_root
            if Result.FRESH not in found and _has_history(each, t):
                self.join(each, source)
                is_unseen = not is_grad_enabled() and Result.ARGUMENT not in found
                followed = self._bases[id(each)].tensor_type if is_unseen else t
                if is_unseen and followed.requires_grad:
                    self._follow_base(each)
                if each.tensor_type.requires_grad is not followed.requires_grad:
                    each.tensor_type = with_requires_grad(each.tensor_type, followed.requires_grad)
            if Result.ARGUMENT in found:
                always = table.results(t, each.tensor_type, args, kwargs, lies=False)
                self._name(each, source, found, always)

    def _name(
        self, made: AbstractTensor, source: AbstractTensor, found: Results, always: Results
    ) -> None:
        if found != ARGUMENT:
            self._doubted.append((source, made))
            return
        # What user code puts on one is on the other.
        ATTRIBUTES.__set__(made, ATTRIBUTES.__get__(source))
        if always != ARGUMENT:
            self._by_layout.append(made)
        names = self._names.setdefault(id(source), [source])
        names.append(made)
        self._names[id(made)] = names

    def names(self, tensor: AbstractTensor) -> list[AbstractTensor]:
        """The tensors that are one object in eager code: its own metadata is that of them all.

        Raises: outside-read (an operator may have given its argument, or something else).
        """
        names = self._names.get(id(tensor), [tensor])
        for each in names if len(names) > 1 else ():
            each.recorder.layout_asked(each, "strides")
        for source, made in self._doubted:
            if any(each is source or each is made for each in names):
                target = getattr(made.node, "target", None)
                if target is not _CONTIGUOUS or source.is_contiguous():
                    name = str(target).partition(".")[2].partition(".")[0]
                    raise problem("outside-read", what="is", because=GAVE_ITSELF.format(name))
        return names

    def check_attributes(self) -> None:
        """What user code put on tensors is on all that are one object. Raises: as `names`."""
        for each in itertools.chain(self._by_layout, *self._doubted):
            if has_attributes(each):
                self.names(each)

    def behind(self, node: Node | None) -> Iterator[Node]:
        """What a node is computed from, and itself; told once while nothing new is written."""
        if self._followed[0] != self.n_writes:
            self._followed = (self.n_writes, set())
        followed = self._followed[1]
        waiting = [] if node is None else [node]
        while waiting:
            found = waiting.pop()
            if found not in followed:
                followed.add(found)
                waiting += found.all_input_nodes
                # What was written to a tensor since is behind it, too.
                waiting += self.writes(found)
                yield found

    def join(self, view: AbstractTensor, source: AbstractTensor) -> None:
        """A new tensor is a view of another, and of what that one is a view of."""
        base = self._bases.get(id(source), source)
        self._bases[id(view)] = base
        self._views.setdefault(id(base), [base]).append(view)

    def keep_type(self, tensor: AbstractTensor) -> None:
        """The nodes so far still say what they make, whatever becomes of the tensor."""
        before = make_tensor(tensor.tensor_type, tensor.node, tensor.recorder)
        before.view_of = tensor.storage_root
        self.join(before, tensor)
        node = tensor.node
        while node is not None and node.meta.get("val") is tensor:
            node.meta["val"], node = before, source_of(node)

    def check_leaf(self, tensor: AbstractTensor, overload: Any, *, followed: bool) -> None:
        """A tensor is about to be written to. Raises: RuntimeError (a leaf that the call made)."""
        base = self._bases.get(id(tensor), tensor)
        is_leaf = followed and tensor.tensor_type.requires_grad and is_made_leaf(base.node)
        if is_leaf and base.tensor_type.requires_grad and overload is not BEGINS_HISTORY:
            what = "a leaf Variable" if base is tensor else "a view of a leaf Variable"
            raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")

    def written(self, tensor: AbstractTensor, node: Node, *, followed: bool) -> None:
        """A node writes to a tensor; `followed` tells whether autograd follows what is written."""
        root = tensor.storage_root
        if node.target is torch.ops.aten.set_.source_Tensor:
            source: Any = node.args[1]
            self.joined += [root, source.meta["val"].storage_root]
        if node.target is not BEGINS_HISTORY:
            for each in self._apart.get(id(root), (root, ()))[1]:
                each.target = torch.ops.aten.data.default
        base = self._bases.get(id(tensor), tensor)
        # The list keeps the base alive, so that its identity stays its own.
        family = self._views.setdefault(id(base), [base])
        self._writes.setdefault(id(base), []).append(node)
        self.n_writes += 1
        if followed:
            for each in (tensor, *family):
                if is_differentiable(each.tensor_type.dtype):
                    each.tensor_type = with_requires_grad(each.tensor_type, True)

    def told_to_require(self, tensor: AbstractTensor, flag: bool) -> None:  # noqa: FBT001
        """`requires_grad_`: the views of a base that it says this of go along.

        A view that is told not to does while its base does.
        """
        names = self.names(tensor)
        base = self._bases.get(id(tensor), tensor)
        if not flag and base.tensor_type.requires_grad and all(each is not base for each in names):
            for each in names:
                self._follow_base(each)
            return
        for each in names:
            self._by_base.pop(id(each), None)
            each.tensor_type = with_requires_grad(each.tensor_type, flag)
            each.node = tensor.node
        for each in self._views.get(id(base), ()) if any(base is name for name in names) else ():
            t = each.tensor_type
            if flag and not t.requires_grad and is_differentiable(t.dtype):
                self._follow_base(each)
                each.tensor_type = with_requires_grad(t, True)
            elif not flag and self._by_base.pop(id(each), None):
                each.tensor_type = with_requires_grad(t, False)

    def _follow_base(self, view: AbstractTensor) -> None:
        self._by_base[id(view)] = view, self._n_changes(view)

    def _n_changes(self, tensor: AbstractTensor) -> int:
        """How often what a tensor shows was written to."""
        writes = self._writes.get(id(self._bases.get(id(tensor), tensor)), ())
        return sum(each.target is not BEGINS_HISTORY for each in writes)

    def only_follows_base(self, tensor: AbstractTensor) -> bool:
        """Whether a view requires gradients because its base does, and so is a leaf."""
        found = self._by_base.get(id(tensor))
        return found is not None and found[1] == self._n_changes(tensor)

    def takes_over(self, written: AbstractTensor, root: AbstractTensor) -> None:
        """`tensor.data = value` was recorded as a write, which shares no memory with the value."""
        if written.node is not None:
            own = written.storage_root
            views = _uses_of_views(own) if own.node is not None else {}
            views.pop(written.node, None)
            memories = (own, own.n_writes), (root, root.n_writes)
            self.taken_over.append((written.node, *memories, views))

    def counts_apart(self, data: AbstractTensor) -> None:
        """What `.data` gave: like `detach`, unless something writes to the memory."""
        if data.node is not None:
            root = data.storage_root
            self._apart.setdefault(id(root), (root, []))[1].append(data.node)

    def parted(self, owner: AbstractTensor, root: AbstractTensor) -> None:
        """A tensor that was taken for a view of another has memory of its own."""
        if id(root) in self._apart:
            self._apart.setdefault(id(owner), (owner, self._apart[id(root)][1]))

    def is_counted_apart(self, tensor: AbstractTensor) -> bool:
        """Whether writes to a memory may count for one of its tensors and not for another."""
        return id(tensor.storage_root) in self._apart

    def shares_node(self, tensor: AbstractTensor) -> None:
        """Another tensor will stand for the node that this one stands for."""
        if tensor.node is not None:
            self._beside.setdefault(tensor.node, []).append(tensor)

    def is_alone(self, tensor: AbstractTensor) -> bool:
        """Whether nothing was made of a tensor, and no other stands for its node."""
        return tensor.node not in self._beside and not (tensor.node and tensor.node.users)

    def writes(self, node: Node) -> Iterator[Node]:
        """The nodes that wrote to what a node makes, as autograd sees it."""
        for tensor in (*self._beside.get(node, ()), node.meta.get("val")):
            if isinstance(tensor, AbstractTensor):
                base = self._bases.get(id(tensor), tensor)
                yield from self._writes.get(id(base), ())


def _uses_of_views(root: AbstractTensor) -> dict[Node, int]:
    """How often what lies in a memory beside its owner was used."""
    found: dict[Node, int] = {}
    waiting = [root.node]
    for node in waiting:
        for user in () if node is None else node.users:
            if lies_in(user.meta.get("val"), root):
                found[user] = len(user.users)
                waiting.append(user)
    return found


def is_made_leaf(node: Node | None) -> bool:
    """Whether the tensor that a node makes was told to begin a history."""
    chain = () if node is None else view_chain(node, ARGUMENT)
    return any(each.target is BEGINS_HISTORY for each in chain)


__all__ = ["GAVE_ITSELF", "Lineage", "is_made_leaf"]
