"""Builtins that compare, add or ask for truth, as Python: the interpreter runs these functions.

So every comparison, addition and condition in them is an instruction like any other.
"""

from __future__ import annotations

from typing import Any

__all__ = ["all_", "any_", "extreme", "sum_"]


def all_(iterable: Any) -> bool:
    """Do what `all` does."""
    for value in iterable:  # noqa: SIM110  (this is what `all` means)
        if not value:
            return False
    return True


def any_(iterable: Any) -> bool:
    """Do what `any` does."""
    for value in iterable:  # noqa: SIM110  (this is what `any` means)
        if value:
            return True
    return False


def sum_(iterable: Any, start: Any) -> Any:
    """Do what `sum` does."""
    total = start
    for value in iterable:
        total = total + value
    return total


def extreme(iterable: Any, key: Any, is_min: Any, missing: Any, default: Any) -> Any:
    """Do what `min` and `max` do; `default` is `missing` where the caller gave none."""
    best = best_key = missing
    for value in iterable:
        value_key = value if key is None else key(value)
        if best_key is missing or (value_key < best_key if is_min else value_key > best_key):
            best, best_key = value, value_key
    return default if best is missing else best
