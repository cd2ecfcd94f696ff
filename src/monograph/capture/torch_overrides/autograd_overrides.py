"""Autograd overrides: backward functions of users, hooks, and gradients taken inside forward.

Law: autograd derives what a program computes from its operators. Where the module says otherwise
(`autograd.Function`, hooks on what is saved, a dispatch mode), the program holds for the calls that
need no such gradient, and its contract says so; a gradient taken inside of forward is refused.
The checkpoint that is reentrant has the gradient of what it runs, so that is what is captured.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import is_grad_enabled  # as it is, not as user code is watched asking it

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import is_differentiable
from monograph.capture.installation import OVERRIDES, listening
from monograph.capture.queries.query_kinds import Answer
from monograph.capture.recording.operators import OPERATORS
from monograph.capture.torch_overrides.guarded_queries import asked
from monograph.diagnostics import problem
from monograph.host.autograd import BACKWARD_HOOKS, ENGINES, are_transforms_active, context_class
from monograph.host.dispatch import TorchDispatchMode
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten as _aten
from monograph.host.process_groups import local_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch.fx.node import Node

    from monograph.capture.queries.noted_answers import Subject
    from monograph.capture.recording.recorder import Recorder

_FUNCTION: Final = torch.autograd.Function
_CHECKPOINT: Final = ("torch.utils.checkpoint", "CheckpointFunction")
_SAVED: Final = torch.autograd.graph.saved_tensors_hooks
_OWN: Final = "goes through a backward of its own"


# --- what the contract says -------------------------------------------------------------------


def need_no_gradient(
    recorder: Recorder, tensors: Iterable[AbstractTensor] | None, what: str
) -> None:
    """No call that the program accepts may need the gradient of these tensors, None for all.

    Raises: gradient-in-forward (forward itself made one of them need it).
    """
    if recorder.scopes.decides("grad_mode", "") and not is_grad_enabled():
        return
    for found in _behind(recorder, tensors):
        if found is None:
            raise problem("gradient-in-forward", what=what, because=_OWN)
        _hold(recorder, "needed", found, answer=False)


def need_its_gradient(recorder: Recorder, tensors: Iterable[AbstractTensor]) -> None:
    """Every call follows these tensors, as the example did, or nothing."""
    for found in _behind(recorder, tensors):
        if found is not None and found.example.requires_grad:
            _hold(recorder, "followed", found, answer=True)


def _hold(recorder: Recorder, question: str, subject: Subject, *, answer: bool) -> None:
    """Every call gives this answer about a tensor."""
    if recorder.scopes.decides("grad_mode", ""):
        question = "needed_inside" if question == "needed" else "followed_inside"
    key = (question, subject.path, subject.argument)
    origin = recorder.origin()
    recorder.answers_noted.answers[key] = Answer(
        question, value=answer, path=subject.path, argument=subject.argument, origin=origin
    )


def _behind(
    recorder: Recorder, tensors: Iterable[AbstractTensor] | None
) -> Iterator[Subject | None]:
    """The tensors whose gradient goes through these; None for one that forward begins with."""
    subjects = recorder.answers_noted.subjects
    if tensors is None or recorder.region is not None:
        yield from (each for each in subjects.values() if is_differentiable(each.example.dtype))
        return
    seen: set[Node] = set()
    waiting = [each.node for each in tensors if each.node is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting += recorder.lineage.writes(node)
        if node.target is _aten.requires_grad_.default:
            yield None
        elif node in subjects:
            if is_differentiable(subjects[node].example.dtype):
                yield subjects[node]
        elif not _ends(node):
            waiting += node.all_input_nodes


def _ends(node: Node) -> bool:
    """Whether no gradient goes through a node."""
    made = node.meta.get("val")
    if isinstance(made, AbstractTensor):
        target = node.target
        is_factory = isinstance(target, OpOverload) and OPERATORS.of(target).without_history
        if is_factory or not is_differentiable(made.tensor_type.dtype):
            return True
    return node.target in {_aten.detach.default, _aten.detach_.default, _aten.data.default}


# --- functions with a backward of their own ---------------------------------------------------


@OVERRIDES.override(_FUNCTION, "apply")
def _apply(method: Any) -> Any:
    def original(cls: Any, *args: Any, **kwargs: Any) -> Any:  # in C since torch 2.14
        return method.__get__(None, cls)(*args, **kwargs)

    @functools.wraps(method)
    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None or are_transforms_active():
            return original(cls, *args, **kwargs)
        given = (*args, *kwargs.values())
        locals_ = [local_tensor(each) for each in given if isinstance(each, torch.Tensor)]
        tensors = [recorder.abstract(each) for each in locals_]
        follows = is_grad_enabled() and any(each.tensor_type.requires_grad for each in tensors)
        if follows and (cls.__module__, cls.__name__) == _CHECKPOINT:
            need_its_gradient(recorder, tensors)
            return _checkpointed(recorder, args[0], *args[2:])
        need_no_gradient(recorder, tensors, f"{cls.__qualname__}.apply")
        is_callers = recorder.scopes.grad_mode() is None
        flags = functools.partial(_flags, recorder, args, is_callers=is_callers)
        with torch.no_grad():
            return original(_watched(cls, recorder, flags), *args, **kwargs)

    return classmethod(apply)


def _watched(cls: Any, recorder: Recorder, flags: Callable[[], tuple[bool, ...]]) -> Any:
    """The function, whose parts are run as what forward calls is, not as what C++ calls."""
    parts = {
        name: staticmethod(_run_as_ours(recorder, getattr(cls, name)))
        for name in ("forward", "setup_context")
        if getattr(cls, name) is not getattr(_FUNCTION, name)
    }
    watched: Any = type(cls)(cls.__name__, (cls,), parts)
    context_class(watched).needs_input_grad = property(lambda _: flags())
    return watched


def _run_as_ours(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return recorder.scopes.run(function, *args, **kwargs)

    return run


def _flags(recorder: Recorder, args: tuple[Any, ...], *, is_callers: bool) -> tuple[bool, ...]:
    """`ctx.needs_input_grad`, in the caller's grad mode or in one that forward had set."""
    if is_callers:
        recorder.answers_noted.note("grad_mode", recorder.origin())
    return tuple(
        isinstance(each, AbstractTensor) and asked(recorder, each, "requires_grad") for each in args
    )


def _checkpointed(recorder: Recorder, function: Callable[..., Any], *args: Any) -> Any:
    """What a checkpoint runs, followed as backward would follow it.

    Raises: gradient-in-forward (its results would not be what the checkpoint's are).
    """
    result = recorder.scopes.run(function, *args)
    given = {id(each.storage_root) for each in args if isinstance(each, AbstractTensor)}
    for each in result if isinstance(result, tuple) else (result,):
        if not isinstance(each, AbstractTensor) or not is_differentiable(each.tensor_type.dtype):
            continue
        if not each.tensor_type.requires_grad or id(each.storage_root) in given:
            raise problem("gradient-in-forward", what="checkpoint", because=_OWN)
    return result


# --- hooks, and gradients inside ----------------------------------------------------------------


@OVERRIDES.override(TorchDispatchMode, "__enter__")
@OVERRIDES.override(_SAVED, "__enter__")
def _enter(original: Callable[..., Any]) -> Callable[..., Any]:
    """Hooks on what is saved; a mode, whose operators autograd does not see."""

    @functools.wraps(original)
    def enter(hooks: Any) -> Any:
        recorder, kind = listening(), type(hooks)
        is_users = kind is _SAVED or not kind.__module__.startswith(("torch.", "monograph."))
        if recorder is not None and is_users and not are_transforms_active():
            need_no_gradient(recorder, None, kind.__qualname__)
        return original(hooks)

    return enter


def _engine(original: Callable[..., Any]) -> Callable[..., Any]:
    """What `torch.func` follows by itself, the engine goes back through; nothing else is followed.

    Raises (the function): gradient-in-forward.
    """

    @functools.wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(*args, **kwargs)
        scopes = recorder.scopes
        try:  # the engine goes back in no inference mode
            with scopes.running_as(False if scopes.in_inference else None):
                result = original(*args, **kwargs)
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            refusal = problem(
                "gradient-in-forward",
                what=f"torch.autograd.{sys._getframe(1).f_code.co_name}",
                because="takes a gradient inside of forward",
                instead="take it of a function: torch.func.grad(function)(x), which is captured",
            )
            raise refusal from None
        # What a transform gives is no inference tensor in any mode.
        recorder.answers_noted.note("inference_mode", recorder.origin())
        _ask_for_layouts(recorder)
        return result

    return run


_LAID_OUT: Final = frozenset({"addmm", "linear", "mm"})
"""Operators whose gradients lie as their matrices do (`mm_mat1_grad` in PyTorch's engine)."""


def _ask_for_layouts(recorder: Recorder) -> None:
    """What the engine went through decides by layouts how gradients lie."""
    for node in recorder.operations:
        if isinstance(node.target, OpOverload) and OPERATORS.of(node.target).base_name in _LAID_OUT:
            for each in node.all_input_nodes:
                given = each.meta.get("val")
                if isinstance(given, AbstractTensor) and given.tensor_type.rank == 2:
                    recorder.layout_asked(given, "strides")


def _backward_hooks(original: Callable[..., Any], none: Any) -> Callable[..., Any]:
    """Hooks on the way back through a module: there are none in a program."""

    @functools.wraps(original)
    def hooks(module: torch.nn.Module) -> Any:
        recorder = listening()
        if recorder is None:
            return original(module)
        need_no_gradient(recorder, None, f"{type(module).__qualname__}.register_full_backward_hook")
        return none

    return hooks


def _hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """A hook on the gradient of a tensor, by whatever road: eager code keeps one more a call."""

    def register(tensor: torch.Tensor, hook: Any) -> Any:
        if listening() is None or not tensor.requires_grad:  # then PyTorch refuses it
            return original(tensor, hook)
        because = "waits for the gradient of what forward computes"
        raise problem("gradient-in-forward", what=original.__name__, because=because)

    return register


for _method in (torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook):
    OVERRIDES.override_code(_method)(_hook)
for _owner, _name in ENGINES:
    OVERRIDES.override(_owner, _name)(_engine)
for _name, _none in BACKWARD_HOOKS.items():
    OVERRIDES.override(torch.nn.Module, _name)(functools.partial(_backward_hooks, none=_none))


__all__ = ["need_no_gradient"]
