"""Plain data: values that C looks into, compares and takes as indexes without asking user code."""

from __future__ import annotations

from collections import OrderedDict
from types import FunctionType
from typing import Any, Final

import torch

from monograph.bytecode.evaluation.special_methods import lookup
from monograph.jit.guard_code import ATOMS, CONTAINERS, is_constant, is_odd
from monograph.jit.recording import NotRecordable
from monograph.jit.state_recipes import ITERATORS

__all__ = ["DICT_VIEWS", "check_index", "is_plain_data"]


DICT_VIEWS: Final = tuple(
    type(getattr(kind(), name)())
    for kind in (dict, OrderedDict)
    for name in ("keys", "items", "values")
)


def is_plain_data(value: Any, *, compared: bool = False) -> bool:
    """Whether a value is plain, with all it holds: it has a text of its own.

    What is `compared` may be known by its identity, too, if that is guarded.
    """
    kind = type(value)
    if kind is slice:
        return not is_odd(value)
    if kind in ATOMS or isinstance(value, torch.dtype | torch.device):
        return True
    if kind in CONTAINERS:
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return all(is_plain_data(item, compared=compared) for item in items)
    if kind in DICT_VIEWS:
        return all(is_plain_data(item, compared=compared) for item in value)
    if kind in ITERATORS:
        return all(is_plain_data(item, compared=compared) for item in value.__reduce__()[1])
    return compared and is_constant(value)


def check_index(owner: Any, *keys: Any) -> None:
    """Raises: NotRecordable, where C asks an object for the number that it is as an index."""
    if type(lookup(type(owner), "__getitem__")) is not FunctionType:
        for key in keys:
            if not is_plain_data(key, compared=True):
                raise NotRecordable(f"an index of type `{type(key).__name__}`")
