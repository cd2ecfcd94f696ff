"""Specialisation at calls of C: plain numbers where a function in C takes no symbolic ones.

C asks a number for `__index__` or `__float__`, which fix it, or it looks whether an object is an
int, which a `torch.SymInt` is not: `deque(maxlen=n)`, `"%*d" % (n, 1)`, `json.dumps(n)` raise. Then
the run is made again, and that instruction gives C the plain numbers, which guards fix. What a
second run raises there is the module's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.number_methods import STANDS_FOR, plain
from monograph.abstract.symbols import SymbolNode
from monograph.bytecode.analysis.exception_handlers import is_tried
from monograph.capture.code_policy import INTERPRETER
from monograph.capture.internal_errors import is_of_numbers, is_written_by_user
from monograph.capture.restart import Restart

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet
    from types import CodeType

    from monograph.bytecode import Hooks, InterpreterFrame

    Places = AbstractSet[tuple[CodeType, int]]

_DEEPEST: Final = 4


def check_numbers(frame: InterpreterFrame, error: BaseException, places: Places) -> None:
    """Begin the run anew where C did not take a symbolic number that an example says.

    Packages that catch what they are told go on as they like. Raises: Restart.
    """
    is_users = is_written_by_user(frame.code.co_filename)
    if not is_of_numbers(error) or (not is_users and is_tried(frame.code, frame.lasti)):
        return
    given = _numbers(_arguments(error), _DEEPEST)
    if not all(each.node.has_hint() for each in given):
        return
    back: InterpreterFrame | None = frame
    while not given and back is not None and not is_written_by_user(back.code.co_filename):
        back = back.back  # Python of a package said so, of what C gave back to it
    if back is not None and (given or back is not frame) and (back.code, back.lasti) not in places:
        raise Restart("plain", (back.code, back.lasti))


def give_numbers(
    hooks: Hooks, places: Places, current: Callable[[], InterpreterFrame | None]
) -> None:
    """Let hooks put plain numbers in the place of symbolic ones, where C took none of those."""
    natively, replacement = hooks.natively, hooks.replacement

    def give(frame: InterpreterFrame | None, args: list[Any], kwargs: dict[str, Any]) -> None:
        if frame is not None and (frame.code, frame.lasti) in places:
            _fix(args, _DEEPEST)
            _fix(kwargs, _DEEPEST)

    def with_numbers(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        give(current(), args, kwargs)
        return natively(callee, args, kwargs)

    def instead(callee: Any, args: list[Any], kwargs: dict[str, Any], frame: Any) -> Any:
        give(frame, args, kwargs)
        return replacement(callee, args, kwargs, frame)

    hooks.natively, hooks.replacement = with_numbers, instead


def _arguments(error: BaseException) -> list[Any]:
    """What the interpreter gave to the function that raised, or that called what did."""
    step, given = error.__traceback__, dict[str, Any]()
    while step is not None:
        if step.tb_frame.f_code.co_filename.startswith(INTERPRETER):
            given = step.tb_frame.f_locals
        step = step.tb_next
    return [given.get("args"), given.get("kwargs")]


def _numbers(value: Any, depth: int) -> list[Any]:
    kind = type(value)
    if kind in STANDS_FOR:
        return [value] if isinstance(value.node, SymbolNode) else []
    if kind is dict:
        value = [*value, *value.values()]
    elif kind not in {list, tuple, set}:
        return []
    return [found for each in value for found in _numbers(each, depth - 1)] if depth else []


def _fix(value: Any, depth: int) -> Any:
    """The same value, its symbolic numbers plain: a container that may change is changed."""
    kind = type(value)
    if kind in STANDS_FOR:
        return plain(value) if value.node.has_hint() else value
    if not _numbers(value, depth):
        return value
    if kind is dict:
        pairs = [(_fix(key, 0), _fix(each, depth - 1)) for key, each in value.items()]
        value.clear()
        value.update(pairs)
        return value
    items = [_fix(each, depth - 1) for each in value]
    if kind is tuple:
        return tuple(items)
    value.clear()
    (value.extend if kind is list else value.update)(items)
    return value


__all__ = ["check_numbers", "give_numbers"]
