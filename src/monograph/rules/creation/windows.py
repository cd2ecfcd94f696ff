"""Window functions and frequencies: one-dimensional tensors of a given length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.diagnostics import problem
from monograph.rules.creation.factories import Device, Dtype, Layout, made, not_negative, strided
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType
    from monograph.integers import Int

aten = torch.ops.aten


def _window(length: Int, dtype: Dtype, layout: Layout, device: Device) -> TensorType:
    strided(layout)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise problem("dtype-disagrees", what="a window", expected="a float dtype", got=dtype)
    return made((not_negative(length, "a window"),), dtype, device)


@rule(aten.hann_window.default, aten.hamming_window.default, aten.blackman_window.default)
@rule(aten.bartlett_window.default, aten.kaiser_window.default)
def window(
    window_length: Int,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """hann_window(n) -> [n]."""
    return _window(window_length, dtype, layout, device)


@rule(aten.hann_window.periodic, aten.hamming_window.periodic, aten.blackman_window.periodic)
@rule(aten.bartlett_window.periodic, aten.kaiser_window.periodic)
def window_periodic(
    window_length: Int,
    periodic: bool,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """hann_window(n, periodic) -> [n]."""
    return _window(window_length, dtype, layout, device)


@rule(aten.hamming_window.periodic_alpha)
def hamming_window_alpha(
    window_length: Int,
    periodic: bool,
    alpha: float,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """hamming_window(n, periodic, alpha) -> [n]."""
    return _window(window_length, dtype, layout, device)


@rule(aten.hamming_window.periodic_alpha_beta)
def hamming_window_alpha_beta(
    window_length: Int,
    periodic: bool,
    alpha: float,
    beta: float,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """hamming_window(n, periodic, alpha, beta) -> [n]."""
    return _window(window_length, dtype, layout, device)


@rule(aten.kaiser_window.beta)
def kaiser_window_beta(
    window_length: Int,
    periodic: bool,
    beta: float,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """kaiser_window(n, periodic, beta) -> [n]."""
    return _window(window_length, dtype, layout, device)


@rule(aten.fft_fftfreq.default)
def fft_fftfreq(
    n: Int,
    d: float = 1.0,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """fft_fftfreq(n) -> [n]."""
    return made((not_negative(n, "fftfreq"),), dtype, device)


@rule(aten.fft_rfftfreq.default)
def fft_rfftfreq(
    n: Int,
    d: float = 1.0,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """fft_rfftfreq(n) -> [n//2 + 1]."""
    return made((not_negative(n, "rfftfreq") // 2 + 1,), dtype, device)
