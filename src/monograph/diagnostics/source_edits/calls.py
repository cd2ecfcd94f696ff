"""Rewritten calls: those that ask for the truth of tensors, and writes that no graph can make.

Law: as in `rewriting`. A call is rewritten where its source alone shows that the edit is right.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.source_edits.edits import Edit
from monograph.diagnostics.source_edits.questioned_source import find_question

if TYPE_CHECKING:
    from monograph.diagnostics.frames import Place
    from monograph.diagnostics.source_edits.questioned_source import QuestionedSource

__all__ = ["asks_inside", "edit_of_asking_call", "edits_of_data", "edits_of_out"]

_ASKING: Final = frozenset({"all", "any", "filter", "max", "min", "next", "sorted", "sum"})
"""Functions of Python that ask for the truth of what they are given, or of its comparisons."""
_TWO_WAYS: Final = {"max": "torch.maximum", "min": "torch.minimum"}
_WIDTH: Final = 96


def asks_inside(asked: ast.expr) -> bool:
    """Whether an expression asks for the truth of other values than its own.

    >>> [asks_inside(ast.parse(text).body[0].value) for text in ("max(a, b)", "a in b", "a > b")]
    [True, True, False]
    """
    if isinstance(asked, ast.Compare):
        return any(isinstance(op, ast.In | ast.NotIn) for op in asked.ops)
    if not isinstance(asked, ast.Call):
        return False
    return _is_assert(asked) or (isinstance(asked.func, ast.Name) and asked.func.id in _ASKING)


def edit_of_asking_call(question: QuestionedSource) -> Edit | None:
    """`max(a, b)`, `sorted([a, b])` and `torch._assert(a)` with operators that compute the same."""
    asked = question.asked
    if not isinstance(asked, ast.Call):
        return None
    if _is_assert(asked):
        return _checked(question, asked)
    if asked.keywords or not isinstance(asked.func, ast.Name):
        return None
    instead = ""
    if asked.func.id in _TWO_WAYS and len(asked.args) > 1 and all(map(_is_element, asked.args)):
        instead, *rest = map(ast.unparse, asked.args)
        for each in rest:
            instead = f"{_TWO_WAYS[asked.func.id]}({instead}, {each})"
    elif asked.func.id == "sorted" and len(asked.args) == 1:
        (items,) = asked.args
        if isinstance(items, ast.List | ast.Tuple) and all(map(_is_element, items.elts)):
            instead = f"list(torch.stack({ast.unparse(items)}).sort().values)"
    again = question.rewritten(asked, instead) if instead else None
    if again is None or len(again) > _WIDTH:
        return None
    line = question.statement.lineno
    return Edit("compare them with an operator", question.file, line, line, (again,))


def _is_assert(call: ast.Call) -> bool:
    return ast.unparse(call.func) in {"torch._assert", "torch._assert_async"}


def _is_element(node: ast.expr) -> bool:
    """Whether it is one number of a tensor, as a tensor, by the looks of it."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Slice)
    reduces = {"amax", "amin", "max", "mean", "min", "prod", "std", "sum", "norm"}
    return isinstance(node, ast.Call) and (
        isinstance(node.func, ast.Attribute) and node.func.attr in reduces and not node.args
    )


def _checked(question: QuestionedSource, call: ast.Call) -> Edit | None:
    statement = question.statement
    if not isinstance(statement, ast.Expr) or statement.value is not call or not call.args:
        return None
    condition, *message = call.args
    text = ast.unparse(condition)
    if not isinstance(condition, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        text = f"({text})"
    words = f", lambda: {ast.unparse(message[0])}" if message else ""
    line = f"{question.indent}torch._check({text}.item(){words})"
    if len(line) > _WIDTH:
        return None
    title = "check it when the program runs"
    return Edit(title, question.file, statement.lineno, statement.end_lineno or 0, (line,))


def edits_of_out(where: Place) -> tuple[Edit, ...]:
    """`torch.add(a, b, out=c)` as a statement becomes `c = torch.add(a, b)`."""
    question = find_question(where)
    call = None if question is None else question.asked
    if question is None or not isinstance(call, ast.Call):
        return ()
    given = [each.value for each in call.keywords if each.arg == "out"]
    is_alone = isinstance(question.statement, ast.Expr) and question.statement.value is call
    if not is_alone or len(given) != 1 or not isinstance(given[0], ast.Name):
        return ()
    rest = [each for each in call.keywords if each.arg != "out"]
    again = ast.unparse(ast.Call(call.func, call.args, rest))
    return _replacing(question, "make a new tensor", f"{given[0].id} = {again}")


def edits_of_data(where: Place) -> tuple[Edit, ...]:
    """`y.data = value` becomes `y = value`."""
    question = find_question(where)
    if question is None:
        return ()
    match question.statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr="data")], value=value):
            title = "give the name to another tensor, where nothing else holds this one"
            return _replacing(question, title, f"{name} = {ast.unparse(value)}")
        case _:
            return ()


def _replacing(question: QuestionedSource, title: str, line: str) -> tuple[Edit, ...]:
    statement, text = question.statement, f"{question.indent}{line}"
    if len(text) > _WIDTH:
        return ()
    last = statement.end_lineno or statement.lineno
    return (Edit(title, question.file, statement.lineno, last, (text,)),)
