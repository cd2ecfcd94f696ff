"""Reference counts: how many of the references to an object its own counting makes.

Measured, in the shape in which it is asked: from Python 3.14 on variables are lent to calls. Calls
of Python give theirs away, unless somebody evaluates frames (PEP 523), as torch._dynamo does for as
long as it compiles; so what a call adds is measured when it is asked.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["OF_SUBSCRIPT", "OF_VARIABLE", "of_argument"]


def _of_variable() -> int:
    counted = object()
    return sys.getrefcount(counted)


def _of_argument(counted: Any) -> int:
    return sys.getrefcount(counted)


def _of_item(counted: list[Any]) -> int:
    return sys.getrefcount(counted[0]) - 1


def of_argument() -> int:
    """Of `sys.getrefcount(argument)`, in a function that was given a variable of its caller."""
    counted = object()
    return _of_argument(counted)


OF_VARIABLE = _of_variable()
"""Of `sys.getrefcount(variable)`: the variable's, and perhaps that of the argument."""
OF_SUBSCRIPT = _of_item([object()])
"""Of `sys.getrefcount(items[n])`, without the reference of `items`."""
