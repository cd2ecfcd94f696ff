"""What belongs to the whole process: random generators and switches. Capture leaves it as it was.

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
    """One part of the situation: how to read it, to put it back, to tell two apart, to refuse."""

    read: Callable[[], Any]
    write: Callable[[Any], object]
    refuse: Callable[[], MonographError]
    same: Callable[[Any, Any], bool] = lambda one, other: one == other


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


def _torch_state() -> tuple[int, torch.Tensor, bool]:
    """The seed, the state, and whether this thread alone can draw."""
    return torch.initial_seed(), torch.get_rng_state(), threading.active_count() == 1


def _set_torch_state(state: tuple[int, torch.Tensor, bool]) -> None:
    torch.set_rng_state(state[1])


def _same_torch_state(
    one: tuple[int, torch.Tensor, bool], other: tuple[int, torch.Tensor, bool]
) -> bool:
    alone = one[2] and other[2]
    return one[0] == other[0] and (not alone or torch.equal(one[1], other[1]))


_PARTS: Final = (
    _Part(random.getstate, random.setstate, _drawn("random", "Python's random numbers")),
    _Part(_numpy_state, _set_numpy_state, _drawn("numpy.random", "NumPy's random numbers")),
    _Part(_torch_state, _set_torch_state, _turned("torch.manual_seed"), _same_torch_state),
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

    def restore(self) -> list[MonographError]:
        """Put back what differs; a refusal for each part that did."""
        found: list[MonographError] = []
        for part, before in self._before:
            if not part.same(part.read(), before):
                part.write(before)
                found.append(part.refuse())
        return found
