"""Kernel errors: operators that raise for some data, some layouts, or where there are no elements.

A call of one stays in the graph where nobody uses its result: eager code raises there, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import is_differentiable
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Sequence

OF_NO_ELEMENTS: Final = frozenset(
    {
        *("amax", "amin", "aminmax", "_aminmax", "argmax", "argmin", "max", "median", "min"),
        *("kthvalue", "linalg_vector_norm", "mode", "nanmedian", "nanquantile", "norm", "quantile"),
    }
)
"""Reductions that have no value where there is nothing to reduce."""
OF_INDICES: Final = frozenset(
    {
        *(
            "_unsafe_index",
            "_unsafe_index_put",
            "as_strided",
            "bincount",
            "cross_entropy_loss",
            "embedding",
        ),
        *("embedding_bag", "gather", "index", "index_add", "index_copy", "index_fill"),
        *("index_put", "index_reduce", "index_select", "nll_loss", "nll_loss2d", "nll_loss_nd"),
        *("nll_loss_forward", "nll_loss2d_forward", "one_hot", "put", "scatter", "scatter_add"),
        *("scatter_reduce", "take", "take_along_dim"),
    }
)
"""Operators that take positions, which may lie outside of what there is: all do of nothing."""
_OF_DATA: Final = frozenset(
    {
        *("_embedding_bag", "_embedding_bag_forward_only", "binary_cross_entropy", "cholesky"),
        *("cholesky_inverse", "inverse", "masked_scatter", "max_unpool2d", "max_unpool3d"),
        *("multi_margin_loss", "multilabel_margin_loss", "multilabel_margin_loss_forward"),
        *("nanquantile", "pinverse", "quantile", "segment_reduce", "svd"),
    }
)
"""Operators that some values have no result of."""
_OF_MATRICES: Final = ("_linalg_", "linalg_")
"""How the names of factorizations begin, which some matrices do not have."""
_OF_INTEGERS: Final = frozenset({"div", "floor_divide", "fmod", "pow", "remainder"})
"""Pointwise operators that raise for some integers."""
_OF_LAYOUTS: Final = frozenset({"unflatten", "view", "view_as", "view_as_complex"})
"""Views that tensors of some strides do not have."""
_ROUNDING: Final = frozenset({math.ceil, math.floor, math.trunc, round})
"""Functions of numbers that have no result for NaN, which only data is."""
_RAISING: Final = OF_NO_ELEMENTS | OF_INDICES | _OF_DATA | _OF_LAYOUTS
_TOTAL: Final = frozenset(
    {
        *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_fft_c2c", "_fft_c2r", "_fft_r2c"),
        *("_local_scalar_dense", "_log_softmax", "_native_batch_norm_legit", "_prelu_kernel"),
        *("_native_batch_norm_legit_functional", "_native_batch_norm_legit_no_training"),
        *("_reshape_copy", "_safe_softmax", "_scaled_dot_product_flash_attention_for_cpu"),
        *("_softmax", "_to_copy", "_unsafe_view", "addbmm", "addmm", "addmv", "addr", "all"),
        *("any", "arange", "argsort", "avg_pool1d", "avg_pool2d", "avg_pool3d", "baddbmm", "bmm"),
        *("bucketize", "cat", "col2im", "constant_pad_nd", "convolution", "copy", "cumprod"),
        *("cumsum", "dot", "empty", "empty_like", "empty_permuted", "empty_strided", "eye"),
        *("fill", "flip", "full", "full_like", "glu", "grid_sampler_2d", "huber_loss", "im2col"),
        *("isin", "lift_fresh", "linspace", "logcumsumexp", "logsumexp", "mean", "mm", "mv"),
        *("max_pool2d_with_indices", "max_pool3d_with_indices", "mkldnn_rnn_layer", "mse_loss"),
        *("native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm"),
        *("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros", "nonzero"),
        *("ones", "ones_like", "pixel_shuffle", "pixel_unshuffle", "prod", "rand", "rand_like"),
        *("randint", "randint_like", "randn", "randn_like", "randperm", "reflection_pad1d"),
        *("reflection_pad2d", "reflection_pad3d", "repeat", "replication_pad1d"),
        *("replication_pad2d", "replication_pad3d", "requires_grad", "roll", "scalar_tensor"),
        *("select_scatter", "slice_scatter", "smooth_l1_loss", "sort", "stack", "std"),
        *("std_mean", "sum", "topk", "trace", "tril", "triu", "uniform", "upsample_bicubic2d"),
        *("upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d", "var", "var_mean"),
        *("upsample_nearest2d", "upsample_nearest3d", "vdot", "zero", "zeros", "zeros_like"),
    }
)
"""Other operators whose arguments' types decide alone whether they raise, beside views."""
_WRITES_SHARED: Final = frozenset(
    {
        *("_foreach_zero_", "_index_put_impl_", "addmv_", "baddbmm_", "embedding_renorm_"),
        *("fill_diagonal_", "index_fill_", "index_put_", "masked_fill_", "requires_grad_"),
        *("threshold_", "tril_", "triu_", "zero_"),
    }
)
"""In-place operators that write to elements which share memory as to any others."""


def refuses_shared(overload: OpOverload, dtype: torch.dtype) -> bool:
    """Whether an operator raises where the elements of what it writes to share memory.

    Most do that change their argument; of `out=` those are known that compute pointwise. Source:
    observed, not copied; held in `tests/laws/test_shared_elements.py`.
    """
    table, name = aliasing_of(overload), schema_of(overload).name.removeprefix("aten::")
    if overload.namespace != "aten" or torch.Tag.inplace_view in overload.tags:
        return False
    if not table.is_inplace:
        return bool(table.outs) and torch.Tag.pointwise in overload.tags
    if name in {"conj_physical_", "nan_to_num_"}:  # which give other numbers back as they are
        return dtype.is_complex or (name == "nan_to_num_" and is_differentiable(dtype))
    return name not in _WRITES_SHARED and overload is not torch.ops.aten.fill_.Scalar


def raises_for_values(operator: OpOverload, args: Sequence[Any]) -> bool:
    """Whether an operator raises for some values of tensors; so do all that nobody knows."""
    name = schema_of(operator).name.removeprefix("aten::").removesuffix("_")
    if name in _RAISING or operator.namespace != "aten":
        return True
    if torch.Tag.pointwise in operator.tags:
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        return name in _OF_INTEGERS and not any(map(torch.is_floating_point, tensors))
    is_view = operator.is_view or torch.Tag.inplace_view in operator.tags
    return name not in _TOTAL and not is_view


def may_raise(node: Node) -> bool:
    """Whether a call may raise although the types of its arguments are right."""
    target: Any = node.target
    if target in _ROUNDING:
        number = node.args[0].meta.get("val") if isinstance(node.args[0], Node) else None
        return isinstance(number, torch.SymFloat) and number.node.hint is None
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    name = schema_of(target).name.removeprefix("aten::")
    if name in _OF_INTEGERS:
        value = node.meta.get("val")
        return isinstance(value, AbstractTensor) and not is_differentiable(value.dtype)
    if name not in _RAISING:
        return name.startswith(_OF_MATRICES)
    if name in _OF_LAYOUTS:
        source = node.args[0]
        return isinstance(source, Node) and bool(layout_sources([source]))
    return name in _OF_DATA or name not in OF_NO_ELEMENTS or not _has_elements(node.args[0])


def _has_elements(argument: Any) -> bool:
    """Whether all sizes are known, and none is 0."""
    value = argument.meta.get("val")
    if not isinstance(value, AbstractTensor):
        return False
    return all(isinstance(n, int) and n > 0 for n in value.tensor_type.shape)
