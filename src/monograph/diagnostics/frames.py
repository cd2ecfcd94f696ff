"""Where the user's program is: frames taken while it runs, places when a message is printed.

A frame is a code object with an instruction offset, so taking one costs a dictionary look-up; the
line's text and columns are found when somebody reads them. Files are of four kinds:

    user       the model, its helpers, third-party packages: what messages point at
    library    torch and the standard library: kept in stack traces, as torch.export keeps them
    machinery  what only passes calls on (`Module.__call__`, dispatch, contextlib): kept nowhere
    ours       this package: kept nowhere

Code that `monograph.bytecode` interprets has no native frame of its own: where its loop stands on
the native stack, the frame that the loop is running takes its place.
"""

from __future__ import annotations

import linecache
import os
import sys
import weakref
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from monograph.diagnostics.code_origin import standard_part

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FrameType

__all__ = [
    "Frame",
    "FrameFilter",
    "Place",
    "frame_filter",
    "is_stand_in",
    "place",
    "raised_at",
    "user_frames",
]

AnySpot = TypeVar("AnySpot", bound="Frame | Place")
identity: Final = object.__hash__
"""As `id`, a number of each object's own, but without its audit event.

Why: with a hook in Python, as filelock (so transformers) has from 3.12 on, `id` takes eightfold.
"""
Kind = Literal["user", "library", "machinery", "ours"]

TORCH_MACHINERY = ("_", "fx/", "library.py", "nn/modules/module.py", "overrides.py", "utils/")
OUR_MACHINERY = ("capture/recording/scopes.py",)  # stands in for `Module.__call__` during a capture
INTERPRETER_LOOP = ("bytecode/evaluation/loop.py", "run")
"""The function that interprets one frame, which it holds in its local variable `frame`."""
STANDS_IN = "Stand in native stacks for the interpreted frame that runs above, for profilers."
"""The text by which the code of such functions is known, which looks like the user's."""
STANDARD_MACHINERY = ("contextlib.py", "functools.py", "importlib/")


class Frame(NamedTuple):
    """One call in progress: the code, the offset of its current instruction in bytes, and its line.

    Why: hashing or comparing code objects reads all of their contents, so maps of frames are
    keyed by the identity of the code.
    """

    code: CodeType
    lasti: int
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """A span of source: lines from 1, columns from 0 in characters, None where none were kept."""

    file: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None
    function: str


LineTable = tuple[list[int], list[int]]
"""Where each run of instructions of one line starts, in bytes, and the line."""
_INTERPRETED: Final[LineTable] = ([], [])
"""Stands for the lines of the interpreter's loop."""


class FrameFilter:
    """What is known about files and frames; every answer is remembered.

    Law: what is kept and what is printed depend on `(code, lasti)` alone, a look-up for each. No
    code of users is kept alive: what is known of theirs goes when it does.
    """

    __slots__ = (
        "_interpreter",
        "_kept",
        "_kinds",
        "_lines",
        "_loop_file",
        "_roots",
        "_texts",
    )

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._roots = _roots()
        self._loop_file = self._roots.ours + INTERPRETER_LOOP[0].replace("/", os.sep)
        self._interpreter = f"{self._roots.ours}bytecode{os.sep}"
        self._kinds: dict[str, Kind] = {}
        self._kept: dict[int, CodeType | weakref.ref[CodeType]] = {}
        self._lines: dict[int, LineTable | None] = {}
        """By the identity of the code; None for machinery."""
        self._texts: dict[int, dict[int, str]] = {}

    def is_of_use(self) -> bool:
        """Whether torch is where it was looked for, and not too much is remembered."""
        is_missing = self._roots.torch is None and "torch" in sys.modules
        return not is_missing and len(self._kept) < _MOST_FRAMES

    def walk(self, frame: FrameType | None, stop: CodeType | None = None) -> tuple[Frame, ...]:
        """Return the frames from here to `stop` (excluded), innermost first, without machinery."""
        known = self._lines
        found: list[Frame] = []
        while frame is not None:
            code = frame.f_code
            if code is stop:
                break
            key = identity(code)
            lines = known[key] if key in known else self._first_sight(code)
            if lines is not None:
                if lines is _INTERPRETED:
                    return (*found, *self._walk_from_loop(frame, stop))
                found.append(_frame(code, frame.f_lasti, lines))
            frame = frame.f_back
        return tuple(found)

    def _walk_from_loop(self, loop: FrameType, stop: CodeType | None) -> Iterable[Frame]:
        """Go on from an activation of the interpreter's loop.

        What is outside of it does not move while it lasts, so that is walked once, and left with
        the interpreted frame, which forgets it in the end.
        """
        interpreted = loop.f_locals["frame"]
        outside = interpreted.outside
        if outside is None:
            outside = interpreted.outside = self.walk(loop.f_back, stop)
        here = self._sight(interpreted.code, interpreted.lasti)
        return outside if here is None else (here, *outside)

    def frame(self, code: CodeType, lasti: int) -> Frame:
        """Return the frame at this instruction, whatever its file; for code that is interpreted."""
        return self._sight(code, lasti) or _frame(code, lasti, _line_table(code))

    def stack_text(self, frames: Iterable[Frame]) -> str:
        """Return frames, given innermost first, as a traceback prints them, without carets.

        Source: `traceback.StackSummary.format`, except that repeated frames are all printed.
        """
        texts: list[str] = []
        for frame in frames:
            code, lasti, _ = frame
            known = self._texts.setdefault(identity(code), {})
            if lasti not in known:
                self._keep(code)
                known[lasti] = _traceback_lines(frame)
            texts.append(known[lasti])
        texts.reverse()
        return "".join(texts)

    def innermost_user(self, frames: Iterable[AnySpot]) -> tuple[AnySpot, ...]:
        """Return the frames a message shows: those of user files, innermost first."""
        kinds, found = self._kinds, list[AnySpot]()
        for each in frames:
            file = each.code.co_filename if isinstance(each, Frame) else each.file
            if (kinds.get(file) or self._kind(file)) == "user":
                found.append(each)
        return tuple(found)

    def is_machinery(self, file: str) -> bool:
        """Tell whether frames of this file only pass calls on."""
        return self._kind(file) in {"machinery", "ours"}

    def is_library(self, file: str) -> bool:
        """Tell whether this file is torch, the standard library or ours: not for users to edit."""
        return self._kind(file) != "user"

    def is_loop(self, code: CodeType) -> bool:
        """Tell whether this is the code that interprets one frame of other code."""
        return code.co_name == INTERPRETER_LOOP[1] and code.co_filename == self._loop_file

    def interprets(self, file: str) -> bool:
        """Tell whether this file belongs to the interpreter, which stands between user frames."""
        return file.startswith(self._interpreter)

    def asker(self, frame: FrameType | None) -> str:
        """Return the file of the innermost frame that is not this package's, "" without one.

        Where `isinstance(x, torch.nn.Parameter)` asks, it is whoever calls that.
        """
        while frame is not None:
            code = frame.f_code
            if self.is_loop(code):
                code = _interpreted(frame)[0]
            file = code.co_filename
            ours = file.startswith(self._roots.ours) or is_stand_in(code)
            if not ours and code.co_name != "__instancecheck__":
                return file
            frame = frame.f_back
        return ""

    def is_ours(self, file: str) -> bool:
        """Tell whether this file belongs to this package."""
        return self._kind(file) == "ours"

    def _kind(self, file: str) -> Kind:
        kind = self._kinds.get(file)
        if kind is None:
            kind = self._kinds[file] = _classify(file, self._roots)
        return kind

    def _sight(self, code: CodeType, lasti: int) -> Frame | None:
        key = identity(code)
        lines = self._lines[key] if key in self._lines else self._first_sight(code)
        return None if lines is None else _frame(code, lasti, lines)

    def _first_sight(self, code: CodeType) -> LineTable | None:
        self._keep(code)
        lines = None
        if self.is_loop(code):
            lines = _INTERPRETED
        elif not (self.is_machinery(code.co_filename) or is_stand_in(code)):
            lines = _line_table(code)
        self._lines[identity(code)] = lines
        return lines

    def _keep(self, code: CodeType) -> None:
        """Keep code alive that stays anyway; of users' code, hear when it goes."""
        key = identity(code)
        if key not in self._kept:
            stays = self.is_library(code.co_filename)
            self._kept[key] = code if stays else weakref.ref(code, partial(self._forget, key))

    def _forget(self, key: int, _: object) -> None:
        for known in (self._kept, self._lines, self._texts):
            known.pop(key, None)


_MOST_FRAMES: Final = 50_000
"""So many frames are known of at a time; they keep library code alive."""


class _Process:
    """What this process knows of frames."""

    known: FrameFilter | None = None


def frame_filter() -> FrameFilter:
    """Return what the process knows of frames so far: a program is seldom captured only once."""
    known = _Process.known
    if known is None or not known.is_of_use():
        known = _Process.known = FrameFilter()
    return known


def is_stand_in(code: CodeType) -> bool:
    """Tell whether code only looks like the user's, below the loop that interprets that."""
    return code.co_consts[:1] == (STANDS_IN,)


def user_frames(start: FrameType | None = None, stop: CodeType | None = None) -> tuple[Frame, ...]:
    """Return the user's frames around `start` (default: the caller), innermost first.

    Inside a capture these are the frames between the operation and our own; elsewhere only the
    user's line that called us, because what lies outside it is the caller's own business. With
    `stop`, all of them up to that code.
    """
    where = frame_filter()
    # `sys` documents `_getframe`.
    frame: FrameType | None = start or sys._getframe(1)
    found: list[Frame] = []
    while frame is not None and frame.f_code is not stop:
        code, lasti = frame.f_code, frame.f_lasti
        if where.is_loop(code):
            code, lasti = _interpreted(frame)
        if not where.is_library(code.co_filename):
            if not is_stand_in(code):
                found.append(where.frame(code, lasti))
        elif found and where.is_ours(code.co_filename) and not where.interprets(code.co_filename):
            return tuple(found)
        frame = frame.f_back
    return tuple(found) if stop is not None else tuple(found[:1])


def raised_at(error: BaseException) -> tuple[Frame, ...]:
    """Take the user's frames that an exception came through, innermost first."""
    where = frame_filter()
    found: list[Frame] = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not where.is_library(code.co_filename):
            found.append(where.frame(code, step.tb_lasti))
        step = step.tb_next
    return tuple(reversed(found))


def place(spot: Frame | Place) -> Place:
    """Return the source span of a frame's current instruction."""
    if isinstance(spot, Place):
        return spot
    code, lasti, line = spot
    _keep_typed_source(code)
    function = code.co_qualname.rpartition("<locals>.")[2]
    positions = next(islice(code.co_positions(), max(lasti, 0) // 2, None), None)
    if positions is None or positions[0] is None or positions[0] != line:
        return Place(code.co_filename, line, line, None, None, function)
    _, end_line, column, end_column = positions
    end_line = line if end_line is None else end_line
    return Place(
        code.co_filename,
        line,
        end_line,
        _characters(code.co_filename, line, column),
        _characters(code.co_filename, end_line, end_column),
        function,
    )


def _keep_typed_source(code: CodeType) -> None:
    """Have `linecache` know by name what was typed or given with `-c`, as before Python 3.14."""
    file = code.co_filename
    source_of: Any = getattr(linecache, "_getlines_from_code", None)
    if source_of is None or not file.startswith("<") or file in linecache.cache:
        return
    lines: list[str] = source_of(code)
    if lines:
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)


def _characters(file: str, line: int, column_bytes: int | None) -> int | None:
    """Turn a column in UTF-8 bytes, as code objects keep it, into one in characters."""
    if column_bytes is None:
        return None
    source = linecache.getline(file, line)
    if not source or source.isascii():
        return column_bytes
    return len(source.encode()[:column_bytes].decode(errors="ignore"))


def _traceback_lines(frame: Frame) -> str:
    code = frame.code
    _keep_typed_source(code)
    head = f'  File "{code.co_filename}", line {frame.line}, in {code.co_name}\n'
    source = linecache.getline(code.co_filename, frame.line).strip()
    return f"{head}    {source}\n" if source else head


def _frame(code: CodeType, lasti: int, table: LineTable) -> Frame:
    starts, lines = table
    # As `Frame(...)`, which is a call of Python.
    return tuple.__new__(Frame, (code, lasti, lines[max(bisect_right(starts, lasti) - 1, 0)]))


def _line_table(code: CodeType) -> LineTable:
    starts: list[int] = []
    lines: list[int] = []
    line = code.co_firstlineno
    for start, _, here in code.co_lines():
        line = line if here is None else here
        starts.append(start)
        lines.append(line)
    return starts or [0], lines or [line]


def _interpreted(loop: FrameType) -> tuple[CodeType, int]:
    """Return the code that an activation of the interpreter's loop runs, and where it is in it."""
    frame = loop.f_locals["frame"]
    return frame.code, frame.lasti


class _Roots(NamedTuple):
    ours: str
    torch: str | None


def _roots() -> _Roots:
    """Return the folders that tell file kinds apart; torch is looked up, never imported."""
    torch_file = getattr(sys.modules.get("torch"), "__file__", None)
    torch = _folder_of(torch_file) if isinstance(torch_file, str) else None
    return _Roots(_folder_of(_folder_of(__file__)), torch)


def _folder_of(file: str) -> str:
    return f"{Path(file).parent}{os.sep}"


def _classify(file: str, roots: _Roots) -> Kind:
    if file.startswith("<frozen "):
        return "machinery"
    if file.startswith(roots.ours):
        passes_on = file.removeprefix(roots.ours).replace(os.sep, "/") in OUR_MACHINERY
        return "machinery" if passes_on else "ours"
    if roots.torch is not None and file.startswith(roots.torch):
        inside = file[len(roots.torch) :]
        return "machinery" if inside.startswith(TORCH_MACHINERY) else "library"
    inside = standard_part(file)
    if inside is None:
        return "user"
    return "machinery" if inside.startswith(STANDARD_MACHINERY) else "library"
