"""Chosen object: one of two functions, modules or other callables; a condition on data says which.

What a program does with one is done with either, as the sides of a branch: calling it, and reading
its attributes. Any other use would have to know which it is, and is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from monograph.abstract.number_methods import plain

if TYPE_CHECKING:
    from collections.abc import Callable


class Choice(NamedTuple):
    """Two callables, which is chosen, by what number, and how an attribute of it is read."""

    number: Any
    is_below: Any
    below: Any
    above: Any
    read: Callable[[Choice, str], Any]


class ChosenObject:
    """One of two callables."""

    __slots__ = ("_choice",)

    def __init__(self, choice: Choice) -> None:
        object.__setattr__(self, "_choice", choice)

    def __getattribute__(self, name: str) -> Any:
        """The attribute of either; the class of both. Raises: specialized-value."""
        choice = choice_of(self)
        if name != "__class__":
            return choice.read(choice, name)
        kinds = {each.__class__ for each in (choice.below, choice.above)}
        return kinds.pop() if len(kinds) == 1 else refused(self)


def choice_of(chosen: ChosenObject) -> Choice:
    """What an object was chosen from."""
    return object.__getattribute__(chosen, "_choice")


def refused(chosen: ChosenObject, *_: Any, **__: Any) -> NoReturn:
    """Ask for the plain number, which is not known. Raises: specialized-value."""
    plain(choice_of(chosen).number)
    raise AssertionError("what data decide has no plain value")


_USES: Final = (
    *("bool", "bytes", "call", "complex", "contains", "delattr", "delitem", "enter", "eq", "exit"),
    *("float", "format", "ge", "getitem", "gt", "hash", "index", "int", "iter", "le", "len", "lt"),
    *("ne", "next", "reduce_ex", "repr", "setattr", "setitem", "str"),
)
for _name in _USES:
    setattr(ChosenObject, f"__{_name}__", refused)

__all__ = ["Choice", "ChosenObject", "choice_of", "refused"]
