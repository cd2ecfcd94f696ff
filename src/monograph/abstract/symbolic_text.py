"""Deferred text: what formatting makes of numbers and tensors that only the run tells.

Text that nobody but people reads decides nothing: a message, a log, a variable that is not used. So
formatting is put off: a `SymbolicText` holds what would be called, on what. Whoever reads it (its
length, its letters, whether it equals another) has it made then, of plain numbers, which guards fix
or which are refused. It is no `str`: C, which would read the letters themselves, takes none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.number_methods import plain
from monograph.abstract.symbols import SymbolNode, is_shown, showing
from monograph.abstract.tensor import AbstractTensor
from monograph.integers import has_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
_PLAIN: Final = frozenset(
    {
        *(bool, bytes, complex, float, int, range, str, type, type(None)),
        *(torch.device, torch.dtype, torch.layout, torch.memory_format),
    }
)
_OF_ONE: Final = (str, repr, format)
_MOST: Final = 1000
"""So many values of a container are looked at."""


class SymbolicText:
    """A text that is not made yet: `function(*args, **kwargs)` makes it."""

    __slots__ = ("_args", "_function", "_kwargs")

    def __init__(
        self,
        function: Callable[..., str],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self._function = function
        self._args = args
        self._kwargs = kwargs or {}

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride] - as numbers say
        """What it stands for."""
        return str

    def text(self) -> str:
        """The text: of plain numbers, by guards, or for people (see `showing`).

        Raises: specialized-value, value-read.
        """
        if not is_shown():
            return self.shown() if not has_facts() else self._made()
        try:
            return self._made()
        except Exception:  # noqa: BLE001 - `%d` of what has no number in the example
            return " ".join(map(str, [*self._args, *self._kwargs.values()]))

    def shown(self, *, names: bool = False) -> str:
        """The text for people: with the example's numbers, or under the names of their sources."""
        with showing(names=names):
            return self.text()

    def numbers(self) -> list[Any] | None:
        """The integers and tensors it depends on; None where they do not show as plain integers."""
        found: list[Any] = []
        waiting = [*self._args, *self._kwargs.values()]
        while waiting:
            each = waiting.pop()
            if type(each) is SymbolicText:
                found.extend(each.numbers() or [None])
            elif type(each) in {list, tuple}:
                waiting += each
            elif type(each) is torch.SymInt:
                found.append(each)
            elif type(each) not in _PLAIN:  # a tensor shows as its number in `format` alone
                is_told = self._function is format and isinstance(each, AbstractTensor)
                found.append(each if is_told else None)
        return None if any(each is None for each in found) else found

    def of_number(self, number: int) -> str:
        """The text that it is where its `numbers` are this one."""

        def put_in(value: Any) -> Any:
            if type(value) is SymbolicText:
                return value.of_number(number)
            if type(value) in {list, tuple}:
                return type(value)(map(put_in, value))
            is_open = type(value) is torch.SymInt or isinstance(value, AbstractTensor)
            return number if is_open else value

        kwargs = {key: put_in(value) for key, value in self._kwargs.items()}
        return self._function(*map(put_in, self._args), **kwargs)

    def _made(self) -> str:
        kwargs = {key: told(value) for key, value in self._kwargs.items()}
        return self._function(*map(told, self._args), **kwargs)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return repr(self.text())

    def __format__(self, spec: str) -> str:
        return format(self.text(), spec)

    def __bool__(self) -> bool:
        if self._function is str.join:
            is_filled = any(type(part) is str and part for part in self._args[1])
        else:
            of_number = self._function in _OF_ONE and type(self._args[0]) in _SYMBOLIC
            is_filled = of_number and self._args[1:] in ([], [""])
        return is_filled or bool(self.text())

    def __add__(self, other: Any) -> Any:
        return _sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return _sum(other, self)

    def __mod__(self, other: Any) -> Any:
        made = deferred(_remainder, [self, other])
        return self.text() % other if made is None else made

    def __copy__(self) -> SymbolicText:
        return self

    def __deepcopy__(self, memo: object) -> SymbolicText:
        """Itself: a text never changes."""
        return self

    __hash__ = None  # pyright: ignore[reportAssignmentType] - a key decides, so it is a `str`


def _remainder(template: str, values: Any) -> str:
    return template % values


def _sum(left: Any, right: Any) -> Any:
    if not all(type(each) in {str, SymbolicText} for each in (left, right)):
        return NotImplemented
    return SymbolicText(str.join, ("", (left, right)))


def told(value: Any) -> Any:
    """A value whose texts are made, and its numbers plain; containers are looked into."""
    kind = type(value)
    if kind is SymbolicText:
        return value.text()
    if kind in _SYMBOLIC and not is_shown():
        return plain(value)  # `"%*d" % (n, 1)` takes no other
    if kind is list or kind is tuple:
        return kind([told(each) for each in value])
    if kind is dict:
        return {key: told(each) for key, each in value.items()}
    return value


def deferred(
    function: Callable[..., str], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> SymbolicText | None:
    """The text that a function of formatting makes, if it depends on what only the run tells.

    None where it does not, or where it may show what could be another object by then.
    """
    found = _Kept()
    try:
        kept = [found.keep(each) for each in args]
        words = {key: found.keep(each) for key, each in (kwargs or {}).items()}
    except TypeError:
        return None
    return SymbolicText(function, kept, words) if found.is_open else None


class _Kept:
    """Copies of values as they are now; `is_open` once one depends on what only the run tells."""

    def __init__(self) -> None:
        self.is_open = False

    def keep(self, value: Any) -> Any:
        """The value, or a copy of a container. Raises: TypeError, of any other object."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _SYMBOLIC:
            self.is_open |= isinstance(value.node, SymbolNode) and value.node.is_symbolic()
            return value
        if kind is SymbolicText or issubclass(type(value), AbstractTensor):
            self.is_open = True
            return value
        if kind not in {dict, list, tuple, torch.Size} or len(value) > _MOST:
            raise TypeError(kind)
        if kind is dict:
            return {key: self.keep(each) for key, each in value.items()}
        return kind([self.keep(each) for each in value])


def _read(name: str) -> Callable[..., Any]:
    def method(self: SymbolicText, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.text(), name)(*map(told, args), **kwargs)

    method.__name__ = name
    return method


_COMPARED: Final = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
for _name in {*dir(str), *_COMPARED}:
    if _name in _COMPARED or not hasattr(SymbolicText, _name):
        setattr(SymbolicText, _name, _read(_name))

__all__ = ["SymbolicText", "deferred", "told"]
