"""Logs say line by line what a capture learns about sizes, through standard `logging`.

The loggers are `monograph.dynamic` and, for the operators of each program that was made,
`monograph.export`. `set_logs` and `MONOGRAPH_LOGS` only set its level and give it a
handler with a filter; whoever configures `logging` themselves sets the level of that logger. While
its level is not set nobody listens, and a capture does not even make the lines.

    MONOGRAPH_LOGS=dynamic                  every symbol, guard, assertion and replacement
    MONOGRAPH_LOGS=+dynamic                 facts and ranges, too; -dynamic is errors alone
    MONOGRAPH_LOGS=export                   one line a program; +export operators and reasons
    MONOGRAPH_LOGS=jit                      graph breaks, and code compiled again; +jit every graph
    MONOGRAPH_LOGS=all                      these three; +all
    MONOGRAPH_LOGS='guard:"s0 == 2*s1"'     the whole user stack where that guard was added
    MONOGRAPH_LOGS=symbol:s0                the same where that symbol was made
    MONOGRAPH_LOGS='dynamic,guard:"..."'    both

`guard:` also takes the spelling of sympy: `Eq(s0, 2*s1)`. Who filters for what never came is told.
"""

import atexit
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeGuard, assert_never

from monograph.diagnostics import Frame, frame_filter, nearest
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

__all__ = [
    "EXPORTS",
    "configure_from_environment",
    "listener_for",
    "log_program",
    "log_refusal",
    "set_logs",
]

_LOGGER: Final = logging.getLogger("monograph.dynamic")
EXPORTS: Final = logging.getLogger("monograph.export")
_JIT: Final = logging.getLogger("monograph.jit")
_PARENT: Final = logging.getLogger("monograph")
_VARIABLE: Final = "MONOGRAPH_LOGS"
# What stands between commas that are not within quotes or parentheses: +dynamic, guard:Eq(a, b)
_ITEMS: Final = re.compile(r'(?:"[^"]*"|\([^"]*\)|[^,"(])+|["(]')
_ITEM: Final = re.compile(r'\s*([+-]?)(\w+)(?::(?:"([^"]*)"|([^"]*)))?\s*')
_ALL: Final = ("dynamic", "export", "jit")
_LEVELS: Final = {"": logging.INFO, "+": logging.DEBUG, "-": logging.ERROR}
_COMPARISON: Final = re.compile(r"(.+?)(==|!=|<=|>=|<|>)(.+)")
_CALL: Final = re.compile(r"^(Eq|Ne|Le|Lt|Ge|Gt)\((.+)\)$")
_SYMPY: Final = {"Eq": "==", "Ne": "!=", "Le": "<=", "Lt": "<", "Ge": ">=", "Gt": ">"}
_MIRRORED: Final = {"==": "==", "!=": "!=", "<=": ">=", "<": ">", ">=": "<=", ">": "<"}


def set_logs(
    *,
    dynamic: bool | int | None = None,
    export: bool | int | None = None,
    jit: bool | int | None = None,
    guard: str | None = None,
    symbol: str | None = None,
) -> None:
    """Choose what is logged to the standard error stream from now on; without arguments, nothing.

    `dynamic` is a level of `logging`, or True for every line: symbols, guards, assertions and
    replacements are at INFO, facts and ranges at DEBUG. `export` is the level of lines about what
    was exported: programs at INFO, their operators at DEBUG. `jit` is that of just-in-time runs:
    graph breaks and recompilations at INFO, graphs and guards at DEBUG.
    `guard` is a relation as the log prints it, by symbols, by input paths, or by both; spaces do
    not matter. `symbol` is a symbol. Levels are those of `logging`: 10 is DEBUG, 20 INFO.

    >>> set_logs(dynamic=True, guard="s0 == 2*s1")
    >>> set_logs()
    """
    _listen(EXPORTS, export, {})
    _listen(_JIT, jit, {})
    sought = {"guard": guard, "symbol": symbol}
    _listen(_LOGGER, dynamic, {kind: each for kind, each in sought.items() if each})


def _listen(logger: logging.Logger, given: int | None, sought: Mapping[str, str]) -> None:
    level = logging.DEBUG if given is True else given or None
    for handler in [h for h in logger.handlers if isinstance(h, _Handler)]:
        handler.say_what_was_missed()
        logger.removeHandler(handler)
    wanted = level is not None or bool(sought)
    logger.propagate = not wanted
    if not wanted:
        logger.setLevel(logging.NOTSET)
        return
    quietest = logging.INFO if sought else logging.CRITICAL
    logger.setLevel(logging.DEBUG if level is None else min(level, quietest))
    logger.addHandler(_Handler(level, sought))


def configure_from_environment(environ: Mapping[str, str]) -> None:
    """Do what `MONOGRAPH_LOGS` says, if it is set.

    >>> configure_from_environment({"MONOGRAPH_LOGS": 'dynamic,guard:"min(s0, 4) == 4"'})
    >>> set_logs()
    """
    given = environ.get(_VARIABLE, "").strip()
    if not given:
        return
    chosen: dict[str, Any] = {}
    unknown: list[str] = []
    for each in _ITEMS.findall(given):
        item = _ITEM.fullmatch(each)
        sign, name = (item[1], item[2]) if item else ("", "")
        sought = item[3] or item[4] if item else None
        if name in {"guard", "symbol"} and sought and not sign:
            chosen[name] = sought
        elif name in {*_ALL, "all"} and sought is None:
            chosen.update(dict.fromkeys(_ALL if name == "all" else (name,), _LEVELS[sign]))
        elif each.strip():
            unknown.append(each.strip())
    if unknown:
        known = """`dynamic`, `export`, `jit`, `all`, `guard:"s0 == 2*s1"` and `symbol:s0`"""
        warnings.warn(f"{_VARIABLE} names {unknown}; it may name {known}", stacklevel=2)
    set_logs(**chosen)


def log_program(
    name: str, nodes: Iterable[tuple[str, object]], *, n_guards: int, strict: bool
) -> None:
    """Say what was exported: the operators are given as text, each with the frames it is from."""
    lines = [f"{text}{_at(origin)}" for text, origin in nodes]
    how = "strict" if strict else "plain"
    EXPORTS.info("%s: %d operators, %d guards (%s)", name, len(lines), n_guards, how)
    for line in lines:
        EXPORTS.debug("%s", line)


def log_refusal(name: str, error: Exception) -> None:
    """Say why nothing was exported: one line, and the whole message where operators are listed."""
    headline, _, _ = str(error).partition("-->")
    EXPORTS.info("%s: not exported: %s: %s", name, type(error).__name__, " ".join(headline.split()))
    EXPORTS.debug("%s", error)


def listener_for(facts: Facts, asking: Callable[[], str] = str) -> Callable[[Event], None] | None:
    """Make what `facts.listener` is set to: a writer of log lines, or None where nobody reads them.

    `asking` gives the operator whose rule asks now, "" where user code does.

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
        _log(event, names, paths, asking())

    return listen


def _log(event: Event, names: Mapping[Expr, str], paths: Mapping[Expr, str], asking: str) -> None:
    spellings: tuple[str, ...] = ()
    kind = "guard"
    level = logging.INFO
    match event:
        case SymbolMade(symbol, hint, _, within):
            known = "unknown" if hint is None else f"{hint} in the example"
            line = f"symbol {names[symbol]}: {known}, in {_range(within)}"
            kind, spellings = "symbol", (symbol.name, paths[symbol], _squeezed(names[symbol]))
        case Stated(relation, standing):
            line = f"{standing} {relation_text(relation, names)}"
            line += f"  for {asking}" if asking else ""
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
    extra = {"spellings": spellings, "frames": frames, "kind": kind}
    _LOGGER.log(level, "%s", f"{line}{_at(frames)}", extra=extra)


def _at(origin: object) -> str:
    frames = origin if _is_frames(origin) else ()
    return f"  at {frames[0].code.co_filename}:{frames[0].line}" if frames else ""


def _is_frames(origin: Origin) -> TypeGuard[tuple[Frame, ...]]:
    return isinstance(origin, tuple) and all(isinstance(frame, Frame) for frame in origin)


def _range(within: Interval) -> str:
    lower = "" if within.lower == -INFINITY else f"{within.lower} "
    upper = "" if within.upper == INFINITY else f" {within.upper}"
    return f"{lower}…{upper}"


def _squeezed(relation: str) -> str:
    return "".join(relation.split())


def _forms(relation: str) -> set[str]:
    """What a relation may be printed as: as it is given, and with its sides exchanged."""
    squeezed = _squeezed(relation)
    forms = {squeezed}
    for name, inside in _CALL.findall(squeezed):
        commas = [at for at, letter in enumerate(inside) if letter == ","]
        forms |= {f"{inside[:at]}{_SYMPY[name]}{inside[at + 1 :]}" for at in commas}
    sides = [match.groups() for each in forms if (match := _COMPARISON.fullmatch(each))]
    return forms | {f"{right}{_MIRRORED[sign]}{left}" for left, sign, right in sides}


class _Handler(logging.StreamHandler[Any]):
    """Writes the lines that were asked for, and the stack of what was sought."""

    def __init__(self, level: int | None, sought: Mapping[str, str]) -> None:
        super().__init__(sys.stderr)
        self._lines_from = level
        self._sought = {kind: _forms(each) for kind, each in sought.items()}
        self._missed = dict(sought)
        self._seen: dict[str, list[str]] = {"guard": [], "symbol": []}
        if sought:
            atexit.register(self.say_what_was_missed)
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        self.addFilter(self._is_wanted)

    def _is_wanted(self, record: logging.LogRecord) -> bool:
        return self._is_sought(record) or (
            self._lines_from is not None and record.levelno >= self._lines_from
        )

    def _is_sought(self, record: logging.LogRecord) -> bool:
        spellings = record.__dict__.get("spellings", ())
        kind = record.__dict__.get("kind", "")
        if not spellings or kind not in self._sought:
            return False
        self._seen[kind].append(spellings[0])
        if self._sought[kind].isdisjoint(spellings):
            return False
        self._missed.pop(kind, None)
        return True

    def say_what_was_missed(self) -> None:
        """Warn of each filter that nothing passed, and say what was nearest."""
        atexit.unregister(self.say_what_was_missed)
        for kind, given in self._missed.items():
            seen = list(dict.fromkeys(self._seen[kind]))
            near = (nearest(given, seen) or seen[0]) if seen else ""
            made = f"of {len(seen)} made, the nearest is `{near}`" if seen else "none was made"
            self.stream.write(f"monograph.dynamic: no {kind} is `{given}`; {made}\n")
        self._missed.clear()

    def format(self, record: logging.LogRecord) -> str:
        """Write the line; below the guard that is sought, the user's calls, outermost first."""
        line = super().format(record)
        if not self._is_sought(record):
            return line
        stack = frame_filter().stack_text(record.__dict__.get("frames", ()))
        return f"{line}\n{stack.rstrip()}" if stack else line
