"""Source of pytree structures: how inputs and results are built, and taken apart."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.program.python_source.layout import Bracketed, one_line
from monograph.program.python_source.values import constant, named, sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.program.python_source.layout import Text
    from monograph.program.signature import CallNames

_DICTS: tuple[Any, ...] = (dict, OrderedDict)


def built(spec: Any, leaves: Iterator[Text], names: Callable[[type], str]) -> Text:
    """The expression that builds a structure; `names` says how a class is called in the text.

    Raises: program-not-spelt.
    """
    if spec.is_leaf():
        return next(leaves)
    children = [built(child, leaves, names) for child in spec.children()]
    kind: Any = spec.type
    if kind is tuple:
        return Bracketed("", tuple(children), "()", is_tuple=True)
    if kind is torch.Size:
        return Bracketed("torch.Size", (Bracketed("", tuple(children), "[]"),))
    if kind is list:
        return Bracketed("", tuple(children), "[]")
    if kind in _DICTS:
        keys = [constant(key)[0] for key in spec.context]
        items = tuple(_item(key, child) for key, child in zip(keys, children, strict=True))
        inside = Bracketed("", items, "{}")
        return inside if kind is dict else Bracketed(names(OrderedDict), (inside,))
    if kind is type(None) and not children:
        return "None"
    return _registered(spec, children, names)


def _item(key: str, value: Text) -> Text:
    if isinstance(value, str):
        return f"{key}: {value}"
    return dataclasses.replace(value, before=f"{key}: {value.before}")


def _registered(spec: Any, children: list[Text], names: Callable[[type], str]) -> Text:
    kind, context = spec.type, spec.context
    if _is_named_tuple(spec):
        return Bracketed(names(context), tuple(children))
    if _is_registered_dataclass(spec):
        fields, absent = context
        given = [named(name, child) for name, child in zip(fields, children, strict=True)]
        given += [f"{name}=None" for name in absent]
        return Bracketed(names(kind), tuple(given))
    text = one_line(_literal(context, kind))
    head = f"pytree.SUPPORTED_NODES[{names(kind)}].unflatten_fn"
    return Bracketed(head, (Bracketed("", tuple(children), "[]"), text))


def _literal(value: Any, kind: type) -> Text:
    """What a registered type keeps beside its children.

    Raises: program-not-spelt.
    """
    if type(value) is list or type(value) is tuple:
        return sequence(value, [_literal(each, kind) for each in value])
    if type(value) is dict:
        items = tuple(_item(str(constant(k)[0]), _literal(v, kind)) for k, v in value.items())
        return Bracketed("", items, "{}")
    if value is not None and type(value) not in {bool, int, float, str}:
        raise problem("program-not-spelt", what=f"a structure of type {kind.__qualname__}")
    return constant(value)[0]


def _is_named_tuple(spec: Any) -> bool:
    return isinstance(spec.context, type) and hasattr(spec.context, "_fields")


def _is_registered_dataclass(spec: Any) -> bool:
    """Whether a context is what `register_dataclass` keeps: names of fields, and of those None."""
    context = spec.context
    return (
        dataclasses.is_dataclass(spec.type)
        and isinstance(context, list | tuple)
        and len(context) == 2
        and all(isinstance(part, list | tuple) for part in context)
        and len(context[0]) == spec.num_children
    )


def leaf_paths(root: str, spec: Any) -> Iterator[str] | None:
    """How each leaf of a structure is reached from its root; None where that has no spelling."""
    if spec.is_leaf():
        return iter((root,))
    steps = _steps(spec)
    if steps is None:
        return None
    found: list[str] = []
    for step, child in zip(steps, spec.children(), strict=True):
        inside = leaf_paths(f"{root}{step}", child)
        if inside is None:
            return None
        found += inside
    return iter(found)


def structure_conditions(root: str, spec: Any, names: Callable[[type], str]) -> Iterator[str]:
    """What must hold so that the paths of a structure are all there is in it."""
    if spec.is_leaf():
        return
    kind: Any = spec.type
    if kind in _DICTS:
        keys = ", ".join([str(constant(key)[0]) for key in spec.context])
        yield f"type({root}) is {_name(kind, names)} and list({root}) == [{keys}]"
        if any(type(key) is not str for key in spec.context):
            types = ", ".join([type(key).__name__ for key in spec.context])
            yield f"[type(key) for key in {root}] == [{types}]"
    elif kind is tuple or kind is list:
        yield f"type({root}) is {kind.__name__} and len({root}) == {spec.num_children}"
    else:
        yield f"type({root}) is {names(spec.context if isinstance(spec.context, type) else kind)}"
    for step, child in zip(_steps(spec) or (), spec.children(), strict=True):
        yield from structure_conditions(f"{root}{step}", child, names)


def length_conditions(names: CallNames) -> list[str]:
    """Assert that there are no arguments beyond those that are taken."""
    keywords = ", ".join([json.dumps(name) for name in names.keywords])
    expected = f"{{{keywords}}}" if keywords else "set()"
    return [f"assert len(args) == {len(names.positional)}", f"assert set(kwargs) == {expected}"]


def _name(kind: Any, names: Callable[[type], str]) -> str:
    return "dict" if kind is dict else names(kind)


def _steps(spec: Any) -> list[str] | None:
    kind: Any = spec.type
    context: Any = spec.context
    if kind is tuple or kind is list:
        return [f"[{index}]" for index in range(spec.num_children)]
    if kind in _DICTS:
        return [f"[{constant(key)[0]}]" for key in context]
    if _is_named_tuple(spec):
        return [f".{name}" for name in context._fields]
    if _is_registered_dataclass(spec):
        return [f".{name}" for name in context[0]]
    return None


def importable(kind: type) -> bool:
    """Whether a class is found again under its module and name."""
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        return False
    found: Any = sys.modules.get(kind.__module__)  # a module not imported, nobody imports for this
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind


__all__ = ["built", "importable", "leaf_paths", "length_conditions", "structure_conditions"]
