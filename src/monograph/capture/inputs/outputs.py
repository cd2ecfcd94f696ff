"""Graph outputs: results, reassigned buffers and assertions; dead code goes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import (
    aliasing_of,
    overwritten,
    storage_source,
)
from monograph.abstract.flags import ATTRIBUTES
from monograph.abstract.layout import is_dense, stride_order
from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.number_methods import plain
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import as_stated, to_python
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import type_of
from monograph.capture.inputs.example_inputs import flattened
from monograph.capture.queries.inference_tensors import is_inference
from monograph.capture.recording.operators import OPERATORS, is_unused
from monograph.diagnostics import problem
from monograph.host.dispatch import share_memory
from monograph.host.fx_nodes import append_node, last_node, remove_node, replace_input
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.host.trees import TreeSpec
from monograph.integers import Expr, Real, Relation
from monograph.rules.views.strides import is_viewable_anyhow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

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
    _check_kinds(recorder, state, values)
    if recorder.known_aliases is not None:
        recorder.known_aliases.check_returned(values, partial(_is_input, recorder))
    if recorder.families is not None:
        _check_taken_over(recorder, recorder.families.taken_over, values)
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

    Raises: specialized-value, data-dependent-size; unsupported-output (a function of this call).
    """
    if spec.is_leaf():
        return spec
    factory: Any = spec.context[0] if spec.type is defaultdict else None
    if factory is not None and not _is_of_every_call(factory):
        path, kind = "output.default_factory", type(factory)
        raise problem("unsupported-output", path=path, type=kind)
    children = [with_plain_keys(child) for child in spec.children()]
    return TreeSpec(spec.type, plain_key(spec.context), children)


def plain_key(key: Any) -> Any:
    """A key, or several, with plain numbers in the place of symbolic ones."""
    if type(key) is list or type(key) is tuple:
        return type(key)([plain_key(each) for each in key])
    return plain(key)


def _is_of_every_call(function: Any) -> bool:
    """Whether what makes default values holds no tensor or number of the call that made it."""
    if type(function) is not FunctionType:
        return isinstance(function, type)
    return not (function.__closure__ or function.__defaults__ or function.__kwdefaults__)


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


def _check_kinds(recorder: Recorder, state: ModuleState, values: list[Any]) -> None:
    """A tensor that the call made a parameter of is one by a mark, which no graph sets.

    Raises: unsupported-output.
    """
    for index, value in enumerate(values):
        marks: dict[str, Any] = (
            ATTRIBUTES.__get__(value) if isinstance(value, AbstractTensor) else {}
        )
        kind = "Parameter" if marks.get("_made_parameter") else "Buffer"
        is_marked = kind == "Parameter" or marks.get("_is_buffer")
        if is_marked and not any(
            ATTRIBUTES.__get__(own) is marks for own in state.stand_ins.values()
        ):
            frames = () if value.node is None else value.node.meta.get("frames", ())
            at, path = recorder.scopes.filter.innermost_user(frames), f"output[{index}]"
            refusal = problem("unsupported-output", at=at, path=path, type=kind)
            recorder.refuse(refusal, f"`{path}` is a plain tensor")


def _leaf(recorder: Recorder, value: Any) -> OutputLeaf:
    """A result and its node; a number that guards leave one value of is that value."""
    if isinstance(value, AbstractTensor):
        return OutputLeaf(value, value.node)
    number, stated = to_python(value), as_stated(value)
    if not isinstance(number, Expr | Real | Relation):
        open_sizes = stated.symbols if isinstance(stated, Expr) else ()
        if not any(isinstance(recorder.facts.simplify(each), Expr) for each in open_sizes):
            return OutputLeaf(number, None)
        # The limits of sizes decide it, which may be let in later, as sizes of 0 and 1 are.
        return OutputLeaf(value, recorder.writer.as_stated(stated))
    node = recorder.writer.operand(number)
    return OutputLeaf(value, node) if isinstance(node, torch.fx.Node) else OutputLeaf(node, None)


def _write_reassigned(recorder: Recorder, state: ModuleState, values: list[Any]) -> list[Any]:
    """A buffer that user code replaced is written to at the end, so the next call sees it.

    Where the old tensor is seen still (by a result, by another buffer that takes its memory), the
    call sees a copy of it: eager leaves that memory untouched.
    """
    scratch = recorder.options.scratch
    reassigned = [
        pair for pair in state.reassigned() if _fits(*pair) and pair[0].target not in scratch
    ]
    asking = _asking_layouts(recorder, values) if reassigned else []
    for buffer, current in reassigned:
        _keep_layout(recorder, buffer, current, asking)
        _check_memory_taken(recorder, buffer)
        _check_memory_apart(recorder, state, buffer, current)
        _check_kind(recorder, buffer, current)
    leaving = [*values, *(current for _, current in reassigned)]
    tensors = [each for each in leaving if isinstance(each, AbstractTensor)]
    given: list[AbstractTensor] = []
    for buffer, _ in reassigned:
        seen = [each for each in tensors if _may_lie_in(recorder, each, buffer)]
        is_left = bool(seen or buffer.abstract.n_writes)  # what was written there has a history
        given.append(_copy_first(recorder, buffer, seen) if is_left else buffer.abstract)
    recorder.replaced_buffers = tuple(buffer.target for buffer, _ in reassigned)
    for buffer, (_, current) in zip(given, reassigned, strict=True):
        recorder.call(torch.ops.aten.copy_.default, (buffer, current), {})
    return values


def _keep_layout(
    recorder: Recorder, buffer: StateTensor, current: AbstractTensor, asking: list[Node]
) -> None:
    """Where anything depends on a buffer's layout, it is so in the next call, too.

    `asking` are the nodes whose layout results have, or decides what operators do. Of tensors that
    are computed from the buffer, the order of its dimensions decides it.

    Raises: buffer-reshaped (it lies otherwise then, or nobody can write to an expanded tensor).
    """
    before, t = tuple(buffer.real.stride()), current.tensor_type
    now = t.stride()
    if any(s == 0 and n > 1 for n, s in zip(buffer.real.shape, before, strict=True)):
        differs = True
    elif buffer.node in recorder.state_asked or buffer.node in map(storage_source, asking):
        differs = any(w != s and n != 1 for n, w, s in zip(t.shape, before, now, strict=True))
    elif buffer.node in layout_sources(asking):
        differs = 0 in now or stride_order(type_of(buffer.real)) != stride_order(t)
    else:
        return
    if differs:
        frames = () if current.node is None else current.node.meta.get("frames", ())
        at = recorder.scopes.filter.innermost_user(frames)
        was, becomes, name = f"strides {before}", f"strides {now}", f"self.{buffer.target}"
        raise problem("buffer-reshaped", at=at, name=name, before=was, now=becomes)
    recorder.layout_asked(current, "strides")


def _asking_layouts(recorder: Recorder, values: list[Any]) -> list[Node]:
    """The nodes whose layout results have, or decides whether operators raise or copy."""
    tensors = [each for each in values if isinstance(each, AbstractTensor)]
    returned = {id(each.storage_root) for each in tensors}
    asking = [each.node for each in tensors if each.node is not None]
    for node in recorder.operations:
        if isinstance(node.target, HigherOrderOperator):
            asking += node.all_input_nodes
        elif isinstance(node.target, OpOverload) and _asks_layout(node, returned):
            asking += node.all_input_nodes[:1]
    return asking


def _asks_layout(node: Node, returned: Collection[int]) -> bool:
    """Whether the layout of its argument decides what an operator reads, copies, or raises by."""
    target: Any = node.target
    made, source = (each.meta.get("val") for each in (node, *node.all_input_nodes[:1], node)[:2])
    if not isinstance(made, AbstractTensor) or not isinstance(source, AbstractTensor):
        return False
    if aliasing_of(target).decides_by_layout:
        return bool(made.storage_root.n_writes) or id(made.storage_root) in returned
    one, other = source.tensor_type, made.tensor_type
    return target is torch.ops.aten.as_strided.default or (
        bool(OPERATORS.of(target).raises_by_layout)
        and not (one.dtype == other.dtype and is_viewable_anyhow(one.shape, other.shape))
    )


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


def _check_memory_apart(
    recorder: Recorder, state: ModuleState, buffer: StateTensor, current: AbstractTensor
) -> None:
    """No other tensor of the module lies in a buffer that is written to at the end.

    Raises: state-shares-memory.
    """
    known = {each.target: each.real for each in state.tensors}
    for each in recorder.writer.met.values():
        known[state.attribute_path(each) or "a tensor from outside"] = each
    others = [name for name, real in known.items() if _overlap(buffer.real, real)]
    if len(others) > 1:  # it is one of them
        frames = () if current.node is None else current.node.meta.get("frames", ())
        at = recorder.scopes.filter.innermost_user(frames)
        names = sorted(others, key=lambda name: name != buffer.target)
        raise problem("state-shares-memory", at=at, names=names, replaced=True)


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether the elements of two tensors, and what lies between, are in one memory."""
    if torch.strided != one.layout or torch.strided != other.layout:
        return False
    if not share_memory(one, other):
        return False
    (begin, end), (start, stop) = _reach(one), _reach(other)
    return begin < stop and start < end


def _reach(t: torch.Tensor) -> tuple[int, int]:
    """The bytes of its storage that a tensor begins and ends at."""
    last = sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))
    begin, size = int(t.storage_offset()), t.element_size()
    return begin * size, (begin + last + 1) * size if t.numel() else begin * size


def _check_taken_over(recorder: Recorder, taken_over: list[Any], values: list[Any]) -> None:
    """What `.data = ...` gave another tensor's memory would show what is written there since.

    Raises: data-replaced.
    """
    returned = {id(each.storage_root) for each in values if isinstance(each, AbstractTensor)}
    nodes = {each.node for each in values if isinstance(each, AbstractTensor)}
    for node, (own, n_own), (other, n_other), views in taken_over:
        at = recorder.scopes.filter.innermost_user(node.meta.get("frames", ()))
        if any(each in nodes or len(each.users) > n_uses for each, n_uses in views.items()):
            raise problem("data-replaced", at=at, reason="another tensor lies in what it had")
        seen = {id(each) for each in _memories_used_after(node)} | returned
        stays = own.node is not None and own.node.op == "placeholder"
        is_shown = id(own) in seen or stays
        is_written = other.n_writes > n_other and is_shown
        is_written |= own.n_writes > n_own and id(other) in seen
        both = (id(own) in returned or stays) and id(other) in returned
        if is_written or both:
            how = "written to" if is_written else "returned"
            reason = f"another tensor lies in that, and is {how} afterwards"
            raise problem("data-replaced", at=at, reason=reason)


def _memories_used_after(node: Node) -> Iterator[AbstractTensor]:
    while node.op != "root":
        node = node.next
        for each in node.all_input_nodes:
            value = each.meta.get("val")
            if isinstance(value, AbstractTensor):
                yield value.storage_root


def _may_lie_in(recorder: Recorder, value: AbstractTensor, buffer: StateTensor) -> bool:
    storages = recorder.aliases.possible_storages(value)
    return any(each is buffer.abstract for each in storages)


def _copy_first(
    recorder: Recorder, buffer: StateTensor, seen: list[AbstractTensor]
) -> AbstractTensor:
    """The buffer itself; let the call see a copy of it, made before everything else.

    `seen` are the tensors that leave the call.

    Law: what reads, views or writes to the old tensor does so in one memory, as in eager code.
    """
    writer, t = recorder.writer, buffer.before
    assert writer.body_begin is not None, "user code ran"
    recorder.write_assertions()  # they stay where they are
    users, last = [*buffer.node.users], last_node(writer.graph)
    given = whole = make_tensor(t, buffer.node, recorder)
    writer.stands_for(given)
    if not is_dense(t):
        span = 1 + sum((n - 1) * s for n, s in zip(buffer.real.shape, t.stride(), strict=True))
        whole = recorder.call(torch.ops.aten.as_strided.default, (whole, [span], [1]), {})
    copied = recorder.call(torch.ops.aten.clone.default, (whole,), {})
    if not is_dense(t):
        shape, strides = [*buffer.real.shape], [*buffer.real.stride()]
        copied = recorder.call(torch.ops.aten.as_strided.default, (copied, shape, strides, 0), {})
    for user in users:
        if not writer.is_of_prologue(user):
            replace_input(user, buffer.node, copied.node)
    for each in seen:
        if each.node is buffer.node:
            each.node = copied.node
    while (node := last_node(writer.graph)) is not last:
        writer.body_begin.append(node)
    return given


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
