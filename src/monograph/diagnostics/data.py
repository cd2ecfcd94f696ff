"""Messages about values that are known only when the program runs. All are `DataDependentError`.

data-dependent-branch  condition=""              (the source under the caret, unless given)
data-dependent-size    question, size, born="", negation=""   (a comparison in the source first)
value-read             call, tensor=""
"""

from __future__ import annotations

import ast
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import DataDependentError
from monograph.diagnostics.wording import paste

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPPOSITES: Final[Mapping[type[ast.cmpop], str]] = MappingProxyType(
    {ast.Gt: "<=", ast.GtE: "<", ast.Lt: ">=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
)


@message("data-dependent-branch", DataDependentError)
def data_dependent_branch(*, condition: object = "", here: str = "") -> Text:
    """Say that python asks for the truth of a tensor's value: `if x.sum() > 0`."""
    source = str(condition) or here
    value = f"the value of `{source}`," if source else "a value"
    asked = source or "condition"
    return Text(
        headline=f"this branch depends on {value} known only when the program runs",
        label="true or false?",
        helps=(
            f"to choose between values, compute both: torch.where({asked}, a, b)",
            paste(
                "to run only one side, give both as functions:",
                f"torch.cond({asked}, true_side, false_side, (x,))",
            ),
        ),
    )


@message("data-dependent-size", DataDependentError)
def data_dependent_size(
    *, question: object, size: object, born: object = "", negation: object = "", here: str = ""
) -> Text:
    """Say that a question about a size that depends on data has no answer yet.

    `question` is a relation, "int(...)" where a plain number is asked for, or "count(...)" where it
    says how many results there are; `born` says where the size comes from: "mask.sum().item() at
    model.py:31"; `negation` is the opposite of the question, where it can be written. A comparison
    in the source is repeated as it stands there, so that the help can be pasted.
    """
    if str(question) == "count(...)":
        return Text(
            headline=f"how many results there are depends on data: `{size}` is known only when the "
            "program runs",
            helps=("compute with the whole tensor instead of with one part after the other",),
        )
    question, negation = _comparison(here) or (question, negation)
    origin = (f"`{size}` comes from {born}",) if str(born) else ()
    number = str(question).removesuffix("(...)")
    if number != str(question) and here == str(size):
        kind = {"int": "integer"}.get(number, number)
        return Text(
            headline=f"`{here}` needs a plain {kind}, known only when the program runs",
            notes=origin,
            helps=(
                "stay with tensor operations",
                "or read a number of an integer tensor as a size: n = x.item()",
            ),
        )
    if number != str(question):
        return Text(
            headline=f"`{number}` needs the value of `{size}`, known only when the program runs",
            notes=origin,
            helps=(f"use `{size}` as it is, without `{number}`",),
        )
    return Text(
        headline=f"whether `{question}` holds depends on data: `{size}` is known only "
        "when the program runs",
        notes=origin,
        helps=(
            f"if it always holds, say so before this line: torch._check({question})",
            *((f"if it never holds: torch._check({negation})",) if str(negation) else ()),
        ),
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


@message("value-read", DataDependentError)
def value_read(*, call: str, tensor: object = "") -> Text:
    """Say that user code reads a tensor's data out of the program: `x.numpy()`, `x.tolist()`."""
    what = f" of {tensor}" if str(tensor) else ""
    return Text(
        headline=f"`{call}` reads the values{what}, which are known only when the program runs",
        notes=("the example's values would be wrong for other inputs",),
        helps=(
            "stay with tensor operations: torch has most of numpy's",
            "read one number of an integer tensor as a size: n = x.item(); torch._check(n >= 0)",
        ),
    )
