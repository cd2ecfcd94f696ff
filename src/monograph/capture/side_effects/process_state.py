"""Process state: random generators and switches. Capture leaves it as it was.

Drawing from Python's or NumPy's generator, seeding PyTorch's, or leaving a switch turned is nothing
that a program does, so a run after which one of them differs is refused. Operators that draw random
numbers are recorded, not run, and leave the generators alone.
"""

from __future__ import annotations

import decimal
import random
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from monograph.capture.installation import THREAD
from monograph.diagnostics import problem
from monograph.host.flags import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.diagnostics import Frame, MonographError

    _Lines = Mapping[str, tuple[Frame, ...]]


class _Part(NamedTuple):
    """One part of the situation: how to read it, to put it back, to refuse, to tell two apart.

    `refuse` is given the lines where settings were set, by their names. `same` is told whether this
    thread was alone: what another draws of PyTorch's generator is none of forward's doing, since
    operators that draw are recorded.
    """

    read: Callable[[], Any]
    write: Callable[[Any], object]
    refuse: Callable[[_Lines], MonographError]
    same: Callable[[Any, Any, bool], bool] | None = None


def _drawn(what: str, because: str) -> Callable[[_Lines], MonographError]:
    instead = "draw it with PyTorch: torch.rand(()), torch.randint(...)"
    return lambda _: problem("outside-read", what=what, because=because, instead=instead)


def _turned(what: str) -> Callable[[_Lines], MonographError]:
    package = ".".join(what.split(".")[:2])
    return lambda lines: problem(
        "write-outlives-call",
        at=lines.get(what) or lines.get(package, ()),
        kind="switch",
        name=what,
    )


def _of_python() -> tuple[Any, ...]:
    """The filters of warnings, how decimal numbers are rounded, where modules are looked for.

    Modules that are imported set such things: it is another situation, where there are more.
    """
    rounding = decimal.getcontext()
    rounded = (rounding.prec, rounding.rounding, rounding.Emin, rounding.Emax)
    return len(sys.modules), rounded, [*warnings.filters], [*sys.path]


def _set_of_python(state: tuple[Any, ...]) -> None:
    context = decimal.getcontext()
    context.prec, context.rounding, context.Emin, context.Emax = state[1]
    filters: Any = warnings.filters  # a list, which its type does not say
    filters[:], sys.path[:] = state[2:]
    with warnings.catch_warnings():
        pass  # what was shown once may be shown again


def _same_but_for_imports(one: Any, other: Any, alone: bool) -> bool:  # noqa: FBT001
    del alone
    return one[1] == other[1] and (one[2:] == other[2:] or one[0] != other[0])


def _left_in_python(lines: _Lines) -> MonographError:
    at = next((at for what, at in lines.items() if what.startswith("warnings.")), ())
    name = "warnings.filterwarnings" if at else "decimal.getcontext() or sys.path"
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
    _Part(_of_python, _set_of_python, _left_in_python, _same_but_for_imports),
    *(_Part(read, write, _turned(what)) for what, read, write in SETTINGS),
)


SHARED_GENERATORS: Final = frozenset(
    id(function.__self__)  # pyright: ignore[reportFunctionMemberAccess] - both are methods
    for function in (random.random, np.random.rand)
)
"""The identities of Python's and of NumPy's generator, which are looked after here."""


class Situation:
    """The process as it was before user code ran."""

    def __init__(self) -> None:
        self._before = [(part, part.read()) for part in _PARTS]
        self._was_alone = threading.active_count() == 1
        THREAD.turned = {}

    def restore(self) -> list[MonographError]:
        """Put back what differs; a refusal for each part that did."""
        found: list[MonographError] = []
        alone = self._was_alone and threading.active_count() == 1
        for part, before in self._before:
            now = part.read()
            if now != before if part.same is None else not part.same(now, before, alone):
                part.write(before)
                found.append(part.refuse(THREAD.turned))
        return found
