"""State of modules that is made a buffer where `__init__` sets it; fake kernels; example inputs.

Law: as in `rewriting`. `self.steps = torch.zeros(3)` becomes `self.register_buffer("steps", ...)`.
"""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, Final

from monograph.diagnostics.source_edits.edits import Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.diagnostics.frames import Place

__all__ = [
    "edits_of_arguments",
    "edits_of_copy",
    "edits_of_fake_kernel",
    "edits_of_member",
    "edits_of_view",
]


def edits_of_member(where: Place, name: str, *, title: str, is_number: bool) -> tuple[Edit, ...]:
    """`self.name = value` in the `__init__` of the class around a place, as a buffer."""
    tree, lines = _source(where.file)
    attribute = name.rpartition(".")[2]
    written = "\n".join(lines[where.line - 1 : where.end_line])
    if tree is None or f"self.{attribute}" not in written or "torch" not in _imported(tree):
        return ()
    found = [
        each
        for function in _functions_around(tree, where.line, "__init__")
        for each in ast.walk(function)
        if isinstance(each, ast.Assign | ast.AnnAssign) and _target(each) == f"self.{attribute}"
    ]
    if len(found) != 1 or found[0].value is None or not _is_alone(found[0], lines):
        return ()
    statement, value = found[0], found[0].value
    if is_number != (isinstance(value, ast.Constant) and isinstance(value.value, int | float)):
        return ()
    begin, end = ("torch.tensor(", "))") if is_number else ("", ")")
    before = lines[statement.lineno - 1].encode()[: statement.col_offset].decode()
    inside = _segment(lines, value)
    after = lines[(value.end_lineno or 0) - 1].encode()[value.end_col_offset :].decode()
    text = f'{before}self.register_buffer("{attribute}", {begin}{inside}{end}{after}'
    last = statement.end_lineno or statement.lineno
    return (Edit(title, where.file, statement.lineno, last, tuple(text.split("\n"))),)


_RESHAPING: Final = ("reshape", "flatten", "ravel", "unflatten", "view")


def edits_of_view(where: Place) -> tuple[Edit, ...]:
    """`x.view(...)` becomes `x.reshape(...)`."""
    tree, lines = _source(where.file)
    call = None if tree is None else _call_at(tree, where)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "view":
        return ()
    owner = call.func.value
    line, column = call.func.end_lineno or 0, call.func.end_col_offset or 0
    text = lines[line - 1].encode()
    start = column - len(b"view")
    if text[start:column] != b"view" or (owner.end_lineno, owner.end_col_offset) > (line, start):
        return ()
    again = (text[:start] + b"reshape" + text[column:]).decode()
    return (Edit("copy where needed instead of viewing", where.file, line, line, (again,)),)


def edits_of_copy(where: Place) -> tuple[Edit, ...]:
    """`x.reshape(...)` becomes `x.contiguous().reshape(...)`."""
    tree, lines = _source(where.file)
    call = None if tree is None else _call_at(tree, where)
    called = None if call is None else call.func
    if not isinstance(called, ast.Attribute) or called.attr not in _RESHAPING:
        return ()
    owner = called.value
    line, column = owner.end_lineno or 0, owner.end_col_offset or 0
    text = lines[line - 1].encode()
    if ast.unparse(owner) in {"torch", "F"} or text[column : column + 1] != b".":
        return ()
    again = (text[:column] + b".contiguous()" + text[column:]).decode()
    return (Edit("copy it whatever its sizes are", where.file, line, line, (again,)),)


def edits_of_arguments(where: Place, *, is_list: bool) -> tuple[Edit, ...]:
    """`export(model, x)` becomes `export(model, (x,))`, and a list a tuple."""
    tree, lines = _source(where.file)
    call = None if tree is None else _call_at(tree, where)
    if call is None:
        return ()
    named = [word.value for word in call.keywords if word.arg == "args"]
    given = named[0] if named else call.args[1] if len(call.args) > 1 else None
    if given is None or isinstance(given, ast.Starred) or given.lineno != given.end_lineno:
        return ()
    line = lines[given.lineno - 1].encode()
    inside = line[given.col_offset : given.end_col_offset]
    around = line[given.col_offset - 1 : given.col_offset] + line[given.end_col_offset :][:1]
    single = inside + b"," if around == b"()" else b"(" + inside + b",)"
    made = b"tuple(" + inside + b")" if is_list else single
    again = (line[: given.col_offset] + made + line[given.end_col_offset :]).decode()
    title = "convert them" if is_list else "put a comma after a single input"
    return (Edit(title, where.file, given.lineno, given.lineno, (again,)),)


def edits_of_fake_kernel(
    where: Place, operator: str, title: str, kernel: tuple[str, ...]
) -> tuple[Edit, ...]:
    """A fake kernel below the custom operator that the file of a place defines."""
    tree, lines = _source(where.file)
    if tree is None or any("..." in line for line in kernel):
        return ()
    for each in tree.body:
        if isinstance(each, ast.FunctionDef) and any(
            isinstance(made, ast.Call)
            and ast.unparse(made.func).endswith("custom_op")
            and made.args
            and isinstance(made.args[0], ast.Constant)
            and made.args[0].value == operator
            for made in each.decorator_list
        ):
            line = each.end_lineno or each.lineno
            if lines[line - 1].encode()[each.end_col_offset :].strip():
                return ()
            return (Edit(title, where.file, line + 1, line, ("", "", *kernel)),)
    return ()


def _source(file: str) -> tuple[ast.Module | None, list[str]]:
    lines = [line.rstrip("\n") for line in linecache.getlines(file)]
    try:
        return ast.parse("\n".join(lines)), lines
    except (SyntaxError, ValueError):
        return None, lines


def _imported(tree: ast.Module) -> set[str]:
    """Names that `import` gives at the top of a file."""
    found = [each.names for each in tree.body if isinstance(each, ast.Import)]
    return {alias.asname or alias.name for names in found for alias in names}


def _functions_around(tree: ast.Module, line: int, name: str) -> Iterator[ast.FunctionDef]:
    """The method of this name of the innermost class around a line."""
    classes = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef) and each.lineno <= line <= (each.end_lineno or 0)
    ]
    if classes:
        inner = max(classes, key=lambda each: each.lineno)
        for each in inner.body:
            if isinstance(each, ast.FunctionDef) and each.name == name:
                yield each


def _target(statement: ast.Assign | ast.AnnAssign) -> str:
    if isinstance(statement, ast.AnnAssign):
        return ast.unparse(statement.target)
    return ast.unparse(statement.targets[0]) if len(statement.targets) == 1 else ""


def _is_alone(statement: ast.stmt, lines: list[str]) -> bool:
    """Whether a statement shares its lines with no other; a comment may follow."""
    before = lines[statement.lineno - 1].encode()[: statement.col_offset]
    after = lines[(statement.end_lineno or 0) - 1].encode()[statement.end_col_offset :].strip()
    return not before.strip() and (not after or after.startswith(b"#"))


def _segment(lines: list[str], node: ast.expr) -> str:
    return ast.get_source_segment("\n".join(lines), node) or ast.unparse(node)


def _call_at(tree: ast.Module, where: Place) -> ast.Call | None:
    span = where.line, where.column, where.end_line, where.end_column
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and span == (
            each.lineno,
            each.col_offset,
            each.end_lineno,
            each.end_col_offset,
        ):
            return each
    return None
