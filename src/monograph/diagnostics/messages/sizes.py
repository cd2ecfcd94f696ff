"""Messages about sizes that cannot agree, with each other or with what was declared.

Sizes are ints, or expressions whose `str` is how users name them: `batch`, `4*n`, `x.shape[0]`.
All are `ConstraintViolation`, except dtype-disagrees, an `UnsupportedError`.

    sizes-disagree          left, right, dim=None, left_shape="", right_shape="", operator=""
    rank-disagrees          what, expected, got, shape=""
    dimension-out-of-range  dim, rank, shape=""
    view-impossible         shape, target, reason=""
    dtype-disagrees         what, expected, got
    size-must-be-positive   size, what, dim=None
    dim-specialised         path, dim, value
    dim-range-violated      path, dim, declared, needed
    dims-must-be-equal      first, second, first_path, second_path
    relation-not-declared   relation, dims="", suggestion=""
    check-fails             condition
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Cause, Text
from monograph.diagnostics.errors import ConstraintViolation, UnsupportedError
from monograph.diagnostics.source_edits.members import edits_of_copy, edits_of_view
from monograph.diagnostics.wording import counted, dim_source, offer, quoted

if TYPE_CHECKING:
    from monograph.diagnostics.frames import Place


@message("sizes-disagree", ConstraintViolation)
def sizes_disagree(
    *,
    left: object,
    right: object,
    dim: int | None = None,
    left_shape: object = "",
    right_shape: object = "",
    operator: object = "",
    here: str = "",
) -> Text:
    """Say that two sizes of one operation must be equal and are not, in dimension `dim`."""
    where = f"dimension {dim} of " if dim is not None else "a size of "
    what = here or str(operator)
    subject = f"{where}`{what}`" if what else where.removesuffix(" of ")
    shapes = (("left", left_shape), ("right", right_shape))
    return Text(
        headline=f"{subject} is {quoted(left)} on one side and {quoted(right)} on the other",
        label="here",
        causes=tuple(Cause((), f"{side} operand: {shape}") for side, shape in shapes if str(shape)),
        helps=_make_equal(left, right),
    )


def _make_equal(left: object, right: object) -> tuple[str, ...]:
    """Say how a named size and another are made equal; of two numbers nothing can be said."""
    named = [size for size in (left, right) if not isinstance(size, int)]
    fixed = [size for size in (left, right) if isinstance(size, int)]
    if len(named) == 1 and fixed:
        return (
            offer(f"if {quoted(named[0])} is always {fixed[0]}, declare it fixed", str(fixed[0])),
            f"otherwise compute the other size from the tensor, where {fixed[0]} is written now",
        )
    if len(named) == 2:
        return (
            "if the two are always equal, declare both with the same Dim",
            "or state before this line that they are, by torch._check",
        )
    return ()


@message("rank-disagrees", ConstraintViolation)
def rank_disagrees(*, what: object, expected: object, got: int, shape: object = "") -> Text:
    """Say that the operand `what` has a number of dimensions that its operator does not take."""
    of = f", of shape {shape}" if str(shape) else ""
    dims = expected if not isinstance(expected, int) else counted(expected, "dimension")
    return Text(
        headline=f"{quoted(what)} takes {dims}, and was given {got}{of}",
    )


@message("dimension-out-of-range", ConstraintViolation)
def dimension_out_of_range(*, dim: int, rank: int, shape: object = "") -> Text:
    """Say that a dimension is named that the tensor does not have."""
    tensor = (
        f"a tensor of shape {shape}" if str(shape) else f"a tensor of {counted(rank, 'dimension')}"
    )
    return Text(
        headline=f"there is no dimension {dim} in {tensor}",
        notes=(f"its dimensions are {-rank} … {rank - 1}",) if rank else ("it has none",),
    )


@message("view-impossible", ConstraintViolation)
def view_impossible(
    *, shape: object, target: object, reason: object = "", where: Place | None = None
) -> Text:
    """Say that a view needs another layout or number of elements; `reason` is a clause."""
    why = f": {reason}" if str(reason) else ""
    is_layout = any(word in str(reason) for word in ("strides", "rows", "memory"))
    is_of_one = "may be 1" in str(reason)
    found = edits_of_copy if is_of_one else edits_of_view
    edits = found(where) if where is not None and (is_layout or is_of_one) else ()
    by = (
        "copy it whatever its sizes are, with Tensor.contiguous"
        if is_of_one
        else "copy where needed instead of viewing, with Tensor.reshape"
    )
    return Text(
        headline=f"a tensor of shape {shape} cannot be viewed as {target}{why}",
        helps=tuple([each.shown() for each in edits]) or (by,),
        edits=edits,
    )


@message("dtype-disagrees", UnsupportedError)
def dtype_disagrees(*, what: object, expected: object, got: object) -> Text:
    """Say that operands whose dtypes must agree differ, or an operator does not take a dtype."""
    return Text(
        headline=f"{quoted(what)} takes {expected}, and was given {got}",
        helps=(f"convert it to {_dtype(expected)}, with Tensor.to",) if _dtype(expected) else (),
    )


def _dtype(phrase: object) -> str:
    name = str(phrase).removeprefix("torch.")
    return name if name.isalnum() else ""


@message("size-must-be-positive", ConstraintViolation)
def size_must_be_positive(*, size: object, what: object, dim: int | None = None) -> Text:
    """Say that the operation `what` has no answer for a size of 0, or makes a negative one."""
    where = "" if dim is None else f" in dimension {dim}"
    return Text(
        headline=f"{quoted(what)} needs a size of at least 1{where}, and gets {quoted(size)}",
        helps=()
        if isinstance(size, int)
        else (offer(f"if {quoted(size)} is never 0, declare it so", dim_source(size, "min=1")),),
    )


@message("dim-specialised", ConstraintViolation)
def dim_specialised(*, path: str, dim: object, value: int, here: str = "") -> Text:
    """Say that a dynamic size turned out to be one number; the line that asked is a cause."""
    where = "" if str(dim) == path else f" in `{path}`"
    written = re.search(rf"(?<![\w.]){value}(?![\w.])", here) is not None
    otherwise = f"write the model without the number {value}, on the line shown"
    if here and not written:
        otherwise = f"write `{here}` so that it works for other sizes"
    return Text(
        headline=f"`{dim}` is declared dynamic{where}, but the model fixes it to {value}",
        helps=(
            offer(f"if it is always {value}, declare `{path}` as that", str(value)),
            f"otherwise {otherwise}",
            offer("or let the exporter choose", "Dim.AUTO"),
        ),
    )


@message("dim-range-violated", ConstraintViolation)
def dim_range_violated(*, path: str, dim: object, declared: object, needed: object) -> Text:
    """Say that the model takes fewer sizes than declared; both are phrases like "2 … 1024"."""
    lower, _, upper = str(needed).partition(" … ")
    least = lower.removesuffix(" and more")
    parts = [*([] if least == "0" else [f"min={least}"]), *([f"max={upper}"] if upper else [])]
    ends = ", ".join(parts)
    return Text(
        headline=f"`{dim}` is declared {declared} in `{path}`, but the model takes only {needed}",
        helps=(offer("narrow the range", dim_source(dim, ends)),),
    )


@message("dims-must-be-equal", ConstraintViolation)
def dims_must_be_equal(*, first: object, second: object, first_path: str, second_path: str) -> Text:
    """Say that two sizes with different names must be equal in the model."""
    return Text(
        headline=f"`{first}` and `{second}` are declared apart, but the model needs them equal",
        notes=(f"they are declared in `{first_path}` and `{second_path}`",),
        helps=(f"declare `{second_path}` as `{first}`, too",),
    )


@message("relation-not-declared", ConstraintViolation)
def relation_not_declared(*, relation: object, dims: object = "", suggestion: object = "") -> Text:
    """Say that the model needs a relation of sizes that the declaration does not ensure."""
    note = (f"the sizes are declared in {dims}",) if str(dims) else ()
    helps = (f"declare it, as `{suggestion}`",) if str(suggestion) else ()
    other = "or leave" if helps else "leave"
    return Text(
        headline=f"the model needs `{relation}`, which the declared sizes do not ensure",
        notes=note,
        helps=(*helps, offer(f"{other} these sizes to the exporter", "Dim.AUTO")),
    )


@message("check-fails", ConstraintViolation)
def check_fails(*, condition: object) -> Text:
    """Say that what the model states with torch._check does not hold."""
    return Text(
        headline=f"`{condition}` is checked here, and does not hold",
        label="must be true",
        helps=("correct the check, or export with example inputs for which it holds",),
    )
