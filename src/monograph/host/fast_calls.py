"""Fast entry points: for an overload, the function of torch that parses arguments in C.

An overload is called through Python and a generic boxed call; torch's own functions are not. A
function stands here only for overloads that it dispatches with the very arguments that it is given,
which `tests/laws/test_bindings.py` holds. Factories are left out: a default device changes these.
Verified with 2.13.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.overloads import aten, present

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_EQUAL: Final = (
    (
        torch,
        """
        _log_softmax _native_batch_norm_legit_no_training _softmax abs adaptive_avg_pool1d
        add.Tensor addcmul addmm all all.dim amax amin any any.dim argmax argmin as_strided
        atan2 avg_pool1d baddbmm batch_norm bernoulli.p bitwise_and.Tensor bitwise_not
        bitwise_or.Tensor bmm broadcast_to cat ceil chunk clamp clamp_ clamp_max clamp_min
        clone concat constant_pad_nd conv1d conv2d conv3d conv_transpose1d
        conv_transpose2d.input convolution cos cumprod cumsum detach diagonal div.Tensor
        div.Tensor_mode dot dropout embedding eq.Scalar eq.Tensor erf exp exp_ expm1
        fill_.Scalar flatten.using_ints flip float_power.Tensor_Scalar floor floor_divide
        gather ge.Scalar ge.Tensor group_norm gt.Scalar gt.Tensor index_add index_select
        instance_norm isinf isnan layer_norm le.Scalar le.Tensor lerp.Tensor log log1p
        log_softmax.int logical_and logical_not logical_or lt.Scalar lt.Tensor
        masked_fill.Scalar masked_fill.Tensor matmul max max.dim max_pool1d max_pool2d
        maximum mean mean.dim min.dim minimum mm movedim.int movedim.intlist mul.Tensor
        multinomial mv narrow native_batch_norm native_group_norm native_layer_norm
        ne.Scalar ne.Tensor neg outer permute pixel_shuffle pow.Scalar pow.Tensor_Scalar
        pow.Tensor_Tensor prod reciprocal relu relu_ remainder.Scalar remainder.Tensor
        repeat_interleave.self_int reshape rms_norm roll round rsqrt rsub.Scalar scatter.src
        scatter.value scatter_add select.int sigmoid sigmoid_ sign sin softmax.int sort
        split_with_sizes sqrt square squeeze squeeze.dim squeeze.dims stack std.correction
        sub.Tensor sum sum.dim_IntList t take_along_dim tan tanh tanh_ tile topk
        transpose.int tril triu unbind.int unflatten.int unsqueeze var.correction
        where.ScalarOther where.ScalarSelf where.self zero_
        """,
    ),
    (
        torch.Tensor,
        """
        add_.Tensor copy_ div_.Tensor expand expand_as index_copy_ masked_fill_.Scalar
        mul_.Tensor repeat reshape_as sub_.Tensor type_as unfold unsqueeze_ view view.dtype
        view_as
        """,
    ),
    (
        torch._C._nn,  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not list it
        """
        adaptive_avg_pool2d avg_pool2d elu gelu hardsigmoid hardswish hardswish_ hardtanh
        hardtanh_ leaky_relu leaky_relu_ linear max_pool2d_with_indices mish pad
        scaled_dot_product_attention silu silu_ softplus upsample_bilinear2d.vec
        upsample_nearest1d.vec upsample_nearest2d.vec
        """,
    ),
)
"""By who has the function: overloads of ATen, `default` where only the operator is named."""


@cache
def bindings() -> Mapping[Any, Callable[..., Any]]:
    """The functions by overload."""
    found: dict[Any, Callable[..., Any]] = {}
    for owner, names in _EQUAL:
        for operator, _, overload in (name.partition(".") for name in names.split()):
            target = getattr(getattr(aten, operator), overload or "default")
            found |= dict.fromkeys(present([target]), getattr(owner, operator, target))
    return found


def fast_call(target: Any) -> Callable[..., Any]:
    """What computes the same as an overload called without symbols, in less time."""
    if isinstance(target, torch._ops.OpOverload):
        return bindings().get(target) or target._op
    return target


__all__ = ["bindings", "fast_call"]
