"""Module calls: a module without hooks is inlined as its `forward`, what is optimized as it is."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.special_methods import lookup
from monograph.host.module_calls import GLOBAL_HOOKS, only_calls_forward
from monograph.jit.attribute_reads import class_attribute, note_read
from monograph.jit.code_replacement import replaced_by
from monograph.jit.guard_code import is_constant

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = ["forward_of", "plain_callee"]

_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def forward_of(segment: SegmentRecorder, module: Any) -> Any:
    """What calling a module calls, which is guarded; None where it is not `forward` alone."""
    kind = type(module)
    if kind.__call__ is not torch.nn.Module.__call__ or not segment.guards.is_known(module):
        return None
    if not only_calls_forward(module):
        return None
    guards = segment.guards
    name, label = guards.names[id(module)], guards.label(module)
    variables = module.__dict__
    table = guards.constant(variables)
    fixed = is_constant(module) and guards.tags.instance(module)
    guards.check(f"{name}.__dict__ is not {table}", f"{label}.__dict__", None, fixed=fixed)
    fails = f"type({name}) is not {guards.constant(kind)}"
    guards.check(fails, f"type({label})", kind, name, fixed=fixed)
    hooks = " or ".join(f"{table}[{each!r}]" for each in _HOOKS)
    fails = f"{hooks} or {table}.get('_compiled_call_impl')"
    fixed = fixed and guards.tags.tables(variables, *(variables[each] for each in _HOOKS))
    guards.check(fails, f"hooks of {label}", "none", fixed=fixed)
    of_all = " or ".join(guards.constant(each) for each in GLOBAL_HOOKS)
    fixed = guards.tags.tables(*GLOBAL_HOOKS)
    guards.check(of_all, "hooks of all modules", "none", fixed=fixed)
    for method in ("__call__", "_call_impl"):
        class_attribute(segment, kind, method, lookup(kind, method))
    forward = lookup(kind, "forward")
    if "forward" in variables:
        forward = variables["forward"]
        note_read(segment, module, "forward", forward)
        return forward
    if type(forward) is not FunctionType:
        return None
    note_read(segment, module, "forward", MethodType(forward, module))
    return MethodType(forward, module)


def plain_callee(segment: SegmentRecorder, callee: Any) -> Any:
    """What is optimized by itself, as it is without that."""
    plain = getattr(type(callee), "monograph_plain", None)
    if plain is not None:
        callee = plain(callee)
    elif type(callee) is FunctionType:
        target = replaced_by(callee)
        if target is None:
            return callee
        callee = target.function
    else:
        return callee
    name = getattr(callee, "__qualname__", type(callee).__qualname__)
    segment.guards.know(callee, segment.guards.constant(callee), name)
    return callee
