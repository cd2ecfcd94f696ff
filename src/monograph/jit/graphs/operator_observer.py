"""Operator observer: a dispatch mode that tells which operators run within one recorded call."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.kernel_errors import OF_INTEGERS, RAISING
from monograph.host.dispatch import TorchDispatchMode, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Observation", "OperatorObserver"]


@dataclass(slots=True)
class Observation:
    """What operators one recorded call ran."""

    is_tainted: bool = False
    """Whether the shape of a result depends on data."""
    draws: bool = False
    is_empty: bool = False
    """Whether a tensor that it was given has no elements."""
    may_draw: bool = False
    """Whether it would have drawn random numbers from tensors with elements."""
    may_raise: bool = False
    is_of_arrays: bool = False
    """Whether it was given arrays of NumPy, or gives some."""
    arguments: Any = ()
    written: list[torch.Tensor] = field(default_factory=list[torch.Tensor])


_OF_DATA: Final = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output)
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


class OperatorObserver(TorchDispatchMode):
    """Tells a recorder of operators; `one_call` collects those of one recorded call."""

    def __init__(self, unrecorded: Callable[[Any], None], check: Callable[..., None]) -> None:
        """`unrecorded` is told of operators that run while nothing is recorded.

        `check` is told of the others, with what each writes to, before they run.
        """
        super().__init__()
        self._unrecorded, self._check = unrecorded, check
        self._seen: Observation | None = None
        self.is_asked = False
        """Whether an operator is running that nobody records."""

    @contextmanager
    def one_call(self) -> Generator[Observation]:
        """Collect what runs within."""
        seen = self._seen = Observation()
        try:
            yield seen
        finally:
            self._seen = None

    def __torch_dispatch__(
        self, operator: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note an operator, and run it."""
        seen = self._seen
        if seen is None:
            self.is_asked = True
            self._unrecorded(operator)
            self.is_asked = False
        else:
            _note(seen, operator, args, kwargs or {})
            self._check(operator, seen.written)
            if torch.Tag.nondeterministic_seeded in operator.tags:
                return _seeded(seen, operator, args, kwargs or {})
        return operator(*args, **(kwargs or {}))


def _seeded(seen: Observation, operator: Any, args: Any, kwargs: Any) -> Any:
    """Run an operator that may draw: without tensors to draw for, or with probability 0, none do.

    The former is up to metadata.
    """
    before = torch.default_generator.get_state()
    result = operator(*args, **kwargs)
    tensors = [each for each in args if isinstance(each, torch.Tensor)]
    seen.draws |= not all(each.is_cpu for each in tensors) or not torch.equal(
        before, torch.default_generator.get_state()
    )
    seen.may_draw |= not all(each.numel() for each in tensors)
    return result


def _takes_places(operator: Any, args: Any) -> bool:
    """Whether items are taken at places, which are integers, and not where a mask says so."""
    if operator is not torch.ops.aten.index.Tensor:
        return False
    return not any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])


def _note(seen: Observation, operator: Any, args: Any, kwargs: Any) -> None:
    tags = operator.tags
    seen.is_tainted |= any(tag in tags for tag in _OF_DATA) and not _takes_places(operator, args)
    seen.may_raise |= _may_raise(operator, args)
    for value in aliasing_of(operator).writes(args, kwargs):
        values = value if isinstance(value, list | tuple) else [value]
        seen.written.extend(each for each in values if isinstance(each, torch.Tensor))


def _may_raise(operator: Any, args: Any) -> bool:
    """Whether an operator raises for some values of tensors; so do all that nobody knows."""
    name = schema_of(operator).name.removeprefix("aten::").removesuffix("_")
    if name in RAISING or operator.namespace != "aten":
        return True
    if torch.Tag.pointwise in operator.tags:
        tensors = [each for each in args if isinstance(each, torch.Tensor)]
        return name in OF_INTEGERS and not any(map(torch.is_floating_point, tensors))
    is_view = operator.is_view or torch.Tag.inplace_view in operator.tags
    return name not in _TOTAL and not is_view
