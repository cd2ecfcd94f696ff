"""Delta debugging of functions: fewer statements that still cannot be captured."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from monograph.jit.minifying.failures import copies, failure_of_run
from monograph.jit.minifying.scripts import header, text_of
from monograph.jit.optimizing import optimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.jit.minifying.failures import ReducibleFailure

__all__ = ["capture_failure", "script_of_function"]


def capture_failure(function: Any, args: Sequence[Any]) -> ReducibleFailure | None:
    """Why a function is not one graph; None where it is."""
    failure, _ = failure_of_run(lambda: optimize(nopython=True)(function)(*copies(args)))
    eager, _ = failure_of_run(lambda: function(*copies(args)))
    return None if eager is not None else failure


def script_of_function(
    function: FunctionType, args: Sequence[Any], failure: ReducibleFailure
) -> str:
    """A script with as few statements of a function as still fail in the same way."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef), "a function has a definition"
    definition.decorator_list = []
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    while True:
        for block, index in [*_statements(definition)]:
            gone = block.pop(index)
            if not block:
                block.append(ast.Pass())
            if failure.is_same(_failure(tree, definition.name, scope, args)):
                break
            if isinstance(block[0], ast.Pass) and not isinstance(gone, ast.Pass):
                block.clear()
            block.insert(index, gone)
        else:
            break
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = [*header(failure), *_needed(names, scope), "", ast.unparse(tree), ""]
    given = ", ".join(text_of(each) for each in args)
    call = f"monograph.optimize(nopython=True)({definition.name})({given})"
    return "\n".join([*lines, call, ""])


def _statements(node: ast.AST) -> list[tuple[list[Any], int]]:
    """The blocks below a node, with the index of each statement that may go."""
    found: list[tuple[list[Any], int]] = []
    for each in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, None)
            if isinstance(block, list):
                found += [(block, index) for index in reversed(range(len(block)))]
    return [(block, i) for block, i in found if not isinstance(block[i], ast.Pass)]


def _failure(tree: ast.Module, name: str, scope: dict[str, Any], args: Sequence[Any]) -> Any:
    text = ast.unparse(ast.fix_missing_locations(tree))
    file = "<minified>.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    inside = dict(scope)
    try:
        exec(compile(text, file, "exec"), inside)  # noqa: S102 - statements of the user's function
        return capture_failure(inside[name], args)
    except SyntaxError:
        return None


def _needed(names: set[str], scope: dict[str, Any]) -> list[str]:
    """What a function names, as far as text can say it."""
    lines: list[str] = []
    for name in sorted(names & scope.keys()):
        value = scope[name]
        if isinstance(value, ModuleType):
            lines.append(f"import {value.__name__} as {name}")
        elif isinstance(value, FunctionType):
            lines.append(textwrap.dedent(inspect.getsource(value)))
        elif not name.startswith("__") and not isinstance(value, type):
            lines.append(f"{name} = {text_of(value)}")
        elif isinstance(value, type):
            lines.append(f"from {value.__module__} import {value.__qualname__} as {name}")
    return lines
