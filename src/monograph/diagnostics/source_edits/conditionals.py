"""A branch on data, rewritten as `torch.cond`: its sides become functions, of which one runs.

Law: the edit does to the names of the function what the branch did, wherever these are tensors. A
name that one side leaves alone is copied there: what a side returns must not be what it was given.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from monograph.diagnostics.source_edits.edits import Edit
from monograph.diagnostics.source_edits.questioned_source import free_name

if TYPE_CHECKING:
    from monograph.diagnostics.source_edits.questioned_source import QuestionedSource

__all__ = ["as_cond"]

_TITLE = "to run one side, where both give tensors of the same shapes"
_WIDTH, _LONGEST = 96, 12
_NO_TENSORS = (
    ast.Constant
    | ast.Dict
    | ast.DictComp
    | ast.JoinedStr
    | ast.Lambda
    | ast.List
    | ast.ListComp
    | ast.Set
    | ast.SetComp
    | ast.Tuple
)


def as_cond(question: QuestionedSource, condition: str) -> Edit | None:
    """The branch that the question stands in as a call of `torch.cond`, if it is simple enough."""
    branch, outer = question.statement, question.inside[-1] if question.inside else None
    if not isinstance(branch, ast.If):
        return None
    is_negated = isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)
    if branch.test is not (outer if is_negated else question.asked):
        return None
    sides, last = [branch.body, branch.orelse], branch.end_lineno
    if isinstance(branch.body[-1], ast.Return) and not branch.orelse and question.after:
        sides, last = [branch.body, list(question.after)], question.after[-1].end_lineno
    lines = _lines(question, condition, sides[::-1] if is_negated else sides)
    if lines is None or last is None or len(lines) > _LONGEST:
        return None
    indented = tuple([f"{question.indent}{each}" for each in lines])
    if any(len(each) > _WIDTH for each in indented):
        return None
    return Edit(_TITLE, question.file, branch.lineno, last, indented)


def _lines(
    question: QuestionedSource, condition: str, sides: list[list[ast.stmt]]
) -> list[str] | None:
    returns = [bool(side) and isinstance(side[-1], ast.Return) for side in sides]
    bodies = [side[:-1] if ends else side for side, ends in zip(sides, returns, strict=True)]
    if any(returns) != all(returns) or not all(map(_assigns, [*bodies[0], *bodies[1]])):
        return None
    assigned = [list(dict.fromkeys(map(_name, body))) for body in bodies]
    either = list(dict.fromkeys([*assigned[0], *assigned[1]]))
    given = [name for name in either if name in question.assigned]
    kept: list[str] = []
    if all(returns):
        made = [_returned(side[-1]) for side in sides]
    else:
        kept = [n for n in either if n in given or all(n in side for side in assigned)]
        if not kept or any(name in _names_of(question.after) for name in set(either) - set(kept)):
            return None
        made = [", ".join([_left(n, body) for n in kept]) for body in bodies]
    if None in made or all(each.endswith(".clone()") for each in made if each):
        return None  # sides that compute nothing have shapes of their own, if any
    names = [free_name(question, name) for name in ("if_true", "if_false")]
    lines: list[str] = []
    for name, body, result in zip(names, bodies, made, strict=True):
        lines.append(f"def {name}({', '.join(given)}):")
        lines += [f"    {ast.unparse(each)}" for each in body]
        lines.append(f"    return {result}")
    operands = f"({', '.join(given)}{',' * (len(given) == 1)})"
    target = "return" if all(returns) else f"{', '.join(kept)} ="
    return [*lines, f"{target} torch.cond({condition}, {', '.join(names)}, {operands})"]


def _assigns(statement: ast.stmt) -> bool:
    """Whether it only gives a plain name something that may be a tensor."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name()], value=value)
            | ast.AugAssign(target=ast.Name(), value=value)
        ):
            is_plain = isinstance(statement, ast.Assign) and isinstance(value, _NO_TENSORS)
            return not is_plain
        case _:
            return False


def _name(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target  # pyright: ignore[reportAttributeAccessIssue] - of `_assigns`
    return target.id  # pyright: ignore[reportAttributeAccessIssue, reportReturnType] - of `_assigns`


def _left(name: str, body: list[ast.stmt]) -> str:
    """What a name is after a side of the branch, copied where that may be what was given."""
    made = [each for each in body if _name(each) == name]
    is_new = bool(made) and not isinstance(made[-1].value, ast.Name)  # pyright: ignore[reportAttributeAccessIssue] - of `_assigns`
    return name if is_new else f"{name}.clone()"


def _returned(statement: ast.stmt) -> str | None:
    """What `return` gives: a tensor, copied where it is a name alone, or several."""
    value = statement.value if isinstance(statement, ast.Return) else None
    if value is None:
        return None
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    if any(isinstance(each, _NO_TENSORS) for each in parts):
        return None
    shown = [
        f"{each.id}.clone()" if isinstance(each, ast.Name) else ast.unparse(each) for each in parts
    ]
    return ", ".join(shown)


def _names_of(nodes: list[ast.expr] | tuple[ast.stmt, ...]) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
