"""Messages about what the user declares of sizes: mistakes in `dynamic_shapes`.

Paths are as the user would write them: `dynamic_shapes["x"][0]` for the declaration, `x` or
`batch["ids"]` for inputs. All are `SpecError`.

    spec-unknown-argument       argument, arguments
    spec-structure-differs      path, expected, given, skeleton="", meant=""
    spec-wrong-rank             path, tensor, rank, given
    spec-not-a-dim              path, given
    spec-range-empty            dim, lower, upper
    spec-size-outside-range     path, tensor, axis, dim, size, lower, upper
    spec-static-size-differs    path, tensor, axis, declared, size
    spec-dim-conflict           dim, first, second, first_path="", second_path=""
    spec-dim-sizes-differ       dim, first_path, first_size, second_path, second_size
    spec-on-non-tensor          path, given, value
    spec-derived-unsolvable     path, expression, dim, size
    spec-text-unreadable        line, start, width, reason, meant=""
    spec-relation-fails         relation, sizes
    spec-inputs-not-found       shapes
    spec-assigned-twice         shape, first, second
    spec-calls-differ           differences

An `axis` of None says that the input is a number, whose value is meant.
"""

from __future__ import annotations

import re
import reprlib
from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Cause, Text
from monograph.diagnostics.errors import SpecError
from monograph.diagnostics.spelling import nearest
from monograph.diagnostics.wording import counted, interval, listed, offer, paste

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WIDTH = 84
"""How much of a one-line declaration is shown."""


@message("spec-unknown-argument", SpecError)
def spec_unknown_argument(*, argument: str, arguments: Iterable[str]) -> Text:
    """Say that `dynamic_shapes` has a key that is no argument; `arguments` are all names."""
    names = tuple(arguments)
    meant = nearest(argument, names)
    known = listed(names) or "no arguments"
    return Text(
        headline=f'`dynamic_shapes["{argument}"]` names no argument of the module',
        notes=(f"the arguments given are {known}" if names else "no arguments are given",),
        helps=(offer(f"did you mean `{meant}`", f'dynamic_shapes = {{"{meant}": ...}}'),)
        if meant
        else (f"remove the key `{argument}` from `dynamic_shapes`",),
    )


@message("spec-structure-differs", SpecError)
def spec_structure_differs(
    *, path: str, expected: object, given: object, skeleton: object = "", meant: str = ""
) -> Text:
    """Say that the declaration is nested unlike the input; `meant` is how a key is spelt.

    `expected` and `given` are phrases such as "a dict with keys `a`, `b`" and "a list of 2";
    `skeleton` is a declaration of the right structure that can be pasted.
    """
    return Text(
        headline=f"`{path}` is {given}, but the input there is {expected}",
        notes=(
            "`dynamic_shapes` follows the structure of the inputs, with None for what is fixed",
        ),
        helps=(
            *((f"did you mean the key `{meant}`",) if meant else ()),
            *(
                (offer("declare it with the structure of the inputs", f"{path} = {skeleton}"),)
                if str(skeleton)
                else ()
            ),
        ),
    )


@message("spec-wrong-rank", SpecError)
def spec_wrong_rank(*, path: str, tensor: str, rank: int, given: int) -> Text:
    """Say that the declaration of a tensor lists too many or too few dimensions."""
    example = ", ".join(["None"] * rank)
    return Text(
        headline=f"`{path}` declares {counted(given, 'dimension')}, but `{tensor}` has {rank}",
        helps=(
            offer(
                "list every dimension, None for a fixed one",
                f"({example}{',' if rank == 1 else ''})",
            ),
            offer("or name only those that change by their position", '{0: Dim("batch")}'),
        )
        if rank
        else (offer("declare it fixed", "None"),),
    )


@message("spec-not-a-dim", SpecError)
def spec_not_a_dim(*, path: str, given: object) -> Text:
    """Say that a dimension is declared as something that is neither a Dim, nor an int, nor None."""
    text = given if isinstance(given, str) else ""
    name = text if text.isidentifier() else "batch"
    return Text(
        headline=f"`{path}` is {given!r}, which declares no size",
        notes=("a size is declared by a Dim, Dim.AUTO, Dim.DYNAMIC, Dim.STATIC, an int, or None",),
        helps=(offer("declare a named size", f'Dim("{name}")'),),
    )


@message("spec-range-empty", SpecError)
def spec_range_empty(*, dim: str, lower: object, upper: object) -> Text:
    """Say that a Dim whose lower end is above its upper end, or below zero."""
    negative = isinstance(upper, int) and upper < 0
    return Text(
        headline=f"no size lies in the range {interval(lower, upper)} of `{dim}`",
        helps=("a size is at least 0",)
        if negative
        else (offer("give the smaller end first", f'Dim("{dim}", min={upper}, max={lower})'),),
    )


@message("spec-size-outside-range", SpecError)
def spec_size_outside_range(
    *,
    path: str,
    tensor: str,
    axis: int | None,
    dim: object,
    size: float,
    lower: object,
    upper: object,
) -> Text:
    """Say that the example input's own size is not in the range declared for it."""
    least = min(size, lower) if isinstance(lower, int) else size
    most = max(size, upper) if isinstance(upper, int) else None
    ends = f"min={least}" + ("" if most is None else f", max={most}")
    return Text(
        headline=f"`{_shown(tensor, axis)}` is {size}, "
        f"outside the range {interval(lower, upper)} of `{dim}`",
        notes=(f"`{dim}` is declared in `{path}`",),
        helps=(
            offer("widen the range", _with_range(dim, ends)),
            f"or export with an example `{tensor}` that lies in the range"
            if axis is None
            else f"or export with an example `{tensor}` whose size {axis} lies in the range",
        ),
    )


@message("spec-static-size-differs", SpecError)
def spec_static_size_differs(
    *, path: str, tensor: str, axis: int | None, declared: int, size: int
) -> Text:
    """Say that the declaration fixes a size as an int, and the example input has another."""
    what = "value" if axis is None else "size"
    return Text(
        headline=f"`{path}` fixes the {what} to {declared}, but `{_shown(tensor, axis)}` is {size}",
        helps=(
            offer(f"fix it to the {what} of the example", str(size)),
            offer("or let it change", 'Dim("n")'),
        ),
    )


@message("spec-dim-conflict", SpecError)
def spec_dim_conflict(
    *, dim: str, first: object, second: object, first_path: str = "", second_path: str = ""
) -> Text:
    """Say that two Dims share a name and have different ranges, given as "1 … 8"."""
    one = f" in `{first_path}`" if first_path else ""
    two = f" in `{second_path}`" if second_path else ""
    return Text(
        headline=f"`{dim}` has the range {first}{one} and the range {second}{two}",
        notes=("one name is one size, with one range",),
        helps=(
            offer("make one Dim and use it in both places", f'{dim} = Dim("{dim}")'),
            "or, if the sizes are independent, give the Dims different names",
        ),
    )


@message("spec-dim-sizes-differ", SpecError)
def spec_dim_sizes_differ(
    *, dim: object, first_path: str, first_size: int, second_path: str, second_size: int
) -> Text:
    """Say that one Dim is declared for two dimensions whose sizes differ in the example inputs."""
    return Text(
        headline=f"`{dim}` is {first_size} as `{first_path}` and {second_size} as `{second_path}`",
        notes=("one name is one size",),
        helps=(
            offer("if the sizes are independent, name them apart", f'Dim("{dim}"), Dim("{dim}_2")'),
            "if they are equal, export with example inputs that agree",
        ),
    )


@message("spec-on-non-tensor", SpecError)
def spec_on_non_tensor(*, path: str, given: object, value: object) -> Text:
    """Say that sizes are declared for an input that has none; `value` is that input."""
    if type(value) is float:
        return Text(
            headline=f"`{path}` declares a size ({given}), but the input there is {value}",
            helps=(
                offer("a float is no size; declare it fixed", "None"),
                offer("or, if it differs between calls", "Dim.DYNAMIC"),
            ),
        )
    return Text(
        headline=f"`{path}` declares sizes ({given}), but the input there is {reprlib.repr(value)}",
        helps=(offer("only tensors have sizes; declare this input fixed", "None"),),
    )


@message("spec-derived-unsolvable", SpecError)
def spec_derived_unsolvable(*, path: str, expression: object, dim: object, size: int) -> Text:
    """Say that a derived size such as `2*n` equals the example's size for no whole `n`."""
    return Text(
        headline=f"`{path}` declares the size `{expression}`, which is {size} for no whole `{dim}`",
        helps=(
            f"export with an example whose size is `{expression}` for some `{dim}`",
            offer("or give the dimension a name of its own", 'Dim("m")'),
        ),
    )


@message("spec-text-unreadable", SpecError)
def spec_text_unreadable(
    *, line: str, start: int, width: int, reason: str, meant: str = ""
) -> Text:
    """Say which part of a one-line declaration says nothing; `reason` is a clause about it."""
    text, start, width = _window(line, start, width)
    return Text(
        headline=f"`dynamic_shapes` cannot be read: {reason}",
        notes=(paste("it stands here", text, " " * start + "^" * max(width, 1)),),
        helps=(
            *((f"did you mean `{meant}`",) if meant else ()),
            offer("write it like this", '"x: batch, 2*seq, _; mask: batch, ...; seq <= 512"'),
        ),
    )


@message("spec-relation-fails", SpecError)
def spec_relation_fails(*, relation: object, sizes: Mapping[str, int]) -> Text:
    """Say that a declared relation of sizes does not hold for the example; `sizes` are all."""
    used = [name for name in sizes if re.search(rf"\b{name}\b", str(relation))]
    shown = listed([f"{name} = {sizes[name]}" for name in used])
    return Text(
        headline=f"`{relation}` is declared, and does not hold for the example inputs",
        notes=(f"there, {shown}",) if used else (),
        helps=("correct the relation, or export with example inputs for which it holds",),
    )


@message("spec-inputs-not-found", SpecError)
def spec_inputs_not_found(*, shapes: Iterable[object]) -> Text:
    """Say that a ShapesCollection knows tensors that are no inputs; `shapes` are theirs."""
    found = list(shapes)
    are = "is" if len(found) == 1 else "are"
    return Text(
        headline=f"{counted(len(found), 'tensor')} of the ShapesCollection "
        f"{are} not among the inputs",
        notes=(f"of shape {listed(found)}", "a tensor is known by identity, and a copy is another"),
        helps=(
            offer(
                "assign to the tensors that are passed", "shapes[x] = ...; export(model, (x,), ...)"
            ),
            offer(
                "or, if they are held by a class of yours, register it",
                "monograph.register_dataclass(...)",
            ),
        ),
    )


@message("spec-assigned-twice", SpecError)
def spec_assigned_twice(*, shape: object, first: object, second: object) -> Text:
    """Say that one tensor of a ShapesCollection is declared in two ways."""
    return Text(
        headline=f"a tensor of shape {shape} is declared as {first} and as {second}",
        notes=("one tensor has one declaration",),
        helps=("assign to each tensor once",),
    )


@message("spec-calls-differ", SpecError)
def spec_calls_differ(*, differences: Mapping[str, object]) -> Text:
    """Say that calls differ in what cannot be dynamic; `differences` tells what, by input."""
    first = next(iter(differences))
    rest = len(differences) - 1
    more = f", and so does {counted(rest, 'other input')}" if rest == 1 else ""
    more = f", and so do {counted(rest, 'other input')}" if rest > 1 else more
    return Text(
        headline=f"`{first}` differs between the calls and cannot be dynamic{more}",
        causes=tuple(Cause((), f"{path}: {what}") for path, what in differences.items()),
        notes=("what may differ is the sizes of tensors, and ints",),
        helps=("export once for each of these values, or pass it as a tensor",),
    )


def _shown(tensor: str, axis: int | None) -> str:
    return tensor if axis is None else f"{tensor}.shape[{axis}]"


def _with_range(dim: object, ends: str) -> str:
    return f"{dim}({ends})" if str(dim).startswith("Dim.") else f'Dim("{dim}", {ends})'


def _window(line: str, start: int, width: int) -> tuple[str, int, int]:
    """Keep of a long line what surrounds the part that is marked."""
    line = line.replace("\n", " ").replace("\t", " ")
    if len(line) <= _WIDTH:
        return line, start, width
    first = max(0, min(start - 20, len(line) - _WIDTH))
    shown = line[first : first + _WIDTH]
    head = "…" if first else ""
    start = start - first + len(head)
    return f"{head}{shown}", start, min(width, len(head) + len(shown) - start)
