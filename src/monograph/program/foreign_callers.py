"""Functions of PyTorch that are given a program of ours where they want one of torch.export.

They ask `isinstance(program, torch.export.ExportedProgram)`, or read what is private to it. Python
asks a program for its class in the first case and for the attribute in the second, so both can be
answered with what to call instead, where the program is an argument of one of the functions below.
"""

from __future__ import annotations

import inspect
import sys
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import torch

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from types import FrameType

HAND_OVER: Final = "program.to_torch()"
INSTEAD: Final = {
    "torch.export.save": "monograph.save(program, file)",
    "torch.export.pt2_archive._package.package_pt2": "monograph.save(program, file)",
    "torch.export.export": "monograph.export(program.module(), ...)",
    "torch.export.draft_export": "monograph.export(program.module(), ...)",
    "torch.export.unflatten": "monograph.unflatten(program)",
    "torch.export.passes.move_to_device_pass": "program.to(device)",
    "torch.onnx.export": "program.to_onnx(file)",
    "torch.compile": "program.compile()",
    "torch._inductor.compile": "program.compile()",
    "torch._inductor.aot_compile": "program.package(file)",
    "torch._inductor.aoti_compile_and_package": "program.package(file)",
    "torch.jit.trace": "torch.jit.trace(program.module(), ...)",
    "torch.jit.script": "torch.jit.trace(program.module(), ...)",
    "torch.fx.symbolic_trace": "torch.fx.symbolic_trace(program.module())",
    "torchao.quantization.pt2e.quantize_pt2e.prepare_pt2e": "prepare_pt2e(program.module(), ...)",
}
"""What to call in place of a function that was given a program."""
EXPORTER: Final = ("torch.export.", "torch._export.")
"""Where every function that asks wants a program of torch.export."""
WHOLE: Final = {
    "executorch": "executorch.exir.to_edge(program.to_torch())",
    "openvino": "openvino.convert_model(program.to_torch())",
}
"""The same for packages of which no function takes a program of ours."""
TOOLS: Final = WHOLE.keys() | {"torch", "torchao"}
PRIVATE: Final = frozenset(
    {
        *("_constants", "_example_inputs", "_graph_module", "_graph_signature", "_guards_code"),
        *("_module_call_graph", "_range_constraints", "_state_dict", "_verifiers"),
    }
)
"""What tools read of torch's programs."""
OTHERWISE: Final = {
    "_report": ": use `program.report`",
    "_transform_do_not_use": ": use `program.transform(rewrite)`",
}
"""What people read of them."""


def refuse_foreign_caller(program: object) -> None:
    """Refuse the function that asked something of a program, if it is one of the above.

    Raises: not-handed-over.
    """
    system, instead = _asking(program, sys._getframe(2))
    if instead:
        raise problem(
            "not-handed-over",
            system=system,
            reason="it is monograph's own, and no torch.export.ExportedProgram",
            instead=instead,
        )


def missing(program: object, name: str) -> AttributeError:
    """What to raise for an attribute that a program has not."""
    text = f"a program of monograph has no attribute {name!r}{OTHERWISE.get(name, '')}"
    frame = sys._getframe(2)
    if name in PRIVATE:
        text += ", which is private to torch.export's"
    if name in PRIVATE or _package(frame) in TOOLS:
        of_modules = "program.module()" if hasattr(torch.nn.Module, name) else HAND_OVER
        text += f": use `{_asking(program, frame)[1] or of_modules}`"
    return AttributeError(text, name=name, obj=program)


def _asking(program: object, frame: FrameType | None) -> tuple[str, str]:
    """The outermost tool that was given the program, and what to call instead; or nothing."""
    if frame is not None and _package(frame) in WHOLE:
        return _package(frame), WHOLE[_package(frame)]
    found = ("", "")
    while frame is not None and _package(frame) in TOOLS:
        if any(program is each for each in _given(frame)):
            name = _public_name(frame)
            instead = INSTEAD.get(name) or (HAND_OVER if name.startswith(EXPORTER) else "")
            found = (name, instead) if instead else found
        frame = frame.f_back
    return found


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _given(frame: FrameType) -> list[object]:
    """The arguments of a call, and what is in those that are dicts."""
    code, local = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = [local[name] for name in names if name in local]
    return given + [each for held in given if type(held) is dict for each in held.values()]


def _public_name(frame: FrameType) -> str:
    """The name of a function, by the outermost package that has it."""
    module, name = str(frame.f_globals.get("__name__")), frame.f_code.co_name
    for path in accumulate(module.split("."), "{}.{}".format):
        found = getattr(sys.modules.get(path), name, None)
        if found and getattr(inspect.unwrap(found), "__code__", None) is frame.f_code:
            return f"{path}.{name}"
    return f"{module}.{name}"


__all__ = ["missing", "refuse_foreign_caller"]
