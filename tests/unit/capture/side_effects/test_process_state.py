"""Random generators and switches of the process: as before an export, whatever forward does."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
import torch

from monograph import export
from monograph.diagnostics import MonographError, SideEffectError, UnsupportedError

# Plain capture throughout: strict capture refuses the calls themselves.


class Calls(torch.nn.Module):
    """Calls a function in forward."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        self.function()
        return x + 1


@pytest.fixture(autouse=True)
def alone(request, monkeypatch):
    """No thread that another test left behind counts; the test of threads starts its own."""
    if "thread" not in request.node.name:
        monkeypatch.setattr(threading, "active_count", lambda: 1)


def situation():
    """Everything of the process that these tests change."""
    return (
        random.getstate(),
        np.random.get_state()[1].tobytes(),  # noqa: NPY002 - the generator that all share
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
    )


CHANGES = {
    "python": (random.random, UnsupportedError, "outside-read"),
    "numpy": (np.random.rand, UnsupportedError, "outside-read"),
    "seed": (lambda: torch.manual_seed(74_207_281), SideEffectError, "write-outlives-call"),
    "grad": (lambda: torch.set_grad_enabled(False), SideEffectError, "write-outlives-call"),
    "dtype": (
        lambda: torch.set_default_dtype(torch.float64),
        SideEffectError,
        "write-outlives-call",
    ),
    "determinism": (
        lambda: torch.use_deterministic_algorithms(True),
        SideEffectError,
        "write-outlives-call",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_the_process_is_refused_and_put_back(name) -> None:
    """A draw, a seed, a switch that stays: refused by name, and as before."""
    function, error, message = CHANGES[name]
    before = situation()
    with pytest.raises(error) as caught:
        export(Calls(function), (torch.ones(3),), strict=False)
    assert caught.value.diagnostic.name == message
    assert situation() == before


def test_a_switch_that_is_turned_back_is_refused() -> None:
    """What runs in between would depend on it, and programs turn no switches."""

    def there_and_back():
        torch.set_default_dtype(torch.float64)
        torch.set_default_dtype(torch.float32)

    with pytest.raises(SideEffectError):
        export(Calls(there_and_back), (torch.ones(3),), strict=False)


def test_it_is_put_back_when_forward_raises() -> None:
    """An error of the user's own leaves the process as it was, and is what the user sees."""

    def fails():
        torch.set_grad_enabled(False)
        raise ZeroDivisionError

    before = situation()
    with pytest.raises(ZeroDivisionError):
        export(Calls(fails), (torch.ones(3),), strict=False)
    assert situation() == before


def test_other_threads_may_draw() -> None:
    """A generator that another thread draws from meanwhile is none of forward's doing."""
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            torch.rand(3)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        export(Calls(lambda: None), (torch.ones(3),), strict=False)
    except MonographError as error:  # pragma: no cover - the failure this test is about
        pytest.fail(str(error))
    finally:
        stop.set()
        thread.join()
