"""Reference counts: how many of the references to an object its own counting makes.

Measured, in the shape in which it is asked: from Python 3.14 on variables are lent to calls.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["OF_ARGUMENT", "OF_SUBSCRIPT", "OF_VARIABLE"]


def _of_variable() -> int:
    counted = object()
    return sys.getrefcount(counted)


def _of_argument(counted: Any) -> int:
    return sys.getrefcount(counted)


def _of_item(counted: list[Any]) -> int:
    return sys.getrefcount(counted[0]) - 1


def _passed() -> int:
    counted = object()
    return _of_argument(counted)


OF_VARIABLE = _of_variable()
"""Of `sys.getrefcount(variable)`: the variable's, and perhaps that of the argument."""
OF_ARGUMENT = _passed()
"""The same in a function that was given a variable of its caller."""
OF_SUBSCRIPT = _of_item([object()])
"""Of `sys.getrefcount(items[n])`, without the reference of `items`."""
