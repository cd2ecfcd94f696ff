"""Where sizes are declared in source, and the edit that declares them as a repair says.

A script declares them in its call of `export`, as `dynamic_shapes=`; a factory as the fourth part
of what it returns.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from monograph.diagnostics import Edit
from monograph.dims.source import declaration_source, dim_definition, roots_of

if TYPE_CHECKING:
    from monograph.diagnostics import Repair

TITLE = "declare the sizes that the model takes"


@dataclass(frozen=True, slots=True)
class DeclaredSizes:
    """The expression that declares sizes, and the lines of its file."""

    file: str
    lines: tuple[str, ...]
    tree: ast.Module
    expression: ast.expr


def declared_in(file: str, line: int) -> DeclaredSizes | None:
    """The `dynamic_shapes` of the call of `export` around a line, if it is written there."""
    source = _source(file)
    if source is None:
        return None
    lines, tree = source
    calls = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and each.lineno <= line <= (each.end_lineno or 0)
    ]
    given = [word.value for call in calls for word in call.keywords if word.arg == "dynamic_shapes"]
    return DeclaredSizes(file, lines, tree, given[-1]) if given else None


def declared_by(factory: Any) -> DeclaredSizes | None:
    """The fourth part of what a factory returns, if it returns it as it is written."""
    code = getattr(factory, "__code__", None)
    source = _source(code.co_filename) if isinstance(code, CodeType) else None
    if source is None or not isinstance(code, CodeType):
        return None
    lines, tree = source
    functions = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef)
        and each.name == code.co_name
        and min([each.lineno, *[d.lineno for d in each.decorator_list]]) == code.co_firstlineno
    ]
    parts = [
        node.value.elts[3]
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) > 3
    ]
    return DeclaredSizes(code.co_filename, lines, tree, parts[0]) if len(parts) == 1 else None


def edit_of(declared: DeclaredSizes, repair: Repair) -> Edit | None:
    """The lines of the declaration with the repaired one in its place; None if it has no source."""
    text = _text(declared.tree, repair.value)
    old = declared.expression
    first, last = old.lineno, old.end_lineno or old.lineno
    if text is None:
        return None
    before = _bytes(declared.lines[first - 1])[: old.col_offset].decode()
    after = _bytes(declared.lines[last - 1])[old.end_col_offset :].decode()
    lines = f"{before}{text}{after}".split("\n")
    return Edit(TITLE, declared.file, first, last, tuple(lines))


def _text(tree: ast.Module, value: Any) -> str | None:
    """A declaration as one expression in which nothing but `Dim` is a name."""
    if isinstance(value, str):
        return ast.unparse(ast.Constant(value)).replace("'", '"') if '"' not in value else None
    dim = _name_of_dim(tree)
    names = {root.__name__: root for root in roots_of(value)}
    defined = _definitions(tree)
    if dim is None:
        return None
    made = {
        name: name
        if defined.get(name) == dim_definition(root)
        else dim_definition(root).replace("Dim(", f"{dim}(", 1)
        for name, root in names.items()
    }
    expression = ast.parse(declaration_source(value), mode="eval")
    return ast.unparse(_InlinedDims(made, dim).visit(expression)).replace("'", '"')


class _InlinedDims(ast.NodeTransformer):
    """Names of sizes become what makes them, unless the file has them."""

    def __init__(self, made: dict[str, str], dim: str) -> None:
        self._made, self._dim = made, dim

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self._dim if node.id == "Dim" else self._made.get(node.id, node.id)
        return ast.parse(text, mode="eval").body


def _name_of_dim(tree: ast.Module) -> str | None:
    """How the file calls `Dim`."""
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):
            for alias in each.names:
                if alias.name == "Dim" and each.module in {"monograph", "torch.export"}:
                    return alias.asname or "Dim"
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            for alias in each.names:
                if alias.name == "monograph":
                    return f"{alias.asname or 'monograph'}.Dim"
    return None


def _definitions(tree: ast.Module) -> dict[str, str]:
    """`n = Dim("n", min=2)` at the top of a file, as `dim_definition` writes it."""
    found: dict[str, str] = {}
    for each in tree.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                function = ast.unparse(call.func).rpartition(".")[2]
                given = ast.unparse(call)[len(ast.unparse(call.func)) :]
                found[name] = f"{function}{given}".replace("'", '"')
            case _:
                pass
    return found


def _source(file: str) -> tuple[tuple[str, ...], ast.Module] | None:
    lines = tuple([line.rstrip("\n") for line in linecache.getlines(file)])
    try:
        return (lines, ast.parse("\n".join(lines))) if lines else None
    except (SyntaxError, ValueError):
        return None


def _bytes(line: str) -> bytes:
    return line.encode()


__all__ = ["DeclaredSizes", "declared_by", "declared_in", "edit_of"]
