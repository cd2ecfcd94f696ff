"""Where user code stands while it is recorded: module, source line, grad mode, autocast.

`nn.Module.__call__` and `autocast` are replaced for the duration of a capture, because PyTorch has
no hook that costs nothing; both are put back on every path. Each module call remembers the text of
the frames outside it, so a node only walks the few frames inside its own module.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self

import torch

from monograph.diagnostics import FrameFilter

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from torch.fx.node import Node

    from monograph.diagnostics import Frame

State = tuple[tuple[Any, ...], ...]
"""Regions around a node, outermost first.

Each is ("autocast", device, dtype, enabled, cache) or ("grad", enabled).
"""


class ModuleCall:
    """One call of a module in progress."""

    __slots__ = ("frames", "stack", "text")

    def __init__(
        self, stack: dict[str, tuple[str, str]], frames: tuple[Frame, ...], text: str
    ) -> None:
        self.stack = stack
        self.frames = frames
        self.text = text


class Scopes:
    """The scopes of one capture. Use as a context manager around user code."""

    def __init__(self, root: torch.nn.Module, stop: CodeType) -> None:
        self.filter = FrameFilter()
        self.thread = get_ident()
        """Patches are seen by every thread; what the others do has no part in this capture."""
        self.paths = {
            id(m): path for path, m in reversed(list(root.named_modules(remove_duplicate=False)))
        }
        self.stop = stop
        self.current = ModuleCall({}, (), "")
        self.depth = 0
        self.autocast: State = ()
        self.initial_grad = torch.is_grad_enabled()
        self.states: dict[Node, State] = {}
        self._patches: list[tuple[type, str, Any]] = []

    # --- what recording asks -----------------------------------------------------------------

    def describe(self, node: Node, frame: FrameType) -> None:
        """Put source line and module of the current operation on its node, and its regions."""
        call = self.current
        stop = MODULE_CALL if self.depth else self.stop
        frames = self.filter.walk(frame, stop)
        node.meta = {
            "stack_trace": call.text + self.filter.stack_text(frames),
            "nn_module_stack": call.stack,
            "frames": frames + call.frames,
        }
        grad = torch.is_grad_enabled()
        if self.autocast or grad is not self.initial_grad:
            state = self.autocast
            if grad is not self.initial_grad:
                state = (*state, ("grad", grad))
            self.states[node] = state

    def user_frames(self, frame: FrameType) -> tuple[Frame, ...]:
        """The user's frames around `frame`, innermost first, library frames left out."""
        stop = MODULE_CALL if self.depth else self.stop
        return self.filter.innermost_user(self.filter.walk(frame, stop) + self.current.frames)

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
        stack[key] = (path or "", f"{kind.__module__}.{kind.__qualname__}")
        text = outer.text + self.filter.stack_text(frames)
        self.current = ModuleCall(stack, frames + outer.frames, text)
        self.depth += 1
        return outer

    def leave(self, outer: ModuleCall) -> None:
        """The module returned or raised."""
        self.current = outer
        self.depth -= 1

    def __enter__(self) -> Self:
        module_call = _module_call(self, torch.nn.Module.__call__)
        self._patch(torch.nn.Module, "__call__", module_call)
        cast = torch.autocast
        self._patch(cast, "__enter__", _autocast_enter(self, cast.__enter__))
        self._patch(cast, "__exit__", _autocast_exit(self, cast.__exit__))
        return self

    def _patch(self, owner: type, name: str, replacement: Any) -> None:
        self._patches.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, replacement)

    def __exit__(self, *_: object) -> None:
        while self._patches:
            owner, name, original = self._patches.pop()
            setattr(owner, name, original)


def _module_call(scopes: Scopes, original: Any) -> Any:
    def module_call(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != scopes.thread:
            return original(module, *args, **kwargs)
        outer = scopes.enter(module, sys._getframe(1))
        try:
            return original(module, *args, **kwargs)
        finally:
            scopes.leave(outer)

    return module_call


MODULE_CALL: CodeType = next(
    const for const in _module_call.__code__.co_consts if hasattr(const, "co_code")
)
"""Walks over frames stop here; what lies outside is remembered by the `ModuleCall`."""


def _autocast_enter(scopes: Scopes, original: Any) -> Any:
    def enter(cast: Any) -> Any:
        if get_ident() != scopes.thread:
            return original(cast)
        region = ("autocast", cast.device, cast.fast_dtype, cast._enabled, cast._cache_enabled)  # noqa: SLF001 - torch keeps its arguments there
        scopes.autocast = (*scopes.autocast, region)
        return original(cast)

    return enter


def _autocast_exit(scopes: Scopes, original: Any) -> Any:
    def leave(cast: Any, *exception: Any) -> Any:
        if get_ident() == scopes.thread:
            scopes.autocast = scopes.autocast[:-1]
        return original(cast, *exception)

    return leave
