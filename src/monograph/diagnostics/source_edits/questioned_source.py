"""Which question of the user's source a place is about: the expression, its statement, its lines.

Read by: `rewriting`, which answers it in another way.
"""

from __future__ import annotations

import ast
import functools
import linecache
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monograph.diagnostics.frames import Place

__all__ = ["QuestionedSource", "find_question", "free_name"]

_OWN_SCOPES = (
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


@dataclass(frozen=True, slots=True)
class QuestionedSource:
    """An expression that is asked for its value, in a statement that begins a line of its own.

    `after` is what follows the statement in its block.
    """

    file: str
    source: tuple[str, ...]
    asked: ast.expr
    statement: ast.stmt
    inside: tuple[ast.AST, ...]
    """What the expression is part of, from the statement inward."""
    after: tuple[ast.stmt, ...]
    names: frozenset[str]
    """Every name of the file."""
    assigned: frozenset[str]
    """Names of the function that have a value before the statement."""

    @property
    def indent(self) -> str:
        """The white space that the statement begins with."""
        return " " * self.statement.col_offset

    @property
    def is_always_evaluated(self) -> bool:
        """Whether the statement evaluates the expression first, whatever else holds."""
        path = (*self.inside, self.asked)
        for outer, inner in pairwise(path):
            if isinstance(outer, ast.BoolOp) and outer.values[0] is not inner:
                return False
            if isinstance(outer, ast.IfExp) and outer.test is not inner:
                return False
        return True

    def rewritten(self, part: ast.expr, instead: str) -> str | None:
        """The statement's first line with a part of it replaced; None if it is not all there."""
        if part.end_lineno != part.lineno or part.lineno != self.statement.lineno:
            return None
        line = self.source[part.lineno - 1]
        return f"{line[: part.col_offset]}{instead}{line[part.end_col_offset :]}"


def find_question(where: Place) -> QuestionedSource | None:
    """The question at a place, if the source is there, and tells it.

    Not where an edit before the statement would be evaluated elsewhere: in a lambda, a
    comprehension, the condition of a loop, after `elif`.
    """
    source = tuple([line.rstrip("\n") for line in linecache.getlines(where.file)])
    return _find_question(where, source)


@functools.lru_cache(maxsize=64)  # a line in many layers asks as many times
def _find_question(where: Place, source: tuple[str, ...]) -> QuestionedSource | None:
    tree = _parsed(source)
    if tree is None or where.column is None:
        return None
    found = _statement(tree, where.line)
    if found is None:
        return None
    statement, after = found
    asked = _expression(statement, where)
    if asked is None:
        return None
    line = source[statement.lineno - 1]
    begins = not line[: statement.col_offset].strip() and line.isascii()
    path = _path(statement, asked)
    if not begins or line.lstrip().startswith("elif") or isinstance(statement, ast.While):
        return None
    if any(isinstance(each, _OWN_SCOPES) for each in path):
        return None
    names, assigned = _names(tree, statement)
    return QuestionedSource(
        where.file, source, asked, statement, tuple(path), after, names, assigned
    )


def free_name(question: QuestionedSource, wanted: str) -> str:
    """A name that the file does not use yet, like the one that is wanted."""
    name, number = wanted, 1
    while name in question.names:
        number += 1
        name = f"{wanted}_{number}"
    return name


@functools.lru_cache(maxsize=4)
def _parsed(source: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("\n".join(source))
    except (SyntaxError, ValueError):
        return None


def _statement(tree: ast.Module, line: int) -> tuple[ast.stmt, tuple[ast.stmt, ...]] | None:
    """The innermost statement around a line, and those after it in its block."""
    found: tuple[ast.stmt, tuple[ast.stmt, ...]] | None = None
    blocks: list[list[ast.stmt]] = [tree.body]
    while blocks:
        block = blocks.pop()
        for i, each in enumerate(block):
            if each.lineno <= line <= (each.end_lineno or each.lineno):
                found = each, tuple(block[i + 1 :])
                blocks = list(_blocks(each))
                break
    return found


def _names(tree: ast.Module, statement: ast.stmt) -> tuple[frozenset[str], frozenset[str]]:
    """Every name of the file; and those that the function around a statement gave a value."""
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    functions = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef)
        and each.lineno <= statement.lineno <= (each.end_lineno or 0)
    ]
    if not functions:
        return frozenset(names), frozenset()
    function = max(functions, key=lambda each: each.lineno)
    given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    stored = {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name)
        and isinstance(each.ctx, ast.Store)
        and each.lineno < statement.lineno
    }
    return frozenset(names | given), frozenset(given | stored)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    blocks: list[list[ast.stmt]] = []
    for name in ("body", "orelse", "finalbody"):
        block: Any = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            blocks.append(block)
    guarded = (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))
    return [*blocks, *[each.body for each in guarded]]


def _expression(statement: ast.stmt, where: Place) -> ast.expr | None:
    """The expression with just this span; the condition, where the span is the statement's."""
    span = (where.line, where.column, where.end_line, where.end_column)
    if isinstance(statement, ast.If | ast.While | ast.Assert) and span == _span(statement):
        test = statement.test
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        return test
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and span == _span(node):
            return node
    return None


def _span(node: ast.stmt | ast.expr) -> tuple[Any, ...]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _path(statement: ast.AST, target: ast.AST) -> list[ast.AST]:
    """What leads from a statement to a part of it, both excluded."""
    for child in ast.iter_child_nodes(statement):
        if child is target:
            return []
        if any(each is target for each in ast.walk(child)):
            return [child, *_path(child, target)]
    return []
