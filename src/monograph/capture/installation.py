"""The installation of function overrides, for all threads, while at least one of them captures.

An override replaces a function of torch, and asks first who records in its own thread: nobody is
told anything else than by the original. So one installation serves all captures that run at once,
and threads that capture nothing notice none.

Why not for good: `torch.jit.script`, Dynamo and pickle know torch's functions by identity. Python
functions that many have imported by name (`override_code`) are the same object throughout: it is
their code that is another meanwhile. This is also how `nn.Module.__call__` is overridden, since
setting it on the class costs a visit of all of its subclasses.

An override knows no recorder: a file that is first imported during a capture may keep it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monograph.bytecode import MISSING
from monograph.diagnostics import identity
from monograph.host.flags import remember_device_constructors, uncompiled

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sized
    from contextlib import AbstractContextManager
    from types import CodeType

    from torch.nn import Module

Factory = Callable[[Any], Any]
"""Makes what stands for a function, of the function."""


REPLACEMENTS: Final[dict[int, Callable[..., Any]]] = {}
"""What strict capture calls in place of a function, by its identity: overrides, and polyfills."""


class _Thread(threading.local):
    """What this thread captures."""

    recorder: Any = None
    watched: Any = None
    """The attributes of modules whose reads and writes are noted."""
    is_capturing = False
    started_by: Any = None
    """The recorder of the run whose code started it."""
    terminals: tuple[Any, ...] = ()
    """Where prints and warnings go, as user code found it."""
    turned: Any = None
    """Where settings of the process were set, by their names."""
    looked_away: Any = None
    """What watched user code before the collection that is going on, if one is."""


THREAD: Final = _Thread()


def terminals() -> tuple[Any, ...]:
    """Where prints and warnings go now."""
    shows = warnings.__dict__.get("_showwarnmsg_impl")
    return sys.stdout, sys.stderr, warnings.showwarning, shows


def listening() -> Any:
    """The recorder of the run that is going on in this thread, None without one."""
    return THREAD.recorder


@contextmanager
def heard_by(recorder: Any) -> Generator[None]:
    """In this thread, overrides tell this recorder; None: nobody."""
    before, THREAD.recorder = THREAD.recorder, recorder
    try:
        yield
    finally:
        THREAD.recorder = before


class _Place(NamedTuple):
    """An attribute, and what it held before and since."""

    owner: Any
    name: str
    before: Any
    since: Any


class Overrides:
    """A table of overrides. Its entries are declared by decorators, then installed together."""

    def __init__(self, around: Callable[[], AbstractContextManager[object]] | None = None) -> None:
        """`around` is entered with them, once for all threads."""
        self._factories: list[tuple[Any, str, Factory]] = []
        self._codes: list[tuple[FunctionType, Factory]] = []
        self._needed: list[tuple[Sized, str, str, Factory]] = []
        self._around = around
        self._made: dict[tuple[int, str], _Place] = {}
        self._replaced: list[Any] = []
        self._lock = threading.Lock()
        self._n_users = 0
        self._installed: list[_Place] = []
        self._codes_before: list[tuple[Any, CodeType, dict[str, Any] | None]] = []
        self._undo = ExitStack()

    def override(self, owner: Any, *names: str) -> Callable[[Factory], Factory]:
        """Let what the function below makes of an attribute stand for it."""

        def enter(factory: Factory) -> Factory:
            self._factories += [(owner, name, factory) for name in names]
            return factory

        return enter

    def override_code(self, function: Any) -> Callable[[Factory], Factory]:
        """Let what the function below makes of a Python function answer its calls."""

        def enter(factory: Factory) -> Factory:
            self._codes.append((function, factory))
            return factory

        return enter

    def override_code_while(
        self, needed: Sized, module: str, name: str
    ) -> Callable[[Factory], Factory]:
        """As `override_code`, where something is `needed` and the module was imported.

        `name` may lead through classes: `Class.method`.
        """

        def enter(factory: Factory) -> Factory:
            self._needed.append((needed, module, name, factory))
            return factory

        return enter

    @contextmanager
    def installed(self, modules: Iterable[Module] = ()) -> Generator[None]:
        """Have them in force; also where these modules, or files of their classes, name them.

        Whoever replaced one of torch's functions before goes on being called by the override.
        """
        with self._lock:
            if not self._n_users:
                self._install()
            self._n_users += 1
            self._install_imported(modules)
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if not self._n_users:
                    self._remove()

    def _install(self) -> None:
        if not self._made:
            remember_device_constructors()
        for owner, name, factory in self._factories:
            key, now = (id(owner), name), vars(owner).get(name, MISSING)
            place = self._made.get(key)
            if place is None or place.before is not now:
                if place is not None and place.since is now:
                    continue  # somebody has put it back meanwhile
                place = self._made[key] = _Place(owner, name, now, factory(now))
                if isinstance(owner, ModuleType):
                    REPLACEMENTS[id(now)] = place.since
                    self._replaced.append(now)  # kept, so that none has its identity
            (_show_class if name == _CLASS else setattr)(owner, name, place.since)
            self._installed.append(place)
        codes: list[Any] = [*self._codes]
        for needed, module, name, factory in self._needed:
            if needed and module in sys.modules:
                codes.append((attrgetter(name)(sys.modules[module]), factory))
        for function, factory in codes:
            self._codes_before.append((function, function.__code__, function.__kwdefaults__))
            _give_code(function, _call.__code__, {"_by": factory(_copied(function))})
        if self._around is not None:
            self._undo.enter_context(self._around())

    def _install_imported(self, modules: Iterable[Module]) -> None:
        """What files have imported by name, and modules keep, is none of the owner's attributes."""
        known = {identity(each.before): each.since for each in self._made.values()}
        for holder in (*_files_of(modules), *modules):
            if known.keys().isdisjoint(map(identity, vars(holder).values())):
                continue
            named = [each for each in vars(holder).items() if identity(each[1]) in known]
            for name, before in named:
                place = _Place(holder, name, before, known[identity(before)])
                setattr(holder, name, place.since)
                self._installed.append(place)

    def _remove(self) -> None:
        """Put back what nobody has replaced since."""
        self._undo.close()
        while self._codes_before:
            _give_code(*self._codes_before.pop())
        while self._installed:
            place = self._installed.pop()
            if vars(place.owner).get(place.name, MISSING) is not place.since:
                continue
            if place.name == _CLASS:
                _show_class(place.owner)
            elif place.before is MISSING:
                delattr(place.owner, place.name)
            else:
                setattr(place.owner, place.name, place.before)


_CLASS: Final = "__class__"


def _show_class(cls: Any, name: str = _CLASS, answer: Any = None) -> None:
    """Let the instances of a class say what a property says when asked for `__class__`, or not.

    `setattr` would change the class of the class. CPython keeps the attributes of a class in a
    dictionary that `vars` shows read-only, and remembers look-ups until it is told.
    """
    (table,) = gc.get_referents(vars(cls))
    if answer is None:
        del table[name]
    else:
        table[name] = answer
    _forget_lookups(cls)


_forget_lookups: Final = ctypes.pythonapi.PyType_Modified
_forget_lookups.argtypes = (ctypes.py_object,)
_forget_lookups.restype = None


def _call(*args: Any, _by: Any, **kwargs: Any) -> Any:
    return _by(*args, **kwargs)


def _copied(function: Any) -> Any:
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _give_code(function: Any, code: CodeType, defaults: dict[str, Any] | None) -> None:
    """In this order, since other threads call it: the override's code needs its default."""
    if defaults:
        function.__kwdefaults__ = defaults
    if function.__closure__ and not code.co_freevars:
        code = code.replace(co_freevars=function.__code__.co_freevars)
    function.__code__ = code
    function.__kwdefaults__ = defaults


def _files_of(modules: Iterable[Module]) -> list[ModuleType]:
    """The files of the classes of modules, but for torch's own."""
    classes = {cls for kind in set(map(type, modules)) for cls in kind.__mro__}
    # A class made by `type(...)` where no module is run has none.
    names = {getattr(cls, "__module__", "") for cls in classes}
    users = (each for each in names if each.partition(".")[0] not in {"torch", "builtins"})
    return [file for file in map(sys.modules.get, users) if file is not None]


OVERRIDES: Final = Overrides(uncompiled)
"""What is overridden during every capture; the families enter themselves."""


__all__ = [
    "OVERRIDES",
    "REPLACEMENTS",
    "THREAD",
    "Overrides",
    "heard_by",
    "listening",
    "terminals",
]
