"""Arguments of operator calls while they are lowered: nested, with nodes and aliases."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.host.dispatch import schema_of
from monograph.integers import Expr
from monograph.passes.functionalization.functionalize import Alias
from monograph.passes.graph_builder import is_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.host.operator_types import OpOverload


def mapped(arg: Any, env: Mapping[Node, Any]) -> Any:
    """An argument with nodes replaced by what stands for them."""
    cls = type(arg)
    if cls is Node:
        return env[arg]
    if isinstance(arg, list | tuple):
        return [mapped(item, env) for item in arg]
    return arg


def gather(value: Any, tensors: list[Any]) -> None:
    """Collect the tensors of nested arguments, in order."""
    for item in value:
        if item.__class__ is Alias or is_tensor(item):
            tensors.append(item)
        elif isinstance(item, list | tuple):
            gather(item, tensors)


def any_alias(value: Any) -> bool:
    """Whether nested arguments hold an alias."""
    for item in value:
        cls = type(item)
        if cls is Alias or ((cls is list or cls is tuple) and any_alias(item)):
            return True
    return False


def call_key(overload: OpOverload, types: Any, keywords: dict[str, Any], regions: Any) -> Any:
    """What a formula's course depends on: hashable, equal for equal calls."""
    key: list[Any] = [id(overload), regions, torch.is_grad_enabled()]
    key += [_frozen(value) for value in types]
    for name, value in keywords.items():
        key += [name, _frozen(value)]
    return tuple(key)


def _frozen(value: Any) -> Any:
    cls = type(value)
    if cls is int or cls is Expr or value is None:
        return value
    if cls is float or cls is bool or cls is complex:
        return (cls, repr(value))
    if isinstance(value, list | tuple):
        return tuple([_frozen(item) for item in value])
    return getattr(value, "key", value)


def as_called(overload: OpOverload, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments by name as (positional, keywords) of an overload with the same arguments."""
    n_positional, keyword_only = _places(overload)
    positional = [value for name, value in given.items() if name not in keyword_only]
    assert len(positional) <= n_positional, "the forms have the same arguments"
    return tuple(positional), {n: v for n, v in given.items() if n in keyword_only}


@cache
def _places(overload: OpOverload) -> tuple[int, frozenset[str]]:
    """How many arguments may be positional, and the names of the others."""
    arguments = schema_of(overload).arguments
    keyword_only = frozenset(a.name for a in arguments if a.kwarg_only)
    return len(arguments) - len(keyword_only), keyword_only
