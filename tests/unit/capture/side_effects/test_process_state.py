"""Random generators and switches of the process: as before an export, whatever forward does."""

from __future__ import annotations

import abc
import atexit
import codecs
import contextlib
import copyreg
import decimal
import functools
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
import torch
import torch.nn.modules.module as nn_modules

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


def _look_elsewhere():
    sys.path.append("elsewhere")


def _round_otherwise():
    decimal.getcontext().prec = 7


def _time_kernels():
    torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark


def _round_products():
    torch.backends.cuda.matmul.allow_tf32 = not torch.backends.cuda.matmul.allow_tf32


def _round_sums():
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


def _orders_products():
    torch.backends.opt_einsum.strategy = "optimal"


def _accumulates():
    torch.backends.cuda.matmul.allow_fp16_accumulation = True


def _convolves():
    torch.backends.mkldnn.conv.fp32_precision = "bf16"


def _computes():
    torch.backends.fp32_precision = "tf32"


def _replaces_a_function():
    torch.nn.functional.relu = torch.nn.functional.gelu


def _imports_and_sets():
    import logging as logs  # noqa: PLC0415 - the point

    logs.raiseExceptions = False


def _enters_a_module():
    sys.modules["entered"] = sys.modules["sys"]


def _takes_a_module_out():
    sys.modules.pop("this", None)


def _logs_more():
    LOGGER.level = LOGGER.level + 10


def _logs_here():
    LOGGER.propagate = False


def _logs_by_a_setter():
    with contextlib.suppress(MonographError):
        LOGGER.setLevel(7)


def _goes_elsewhere():
    list(map(os.chdir, [os.sep]))


LOGGER = logging.getLogger("of_this_test")
LEFT = {
    "modules": (_enters_a_module, lambda: [*sys.modules]),
    "module": (_takes_a_module_out, lambda: "this" in sys.modules),
    "level": (_logs_more, lambda: LOGGER.level),
    "propagation": (_logs_here, lambda: LOGGER.propagate),
    "setter": (_logs_by_a_setter, lambda: LOGGER.level),
    "configuration": (lambda: logging.basicConfig(level=3, force=True), lambda: logging.root.level),
    "function": (_replaces_a_function, lambda: torch.nn.functional.relu),
    "imported": (_imports_and_sets, lambda: logging.raiseExceptions),
    "folder": (_goes_elsewhere, os.getcwd),
    "anomalies": (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
    "benchmark": (_time_kernels, lambda: torch.backends.cudnn.benchmark),
    "products": (_round_products, lambda: torch.backends.cuda.matmul.allow_tf32),
    "sums": (
        _round_sums,
        lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    ),
    "einsum": (_orders_products, lambda: {**vars(torch.backends.opt_einsum)}),
    "accumulation": (
        _accumulates,
        lambda: torch.backends.cuda.matmul.allow_fp16_accumulation,
    ),
    "convolutions": (_convolves, lambda: torch.backends.mkldnn.conv.fp32_precision),
    "all operators": (_computes, lambda: torch.backends.fp32_precision),
    "encoders": (
        lambda: torch.backends.mha.set_fastpath_enabled(False),
        torch.backends.mha.get_fastpath_enabled,
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "threads": (lambda: torch.set_num_threads(torch.get_num_threads() + 1), torch.get_num_threads),
    "attention": (
        lambda: torch.backends.cuda.enable_flash_sdp(not torch.backends.cuda.flash_sdp_enabled()),
        torch.backends.cuda.flash_sdp_enabled,
    ),
    "decimal": (_round_otherwise, lambda: decimal.getcontext().prec),
    "paths": (_look_elsewhere, lambda: [*sys.path]),
    "warnings": (lambda: warnings.simplefilter("ignore"), lambda: [*warnings.filters]),
}
"""What sets something for the whole process, and what tells how it stands."""


class Interface(abc.ABC):
    """Classes are registered as its own."""

    @abc.abstractmethod
    def width(self):
        """Nobody asks."""


@functools.singledispatch
def width(value):
    """Of what, others say."""
    return len(value)


HANDLERS = {
    "class": lambda: Interface.register(int),
    "classes": lambda: list(map(Interface.register, [str])),
    "codec": lambda: codecs.register_error("of this test", lambda error: ("", error.end)),
    "function": lambda: width.register(int, lambda value: value),
    "filter": lambda: LOGGER.addFilter(lambda _: True),
    "signal": lambda: signal.signal(signal.SIGUSR1, signal.SIG_DFL),
    "end": lambda: atexit.register(len, ()),
    "copies": lambda: copyreg.pickle(Calls, lambda made: (Calls, (made.function,))),
    "language": lambda: locale.setlocale(locale.LC_CTYPE, "C"),
    "sharing": lambda: torch.multiprocessing.set_sharing_strategy("file_system"),
    "checks": lambda: (torch.sparse.check_sparse_tensor_invariants.enable(), None)[1],
    "conversion": lambda: torch.__future__.set_swap_module_params_on_conversion(False),
    "hook": lambda: nn_modules.register_module_forward_hook(lambda *_: None),
    "hook before": lambda: nn_modules.register_module_forward_pre_hook(lambda *_: None),
}


@pytest.fixture
def taken_back():
    """A capture that goes on after refusals does them."""
    language = locale.setlocale(locale.LC_CTYPE)
    yield
    locale.setlocale(locale.LC_CTYPE, language)
    atexit.unregister(len)
    copyreg.dispatch_table.pop(Calls, None)
    torch.sparse.check_sparse_tensor_invariants.disable()
    torch.multiprocessing.set_sharing_strategy("file_descriptor")
    nn_modules._global_forward_hooks.clear()
    nn_modules._global_forward_pre_hooks.clear()
    LOGGER.filters.clear()


@pytest.mark.usefixtures("taken_back")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", HANDLERS)
def test_handlers_of_the_process_are_refused(name, strict):
    """What Python or PyTorch calls from then on, and how they go about it."""
    with pytest.raises(MonographError) as caught:
        export(Calls(HANDLERS[name]), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"


def _tells_the_environment():
    os.environ["OF_THIS_TEST"] = "1"


GIVEN_BACK = {
    "environment": (_tells_the_environment, lambda: os.environ.get("OF_THIS_TEST")),
    "signal": (
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
        lambda: signal.getsignal(signal.SIGUSR2),
    ),
    "levels": (lambda: logging.disable(40), lambda: logging.root.manager.disable),
    "handler": (lambda: LOGGER.addHandler(logging.NullHandler()), lambda: [*LOGGER.handlers]),
    "filter": (lambda: LOGGER.addFilter(lambda _: True), lambda: [*LOGGER.filters]),
    "hook": (
        lambda: nn_modules.register_module_forward_hook(lambda *_: None),
        lambda: [*nn_modules._global_forward_hooks],
    ),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", GIVEN_BACK)
def test_what_is_refused_by_name_is_put_back(name, strict):
    """A capture goes on after refusals, and sets it."""
    change, tell = GIVEN_BACK[name]
    before = tell()
    with pytest.raises(MonographError):
        export(Calls(change), (torch.ones(2),), strict=strict)
    assert tell() == before


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", LEFT)
def test_what_is_set_for_the_process_is_refused_and_put_back(name, strict, monkeypatch) -> None:
    """Kernels, warnings and numbers of other code would go by it; a program sets none of it."""
    # PyTorch's own databases of tests forbid to set some of it, once they are imported.
    names = torch.backends.flags_frozen.__globals__
    monkeypatch.setitem(names, "__allow_nonbracketed_mutation_flag", True)
    monkeypatch.setitem(sys.modules, "this", sys)
    monkeypatch.setattr(logging.root, "handlers", [])  # which another test may have left
    function, tell = LEFT[name]
    before = tell()
    with pytest.raises(SideEffectError) as caught:
        export(Calls(function), (torch.ones(3),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert tell() == before
    assert caught.value.diagnostic.at[0].code.co_filename == __file__


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda: logging.getLogger("elsewhere").setLevel(logging.getLogger("elsewhere").level),
        lambda: sys.setrecursionlimit(sys.getrecursionlimit()),
        lambda: np.seterr(divide="warn"),
        lambda: torch.set_autocast_enabled(False),
    ],
)
def test_what_sets_something_is_refused_where_nobody_compares(function, strict) -> None:
    """Whoever calls it in forward calls it in every call."""
    with pytest.raises(SideEffectError) as caught:
        export(Calls(function), (torch.ones(3),), strict=strict)
    assert caught.value.diagnostic.at[0].code.co_filename == __file__


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_set_and_put_back_is_none_of_a_programs_business(strict) -> None:
    """No operator goes by it meanwhile that a program calls otherwise."""

    def there_and_back():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(False):
            pass

    export(Calls(there_and_back), (torch.ones(3),), strict=strict)


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
