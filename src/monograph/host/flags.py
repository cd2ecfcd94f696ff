"""Stances and regions of PyTorch, and its default device."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


def uncompiled() -> AbstractContextManager[object]:
    """Run what `torch.compile` made as the Python it was made of.

    Only where something may have been compiled: `set_stance` imports `torch._dynamo`.
    """
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


CHECKER: Final[tuple[Any, str]] = (torch, "_check_with")
"""What `torch._check` and its relatives call with an error's type, a condition and a text."""
USES_FLASH: Final[tuple[Any, str]] = (torch._C, "_set_sdp_use_flash")
"""What turns flash attention on and off, whatever PyTorch's functions for that are called."""
FUNCTIONAL: Final[Any] = getattr(torch._C, "_nn")  # noqa: B009 - the stubs do not list it
"""What functions of `torch.nn.functional` in Python call."""
ASSERT: Final[Any] = torch._assert
CHECK: Final[Any] = torch._check
SAYING: Final[tuple[Any, ...]] = (ASSERT, torch.autograd.profiler.record_function.__init__)
"""Functions that are given a text for people: of an assertion, and of a part of a profile."""


def _known(read: Callable[[], Any]) -> Callable[[], Any]:
    """How float32 is computed with; None where devices and operators say it one by one."""

    def known() -> Any:
        try:
            return read()
        except RuntimeError:
            return None

    return known


def _if_known(write: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda to: None if to is None else write(to)


def _precisions() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], object]]]:
    """How each device and kind of operator computes with float32: the others write there, too."""
    for backend, op, what in (
        ("generic", "all", "torch.backends.fp32_precision"),
        ("cuda", "all", "torch.backends.cudnn.fp32_precision"),
        *(("cuda", each, f"torch.backends.cudnn.{each}.fp32_precision") for each in _KINDS[:2]),
        ("cuda", "matmul", "torch.backends.cuda.matmul.fp32_precision"),
        ("mkldnn", "all", "torch.backends.mkldnn.fp32_precision"),
        *(("mkldnn", each, f"torch.backends.mkldnn.{each}.fp32_precision") for each in _KINDS),
    ):
        read: Any = partial(torch._C._get_fp32_precision_getter, backend, op)
        write: Any = partial(torch._C._set_fp32_precision_setter, backend, op)
        yield what, read, write


_KINDS: Final = ("conv", "rnn", "matmul")
_EINSUM: Final = torch.backends.opt_einsum


def _give_einsum(attributes: dict[str, Any]) -> None:
    own = _EINSUM.__dict__
    own.clear()
    own.update(attributes)


def _settings() -> Iterator[tuple[str, Callable[[], Any], Callable[[Any], object]]]:
    set_precision = torch.set_float32_matmul_precision
    products = "torch.backends.cuda.matmul.allow_tf32"
    precision = _known(torch._C._get_float32_matmul_precision)
    yield products, precision, _if_known(set_precision)
    # In C where it can be: every capture reads all of it twice.
    yield "torch.backends.opt_einsum", partial(dict, vars(_EINSUM)), _give_einsum
    yield (
        "torch.backends.mha.set_fastpath_enabled",
        partial(attrgetter("_is_fastpath_enabled"), torch.backends.mha),
        torch.backends.mha.set_fastpath_enabled,
    )
    for name, what in (
        ("cublas_allow_tf32", products),
        ("cudnn_allow_tf32", "torch.backends.cudnn.allow_tf32"),
        ("cudnn_benchmark", "torch.backends.cudnn.benchmark"),
        ("cudnn_deterministic", "torch.backends.cudnn.deterministic"),
        ("cudnn_enabled", "torch.backends.cudnn.enabled"),
        ("cudnn_depthwise_kernel", "torch.backends.cudnn.depthwise_kernel"),
        ("cublas_allow_fp16_accumulation", "torch.backends.cuda.matmul.allow_fp16_accumulation"),
        ("blas_preferred_backend", "torch.backends.cuda.preferred_blas_library"),
        ("linalg_preferred_backend", "torch.backends.cuda.preferred_linalg_library"),
        ("rocm_fa_preferred_backend", "torch.backends.cuda.preferred_rocm_fa_library"),
        ("mkldnn_enabled", "torch.backends.mkldnn.enabled"),
        ("mkldnn_deterministic", "torch.backends.mkldnn.deterministic"),
        ("miopen_immediate", "torch.backends.miopen.immediate"),
        ("nnpack_enabled", "torch.backends.nnpack.set_flags"),
        ("qengine", "torch.backends.quantized.engine"),
        ("warnAlways", "torch.set_warn_always"),
        ("flash_sdp_enabled", "torch.backends.cuda.enable_flash_sdp"),
        ("mem_efficient_sdp_enabled", "torch.backends.cuda.enable_mem_efficient_sdp"),
        ("math_sdp_enabled", "torch.backends.cuda.enable_math_sdp"),
        ("cudnn_sdp_enabled", "torch.backends.cuda.enable_cudnn_sdp"),
        (
            "math_sdp_allow_fp16_bf16_reduction",
            "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp",
        ),
        (
            "deterministic_fill_uninitialized_memory",
            "torch.utils.deterministic.fill_uninitialized_memory",
        ),
    ):
        kernel = name.removesuffix("_sdp_enabled")
        setter = f"_set_{name}" if kernel == name else f"_set_sdp_use_{kernel}"
        if hasattr(torch._C, f"_get_{name}"):
            read, write = getattr(torch._C, f"_get_{name}"), getattr(torch._C, setter)
            if "tf32" in name:
                read, write = _known(read), _if_known(write)
            yield what, read, write
    deterministic = torch.use_deterministic_algorithms
    is_deterministic = torch._C._get_deterministic_algorithms
    only_warns = torch._C._get_deterministic_algorithms_warn_only
    yield "torch.use_deterministic_algorithms", is_deterministic, deterministic
    yield (
        "torch.use_deterministic_algorithms",
        only_warns,
        lambda warns: deterministic(is_deterministic(), warn_only=warns),
    )
    for kind in ("fp16", "bf16"):
        name = f"allow_{kind}_reduced_precision_reduction"
        setter: Any = getattr(torch._C, f"_set_cublas_{name}")
        yield (
            f"torch.backends.cuda.matmul.{name}",
            getattr(torch._C, f"_get_cublas_{name}"),
            lambda state, setter=setter: setter(*state),
        )
    yield "torch.autograd.set_detect_anomaly", torch.is_anomaly_enabled, torch.set_anomaly_enabled
    yield "torch.set_num_threads", torch.get_num_threads, torch.set_num_threads
    yield (
        "torch.autograd.set_multithreading_enabled",
        torch._C._is_multithreading_enabled,
        torch._C._set_multithreading_enabled,
    )
    if hasattr(torch._C, "_get_fp32_precision_getter"):
        yield from _precisions()


SETTINGS: Final = tuple(_settings())
"""What PyTorch keeps for the whole process: its name to users, what reads it, and what sets it."""
SETTERS: Final[tuple[tuple[str, Any], ...]] = (
    ("torch.autograd.set_detect_anomaly", torch.autograd.set_detect_anomaly.__init__),
    ("torch.backends.cuda.enable_flash_sdp", torch.backends.cuda.enable_flash_sdp),
    ("torch.backends.cuda.enable_mem_efficient_sdp", torch.backends.cuda.enable_mem_efficient_sdp),
    ("torch.backends.cuda.enable_math_sdp", torch.backends.cuda.enable_math_sdp),
    ("torch.backends", torch.backends.ContextProp.__set__),
    ("torch.backends", type(torch.backends.cuda.matmul).__setattr__),
)
"""Functions by which code of users sets them; those of attributes have the name of the package."""


def autocast_settings(cast: torch.autocast) -> tuple[str, torch.dtype, bool, bool]:
    """Device, dtype, whether it casts, and whether it keeps what it cast.

    The constructor keeps the last two under private names only.
    """
    return cast.device, cast.fast_dtype, cast._enabled, cast._cache_enabled


def region_operators() -> tuple[object, object]:
    """The higher-order operators that run a subgraph under another grad mode, or under autocast."""
    return wrap_with_set_grad_enabled, wrap_with_autocast


def remember_device_constructors() -> None:
    """Let PyTorch list, once, the functions that a default device is for, as they are now.

    It keeps the list (`torch.utils._device._device_constructors`), whoever stands for one then.
    """
    importlib.import_module("torch.utils._device")._device_constructors()


def onednn_computes(dtype: torch.dtype) -> bool:
    """Whether PyTorch hands convolutions of this dtype on a CPU to oneDNN.

    Halves go there where the processor has instructions for them (`_is_mkldnn_bf16_supported`,
    `_is_mkldnn_fp16_supported`), so that machines differ.
    """
    onednn = torch.backends.mkldnn
    if dtype == torch.float64 or not (onednn.is_available() and onednn.enabled):
        return False
    if dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return dtype != torch.float16 or torch.ops.mkldnn._is_mkldnn_fp16_supported()


def default_device() -> torch.device:
    """What `torch.get_default_device()` answers, in a tenth of its time where nobody set one.

    A default device is a mode on the stack of functions (`_len_torch_function_stack`).
    """
    return torch.get_default_device() if torch._C._len_torch_function_stack() else _CPU


_CPU = torch.device("cpu")
