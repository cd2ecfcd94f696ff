"""Scopes of a node: the module, source line, grad mode and autocast that user code stands in.

Overrides tell (`scope_tracking`). Each module call remembers the text of the
frames outside it, so a node only walks the few frames inside its own module.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

# As they are, not as user code is watched asking them.
from torch import is_grad_enabled, is_inference_mode_enabled
from torch.fx import traceback
from torch.fx.node import Node

from monograph.capture.recording.scope_tracking import MODULE_CALL
from monograph.diagnostics import Frame, frame_filter
from monograph.host.autograd import are_transforms_active
from monograph.host.calling import BUILTINS
from monograph.host.execution_modes import AUTOCAST_STATE
from monograph.host.flags import autocast_settings
from monograph.host.fx_nodes import put_first

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import CodeType, FrameType


STACK_ROOT: Final = "L__self__"
"""What the keys of `nn_module_stack` begin with, as torch.export's do."""


class ModeRegion(NamedTuple):
    """A mode that user code entered, and the module call that entered it.

    Settings are (device, dtype, enabled, cache) of "autocast", and (enabled,) of "grad".
    """

    kind: str
    settings: tuple[Any, ...]
    owner: str


State = tuple[ModeRegion, ...]
"""Regions around a node, outermost first. A region of a call lies outside those of calls in it."""

Watcher = Callable[[str, tuple[Any, ...], dict[str, Any]], Callable[[Any], None]]
"""Takes the key and the arguments of a call that begins; returns what takes its result."""


class ModuleCall:
    """One call of a module in progress."""

    __slots__ = ("frames", "grad", "key", "n_casts", "regions", "stack", "text")

    def __init__(
        self,
        key: str,
        stack: dict[str, tuple[str, str]],
        frames: tuple[Frame, ...],
        text: str,
        regions: State,
        n_casts: int,
        *,
        grad: bool | None,
    ) -> None:
        self.key = key
        self.stack = stack
        self.frames = frames
        self.text = text
        self.regions = regions
        """The regions it was called in, and how many of them are casts; then the grad mode, None
        where forward has not set it."""
        self.n_casts = n_casts
        self.grad = grad


class Retraced(NamedTuple):
    """The call of a program's module that is recorded: where it is, and what calls have been met.

    `keys` are the keys of the program's own module calls, with those that they have now.
    """

    path: str
    around: dict[str, tuple[str, str]]
    keys: dict[str, str]


class Scopes:
    """The scopes of one capture."""

    def __init__(self, named: Sequence[tuple[str, torch.nn.Module]], stop: CodeType) -> None:
        """`named` are the root module and all in it, by path, as `named_modules` yields them."""
        self.root = named[0][1]
        self.filter = frame_filter()
        self.paths = {id(m): path for path, m in reversed(named)}
        self.stop = stop
        self.current = ModuleCall("", {}, (), "", (), 0, grad=None)
        self.grad: bool | None = None
        """The grad mode that forward has set, None where it is the caller's."""
        self.outer_grads: dict[int, bool | None] = {}
        """What it was before a context in progress, by the context's identity."""
        self.around_transforms: tuple[bool | None, ...] = ()
        """The grad mode that forward had set around the transforms it is in."""
        self.caller_grad = is_grad_enabled()
        self.sets_grad = False
        """Whether forward has set the grad mode so far."""
        self.in_inference = 0
        """In how many contexts that set inference mode forward is; whether any; the caller's."""
        self.sets_inference = False
        self.caller_inference = is_inference_mode_enabled()
        self.ran_as: bool | None = None
        """Whether operators run in inference mode now, where that is not what the thread says."""
        self.depth = 0
        self.autocast: State = ()
        self.without_casts: tuple[Any, ...] = ()
        """What autocast was set to before forward entered any."""
        self.calls: dict[str, int] = {}
        """How often each module was called, by its key in `nn_module_stack` without the count."""
        self.asking: dict[int, ModuleCall] = {}
        """The module call that asked a question, by the id of the frames that a guard has of it."""
        self.functions: dict[str, int] = {}
        """How often each operator was recorded, by its name without the overload."""
        self.gathered: dict[int, tuple[Callable[[], None], Any]] = {}
        """By parameter of `fully_shard` that is gathered, how to reshard it, and the region."""
        self.sharded_calls: list[Any] = []  # the states of `fully_shard` whose forward goes on
        self.watchers: dict[int, Watcher] = {}
        """By the id of a module: what is told of its calls."""
        self.states: dict[Node, State] = {}
        self.retraced: Retraced | None = None
        self.asks_for_program = False
        """Whether it is a program's contract that asks, which counts as the user's code."""
        self.call: Callable[..., Any] = _natively
        """How `Module.__call__` is run: natively, unless an interpreter is given."""
        self.run: Callable[..., Any] = _natively
        """How a function that user code gives to an operator is run."""
        self.side_effects: Callable[[str], AbstractContextManager[Any]] = lambda _: nullcontext()
        """Looks for writes to what was there before while such a function runs."""
        self.tell: Callable[[list[Any]], None] = lambda _: None
        """Takes a list that is about to change."""

    # --- what recording asks -----------------------------------------------------------------

    def describe(self, node: Node, frame: FrameType) -> None:
        """Put source line and module of the current operation on its node, and its regions."""
        call = self.current
        stop = MODULE_CALL if self.depth else self.stop
        frames = self.filter.walk(frame, stop)
        meta = node.meta  # filled, for `Node.__setattr__` costs as much as all of this
        meta["stack_trace"] = call.text + self.filter.stack_text(frames)
        meta["nn_module_stack"] = call.stack
        meta["frames"] = frames + call.frames
        if self.ran_as is not None:
            meta["inference"] = self.ran_as
        elif self.in_inference:  # what `torch.func` differentiates leaves the mode for itself
            meta["inference"] = is_inference_mode_enabled()
        if traceback.current_meta:
            self._annotate(meta)
        target: Any = node.target
        name, kind = target.__name__, type(target).__name__
        if target.__module__ == "torch._ops.aten":
            name = name.partition(".")[0]
            kind = "builtin_function_or_method" if name in BUILTINS else "method_descriptor"
        self.functions[name] = number = self.functions.get(name, 0) + 1
        meta["torch_fn"] = (f"{name}_{number}", f"{kind}.{name}")
        grad = None if self.grad is None and is_grad_enabled() is self.caller_grad else True
        if grad or call.grad is not None or call.regions or self.autocast:
            state = self.regions()
            if state:
                self.states[node] = state

    def _annotate(self, meta: dict[str, Any]) -> None:
        """Put on a node what user code says of it with `torch.fx.traceback.annotate`."""
        notes = traceback.current_meta.get("custom") or {}
        # torch's own marks, which it leaves there after an export of its own
        said = {key: notes[key] for key in notes if not str(key).startswith("_torchdynamo_")}
        if said:
            meta["custom"] = said

    @contextmanager
    def running_as(self, mode: bool | None) -> Generator[None]:  # noqa: FBT001
        """Let operators run in this inference mode, whatever the thread's is; None: in that."""
        before, self.ran_as = self.ran_as, mode
        try:
            yield
        finally:
            self.ran_as = before

    def describe_alike(self, node: Node, other: Node) -> None:
        """Put on a node what is on another that the same line made just now."""
        for name in ("stack_trace", "nn_module_stack", "frames", "inference", "custom", "torch_fn"):
            if name in other.meta:
                node.meta[name] = other.meta[name]
        if other in self.states:
            self.states[node] = self.states[other]

    def describe_assertion(self, node: Node, origin: object, last: Sequence[Node]) -> None:
        """Put on an assertion, and on what it compares, the lines that asked for it, if known.

        Its module is the one that asked, as far as that is still called or was just now: by then
        the next operator is about to be recorded, `last` is the one before. What a region asserts
        of values from outside is asserted before it computes anything.
        """
        meta = node.meta
        meta["val"] = None
        if isinstance(origin, tuple) and origin and all(isinstance(each, Frame) for each in origin):
            frames: tuple[Frame, ...] = origin
            meta["frames"], meta["stack_trace"] = frames, self.filter.stack_text(frames)
            meta.pop("custom", None)
            asked = self.asking.get(id(frames))
            if asked is not None:
                before = last[0].meta.get("nn_module_stack", {}) if last else {}
                open_ = before if asked.stack.keys() <= before.keys() else self.current.stack
                meta["nn_module_stack"] = {k: v for k, v in asked.stack.items() if k in open_}
        condition = node.args[0]
        if isinstance(condition, Node):
            for name in {"stack_trace", "frames"} & meta.keys():  # none has them in a second run
                condition.meta.setdefault(name, meta[name])
            if condition.graph is not node.graph:  # known where the region begins
                self.states.pop(node, None)
                put_first(node)

    def regions(self) -> State:
        """The regions around what is recorded now."""
        call, grad = self.current, self.grad_mode()
        if self.autocast or grad is not call.grad or call.regions:
            return self._regions(call, grad=grad)
        return ()

    def grad_mode(self) -> bool | None:
        """The grad mode that forward has set, None where it follows the caller's.

        Why not only what differs from the caller's: another call may be made in another mode.
        """
        mode = is_grad_enabled()
        return None if self.grad is None and mode is self.caller_grad else mode

    def set_grad(self, *, before: bool | None) -> None:
        """Forward has set the grad mode.

        Transforms of `torch.func` turn gradients on for themselves: what they run is followed
        from outside as it is around them.
        """
        if not are_transforms_active():
            self.around_transforms = ()
        elif not self.around_transforms:
            self.around_transforms = (before,)
        self.sets_grad = True
        mode = is_grad_enabled()
        self.grad = self.around_transforms[0] if mode and self.around_transforms else mode

    def decides(self, question: str, device: str) -> bool:
        """Whether forward itself has set what the question is about, where it stands now."""
        if question == "inference_mode":
            return self.in_inference > 0
        if question == "grad_mode":
            return self.grad_mode() is not None
        if question in {"autocast", "autocast_dtype"}:
            return any(region.settings[0] == device for region in self.autocast)
        return False

    def _regions(self, call: ModuleCall, *, grad: bool | None) -> State:
        """What the call stands in, then what was entered in it."""
        state = (*call.regions, *self.autocast[call.n_casts :])
        if grad is call.grad:
            return state
        mode = is_grad_enabled() if grad is None else grad
        return (*state, ModeRegion("grad", (mode,), call.key))

    def user_frames(self, frame: FrameType) -> tuple[Frame, ...]:
        """The user's frames around `frame`, innermost first, library frames left out."""
        stop = MODULE_CALL if self.depth else self.stop
        found = self.filter.innermost_user(self.filter.walk(frame, stop) + self.current.frames)
        self.asking[id(found)] = self.current
        return found

    # --- entering and leaving ------------------------------------------------------------------

    def enter(self, module: torch.nn.Module, frame: FrameType) -> ModuleCall:
        """A module is called from `frame`; returns the call around it, for `leave`."""
        outer = self.current
        stop = MODULE_CALL if self.depth else self.stop
        frames = self.filter.walk(frame, stop)
        path = self.paths.get(id(module))
        stack = dict(outer.stack)
        kind = type(module)
        key = f"unregistered_{kind.__qualname__}" if path is None else path
        count = self.calls.get(key, 0)
        self.calls[key] = count + 1
        key = f"{key}@{count}" if count else key
        stack[f"{STACK_ROOT}{key}"] = (path or "", f"{kind.__module__}.{kind.__qualname__}")
        text = outer.text + self.filter.stack_text(frames)
        grad = self.grad_mode()
        regions = self._regions(outer, grad=grad)
        n_casts = len(self.autocast)
        self.current = ModuleCall(
            key, stack, frames + outer.frames, text, regions, n_casts, grad=grad
        )
        self.depth += 1
        return outer

    def leave(self, outer: ModuleCall) -> None:
        """The module returned or raised."""
        self.current = outer
        self.depth -= 1

    # --- programs that are exported again --------------------------------------------------------

    def retrace(self, module: torch.nn.Module) -> Retraced:
        """The call of a program's module that begins now."""
        path = self.paths.get(id(module)) or ""
        return Retraced(path, self.current.stack if path else {}, {})

    def inside(self) -> ModuleCall:
        """What is outside of all nodes of a graph that is recorded from here on."""
        outer, grad = self.current, self.grad_mode()
        is_within = self.retraced is not None and self.retraced.path
        frames, text = (outer.frames, outer.text) if is_within else ((), "")
        regions = self._regions(outer, grad=grad)
        return ModuleCall(
            outer.key, outer.stack, frames, text, regions, len(self.autocast), grad=grad
        )

    def stand_at(self, outer: ModuleCall, spots: Sequence[Any]) -> None:
        """What is asked from here on is asked by these lines, if they are known."""
        frames = tuple(each for each in spots if isinstance(each, Frame))
        self.current = ModuleCall(
            outer.key,
            outer.stack,
            frames or outer.frames,
            outer.text,
            outer.regions,
            outer.n_casts,
            grad=outer.grad,
        )

    def at(self, node: Node, inside: ModuleCall) -> ModuleCall:
        """Where the user's code stood when a node of a graph was recorded, which is again."""
        program = self.retraced
        assert program is not None, "a call of a program is recorded"
        meta, stack = node.meta, dict(program.around)
        key = inside.key
        for old, (path, kind) in (meta.get("nn_module_stack") or {}).items():
            old_key = old.removeprefix(STACK_ROOT)
            if old_key or not program.path:
                now = ".".join(filter(None, (program.path, path)))
                key = self._key_again(program, old_key)
                stack[f"{STACK_ROOT}{key}"] = (now, kind)
        known = [each for each in meta.get("frames") or () if isinstance(each, Frame)]
        return ModuleCall(
            key,
            stack or inside.stack,
            (*known, *inside.frames),
            inside.text + (meta.get("stack_trace") or ""),
            inside.regions,
            inside.n_casts,
            grad=inside.grad,
        )

    def _key_again(self, program: Retraced, old: str) -> str:
        """The key of a module's call in the program, as a call of this capture."""
        keys = program.keys
        if old not in keys:
            key = f"{program.path}.{old}" if program.path else old
            key = key.partition("@")[0]
            count = self.calls.get(key, 0) if key else 0
            self.calls[key] = count + 1
            keys[old] = f"{key}@{count}" if count else key
        return keys[old]

    def begin_cast(self, cast: Any) -> None:
        """Forward enters `torch.autocast`."""
        settings = autocast_settings(cast)
        if not self.autocast:
            self.without_casts = AUTOCAST_STATE()
        self.autocast = (*self.autocast, ModeRegion("autocast", settings, self.current.key))

    def end_cast(self) -> None:
        """Forward leaves it."""
        self.autocast = self.autocast[:-1]


def _natively(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
