"""Builtins that compare, add or ask for truth, as Python: the interpreter runs these functions.

So every comparison, addition and condition in them is an instruction like any other.
"""

from __future__ import annotations

from typing import Any

__all__ = ["all_", "any_", "extreme", "is_", "is_not", "ordered", "ordered_in_runs", "sum_"]


def is_(left: Any, right: Any) -> Any:
    """Do what `operator.is_` does."""
    return left is right


def is_not(left: Any, right: Any) -> Any:
    """Do what `operator.is_not` does."""
    return left is not right


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


def ordered(values: list[Any], keys: list[Any]) -> list[Any]:
    """Binary insertion sort, as `sorted` does it: what rises, or falls, from the start is a run.

    So CPython sorts less than 64 values up to 3.12: with NaN among them, too, where the result is a
    matter of what is compared.
    """
    done, known = values[:1], keys[:1]
    rises = falls = True
    for i in range(1, len(values)):
        if rises or falls:
            if keys[i] < keys[i - 1]:
                rises = False
            else:
                falls = False
        if rises:
            binary_insert(done, known, values[i], keys[i], i, i)
        elif falls:
            binary_insert(done, known, values[i], keys[i], 0, 0)
        else:
            binary_insert(done, known, values[i], keys[i], 0, i)
    return done


def ordered_in_runs(values: list[Any], keys: list[Any]) -> list[Any]:
    """As `ordered`, and as CPython does it from 3.13 on: what falls may have equals in between.

    Each way of a comparison goes on by itself.
    """
    return _rising(values, keys, 1)


def _rising(values: list[Any], keys: list[Any], n: int) -> list[Any]:
    """The first `n` rise, for all that was compared."""
    if n == len(values):
        return values
    if keys[n] < keys[n - 1]:
        if n > 1 and keys[0] < keys[n - 1]:
            return _inserted(values, keys, n)
        return _falling(_turned(values, 0, n), _turned(keys, 0, n), n + 1, 0)
    return _rising(values, keys, n + 1)


def _falling(values: list[Any], keys: list[Any], n: int, equals: int) -> list[Any]:
    """The first `n` fall, and the last of them is as large as `equals` before it."""
    start = n - equals - 1
    if n < len(values):
        if keys[n] < keys[n - 1]:
            return _falling(_turned(values, start, n), _turned(keys, start, n), n + 1, 0)
        if keys[n - 1] < keys[n]:
            return _risen(values, keys, n, start)
        return _falling(values, keys, n + 1, equals + 1)
    return _risen(values, keys, n, start)


def _risen(values: list[Any], keys: list[Any], n: int, start: int) -> list[Any]:
    """The first `n` fell, the last from `start` on are equal: turned, they may rise further."""
    values, keys = _turned(values, start, n), _turned(keys, start, n)
    return _extended(_turned(values, 0, n), _turned(keys, 0, n), n)


def _extended(values: list[Any], keys: list[Any], n: int) -> list[Any]:
    if n == len(values):
        return values
    if keys[n] < keys[n - 1]:
        return _inserted(values, keys, n)
    return _extended(values, keys, n + 1)


def _inserted(values: list[Any], keys: list[Any], n: int) -> list[Any]:
    """The first `n` are in order; each of the others is inserted."""
    done, known = values[:n], keys[:n]
    for i in range(n, len(values)):
        binary_insert(done, known, values[i], keys[i], 0, i)
    return done


def _turned(values: list[Any], start: int, end: int) -> list[Any]:
    return [*values[:start], *values[start:end][::-1], *values[end:]]


def binary_insert(
    values: list[Any], keys: list[Any], value: Any, key: Any, low: int, high: int
) -> None:
    """Insert a value and its key, each way of the search by itself: where, no number says."""
    if low == high:
        values.insert(low, value)
        keys.insert(low, key)
        return
    middle = (low + high) // 2
    if key < keys[middle]:
        binary_insert(values, keys, value, key, low, middle)
    else:
        binary_insert(values, keys, value, key, middle + 1, high)
