"""Which argument each example input is: by name, as `forward` binds them.

Two orders matter. Inputs are flattened in the order in which they are given, positional ones first;
a declaration by position follows the order of the signature. `Arguments` keeps both.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.diagnostics import MonographError


@dataclass(frozen=True, slots=True)
class Arguments:
    """Example inputs by name.

    `by_name` is in the order in which `(args, kwargs)` is flattened. `in_signature` lists the same
    names in the order of the signature; what `**kwargs` gathers comes last, and `gathered` is what
    the signature calls that, "" where it has none.
    """

    by_name: dict[str, Any]
    in_signature: tuple[str, ...]
    gathered: str = ""
    extra: frozenset[str] = frozenset()


def bind(
    module: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The example inputs by name, in the order in which `(args, kwargs)` is flattened.

    Extra positional arguments are one entry under the name of `*args`; keyword arguments that
    `forward` gathers in `**kwargs` keep their own names.

    Raises: forward-rejects-inputs.

    >>> bind(lambda x, *rest, mask=None: x, (1, 2, 3), {"mask": 4})
    {'x': 1, 'rest': (2, 3), 'mask': 4}
    """
    return bound_arguments(module, args, kwargs).by_name


def bound_arguments(
    module: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Arguments:
    """The example inputs by name, in both orders.

    Raises: forward-rejects-inputs.

    >>> bound_arguments(lambda x, y, z: x, (1,), {"z": 3, "y": 2}).in_signature
    ('x', 'y', 'z')
    """
    function = module.forward if isinstance(module, torch.nn.Module) else module
    signature = None
    try:
        try:
            signature = inspect.signature(function)
        except ValueError:  # written in C, it does not say
            signature = inspect.signature(_anything)
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _rejected(signature, args, kwargs, str(error)) from None
    by_name: dict[str, Any] = {}
    rest = len(args)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if rest > 0:
                by_name[name] = args[len(args) - rest :]
            break
        if parameter.kind is parameter.KEYWORD_ONLY or rest == 0:
            break
        by_name[name] = bound.arguments[name]
        rest -= 1
    twice = by_name.keys() & kwargs.keys()
    if twice:  # Python takes them apart: one is positional, or gathered in `*args`
        reason = f"a program's inputs have names, and `{twice.pop()}` would be that of two"
        raise _rejected(signature, args, kwargs, reason)
    by_name.update(kwargs)
    last = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), "")
    in_signature = [name for name in bound.arguments if name in by_name and name != last]
    extra = [name for name in by_name if name not in in_signature]
    return Arguments(by_name, (*in_signature, *extra), last, frozenset(extra))


def _rejected(
    signature: inspect.Signature | None,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    reason: str,
) -> MonographError:
    given = ", ".join([type(a).__name__ for a in args] + [f"{k}=" for k in kwargs])
    taken = f"forward{signature or '(...)'}"
    return problem("forward-rejects-inputs", signature=taken, given=f"({given})", reason=reason)


def _anything(*args: Any, **kwargs: Any) -> Any:
    """Has the signature of a function that takes what it is given."""


__all__ = ["Arguments", "bind", "bound_arguments"]
