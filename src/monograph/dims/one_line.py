"""Reads the one-line form of `dynamic_shapes`: `x: batch, seq; mask: batch, _; seq <= 512`.

    line      clauses, separated by `;`
    clause    path `:` sizes, or a relation
    path      an argument, then `.field`, `[0]`, `['key']` as often as it is nested
    sizes     one per dimension, separated by `,`; brackets around them are allowed
    size      a name, `2*n + 1`, a number (fixed to that), `_` (fixed), `...` (the rest is fixed)
    relation  a comparison of names: `kv == 4*t`, `2 <= t <= 512`, `kv == t + past`, `t % 8 == 0`

A bound of one name becomes the range of its Dim; an equation of one name with a multiple of another
replaces that name; what is left is returned as text, to be checked when the program is called.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.diagnostics import MonographError, nearest, problem, together
from monograph.dims.linear import Linear, Range, linear, substituted
from monograph.dims.nesting import child_named, children, nested
from monograph.host.objects import sparse_kind
from monograph.integers import Facts, parse_relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATH: Final = re.compile(r"\s*([A-Za-z_]\w*)((?:\s*\.\s*\w+|\s*\[[^\]]*\])*)\s*:")
_STEP: Final = re.compile(r"\s*(?:\.\s*(\w+)|\[([^\]]*)\])")
_KEY: Final = re.compile(r"""-?\d+|'[^']*'|"[^"]*"|\w+""")
_MIRRORED: Final = MappingProxyType({"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE"})


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the line, without the blanks around it, and where it begins."""

    text: str
    start: int


@dataclass(slots=True)
class _Sizes:
    """What stands after a path: one token per dimension."""

    path: _Piece
    key: str
    leaf: Any
    tokens: list[_Token]


_Token = Linear | int | None
"""A size as a multiple of a name, a number, or fixed. `...` was replaced by as many as it is."""


def read_line(line: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The declaration by argument name, and the relations that are left.

    Raises: spec-text-unreadable, spec-unknown-argument, spec-range-empty; all that were found.

    >>> spec, relations = read_line(
    ...     "x: t, _; y: kv; kv == 2*t; t % 8 == 0",
    ...     {"x": torch.ones(8, 3), "y": torch.ones(16)},
    ... )
    >>> spec, relations
    ({'x': (t, None), 'y': (2*t,)}, ('t % 8 == 0',))
    """
    reader = _Line(line, arguments)
    spec = reader.read()
    if reader.problems:
        raise together(reader.problems)
    return spec, tuple(reader.relations)


class _UnreadableError(Exception):
    """A piece that says nothing; caught per clause, so that every mistake is reported."""

    def __init__(self, piece: _Piece, reason: str, meant: str = "") -> None:
        super().__init__(reason)
        self.piece, self.reason, self.meant = piece, reason, meant


class _Line:
    def __init__(self, line: str, arguments: Mapping[str, Any]) -> None:
        self.line = line
        self.arguments = arguments
        self.problems: list[MonographError] = []
        self.sizes: dict[str, _Sizes] = {}
        self.comparisons: list[_Piece] = []
        self.equal: dict[str, Linear | int] = {}
        self.ranges: dict[str, Range] = {}
        self.relations: list[str] = []

    def read(self) -> dict[str, Any]:
        """Sizes first, so that every relation knows the names, wherever it stands."""
        for clause in _split(_Piece(self.line, 0), ";"):
            if clause.text:
                self.attempt(self.clause, clause)
        # Equations first: a range is that of the name that stays.
        for comparison in sorted(self.comparisons, key=lambda piece: "==" not in piece.text):
            self.attempt(self.relation, comparison)
        found = {key: self.entries(sizes) for key, sizes in self.sizes.items()}
        return {
            name: found[name] if name in found else nested(value, lambda p, _: found.get(p), name)
            for name, value in self.arguments.items()
        }

    def attempt(self, read: Any, piece: _Piece) -> None:
        """Read one clause; if it cannot be read, go on with the next."""
        try:
            read(piece)
        except _UnreadableError as wrong:
            self.problems.append(
                problem(
                    "spec-text-unreadable",
                    line=self.line,
                    start=wrong.piece.start,
                    width=len(wrong.piece.text),
                    reason=wrong.reason,
                    meant=wrong.meant,
                )
            )
        except MonographError as error:
            self.problems.append(error)

    # --- sizes -------------------------------------------------------------------------------

    def clause(self, clause: _Piece) -> None:
        """`path: sizes`, or a relation, which is kept for later."""
        found = _PATH.match(clause.text)
        if found is None:
            if not re.search("[=<>]", clause.text):
                reason = f"`{clause.text}` is neither `argument: sizes` nor a comparison"
                raise _UnreadableError(clause, reason)
            self.comparisons.append(clause)
            return
        path = _Piece(found[0].rstrip(" :"), clause.start)
        key, leaf = self.resolve(found[1], _Piece(found[2], clause.start + found.start(2)))
        if key in self.sizes:
            raise _UnreadableError(path, f"`{path.text}` is declared twice")
        sizes = _strip(_Piece(clause.text[found.end() :], clause.start + found.end()))
        if sizes.text[:1] == "(" and sizes.text[-1:] == ")":
            sizes = _strip(_Piece(sizes.text[1:-1], sizes.start + 1))
        tokens = list(_tokens(sizes, leaf.dim() if isinstance(leaf, torch.Tensor) else 1))
        self.sizes[key] = _Sizes(path, key, leaf, tokens)

    def resolve(self, name: str, steps: _Piece) -> tuple[str, Any]:
        """The path of a leaf as inputs are written, and the leaf."""
        if name not in self.arguments:
            raise problem("spec-unknown-argument", argument=name, arguments=self.arguments)
        key, value = name, self.arguments[name]
        for step in _STEP.finditer(steps.text):
            found = children(value) or []
            wanted = step[1] if step[1] is not None else _key(step[2])
            place = child_named(found, wanted)
            if place is None:
                where = _strip(_Piece(step[0], steps.start + step.start()))
                names = {child[0].strip(".[]'"): child[0] for child in found}
                meant = names.get(nearest(str(wanted), names) or "", "")
                raise _UnreadableError(
                    where, f"`{key}` has no `{where.text}`", meant and key + meant
                )
            key, value = key + found[place][0], found[place][1]
        found = children(value)
        if found is not None and sparse_kind(value) is None:
            where = _Piece(name + steps.text, steps.start - len(name))
            example = key + found[0][0] if found else key
            raise _UnreadableError(
                where, f"`{key}` holds several inputs, each declared by itself", example
            )
        return key, value

    def entries(self, sizes: _Sizes) -> Any:
        """The sizes after a path as Dims: a tuple for a tensor, one for a number."""
        found = tuple([self.dim(token) for token in sizes.tokens])
        is_number = not isinstance(sizes.leaf, torch.Tensor) and len(found) == 1
        return found[0] if is_number else found

    def dim(self, token: _Token) -> Any:
        """A token as what a declaration holds."""
        if token is None or isinstance(token, int):
            return token
        settled = substituted(token, self.equal)
        if isinstance(settled, int):
            return settled
        span = self.ranges.get(settled.name, Range())
        try:
            return settled.dim(span)
        except MonographError as error:
            if all(error.diagnostic != each.diagnostic for each in self.problems):
                self.problems.append(error)
            return None

    # --- relations ---------------------------------------------------------------------------

    def relation(self, piece: _Piece) -> None:
        """A comparison: a range, an equation that replaces a name, or a relation to be checked."""
        tree = _expression(piece)
        if not isinstance(tree, ast.Compare):
            raise _UnreadableError(piece, f"`{piece.text}` is no comparison of sizes")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                self.check_name(node, piece)
        sides = [tree.left, *tree.comparators]
        for left, op, right in zip(sides, tree.ops, sides[1:], strict=False):
            self.comparison(left, op, right, piece)

    def check_name(self, node: ast.Name, piece: _Piece) -> None:
        """A name in a relation is a size of some input, or what one is made of."""
        names = self.names()
        if node.id in names or node.id in {"max", "min"}:
            return
        where = _Piece(node.id, piece.start + node.col_offset)
        raise _UnreadableError(where, f"`{node.id}` names no size", nearest(node.id, names) or "")

    def names(self) -> list[str]:
        """Every name that a size has, or that another relation puts in the place of one."""
        tokens = [token for sizes in self.sizes.values() for token in sizes.tokens]
        found = [token.name for token in tokens if isinstance(token, Linear)]
        for piece in self.comparisons:
            sides = [linear(_parsed(side)) for side in piece.text.split("==")]
            names = [side.name for side in sides if isinstance(side, Linear)]
            if len(sides) == 2 and not set(names).isdisjoint(found):
                found += names
        return found

    def comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr, piece: _Piece) -> None:
        """One comparison of a chain."""
        one, other = self.settled(left), self.settled(right)
        kind = type(op).__name__
        if isinstance(one, int) and isinstance(other, Linear):
            one, other, kind = other, one, _MIRRORED.get(kind, kind)
        if kind == "Eq" and isinstance(one, Linear) and self.is_replaced(one, other):
            return
        if isinstance(one, Linear) and isinstance(other, int) and one.coefficient > 0:
            span = one.bound(kind, other)
            if span is not None:
                before = self.ranges.get(one.name, Range())
                self.ranges[one.name] = before.meet(span)
                return
        self.relations.append(self.checked(ast.Compare(left, [op], [right]), piece))

    def settled(self, side: ast.expr) -> Linear | int | None:
        """A side as a multiple of one name in terms of names that stay; None if it is more."""
        found = linear(side)
        return substituted(found, self.equal) if isinstance(found, Linear) else found

    def is_replaced(self, one: Linear, other: Linear | int | None) -> bool:
        """Whether an equation says what one of its names is: that name is replaced from here on."""
        for name, value in ((one, other), (other, one)):
            if not isinstance(name, Linear) or not name.is_name or value is None:
                continue
            if name.name in self.ranges or not _can_replace(value, name.name):
                continue
            self.equal = {
                each: substituted(held, {name.name: value}) if isinstance(held, Linear) else held
                for each, held in self.equal.items()
            }
            self.equal[name.name] = value
            return True
        return False

    def checked(self, compared: ast.Compare, piece: _Piece) -> str:
        """A relation as text over names that stay, which `parse_relation` reads."""
        text = ast.unparse(_Replaced(self.equal).visit(compared))
        facts = Facts()
        symbols = {name: facts.symbol(name, hint=2) for name in sorted(_names_in(text))}
        try:
            parse_relation(text, symbols)
        except (ArithmeticError, ValueError):
            reason = f"`{piece.text}` is no comparison of sizes"
            raise _UnreadableError(piece, reason) from None
        return text


class _Replaced(ast.NodeTransformer):
    """Puts what a name equals in its place."""

    def __init__(self, equal: Mapping[str, Linear | int]) -> None:
        self.equal = equal

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """One name."""
        value = self.equal.get(node.id)
        return node if value is None else ast.parse(str(value), mode="eval").body


def _can_replace(value: Linear | int, name: str) -> bool:
    """Whether a Dim says it: a number, or a positive multiple of another name."""
    return isinstance(value, int) or (value.coefficient > 0 and value.name != name)


def _tokens(sizes: _Piece, rank: int) -> Iterator[_Token]:
    """The size of each dimension; `...` stands for as many fixed ones as are missing."""
    pieces = _split(sizes, ",") if sizes.text else []
    dots = [piece for piece in pieces if piece.text == "..."]
    if len(dots) > 1:
        raise _UnreadableError(dots[1], "`...` stands twice, so nobody can tell what is between")
    for piece in pieces:
        if piece.text == "...":
            yield from [None] * max(rank - len(pieces) + 1, 0)
        elif piece.text == "_":
            yield None
        else:
            yield _size(piece)


def _size(piece: _Piece) -> Linear | int:
    if not piece.text:
        raise _UnreadableError(piece, "a size is missing here", "_")
    found = linear(_expression(piece))
    if found is None or (isinstance(found, Linear) and found.coefficient <= 0):
        reason = f"`{piece.text}` is no size: a name, a multiple of one as `2*n + 1`, or a number"
        raise _UnreadableError(piece, reason)
    return found


def _expression(piece: _Piece) -> ast.expr:
    try:
        return ast.parse(piece.text, mode="eval").body
    except SyntaxError as error:
        at = min(max((error.offset or 1) - 1, 0), max(len(piece.text) - 1, 0))
        where = _Piece(piece.text[at:], piece.start + at)
        raise _UnreadableError(where, f"`{piece.text}` is no expression of sizes") from None


def _parsed(text: str) -> ast.expr:
    """An expression, or a constant that is none where the text is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return ast.Constant(None)


def _names_in(text: str) -> set[str]:
    tree = ast.parse(text, mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"max", "min"}


def _key(text: str) -> object:
    """What stands in the brackets of a path: an index, a quoted key, or a bare one."""
    text = text.strip()
    if not _KEY.fullmatch(text):
        return text
    return int(text) if text.lstrip("-").isdigit() else text.strip("'\"")


def _split(piece: _Piece, separator: str) -> list[_Piece]:
    found: list[_Piece] = []
    start = piece.start
    for part in piece.text.split(separator):
        found.append(_strip(_Piece(part, start)))
        start += len(part) + len(separator)
    return found


def _strip(piece: _Piece) -> _Piece:
    text = piece.text
    return _Piece(text.strip(), piece.start + len(text) - len(text.lstrip()))


__all__ = ["read_line"]
