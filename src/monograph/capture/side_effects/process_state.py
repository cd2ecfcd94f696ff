"""Process state: random generators and switches. Capture leaves it as it was.

Drawing from Python's or NumPy's generator, seeding PyTorch's, or leaving a switch turned is nothing
that a program does, so a run after which one of them differs is refused. Operators that draw random
numbers are recorded, not run, and leave the generators alone.
"""

from __future__ import annotations

import decimal
import logging
import os
import random
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from monograph.capture.installation import THREAD
from monograph.diagnostics import problem
from monograph.host.flags import SETTINGS
from monograph.host.module_calls import GLOBAL_HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from monograph.diagnostics import Frame, MonographError

    _Lines = Mapping[str, tuple[Frame, ...]]
    FindLines = Callable[[dict[int, Callable[[], bool]]], dict[int, tuple[Frame, ...]]]


class _Part(NamedTuple):
    """One part of the situation: how to read it, to put it back, to refuse, to tell two apart.

    `refuse` is given the lines where settings were set, by their names, where it first differed if
    that is known, and what was read before and after. `same` is told whether this thread was alone:
    what another draws of PyTorch's generator is none of forward's doing, since operators that draw
    are recorded.
    """

    read: Callable[[], Any]
    write: Callable[[Any], object]
    refuse: Callable[[_Lines, tuple[Frame, ...], Any, Any], MonographError]
    same: Callable[[Any, Any, bool], bool] | None = None

    def differs(self, before: Any) -> bool:
        """Whether it is not as it was."""
        now = self.read()
        return now != before if self.same is None else not self.same(before, now, True)


def _drawn(what: str, because: str) -> Callable[..., MonographError]:
    instead = "draw it with PyTorch: torch.rand(()), torch.randint(...)"
    return lambda _, at, *_both: problem(
        "outside-read", at=at, what=what, because=because, instead=instead
    )


def _turned(what: str) -> Callable[..., MonographError]:
    package = ".".join(what.split(".")[:2])
    return lambda lines, at, *_both: problem(
        "write-outlives-call",
        at=lines.get(what) or lines.get(package) or at,
        kind="switch",
        name=what,
    )


_FILTERS: Final = "warnings.filterwarnings"
_LEVELS: Final = "logging.Logger.setLevel"
_DECIMAL: Final = "decimal.getcontext()"
_FOLDER: Final = "os.chdir"


def _of_python() -> dict[str, Any]:
    """What Python keeps for the whole process, by the names by which it is set."""
    rounding, loggers = decimal.getcontext(), logging.root.manager.loggerDict
    return {
        _DECIMAL: (rounding.prec, rounding.rounding, rounding.Emin, rounding.Emax),
        _FILTERS: [*warnings.filters],
        _LEVELS: {
            each: (known["level"], known["propagate"])
            for each in (logging.root, *loggers.values())
            if "level" in (known := each.__dict__)
        },
        _FOLDER: _folder(),
        "sys.path": [*sys.path],
        "sys.modules": sys.modules.copy(),
    }


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - as it is changed
    except OSError:  # it is gone
        return None


def _set_of_python(state: dict[str, Any]) -> None:
    context = decimal.getcontext()
    context.prec, context.rounding, context.Emin, context.Emax = state[_DECIMAL]
    filters: Any = warnings.filters  # a list, which its type does not say
    filters[:], sys.path[:] = state[_FILTERS], state["sys.path"]
    with warnings.catch_warnings():
        pass  # what was shown once may be shown again
    for logger, (level, propagate) in state[_LEVELS].items():
        if (logger.level, logger.propagate) != (level, propagate):
            logger.setLevel(level)
            logger.propagate = propagate
    if state[_FOLDER] not in (None, _folder()):
        os.chdir(state[_FOLDER])
    for name, each in _new_modules(state["sys.modules"], sys.modules.copy()):
        if not _is_imported(name, each):
            del sys.modules[name]
    sys.modules.update(state["sys.modules"])


def _new_modules(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any]]:
    return [each for each in now.items() if each[0] not in before]


def _is_imported(name: str, module: Any) -> bool:
    """Whether it was imported by this name, for all that it says."""
    spec = vars(module).get("__spec__") if issubclass(type(module), ModuleType) else None
    return spec is not None and spec.name == name


def _set_in_python(before: dict[str, Any], now: dict[str, Any]) -> str:
    """The name of what was set, but for what modules set that were imported; "" where nothing."""
    if now == before:
        return ""
    modules, known = now["sys.modules"], before["sys.modules"]
    new = _new_modules(known, modules)
    imports = any(_is_imported(*each) for each in new)
    if (new and not imports) or any(modules.get(n) is not each for n, each in known.items()):
        return "sys.modules"
    levels = before[_LEVELS].items()
    differs = {name: now[name] != before[name] for name in (_DECIMAL, _FOLDER)}
    if not imports:
        differs |= {name: now[name] != before[name] for name in (_FILTERS, "sys.path")}
        differs[_LEVELS] = any(now[_LEVELS].get(each, level) != level for each, level in levels)
    return next((name for name, is_set in differs.items() if is_set), "")


def _left_in_python(
    lines: _Lines, at: tuple[Frame, ...], before: dict[str, Any], now: dict[str, Any]
) -> MonographError:
    name = _set_in_python(before, now)
    if name == _FILTERS:
        at = next((at for what, at in lines.items() if what.startswith("warnings.")), at)
    return problem("write-outlives-call", at=at, kind="switch", name=name)


def _numpy_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=True)  # noqa: NPY002 - the generator that all share
    return (state[0], state[1].tobytes(), *state[2:])


def _set_numpy_state(state: tuple[Any, ...]) -> None:
    keys = np.frombuffer(state[1], dtype=np.uint32)
    np.random.set_state((state[0], keys, *state[2:]))  # noqa: NPY002


def _same_seed_and_state(one: Any, other: Any, alone: bool) -> bool:  # noqa: FBT001
    """A seed is never drawn by another thread."""
    return one[0] == other[0] and (not alone or torch.equal(one[1], other[1]))


_PARTS: Final = (
    _Part(
        random.getstate,
        random.setstate,
        _drawn("random", "Python's random numbers"),
    ),
    _Part(
        _numpy_state,
        _set_numpy_state,
        _drawn("numpy.random", "NumPy's random numbers"),
    ),
    _Part(
        lambda: (torch.initial_seed(), torch.get_rng_state()),
        lambda state: torch.set_rng_state(state[1]),
        _turned("torch.manual_seed"),
        _same_seed_and_state,
    ),
    _Part(torch.is_grad_enabled, torch.set_grad_enabled, _turned("torch.set_grad_enabled")),
    _Part(torch.get_default_dtype, torch.set_default_dtype, _turned("torch.set_default_dtype")),
    _Part(
        _of_python,
        _set_of_python,
        _left_in_python,
        lambda before, now, _: not _set_in_python(before, now),
    ),
    *(_Part(read, write, _turned(what)) for what, read, write in SETTINGS),
)


def _refused_by_name() -> dict[str, Any]:
    """What nobody compares, since who sets it is refused."""
    loggers = (logging.root, *logging.root.manager.loggerDict.values())
    return {
        "environment": os.environ.copy(),
        "signals": {each: signal.getsignal(each) for each in _SIGNALS},
        "disabled": logging.root.manager.disable,
        "loggers": {
            each: ([*each.handlers], [*each.filters])
            for each in loggers
            if isinstance(each, logging.Logger)
        },
        "hooks": [each.copy() for each in GLOBAL_HOOKS],
    }


def _set_again(state: dict[str, Any]) -> None:
    now = _refused_by_name()
    for hooks, kept in zip(GLOBAL_HOOKS, state["hooks"], strict=True):
        if hooks != kept:
            hooks.clear()
            hooks.update(kept)
    for name in {**now["environment"], **state["environment"]}:
        value = state["environment"].get(name)
        if value is None:
            del os.environ[name]
        elif value != now["environment"].get(name):
            os.environ[name] = value
    for each, handler in state["signals"].items():
        if handler is not now["signals"][each] and handler is not None:
            with suppress(ValueError):  # threads beside the main one may not
                signal.signal(each, handler)
    if now["disabled"] != state["disabled"]:
        logging.disable(state["disabled"])
    for logger, (handlers, filters) in state["loggers"].items():
        logger.handlers[:], logger.filters[:] = handlers, filters


@contextmanager
def given_back() -> Generator[None]:
    """Put back what is refused by name: a capture that goes on after refusals sets it."""
    before = _refused_by_name()
    try:
        yield
    finally:
        _set_again(before)


_SIGNALS: Final = tuple(signal.valid_signals())
OF_PROCESS: Final = frozenset(
    id(function.__self__)  # pyright: ignore[reportFunctionMemberAccess] - both are methods
    for function in (random.random, np.random.rand)
) | {id(sys.modules)}
"""The identities of Python's and of NumPy's generator, and of what is looked after here, too."""


class Situation:
    """The process as it was before user code ran."""

    def __init__(self) -> None:
        self._before = [(part, part.read()) for part in _PARTS]
        self._was_alone = threading.active_count() == 1
        THREAD.turned = {}

    def restore(self, find_lines: FindLines | None = None) -> list[MonographError]:
        """Put back what differs; a refusal for each part that did.

        `find_lines` says at which lines parts first differ, where nobody was told.
        """
        alone = self._was_alone and threading.active_count() == 1
        read = [(each, each[0].read()) for each in self._before]
        changed = [
            (part, before, now)
            for (part, before), now in read
            if (before != now if part.same is None else not part.same(before, now, alone))
        ]
        for part, before, _ in changed:
            part.write(before)
        lines = THREAD.turned
        found = [part.refuse(lines, (), before, now) for part, before, now in changed]
        unseen = [i for i, refusal in enumerate(found) if not refusal.diagnostic.at]
        if unseen and find_lines is not None:
            at = find_lines({i: partial(changed[i][0].differs, changed[i][1]) for i in unseen})
            for i in unseen:
                part, before, now = changed[i]
                part.write(before)
                found[i] = part.refuse(lines, at.get(i, ()), before, now)
        return found
