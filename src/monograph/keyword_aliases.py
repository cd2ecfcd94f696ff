"""Keyword aliases: parameters that go on being taken under the name they had before."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def also_named(**former: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Take each parameter under its former name too: `@also_named(module="mod")`.

    Raises (a call): TypeError where one is given under both.

    >>> @also_named(colour="color")
    ... def paint(color):
    ...     return color
    >>> paint("red"), paint(color="red"), paint(colour="red")
    ('red', 'red', 'red')
    """

    def renaming(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, now in former.items():
                if name in kwargs:
                    if now in kwargs:
                        raise TypeError(f"`{name}` is another name of `{now}`: give one of them")
                    kwargs[now] = kwargs.pop(name)
            return function(*args, **kwargs)

        return called

    return renaming


__all__ = ["also_named"]
