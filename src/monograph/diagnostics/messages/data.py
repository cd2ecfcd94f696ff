"""Messages about values that are known only when the program runs. All are `DataDependentError`.

data-dependent-branch  condition=""              (the source under the caret, unless given)
data-dependent-size    question, size, born="", negation=""   (a comparison in the source first)
specialized-value      kind, size, born="", example=None, plainly=False, truncated=False
value-read             call, tensor=""
memory-exposed         call, tensor, written=False
"""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import DataDependentError, UnsupportedError
from monograph.diagnostics.source_edits.rewriting import (
    asks_inside_at,
    condition_at,
    edits_of_branch,
    edits_of_comparison,
    edits_of_number,
)
from monograph.diagnostics.wording import is_code, named, offer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.diagnostics.frames import Place
    from monograph.diagnostics.source_edits.edits import Edit

_KEPT_SYMBOLIC: Final = frozenset({"float", "int", "len", "max", "min"})
_OPPOSITES: Final[Mapping[type[ast.cmpop], str]] = MappingProxyType(
    {ast.Gt: "<=", ast.GtE: "<", ast.Lt: ">=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
)


@message("data-dependent-branch", DataDependentError)
def data_dependent_branch(
    *, condition: object = "", here: str = "", where: Place | None = None
) -> Text:
    """Say that python asks for the truth of a tensor's value: `if x.sum() > 0`.

    `condition` is given where the question is about a number read out of a tensor.
    """
    words = "" if where is None else condition_at(where)
    source = str(condition) or here or words
    value = f"the value of `{source}`," if source else "a value"
    edits = () if where is None else edits_of_branch(where, is_number=bool(str(condition)))
    if where is not None and asks_inside_at(where):
        return Text(
            headline=f"`{here or words}` asks for values that are known only when the program runs",
            label="asks for their truth",
            helps=tuple([each.shown() for each in edits])
            or ("compare tensors with operators, which return tensors of truths or of values",),
            edits=edits,
        )
    return Text(
        headline=f"this branch depends on {value} known only when the program runs",
        label="true or false?",
        helps=tuple([each.shown() for each in edits])
        or ("to choose between values, compute both, and choose by an operator: where, or cond",),
        edits=edits,
    )


@message("data-dependent-size", DataDependentError)
def data_dependent_size(
    *,
    question: object,
    size: object,
    born: object = "",
    negation: object = "",
    here: str = "",
    where: Place | None = None,
) -> Text:
    """Say that a question about a size that depends on data has no answer yet.

    `question` is a relation, or "count(...)" where the size says how many results there are; `born`
    says where the size comes from: "mask.sum().item() at model.py:31"; `negation` is the opposite
    of the question, where it can be written. A comparison in the source is repeated as it stands
    there, so that the help can be pasted.
    """
    if str(question) == "count(...)":
        return Text(
            headline=f"how many results there are depends on data: {named(str(size))} is known "
            "only when the program runs",
            helps=("compute with the whole tensor instead of with one part after the other",),
        )
    question, negation = _comparison(here) or (question, negation)
    edits = () if where is None else edits_of_comparison(where)
    size = named(str(size))
    origin = (f"{size} comes from {born}",) if str(born) else ()
    return Text(
        headline=f"whether {named(str(question))} holds depends on data: {size} is known only "
        "when the program runs",
        notes=origin,
        helps=tuple([each.shown() for each in edits]) or _stated(str(question), str(negation)),
        edits=edits,
    )


def _stated(question: str, negation: str) -> tuple[str, ...]:
    """What to state before the line, where each side of it is a name that is known there."""
    texts = (("if it always holds", question), ("if it never holds", negation))
    return tuple(
        [
            offer(f"{when}, say so before this line", f"torch._check({text})")
            for when, text in texts
            if _is_of_names(text)
        ]
    ) or ("keep the number in a variable, and state before this line what always holds of it",)


def _is_of_names(text: str) -> bool:
    """Whether a relation compares variables and numbers, and computes nothing anew."""
    if not is_code(text):
        return False
    plain = (ast.Compare, ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.cmpop, ast.Load)
    tree = ast.parse(text, mode="eval").body
    return all(isinstance(each, plain) for each in ast.walk(tree))


@message("specialized-value", DataDependentError)
def specialized_value(
    *,
    kind: str,
    size: object,
    born: object = "",
    example: float | None = None,
    plainly: bool = False,
    truncated: bool = False,
    here: str = "",
    where: Place | None = None,
) -> Text:
    """Say that Python wants a plain number of what only data tells: `range(n)`, `items[n]`.

    `kind` is int or float; `size` says where the number comes from, and is the source itself where
    it is read out of a tensor there; `example` is what it is for the example, where that is known;
    `plainly` that Python itself asks, in an export with `strict=False`; `truncated` that it is the
    integer in a float.
    """
    number = {"int": "integer"}.get(kind, kind)
    is_tensor = bool(here) and here == str(size)
    shown = named(str(size))
    edits: tuple[Edit, ...] = ()
    if where is not None and example is not None:
        edits = edits_of_number(where, example, is_tensor=is_tensor, truncated=truncated)
    if is_tensor:
        helps = (
            "stay with tensor operations",
            "or read a number of an integer tensor as a size, with Tensor.item",
        )
    else:
        helps = (f"use {shown} as a size or in arithmetic, where it need not be plain",)
    if plainly and here.partition("(")[0] in _KEPT_SYMBOLIC:
        helps = (offer("keep such numbers symbolic", "export(..., strict=True)"), *helps)
    origin = f"{shown} comes from {born}"
    return Text(
        headline=f"`{here or kind}` needs a plain {number}, and {shown} is known only when the "
        "program runs"
        if not is_tensor
        else f"`{here}` needs a plain {number}, known only when the program runs",
        notes=(origin,) if str(born) else (),
        helps=(*[each.shown() for each in edits], *helps),
        edits=edits,
    )


def _comparison(source: str) -> tuple[str, str] | None:
    """A comparison in the user's words, and its opposite."""
    try:
        asked = ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(asked, ast.Compare) or type(asked.ops[0]) not in _OPPOSITES or asked.ops[1:]:
        return None
    left, right = ast.unparse(asked.left), ast.unparse(asked.comparators[0])
    return source.strip(), f"{left} {_OPPOSITES[type(asked.ops[0])]} {right}"


@message("memory-exposed", UnsupportedError)
def memory_exposed(*, call: str, tensor: object, written: bool = False) -> Text:
    """Say that user code takes hold of the memory of a tensor, which nobody could follow.

    `call` is what hands it out: `untyped_storage()`; "" where a tensor is met whose memory belongs
    to others. `written` says that something was written, to it or to the tensor since.
    """
    if written:
        headline = f"what `{call}` gave of {tensor} is written to, or the tensor is afterwards"
    elif call:
        headline = f"`{call}` hands out the memory of {tensor}"
    else:
        headline = f"the memory of this {tensor} is a part of another tensor's"
    return Text(
        headline=headline,
        notes=("the program has operators alone: what is done to memory would not be in it",),
        helps=("stay with operators of tensors, such as clone, copy_, view and indexing",),
    )


@message("value-read", DataDependentError)
def value_read(*, call: str, tensor: object = "") -> Text:
    """Say that user code reads a tensor's data out of the program: `x.numpy()`, `x.tolist()`."""
    what = f" of {tensor}" if str(tensor) else ""
    return Text(
        headline=f"`{call}` reads the values{what}, which are known only when the program runs",
        notes=("the example's values would be wrong for other inputs",),
        helps=(
            "stay with tensor operations: torch has most of numpy's",
            "read one number of an integer tensor as a size, with Tensor.item",
        ),
    )
