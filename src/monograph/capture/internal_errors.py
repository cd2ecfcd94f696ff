"""Internal errors: exceptions of our own, told from those of user code.

Law: no exception leaves a capture but a diagnostic, or what the module raises of itself. An
exception is the module's unless it was born in this package's files (and not raised there on
purpose, as eager code would raise it), or in what torch has for symbolic numbers, or names what
stands for a plain number or tensor: C functions say so of arguments that are none of theirs. Where
a refusal was made on the same line before, C code swallowed it, and that is what is raised.

Where a way of a branch ends by an exception, that is the program's, too. What the machinery around
ways raises by mistake is no end of any way; it would become an assertion otherwise.
"""

from __future__ import annotations

import linecache
import re
from contextlib import contextmanager
from opcode import opmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.number_methods import STANDS_FOR
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.code_policy import TORCH, is_library
from monograph.diagnostics import MonographError, notes_so_far, place, problem, raised_at
from monograph.diagnostics.code_origin import is_installed

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from monograph.diagnostics import Frame, Spot

_HERE: Final = f"{Path(__file__).parents[1]}/"
_PASS: Final = (MonographError, RecursionError, MemoryError)
_STANDS_FOR: Final = {
    "numpy.object_": "numpy.object_",
    "__newobj__ args has the wrong class": "a symbolic number",
    "Expected an int as second argument to ldexp": "it takes no symbolic int",
    "SymInt": "symbolic int",
    "SymFloat": "symbolic float",
    "SymBool": "symbolic bool",
    "SymbolicText": "symbolic text",
    "SymNode": "symbolic int",
    "SymbolNode": "symbolic int",
    "StaticTensor": "abstract tensor",
    "SymbolicTensor": "abstract tensor",
    "AbstractTensor": "abstract tensor",
    "AbstractArray": "abstract array",
}
_NAMES: Final = re.compile("|".join(rf"\b(?:torch\.)?{name}\b" for name in _STANDS_FOR))
_OF_STAND_INS: Final = {
    re.compile(r"Cannot access data pointer of Tensor \(e\.g\. FakeTensor.*", re.DOTALL): (
        "an abstract tensor has no memory"
    ),
    re.compile(r"Cannot call (\w+)\(\) on tensor with symbolic sizes.*", re.DOTALL): (
        r"C++ asks for \1() here, which varies"
    ),
}
"""What C++ says of tensors that stand for others, and of no tensor else; and in our words."""
_SYMBOLIC: Final = (f"{TORCH}fx/experimental/", f"{TORCH}_higher_order_ops/", torch.__file__)
"""Files of torch that run in a capture alone."""
_USERS_OPERATIONS: Final = (
    *("abstract/", "bytecode/", "capture/strict/polyfills.py"),
    *(f"capture/torch_overrides/{n}.py" for n in ("hidden_attributes", "number_classes")),
)
"""Files of ours that carry out what user code asks for, and may fail as that does."""


def mistaken(error: BaseException) -> str:
    """How an exception that is no refusal is ours: "bug", "capture-failed", or "" for the module's.

    >>> mistaken(ValueError("the module's own"))
    ''
    """
    step = error.__traceback__
    if isinstance(error, _PASS) or not isinstance(error, Exception) or step is None:
        return ""
    while step.tb_next is not None:
        step = step.tb_next
    file = step.tb_frame.f_code.co_filename
    if any(each.search(_said(error)) for each in _OF_STAND_INS):
        return "capture-failed"
    if _NAMES.search(_said(error)):
        return "" if _says_so_of_plain_numbers(error) else "capture-failed"
    if not file.startswith((_HERE, *_SYMBOLIC)) or _is_on_purpose(error, step):
        return ""
    if _is_of_users_parameters(error, step) or _is_of_the_original(step):
        return ""
    if file.startswith(_SYMBOLIC):
        return "capture-failed"
    return "" if file.removeprefix(_HERE).startswith(_USERS_OPERATIONS) else "bug"


_OF_NUMBERS: Final = re.compile(
    r"has no len\(\)|is not (iterable|callable|subscriptable|a mapping|an iterator)"
    r"|does not support item|can only concatenate"
    r"|unsupported operand type\(s\) for .*'(str|bytes|list|tuple|dict|set|NoneType|\w*Tensor)'"
)
"""What Python says of plain numbers, too: the methods of symbolic ones are complete."""


def is_of_numbers(error: BaseException) -> bool:
    """Whether C may have said so of a symbolic number, and not of the plain one."""
    is_named = _NAMES.search(_said(error)) is not None
    is_type = isinstance(error, TypeError) or type(error).__name__ == "PicklingError"
    return (is_type or is_named) and not _says_so_of_plain_numbers(error)


def _said(error: BaseException) -> str:
    """The text of an exception, without that of tensors and other objects that code put there."""
    return " ".join(str(each) for each in error.args if type(each) in {str, int, float, bool})


def _says_so_of_plain_numbers(error: BaseException) -> bool:
    """Whether a plain number in the place of a symbolic one would raise the same."""
    if isinstance(error, AttributeError):
        is_tensor = isinstance(error.obj, AbstractTensor)
        kind = torch.Tensor if is_tensor else STANDS_FOR.get(type(error.obj))
        return kind is not None and not hasattr(kind, str(error.name))
    return isinstance(error, TypeError) and _OF_NUMBERS.search(_said(error)) is not None


_BINDS: Final = re.compile(r"(\S+)\(\) (?:takes|missing|got) ")


def _is_of_users_parameters(error: Exception, step: TracebackType) -> bool:
    """Whether a function of the user's was called here that takes other arguments."""
    found = _BINDS.match(_said(error)) if isinstance(error, TypeError) else None
    if found is None:
        return False
    held: list[Any] = [*step.tb_frame.f_locals.values()]
    held += [each for value in held if type(value) is tuple for each in value]
    functions = [each for each in held if getattr(each, "__qualname__", None) == found[1]]
    codes = [getattr(each, "__code__", None) for each in functions]
    return any(code is not None and not code.co_filename.startswith(_HERE) for code in codes)


def _is_of_the_original(step: TracebackType) -> bool:
    """Whether a function that stands for one of torch's or Python's was calling that one."""
    code = step.tb_frame.f_code
    line, _, column, _ = [*code.co_positions()][step.tb_lasti // 2]
    text = linecache.getline(code.co_filename, line or 0)
    return "original" in code.co_freevars and text[column or 0 :].startswith("original(")


def _is_on_purpose(error: Exception, step: TracebackType) -> bool:
    """Whether our own code says `raise`: what eager code raises there."""
    code, at = step.tb_frame.f_code.co_code, step.tb_lasti
    return code[at] == opmap["RAISE_VARARGS"] and not isinstance(error, AssertionError)


def refusal_of(error: BaseException, at: tuple[Frame, ...] | None = None) -> MonographError | None:
    """The diagnostic in whose place an exception was raised; None where it is the module's own.

    `at` is where, innermost first; None: where its traceback says.
    """
    if isinstance(error, _PASS):
        return None
    note = swallowed_at(error, at)
    if note is not None:
        return note
    kind = mistaken(error)
    if not kind:
        return None
    frames = raised_at(error) if at is None else at
    said = _NAMES.sub(lambda found: _STANDS_FOR[found[0].removeprefix("torch.")], _said(error))
    for pattern, words in _OF_STAND_INS.items():
        said = pattern.sub(words, said)
    reason = f"{type(error).__name__}: {said}"
    if kind == "bug":
        return problem("bug", at=frames, reason=f"{reason}{_place_of(error)}")
    return problem("capture-failed", at=frames, error=reason)


def swallowed_at(
    error: BaseException, at: tuple[Frame, ...] | None = None
) -> MonographError | None:
    """The refusal that was made on the line of user code where an exception was raised."""
    notes = notes_so_far()
    if isinstance(error, _PASS) or not notes:
        return None
    frames = raised_at(error) if at is None else at
    for note in notes:
        if note.diagnostic.at and frames and _are_one(note.diagnostic.at[0], frames[0]):
            return note
    return None


def _are_one(one: Spot, other: Spot) -> bool:
    a, b = place(one), place(other)
    return (a.file, a.line) == (b.file, b.line)


def is_written_by_user(file: str) -> bool:
    """Whether a file is neither a library's nor an installed package's, which catch on purpose."""
    return not is_library(file) and not is_installed(file)


def _place_of(error: BaseException) -> str:
    """The line of ours that an exception passed last."""
    traceback, found = error.__traceback__, ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file.startswith(_HERE):
            found = f" at {file.removeprefix(_HERE)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


@contextmanager
def no_mistake(what: str) -> Generator[None]:
    """Whatever is raised inside, beside refusals, is ours: user code's does not come this far.

    Raises: bug.
    """
    try:
        yield
    except _PASS:
        raise
    except Exception as error:
        refusal = refusal_of(error)
        if refusal is not None and refusal.diagnostic.name == "capture-failed":
            raise refusal from error
        reason = f"{what} failed{_place_of(error)} ({type(error).__name__}: {error})"
        raise problem("bug", reason=reason) from error


__all__ = ["is_of_numbers", "is_written_by_user", "no_mistake", "refusal_of"]
