"""Switch statements over objects: a callable chosen by a number that only the run tells.

`self.experts[i](x)`, `self.experts[f"expert_{i}"]`, `getattr(self, f"head_{i}")`: each object that
the number can choose is found while the program is captured, and what is done with the one chosen
is recorded for each, as nested branches that halve the numbers (see `ChosenObject`). The program
asserts that the number is one of them; eager code raises where it is not.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.chosen_object import Choice, ChosenObject, choice_of
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import ours
from monograph.bytecode.evaluation.calling import interpret_always
from monograph.bytecode.semantics.attributes import get_attribute
from monograph.integers import Expr, any_of, eq, ge, known, le

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from monograph.bytecode import Interpreter
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.strict.deferred_texts import DeferredTexts

_MOST: Final = 512
"""So many objects are told apart."""
_LISTS: Final = frozenset(
    each.__getitem__ for each in (torch.nn.ModuleList, torch.nn.ParameterList, torch.nn.Sequential)
)
_DICTS: Final = frozenset(
    each.__getitem__ for each in (dict, torch.nn.ModuleDict, torch.nn.ParameterDict)
)
_MERGED: Final = (torch.Tensor, torch.SymInt, int)
"""Kinds of values of which a branch gives one."""
_MISSING: Final = object()

ours(ChosenObject)


class Switches:
    """What one run chooses by numbers that only the program knows."""

    def __init__(
        self,
        recorder: Recorder,
        interpreter: Interpreter,
        texts: DeferredTexts,
        can_fork: Callable[[Any], bool],
    ) -> None:
        self._recorder = recorder
        self._interpreter = interpreter
        self._texts = texts
        self._can_fork = can_fork

    def item(self, owner: Any, key: Any) -> Any:
        """`owner[key]` where only the run tells the key; NotImplemented: as Python has it."""
        kind = type(owner)
        get = getattr(kind, "__getitem__", None)
        is_tensor = issubclass(type(key), AbstractTensor)
        if kind is list or kind is tuple or get in _LISTS:
            if issubclass(type(key), torch.SymBool) or (is_tensor and key.dtype == torch.bool):
                is_pair = len(owner) == 2 and self._can_fork(key)
                return self._either(key, key, owner[1], owner[0]) if is_pair else NotImplemented
            if issubclass(type(key), SymbolicText):
                return NotImplemented
            count = len(owner)
            return self._chosen(key, range(-count, count), owner.__getitem__)
        if get not in _DICTS or is_tensor or hasattr(kind, "__missing__"):
            return NotImplemented
        items = {each: owner[each] for each in owner}
        return self._chosen(key, items, lambda key: items.get(key, _MISSING))

    def answer(self, callee: Any, args: list[Any]) -> Callable[..., Any] | None:
        """What is called in place of a chosen object, and of `getattr` of a name of numbers."""
        if type(callee) is ChosenObject:
            return partial(self._call, choice_of(callee))
        if callee is not getattr or len(args) != 2 or type(args[1]) is not SymbolicText:
            return None
        owner, name = args
        names = dir(owner) if issubclass(type(owner), torch.nn.Module) else ()

        def read(name: str) -> Any:
            return get_attribute(self._interpreter, owner, name) if name in names else _MISSING

        made = self._chosen(name, names, read)
        return None if made is NotImplemented else lambda *_: made

    def _call(self, choice: Choice, *args: Any, **kwargs: Any) -> Any:
        given = [choice.is_below, choice.below, choice.above, args, kwargs]
        return interpret_always(self._interpreter, _call_either, given)

    def _attribute(self, choice: Choice, name: str) -> Any:
        ways = (choice.below, choice.above)
        either = [get_attribute(self._interpreter, each, name) for each in ways]
        return self._either(choice.number, choice.is_below, *either)

    def _chosen(self, key: Any, keys: Iterable[Any], find: Callable[[Any], Any]) -> Any:
        """What the number in a key chooses; NotImplemented where that cannot be said."""
        number, key_of = self._number_in(key)
        value, facts = to_python(number), self._recorder.facts
        if not isinstance(value, Expr) or not facts.depends_on_data(value):
            return NotImplemented
        span = facts.interval(value)
        numbers = sorted({n for each in keys for n in _numbers_in(each) if n in span})
        found = {n: find(key_of(n)) for n in numbers[:_MOST]}
        found = {n: each for n, each in found.items() if each is not _MISSING}
        is_known = found and len(numbers) <= _MOST
        if not is_known or not all(callable(e) or isinstance(e, _MERGED) for e in found.values()):
            return NotImplemented
        ends = min(found), max(found)
        among = [any_of(*(eq(value, n) for n in found))]
        if len(found) == ends[1] - ends[0] + 1:
            among = [ge(value, ends[0]), le(value, ends[1])]
        for each in among:
            if known(each) is not True:
                facts.assert_at_run(each)
        return self._of(number, [*found.items()])

    def _number_in(self, key: Any) -> tuple[Any, Callable[[int], Any]]:
        """The number in a key, and what the key is for each value of it."""
        if type(key) is not SymbolicText:
            return self._read(key), lambda n: n
        numbers = key.numbers() or []
        if any(isinstance(n, AbstractTensor) and n.storage_root.n_writes for n in numbers):
            return None, key.of_number  # perhaps written to since the text was made
        read = [self._read(each) for each in numbers]
        is_one = len({to_python(each) for each in read}) == 1
        return (read[0] if is_one else None), key.of_number

    def _read(self, number: Any) -> Any:
        """The number, read out of a tensor that holds one; None where it is something else."""
        if not isinstance(number, AbstractTensor):
            return number if isinstance(number, torch.SymInt) else None
        t = number.tensor_type
        is_whole = not (t.dtype.is_floating_point or t.dtype.is_complex or t.dtype == torch.bool)
        return self._recorder.item(number) if is_whole and not t.rank else None

    def _of(self, number: Any, found: list[tuple[int, Any]]) -> Any:
        if all(each is found[0][1] for _, each in found):
            return found[0][1]
        half = len(found) // 2
        below, above = self._of(number, found[:half]), self._of(number, found[half:])
        return self._either(number, number < found[half][0], below, above)

    def _either(self, number: Any, is_below: Any, below: Any, above: Any) -> Any:
        """One of two callables, as a `ChosenObject`; of other values, what a branch gives."""
        if any(not callable(each) or issubclass(type(each), _MERGED) for each in (below, above)):
            return interpret_always(self._interpreter, _pick, [is_below, below, above])
        self._texts.are_any = True  # what C is given is looked at from now on
        return ChosenObject(Choice(number, is_below, below, above, self._attribute))


def _numbers_in(key: Any) -> Iterable[int]:
    """The number that a key is, or those that are written in it."""
    if type(key) is int:
        return (key,)
    return map(int, re.findall(r"(?=(-?\d+))", key)) if type(key) is str else ()


def _pick(is_below: Any, below: Any, above: Any) -> Any:
    if is_below:
        return below
    return above


def _call_either(is_below: Any, below: Any, above: Any, args: Any, kwargs: Any) -> Any:
    if is_below:
        return below(*args, **kwargs)
    return above(*args, **kwargs)


__all__ = ["Switches"]
