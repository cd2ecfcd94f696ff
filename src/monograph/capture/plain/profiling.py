"""Non-strict capture by call events: Python tells it of every call that is about to happen.

Of a C function it says which one it is, so what reads from outside of the model is recognised by
identity. Of a Python function it shows the frame before it begins, so what the function can reach
is remembered (`reach`), and what it wrote to is found by comparing afterwards (`effects`).

Our own functions that user code calls all the time are not watched: that would cost as much again.
One `Plain` watches one run.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import itertools
import logging
import warnings
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import CO_OPTIMIZED
from types import CodeType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import MISSING, shown_to_tracers
from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.code_policy import OURS, TORCH, is_entered, is_users
from monograph.capture.hidden_state.native_state import CACHED, keeps_state
from monograph.capture.hidden_state.opaque_objects import is_opaque
from monograph.capture.inputs.input_mutation import GIVEN, are_given, identity_refusal
from monograph.capture.installation import listening
from monograph.capture.plain.builtin_names import Shadows, out_of_sight
from monograph.capture.plain.callbacks import Callbacks
from monograph.capture.plain.identity_tests import compared, compares_in_c, handed_on
from monograph.capture.plain.reachable_objects import Plan, Reach, plan_of
from monograph.capture.restart import Restart
from monograph.capture.side_effects.digests import LEAVES, is_terminal
from monograph.capture.side_effects.impure_functions import (
    CALL_STACK,
    OWNERS,
    SEEDING,
    STACK_LEFT,
    SUSPECTS,
    WEAK,
    WEAK_MAKERS,
    Read,
    SeededGenerators,
    find_finalizer,
    find_memory_writers,
    find_outside,
    find_outside_code,
    is_compared,
    is_dropped,
    is_own_business,
    refusal,
)
from monograph.capture.side_effects.memoized_calls import MemoizedCalls
from monograph.capture.side_effects.observations import Assumption
from monograph.capture.side_effects.persistent_writes import Effect, lines, name_of
from monograph.capture.side_effects.process_state import OF_PROCESS
from monograph.capture.side_effects.tracking import Effects, WriteTarget
from monograph.capture.torch_overrides.hidden_attributes import unseen_names
from monograph.capture.torch_overrides.number_classes import class_of
from monograph.diagnostics import MonographError
from monograph.host.dispatch import FUNCTION_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from types import FrameType

    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.recording.scopes import Scopes
    from monograph.capture.side_effects.digests import Digests
    from monograph.capture.side_effects.impure_functions import Switch
    from monograph.capture.side_effects.module_state import ModuleState
    from monograph.capture.side_effects.observations import Observations
    from monograph.capture.side_effects.place_names import Called
    from monograph.diagnostics import Frame

_ANY_HASH: Final = Read("hash", "what may be where an object lies in memory")
_UNSEEN: Final = "whether two tensors are one object, out of sight of plain capture"
_CLASSES: Final = "what something is out of sight of plain capture"
_TRUTH: Final = "whether a condition on data is `True` itself, out of sight of plain capture"
_ATTRIBUTES: Final = "what a tensor has of its own, out of sight of plain capture"
_IMPORTS: Final[tuple[CodeType, ...]] = (
    importlib._bootstrap._find_and_load.__code__,  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001 - what Python imports a file by
)
_ASIDE: Final[tuple[CodeType, ...]] = (
    *_IMPORTS,
    logging.Logger.handle.__code__,
    warnings._showwarnmsg.__code__,  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001 - what Python shows a warning by
)
"""What imports a file, which happens once, and what tells people: that is none of a program's."""
_WATCHED_C: Final = frozenset({id(builtins.hash), id(builtins.globals)})
_STRUCTURED: Final = (ctypes.Structure, ctypes.Union, ctypes.Array)
_WATCHED_OWNERS: Final = OWNERS | {CACHED, ContextVar, type, memoryview}.union(
    map(type, (ctypes.c_int, ctypes.POINTER(ctypes.c_int), *_STRUCTURED))
)


_WRAPPERS: Final = (f"{TORCH}_compile.py", f"{TORCH}_dynamo")
"""Files whose functions stand for others, which `torch._dynamo` put there when it was imported."""
_STANDING_FOR_OTHERS: Final = frozenset({"_fn", "inner", "compile_wrapper"})
"""What the functions there are called."""
_QUIET: Final = LEAVES | {ModuleType, list, dict, tuple, set, FUNCTION_RECORD}

_GIVEN_INDICES: Final = frozenset({"getitem", "setitem"})


class Plain:
    """What one run of plain Python did. Use as a context manager around `watching`."""

    _reach: Reach
    _reach_aside: Reach
    """What code that tells people something can reach."""

    def __init__(
        self,
        scopes: Scopes,
        state: ModuleState,
        arguments: Any,
        observed: Observations,
        effects: Effects | None = None,
        reads: Digests | None = None,
    ) -> None:
        """`arguments` are the (args, kwargs) that forward is given; `observed` is filled.

        Where interpreted code is watched already, its `effects` are, and `reads` is what it met.
        """
        self._scopes = scopes
        self._state = state
        self._arguments = arguments
        self._observed = observed
        if effects is None:
            effects = Effects(state.looked_after() | OF_PROCESS)
        else:
            self._reach, self._reach_aside = Reach(effects), Reach(effects)
        self._effects = effects
        self._shadows: Shadows | None = None
        self._recorder: Recorder | None = None
        self._asked_bools: tuple[Frame, ...] = ()
        """Where something is asked whether it is `True` itself, which no open condition is."""
        self._reads = reads
        self._changed_aside: set[tuple[int, str]] = set()
        self.plans: Any = dict.fromkeys(map(id, _ASIDE), _ASIDE)
        self.plans[id(SEEDING)] = SEEDING
        self._seeded = SeededGenerators()
        self.quiet = set(_QUIET)
        """Kinds of objects whose methods in C change nothing that is not known."""
        self.suspects = frozenset(SUSPECTS) | _WATCHED_C
        self.aside: FrameType | None = None
        """A function that is not judged, and nothing that it calls."""
        self._known_aside: set[tuple[int, str]] = set()
        self._codes: list[CodeType] = []
        """Whose plans these are; kept, so that no other takes over an identity."""
        self.beside: list[Reach] = []
        """Who else is told of the functions that begin."""
        self.refuse: Callable[[MonographError], None] = raised
        """What becomes of a refusal that user code could go on after."""

    def __enter__(self) -> Self:
        """What there is now was there before the run."""
        self._effects.__enter__()
        # Now: what they hold on to, the run holds on to.
        self._reach, self._reach_aside = Reach(self._effects), Reach(self._effects)
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was written to; of interpreted code, too."""
        self._reach.settle()
        self._effects.__exit__()
        self._reach.close()
        if self._shadows is not None:
            self._shadows.close()
        self._reach_aside.close()

    # --- what was written to -----------------------------------------------------------------

    def lasting(
        self, seen: Mapping[tuple[int, str], tuple[Frame, ...]], returned: list[Any]
    ) -> list[Effect]:
        """The writes that outlive the call, which returned the one of a list.

        `seen` are the lines of those that are known.
        """
        self._effects.returned = returned
        self._reach.settle()
        self._reach.call_opaque()
        self._check_ends()
        recorder = self._recorder
        if self._asked_bools and recorder is not None and recorder.facts.has_unbacked:
            self.refuse(identity_refusal(self._asked_bools, _TRUTH))
        if self._changed_aside:
            self._effects.accept({p.key for p in self._effects.lasting() if self._is_aside(p)})
        places = [self._with_function(each) for each in self._effects.lasting()]
        found = [Effect(each, self._name_of(each), self._lines(each, seen)) for each in places]
        if self._reach.caches:
            memoized = MemoizedCalls()
            memoized.note_filled(self._reach.caches)
            found += memoized.effects(self._scopes)
        return found

    def _check_ends(self) -> None:
        """What was kept until now would have ended in eager code. Raises: outside-read."""
        kept = [*itertools.chain.from_iterable(self._effects.kept)]
        for kind in {*map(type, kept)}:
            found: Any = find_finalizer(kind) if hasattr(kind, "__del__") else None
            if found and any(type(each) is kind and self._effects.made(each) for each in kept):
                frame = self._scopes.filter.frame(vars(kind)["__del__"].__code__, 0)
                self.refuse(refusal(found, self._scopes.filter.innermost_user([frame])))

    def _name_of(self, place: WriteTarget) -> Called:
        root = self._reach.root_of(place.owner)
        if root is None and self._reads is not None:
            root = self._reads.root_of(place.owner)
        return name_of(place, self._state, self._arguments, root)

    def _is_aside(self, place: WriteTarget) -> bool:
        """Whether only code that tells people something wrote there, or came there at all."""
        return (
            place.key in self._changed_aside
            and not self._reach.has_met(place)
            and not (self._reads is not None and self._reads.has_met(place))
        )

    def _lines(
        self, place: WriteTarget, seen: Mapping[tuple[int, str], tuple[Frame, ...]]
    ) -> tuple[Frame, ...]:
        """Where it changed, if that is known; where what could change it begins."""
        noted = seen.get(place.key) or seen.get((id(place.owner), GIVEN))
        return noted or lines(place, self._scopes)

    def _with_function(self, place: WriteTarget) -> WriteTarget:
        if place.function is not None:
            return place
        return replace(place, function=self._reach.function_of(place))

    # --- watching ----------------------------------------------------------------------------

    def watcher(self) -> Plain:
        """What watches other threads."""
        return self

    @contextmanager
    def watching(self, recorder: Recorder) -> Generator[None]:
        """Watch what runs within. Profilers in Python go on, `cProfile` waits; others cannot."""
        self._recorder = recorder
        if not CALL_EVENTS.can_listen:
            warnings.warn(
                "a profiler runs, so export(..., strict=False) does not see clocks, random numbers"
                " and writes to globals in the module's code",
                RuntimeWarning,
                stacklevel=2,
            )
            with shown_to_tracers():
                yield
            return
        before = CALL_EVENTS.now()
        told = CALL_EVENTS.told(self, before)
        passing_by = _passing_by(recorder, self._scopes, self, told, before)
        with CALL_EVENTS.held(), passing_by, shown_to_tracers():
            CALL_EVENTS.tell(told)
            try:
                yield
            finally:
                CALL_EVENTS.tell(before)

    def begins(self, frame: FrameType, plan: Any) -> None:
        """A Python function begins: look at it, or wait until it returns."""
        code = frame.f_code
        if self.aside is not None:
            found = plan_of(code)
            if found is not None:
                self._reach_aside.enter(frame, found)
            return
        if plan is not _ASIDE:
            self._enters(frame, plan)
        if self.plans.get(id(code)) is _ASIDE:
            self.aside, self._known_aside = frame, self._effects.changed()

    def calls(self, frame: FrameType, function: Any) -> None:
        """A function in C is about to be called."""
        kind = type(function.__self__)
        if kind in _WATCHED_OWNERS or id(function) in self.suspects:
            self._calls(frame, function)
        elif not self._calls_opaque(frame, function.__self__):
            self.quiet.add(kind)

    def returns(self) -> None:
        """What was aside returns; what it wrote may stay if nobody else looks."""
        changed = self._effects.changed() - self._known_aside
        if self.aside is not None and self.aside.f_code in _IMPORTS:
            self._effects.accept(changed)
        else:
            self._changed_aside |= changed
        self.aside = None

    def is_silent(self, code: CodeType) -> bool:
        """Whether it is ours, or PyTorch's and not known by itself."""
        file = code.co_filename
        is_far = file.startswith((OURS, TORCH)) and not file.startswith(_WRAPPERS)
        return is_far and find_outside_code(code) is None

    def _enters(self, frame: FrameType, plan: Any) -> None:
        """A Python function begins that is the user's, or reads from outside, or is new."""
        code = frame.f_code
        if plan is self.plans:
            self._codes.append(code)
            if code.co_name == "set_trace" and not is_entered(code.co_filename, code.co_name):
                self.plans[id(code)] = _ASIDE
                return
            plan = find_outside_code(code)
            if plan is None and not _is_generated(frame):
                plan = plan_of(code)
                if plan is not None:
                    self._begins(frame, plan)
            self.plans[id(code)] = plan
        if type(plan) is Plan:
            self._reach.enter(frame, plan)
            for each in self.beside:
                each.enter(frame, plan)
            if plan.asked.pairs or "__class__" in plan.names:
                self._compares(frame, plan)
        elif plan is SEEDING:
            self._seeded.note(frame.f_locals["self"], (frame.f_locals["x"],))
        elif plan is not None:
            self._judge(plan, frame.f_back, frame.f_locals)

    def _begins(self, frame: FrameType, plan: Plan) -> None:
        """User code is about to run for the first time.

        Raises: Restart (it needs all comparisons to be bools); outside-read.
        """
        for each in (CALL_STACK, STACK_LEFT):
            if each.what in plan.names:
                self._judge(each, frame, {})
        if _WEAK_NAMES & {*plan.names} and _names_weak(frame):
            self._judge(WEAK, frame, {})
        self._asks_by_c(frame)
        if frame.f_code.co_name == "__del__" and self._recorder is not None:
            found = find_finalizer(type(next(iter(frame.f_locals.values()), None)))
            at = self._scopes.user_frames(frame)
            # Python drops what is raised there.
            self._recorder.refused_elsewhere += [refusal(found, at)] if found else []
        unseen = (Read(each, _ATTRIBUTES) for each in unseen_names(frame.f_code))
        for each in (*unseen, *find_memory_writers(frame)):
            self._judge(each, frame, {})
        self._shadows = self._shadows or Shadows()
        self._shadows.enter(frame.f_code, frame.f_globals)
        recorder = self._recorder
        if plan.asked.asks_for_bools and not self._asked_bools:
            self._asked_bools = self._scopes.user_frames(frame)
        if recorder is None or not recorder.facts.symbols:
            return
        if plan.asks_for_bools and not recorder.options.decided:
            raise Restart("decide")
        asked = out_of_sight(frame)
        if asked:
            self._judge(Read(asked, _CLASSES), frame, {})

    def _asks_by_c(self, frame: FrameType) -> None:
        """User code begins that may let C ask where objects lie. Raises: outside-read."""
        if compares_in_c(frame):
            self.refuse(identity_refusal(self._scopes.user_frames(frame)))
        for each in handed_on(frame):
            self._judge(find_outside(each, ("",)) or _ANY_HASH, frame, {})
        code = frame.f_code
        is_function = code.co_flags & CO_OPTIMIZED  # the body of a class names what it defines
        if "__hash__" in code.co_names and is_function and code.co_name != "__hash__":
            self._judge(_ANY_HASH, frame, {})

    def _compares(self, frame: FrameType, plan: Plan) -> None:
        """A function begins that asks whether two tensors are one object, or for a class.

        Raises: outside-read, where they may be both inputs, or an input and what it gave.
        """
        if "__class__" in plan.names:
            for each in frame.f_locals.values():
                if isinstance(each, AbstractTensor):
                    class_of(each)
        for one, other, offset in compared(plan.asked, frame):
            is_unseen = one is MISSING or other is MISSING
            if is_unseen or self._may_be_one(one, other):
                here = self._scopes.filter.frame(frame.f_code, offset)
                at = here, *self._scopes.user_frames(frame)[1:]
                self.refuse(identity_refusal(at, _UNSEEN) if is_unseen else identity_refusal(at))

    def _may_be_one(self, one: Any, other: Any) -> bool:
        """Whether eager code may have one object for two tensors. Raises: outside-read."""
        if one is other or self._recorder is None:
            return False
        if not isinstance(one, AbstractTensor) or not isinstance(other, AbstractTensor):
            return type(one) is not type(other)  # a tensor from before, and what stands for one
        return are_given(one, other) or any(
            each is other for each in self._recorder.lineage.names(one)
        )

    def _calls(self, frame: FrameType, function: Any) -> None:
        """A C function is called that may read from outside, or reach more than code names."""
        owner = function.__self__
        if frame.f_code.co_filename.startswith(OURS):
            return
        if function is builtins.globals:
            if is_users(frame.f_code.co_filename):
                self._reach.everything(frame)
        elif type(owner) is ContextVar:
            if function.__name__ == "set":
                by = ((frame.f_code, frame.f_lasti),)
                before = owner.get(MISSING)
                self._effects.add(
                    WriteTarget("context", owner, owner.name, before, tracked=True, by=by)
                )
        elif function is builtins.hash:
            code = frame.f_code
            if is_users(code.co_filename) and code.co_name != "__hash__":
                self._judge(_ANY_HASH, frame, {})
        else:
            found = find_outside(function, (), is_new=self._effects.made)
            if found is not None and not self._seeded.draws_in(function, frame):
                self._judge(found, frame, {})

    def _calls_opaque(self, frame: FrameType, owner: Any) -> bool:
        """A method in C of an opaque object is called; False: none of its kind is opaque.

        Raises: write-outlives-call, where it was there before.
        """
        if not keeps_state(type(owner)):
            return False
        if (
            frame.f_code.co_filename.startswith((OURS, TORCH))
            or is_terminal(owner)
            or not is_opaque(owner)
        ):
            return True
        try:
            self._reach.check_opaque(owner, self._scopes, frame)
        except MonographError as refusal:
            if listening() is not None:
                raise
            self.refuse(refusal)  # the module is run as it is
        self._reach.call(owner, ((frame.f_code, frame.f_lasti),))
        return True

    def _judge(
        self, found: Read | Switch, caller: FrameType | None, variables: Mapping[str, Any]
    ) -> None:
        """Refuse what user code reads from outside, itself or through Python's library.

        Raises: outside-read, write-outlives-call.
        """
        user = _user_behind(caller)
        if caller is None or user is None:
            return
        if isinstance(found, Read) and found.of_identity and _only_compares(caller.f_code):
            return
        of_process = isinstance(found, Read) and found.of_process
        if of_process and is_dropped(caller.f_code, caller.f_lasti):
            return
        between = ("<frozen ", *_WRAPPERS)
        while caller.f_code.co_filename.startswith(between) and caller is not user:
            caller = caller.f_back or user
        at = self._scopes.user_frames(user)
        if is_compared(found, at):
            return
        if not is_own_business(found, caller.f_code.co_filename):
            (raised if found.must_not_run else self.refuse)(refusal(found, at))
        elif isinstance(found, Read) and found.of_environment:
            name = f"os.environ {variables.get('key', '')}".rstrip()
            self._observed.assumptions.append(Assumption("environment", name, None, at[:1]))


def _only_compares(code: CodeType) -> bool:
    """Whether code that asks where an object lies tells nobody: objects hash so by themselves."""
    is_torchs = code.co_filename.startswith(TORCH) and code.co_name not in _STANDING_FOR_OTHERS
    return is_torchs or code.co_name == "__hash__"


def _names_weak(frame: FrameType) -> bool:
    """Whether a function makes weak references: of what, C does not say."""
    names, known = frame.f_code.co_names, frame.f_globals
    if "weakref" in names and known.get("weakref", weakref) is weakref:
        return not _WEAK_NAMES.isdisjoint(name for name in names if name != "weakref")
    return any(known.get(name) is each for name in names for each in WEAK_MAKERS)


_WEAK_NAMES: Final = frozenset({"weakref", *(each.__name__ for each in WEAK_MAKERS)}) | {"ref"}


def _is_generated(frame: FrameType) -> bool:
    """Whether this is what `namedtuple` wrote, or `dataclass` for a class of ours: of no file."""
    if not frame.f_code.co_filename.startswith("<string>"):
        return False
    name = str(frame.f_globals.get("__name__"))
    return name.startswith("namedtuple_") or name.partition(".")[0] in {"monograph", "torch"}


def raised(error: MonographError, *_: Any) -> NoReturn:
    """What becomes of a refusal where nobody goes on after it. Raises: itself."""
    raise error


def _user_behind(frame: FrameType | None) -> FrameType | None:
    """The frame of user code that called, if nothing is in between whose business it is."""
    while frame is not None:
        code = frame.f_code
        if is_users(code.co_filename):
            return frame
        is_wrapper = code.co_filename.startswith(_WRAPPERS)
        if not (is_wrapper or is_entered(code.co_filename, code.co_name)):
            return None
        if find_outside_code(code) is not None:
            return None
        frame = frame.f_back
    return None


@contextmanager
def _passing_by(
    recorder: Recorder, scopes: Scopes, listener: Plain, told: Any, before: Any
) -> Generator[None]:
    """Let nobody watch while functions of ours run that user code calls all the time.

    Unless they are given what has methods of the user's, such as an index.
    """
    asleep = False
    may_call = Callbacks(lambda: listener).may_call

    def unwatched(owner: Any, function: Callable[..., Any]) -> MethodType:
        def run(_owner: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal asleep
            if asleep or CALL_EVENTS.now() is None:  # a collection runs, or a line tracer compares
                return function(*args, **kwargs)
            if function.__name__ in _GIVEN_INDICES and may_call(args[1:]):
                return function(*args, **kwargs)
            CALL_EVENTS.tell(before)
            asleep = True
            try:
                return function(*args, **kwargs)
            finally:
                asleep = False
                CALL_EVENTS.tell(told)

        return MethodType(run, owner)  # torch wants its method to be one

    entries: tuple[tuple[Any, str], ...] = (
        (recorder, "__torch_dispatch__"),
        (recorder, "getitem"),
        (recorder, "setitem"),
        (scopes, "enter"),
    )
    for owner, name in entries:
        setattr(owner, name, unwatched(owner, getattr(owner, name)))
    try:
        yield
    finally:
        for owner, name in entries:
            delattr(owner, name)
