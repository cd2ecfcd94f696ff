"""Impure functions: what reads or changes the world outside of the model, and must not.

A value that may differ between calls would be repeated by the program as it was met during the
export; a switch of the process that forward turns would not be turned by the program. Functions are
recognised by identity, methods by what they belong to, so the name by which user code reaches them
does not matter.
"""

from __future__ import annotations

import abc
import atexit
import builtins
import codecs
import copyreg
import ctypes
import datetime as dt
import gc
import inspect
import io
import locale
import logging
import opcode
import os
import random
import secrets
import signal
import sys
import threading
import time
import traceback
import uuid
import warnings
import weakref
from functools import partial, singledispatch
from operator import attrgetter
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch

from monograph.capture.call_events import MONITORING
from monograph.capture.code_policy import OURS, TORCH, is_library, is_users
from monograph.capture.hidden_state.container_contents import parts_of
from monograph.capture.hidden_state.memory_objects import C_DATA
from monograph.capture.hidden_state.native_state import BOUND_TO_C, FOREIGN_FUNCTION
from monograph.capture.installation import THREAD
from monograph.diagnostics import problem
from monograph.diagnostics.code_origin import is_installed
from monograph.host.flags import SETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from monograph.diagnostics import Frame, MonographError


class Read(NamedTuple):
    """A function that reads what may differ between calls."""

    what: str
    because: str
    instead: str = ""

    @property
    def of_identity(self) -> bool:
        """Whether it is where something lies in memory."""
        return self.because == _IDENTITY

    @property
    def makes_names(self) -> bool:
        """Whether it is something that nothing else is called."""
        return self.because == _UNIQUE

    @property
    def of_process(self) -> bool:
        """Whether it is how the process stands: its stack, its collector, its threads."""
        return self.because in {_STACK, _COLLECTOR, _THREAD, _WATCHER, _OBJECT}

    @property
    def must_not_run(self) -> bool:
        """Whether nobody could tell afterwards what it wrote to, and put that back."""
        return self.because in {_ADDRESS, _FOREIGN}

    @property
    def of_environment(self) -> bool:
        """Whether it is a variable of the environment."""
        return self.because == _ENVIRONMENT


class Switch(NamedTuple):
    """A function that changes how the whole process behaves from then on.

    What is compared when the run has ended may be put back until then.
    """

    what: str
    is_compared: bool = False

    @property
    def must_not_run(self) -> bool:
        """Whether nobody could put it back."""
        return self.what in {_RELEASE, _SWAP}


_IDENTITY = "where an object lies in memory"
_CLOCK = "a clock"
_UNIQUE = "a clock or random bytes"
_ENVIRONMENT = "the environment of the process"
_STACK = "what is on the call stack"
_COLLECTOR = "the books of the garbage collector"
_THREAD = "which threads there are"
_WATCHER = "whether somebody watches"
_OBJECT = "how Python keeps an object"
_DRAW = "draw it with PyTorch: torch.rand(()), torch.randint(...)"
_ADDRESS = "memory by its address"
_FOREIGN = "what a library in C keeps"
_RELEASE = "memoryview.release"
_SWAP = "torch.utils.swap_tensors"
_OPERATOR = "make it an operator, with torch.library.custom_op"
_ENTROPY = "random bytes of the operating system"


def _named(module: Any, names: str) -> Iterable[tuple[str, Any]]:
    known = [name for name in names.split() if hasattr(module, name)]
    if not known:
        return []
    _PLACES.append((module, known, attrgetter(*known)))
    return [(f"{module.__name__}.{name}", getattr(module, name)) for name in known]


_PLACES: Final[list[tuple[Any, list[str], Callable[[Any], Any]]]] = []
"""Where functions that are known by themselves stand."""


_MODULE_HOOKS: Final = (
    "register_module_forward_hook register_module_forward_pre_hook register_module_backward_hook"
    " register_module_full_backward_hook register_module_full_backward_pre_hook"
)


def _known() -> Iterator[tuple[Any, Read | Switch]]:
    """Every function that is known by itself."""
    for what, function in SETTERS:
        yield function, Switch(what, is_compared=True)
    for because, functions in (
        (
            _CLOCK,
            _named(
                time,
                "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time"
                " process_time_ns thread_time thread_time_ns localtime gmtime ctime",
            ),
        ),
        (_ENVIRONMENT, _named(os, "getenv getenvb getpid getcwd getcwdb")),
        (_ENTROPY, _named(os, "urandom getrandom")),
        (_ENTROPY, _named(secrets, "token_bytes token_hex token_urlsafe randbelow randbits")),
        (_UNIQUE, _named(uuid, "uuid1 uuid4")),
        ("or writes a file", [("open", builtins.open), ("io.open", io.open), *_named(os, "open")]),
        ("a directory", _named(os, "listdir scandir")),
        ("what somebody types", [("input", builtins.input)]),
        (_IDENTITY, [("id", builtins.id)]),
        ("the seed of the process", _named(torch, "seed initial_seed get_rng_state")),
        (_STACK, _named(sys, "_getframe _getframemodulename _current_frames _current_exceptions")),
        (_STACK, _named(inspect, "currentframe stack getouterframes")),
        (_STACK, _named(traceback, "extract_stack format_stack print_stack walk_stack")),
        (_STACK, _named(logging.Logger, "findCaller")),
        (_COLLECTOR, _named(gc, "isenabled get_count get_objects get_stats get_referrers collect")),
        (_COLLECTOR, _named(gc, "get_threshold get_freeze_count is_tracked")),
        (_ADDRESS, _named(ctypes, "cast string_at wstring_at memmove memset addressof")),
        (_FOREIGN, _named(ctypes.CDLL, "__getattr__ __getitem__")),
        (_OBJECT, _named(sys, "getrefcount getsizeof getallocatedblocks")),
        (_OBJECT, _named(weakref, "getweakrefcount getweakrefs")),
        (_WATCHER, _named(sys, "gettrace getprofile")),
        (_WATCHER, _named(threading, "gettrace getprofile")),
        (_WATCHER, _named(MONITORING, "get_tool get_events get_local_events")),
        (_THREAD, _named(threading, "current_thread main_thread active_count enumerate")),
        (_THREAD, _named(threading, "get_ident get_native_id")),
    ):
        for name, function in functions:
            yield function, Read(name, because)
    for name, function in _named(
        torch,
        "manual_seed set_rng_state set_default_dtype set_default_device"
        " use_deterministic_algorithms set_default_tensor_type set_float32_matmul_precision"
        " set_num_threads set_num_interop_threads set_printoptions set_flush_denormal",
    ):
        yield function, Switch(name)
    for module, names in (
        (torch.random, "fork_rng"),
        (torch.utils, "swap_tensors"),
        (os, "chdir umask"),
        (torch, "set_autocast_enabled set_autocast_dtype set_autocast_cache_enabled"),
        (gc, "enable disable freeze unfreeze set_threshold set_debug"),
        (sys, "settrace setprofile setrecursionlimit setswitchinterval set_int_max_str_digits"),
        (np, "seterr seterrcall setbufsize set_printoptions"),
        (logging, "disable captureWarnings"),
        (logging.Logger, "setLevel addHandler removeHandler"),
        (logging.Filterer, "addFilter removeFilter"),
        (threading, "settrace setprofile"),
        (signal, "signal setitimer alarm"),
        (atexit, "register unregister"),
        (copyreg, "pickle"),
        (abc.ABCMeta, "register"),
        (codecs, "register register_error unregister"),
        (locale, "setlocale"),
        (torch.multiprocessing, "set_sharing_strategy"),
        (torch.sparse.check_sparse_tensor_invariants, "enable disable"),
        (
            torch.__future__,
            "set_overwrite_module_params_on_conversion set_swap_module_params_on_conversion",
        ),
        (torch.distributions.Distribution, "set_default_validate_args"),
        (torch.nn.modules.module, _MODULE_HOOKS),
        (MONITORING, "use_tool_id set_events set_local_events register_callback free_tool_id"),
    ):
        yield from ((function, Switch(name)) for name, function in _named(module, names))
    for name, function in _named(warnings, "filterwarnings simplefilter resetwarnings"):
        yield function, Switch(name, is_compared=True)


CALL_STACK: Final = Read("f_back", _STACK)
"""The attribute of frames by which code comes to its callers."""
STACK_LEFT: Final = Read("RecursionError", _STACK)
"""Who catches it learns how deep the stack is."""
WEAK: Final = Read("weakref.ref", "whether an object is still there, which a capture keeps")
"""A weak reference."""
_WEAKLY_MADE: Final = (
    *(weakref.WeakKeyDictionary, weakref.WeakSet, weakref.WeakValueDictionary),
    *(weakref.WeakMethod, weakref.finalize),
)
WEAK_MAKERS: Final = (weakref.ref, weakref.proxy, *_WEAKLY_MADE)
"""What makes weak references."""
_FUNCTIONS: Final[dict[int, Read | Switch]] = {}
SUSPECTS: Final = _FUNCTIONS.keys()
"""The identities of the functions that are known by themselves."""

_ENVIRON: Final = ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__", "copy")

_CODES: Final[dict[int, Read | Switch]] = {
    id(getattr(type(os.environ), name).__code__): Read("os.environ", _ENVIRONMENT)
    for name in _ENVIRON
}
"""The same, where all that is known of a call is the code that it runs."""
_CODES[id(singledispatch(len).register.__code__)] = Switch("singledispatch.register")
_KEPT: Final[list[Any]] = []
"""The functions, so that no other takes over an identity."""


def _enter(function: Any, found: Read | Switch) -> None:
    """A function is known from now on, and what it wraps: they share their wrapper's code."""
    inner = inspect.unwrap(getattr(function, "__func__", function))
    _KEPT.extend((function, inner))
    _FUNCTIONS[id(function)] = _FUNCTIONS[id(inner)] = found
    if isinstance(inner, FunctionType):
        _CODES[id(inner.__code__)] = found


for _function, _found in _known():
    _enter(_function, _found)
_STAND: Final = [get(module) for module, _, get in _PLACES]
"""What stood there when somebody last looked."""


def resolve() -> None:
    """Know what stands in the place of functions by now: others wrap and replace them."""
    for at, (module, names, get) in enumerate(_PLACES):
        now = get(module)
        if now != _STAND[at]:
            for name in names:
                function = getattr(module, name)
                if id(function) not in _FUNCTIONS and not _is_override(function):
                    _enter(function, _FUNCTIONS[id(_before(_STAND[at], names, name))])
            _STAND[at] = now


def _is_override(function: Any) -> bool:
    """Whether it is ours, which stands there while another thread captures."""
    return isinstance(function, FunctionType) and function.__code__.co_filename.startswith(OURS)


def _before(stood: Any, names: list[str], name: str) -> Any:
    return stood[names.index(name)] if len(names) > 1 else stood


_CLOCK_CLASSES: Final = (dt.datetime, dt.date)
_CLOCK_METHODS: Final = frozenset({"now", "utcnow", "today"})
_NUMPY_RANDOM: Final = (np.random.RandomState, np.random.Generator)


def is_suspect(function: FunctionType, args: Sequence[Any]) -> bool:
    """Whether `find_outside` may find something of a function written in Python: the fast way."""
    if id(function) in _FUNCTIONS or function.__name__ in _KNOWN_BY_NAME:
        return True
    return bool(args) and type(args[0]) in OWNERS


_KNOWN_BY_NAME: Final = frozenset({"manual_seed", "__hash__"})


def find_outside_code(code: CodeType) -> Read | Switch | None:
    """What a call of this code reads or switches that is not the model's, if anything."""
    found = _CODES.get(id(code))
    if found is None and code.co_name == "manual_seed":
        return Switch("torch.manual_seed")
    return found


def is_own_business(found: Read | Switch, file: str) -> bool:
    """Whether what a library's file reads is no matter of the model's.

    PyTorch and Python's library look at identities, and do not let them decide a result. Installed
    packages have switches in the environment, give things unique names, and look at the stack.
    """
    if file.startswith(TORCH):
        return True
    if not isinstance(found, Read):
        return False
    if found.of_environment:
        return file.startswith("<frozen ") or is_installed(file)
    if (found.makes_names or found.of_process or found.must_not_run) and is_installed(file):
        return True
    return (found.of_identity or found.of_process) and is_library(file)


def is_known_for_good(function: Any) -> bool:
    """Whether a function in C reads nothing from outside whatever it is given, given it once."""
    return type(function.__self__) in (ModuleType, type) and function is not hash


def is_dropped(code: CodeType, offset: int) -> bool:
    """Whether nobody uses what the call at an offset returns, as of a collection made for room."""
    instructions, at = code.co_code, offset + 2
    while instructions[at] == _CACHE:
        at += 2
    return instructions[at] == _POP


_CACHE: Final = opcode.opmap["CACHE"]
_POP: Final = opcode.opmap["POP_TOP"]


_OF_PYTHON: Final = BOUND_TO_C | {FunctionType, MethodType, type(object.__hash__)}
"""Kinds of functions that may be asked for their name: no code of the user's answers."""


def find_outside(
    function: Any,
    args: Sequence[Any],
    is_made: Callable[[Any], bool] | None = None,
    is_new: Callable[[Any], bool] | None = None,
) -> Read | Switch | None:
    """What a call of this function reads or switches that is not the model's, if anything.

    A method written in Python is given as its function, with the object first among `args`.
    `is_made` tells whether the run made an object, `is_new` whether the region did that it is in.
    """
    found = _FUNCTIONS.get(id(function))
    if found is not None:
        return found
    if type(function) is FunctionType and function.__name__ == "manual_seed":
        return Switch("torch.manual_seed")  # libraries wrap PyTorch's
    if function is builtins.hash or (
        type(function) in _OF_PYTHON and function.__name__ == "__hash__"
    ):
        hashed = args or (getattr(function, "__self__", None),)
        is_objects = getattr(function, "__objclass__", None) is object
        return Read("hash", _IDENTITY) if is_objects or is_hashed_by_identity(hashed[0]) else None
    if function is weakref.ref or function is weakref.proxy:
        is_kept = is_made is None or isinstance(args[0], torch.Tensor) or is_made(args[0])
        return WEAK if is_kept else None
    if issubclass(type(function), FOREIGN_FUNCTION):
        return Read(getattr(function, "__name__", "a function of ctypes"), _FOREIGN, _OPERATOR)
    if issubclass(type(function), type):
        cls: Any = function
        return WEAK if cls in _WEAKLY_MADE else find_finalizer(cls)
    if type(function) in BOUND_TO_C:
        bound: Any = function
        return _of_owner(bound.__self__, bound.__name__, is_new)
    if args and type(args[0]) in OWNERS:
        owner, name = args[0], getattr(function, "__name__", "")
        return _of_owner(owner, name) if getattr(type(owner), name, None) is function else None
    return None


def find_memory_writers(frame: FrameType) -> Iterator[Read | Switch]:
    """Those of the functions of ctypes which nobody sees called that code that begins names."""
    names, known = frame.f_code.co_names, frame.f_globals
    for name, each in (("memset", ctypes.memset), ("memmove", ctypes.memmove)):
        if name in names and (
            known.get(name) is each or any(known.get(n) is ctypes for n in names)
        ):
            yield _FUNCTIONS[id(each)]


def find_finalizer(cls: type) -> Read | None:
    """What the end of an object of a class is told to, where that is the user's own code."""
    code = getattr(getattr(cls, "__del__", None), "__code__", None)
    if code is None or not is_users(code.co_filename) or is_installed(code.co_filename):
        return None
    return Read(f"{cls.__name__}.__del__", "when an object ends, which a capture puts off")


OWNERS: Final = frozenset({random.Random, random.SystemRandom, type(os.environ), *_NUMPY_RANDOM})
"""The classes whose methods read from outside."""


class SeededGenerators:
    """Generators of random numbers that a call makes itself, of a seed that is always the same.

    What they draw is the same in every call, so it is a constant of the program.
    """

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def maker(self, callee: Any) -> Callable[..., Any] | None:
        """What calls a function that makes one; None for all others."""
        return partial(self._make, callee) if id(callee) in _MAKERS else None

    def _make(self, maker: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        made = maker(*args, **kwargs)
        self.note(made, (*args, *kwargs.values()))
        return made

    def note(self, made: Any, seeds: Sequence[Any]) -> None:
        """A generator begins with these."""
        if _is_seed(seeds) and type(made) in _GENERATORS:
            self._known[id(made)] = made

    def draws(self, method: Any, args: Sequence[Any]) -> bool:
        """Whether a method of one of them is called, and leaves it what it is."""
        owner = getattr(method, "__self__", None)
        if id(owner) not in self._known:
            owner, args = (args[0], args[1:]) if args else (None, ())
        if id(owner) not in self._known:
            return False
        name = getattr(method, "__name__", "")
        if name == "shuffle" and isinstance(owner, _NUMPY_RANDOM) and not _is_shuffled(args):
            return False
        return name != "setstate" and (name != "seed" or _is_seed(args))

    def draws_in(self, method: Any, frame: FrameType) -> bool:
        """As `draws`, where a frame calls what is written in C."""
        seed = (frame.f_locals["a"],) if frame.f_code is _RESEEDING else ()
        return self.draws(method, seed)


def _is_shuffled(args: Sequence[Any]) -> bool:
    """Whether NumPy shuffles these as eager code has it: rows of an abstract array it mixes up."""
    return bool(args) and (getattr(args[0], "ndim", 1) < 2 or type(args[0]) is np.ndarray)


def _is_seed(seeds: Sequence[Any]) -> bool:
    return len(seeds) == 1 and type(seeds[0]) in {bool, int, float, str, bytes}


_GENERATORS: Final = frozenset({random.Random, *_NUMPY_RANDOM})
_MAKERS: Final = frozenset({*map(id, (*_GENERATORS, np.random.default_rng))})
SEEDING: Final = random.Random.__init__.__code__
"""The code by which plain capture sees that one is made."""
_RESEEDING: Final = random.Random.seed.__code__


def _of_owner(
    owner: Any, name: str, is_new: Callable[[Any], bool] | None = None
) -> Read | Switch | None:
    """What a method reads or switches, by the object it is bound to."""
    if issubclass(type(owner), memoryview) and name == "release":
        return None if is_new is not None and is_new(owner) else Switch(_RELEASE)
    if name == "from_address" and issubclass(type(owner), type) and issubclass(owner, C_DATA):
        return Read(f"{owner.__name__}.from_address", _ADDRESS)
    if isinstance(owner, random.Random):
        return Read(f"random.{name}", "Python's random numbers", _DRAW)
    if isinstance(owner, _NUMPY_RANDOM):
        return Read(f"numpy.random.{name}", "NumPy's random numbers", _DRAW)
    if owner is os.environ:
        return Read("os.environ", _ENVIRONMENT)
    if name == "cache_info":
        return Read(f"{owner.__name__}.cache_info", "what calls before this one left in a cache")
    if name in _CLOCK_METHODS and any(owner is cls for cls in _CLOCK_CLASSES):
        return Read(f"{owner.__name__}.{name}", _CLOCK)
    return None


def is_hashed_by_identity(value: Any) -> bool:
    """Whether the hash of a value, or of what is in it, is where an object lies."""
    kind = type(value)
    if issubclass(kind, tuple | frozenset):
        return any(map(is_hashed_by_identity, parts_of(value)))
    if kind is MethodType or kind in BOUND_TO_C:
        return type(value.__self__) is not ModuleType
    return kind.__hash__ is object.__hash__ or issubclass(kind, torch.Tensor)


def clock(what: str) -> Read:
    """A clock by its name."""
    return Read(what, _CLOCK)


def is_compared(found: Read | Switch, at: tuple[Frame, ...]) -> bool:
    """Whether it shows when the run has ended if this stays; the line is kept until then."""
    if isinstance(found, Read) or not found.is_compared:
        return False
    THREAD.turned.setdefault(found.what, at)
    return True


def refusal(found: Read | Switch, at: tuple[Frame, ...] = ()) -> MonographError:
    """The refusal of a call that reads or switches something outside of the model."""
    if isinstance(found, Switch):
        kind = "given" if found.must_not_run else "switch"
        return problem("write-outlives-call", at=at, kind=kind, name=found.what)
    return problem(
        "outside-read", at=at, what=found.what, because=found.because, instead=found.instead
    )
