"""Functions of PyTorch that are given a program of ours where they want one of torch.export.

They ask `isinstance(program, torch.export.ExportedProgram)`, or read what is private to it. Python
asks a program for its class in the first case and for the attribute in the second, so both can be
answered with what to call instead.
"""

from __future__ import annotations

import sys
from typing import Final

from monograph.diagnostics import problem

INSTEAD: Final = {
    ("torch.export", "save"): "monograph.save(program, file)",
    ("torch.export", "export"): "monograph.export(program.module(), ...)",
    ("torch.onnx", "export"): "program.to_onnx(file)",
    ("torch.onnx._internal.exporter._compat", "export_compat"): "program.to_onnx(file)",
    ("torch._inductor", "aoti_compile_and_package"): "program.package(file)",
    ("torch.export.unflatten", "__init__"): "monograph.unflatten(program)",
}
"""What to call in place of a function, by its module and name."""
HAND_OVER: Final = "program.to_torch()"
PRIVATE: Final = frozenset(
    {
        *("_constants", "_example_inputs", "_graph_module", "_graph_signature", "_guards_code"),
        *("_module_call_graph", "_range_constraints", "_state_dict", "_verifiers"),
    }
)
"""What tools read of torch's programs."""


def refuse_foreign_caller() -> None:
    """Refuse the function that asked a program for its class, if it is one of the above.

    Raises: not-handed-over.
    """
    frame = sys._getframe(2)
    place = (str(frame.f_globals.get("__name__")), frame.f_code.co_name)
    if place in INSTEAD:
        raise problem(
            "not-handed-over",
            system="torch.onnx.export" if "onnx" in place[0] else ".".join(place),
            reason="it is monograph's own, and no torch.export.ExportedProgram",
            instead=INSTEAD[place],
        )


def missing(program: object, name: str) -> AttributeError:
    """What to raise for an attribute that a program has not."""
    text = f"a program of monograph has no attribute {name!r}"
    if name in PRIVATE:
        frame = sys._getframe(2)
        place = (str(frame.f_globals.get("__name__")), frame.f_code.co_name)
        instead = INSTEAD.get(place, HAND_OVER)
        text += f", which is private to torch.export's: use `{instead}`"
    return AttributeError(text, name=name, obj=program)


__all__ = ["missing", "refuse_foreign_caller"]
