"""The dispatcher: where operators are seen, and how to step around it."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: TC002 - others import it here

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from torch._ops import OpOverload

RANGE_OPERATORS: tuple[Any, Any] = (
    torch.ops.profiler._record_function_enter_new.default,
    torch.ops.profiler._record_function_exit._RecordFunction,
)
"""What `torch.profiler.record_function` calls to begin and to end a range."""

DISABLED_TORCH_FUNCTION: Any = torch._C._disabled_torch_function_impl
"""What a subclass sets as `__torch_function__` to cost nothing there."""

_is_alias_of: Any = getattr(torch._C, "_is_alias_of")  # noqa: B009 - the stubs do not list it

_FAKE: Final = "torch._subclasses.fake_tensor"
_DISPATCH = "__torch_dispatch__"  # the stubs of Tensor do not list it


def below_autograd() -> AbstractContextManager[None]:
    """Exclude the autograd and view-tracking keys, so that composite operators arrive whole.

    Needs `torch._C._AutoDispatchBelowADInplaceOrView`; the public `no_grad` keeps the keys.
    """
    return torch._C._AutoDispatchBelowADInplaceOrView()


def without_modes() -> AbstractContextManager[Any]:
    """Run real operators although a dispatch mode is active (`_disable_current_modes`)."""
    return _python_dispatch._disable_current_modes()


def is_default_generator(generator: torch.Generator) -> bool:
    """Whether it is PyTorch's own, which C++ wraps anew for each call (`Generator._cdata`)."""
    one, other = (getattr(each, "_cdata", None) for each in (generator, torch.default_generator))
    return one == other


def dispatch_keys() -> tuple[Any, Any]:
    """The dispatch keys that this thread includes and excludes, for `with_dispatch_keys`."""
    return torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()


def with_dispatch_keys(keys: tuple[Any, Any]) -> AbstractContextManager[None]:
    """Dispatch as it was when the keys were asked (`torch._C._ForceDispatchKeyGuard`)."""
    return torch._C._ForceDispatchKeyGuard(*keys)


def share_memory(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors have one storage (`_is_alias_of`, which asks for no address)."""
    return _is_alias_of(left, right)


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether a strided tensor has elements of its own, as what autograd takes for zero has not.

    Asks `_is_zerotensor`.
    """
    has_numbers = tensor.layout is torch.strided and not is_fake(tensor)
    return has_numbers and not tensor._is_zerotensor()


def version_of(tensor: torch.Tensor) -> int:
    """How often the tensor's memory was written to, as autograd counts it (`_version`)."""
    return tensor._version


def is_fake(tensor: torch.Tensor) -> bool:
    """Whether it is a FakeTensor: a type on a device, without numbers."""
    return type(tensor).__module__ == _FAKE


def has_no_data(tensor: torch.Tensor) -> bool:
    """Whether it is a type on a device, without numbers: a FakeTensor, or on the meta device."""
    return tensor.is_meta or is_fake(tensor)


def without_fake_mode() -> AbstractContextManager[Any]:
    """Leave `FakeTensorMode`, if this thread is in it: real tensors may be used again."""
    is_inside = any(type(mode).__module__ == _FAKE for mode in active_modes())
    return without_modes() if is_inside else nullcontext()


MODE_STACK: Final = (_python_dispatch, "_get_current_dispatch_mode_stack")
MODE_ON_TOP: Final = (_python_dispatch, "_get_current_dispatch_mode")
MODE_COUNT: Final = (torch._C, "_len_torch_dispatch_stack")
"""What tells of the dispatch modes of this thread: all, the innermost, how many."""


def address_of(tensor: torch.Tensor) -> int:
    """Where a tensor's elements begin, by the method of `torch._C.TensorBase`.

    Raises: RuntimeError (it is a wrapper subclass, or shares a storage with one).
    """
    return torch._C.TensorBase.data_ptr(tensor)


def storage_key(tensor: torch.Tensor) -> int:
    """Equal for tensors of one memory; where there is none, for those of one storage (`_cdata`)."""
    storage = tensor.untyped_storage()
    return (not is_fake(tensor) and storage.data_ptr()) or -storage._cdata


def owns_memory(tensor: torch.Tensor) -> bool:
    """Whether PyTorch allocated a tensor's memory (`UntypedStorage.resizable`), not NumPy."""
    return torch._C.TensorBase.untyped_storage(tensor).resizable()


def active_modes() -> list[TorchDispatchMode]:
    """The dispatch modes of this thread (`_get_current_dispatch_mode_stack`)."""
    return _python_dispatch._get_current_dispatch_mode_stack()


n_function_modes: Callable[[], int] = torch._C._len_torch_function_stack
n_dispatch_modes: Callable[[], int] = torch._C._len_torch_dispatch_stack
"""How many modes this thread is in; the recorder of a capture is one of the latter."""


FUNCTION_RECORD: type = type(getattr(torch._C._get_tracing_state, "__self__"))  # noqa: B009
"""What functions of torch in C are bound to (pybind11), `_get_tracing_state` among them."""


def modes() -> list[Any]:
    """The modes of this thread, of functions and of operators (`_get_function_stack_at`)."""
    functions = map(torch._C._get_function_stack_at, range(n_function_modes()))
    return [*functions, *active_modes()]


def without_dispatch() -> AbstractContextManager[Any]:
    """Run the C++ kernels of a wrapper subclass on its own metadata (`_DisableTorchDispatch`)."""
    return torch._C._DisableTorchDispatch()


def python_dispatcher() -> AbstractContextManager[Any]:
    """Prefer torch's Python decompositions and meta kernels: they accept symbolic sizes."""
    from torch._dispatch.python import enable_python_dispatcher  # noqa: PLC0415 - imports sympy

    return enable_python_dispatcher()


def make_static_wrapper(
    cls: type[torch.Tensor],
    shape: Any,
    strides: Any,
    offset: Any,
    dtype: torch.dtype,
    device: torch.device,
) -> Any:
    """A data-free tensor subclass that knows its sizes, which are all ints, in C++.

    Asked for its address, C++ raises (`_set_throw_on_mutable_data_ptr`). `storage_size` lets
    `restride` make it larger.
    """
    begin = None if strides is None else offset
    made = torch.Tensor._make_wrapper_subclass(
        cls, shape, strides, begin, dtype=dtype, device=device, storage_size=1 << 60
    )
    torch._C._set_throw_on_mutable_data_ptr(made)
    return made


def make_wrapper(
    cls: type[torch.Tensor], size: Any, dtype: torch.dtype, device: torch.device
) -> Any:
    """A tensor subclass without data, of a class that handles operators itself."""
    return torch.Tensor._make_wrapper_subclass(cls, size, dtype=dtype, device=device)


def coordinates_of(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the values of a COO tensor stand, and what they are, also of one not coalesced."""
    return matrix._indices(), matrix._values()


_ONES = tuple((1,) * n for n in range(65))


def make_symbolic_wrapper(
    cls: type[torch.Tensor], rank: int, dtype: torch.dtype, device: torch.device
) -> Any:
    """A data-free tensor subclass whose sizes are asked of Python ("sizes" policy).

    `storage_size=0` keeps C++ from multiplying sizes out (27 microseconds otherwise).
    """
    made = torch.Tensor._make_wrapper_subclass(
        cls,
        _ONES[rank],
        dtype=dtype,
        device=device,
        dispatch_sizes_strides_policy="sizes",
        storage_size=0,
    )
    torch._C._set_throw_on_mutable_data_ptr(made)
    return made


def schema_of(overload: OpOverload) -> Any:
    """The operator's schema (`OpOverload._schema`)."""
    return overload._schema


def overloads_named(namespace: str, name: str) -> list[OpOverload]:
    """All overloads of `torch.ops.<namespace>.<name>`, none if there is no such operator."""
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return [] if packet is None else [getattr(packet, overload) for overload in packet.overloads()]


def overload_taking(name: str, args: Any, kwargs: Any) -> OpOverload | None:
    """The overload of `torch.ops.aten.<name>` that takes these (`_jit_resolve_packet`), if any."""
    try:
        found = torch._C._jit_resolve_packet(f"aten::{name}", *args, **kwargs)
    except RuntimeError:
        return None
    return getattr(getattr(torch.ops.aten, name), found)


def has_kernel(overload: OpOverload, key: str) -> bool:
    """Whether a kernel is registered for a dispatch key; operators of TorchScript have none."""
    name = overload.name()
    if not torch._C._dispatch_has_kernel(name):
        return False
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)


def is_composite(overload: OpOverload) -> bool:
    """Whether autograd takes an operator apart into others (`_can_decompose`)."""
    return overload._can_decompose()


def has_own_dispatch(tensor: torch.Tensor) -> bool:
    """Whether a tensor is of a subclass that handles operators itself."""
    own = getattr(type(tensor), _DISPATCH) is not getattr(torch.Tensor, _DISPATCH)
    return own and not is_fake(tensor)


def has_own_functions(tensor: torch.Tensor) -> bool:
    """Whether results of functions on this tensor have its class (`__torch_function__`)."""
    kind = type(tensor)
    return kind is not torch.Tensor and kind.__torch_function__ is not DISABLED_TORCH_FUNCTION


class _Empty:
    """What every class has for itself, in this version of Python."""

    annotated: int


_OF_OBJECTS: Final = frozenset(
    {
        *("__class_getitem__", "__copy__", "__deepcopy__", "__getstate__", "__init__"),
        *("__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__repr__"),
        *("__setstate__", "__slots__", "__str__", "__torch_dispatch__", "__torch_function__"),
        *("__annotate_func__", "__annotations_cache__"),  # of Python 3.14
    }
)
"""What classes of tensors have for themselves, and no operator asks."""
_METHODS: Final = frozenset(dir(torch.Tensor)) - _OF_OBJECTS - vars(_Empty).keys()


def overrides_methods(kind: type) -> bool:
    """Whether a class without functions of its own puts others in the place of tensors' methods."""
    own = takewhile(lambda cls: not f"{cls.__module__}.".startswith("torch."), kind.__mro__)
    return any(vars(cls).keys() & _METHODS for cls in own)


def is_plain_tensor(value: Any) -> bool:
    """Whether it is a tensor that leaves the class of results to the functions."""
    return isinstance(value, torch.Tensor) and not has_own_functions(value)


def restride(tensor: torch.Tensor, shape: Any, strides: Any, offset: Any) -> None:
    """Give a wrapper subclass other sizes and strides after `t_`, `unsqueeze_` and relatives.

    Needs `_DisableTorchDispatch`: `as_strided_` then changes the C++ metadata; there is no data.
    Raises: capture-failed (C++ keeps fixed sizes alone, and these vary).
    """
    if any(type(each) is not int for each in (*shape, *strides, offset)):
        raise problem("capture-failed", error="a tensor of fixed sizes gets sizes that vary")
    with without_dispatch(), torch.no_grad():
        torch.Tensor.as_strided_(tensor, shape, strides, offset)
