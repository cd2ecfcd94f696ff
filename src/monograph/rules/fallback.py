"""Result types of operators without a rule: torch's own meta kernels are asked.

Static types run the meta kernel on data-free `meta` tensors. Symbolic ones run the same under the
Python dispatcher, whose decompositions and `_refs` accept symbolic sizes; the questions those ask
about sizes are answered by `SymbolNode`, so every assumption becomes a guard. Fake kernels of
custom operators are meta kernels too. Slower than a rule by 18 to 40 times, hence the memo.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor_type import TensorType, unusual_layout
from monograph.diagnostics import MonographError, problem
from monograph.host.dispatch import TorchDispatchMode, has_kernel, python_dispatcher, schema_of
from monograph.host.fake_kernels import context_given
from monograph.host.flags import default_device
from monograph.integers import Expr, Real, Relation
from monograph.rules.fake_kernel_context import FakeKernelContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monograph.host.operator_types import OpOverload

_META = torch.device("meta")
_SYMBOLIC = (Expr, Real, Relation)
_OF_TORCH = frozenset({"aten", "prims"})
_MADE: Final = (
    (re.compile("aten::(quantize|_make)_per_"), "quantised"),
    (re.compile("aten::_?to_sparse"), "sparse"),
    (re.compile("aten::_nested_"), "nested"),
    (re.compile("aten::to_mkldnn$"), "packed (_mkldnn)"),
)
"""What operators of these names make. Their meta kernels say something else, or there are none."""
_NO_FAKE_KERNEL = "There was no fake impl registered"
"""What the meta kernel of `torch.library.custom_op` raises until somebody registers one."""


class Memo:
    """Results per (operator, argument types) within one capture."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def infer(self, overload: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """See `infer`. Raises: unsupported-operator, operator-refused-types, unsupported-layout."""
        key = (id(overload), _frozen(args), _frozen(kwargs))
        try:
            found = self._known.get(key, self)
        except TypeError:
            return infer(overload, args, kwargs, FakeKernelContext(overload.name()))
        if found is self:
            context = FakeKernelContext(overload.name())
            found = infer(overload, args, kwargs, context)
            if context.made:
                return found  # the next call's sizes are others
            self._known[key] = found
        return _each(_copied, found)


def _copied(t: Any) -> Any:
    if isinstance(t, TensorType):
        return TensorType(t.shape, t.dtype, t.device, t.strides, t.offset)
    return t


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple((name, _frozen(item)) for name, item in value.items())
    if isinstance(value, float | bool):
        return (type(value), repr(value))
    return value


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_each(function, item) for item in value)
    return function(value)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_mapped(function, item) for item in value]
    return function(value)


def _mentions_symbols(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_mentions_symbols(item) for item in value)
    if isinstance(value, TensorType):
        sizes = (*value.shape, *(value.strides or ()), value.offset)
        return any(type(size) is not int for size in sizes)
    return isinstance(value, _SYMBOLIC)


class _FactoriesOnMeta(TorchDispatchMode):
    """Keeps decompositions data-free: a factory they call makes a meta tensor as well."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if "device" in kwargs and not any(isinstance(a, torch.Tensor) for a in args):
            kwargs = {**kwargs, "device": _META}
        return func(*args, **kwargs)


def infer(
    overload: OpOverload,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    context: FakeKernelContext | None = None,
) -> Any:
    """Types of `overload(*args, **kwargs)`, where TensorTypes stand for tensors.

    `context` is what the fake kernel of a custom operator gets from `torch.library.get_ctx()`.

    Raises: unsupported-operator (no meta kernel), operator-refused-types (the kernel refuses),
        unsupported-layout.
    """
    _need_plain_numbers(overload)
    device = _device_of(args, kwargs)
    meta_args = [_mapped(_to_meta, arg) for arg in args]
    meta_kwargs = {name: _mapped(_to_meta, arg) for name, arg in kwargs.items()}
    if isinstance(meta_kwargs.get("device"), torch.device | str):
        meta_kwargs["device"] = _META
    symbolic = _mentions_symbols(list(args)) or _mentions_symbols(list(kwargs.values()))
    is_custom = overload.namespace not in _OF_TORCH
    try:
        with _FactoriesOnMeta(), ExitStack() as stack:
            if symbolic:
                stack.enter_context(python_dispatcher())
            if is_custom and context is not None:
                by_default = _META if device == default_device() else None
                stack.enter_context(context_given(context, by_default))
            result = overload(*meta_args, **meta_kwargs)
    except MonographError:
        raise
    except NotImplementedError as error:
        custom = is_custom and not has_kernel(overload, "Meta")
        raise _unknown(overload, str(error).splitlines()[0], custom=custom) from error
    except Exception as error:
        if isinstance(error.__cause__, MonographError):
            raise error.__cause__ from None
        if _NO_FAKE_KERNEL in str(error):
            raise _unknown(overload, "it has no fake kernel", custom=True) from None
        raise problem("operator-refused-types", op=str(overload), reason=str(error)) from error
    if context is not None:
        context.state_bounds()
    return _each(lambda value: _from_meta(value, device, overload), result)


def other_layout(overload: OpOverload) -> str | None:
    """What kind of tensor the operator makes, if none that a type describes."""
    name = overload.name()
    return next((layout for names, layout in _MADE if names.match(name)), None)


def _need_plain_numbers(overload: OpOverload) -> None:
    layout = other_layout(overload)
    if layout is not None:
        what = f"the result of `{overload.name()}`"
        raise problem("unsupported-layout", what=what, layout=layout)


def _unknown(overload: OpOverload, reason: str, *, custom: bool) -> MonographError:
    name, signature = overload.name(), ", ".join(a.name for a in schema_of(overload).arguments)
    return problem(
        "unsupported-operator", op=name, reason=reason, custom=custom, signature=signature
    )


def _to_meta(value: Any) -> Any:
    if isinstance(value, TensorType):
        return torch.empty_strided(
            tuple(to_sym(size) for size in value.shape),
            tuple(to_sym(stride) for stride in value.stride()),
            dtype=value.dtype,
            device=_META,
        )
    return to_sym(value) if isinstance(value, _SYMBOLIC) else value


def _from_meta(value: Any, device: torch.device, overload: OpOverload) -> Any:
    if isinstance(value, torch.Tensor):
        layout = unusual_layout(value)
        if layout is not None:
            what = f"the result of `{overload.name()}`"
            raise problem("unsupported-layout", what=what, layout=layout)
        shape = tuple(to_python(size) for size in value.shape)
        strides = tuple(to_python(step) for step in value.stride())
        static = all(type(size) is int for size in shape)
        if static and value.is_contiguous():
            strides = None
        offset = to_python(value.storage_offset())
        return TensorType(shape, value.dtype, device, strides, offset)
    return to_python(value)


def _device_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device:
    """Where the result lies: the `device` argument, else the first tensor with dimensions."""
    explicit = kwargs.get("device")
    if explicit is not None:
        return torch.device(explicit)
    tensors = [t for arg in (*args, *kwargs.values()) for t in _tensors(arg)]
    for t in tensors:
        if t.shape or t.device.type != "cpu":
            return t.device
    return tensors[0].device if tensors else torch.device("cpu")


def _tensors(value: Any) -> list[TensorType]:
    if isinstance(value, TensorType):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in _tensors(item)]
    return []


__all__ = ["Memo", "infer", "other_layout"]
