"""Window functions and frequencies: one-dimensional tensors of a given length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.creation.factories import Device, Dtype, Layout, made, not_negative, strided
from monograph.rules.registry import shared_rule

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType
    from monograph.integers import Int


@shared_rule(aten.hann_window.default, aten.hamming_window.default, aten.blackman_window.default)
@shared_rule(aten.bartlett_window.default, aten.kaiser_window.default)
@shared_rule(aten.hann_window.periodic, aten.hamming_window.periodic, aten.blackman_window.periodic)
@shared_rule(aten.bartlett_window.periodic, aten.kaiser_window.periodic)
@shared_rule(aten.hamming_window.periodic_alpha, aten.hamming_window.periodic_alpha_beta)
@shared_rule(aten.kaiser_window.beta)
def window(
    window_length: Int, dtype: Dtype = None, layout: Layout = None, device: Device = None
) -> TensorType:
    """hann_window(n) -> [n]."""
    strided(layout)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise problem("dtype-disagrees", what="a window", expected="a float dtype", got=dtype)
    return made((not_negative(window_length, "a window"),), dtype, device)


@shared_rule(aten.fft_fftfreq.default)
def fft_fftfreq(n: Int, **options: Any) -> TensorType:
    """fft_fftfreq(n) -> [n]."""
    return made((not_negative(n, "fftfreq"),), **options)


@shared_rule(aten.fft_rfftfreq.default)
def fft_rfftfreq(n: Int, **options: Any) -> TensorType:
    """fft_rfftfreq(n) -> [n//2 + 1]."""
    return made((not_negative(n, "rfftfreq") // 2 + 1,), **options)
