"""Messages about what is exported and what it is called with.

not-a-module            given                              SpecError
args-not-a-tuple        given                              SpecError
module-not-found        path, near                         SpecError
scripted-module         path                               UnsupportedError
forward-rejects-inputs  signature, given, reason           SpecError
cyclic-container        path, holder, type                 UnsupportedError
unsupported-input       path, type                         UnsupportedError
unsupported-output      path, type                         UnsupportedError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import SpecError, UnsupportedError
from monograph.diagnostics.source_edits.members import edits_of_arguments
from monograph.diagnostics.wording import offer, paste

if TYPE_CHECKING:
    from monograph.diagnostics.frames import Place

LEAVES = "tensors, int, float, bool, str, None, and containers and objects that hold them"


@message("not-a-module", SpecError)
def not_a_module(*, given: object) -> Text:
    """Say that what is exported is no torch.nn.Module; `given` is its type's name."""
    return Text(
        headline=f"`export` takes a torch.nn.Module, and was given {_shown(given)}",
        helps=(
            paste(
                "wrap a function in a module",
                "class Model(torch.nn.Module):",
                "    def forward(self, x):",
                "        return function(x)",
            ),
        )
        if "function" in _shown(given) or "method" in _shown(given)
        else (offer("export an instance of a torch.nn.Module", "export(Model(), args)"),),
    )


@message("scripted-module", UnsupportedError)
def scripted_module(*, path: str) -> Text:
    """Say that a module was compiled by TorchScript; `path` is "" for the one that is exported."""
    what = f"the module `{path}`" if path else "what is exported"
    return Text(
        headline=f"{what} was compiled by torch.jit, and its code is no Python any more",
        notes=("functions that were compiled by torch.jit.script are run as the Python they were",),
        helps=("export the module as it was before torch.jit.script or torch.jit.trace",),
    )


@message("args-not-a-tuple", SpecError)
def args_not_a_tuple(*, given: object, where: Place | None = None) -> Text:
    """Say that the positional example inputs are no tuple; `given` is their type's name."""
    is_list = isinstance(given, str) and given in {"list", "Sequence"}
    edits = () if where is None else edits_of_arguments(where, is_list=is_list)
    return Text(
        headline=f"the example inputs are a tuple, and were given as {_shown(given)}",
        helps=tuple([each.shown() for each in edits])
        or (
            offer("convert them", "export(model, tuple(inputs))")
            if is_list
            else offer("put a comma after a single input", "export(model, (x,))"),
        ),
        edits=edits,
    )


@message("module-not-found", SpecError)
def module_not_found(*, path: str, near: str) -> Text:
    """Say that a module whose call is to be kept does not exist; `near` is a similar path or ""."""
    return Text(
        headline=f"`preserve_module_call_signature` names `{path}`, but there is no such module",
        helps=(f"did you mean `{near}`?",)
        if near
        else ("name modules as `model.named_modules()` does",),
    )


@message("forward-rejects-inputs", SpecError)
def forward_rejects_inputs(*, signature: object, given: object, reason: object) -> Text:
    """Say that the example inputs do not bind to forward's parameters.

    `signature` is "forward(x, mask=None)", `given` a phrase such as "2 positional inputs and
    `mask`", `reason` Python's own words.
    """
    return Text(
        headline=f"`{signature}` does not take the example inputs: {reason}",
        notes=(f"given are {given}",),
        helps=(
            offer(
                "pass positional inputs as a tuple, others by name", "export(model, (x,), {...})"
            ),
        ),
    )


@message("unsupported-input", UnsupportedError)
def unsupported_input(*, path: str, type: object) -> Text:  # noqa: A002  (what it is)
    """Say that an input has a leaf that cannot be one; `type` is its type's name."""
    return Text(
        headline=f"the input `{path}` is a `{_name(type)}`, neither a tensor nor a constant",
        notes=(f"inputs are {LEAVES}",),
        helps=(
            offer("if it never changes, keep it on the module", f"self.{_attribute(path)} = ..."),
        ),
    )


@message("cyclic-container", UnsupportedError)
def cyclic_container(*, path: str, holder: str, type: object) -> Text:  # noqa: A002  (what it is)
    """Say that a container holds itself: at `path` is what is at `holder`."""
    return Text(
        headline=f"a `{_name(type)}` holds itself: `{path}` is what is at `{holder}`",
        notes=("inputs and outputs are trees of containers, whose leaves are tensors",),
        helps=("leave the way back out, or keep it on the module",),
    )


@message("unsupported-output", UnsupportedError)
def unsupported_output(*, path: str, type: object) -> Text:  # noqa: A002  (what it is)
    """Say that forward returns a leaf that cannot be an output; `type` is its type's name."""
    if (kind := _name(type)) in {"Parameter", "Buffer"}:
        return Text(
            headline=f"the output `{path}` is a `{kind}` that forward makes, not a plain tensor",
            notes=(f"programs return tensors: of these nothing says `isinstance(..., {kind})`",),
            helps=("return a tensor: `parameter.detach().requires_grad_()`",),
        )
    return Text(
        headline=f"the output `{path}` is a `{_name(type)}`, neither a tensor nor a constant",
        notes=(f"outputs are {LEAVES}",),
        helps=(
            "return its tensors instead, in a tuple or a dict",
            *_plain_number(type),
        ),
    )


def _plain_number(of: object) -> list[str]:
    """The help where a number or text is of a class of its own, as NumPy's are."""
    return [
        f"or return the plain number or text: `{plain.__name__}(...)`"
        for plain in (int, float, complex, str)
        if isinstance(of, type) and issubclass(of, plain)
    ]


def _name(of: object) -> str:
    """A class by its name, where it is not one already."""
    return of.__qualname__ if isinstance(of, type) else str(of)


def _shown(given: object) -> str:
    """What was given, by its class; text is that already."""
    name = given if isinstance(given, str) else type(given).__name__
    return f"a `{name}`"


def _attribute(path: str) -> str:
    name = path.split("[", maxsplit=1)[0].rsplit(".", maxsplit=1)[-1]
    return name if name.isidentifier() else "value"
