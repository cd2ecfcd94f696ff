"""Functional collectives of torch.distributed: what each rank gets, of what every rank gives.

Law: results are contiguous and have memory of their own; waiting for one gives it back. Each rank
is taken to give tensors of its own sizes: what others give, eager code does not compare either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor_type import TensorType, like
from monograph.host.process_groups import operators
from monograph.integers import eq, require
from monograph.rules.operand_checks import need_dimensions
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


@rule(*operators("wait_tensor"))
def wait_tensor(tensor: TensorType) -> TensorType:
    """tensor: [*a] -> [*a], the same tensor when its collective has ended."""
    return TensorType(tensor.shape, tensor.dtype, tensor.device, tensor.strides, tensor.offset)


@rule(*operators("all_reduce"))
def all_reduce(input: TensorType, reduce_op: str, group_name: Any) -> TensorType:
    """input: [*a] -> [*a]; what the ranks have, reduced."""
    return like(input, input.shape)


@rule(*operators("broadcast"))
def broadcast(input: TensorType, src: Int, group_name: Any) -> TensorType:
    """input: [*a] -> [*a]; what the rank `src` has."""
    return like(input, input.shape)


@rule(*operators("all_gather_into_tensor"))
def all_gather_into_tensor(input: TensorType, group_size: Int, group_name: Any) -> TensorType:
    """input: [n, *a] -> [group_size * n, *a]."""
    first, *rest = input.shape or (1,)
    return like(input, (group_size * first, *rest))


@rule(*operators("reduce_scatter_tensor"))
def reduce_scatter_tensor(
    input: TensorType, reduce_op: str, group_size: Int, group_name: Any
) -> TensorType:
    """input: [group_size * n, *a] -> [n, *a]."""
    need_dimensions(input, 1, "reduce_scatter_tensor")
    reason = f"the first size has to be a multiple of {group_size}, the size of the process group"
    op = "reduce_scatter_tensor"
    require(eq(input.shape[0] % group_size, 0), "operator-refused-types", op=op, reason=reason)
    return like(input, (input.shape[0] // group_size, *input.shape[1:]))


@rule(*operators("all_to_all_single"))
def all_to_all_single(
    input: TensorType,
    output_split_sizes: Sequence[Int],
    input_split_sizes: Sequence[Int],
    group_name: Any,
) -> TensorType:
    """input: [sum of input_split_sizes, *a] -> [sum of output_split_sizes, *a]."""
    need_dimensions(input, 1, "all_to_all_single")
    reason = "the sizes of the parts have to add up to the first size of the input"
    op = "all_to_all_single"
    given = eq(sum(input_split_sizes), input.shape[0])
    require(given, "operator-refused-types", op=op, reason=reason)
    return like(input, (sum(output_split_sizes), *input.shape[1:]))


@rule(*operators("isend"))
def isend(tensor: TensorType, dst: Int, tag: Int, group_name: Any) -> TensorType:
    """tensor: [*a] -> [0], to wait for."""
    return like(tensor, (0,))


@rule(*operators("irecv"))
def irecv(tensor: TensorType, src: Int, tag: Int, group_name: Any) -> TensorType:
    """tensor: [*a] -> [*a], to wait for; it is the argument, which has what was received."""
    return like(tensor, tensor.shape)


@rule(*operators("all_reduce_coalesced"))
def all_reduce_coalesced(
    inputs: Sequence[TensorType], reduce_op: str, group_name: Any
) -> list[TensorType]:
    """As many `all_reduce` as there are inputs."""
    return [all_reduce(each, reduce_op, group_name) for each in inputs]


@rule(*operators("all_gather_into_tensor_coalesced"))
def all_gather_into_tensor_coalesced(
    inputs: Sequence[TensorType], group_size: Int, group_name: Any
) -> list[TensorType]:
    """As many `all_gather_into_tensor` as there are inputs."""
    return [all_gather_into_tensor(each, group_size, group_name) for each in inputs]


@rule(*operators("reduce_scatter_tensor_coalesced"))
def reduce_scatter_tensor_coalesced(
    inputs: Sequence[TensorType], reduce_op: str, group_size: Int, group_name: Any
) -> list[TensorType]:
    """As many `reduce_scatter_tensor` as there are inputs."""
    return [reduce_scatter_tensor(each, reduce_op, group_size, group_name) for each in inputs]
