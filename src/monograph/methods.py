"""Multi-entry export: several methods or functions of one module, captured over one state."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch

from monograph.api import export
from monograph.diagnostics import problem
from monograph.program.transforms.root_renaming import without_prefix
from monograph.programs import Programs, entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.program import ExportedProgram

    Function = str | Callable[..., Any]

_PREFIX = "model"


@dataclass(frozen=True, slots=True)
class EntryCall:
    """An example call of one entry, and what of the model is called: None says its name does."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    function: Function | None = None

    def of(self, function: Function) -> EntryCall:
        """Say what is called: a method by name, or a function whose first argument is the model."""
        return replace(self, function=function)


def call(*args: Any, **kwargs: Any) -> EntryCall:
    """The example inputs of an entry: `call(x, mask=m)`, or `call(x).of("encode")`."""
    return EntryCall(args, kwargs)


def export_methods(
    model: torch.nn.Module,
    entries: Mapping[str, EntryCall],
    *,
    dynamic_shapes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Programs:
    """Capture several methods of a module as programs that share its parameters and buffers.

    An entry calls the method that `call(...).of(...)` names: by its name (`"encode"`, also of a
    submodule: `"vision.encode"`), or as a function that is given the model first. Without `of` it
    is the method called as the entry is, and `forward` where the model has none of that name.
    `dynamic_shapes` holds a declaration for each entry, as `export` takes it; a size of one name
    has one range in all of them. `options` are those of `export`.

    Shapes: any pytree of tensors and constants → any pytree, for each entry.
    Raises: as `export`, with the name of the entry; entry-not-found,
        not-a-module, spec-dim-conflict.
    """
    declared = dict(dynamic_shapes or {})
    unknown = [name for name in declared if name not in entries]
    if unknown:
        reason = f"`dynamic_shapes` names it, and the entries are {', '.join(entries)}"
        raise problem("entry-not-found", entry=unknown[0], reason=reason)
    programs: dict[str, ExportedProgram] = {}
    functions: dict[str, Any] = {}
    for name, example in entries.items():
        with entry(name):
            if not name.isidentifier():
                raise problem("entry-not-found", entry=name, reason="it is no identifier")
            functions[name] = name if example.function is None else example.function
            module = method_module(model, functions[name], is_guess=example.function is None)
            found = export(
                module,
                example.args,
                example.kwargs,
                dynamic_shapes=declared.get(name),
                **options,
            )
            programs[name] = found if module is model else without_prefix(found, _PREFIX)
    made = Programs(programs, functions)
    _check_sizes(made)
    return made


def _check_sizes(programs: Programs) -> None:
    """Hold that a name is one size: it has one range, whichever entry it is in."""
    for size, entries in programs.sizes.items():
        (first, span), *others = entries.items()
        for name, other in others:
            if other != span:
                raise problem(
                    "spec-dim-conflict",
                    dim=size,
                    first=span,
                    second=other,
                    first_path=first,
                    second_path=name,
                )


class MethodModule(torch.nn.Module):
    """Stands for a module while a method or a function of it is captured as `forward`."""

    def __init__(self, model: torch.nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        self.forward = function
        self.training = model.training

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """The model's, by its names."""
        return self.model.named_parameters(*args, **kwargs)

    def named_buffers(self, *args: Any, **kwargs: Any) -> Any:
        """The model's, by its names."""
        return self.model.named_buffers(*args, **kwargs)


def method_module(model: Any, function: Function, *, is_guess: bool = False) -> torch.nn.Module:
    """What is captured for an entry: the model itself, or what stands for it.

    Where it is a guess that a method has the entry's name, `forward` is called if none has.

    Raises: entry-not-found, not-a-module.
    """
    if not isinstance(model, torch.nn.Module):
        raise problem("not-a-module", given=model)
    found: Any = function
    if isinstance(function, str):
        found = _attribute(model, function)
        if found is None and is_guess:
            return model
        if not callable(found):
            reason = "the model has none" if found is None else "it is not callable"
            raise problem("entry-not-found", entry=function, reason=reason)
    if found is model or (getattr(found, "__self__", None) is model and found == model.forward):
        return model
    return MethodModule(model, _as_function(model, found, by_name=isinstance(function, str)))


def _attribute(model: torch.nn.Module, path: str) -> Any:
    try:
        return attrgetter(path)(model)
    except AttributeError:
        return None


def _as_function(model: torch.nn.Module, found: Any, *, by_name: bool) -> Callable[..., Any]:
    """The function with the model given, where it is to be."""
    if isinstance(found, torch.nn.Module) and by_name:
        inner = found

        def call_submodule(*args: Any, **kwargs: Any) -> Any:
            return inner(*args, **kwargs)

        call_submodule.__signature__ = inspect.signature(inner.forward)  # pyright: ignore[reportFunctionMemberAccess] - inspect looks there
        return call_submodule
    if isinstance(found, torch.nn.Module):
        reason = "it is a module, which is not called with the model: name its path"
        raise problem("entry-not-found", entry=type(found).__name__, reason=reason)
    owner = getattr(found, "__self__", None)
    if by_name or any(owner is each for each in model.modules()):
        return found
    return MethodType(found, model)


__all__ = ["EntryCall", "MethodModule", "call", "export_methods", "method_module"]
