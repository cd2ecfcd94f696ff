"""Collectives in place: calls of torch.distributed, recorded as functional collectives and copies.

`all_reduce(x)` is `x.copy_(wait_tensor(all_reduce(x, "sum", group)))`: what autograd, functional
forms and files know already. A function below is one operator of c10d up to its `yield`, where the
collective runs; what comes after is done when somebody waits for it.

Law: each rank of a group calls the same collectives in the same order, else all of them wait for
ever. So a graph keeps all of them, in order, and a branch on data has the same on both sides.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.installation import OVERRIDES, listening
from monograph.capture.torch_overrides.autograd_overrides import need_no_gradient
from monograph.diagnostics import problem
from monograph.host import process_groups as host
from monograph.host.dispatch import schema_of
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from monograph.capture.recording.recorder import Recorder
    from monograph.host.operator_types import OpOverload

    Steps = Generator[None]

_REDUCTIONS: Final = frozenset({"sum", "avg", "product", "min", "max", "band", "bor", "bxor"})
_IN_PLACE: Final[dict[str, Callable[..., Steps]]] = {}
"""By the name of the operator of c10d."""


def _in_place(*names: str) -> Callable[[Callable[..., Steps]], Callable[..., Steps]]:
    def enter(function: Callable[..., Steps]) -> Callable[..., Steps]:
        _IN_PLACE.update(dict.fromkeys(names, function))
        return function

    return enter


class _Group:
    """Functional collectives over one process group, by their names."""

    def __init__(self, boxed: Any) -> None:
        self.group = host.unboxed_group(boxed)
        self.size: int = self.group.size()
        self.rank: int = self.group.rank()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operator = host.functional_operator(name)
        return lambda *args: operator(*args, self.group.group_name)


def _wait(tensor: Any) -> Any:
    return host.functional_operator("wait_tensor")(tensor)


def recorded(recorder: Recorder, overload: OpOverload, args: tuple[Any, ...]) -> Any:
    """Record an operator of c10d, which writes to its arguments.

    Raises: unsupported-collective (there is no functional collective that does the same).
    """
    schema = schema_of(overload)
    name = schema.name.rpartition("::")[2]
    given = dict(zip((each.name for each in schema.arguments), args, strict=False))
    reduction = host.reduction(given["reduce_op"]) if "reduce_op" in given else "sum"
    op = name.strip("_")
    if name not in _IN_PLACE or reduction not in _REDUCTIONS:
        raise problem("unsupported-collective", op=op, reason=f"PyTorch has none of {reduction}")
    group = _Group(given.pop("process_group"))
    is_synchronous = given.get("async_op") is False
    given = {key: value for key, value in given.items() if key not in _SETTINGS}
    if "reduce_op" in given:
        given["reduce_op"] = reduction
    tensors = [each for each in pytree.tree_leaves(args) if isinstance(each, AbstractTensor)]
    is_followed = any(each.tensor_type.requires_grad for each in tensors)
    if is_followed:
        need_no_gradient(recorder, tensors, f"the collective `{op}`")
    steps = _IN_PLACE[name](group, *given.values())

    def step() -> None:
        with torch.no_grad() if is_followed else nullcontext():
            next(steps, None)

    def finish() -> None:
        step()
        recorder.unawaited.pop(id(steps), None)

    with recorder:
        step()
    recorder.unawaited[id(steps)] = (recorder.operations[-1], recorder.origin())
    if is_synchronous:
        with recorder:
            finish()
    work = host.work(finish)
    return (args[0], work) if len(schema.returns) > 1 else work


_SETTINGS: Final = frozenset({"async_op", "timeout", "device_ids", "sparse_indices", "root_tensor"})


@_in_place("allreduce_", "allreduce_coalesced_")
def _allreduce(group: _Group, tensors: Any, reduce_op: str) -> Steps:
    reduced = [group.all_reduce(_whole(each), reduce_op) for each in tensors]
    yield
    for each, made in zip(tensors, reduced, strict=True):
        each.copy_(_wait(made))


@_in_place("reduce_")
def _reduce(group: _Group, tensors: Any, reduce_op: str, root_rank: int) -> Steps:
    reduced = [group.all_reduce(_whole(each), reduce_op) for each in tensors]
    yield
    for each, made in zip(tensors, map(_wait, reduced), strict=True):
        if group.rank == root_rank:
            each.copy_(made)


@_in_place("broadcast_")
def _broadcast(group: _Group, tensors: Any, root_rank: int) -> Steps:
    sent = [group.broadcast(_whole(each), root_rank) for each in tensors]
    yield
    for each, made in zip(tensors, sent, strict=True):
        each.copy_(_wait(made))


@_in_place("barrier")
def _barrier(group: _Group, tensor: Any) -> Steps:
    made = group.all_reduce(tensor, "sum")
    yield
    _wait(made)


def _whole(tensor: Any) -> Any:
    """A tensor whose memory is written to as it lies, which gloo does not look at."""
    if tensor.is_contiguous():
        return tensor
    reason = "its tensor is not contiguous"
    raise problem("unsupported-collective", op="all_reduce or broadcast", reason=reason)


def _rows(tensor: Any) -> Any:
    return (tensor if tensor.dim() else tensor.unsqueeze(0)).contiguous()


@_in_place("_allgather_base_")
def _allgather_base(group: _Group, output_tensor: Any, input_tensor: Any) -> Steps:
    made = group.all_gather_into_tensor(_rows(input_tensor), group.size)
    yield
    output_tensor.copy_(_wait(made).reshape(output_tensor.shape))


@_in_place("allgather_into_tensor_coalesced_")
def _allgather_into_tensor_coalesced(group: _Group, outputs: Any, inputs: Any) -> Steps:
    made = [group.all_gather_into_tensor(_rows(each), group.size) for each in inputs]
    yield
    for each, found in zip(outputs, made, strict=True):
        each.copy_(_wait(found).reshape(each.shape))


@_in_place("allgather_")
def _allgather(group: _Group, output_tensors: Any, input_tensors: Any) -> Steps:
    yield from _gather(group, output_tensors, input_tensors, group.rank)


@_in_place("gather_")
def _gather(group: _Group, output_tensors: Any, input_tensors: Any, root_rank: int) -> Steps:
    made = group.all_gather_into_tensor(input_tensors[0].unsqueeze(0).contiguous(), group.size)
    yield
    rows = _wait(made)
    if group.rank == root_rank:
        for at, each in enumerate(output_tensors[0]):
            each.copy_(rows[at].reshape(each.shape))


@_in_place("scatter_")
def _scatter(group: _Group, output_tensors: Any, input_tensors: Any, root_rank: int) -> Steps:
    (target,) = output_tensors
    if group.rank == root_rank:
        rows = torch.stack([each.reshape(target.shape) for each in input_tensors[0]])
    else:
        rows = target.new_zeros((group.size, *target.shape))
    made = group.broadcast(rows, root_rank)
    yield
    target.copy_(_wait(made)[group.rank])


@_in_place("_reduce_scatter_base_")
def _reduce_scatter_base(
    group: _Group, output_tensor: Any, input_tensor: Any, reduce_op: str
) -> Steps:
    made = group.reduce_scatter_tensor(input_tensor.contiguous(), reduce_op, group.size)
    yield
    output_tensor.copy_(_wait(made).reshape(output_tensor.shape))


@_in_place("reduce_scatter_tensor_coalesced_")
def _reduce_scatter_tensor_coalesced(
    group: _Group, outputs: Any, inputs: Any, reduce_op: str
) -> Steps:
    made = [group.reduce_scatter_tensor(_rows(x), reduce_op, group.size) for x in inputs]
    yield
    for each, found in zip(outputs, made, strict=True):
        each.copy_(_wait(found).reshape(each.shape))


@_in_place("reduce_scatter_")
def _reduce_scatter(
    group: _Group, output_tensors: Any, input_tensors: Any, reduce_op: str
) -> Steps:
    rows = torch.stack(tuple(input_tensors[0]))
    yield from _reduce_scatter_base(group, output_tensors[0], rows, reduce_op)


@_in_place("alltoall_base_")
def _alltoall_base(
    group: _Group, output: Any, input_: Any, output_split_sizes: Any, input_split_sizes: Any
) -> Steps:
    parts = [
        list(sizes) or [tensor.shape[0] // group.size] * group.size
        for tensor, sizes in ((output, output_split_sizes), (input_, input_split_sizes))
    ]
    made = group.all_to_all_single(input_.contiguous(), *parts)
    yield
    output.copy_(_wait(made).reshape(output.shape))


@_in_place("alltoall_")
def _alltoall(group: _Group, output_tensors: Any, input_tensors: Any) -> Steps:
    rows = torch.cat([each.reshape(-1) for each in input_tensors])
    parts = [[each.numel() for each in tensors] for tensors in (output_tensors, input_tensors)]
    made = group.all_to_all_single(rows, *parts)
    yield
    for each, part in zip(output_tensors, _wait(made).split(parts[0]), strict=True):
        each.copy_(part.reshape(each.shape))


@_in_place("send")
def _send(group: _Group, tensors: Any, dst: int, tag: int) -> Steps:
    sent = [group.isend(each.contiguous(), dst, tag) for each in tensors]
    yield
    for each in sent:
        _wait(each)


@_in_place("recv_")
def _recv(group: _Group, tensors: Any, src: int, tag: int) -> Steps:
    got = [
        group.irecv(torch.empty(each.shape, dtype=each.dtype, device=each.device), src, tag)
        for each in tensors
    ]
    yield
    for each, made in zip(tensors, got, strict=True):
        each.copy_(_wait(made))


# --- who asks -----------------------------------------------------------------------------------


def _note_group(group: Any) -> None:
    recorder = listening()
    if recorder is not None and group is not torch.distributed.GroupMember.NON_GROUP_MEMBER:
        name = "" if group is None else group.group_name
        recorder.answers_noted.note("process_group", recorder.origin(), name)


def _telling(original: Any) -> Any:
    """A function that says who is in a process group, or which of them this process is."""

    def ask(group: Any = None, *args: Any, **kwargs: Any) -> Any:
        _note_group(group)
        return original(group, *args, **kwargs)

    return ask


for _name in ("get_rank", "get_world_size", "get_process_group_ranks", "get_group_rank"):
    OVERRIDES.override_code_while(host.GROUPS, "torch.distributed", _name)(_telling)


def _pickling(original: Any) -> Any:
    """A collective of Python objects: what another rank sends is known when the program runs."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return original(*args, **kwargs)
        reason = "Python objects are sent as pickles"
        raise problem("unsupported-collective", op=original.__name__, reason=reason)

    return refuse


for _name in (
    *("all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"),
    *("recv_object_list", "send_object_list"),
):
    OVERRIDES.override_code_while(host.GROUPS, "torch.distributed", _name)(_pickling)


@OVERRIDES.override_code_while(host.GROUPS, *host.TRACING)
def _tracing(original: Any) -> Any:
    """Functional collectives are waited for at once, and DTensor keeps nothing by sizes."""
    return lambda: listening() is not None or original()
