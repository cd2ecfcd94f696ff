"""Functions of PyTorch that are given a program of ours where they want one of torch.export.

They ask `isinstance(program, torch.export.ExportedProgram)`, or read what is private to it. Python
asks a program for its class in the first case and for the attribute in the second, so both can be
answered with what to call instead.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from types import FrameType

INSTEAD: Final = {
    ("torch.export", "save"): "monograph.save(program, file)",
    ("torch.export", "export"): "monograph.export(program.module(), ...)",
    ("torch.onnx", "export"): "program.to_onnx(file)",
    ("torch.onnx._internal.exporter._compat", "export_compat"): "program.to_onnx(file)",
    ("torch._inductor", "aoti_compile_and_package"): "program.package(file)",
    ("torch.export.unflatten", "__init__"): "monograph.unflatten(program)",
    ("torch.export._trace", "_get_module_hierarchy"): "monograph.export(program.module(), ...)",
    ("torch.export.passes", "move_to_device_pass"): "program.to(device)",
    (
        "torchao.quantization.pt2e.quantize_pt2e",
        "prepare_pt2e",
    ): "prepare_pt2e(program.module(), ...)",
}
"""What to call in place of a function, by its module and name."""
HAND_OVER: Final = "program.to_torch()"
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


def refuse_foreign_caller() -> None:
    """Refuse the function that asked something of a program, if it is one of the above.

    Raises: not-handed-over.
    """
    place, package = _asking(sys._getframe(2))
    instead = INSTEAD.get(place, WHOLE.get(package))
    if instead is not None:
        system = "torch.onnx.export" if "onnx" in place[0] else ".".join(place)
        raise problem(
            "not-handed-over",
            system=package if package in WHOLE else system,
            reason="it is monograph's own, and no torch.export.ExportedProgram",
            instead=instead,
        )


def missing(program: object, name: str) -> AttributeError:
    """What to raise for an attribute that a program has not."""
    text = f"a program of monograph has no attribute {name!r}"
    place, package = _asking(sys._getframe(2))
    if name in PRIVATE:
        text += ", which is private to torch.export's"
    if name in PRIVATE or package in TOOLS:
        text += f": use `{INSTEAD.get(place, WHOLE.get(package, HAND_OVER))}`"
    return AttributeError(text, name=name, obj=program)


def _asking(frame: FrameType) -> tuple[tuple[str, str], str]:
    """The function of a frame, by its module and name, and its package."""
    module = str(frame.f_globals.get("__name__"))
    return (module, frame.f_code.co_name), module.partition(".")[0]


__all__ = ["missing", "refuse_foreign_caller"]
