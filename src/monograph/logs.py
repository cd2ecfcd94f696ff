"""Logs say line by line what a capture learns about sizes, through standard `logging`.

The logger is `monograph.dynamic`. `set_logs` and `MONOGRAPH_LOGS` only set its level and give it a
handler with a filter; whoever configures `logging` themselves sets the level of that logger. While
its level is not set nobody listens, and a capture does not even make the lines.

    MONOGRAPH_LOGS=dynamic                  every symbol, guard, fact, range and replacement
    MONOGRAPH_LOGS='guard:"s0 == 2*s1"'     the whole user stack where that guard was added
    MONOGRAPH_LOGS='dynamic,guard:"..."'    both
"""

import logging
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeGuard, assert_never

from monograph.diagnostics import Frame, frame_filter
from monograph.integers import (
    INFINITY,
    Event,
    Expr,
    Facts,
    Interval,
    Narrowed,
    Origin,
    Replaced,
    Stated,
    SymbolMade,
    relation_text,
    text,
)

__all__ = ["configure_from_environment", "listener_for", "set_logs"]

_LOGGER: Final = logging.getLogger("monograph.dynamic")
_PARENT: Final = logging.getLogger("monograph")
_VARIABLE: Final = "MONOGRAPH_LOGS"
# dynamic, guard:"a, b" (quoted where it has a comma), guard:a
_ITEM: Final = re.compile(r'\s*(\w+)(?::(?:"([^"]*)"|([^,"]*)))?\s*(?:,|$)')


def set_logs(*, dynamic: bool | int | None = None, guard: str | None = None) -> None:
    """Choose what is logged to the standard error stream from now on; without arguments, nothing.

    `dynamic` is a level of `logging`, or True for every line: symbols, guards, assertions and
    replacements are at INFO, facts and ranges at DEBUG. `guard` is a relation as the log prints it,
    by symbols, by input paths, or by both; spaces do not matter.

    >>> set_logs(dynamic=True, guard="s0 == 2*s1")
    >>> set_logs()
    """
    for handler in [h for h in _LOGGER.handlers if isinstance(h, _Handler)]:
        _LOGGER.removeHandler(handler)
    wanted = bool(dynamic) or guard is not None
    _LOGGER.propagate = not wanted
    if not wanted:
        _LOGGER.setLevel(logging.NOTSET)
        return
    level = logging.DEBUG if isinstance(dynamic, bool | None) else dynamic
    _LOGGER.setLevel(min(level, logging.INFO) if guard is not None else level)
    _LOGGER.addHandler(_Handler(level if dynamic else None, guard))


def configure_from_environment(environ: Mapping[str, str]) -> None:
    """Do what `MONOGRAPH_LOGS` says, if it is set.

    >>> configure_from_environment({"MONOGRAPH_LOGS": 'dynamic,guard:"min(s0, 4) == 4"'})
    >>> set_logs()
    """
    given = environ.get(_VARIABLE, "").strip()
    if not given:
        return
    chosen: dict[str, Any] = {}
    at = 0
    while at < len(given):
        item = _ITEM.match(given, at)
        name = item[1] if item else ""
        relation = item[2] or item[3] if item else None
        if item is not None and name == "guard" and relation:
            chosen["guard"] = relation
        elif item is not None and name == "dynamic" and relation is None:
            chosen["dynamic"] = True
        else:
            known = """`dynamic` and `guard:"s0 == 2*s1"`"""
            warnings.warn(f"{_VARIABLE} is {given!r}; it may name {known}", stacklevel=2)
            return
        at = item.end()
    set_logs(**chosen)


def listener_for(facts: Facts) -> Callable[[Event], None] | None:
    """Make what `facts.listener` is set to: a writer of log lines, or None where nobody reads them.

    >>> listener_for(Facts()) is None
    True
    """
    # A root logger at INFO is no wish to read about sizes; a level on one of these two is.
    if not (_LOGGER.level or _PARENT.level) or not _LOGGER.isEnabledFor(logging.INFO):
        return None
    names: dict[Expr, str] = {}
    paths: dict[Expr, str] = {}

    def listen(event: Event) -> None:
        for symbol in facts.symbols[len(names) :]:
            source = facts.source_of(symbol)
            paths[symbol] = source or symbol.name
            names[symbol] = f"{source} ({symbol.name})" if source else symbol.name
        _log(event, names, paths)

    return listen


def _log(event: Event, names: Mapping[Expr, str], paths: Mapping[Expr, str]) -> None:
    spellings: tuple[str, ...] = ()
    level = logging.INFO
    match event:
        case SymbolMade(symbol, hint, _, within):
            known = "unknown" if hint is None else f"{hint} in the example"
            line = f"symbol {names[symbol]}: {known}, in {_range(within)}"
        case Stated(relation, standing):
            line = f"{standing} {relation_text(relation, names)}"
            spellings = tuple([_squeezed(relation_text(relation, by)) for by in ({}, paths, names)])
            level = logging.DEBUG if standing == "fact" else logging.INFO
        case Narrowed(symbol, before, after):
            line = f"range {names[symbol]}: {_range(before)} becomes {_range(after)}"
            level = logging.DEBUG
        case Replaced(symbol, value):
            line = f"equal {names[symbol]}: {text(value, names)}"
        case _:
            assert_never(event)
    frames = event.origin if _is_frames(event.origin) else ()
    if frames:
        line += f"  at {frames[0].code.co_filename}:{frames[0].line}"
    _LOGGER.log(level, "%s", line, extra={"spellings": spellings, "frames": frames})


def _is_frames(origin: Origin) -> TypeGuard[tuple[Frame, ...]]:
    return isinstance(origin, tuple) and all(isinstance(frame, Frame) for frame in origin)


def _range(within: Interval) -> str:
    lower = "" if within.lower == -INFINITY else f"{within.lower} "
    upper = "" if within.upper == INFINITY else f" {within.upper}"
    return f"{lower}…{upper}"


def _squeezed(relation: str) -> str:
    return "".join(relation.split())


class _Handler(logging.StreamHandler[Any]):
    """Writes the lines that were asked for, and the stack of the guard that was asked for."""

    def __init__(self, level: int | None, guard: str | None) -> None:
        super().__init__(sys.stderr)
        self._lines_from = level
        self._guard = None if guard is None else _squeezed(guard)
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        self.addFilter(self._is_wanted)

    def _is_wanted(self, record: logging.LogRecord) -> bool:
        return self._is_sought(record) or (
            self._lines_from is not None and record.levelno >= self._lines_from
        )

    def _is_sought(self, record: logging.LogRecord) -> bool:
        return self._guard is not None and self._guard in record.__dict__.get("spellings", ())

    def format(self, record: logging.LogRecord) -> str:
        """Write the line; below the guard that is sought, the user's calls, outermost first."""
        line = super().format(record)
        if not self._is_sought(record):
            return line
        stack = frame_filter().stack_text(record.__dict__.get("frames", ()))
        return f"{line}\n{stack.rstrip()}" if stack else line
