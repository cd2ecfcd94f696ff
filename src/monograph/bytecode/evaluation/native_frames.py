"""Frame objects of CPython that never run: stand-ins for interpreted frames in tracebacks.

Entries of tracebacks take no other frames than CPython's own. Its C function for making one, which
Cython uses for the same purpose, tells no profiler and no debugger, as nothing is called.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

__all__ = ["code_like", "frame_at", "looks", "native_frame", "standing_at"]

_new_frame: Final = ctypes.pythonapi.PyFrame_New
_new_frame.restype = ctypes.py_object
_new_frame.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object, ctypes.py_object)
_this_thread: Final = ctypes.pythonapi.PyThreadState_Get
_this_thread.restype = ctypes.c_void_p
_this_thread.argtypes = ()


def code_like(code: CodeType, does: CodeType) -> CodeType:
    """Return code that does what `does` does, and looks like `code`: its file, name and lines.

    It must not run: see `standing_at`.
    """
    return does.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_linetable=code.co_linetable,
    )


def looks(code: CodeType) -> CodeType:
    """Return code that does nothing and looks like this, for `native_frame`.

    Why not the code itself: CPython expects the frame of such code to hold its cells.
    """
    return code_like(code, _NOTHING)


def native_frame(looks: CodeType, module: dict[str, Any], variables: Any) -> FrameType:
    """Return a frame object of code that does nothing, with variables; nothing has called it."""
    return _new_frame(_this_thread(), looks, module, variables)


def _nothing() -> None:
    """Stand for all code of which frames are made."""


# Without the flags of a function, the variables of its frame are the dictionary that it is given.
_NOTHING: Final = _nothing.__code__.replace(co_flags=0)


def frame_at(code: CodeType, line: int, module: dict[str, Any]) -> FrameType:
    """Return a frame object that looks like a call of this code, which stands at a line."""
    return _new_frame(_this_thread(), standing_at(line, code, _NOTHING), module, {})


def standing_at(line: int, code: CodeType, does: CodeType) -> CodeType:
    """Return code that does what `does` does, looks like `code`, and has a single line.

    Why: CPython 3.11 keeps the lines of code that is traced or profiled in an array as long as the
    code, and writes past its end where the table of lines, as another function's, is longer.
    """
    table = bytes(_whole_line(len(does.co_code) // 2))
    return code_like(code, does).replace(co_firstlineno=line, co_linetable=table)


def _whole_line(n_units: int) -> Iterator[int]:
    """The table of lines of code that has one line: entries of up to eight units, no columns."""
    while n_units > 0:
        units = min(n_units, 8)
        yield 0x80 | 13 << 3 | units - 1
        yield 0  # the line is that of the entry before
        n_units -= units
