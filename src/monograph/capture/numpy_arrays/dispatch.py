"""The dispatch of NumPy's functions: tables of what records operators in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

__all__ = ["FUNCTIONS", "UFUNCS", "NotRecorded", "records"]

Function = TypeVar("Function", bound="Callable[..., Any]")


class NotRecorded(Exception):  # noqa: N818 - answered within this package, never raised to users
    """No operator of a graph does what NumPy was asked for."""


FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {}
"""By a function of NumPy: what takes its arguments and records operators."""
UFUNCS: Final[dict[np.ufunc, Callable[..., Any]]] = {}
"""By a ufunc: what takes tensors of its loop's dtypes."""


def records(*originals: Any) -> Callable[[Function], Function]:
    """Let the function below stand for these functions of NumPy."""

    def enter(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(originals, function))
        return function

    return enter
