"""Messages about what outlives a call, and captures that meet.

mutated-constant        name, call=""                      SideEffectError
leaked-tensor           tensor="", origin="", op=""               SideEffectError
capture-inside-capture  (no facts)                         UnsupportedError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import SideEffectError, UnsupportedError
from monograph.diagnostics.wording import quoted


@message("mutated-constant", SideEffectError)
def mutated_constant(*, name: str) -> Text:
    """Say that a tensor that is neither an input, a parameter nor a buffer is written in place."""
    attribute = name.removeprefix("self.")
    return Text(
        headline=f"`{name}` is a constant of the program, and this line changes it",
        notes=("parameters, buffers and inputs may be changed in place; constants may not",),
        helps=(
            f'make it a buffer: self.register_buffer("{attribute.rpartition(".")[2]}", ...)',
            f"or work on a copy: {name}.clone()",
        ),
    )


@message("leaked-tensor", SideEffectError)
def leaked_tensor(*, tensor: object = "", origin: object = "", op: object = "") -> Text:
    """Say that a tensor of an ended capture is used.

    `tensor` is its type, `origin` where it was made, `op` what used it.
    """
    what = f" `{tensor}`" if str(tensor) else ""
    return Text(
        headline=f"this tensor{what} belongs to a capture that has ended, and has no values",
        notes=(
            *((f"it was made at {origin}",) if str(origin) else ()),
            *((f"it is used by {quoted(op)}",) if str(op) else ()),
        ),
        helps=("return it from forward instead of keeping it in a list, a global or an attribute",),
    )


@message("capture-inside-capture", UnsupportedError)
def capture_inside_capture() -> Text:
    """Say that export is called by code that is being exported."""
    return Text(
        headline="`export` is called by a model that is being exported",
        helps=(
            "export the inner module first, and call its program: inner = export(...).module()",
        ),
    )
