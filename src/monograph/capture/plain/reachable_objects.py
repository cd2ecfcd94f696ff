"""Reachability: the objects that a function's code can come to, and so write to.

Plain Python does not announce a write. So when a function is called, what it can reach is
remembered before it begins: globals that its code names, its arguments (default values are among
them), variables of enclosing functions, the classes of all these, and from there containers,
attributes and iterators, each once. What the run makes itself is remembered like the rest, and
sorted out afterwards (`effects`).

Which names are assigned to, code says itself: it has instructions for it, or it does not.
"""

from __future__ import annotations

import gc
import opcode
import sys
import weakref
from contextlib import suppress
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monograph.bytecode import MISSING
from monograph.bytecode.analysis.exception_handlers import is_tried
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.decoding.exception_table import entries
from monograph.capture.code_policy import is_users
from monograph.capture.hidden_state.container_contents import attributes_of
from monograph.capture.hidden_state.opaque_objects import keep
from monograph.capture.plain.attribute_writes import (
    WRITES,
    WRITES_BY_NAME,
    at_end,
    attribute_writes,
)
from monograph.capture.plain.identity_tests import IdentityTests, identity_tests
from monograph.capture.side_effects.digests import LEAVES, Digests, is_users_class
from monograph.capture.side_effects.place_names import Called, enclosed_variables
from monograph.capture.side_effects.tracking import WriteTarget

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from monograph.capture.plain.attribute_writes import AttributeWrites
    from monograph.capture.side_effects.tracking import Chain, Effects

_WITH_ATTRIBUTES: Final = (FunctionType, property, type)

_OF_PYTHON: Final = 1 << 9
"""The flag of classes that code makes (`Py_TPFLAGS_HEAPTYPE`): objects of others keep theirs."""
_OF_IMPORTS: Final = frozenset({"__loader__", "__spec__"})
"""Globals that lead to what imports modules, such as a test runner's whole session."""
_WRITES_GLOBAL: Final = frozenset(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_WRITES_CELL: Final = frozenset(opcode.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))
_COMPARES: Final = opcode.opmap["COMPARE_OP"]
_IDENTITY: Final = opcode.opmap["IS_OP"]


class Plan(NamedTuple):
    """What there is to remember when some code begins."""

    enclosing: tuple[str, ...]
    """The variables of enclosing functions that it names."""
    names: tuple[str, ...]
    """What it may look up among globals and attributes."""
    cells: tuple[str, ...]
    """The variables of enclosing functions, if it assigns to any."""
    fresh: frozenset[str]
    """Variables whose value every call makes anew: `*args`, `**kwargs`, a comprehension's `.0`."""
    writes_globals: bool
    written: AttributeWrites | None
    """Of what it sets attributes, if of anything."""
    asked: IdentityTests
    asks_for_bools: bool
    """Whether it asks if something is `True` or `False` itself, or compares, and catches."""


@once_per_code
def plan_of(code: CodeType) -> Plan | None:
    """What to remember when this code begins; None if it is not the user's."""
    if not is_users(code.co_filename):
        return None
    texts = (each for each in code.co_consts if type(each) is str and each.isidentifier())
    names = tuple(dict.fromkeys((*code.co_names, *texts)))
    instructions = frozenset(code.co_code[::2])
    asked = identity_tests(code) if _IDENTITY in instructions else IdentityTests()
    writes = instructions & WRITES or not WRITES_BY_NAME.isdisjoint(names)
    return Plan(
        code.co_freevars,
        names,
        code.co_freevars if instructions & _WRITES_CELL else (),
        _fresh(code),
        bool(instructions & _WRITES_GLOBAL),
        attribute_writes(code, names) if writes else None,
        asked,
        asked.asks_for_bools or (_COMPARES in instructions and _catches(code)),
    )


def _catches(code: CodeType) -> bool:
    """Whether it has an `except`, which may catch what C says of conditions that are no bools."""
    return any(is_tried(code, each.start) for each in entries(code.co_exceptiontable))


def _fresh(code: CodeType) -> frozenset[str]:
    n_named = code.co_argcount + code.co_kwonlyargcount
    n_starred = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return frozenset((*code.co_varnames[n_named : n_named + n_starred], ".0"))


class Reach(Digests):
    """What the functions that were called so far can reach."""

    def __init__(self, effects: Effects) -> None:
        super().__init__(effects)
        self._entered: set[int] = set()
        self._named: list[tuple[dict[str, Any], Plan]] = []
        """Whose globals are named by what code."""
        self._frames: list[tuple[FrameType, dict[str, Any]]] = []
        self._first: dict[CodeType, FrameType] = {}
        self._functions: dict[CodeType, weakref.ref[FunctionType]] = {}
        """Whose calls the first frames were of code that ended."""
        self._searched: dict[tuple[int, int], tuple[type, Plan]] = {}
        """The classes whose attributes were followed, and for what code, by identity."""

    def enter(self, frame: FrameType, plan: Plan) -> None:
        """A function begins."""
        code = frame.f_code
        by = ((code, frame.f_lasti),)
        variables = frame.f_locals
        if id(code) not in self._entered:
            self._entered.add(id(code))
            self._first[code] = frame
            self._globals(frame.f_globals, plan, by)
        if plan.cells:
            held = {name: variables.get(name, MISSING) for name in plan.cells}
            self._frames.append((frame, held))
        seen = self._seen
        for name, value in variables.items():
            if type(value) not in LEAVES and id(value) not in seen:
                self._variable(name, value, plan, by)
        if plan.written is not None:
            self._written(plan, plan.written, frame, by)

    def _written(self, plan: Plan, written: AttributeWrites, frame: FrameType, by: Chain) -> None:
        """Follow what code sets attributes of, where that is no object that is followed anyway."""
        variables = frame.f_locals
        ends = [(way, at_end(way, variables, frame.f_globals)) for way in written.ways]
        others = written.others or any(end is MISSING for _, end in ends)
        imported = map(sys.modules.get, plan.names) if others else ()
        for module in (*imported, *(end for _, end in ends)):
            if issubclass(type(module), ModuleType):
                for name in plan.names:
                    self._binding(attributes_of(module), name, by)
        if others and not self._are_classes_written:
            self._are_classes_written = True
            self._classes.clear()
            for cls in [each for each in self._kept if issubclass(type(each), type)]:
                self._class(cls, by)
        if "__class__" in plan.names:
            named = map(frame.f_globals.get, plan.names)
            kept = self._kept if others else ()
            for each in (*variables.values(), *(end for _, end in ends), *named, *kept):
                self._class_of(each, by)
        for name, value in (*variables.items(), *((".".join(way), end) for way, end in ends)):
            if others or issubclass(type(value), _WITH_ATTRIBUTES):
                self._attributes_of(value, Called("object", name), by, plan)

    def _class_of(self, value: Any, by: Chain) -> None:
        if type(value).__flags__ & _OF_PYTHON or issubclass(type(value), ModuleType):
            place = WriteTarget("attribute", value, "__class__", type(value), tracked=True, by=by)
            self._effects.add(place)

    def _variable(self, name: str, value: Any, plan: Plan, by: Chain) -> None:
        """Follow an argument, or a variable of an enclosing function."""
        if issubclass(type(value), ModuleType):
            self._module(value, plan, by, {id(value)})
            return
        root = Called("closure" if name in plan.enclosing else "object", name)
        if name not in plan.fresh:
            self.follow(value, root, by)
        elif type(value) is tuple or type(value) is dict:  # an iterator would be used up
            for each in value.values() if isinstance(value, dict) else value:
                self.follow(each, root, by)

    def everything(self, frame: FrameType) -> None:
        """All globals of a function may be written to."""
        by = ((frame.f_code, frame.f_lasti),)
        for name, value in list(frame.f_globals.items()):
            self._binding(frame.f_globals, name, by)
            if name not in _OF_IMPORTS:
                self.follow(value, Called("global", name), by, outside=True)

    def _globals(self, variables: dict[str, Any], plan: Plan, by: Chain) -> None:
        self._named.append((variables, plan))
        if plan.writes_globals or (plan.written is not None and plan.written.others):
            for name in plan.names:
                self._binding(variables, name, by)
        for name in filter(variables.__contains__, plan.names):
            value = variables[name]
            if issubclass(type(value), ModuleType):
                self._module(value, plan, by, {id(value)})
            elif type(value) is FunctionType:
                self.follow(value, Called("global", name), by, outside=True)
                self._parts_of_function(value, plan, Called("global", name), by)
            elif type(value) not in LEAVES and id(value) not in self._seen:
                self.follow(value, Called("global", name), by, outside=True)
            if plan.written is not None and issubclass(type(value), _WITH_ATTRIBUTES):
                self._attributes_of(value, Called("global", name), by, plan)

    def _parts_of_function(self, value: FunctionType, plan: Plan, root: Called, by: Chain) -> None:
        """What code may write to that is in a function, where it names the place."""
        if "__kwdefaults__" in plan.names:
            self.follow(value.__kwdefaults__, root, by, outside=True)
        if "__closure__" in plan.names:
            for name, held in enclosed_variables(value):
                cell = (value.__closure__ or ())[value.__code__.co_freevars.index(name)]
                self._effects.add(
                    WriteTarget("cell", cell, name, held, tracked=True, by=by, function=value)
                )
                self.follow(held, root, by, outside=True)
        if "__annotations__" in plan.names:
            notes = None
            with suppress(Exception):  # from Python 3.14 on user code computes them
                notes = value.__annotations__
            self.follow(notes, root, by, outside=True)

    def _module(self, module: ModuleType, plan: Plan, by: Chain, seen: set[int]) -> None:
        """What code can reach through a module that it names; not what a library keeps there."""
        variables = attributes_of(module)
        is_own = is_users(variables.get("__file__") or "<frozen ")
        if not is_own and plan.written is None:
            return
        for name in plan.names:
            value = variables.get(name, MISSING)
            if plan.written is not None:
                self._binding(variables, name, by)
            if not is_own:
                continue
            if issubclass(type(value), ModuleType):
                if id(value) not in seen:
                    self._module(value, plan, by, seen | {id(value)})
            elif type(value) not in LEAVES and id(value) not in self._seen:
                self.follow(value, Called("global", name), by, outside=True)
            if plan.written is not None and issubclass(type(value), _WITH_ATTRIBUTES):
                self._attributes_of(value, Called("global", name), by, plan)

    def _binding(self, variables: dict[str, Any], name: str, by: Chain) -> None:
        before = variables.get(name, MISSING)
        self._effects.add(WriteTarget("global", variables, name, before, tracked=True, by=by))

    def _attributes_of(self, value: Any, root: Called, by: Chain, plan: Plan) -> None:
        """The attributes of a function, of a class, or of an object's class and methods named."""
        if type(value) is FunctionType:
            self._whole("attributes", value, root, by)
            return
        if issubclass(type(value), property):
            self._whole("hidden", value, root, by, keep(value))
            return
        of = value if issubclass(type(value), type) else type(value)
        if (key := (id(of), id(plan))) in self._searched:
            return
        self._searched[key] = of, plan
        for cls in of.__mro__:
            if is_users_class(cls):
                self._whole("attributes", cls, Called("class", cls.__name__), by)
                for name in cls.__dict__.keys() & plan.names:
                    if type(method := cls.__dict__[name]) is FunctionType:
                        self._whole("attributes", method, Called("object", name), by)

    # --- afterwards ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Code has ended: tell what variables of enclosing functions held, and let go of frames.

        They hold all that code had in variables, as if somebody could still look at it.
        """
        for frame, held in self._frames:
            function = _function_of(frame)
            cells = () if function is None else function.__closure__ or ()
            for name, cell in zip(frame.f_code.co_freevars, cells, strict=False):
                by = ((frame.f_code, frame.f_lasti),)
                self._effects.add(
                    WriteTarget(
                        "cell", cell, name, held[name], tracked=True, by=by, function=function
                    )
                )
        self._frames.clear()
        for code, frame in self._first.items():
            function = _function_of(frame)
            if function is not None:
                self._functions[code] = weakref.ref(function)
        self._first.clear()

    def function_of(self, place: WriteTarget) -> FunctionType | None:
        """The function that first could write to a place."""
        function = self._functions.get(place.by[0][0]) if place.by else None
        return None if function is None else function()

    def has_met(self, place: WriteTarget) -> bool:
        """Whether code came to a place, for all one can tell; of a global, whether it names it."""
        if place.kind != "global":
            return super().has_met(place)
        return any(v is place.owner and place.name in p.names for v, p in self._named)

    def call_opaque(self) -> None:
        """Opaque objects that code names are called, for all one can tell of what C calls."""
        for each in self._kept:
            if id(each) in self.opaque:
                self.call(each, ())

    def close(self) -> None:
        """Let go of frames, too."""
        super().close()
        self._frames.clear()
        self._first.clear()
        self._functions.clear()
        self._searched.clear()


def _function_of(frame: FrameType) -> FunctionType | None:
    """The function whose call a frame was: one that ended keeps what it used to itself."""
    for each in gc.get_referents(frame):
        if type(each) is FunctionType and each.__code__ is frame.f_code:
            return each
    return None
