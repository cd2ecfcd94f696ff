"""Compatibility with torch.export's files: what they say of symbols, conditions and names.

Their contract is what the file states: structure, dtypes, devices, sizes, ranges and conditions. A
condition that cannot be read is refused, since nobody could check it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.aliasing import storage_source, written_by
from monograph.abstract.tensor import AbstractTensor
from monograph.archive.errors import Refused
from monograph.archive.schema.expressions import ExpressionReader
from monograph.archive.schema.guards_code import path_reader, sources_of
from monograph.archive.schema.json_fields import integer, listed, mapping, text
from monograph.archive.schema.symbols import FLOATS, NAME, UNBACKED, SymbolReader
from monograph.archive.schema.values import plain_value
from monograph.host.trees import placeholders, unflatten
from monograph.integers import Contradiction, Expr, Guard, Real, Relation, ge, le
from monograph.program import (
    CallNames,
    Contract,
    FloatClause,
    InputKind,
    NumberClause,
    OutputKind,
    TensorClause,
    ValueClause,
    input_paths,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.fx.node import Node

    from monograph.archive.budget import Budget
    from monograph.archive.schema.values import Json
    from monograph.host.trees import TreeSpec
    from monograph.program import (
        ExportGraphSignature,
        GraphModule,
        InputClause,
        ModuleCallSignature,
    )

DECLARED: Final = re.compile(r"Symbol\('((?:s|u|zf|zuf)\d{1,9})'[^)]*\)")
HINTED: Final = re.compile(r"Symbol\('((?:s|zf)\d{1,9})'[^)]*\)")
BARE: Final = re.compile(r"(?:s|u|zf|zuf)\d{1,9}")
OPEN_END: Final = 1 << 62


# ---------------------------------------------------------------------------------------- symbols
def symbols_of_torch(written: Json, budget: Budget) -> SymbolReader:
    """The symbols of a program, with their ranges, and their values in the example.

    Raises: Refused.
    """
    reader = SymbolReader(budget)
    ranges = mapping(written.get("range_constraints", {}))
    hints: dict[str, Any] = {}
    for name in ranges:
        if NAME.fullmatch(name) is not None:
            hints.setdefault(name, None)
    _gather(mapping(written["graph_module"])["graph"], hints)
    for name in sorted(hints, key=lambda name: (name.startswith("u"), name)):
        span = mapping(ranges.get(name, {}))
        lower, upper = _end(span.get("min_val")), _end(span.get("max_val"))
        letters = NAME.fullmatch(name)
        assert letters is not None, "names were checked"
        if letters[1] in FLOATS:
            lower = upper = None
        hint = hints[name]
        if hint is None and letters[1] not in UNBACKED:
            hint = max(lower or 0, 2) if upper is None else min(max(lower or 0, 2), upper)
        reader.declare(name, hint=hint, lower=lower, upper=upper)
    return reader


def _end(value: Any) -> int | None:
    if value is None:
        return None
    end = integer(value)
    return None if abs(end) >= OPEN_END else end


def _gather(value: Any, hints: dict[str, Any]) -> None:
    """Find every symbol of a graph; one that stands alone says its value in the example."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            source = each.get("expr_str")
            if isinstance(source, str):
                _note(source, each.get("hint"), hints)
            else:
                waiting.extend(each.values())


def _note(source: str, hint: Any, hints: dict[str, Any]) -> None:
    if len(source) > 1 << 14:
        raise Refused("it has an expression of more than 16384 characters")
    names = DECLARED.findall(source) if "Symbol(" in source else BARE.findall(source)
    for name in names:
        hints.setdefault(name, None)
    alone = HINTED.fullmatch(source)
    name = alone[1] if alone else source if BARE.fullmatch(source) else None
    if name is not None and isinstance(hint, dict) and hints[name] is None:
        hints[name] = next(iter(hint.values()), None)


# --------------------------------------------------------------------------------------- contract
def names_of_torch(root: ModuleCallSignature) -> CallNames:
    """How arguments are called: as the parameters of forward, where the file says them.

    Raises: Refused.
    """
    args, kwargs = _two(root.in_spec)
    keywords = tuple([text(key) for key in kwargs.context or ()])
    n_args = args.num_children
    names = root.forward_arg_names or []
    positional = tuple(names[:n_args])
    if len(positional) != n_args or len({*positional, *keywords}) != n_args + len(keywords):
        positional = tuple(f"arg_{index}" for index in range(n_args))
        return CallNames(positional, n_args, keywords)
    following: list[str] = []
    for name in names[n_args:]:
        if name not in keywords:
            break
        following.append(name)
    return CallNames(positional, 0, keywords, tuple(following))


def _two(in_spec: TreeSpec) -> tuple[TreeSpec, TreeSpec]:
    children = in_spec.children()
    if len(children) != 2 or children[0].type is not tuple or children[1].type is not dict:
        raise Refused("its inputs are not arguments by position and by name")
    return children[0], children[1]


def contract_of_torch(
    written: Json,
    module: GraphModule,
    signature: ExportGraphSignature,
    in_spec: TreeSpec,
    names: CallNames,
    symbols: SymbolReader,
) -> Contract:
    """The contract that a file states.

    Raises: Refused.
    """
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    specs = signature.input_specs
    if len(inputs) != len(specs):
        raise Refused("its signature has not as many inputs as its graph")
    user = [n for n, s in zip(inputs, specs, strict=True) if s.kind is InputKind.USER_INPUT]
    values = [node.meta["val"] for node in user]
    ranks = [len(v.tensor_type.shape) if isinstance(v, AbstractTensor) else None for v in values]
    paths = leaf_paths(in_spec, names, ranks)
    clauses = tuple([_clause(path, value) for path, value in zip(paths, values, strict=True)])
    shown = _shown(clauses)
    guards = _guards(listed(written.get("guards_code", [])), clauses, symbols)
    guards += _derived_ranges(mapping(written.get("range_constraints", {})), symbols)
    facts = symbols.facts
    ranges = tuple(
        (symbol, *_ends(facts.range_of(symbol)))
        for symbol in symbols.symbols.values()
        if symbol in shown and symbol not in facts.float_inputs
    )
    return Contract(in_spec, clauses, guards, ranges, shown, _apart(user, clauses, signature))


def _apart(
    user: list[Node], clauses: tuple[Any, ...], signature: ExportGraphSignature
) -> tuple[tuple[int, int], ...]:
    """Inputs that are written to, at the end of the graph, share no memory with any other."""
    places = {node.name: place for place, node in enumerate(user)}
    kinds = (s.target for s in signature.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION)
    written = {places[target] for target in kinds if target in places}
    tensors = [place for place, each in enumerate(clauses) if isinstance(each, TensorClause)]
    return tuple(sorted({(min(w, t), max(w, t)) for w in written for t in tensors}))


def _ends(span: Any) -> tuple[int | None, int | None]:
    lower, upper = [end if isinstance(end, int) else None for end in span]
    return lower, upper


def leaf_paths(in_spec: TreeSpec, names: CallNames, ranks: Sequence[int | None]) -> list[str]:
    """Where each input is, given the rank of those that are tensors.

    By number, where a class that is asked for its keys can be made of no placeholders.

    Raises: Refused.
    """
    count = len(ranks)
    if in_spec.num_leaves != count:
        raise Refused("its structure has not as many inputs as its graph")
    for leaves in placeholders(ranks):
        with suppress(Exception):  # a registered class may want other values than these
            args, kwargs = unflatten(leaves, in_spec)
            found = input_paths(names, args, kwargs)
            if len(found) == count:
                return found
    return [f"input_{index}" for index in range(count)]


def _clause(path: str, value: Any) -> InputClause:
    if isinstance(value, AbstractTensor):
        t = value.tensor_type
        return TensorClause(path, t.dtype, t.device.type, t.shape)
    number = plain_value(value)
    if isinstance(number, Expr):
        return NumberClause(path, number)
    if isinstance(number, Real):
        (symbol,) = number.symbols
        return FloatClause(path, symbol)
    return ValueClause(path, number)


def _shown(clauses: tuple[InputClause, ...]) -> dict[Expr, str]:
    """Each symbol by where it is seen first; as itself if it can be, else in an expression."""
    found: dict[Expr, str] = {}
    hidden: dict[Expr, str] = {}
    for clause in clauses:
        if isinstance(clause, TensorClause):
            sizes = [(f"{clause.path}.shape[{i}]", size) for i, size in enumerate(clause.shape)]
        elif isinstance(clause, NumberClause):
            sizes = [(clause.path, clause.value)]
        else:
            sizes = [(clause.path, clause.symbol)] if isinstance(clause, FloatClause) else []
        for where, size in sizes:
            if isinstance(size, Expr) and size.kind == "symbol":
                found.setdefault(size, where)
            elif isinstance(size, Expr):
                for symbol in size.symbols:
                    hidden.setdefault(symbol, symbol.name)
    return {**hidden, **found}


def _guards(
    conditions: list[Any], clauses: tuple[InputClause, ...], symbols: SymbolReader
) -> tuple[Guard, ...]:
    sizes: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for source, clause in sources_of(clauses):
        if isinstance(clause, TensorClause):
            sizes[source] = clause.shape
        elif isinstance(clause, NumberClause | ValueClause):
            values[source] = clause.value
    read = ExpressionReader(symbols.value, path_reader(values, sizes))
    found: list[Guard] = []
    for condition in conditions:
        relation = read.truth(text(condition))
        if relation is False:
            raise Refused(f"its condition {condition[:120]!r} never holds")
        if isinstance(relation, Relation):
            try:
                symbols.facts.assume(relation)
            except Contradiction:
                raise Refused(f"its condition {condition[:120]!r} never holds") from None
            found.append(Guard(relation, None))
    symbols.facts.guards.extend(found)
    return tuple(found)


def _derived_ranges(ranges: Json, symbols: SymbolReader) -> tuple[Guard, ...]:
    """Ranges of expressions such as `2*s0`, which only conditions can say."""
    found: list[Guard] = []
    for name, span in ranges.items():
        if NAME.fullmatch(name) is None:
            size = symbols.expressions.integer(name)
            lower, upper = _end(mapping(span)["min_val"]), _end(mapping(span)["max_val"])
            wanted = [] if lower is None else [ge(size, lower)]
            wanted += [] if upper is None else [le(size, upper)]
            found += [Guard(each, None) for each in wanted if isinstance(each, Relation)]
    return tuple(found)


# -------------------------------------------------------------------------------------- mutations
def written_inputs(module: GraphModule, signature: ExportGraphSignature) -> dict[str, str]:
    """Which inputs the graph writes to, directly or through a view, and what they stand for."""
    found = (storage_source(each) for node in module.graph.nodes for each in written_by(node))
    written = dict.fromkeys(node for node in found if node.op == "placeholder")
    targets = {spec.arg.name: spec.target for spec in signature.input_specs}
    return {node.name: targets.get(node.name) or node.name for node in written}


__all__ = [
    "contract_of_torch",
    "leaf_paths",
    "names_of_torch",
    "symbols_of_torch",
    "written_inputs",
]
