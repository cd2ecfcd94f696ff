"""Graph outputs: results, reassigned buffers and assertions; dead code goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import ARGUMENT, overwritten, source_of, storage_source, view_chain
from monograph.abstract.layout import is_contiguous, is_dense
from monograph.abstract.number_methods import plain
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.example_inputs import flattened
from monograph.capture.queries.inference_tensors import is_inference
from monograph.capture.recording.operators import is_unused
from monograph.diagnostics import problem
from monograph.host.fx_nodes import append_node, remove_node
from monograph.host.trees import TreeSpec
from monograph.integers import Expr, Real, Relation

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch.fx.graph import Graph
    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.side_effects.module_state import ModuleState, StateTensor

_OUTPUT_CONSTANTS: Final = frozenset(
    {int, float, bool, str, type(None), complex, torch.dtype, torch.device}
)
"""Classes whose instances code says; no subclass (`np.float64`, enums) is among them."""


@dataclass(frozen=True, slots=True)
class OutputLeaf:
    """One leaf of the result: its node, or the constant it is."""

    value: Any
    node: Node | None


@dataclass(frozen=True, slots=True)
class Outputs:
    """The result of user code, flattened; leaves beyond its structure go to callers' objects."""

    leaves: tuple[OutputLeaf, ...]
    spec: Any


def close_outputs(
    recorder: Recorder, state: ModuleState, result: Any, beside: list[Any]
) -> Outputs:
    """Write the nodes that end the graph, up to and including `output`.

    `beside` are values that leave the graph after the leaves of the result.

    Raises: unsupported-output.
    """
    flat, spec = flattened(result, {"output": result})
    spec = with_plain_keys(spec)
    values = [_output_value(recorder, value, i) for i, value in enumerate([*flat, *beside])]
    if recorder.known_aliases is not None:
        recorder.known_aliases.check_returned(values, partial(_is_input, recorder))
    values = _write_reassigned(recorder, state, values)
    recorder.write_last_assertions()
    leaves = tuple([_leaf(recorder, value) for value in values])
    returned = tuple(leaf.value if leaf.node is None else leaf.node for leaf in leaves)
    graph = recorder.writer.graph
    node = append_node(graph, "output", "output", "output", (returned,), {})
    node.meta["val"] = tuple(values)
    return Outputs(leaves, spec)


def with_plain_keys(spec: TreeSpec) -> TreeSpec:
    """The structure, with the plain numbers that guards fix the symbolic ones in it to.

    Raises: specialized-value, data-dependent-size.
    """
    if spec.is_leaf():
        return spec
    children = [with_plain_keys(child) for child in spec.children()]
    return TreeSpec(spec.type, plain_key(spec.context), children)


def plain_key(key: Any) -> Any:
    """A key, or several, with plain numbers in the place of symbolic ones."""
    if type(key) is list or type(key) is tuple:
        return type(key)([plain_key(each) for each in key])
    return plain(key)


def _is_input(recorder: Recorder, tensor: AbstractTensor) -> bool:
    """Whether a tensor is the caller's, or the model's."""
    node = tensor.node
    while node is not None and node.op != "placeholder":
        node = overwritten(node)
    return node is not None and node.graph is recorder.writer.graph


def _output_value(recorder: Recorder, value: Any, index: int) -> Any:
    if isinstance(value, torch.Tensor):
        return recorder.abstract(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return value
    if type(value) in _OUTPUT_CONSTANTS:
        return value
    if type(value) is SymbolicText:
        return value.text()
    path = f"output[{index}]"
    refused_as = getattr(type(value), "refused_as", None)
    refusal = (
        problem("unsupported-output", path=path, type=value.__class__)
        if refused_as is None
        else problem(refused_as, use="what `forward` returns")
    )
    recorder.refuse(refusal, f"`{path}` is None")
    return None


def _leaf(recorder: Recorder, value: Any) -> OutputLeaf:
    """A result and its node; a number that guards leave one value of is that value."""
    if isinstance(value, AbstractTensor):
        return OutputLeaf(value, value.node)
    number = to_python(value)
    if not isinstance(number, Expr | Real | Relation):
        return OutputLeaf(value, None)
    node = recorder.writer.operand(number)
    return OutputLeaf(value, node) if isinstance(node, torch.fx.Node) else OutputLeaf(node, None)


def _write_reassigned(recorder: Recorder, state: ModuleState, values: list[Any]) -> list[Any]:
    """A buffer that user code replaced is written to at the end, so the next call sees it.

    Whatever else is read from the old storage (an output that views it, another buffer that takes
    its place) is copied before: eager leaves that storage untouched.
    """
    scratch = recorder.options.scratch
    reassigned = [
        pair for pair in state.reassigned() if _fits(*pair) and pair[0].target not in scratch
    ]
    if reassigned:
        values, reassigned = _without_aliases(recorder, reassigned, values)
    for buffer, current in reassigned:
        _keep_layout(recorder, buffer, current)
        _check_memory_taken(recorder, buffer)
        _check_kind(recorder, buffer, current)
    old = _OldMemory(recorder, reassigned, values)
    values = [old.kept(value) for value in values]
    sources = [(buffer, old.copied(current)) for buffer, current in reassigned]
    recorder.replaced_buffers = tuple(buffer.target for buffer, _ in reassigned)
    for buffer, current in sources:
        recorder.call(torch.ops.aten.copy_.default, (buffer.abstract, current), {})
    return values


def _keep_layout(recorder: Recorder, buffer: StateTensor, current: AbstractTensor) -> None:
    """What user code is told of a buffer's layout is so in the next call, too.

    Raises: buffer-reshaped (it lies otherwise then).
    """
    if buffer.node not in recorder.state_asked:
        return
    before, now = tuple(buffer.real.stride()), current.tensor_type.stride()
    if before != now:
        frames = () if current.node is None else current.node.meta.get("frames", ())
        at = recorder.scopes.filter.innermost_user(frames)
        was, becomes, name = f"strides {before}", f"strides {now}", f"self.{buffer.target}"
        raise problem("buffer-reshaped", at=at, name=name, before=was, now=becomes)
    recorder.layout_asked(current, "strides")


def _check_kind(recorder: Recorder, buffer: StateTensor, current: AbstractTensor) -> None:
    """A buffer stays a normal tensor. Raises: gradient-in-forward (it becomes an inference one)."""
    if is_inference(current):
        frames = () if current.node is None else current.node.meta.get("frames", ())
        at, what = recorder.scopes.filter.innermost_user(frames), "torch.inference_mode()"
        because = f"makes an inference tensor of `self.{buffer.target}`"
        raise problem("gradient-in-forward", at=at, what=what, because=because)


def _check_memory_taken(recorder: Recorder, buffer: StateTensor) -> None:
    """No other tensor took over the memory of a buffer that is written to at the end.

    Raises: data-replaced.
    """
    for node in recorder.operations:
        if node.target is torch.ops.aten.set_.source_Tensor:
            source: Any = node.args[1]
            if isinstance(source, torch.fx.Node) and storage_source(source) is buffer.node:
                at = recorder.scopes.filter.innermost_user(node.meta.get("frames", ()))
                reason = f"that of `self.{buffer.target}`, which forward replaces"
                raise problem("data-replaced", at=at, reason=reason)


def _without_aliases(
    recorder: Recorder, reassigned: list[tuple[StateTensor, AbstractTensor]], values: list[Any]
) -> tuple[list[Any], list[tuple[StateTensor, AbstractTensor]]]:
    """The same, with copies of what may lie in buffers that are written to, by a condition.

    Raises: branch-returns (it may be an input just as well, or in one memory with a result).
    """
    aliases = recorder.aliases

    def is_in_one(value: AbstractTensor, ones: list[AbstractTensor]) -> bool:
        return not {*map(id, ones)}.isdisjoint(map(id, aliases.possible_storages(value)))

    buffers = [buffer.abstract for buffer, _ in reassigned if aliases.is_aliased(buffer.abstract)]
    if not buffers:
        return values, reassigned

    def copied(value: Any) -> Any:
        if not isinstance(value, AbstractTensor) or not aliases.is_aliased(value):
            return value
        if any(value is buffer.abstract for buffer, _ in reassigned):
            return value
        ones = aliases.possible_storages(value)
        others = [each for each in ones if not any(each is buffer for buffer in buffers)]
        if len(others) == len(ones):
            return value
        is_shared = any(
            isinstance(each, AbstractTensor) and each is not value and is_in_one(each, ones)
            for each in values
        )
        if is_shared or any(_is_input(recorder, each) for each in others):
            frames = () if value.node is None else value.node.meta.get("frames", ())
            at = recorder.scopes.filter.innermost_user(frames)
            raise problem("branch-returns", at=at)
        return recorder.call(torch.ops.aten.clone.default, (value,), {})

    found = [copied(value) for value in values], [(b, copied(value)) for b, value in reassigned]
    for buffer in buffers:
        aliases.release(buffer)
    return found


class _OldMemory:
    """What buffers held before they are written to, for those who still see it.

    Law: results that view one old buffer lie in one copy of it, as they do there.
    """

    def __init__(
        self,
        recorder: Recorder,
        reassigned: list[tuple[StateTensor, AbstractTensor]],
        values: list[Any],
    ) -> None:
        self.recorder = recorder
        self.overwritten = {id(buffer.abstract) for buffer, _ in reassigned}
        seeing = {_maker(value): value for value in values if self.is_old(value)}
        self.seen_by = Counter(id(each.storage_root) for each in seeing.values())
        self.wholes: dict[int, AbstractTensor] = {}
        self.done: dict[Node | None, AbstractTensor] = {}

    def is_old(self, value: Any) -> bool:
        """Whether a value lies in a buffer that is written to."""
        return (
            isinstance(value, AbstractTensor)
            and id(value.storage_root) in self.overwritten
            and not _is_copied(value.node)
        )

    def copied(self, value: AbstractTensor) -> AbstractTensor:
        """A copy of an old value; anything else as it is."""
        if not self.is_old(value):
            return value
        return self.recorder.call(torch.ops.aten.clone.default, (value,), {})

    def kept(self, value: Any) -> Any:
        """A result, where it lies in old memory: in a copy of that."""
        if not self.is_old(value):
            return value
        node = _maker(value)
        if node not in self.done:
            self.done[node] = self._in_copy(value)
        return self.done[node]

    def _in_copy(self, value: AbstractTensor) -> AbstractTensor:
        root, t = value.storage_root, value.tensor_type
        is_alone = self.seen_by[id(root)] == 1 and is_dense(t)
        if value is root or is_alone or not is_dense(root.tensor_type):
            return self._whole(value) if value is root else self.copied(value)
        whole, number = self._whole(root), value.number
        if t.dtype is not root.tensor_type.dtype:
            if root.tensor_type.offset != 0 or not is_contiguous(root.tensor_type):
                return self.copied(value)
            whole = self.recorder.call(torch.ops.aten.view.dtype, (whole, t.dtype), {})
        sizes, strides = ([number(n) for n in each] for each in (t.shape, t.stride()))
        start = number(t.offset - root.tensor_type.offset)
        args = (whole, sizes, strides, start)
        return self.recorder.call(torch.ops.aten.as_strided.default, args, {})

    def _whole(self, root: AbstractTensor) -> AbstractTensor:
        if id(root) not in self.wholes:
            self.wholes[id(root)] = self.copied(root)
        return self.wholes[id(root)]


def _is_copied(node: Node | None) -> bool:
    """Whether an operator on the way from the memory to this value made a copy."""
    if node is None:
        return False
    last = view_chain(node, lies=True)[-1]
    return last.op == "call_function" and source_of(last) is not None


def _maker(value: AbstractTensor) -> Node | None:
    """The node that made the object: what gives back its argument made none."""
    return None if value.node is None else view_chain(value.node, ARGUMENT, lies=True)[-1]


def _fits(buffer: StateTensor, current: AbstractTensor) -> bool:
    """Whether a buffer can be written; one that cannot was refused, and the capture goes on."""
    before, now = buffer.abstract.tensor_type, current.tensor_type
    return before.dtype == now.dtype and before.shape == now.shape


def drop_unused(recorder: Recorder, kept: Collection[Node]) -> None:
    """Remove nodes without users that have no effect, and the mark where user code began.

    Those in `kept` stay, used or not.
    """
    writer = recorder.writer
    if writer.body_begin is not None:
        remove_node(writer.body_begin)
    drop_unused_nodes(writer.graph, kept)
    for node in [node for node in writer.constant_of if not node.users and node not in kept]:
        writer.forget_constant(node)
        remove_node(node)


def drop_unused_nodes(graph: Graph, kept: Collection[Node] = ()) -> None:
    """Remove calls whose result nobody uses and that have no effect, except those in `kept`."""
    for node in reversed(graph.nodes):
        if not node.users and node not in kept and is_unused(node):
            remove_node(node)
