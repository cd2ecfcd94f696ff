"""Messages about what outlives a call or comes from outside of it, and captures that meet.

write-outlives-call     kind, name                         SideEffectError
gradient-in-forward     what, because, instead=""               UnsupportedError
outside-read            what, because, instead=""               UnsupportedError
mutated-constant        name=""                           SideEffectError
attribute-changed       name, value=None                  SideEffectError
buffer-reshaped         name, before, now                 SideEffectError
buffer-is-input         name, owner                       SideEffectError
leaked-tensor           tensor="", origin="", op=""               SideEffectError
capture-inside-capture  (no facts)                         UnsupportedError
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import SideEffectError, UnsupportedError
from monograph.diagnostics.source_edits.members import edits_of_member
from monograph.diagnostics.wording import as_advice, offer, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.diagnostics.frames import Place
    from monograph.diagnostics.source_edits.edits import Edit


@message("mutated-constant", SideEffectError)
def mutated_constant(*, name: str = "", where: Place | None = None) -> Text:
    """Say that a tensor that is neither an input, a parameter nor a buffer is written in place.

    `name` is how forward calls it, "" where it is no attribute: a global, or held by a closure.
    """
    attribute = name.removeprefix("self.").rpartition(".")[2] or "name"
    what = f"`{name}`" if name else "a tensor from outside of the model"
    title = "make it a buffer"
    edits = () if where is None else edits_of_member(where, name, title=title, is_number=False)
    buffer = (
        edits[0].shown() if edits else offer(title, f'self.register_buffer("{attribute}", ...)')
    )
    return Text(
        headline=f"{what} is a constant of the program, and this line changes it",
        notes=("parameters, buffers and inputs may be changed in place; constants may not",),
        helps=(
            buffer,
            offer("or work on a copy", f"{name}.clone()") if name else "or work on a copy",
        ),
        edits=edits,
    )


@message("attribute-changed", SideEffectError)
def attribute_changed(*, name: str, value: object = None, where: Place | None = None) -> Text:
    """Say that an attribute is changed that a later call would read.

    `name` is the attribute as forward calls it: `self.calls`; `value` what it holds after forward.
    """
    attribute = name.removeprefix("self.").rpartition(".")[2]
    instead = "pass the value as an argument and return the new one"
    edits: tuple[Edit, ...] = ()
    if isinstance(value, int | float):
        title = "keep the number as a buffer"
        buffer = f'self.register_buffer("{attribute}", torch.tensor({type(value)()}))'
        if where is not None:
            edits = edits_of_member(where, name, title=title, is_number=True)
        helps = (edits[0].shown() if edits else offer(title, buffer), f"or {instead}")
    elif isinstance(value, dict | list | set | tuple):
        helps = (instead, "or keep each tensor in it as a buffer of its own, of a fixed size")
    else:
        helps = (instead,)
    return Text(
        headline=f"`{name}` is changed by forward, and the next call would depend on it",
        notes=("the program has no attributes: it would do what the first call did, always",),
        helps=helps,
        edits=edits,
    )


_KINDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "global": ("the global {}", ("pass the value as an argument and return the new one",)),
        "closure": (
            "{}, a variable of the enclosing function,",
            ("pass the value as an argument and return the new one",),
        ),
        "class": (
            "the class attribute {}",
            ("make it a buffer of the module",),
        ),
        "argument": (
            "the argument {}",
            ("work on a copy of it", "or return what is new in it"),
        ),
        "default": (
            "the default value of the argument {}",
            ("use None as the default, and make the object inside of the function",),
        ),
        "context": (
            "the context variable {}",
            ("reset it before forward returns, to the token that setting it gave",),
        ),
        "cached": (
            "what `lru_cache` keeps of {}",
            ("make it of the arguments alone, and write to a copy of it",),
        ),
        "iterator": (
            "the iterator {}, which was there before the call,",
            ("make a new one in forward",),
        ),
        "switch": (
            "what {} sets for the whole process",
            ("set it before the export, and before calling the program",),
        ),
        "given": ("what {} is given", ("make a new one in forward, and change that",)),
        "object": (
            "{}, which was there before the call,",
            ("make a new one in forward", "or pass the value as an argument and return it"),
        ),
    }
)
"""How what is written to is called, and what to do instead."""


@message("write-outlives-call", SideEffectError)
def write_outlives_call(*, kind: str, name: str) -> Text:
    """Say that something other than the module's state is changed and stays changed.

    `kind` is global, closure, class, argument, default, context, cached, iterator, switch or
    object; `name` is how the code calls it.
    """
    wording, helps = _KINDS[kind]
    return Text(
        headline=f"{wording.format(f'`{name}`')} is changed here, and stays changed after the call",
        label="changed here",
        notes=("the program computes and returns; it would not make this change",),
        helps=(
            *helps,
            offer("or, where nothing depends on the change", 'export(..., side_effects="ignore")'),
        ),
    )


@message("outside-read", UnsupportedError)
def outside_read(*, what: str, because: str, instead: str = "") -> Text:
    """Say that a value comes from outside of the model and may differ in every call.

    `what` is the function that reads it: `random.random`; `because` says what it reads; `instead`
    is what to write where there is something as good.
    """
    return Text(
        headline=f"`{what}` reads {because}, which the program would repeat as it is now",
        helps=(
            *((as_advice(instead),) if instead else ()),
            f"{'or ' if instead else ''}read it before the call, and pass it as an argument",
        ),
    )


@message("gradient-in-forward", UnsupportedError)
def gradient_in_forward(*, what: str, because: str, instead: str = "") -> Text:
    """Say that forward does something to gradients that no operator does.

    `what` does it: `torch.autograd.grad`; `because` says what it does; `instead` is what to write.
    """
    export = "where nobody trains the program, export the module while gradients are off"
    return Text(
        headline=f"`{what}` {because}, and the program would not",
        helps=((as_advice(instead),) if instead else (export,)),
    )


@message("buffer-reshaped", SideEffectError)
def buffer_reshaped(*, name: str, before: object, now: object) -> Text:
    """Say that a buffer is replaced by something else, or that state is seen otherwise from now on.

    `before` and `now` are their types, `float32[1, 2]`, or `strides (2, 1)`.
    """
    return Text(
        headline=f"`{name}` was {quoted(before)}, and forward leaves {quoted(now)} there",
        notes=(
            "a program writes parameters and buffers in place: they keep sizes, strides and dtype",
        ),
        helps=(
            offer("keep its size, and write into a part", f"{name}[...] = ..."),
            "or pass the value as an argument and return the new one",
        ),
    )


@message("buffer-is-input", SideEffectError)
def buffer_is_input(*, name: str, owner: str) -> Text:
    """Say that a buffer is replaced by an input of the program itself, or by a view of one.

    `owner` is "an input" of the caller's, "the parameter `self.weight`", "a constant".
    """
    return Text(
        headline=f"the buffer `{name}` becomes the memory of {owner}",
        notes=(
            "what is written there after the call would reach the model's buffer, not a program's",
        ),
        helps=("assign a copy of it, made by Tensor.clone",),
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
            offer(
                "export the inner module first, and call its program",
                "inner = export(...).module()",
            ),
        ),
    )
