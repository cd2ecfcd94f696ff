"""Function overrides that track scopes: module calls, autocast, and the grad mode.

PyTorch has no hook on these that costs nothing where nobody asks.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, Final

import torch

from monograph.capture.installation import OVERRIDES, listening
from monograph.diagnostics import problem
from monograph.lazy_imports import deferred

record_in_parts = deferred("monograph.capture.queries.autocast_composites:record_in_parts")


@OVERRIDES.override_code(torch.nn.Module.__call__)
def _module_call(original: Any) -> Any:
    def module_call(module: torch.nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(module, *args, **kwargs)
        scopes = recorder.scopes
        outer = scopes.enter(module, sys._getframe(2))
        watcher = scopes.watchers.get(id(module))
        finish = None if watcher is None else watcher(scopes.current.key, args, kwargs)
        retraced = getattr(type(module), "retraced", None)
        try:
            if retraced is None:
                result = scopes.call(original, module, *args, **kwargs)
            else:  # a program's, which is exported again
                with retraced(module, recorder):
                    result = scopes.call(original, module, *args, **kwargs)
        finally:
            scopes.leave(outer)
        if finish is not None:
            finish(result)
        return result

    return module_call


MODULE_CALL = next(
    const
    for const in _module_call.__code__.co_consts
    if isinstance(const, CodeType) and const.co_name == "module_call"
)
"""Walks over frames stop here; what lies outside is remembered by the `ModuleCall`."""


@OVERRIDES.override(torch.autocast, "__enter__")
def _autocast_enter(original: Any) -> Any:
    def enter(cast: Any) -> Any:
        recorder = listening()
        if recorder is not None:
            recorder.scopes.begin_cast(cast)
            record_in_parts(recorder)
        return original(cast)

    return enter


@OVERRIDES.override(torch.autocast, "__exit__")
def _autocast_exit(original: Any) -> Any:
    def leave(cast: Any, *exception: Any) -> Any:
        recorder = listening()
        if recorder is not None:
            recorder.scopes.end_cast()
        return original(cast, *exception)

    return leave


def _grad_change(original: Any, *, begins: bool = False, ends: bool = False) -> Any:
    """A method of a context that sets the grad mode; one of them begins it, one of them ends it."""

    def change(mode: Any, /, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(mode, *args, **kwargs)
        scopes = recorder.scopes
        before = scopes.grad
        result = original(mode, *args, **kwargs)
        if begins:
            scopes.outer_grads[id(mode)] = before
        if ends:
            scopes.grad = scopes.outer_grads.pop(id(mode), None)
        else:
            scopes.set_grad(before=before)
        return result

    return change


@OVERRIDES.override(torch.no_grad, "__enter__")
@OVERRIDES.override(torch.enable_grad, "__enter__")
@OVERRIDES.override(torch.set_grad_enabled, "__init__")
def _grad_begins(original: Any) -> Any:
    return _grad_change(original, begins=True)


@OVERRIDES.override(torch.no_grad, "__exit__")
@OVERRIDES.override(torch.enable_grad, "__exit__")
@OVERRIDES.override(torch.set_grad_enabled, "__exit__")
def _grad_ends(original: Any) -> Any:
    return _grad_change(original, ends=True)


OVERRIDES.override(torch.set_grad_enabled, "__enter__")(_grad_change)


_MODE_ASKED: Final = "whether a tensor is an inference tensor"


@OVERRIDES.override(torch.inference_mode, "__new__")
def _inference_made(original: Any) -> Any:
    """A symbolic truth is no function to decorate; `__enter__` takes none, and says so."""

    def make(cls: Any, mode: Any = True) -> Any:  # noqa: FBT002 - as in torch
        return original(cls, True if isinstance(mode, torch.SymBool) else mode)

    return make


@OVERRIDES.override(torch.inference_mode, "__enter__")
def _inference_begins(original: Any) -> Any:
    change = _grad_change(original, begins=True)

    def enter(mode: Any) -> Any:
        recorder = listening()
        if recorder is not None and recorder.region is not None:
            raise problem("branch-decides", what=_MODE_ASKED)
        result = change(mode)
        if recorder is not None:
            recorder.scopes.in_inference += 1
            recorder.scopes.sets_inference = True
            if not mode.mode:
                recorder.answers_noted.note("inference_mode", recorder.origin())
        return result

    return enter


@OVERRIDES.override(torch.inference_mode, "__exit__")
def _inference_ends(original: Any) -> Any:
    change = _grad_change(original, ends=True)

    def leave(mode: Any, *exception: Any) -> Any:
        result, recorder = change(mode, *exception), listening()
        if recorder is not None and recorder.region is not None:
            raise problem("branch-decides", what=_MODE_ASKED)
        if recorder is not None:
            recorder.scopes.in_inference -= 1
        return result

    return leave


__all__ = ["MODULE_CALL"]
