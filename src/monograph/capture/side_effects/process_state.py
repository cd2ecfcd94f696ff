"""Process state: random generators and switches. Capture leaves it as it was.

Drawing from Python's or NumPy's generator, seeding PyTorch's, or leaving a switch turned is nothing
that a program does, so a run after which one of them differs is refused. Operators that draw random
numbers are recorded, not run, and leave the generators alone.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.diagnostics import MonographError


class _Part(NamedTuple):
    """One part of the situation: how to read it, to put it back, to refuse, to tell two apart.

    `same` is told whether this thread was alone: what another draws of PyTorch's generator is none
    of forward's doing, since operators that draw are recorded.
    """

    read: Callable[[], Any]
    write: Callable[[Any], object]
    refuse: Callable[[], MonographError]
    same: Callable[[Any, Any, bool], bool] = lambda one, other, _: one == other


def _drawn(what: str, because: str) -> Callable[[], MonographError]:
    instead = "draw it with PyTorch: torch.rand(()), torch.randint(...)"
    return lambda: problem("outside-read", what=what, because=because, instead=instead)


def _turned(what: str) -> Callable[[], MonographError]:
    return lambda: problem("write-outlives-call", kind="switch", name=what)


def _numpy_state() -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=True)  # noqa: NPY002 - the generator that all share
    return (state[0], state[1].tobytes(), *state[2:])


def _set_numpy_state(state: tuple[Any, ...]) -> None:
    keys = np.frombuffer(state[1], dtype=np.uint32)
    np.random.set_state((state[0], keys, *state[2:]))  # noqa: NPY002


def _set_deterministic(state: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(state[0], warn_only=state[1])


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
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        _set_deterministic,
        _turned("torch.use_deterministic_algorithms"),
    ),
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

    def restore(self) -> list[MonographError]:
        """Put back what differs; a refusal for each part that did."""
        found: list[MonographError] = []
        alone = self._was_alone and threading.active_count() == 1
        for part, before in self._before:
            if not part.same(part.read(), before, alone):
                part.write(before)
                found.append(part.refuse())
        return found
