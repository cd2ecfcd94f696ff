"""Strict capture: user code is interpreted; every read, write and call of it is seen.

One `Strict` watches one run. It decides what is interpreted (user code, and of PyTorch what calls
user code), replaces functions that would fix a size, refuses what reads from outside of the model,
and notes the plain values that decided the graph. What it saw is data: `observed`, `effects`.
"""

from __future__ import annotations

import functools
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FunctionType, MethodType, MethodWrapperType, ModuleType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final, Self

import torch

from monograph.abstract.chosen_object import ChosenObject
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.tensor import AbstractTensor, StaticTensor, SymbolicTensor
from monograph.bytecode import Hooks, Interpreter, SymbolicIterator, ours
from monograph.bytecode.analysis.exception_handlers import is_tried
from monograph.bytecode.branches.branch_targets import iterates_next
from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.code_policy import TORCH, is_entered, is_library
from monograph.capture.control_flow.branches.branch_capture import (
    can_fork,
    fork,
    inverted,
    is_caught,
    truth_value,
)
from monograph.capture.control_flow.branches.object_merge import can_merge, said_of
from monograph.capture.control_flow.loops import list_accumulation, number_lists
from monograph.capture.control_flow.loops.list_operations import operate
from monograph.capture.control_flow.loops.scan_capture import repeat
from monograph.capture.control_flow.loops.symbolic_sequences import listed, made, rows_of, source_of
from monograph.capture.control_flow.region_effects import SharedIterators
from monograph.capture.hidden_state.native_state import BOUND_TO_C, CACHED
from monograph.capture.inputs.input_mutation import are_given, identity_refusal, same_number
from monograph.capture.internal_errors import is_written_by_user, no_mistake, refusal_of
from monograph.capture.plain.callbacks import Callbacks
from monograph.capture.plain.debuggers import aside
from monograph.capture.plain.profiling import Plain, raised
from monograph.capture.restart import Restart
from monograph.capture.side_effects.digests import DigestsOfReads, is_terminal
from monograph.capture.side_effects.impure_functions import (
    CALL_STACK,
    STACK_LEFT,
    Read,
    SeededGenerators,
    find_outside,
    is_compared,
    is_dropped,
    is_known_for_good,
    is_own_business,
    is_suspect,
    refusal,
)
from monograph.capture.side_effects.memoized_calls import MemoizedCalls
from monograph.capture.side_effects.observations import Assumption, Island, is_plain
from monograph.capture.side_effects.persistent_writes import Effect, lines, name_of
from monograph.capture.side_effects.place_names import Called, is_running
from monograph.capture.side_effects.process_state import OF_PROCESS
from monograph.capture.side_effects.tracking import Effects, WriteTarget, chain_of
from monograph.capture.strict.callback_writes import told_of_callbacks
from monograph.capture.strict.deferred_texts import DeferredTexts
from monograph.capture.strict.padding import PAD, padding
from monograph.capture.strict.polyfills import TRUTHS, compares_tensors, of_plain_number, product
from monograph.capture.strict.sequence_comparison import alike
from monograph.capture.strict.tensor_identity import are_one
from monograph.capture.torch_overrides.hidden_attributes import NAMES, as_told, check_own
from monograph.capture.torch_overrides.number_classes import is_instance, type_of
from monograph.capture.torch_overrides.symbolic_numbers import check_truth
from monograph.diagnostics import BugError, MonographError, problem
from monograph.host.flags import ASSERT, CHECK
from monograph.host.module_calls import (
    functional_is_original,
    is_plain_layer,
    only_calls_forward,
)
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from contextlib import AbstractContextManager

    from monograph.bytecode import InterpreterFrame
    from monograph.capture.control_flow.region_effects import RegionEffects
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.side_effects.impure_functions import Switch
    from monograph.capture.side_effects.module_state import ModuleState
    from monograph.capture.side_effects.observations import Observations

switches = deferred("monograph.capture.strict.switches:Switches")
check_numbers = deferred("monograph.capture.strict.plain_numbers:check_numbers")
give_numbers = deferred("monograph.capture.strict.plain_numbers:give_numbers")
_NO_NEWS: Final = frozenset(
    {
        *(FunctionType, MethodType, *BOUND_TO_C, ModuleType, type, StaticTensor),
        *(SymbolicTensor, SymbolicText, torch.Size, torch.SymInt, torch.SymFloat, torch.SymBool),
    }
)
"""Kinds of values that decide nothing by being read, and lead nowhere that is not seen anyway."""
_WITHIN: Final = frozenset({list, dict, str, tuple})
"""Kinds of objects whose methods in C read nothing from outside."""
_SLOTS: Final = frozenset({MethodWrapperType, WrapperDescriptorType})
_HOLD_OUTSIDE: Final = (torch.nn.Module, type, ModuleType)
_OF_TENSORS: Final = frozenset({"data", "grad", "requires_grad", "names"})
"""Attributes of tensors that are set by operators, or refused there."""
_HARMLESS: Final = (is_instance, type_of, id)
"""Functions that do not look into the list that they are given."""


for _class in (StaticTensor, SymbolicTensor, torch.SymInt, torch.SymFloat, torch.SymBool):
    ours(_class)


class Strict(Hooks):
    """What one strict run lets user code do, and what it sees of it."""

    _reads: DigestsOfReads
    uncatchable = (MonographError, Restart)

    def __init__(
        self,
        recorder: Recorder,
        state: ModuleState,
        arguments: Any,
        observed: Observations,
        *,
        control_flow: str = "refuse",
    ) -> None:
        """`arguments` are the (args, kwargs) that forward is given; `observed` is filled.

        `control_flow` says where both ways of a branch are recorded: see `Request`.
        """
        self.scopes = recorder.scopes
        self.observed = observed
        self._recorder = recorder
        self._forks = control_flow != "refuse"
        self._on_sizes = control_flow == "capture_sizes" or recorder.options.both_ways > 0
        callbacks = Callbacks(self.watcher, self._give, self._compared)
        self.natively = callbacks.around
        if recorder.options.plain:
            give_numbers(self, recorder.options.plain, lambda: self._interpreter.current)
        self._texts = DeferredTexts(recorder)
        self.text = self._texts.text
        self._interpreter = Interpreter(self)
        self._interpret = partial(callbacks.call, self._interpreter.call)
        self._layers_are_native = functional_is_original()
        self._memoized: MemoizedCalls | None = None
        self._seeded = SeededGenerators()
        self._state = state
        self._arguments = arguments
        self._effects = Effects(state.looked_after() | OF_PROCESS, recorder.shown)
        self._iterators = SharedIterators(self.scopes, self._interpreter, self._effects.kept)
        self._parts = self._iterators.parts
        self._plain: Plain | None = None
        self._harmless: dict[int, Any] = {}
        """C functions that read nothing from outside whatever they are given, by identity."""
        self._assumed: dict[tuple[int, str], Assumption] = {}
        self.refuse: Callable[[MonographError], None] = raised
        """What becomes of a refusal that user code could go on after."""
        self.go_past: Callable[[MonographError, Any], bool] = raised
        """The way to go at a condition on data where neither can be recorded beside the other."""

    def __enter__(self) -> Self:
        """From now on modules are interpreted."""
        self._effects.__enter__()
        self._reads = DigestsOfReads(self._effects, self.scopes, self._assumed)
        self.scopes.call = self._call_module
        self.scopes.run = self._interpret
        self.scopes.side_effects = self._side_effects
        self.scopes.tell = self._tell
        if self._forks:
            self._interpreter.strange = self._recorder.accumulated
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was written to, and let the report have what was read."""
        (self._effects if self._plain is None else self._plain).__exit__()
        self._reads.close()
        self.observed.assumptions.extend(self._assumed.values())

    def _call_module(
        self, original: Any, module: torch.nn.Module, /, *args: Any, **kwargs: Any
    ) -> Any:
        """What `Module.__call__` does; the half of its instructions that look for hooks is ours."""
        if only_calls_forward(module):
            if self._layers_are_native and is_plain_layer(module):
                return module.forward(*args, **kwargs)
            return self._interpret(module.forward, *args, **kwargs)
        return self._interpret(original, module, *args, **kwargs)

    def watcher(self) -> Plain:
        """What watches what C calls, and other threads."""
        if self._plain is None:
            self._plain = Plain(
                self.scopes, self._state, self._arguments, self.observed, self._effects, self._reads
            )
            self._plain.refuse = self.refuse
        return self._plain

    def _compared(self, watching: AbstractContextManager[None]) -> AbstractContextManager[None]:
        return told_of_callbacks(watching, self.watcher(), self._parts) if self._parts else watching

    # --- calls -------------------------------------------------------------------------------

    def enters(self, function: FunctionType) -> bool:
        """Interpret what is the user's, and what of PyTorch and Python calls the user's."""
        return is_entered(function.__code__.co_filename, function.__code__.co_name)

    def aside(self) -> AbstractContextManager[None]:
        """Debuggers ask nothing of the program."""
        return aside()

    def raised(self, frame: InterpreterFrame, error: BaseException) -> None:
        """What is not the module's own is refused before the module can catch it.

        Raises: capture-failed, outside-read, and what C code swallowed.
        """
        if self._texts.are_any and self._texts.are_in(error):
            return
        is_caught = type(error) is RecursionError and is_tried(frame.code, frame.lasti)
        if is_caught and not self._is_harmless(STACK_LEFT, frame, []):
            self.refuse(refusal(STACK_LEFT, self.scopes.user_frames(sys._getframe())))
        check_numbers(frame, error, self._recorder.options.plain)
        if not isinstance(error, Exception) or not is_written_by_user(frame.code.co_filename):
            return
        at = self.scopes.user_frames(sys._getframe())
        check_truth(self._recorder, error, at)
        mistake = refusal_of(error, at=at)
        if mistake is not None:
            raise mistake from error

    def island(self, function: FunctionType, reason: str) -> None:
        """Report user code that could not be interpreted."""
        if self.enters(function):
            island = Island(f"{function.__module__}.{function.__qualname__}", reason)
            if island not in self.observed.islands:
                self.observed.islands.append(island)

    def replacement(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any], frame: InterpreterFrame | None
    ) -> Callable[..., Any] | None:
        """A function that keeps sizes symbolic; refuses what reads from outside of the model.

        Raises: outside-read, write-outlives-call.
        """
        other = self._stands_for(callee, args, kwargs, frame) if self._forks else None
        if other is None and not (self._forks and compares_tensors(callee, args)):
            other = self._texts.hand_over(callee, args, kwargs)
        if other is not None:
            return other
        kind = type(callee)
        if kind is FunctionType and (callee.__defaults__ or callee.__kwdefaults__):
            self._reads.defaults(callee, frame)
        if kind is FunctionType and not is_suspect(callee, args):
            return None
        if kind in _SLOTS and callee.__name__ != "__hash__":
            return of_plain_number(callee, args)
        if kind in BOUND_TO_C:
            owner = callee.__self__
            if type(owner) in _WITHIN or id(callee) in self._harmless:
                return None
            if type(owner) is torch.Size:
                return partial(product, owner) if callee.__name__ == "numel" else None
            if type(owner) is ContextVar and callee.__name__ == "set":
                self._effects.written("context", owner, owner.name, None, frame)
        return self._look_outside(callee, args, frame)

    def _stands_for(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any], frame: InterpreterFrame | None
    ) -> Callable[..., Any] | None:
        """What answers for a function whose result is only known at run time."""
        if type(callee) is ChosenObject or (callee is getattr and self._texts.are_any):
            return self._switches.answer(callee, args)
        if callee is bool and len(args) == 1 and self._can_fork(*args):
            return truth_value
        if callee is ASSERT and len(args) > 1 and self._can_fork(args[0]) and not is_caught(frame):
            return lambda condition, message: CHECK(truth_value(condition), lambda: message)
        if callee is PAD and (padded := padding(args, kwargs, self._on_sizes)) is not None:
            return padded
        if self._recorder.accumulated:
            answer = list_accumulation.answer(self._recorder, callee, args, kwargs)
            if answer is not None:
                args.clear()  # the list is not handed on
                kwargs.clear()
                return answer
        if frame is not None and iterates_next(frame):
            rows = rows_of(callee, args, kwargs)
            if rows is not None:
                return rows
        if callee is list and len(args) == 1:
            return number_lists.listed(self._recorder, args[0]) or listed(self._interpreter, args)
        return TRUTHS.get(id(callee)) or made(callee, args, kwargs)

    def _can_fork(self, value: Any) -> bool:
        return can_fork(self._recorder, value, on_sizes=self._on_sizes)

    def _look_outside(
        self, callee: Any, args: list[Any], frame: InterpreterFrame | None
    ) -> Callable[..., Any] | None:
        if type(callee) is CACHED:
            return partial(self._cached, callee)
        found = find_outside(callee, args, self._effects.made, self._is_new)
        if found is None:
            if type(callee) in BOUND_TO_C and is_known_for_good(callee):
                self._harmless[id(callee)] = callee
            return self._seeded.maker(callee)
        if frame is None or self._seeded.draws(callee, args):
            return None
        if not self._is_harmless(found, frame, args):
            refused = refusal(found, self.scopes.user_frames(sys._getframe()))
            (raised if found.must_not_run else self.refuse)(refused)
        return None if id(callee) in self._interpreter.polyfills else callee

    def _is_new(self, value: Any) -> bool:
        return all(run.made(value) for run in (self._effects, *self._parts))

    def _cached(self, callee: Any, *args: Any, **kwargs: Any) -> Any:
        """A call of what `lru_cache` made. Raises: branch-side-effect."""
        frame, call = self._interpreter.current, self._interpreter.call
        memoized = self._memoized = self._memoized or MemoizedCalls()
        runs = (self._effects, *self._parts)
        value, is_old = memoized.call(callee, args, kwargs, call, chain_of(frame), runs)
        if is_old and frame is not None:
            self._met(frame, "cached", callee.__wrapped__.__name__, value, None)
        return value

    def _is_harmless(self, found: Read | Switch, frame: InterpreterFrame, args: list[Any]) -> bool:
        """Whether a read is a library's own business; settings in the environment are reported."""
        file = frame.code.co_filename
        harmless = is_own_business(found, file) or (
            isinstance(found, Read) and found.of_process and is_dropped(frame.code, frame.lasti)
        )
        is_setting = isinstance(found, Read) and found.of_environment
        if harmless and is_setting and not file.startswith(TORCH):
            name = " ".join(["os.environ", *(str(arg) for arg in args[1:2])])
            self._assume(frame, "environment", id(os.environ), name, None)
        return harmless or is_compared(found, self.scopes.user_frames(sys._getframe()))

    # --- reads -------------------------------------------------------------------------------

    def read_global(self, frame: InterpreterFrame, name: str, value: Any) -> Any:
        """Note a plain value; remember what else there is outside of the call."""
        if type(value) not in _NO_NEWS:
            self._read(frame, "global", id(frame.globals), name, value)
        return value

    def read_cell(self, frame: InterpreterFrame, name: str, value: Any) -> Any:
        """Note a plain value of an enclosing function, unless that is running."""
        if type(value) not in _NO_NEWS and not is_running(frame, name):
            self._read(frame, "closure", id(frame.function), name, value)
        return value

    def read_attribute(self, frame: InterpreterFrame, owner: Any, name: str, value: Any) -> Any:
        """Note a plain value of a module, a class, or an object that was reached from outside.

        Raises: outside-read.
        """
        if name == CALL_STACK.what and not self._is_harmless(CALL_STACK, frame, []):
            self.refuse(refusal(CALL_STACK, self.scopes.user_frames(sys._getframe())))
        if name in NAMES:
            value = as_told(owner, name, value, frame.code.co_filename)
        if type(value) in _NO_NEWS:
            return value
        if issubclass(type(owner), _HOLD_OUTSIDE) or id(owner) in self._reads.objects:
            self._read(frame, "attribute", id(owner), name, value, owner)
        return value

    def _read(
        self,
        frame: InterpreterFrame,
        kind: str,
        where: int,
        name: str,
        value: Any,
        owner: Any = None,
    ) -> None:
        if id(value) in self._reads.objects:
            return
        is_kept = is_plain(value)
        if not is_kept or type(value) is list:
            self._met(frame, kind, name, value, owner)
        if not is_kept or type(owner) is ModuleType:
            return
        if (where, name) not in self._assumed and not is_library(frame.code.co_filename):
            named = self._called(owner, name) if owner is not None else name
            self._assume(frame, kind, where, named, value)

    def _met(self, frame: InterpreterFrame, kind: str, name: str, value: Any, owner: Any) -> None:
        """Code comes to an object from outside. Raises: write-outlives-call, of iterators."""
        if issubclass(type(value), type) or self._effects.covers(value) or is_terminal(value):
            return
        called = name if owner is None else self._called(owner, name)
        if hasattr(type(value), "__next__"):
            self.refuse(problem("write-outlives-call", kind="iterator", name=called))
        self._reads.read(value, Called("object" if kind == "attribute" else kind, called), frame)

    def _give(self, values: Iterable[Any]) -> None:
        """C is given these. Raises: write-outlives-call; branch-side-effect, of iterators."""
        self._iterators.given(values, self._interpreter.current)
        self._reads.give_now(values, self._interpreter.current)

    def _assume(
        self, frame: InterpreterFrame, kind: str, where: int, name: str, value: Any
    ) -> None:
        at = self.scopes.filter.frame(frame.code, frame.lasti)
        self._assumed[where, name] = Assumption(kind, name, value, (at,))

    def _called(self, owner: Any, name: str) -> str:
        """How code calls an attribute: `self.head.scale`, `Config.width`."""
        if issubclass(type(owner), torch.nn.Module):
            path = self.scopes.paths.get(id(owner))
            if path is not None:
                return ".".join(filter(None, ("self", path, name)))
        kind: Any = owner if issubclass(type(owner), type) else type(owner)
        return f"{kind.__name__}.{name}"

    def compared(self, frame: InterpreterFrame, left: Any, right: Any) -> Any:
        """Whether two tensors are one, where it is the same in every call, and for numbers.

        PyTorch asks in order to take a shorter way to the same result.

        Raises: outside-read, branch-decides.
        """
        if left is right or frame.code.co_filename.startswith(TORCH):
            return NotImplemented
        ones, others = map(self._recorder.aliases.possible_objects, (left, right))
        if any(are_given(one, other) for one in ones for other in others):
            self.refuse(identity_refusal())
        known = are_one(self._recorder, left, right)
        return same_number(left, right) if known is NotImplemented else known

    def fork(self, frame: InterpreterFrame, value: Any) -> Any:
        """Record both ways of a condition on data, if that was asked for.

        Raises: branches-disagree, branch-side-effect, branch-writes, and what a way refuses.
        """
        if not self._forks:
            return NotImplemented
        try:
            with no_mistake("the capture of a condition"):
                return fork(self._recorder, frame, value, on_sizes=self._on_sizes)
        except BugError:
            raise
        except MonographError as refusal:
            return self.go_past(refusal, value)

    @functools.cached_property
    def _switches(self) -> Any:
        return switches(self._recorder, self._interpreter, self._texts, self._can_fork)

    def chosen_item(self, owner: Any, key: Any) -> Any:
        """An item by a key that only data tells: both are computed, or whatever it may choose."""
        return self._switches.item(owner, key) if self._forks else NotImplemented

    def alike(self, left: Any, right: Any) -> Any:
        """`==` of sequences whose numbers are in tensors, as a condition."""
        asked = (self._recorder, left, right)
        return alike(*asked, on_sizes=self._on_sizes) if self._forks else NotImplemented

    def inverted(self, value: Any) -> Any:
        """`not` of a condition on data, as a condition on data."""
        asked = (self._recorder, value)
        return inverted(*asked, on_sizes=self._on_sizes) if self._forks else NotImplemented

    def iterated(self, value: Any) -> Any:
        """The rounds of a `for` over a symbolic number of values."""
        if not self._forks or type(value) is SymbolicIterator:
            return NotImplemented
        items = list_accumulation.find(self._recorder, value)
        if items is not None:
            return number_lists.iterated(items)
        source = source_of(value)
        return NotImplemented if source is None else SymbolicIterator(source)

    def strange_item(self, owner: list[Any], key: Any) -> Any:
        """An item of a list that grew in a loop.

        Raises: list-grown.
        """
        items = list_accumulation.find(self._recorder, owner)
        return NotImplemented if items is None else number_lists.item_of(self._recorder, items, key)

    def strange_call(self, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What C makes of a list that grew in a loop. Raises: list-grown."""
        if any(callee is each for each in _HARMLESS):
            return NotImplemented
        return operate(self._recorder, callee, args, kwargs)

    def strange_use(self, owner: Any, use: str) -> None:
        """Refuse to take such a list apart."""
        if list_accumulation.find(self._recorder, owner) is not None:
            raise problem("list-grown", use=use)

    def repeat(self, frame: InterpreterFrame, rounds: SymbolicIterator) -> Any:
        """Record a `for` over a symbolic number of values.

        Raises: what a round refuses.
        """
        if not self._forks:
            return NotImplemented
        with no_mistake("the capture of a loop"):
            return repeat(self._recorder, frame, rounds)

    def strange_truth(self, owner: Any) -> Any:
        """Whether there is an item, of a list that grew in a loop."""
        items = list_accumulation.find(self._recorder, owner)
        return owner if items is None else list_accumulation.is_there_any(items)

    # --- writes ------------------------------------------------------------------------------

    def written(
        self, kind: Any, owner: Any, key: Any, old: Any, frame: InterpreterFrame | None
    ) -> None:
        """Remember what was there.

        Raises: write-after-branch, branch-side-effect.
        """
        if kind == "hidden":
            self._iterators.resumed(owner, frame)
            return
        if issubclass(type(owner), torch.Tensor):
            if not issubclass(type(owner), AbstractTensor) and key == "__class__":
                self._effects.written(kind, owner, key, type(owner), frame)
            if not issubclass(type(owner), AbstractTensor) or key in _OF_TENSORS:
                return
            check_own(key)
            self._recorder.aliases.check_write(owner, key)
            self._effects.written(kind, owner, key, old, frame)
            region = self._recorder.region
            if region is None or not (region.is_outside(owner) or region.stands_in(owner)):
                return
        else:
            self._recorder.aliases.check_write(owner)
            self._effects.written(kind, owner, key, old, frame)
        for part in self._parts:
            part.written(kind, owner, key, old, frame)

    def _tell(self, changing: list[Any]) -> None:
        self.written("contents", changing, None, None, self._interpreter.current)

    @contextmanager
    def _side_effects(self, operator: str) -> Generator[RegionEffects]:
        """Refuse writes to what was there before, while a function given to an operator runs.

        Those of a way of Python's own `if` are kept, and put back.

        Raises: branch-side-effect; Restart.
        """
        merges = operator == "if"
        tracks = not merges or self._recorder.tracks_objects
        part = self._iterators.region(self._write_again, tracks_objects=tracks)
        with part:
            self._parts.append(part)
            try:
                yield part
                if merges:
                    part.take()
            except BaseException:
                part.forget()
                raise
            finally:
                self._parts.remove(part)
            for place in part.taken if merges else part.lasting():
                if merges and can_merge(place):
                    continue
                at, said = lines(place, self.scopes), said_of(place)
                part.undo()
                raise problem("branch-side-effect", at=at, operator=operator, **said)

    def _write_again(self, place: WriteTarget) -> None:
        """What ways of an `if` wrote is written, by the code that they are of."""
        frame = self._interpreter.current
        self.written(place.kind, place.owner, place.name, place.before, frame)

    def watching(self, _: Recorder) -> AbstractContextManager[None]:
        """What is interpreted is watched; what C calls is watched when it does."""
        return CALL_EVENTS.held()

    def lasting(self, _: object, returned: list[Any]) -> list[Effect]:
        """The writes that outlive the call, which returned the one of a list."""
        cached = [] if self._memoized is None else self._memoized.effects(self.scopes)
        if self._plain is not None:
            return self._plain.lasting({}, returned) + cached
        self._effects.returned = returned
        lasting = self._effects.lasting()
        roots = [self._reads.root_of(each.owner) for each in lasting]
        named = (
            Effect(o, name_of(o, self._state, self._arguments, r), lines(o, self.scopes))
            for o, r in zip(lasting, roots, strict=True)
        )
        return [*named, *cached]
