"""Regions: a function of the user's recorded in a child graph, a branch or one iteration of a loop.

A `Region` is a graph and facts of its own. While it is entered, operators and numbers are written
there; tensors and sizes of the graphs around it are used as they are. Closing it turns those into
inputs, so whatever the function closes over (parameters, buffers, sizes, tensors of the enclosing
function) is *lifted* without anybody naming it.

    region = record(recorder, "torch.cond", true_fn, operands, assumed=condition)
    with region:                                 # again: what is to be returned may be converted
        values = [region.own(value) for value in leaves]
    lifted = close([region, other], [values, others], first=operands)    # see `region_calls`
    node = call(recorder, operator, {"true_graph": region, ...}, lambda attributes: (..., lifted))

What is assumed or decided about sizes in a region is a condition of that region: facts learnt there
end with it, and its guards are assertions inside of it, because it may never run.

A write to a tensor from outside is caught before it happens. Where `copies` allows, the region is
recorded again with a copy of that tensor, whose last value is returned beside the results
(`region.written`); the caller copies it back outside. Views of it from outside are taken again of
the copy. Values made in a region are refused outside of it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import is_view_of, overwritten, view_chain, written_by
from monograph.abstract.differentiability import WITHOUT_HISTORY
from monograph.abstract.layout import is_dense
from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import (
    AbstractTensor,
    StaticTensor,
    SymbolicTensor,
    make_tensor,
    with_requires_grad,
)
from monograph.capture.control_flow.dead_scopes import DeadScope
from monograph.capture.control_flow.decided_copies import decide_copies
from monograph.capture.control_flow.dynamic_context import keeping_history
from monograph.capture.control_flow.result_copies import copied_with_gaps
from monograph.capture.restart import Restart, restarted
from monograph.capture.torch_overrides.guarded_queries import note_followed
from monograph.diagnostics import problem, snippet
from monograph.host.fx_nodes import append_node, inputs_of, mark_superfluous
from monograph.host.operator_types import OpOverload
from monograph.host.trees import pytree
from monograph.integers import NEVER, fresh, use

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.graph import Graph

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.control_flow.region_effects import RegionEffects
    from monograph.capture.recording.lifting import Subgraph
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import Frame
    from monograph.integers import Truth

_CLONE = torch.ops.aten.clone.default
_DETACH = torch.ops.aten.detach.default
_PYTHON = ("if", "while", "for")
_FLAT = frozenset({StaticTensor, SymbolicTensor, type(None)})
"""What results of operators are, but for lists."""


Copied = dict[int, "list[AbstractTensor]"]
"""Tensors that regions begin with copies of, by identity: all that hold them, the owner first."""


class CopyNeeded(NamedTuple):
    """A region is about to write to a tensor from outside: it begins anew with a copy of that."""

    region: Region
    tensor: AbstractTensor
    at: tuple[Frame, ...]


def _copy_needed(region: Region, tensor: AbstractTensor) -> Restart:
    return Restart("copy", CopyNeeded(region, tensor, region.recorder.origin()))


class Region:
    """A subgraph while it is recorded. Use as a context manager, as often as needed."""

    def __init__(self, recorder: Recorder, operator: str, *, assumed: Truth = True) -> None:
        """`operator` is how messages call what runs it; `assumed` holds whenever it runs."""
        self.recorder = recorder
        self.operator = operator
        self.page = recorder.writer.inner_page()
        self.graph: Graph = self.page.graph
        self.before = frozenset(recorder.facts.symbols)
        """The sizes that are known outside of it."""
        # What is told in here is noted nowhere: only a run can tell.
        recorder.premises[NEVER] = True
        self.facts = recorder.facts.branch()
        if assumed is not True:
            self.facts.assume(assumed)
        self.children: dict[str, Subgraph] = {}
        self.around = recorder.scopes.regions()
        self.result: Any = None
        self.effects: RegionEffects | None = None
        """What knows which objects were made in it, where code is interpreted."""
        self.at: tuple[Frame, ...] = ()
        """Where the function that was recorded is given to the operator."""
        self.written: list[tuple[AbstractTensor, AbstractTensor]] = []
        """Tensors from outside that it changes, and what holds their last values."""
        self.is_within_python = False
        """Whether it and all regions around it are ways and rounds of Python's own."""
        self.depth = 0
        """How many regions are around it."""
        self._copies: list[Node | None] = []
        self._stand_ins: list[tuple[AbstractTensor, Node | None]] = []
        """Those, and views of them from outside, and what stands for each in here at first."""
        self._originals: list[tuple[AbstractTensor, Node | None, TensorType, int]] = []
        self._outer: Any = None

    def __enter__(self) -> Self:
        """From now on everything is written here."""
        recorder, facts = self.recorder, self.facts
        facts.take_symbols(recorder.facts)
        in_force = use(facts)
        in_force.__enter__()
        waiting = recorder.turn_to(facts)
        page = recorder.writer.turn_to(self.page)
        self._outer = (in_force, waiting, page, recorder.region)
        around, recorder.region = recorder.region, self
        self.depth = 0 if around is None else around.depth + 1
        self.is_within_python = self.operator in _PYTHON and (
            around is None or around.is_within_python
        )
        if self._stand_ins:
            copies = {id(root): copy.node for root, copy in self.written}
            self._let_stand([(each, copies.get(id(each), node)) for each, node in self._stand_ins])
            for root, copy in self.written:
                _take_gradients(root, copy)
        return self

    def __exit__(self, *exception: object) -> None:
        """Write where it was written before; what is known of the region stays in it."""
        in_force, waiting, page, recorder = *self._outer[:3], self.recorder
        if self._originals:
            self._put_back()
        recorder.region = self._outer[3]
        recorder.writer.turn_to(page)
        recorder.turn_back(waiting)
        in_force.__exit__(None, None, None)
        recorder.facts.take_symbols(self.facts)

    def _put_back(self) -> None:
        """Let tensors from outside that were written to be what they are there."""
        copies = {id(tensor): copy for tensor, copy in self.written}
        while self._originals:
            tensor, node, tensor_type, n_writes = self._originals.pop()
            if id(tensor) in copies:
                copies[id(tensor)].node = tensor.node
                copies[id(tensor)].tensor_type = tensor.tensor_type
            tensor.node, tensor.tensor_type, tensor.n_writes = node, tensor_type, n_writes

    # --- values ------------------------------------------------------------------------------

    def stand_in(self, name: str, tensor_type: TensorType) -> AbstractTensor:
        """An input of the region's own: what differs from step to step. The region is entered."""
        node = self._placeholder(name)
        tensor = make_tensor(tensor_type, node, self.recorder)
        node.meta["val"] = tensor
        return tensor

    def number_stand_in(self, name: str) -> Any:
        """An integer input of the region's own. The region is entered."""
        node = self._placeholder(name)
        symbol = fresh(name, None, None)
        self.recorder.writer.bind(symbol, node)
        node.meta["val"] = to_sym(symbol)
        return node.meta["val"]

    def _placeholder(self, name: str) -> Node:
        unique = self.recorder.writer.new_name(name)
        return append_node(self.graph, unique, "placeholder", unique, (), {})

    def own(
        self,
        tensor: AbstractTensor,
        taken: Sequence[AbstractTensor] = (),
        *,
        stays: bool = False,
        keeps_gaps: bool = False,
    ) -> AbstractTensor:
        """The tensor, or a copy where it shares storage with an input or another result.

        The region is entered. Results of operators that call functions are always new tensors in
        the graph. Where eager code gives the tensor itself (`stays`), the copy is marked, and left
        out when the program runs: nobody writes to it or to its original (`may_alias`). A copy
        `keeps_gaps`, or lies densely where its original does not.
        """
        if self.is_owned(tensor, taken):
            return tensor
        if self.lacks(tensor):
            self._take_again(tensor)
        copy = self.recorder.call(_CLONE, (tensor,), {})
        t = tensor.tensor_type
        if stays and copy.tensor_type.stride() == t.stride():
            mark_superfluous(copy.node)
            return copy
        return copied_with_gaps(self, tensor) if keeps_gaps and t.strides is not None else copy

    def shared(self, values: Sequence[Any]) -> list[list[Any]]:
        """For each result: the objects that it may be one with, itself if others are it too."""
        roots = [
            self.recorder.abstract(each).storage_root if isinstance(each, torch.Tensor) else None
            for each in values
        ]
        counts = Counter(map(id, roots))
        return [
            [root]
            if root is not None
            and (
                counts[id(root)] > 1
                or self.is_outside(root)
                or self.recorder.aliases.is_aliased(root)
            )
            else []
            for root in roots
        ]

    def is_owned(self, tensor: AbstractTensor, taken: Sequence[AbstractTensor] = ()) -> bool:
        """Whether it shares storage with no input of the region's, nor with another result."""
        root = tensor.storage_root
        for each in taken:
            if each.storage_root is root:
                return False
        for each, _ in self.written:
            if each is root:
                return False
        return not self.is_outside(root)

    @property
    def outer(self) -> Region | None:
        """The region around this one, which is entered."""
        return self._outer[3]

    def is_outside(self, tensor: AbstractTensor) -> bool:
        """Whether a tensor was not made in this region: it is an input of it, or will be one."""
        node = tensor.node
        return node is None or node.graph is not self.graph or node.op == "placeholder"

    # --- writes ------------------------------------------------------------------------------

    def before_write(
        self, tensor: AbstractTensor, *, keeps_shape: bool = True, followed: bool = False
    ) -> None:
        """An operator is about to write to this tensor; autograd has `followed` it.

        Raises: Restart, branch-writes (a copy cannot take its place).
        """
        decide_copies(self.recorder, self.operator, tensor)
        root = tensor.storage_root
        if followed and tensor.tensor_type.requires_grad and _is_of_leaf(self.recorder, root):
            raise self._refused(root, "PyTorch lets nobody write to a leaf that requires gradients")
        if any(root is each for each in self.recorder.lineage.joined):
            raise self._refused(root, "it shares memory with another, by Tensor.set_")
        is_copied = not self.is_outside(root)
        if not keeps_shape and (not is_copied or self.stands_in(tensor)):
            raise self._refused(root, "its shape changes")
        if is_copied:
            if tensor is root or not self.is_outside(tensor):
                return
            if self.stands_in(tensor):
                raise self._refused(root, "it is a view of a tensor that was copied before")
            raise _copy_needed(self, tensor)
        if not is_dense(root.tensor_type):
            raise self._refused(root, "its elements do not lie one beside the other")
        raise _copy_needed(self, tensor)

    def before_detach(self, tensor: AbstractTensor) -> None:
        """`detach_` is about to end the history of this tensor. Raises: branch-writes."""
        if self.is_outside(tensor) or self.stands_in(tensor):
            raise self._refused(tensor, "its history of gradients ends")

    def copy_of(self, same: Sequence[AbstractTensor], now: AbstractTensor | None = None) -> None:
        """Let a copy stand in here for a tensor from outside, however it is held: root first.

        The copy is of `now`, where that holds what the tensor holds by now. The region is entered.
        """
        root = same[0]
        with keeping_history(root):
            copy = self.recorder.call(_CLONE, (root if now is None else now,), {})
            self.written.append((root, copy))
            self._copies.append(copy.node)
            copies: dict[Node | None, Node | None] = {root.node: copy.node}
            for tensor in same:
                self._stand_ins.append((tensor, self._viewed(tensor.node, copies)))
        self._let_stand(self._stand_ins[-len(same) :])
        _take_gradients(root, copy)

    def _viewed(self, node: Node | None, copies: dict[Node | None, Node | None]) -> Node | None:
        """A view from outside, taken again of the copy of what it is a view of."""
        if node not in copies:
            assert node is not None, "only tensors that are in the graph have views"
            source = node.args[0]
            assert isinstance(source, Node), "a view is of its first argument"
            if overwritten(node) is source:
                copies[node] = self._viewed(source, copies)
                return copies[node]
            arguments = (self._viewed(source, copies), *node.args[1:])
            made = self.recorder.append(node.target, node.name, arguments, dict(node.kwargs))
            made.meta["val"] = node.meta["val"]
            copies[node] = made
        return copies[node]

    def _take_again(self, tensor: AbstractTensor) -> None:
        """Let a view from outside be one of the copy of its owner, as that is by now.

        Raises: branch-writes (nobody can say how it was taken).
        """
        root = tensor.storage_root
        before = next(node for each, node, *_ in self._originals if each is root)
        if not is_view_of(tensor.node, before):
            raise self._refused(root, "a view of it is used besides")
        self._stand_ins.append((tensor, self._viewed(tensor.node, {before: root.node})))
        self._let_stand(self._stand_ins[-1:])

    def _let_stand(self, stand_ins: Sequence[tuple[AbstractTensor, Node | None]]) -> None:
        for tensor, node in stand_ins:
            self._originals.append((tensor, tensor.node, tensor.tensor_type, tensor.n_writes))
            tensor.node = node

    def _refused(self, tensor: AbstractTensor, reason: str) -> BaseException:
        return refused_write(self, tensor, reason)

    def check_views(self) -> None:
        """Find views from outside of what was copied: they would show what was there before.

        Raises: Restart (one that may be taken of the copy too), branch-writes.
        """
        copied = {id(tensor) for tensor, _ in self.written}
        if not copied:
            return
        chains = [view_chain(node) for _, node in self._stand_ins if node is not None]
        detached = {each for chain in chains for each in chain if each.target is _DETACH}
        for node in self.graph.nodes:
            if detached:
                self._check_history(node, detached)
            for source in node.all_input_nodes:
                if source.graph is self.graph or node in self._copies:
                    continue
                for value in self._standing_for(source):
                    if id(value.storage_root) in copied:
                        decide_copies(self.recorder, self.operator, value)
                    if id(value.storage_root) in copied:
                        self._check_view(source, value)

    def _check_history(self, node: Node, detached: set[Node]) -> None:
        """What is written beneath a `detach` from outside has no gradient: a copy would have none.

        Raises: branch-writes.
        """
        states = self.recorder.scopes.states.get(node, ())
        if [each.settings[0] for each in states if each.kind == "grad"][-1:] == [False]:
            return
        for target in written_by(node):
            if detached.isdisjoint(view_chain(target)):
                continue
            for other in node.all_input_nodes:
                value, at = other.meta.get("val"), node.meta["frames"]
                if other is target or not isinstance(value, AbstractTensor):
                    continue
                if not _never_needs_gradient(other):
                    note_followed(self.recorder, value, at)
                if value.tensor_type.requires_grad:
                    reason = "what `detach` gave of it gets gradients of its own"
                    raise refused_write(self, target.meta["val"].storage_root, reason, at=at)

    def _standing_for(self, source: Node) -> list[AbstractTensor]:
        """The tensors that a node from outside is: what it makes, or what it stands for there."""
        made = source.meta.get("val")
        found = [made] if isinstance(made, AbstractTensor) else []
        around = self.recorder.region
        while around is not None:
            found += around.represented(source)
            around = around.outer
        # First what nothing stands for in here yet.
        return sorted(found, key=self.stands_in)

    def _check_view(self, source: Node, value: AbstractTensor) -> None:
        """A value from outside is used, and a copy stands for its owner.

        Raises: Restart, branch-writes.
        """
        if is_view_of(source, value.storage_root.node) and not self.stands_in(value):
            raise _copy_needed(self, value)
        lacking = _lacking(self.recorder.region, value)
        if lacking is not None:
            raise _copy_needed(lacking, value)
        raise refused_write(self, value.storage_root, "a view of it is used besides")

    def represented(self, source: Node) -> list[AbstractTensor]:
        """The tensors from outside that a node in here stands for."""
        return [tensor for tensor, node in self._stand_ins if node is source]

    def lacks(self, tensor: AbstractTensor) -> bool:
        """Whether a copy stands for the owner of a tensor in here, and nothing for the tensor."""
        node, root = tensor.node, tensor.storage_root
        is_inside = node is None or node.graph is self.graph
        return not is_inside and self.stands_in(root) and not self.stands_in(tensor)

    def stands_in(self, tensor: AbstractTensor) -> bool:
        """Whether a tensor from outside is, in here, a copy of what it is there."""
        return any(each is tensor for each, _ in self._stand_ins)

    def leave(self) -> None:
        """Refuse the tensors that were made here from now on."""
        departed: Any = DeadScope(self.facts, self.operator)
        graph = self.graph
        for node in graph.nodes:
            made = node.meta.get("val")
            if isinstance(made, torch.Tensor):
                values = (made,)
            elif made.__class__ is tuple and _FLAT.issuperset(map(type, made)):
                values = made
            else:
                values = pytree.tree_leaves(made)
            for value in values:
                if isinstance(value, AbstractTensor):
                    maker = value.node
                    if maker is not None and maker.graph is graph:
                        value.recorder = departed

    def discard(self) -> None:
        """Depart, and use nothing from outside."""
        self.leave()
        for node in self.graph.nodes:
            for used in inputs_of(node):
                if used.graph is not self.graph:
                    used.users.pop(node, None)


def gives_itself(recorder: Recorder) -> bool:
    """Whether all regions around are Python's own `if` and `while`, whose results are no copies."""
    return recorder.region is None or recorder.region.is_within_python


def _is_of_leaf(recorder: Recorder, root: AbstractTensor) -> bool:
    """Whether it was given as a leaf that requires gradients, or as a view of one."""
    subject = recorder.answers_noted.owner(root)
    example = None if subject is None else subject.example
    if example is None or not example.requires_grad:
        return False
    return (example if example._base is None else example._base).is_leaf  # noqa: SLF001 - PyTorch's own


def _take_gradients(root: AbstractTensor, copy: AbstractTensor) -> None:
    flag = copy.tensor_type.requires_grad
    root.tensor_type = with_requires_grad(root.tensor_type, flag)


def _never_needs_gradient(node: Node) -> bool:
    """Whether no call has a gradient there: of `detach`, or a factory, which asks for types."""
    value, target = node.meta.get("val"), node.target
    is_asked = isinstance(value, AbstractTensor) and value.tensor_type.requires_grad
    if is_asked or not isinstance(target, OpOverload):
        return False
    takes = [each.meta.get("val") for each in node.all_input_nodes]
    asks_only = str(target.overloadpacket.__name__) in WITHOUT_HISTORY
    return (
        asks_only or target is _DETACH or not any(isinstance(each, torch.Tensor) for each in takes)
    )


def _lacking(region: Region | None, tensor: AbstractTensor) -> Region | None:
    """The nearest region, from here outwards, in which a copy stands for the owner alone."""
    while region is not None and not region.lacks(tensor):
        region = region.outer
    return region


def copied_as(found: CopyNeeded, copies: Copied) -> None:
    """Note what is to be copied, and what else holds it, before a region begins anew.

    Raises: branch-writes (a view of which nobody can say how it was taken), Restart (a view
    that stands for itself in the region around, where a copy of its owner stands for that).
    """
    tensor, node = found.tensor, found.tensor.node
    root = tensor.storage_root
    is_made_here = node is not None and node.graph is found.region.graph
    lacking = None if is_made_here else _lacking(found.region.recorder.region, tensor)
    if lacking is not None:
        raise _copy_needed(lacking, tensor)
    is_known = id(root) in copies
    same = copies.setdefault(id(root), [root])
    is_new = all(each is not tensor for each in same)
    is_outside = node is not None and node.graph is not found.region.graph
    if is_new and is_outside and is_view_of(node, root.node):
        same.append(tensor)
    elif is_known:
        reason = "it is a view of a tensor that was copied before"
        raise refused_write(found.region, root, reason, at=found.at)


def refused_write(
    region: Region, tensor: AbstractTensor, reason: str = "", at: tuple[Frame, ...] | None = None
) -> BaseException:
    """The refusal of a write to a tensor from outside, at the line that writes."""
    node, recorder = tensor.node, region.recorder
    name = node.name if node is not None and node in recorder.input_nodes else ""
    if node is not None and node in recorder.writer.constant_of:
        name = recorder.writer.attribute_of(node)
    return problem("branch-writes", at=at, operator=region.operator, name=name, reason=reason)


def record(
    recorder: Recorder,
    operator: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    *,
    assumed: Truth = True,
    copies: Copied | None = None,
) -> Region:
    """Run a function once on values from outside, as a region of its own.

    Its result is `region.result`, as the function returned it. Where `copies` is given it may
    write to tensors from outside: see `region.written`. It begins with copies of those that
    `copies` names, and adds what it writes to.

    Raises: branch-writes, branch-side-effect, and what the function refuses.
    """
    return record_with(
        recorder, operator, function, lambda _: arguments, assumed=assumed, copies=copies
    )


def record_with(
    recorder: Recorder,
    operator: str,
    function: Callable[..., Any],
    arguments: Callable[[Region], Sequence[Any]],
    *,
    assumed: Truth = True,
    copies: Copied | None = None,
    may_write: bool = False,
) -> Region:
    """Run a function once, as `record` does, on arguments that are made for the region.

    Raises: with `may_write`, Restart, for the caller to begin anew with `Region.copy_of`.
    """
    region: Region | None = None

    def run_once() -> Region:
        nonlocal region
        region = Region(recorder, operator, assumed=assumed)
        try:
            with region, recorder.scopes.side_effects(operator) as region.effects:
                for same in (copies or {}).values():
                    region.copy_of(same)
                run = _at_once if operator in _PYTHON else recorder.scopes.run
                region.result = run(function, *arguments(region))
                recorder.write_assertions()
            region.check_views()
        except BaseException:
            region.discard()
            raise
        return region

    def prepare(restart: Restart) -> bool:
        found = restart.cause
        if restart.reason != "copy" or found.region is not region or may_write:
            return False
        if copies is None:
            raise refused_write(found.region, found.tensor.storage_root, at=found.at) from None
        copied_as(found, copies)
        return True

    return restarted(run_once, prepare)


def _at_once(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of ours that runs frames: they are interpreted, it need not be watched."""
    return function(*args)


def made_at(value: Any, region: Region) -> tuple[Frame, ...]:
    """The user's lines that made a result of a region, innermost first."""
    if isinstance(value, AbstractTensor) and value.node is not None:
        frames = value.node.meta.get("frames")
        if frames:
            return region.recorder.scopes.filter.innermost_user(frames)
    return region.at


def label_of(recorder: Recorder) -> str:
    """What messages call a number that an operator's result has: the source of the call."""
    return snippet(recorder.origin()[:1])
