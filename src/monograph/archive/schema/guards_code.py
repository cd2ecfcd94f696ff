"""Guards as Python conditions, which programs of torch.export carry, and back.

They are written for readers that know nothing else of a contract; a relation they cannot say is
left out there, and stands in our own record in any case.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.integers import Expr, relation_text
from monograph.program import FloatClause, NumberClause, TensorClause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from monograph.program import Contract

ROOT: Final = re.compile(r"[^\W\d]\w*")
GATHERED: Final = re.compile(r"([^\W\d]\w*)_(\d+)\b")
SIZE: Final = re.compile(r"(.*)\.(?:size\(\)|shape)\[(\d+)\]", re.DOTALL)
KNOWN: Final = frozenset({"L", "max", "min"})
ALWAYS_CHECKED = 2  # a lower end up to here is never checked by stock programs, nor is a range


def guards_code(contract: Contract, paths: Sequence[str]) -> list[str]:
    """The conditions of a contract that can be said over its inputs alone, which are at `paths`."""
    names = guard_sources(contract, paths)
    found: list[str] = []
    for symbol, lower, _ in contract.ranges:
        if symbol in names and lower is not None and 0 < lower <= ALWAYS_CHECKED:
            found.append(f"{names[symbol]} >= {lower}")
    for guard in contract.guards:
        if guard.relation.symbols <= names.keys():
            shown = relation_text(guard.relation, names)
            if _is_plain(shown):
                found.append(shown)
    return found


def guard_sources(contract: Contract, paths: Sequence[str]) -> dict[Expr, str]:
    """How stock programs spell each symbol that an input at `paths` shows."""
    found: dict[Expr, str] = {}
    for path, clause in zip(paths, contract.clauses, strict=True):
        source = local_source(path)
        if source is None:
            continue
        if isinstance(clause, TensorClause):
            for axis, size in enumerate(clause.shape):
                if isinstance(size, Expr) and size.kind == "symbol":
                    found.setdefault(size, f"{source}.size()[{axis}]")
        elif isinstance(clause, NumberClause) and isinstance(clause.value, Expr):
            if clause.value.kind == "symbol":
                found.setdefault(clause.value, source)
        elif isinstance(clause, FloatClause):
            found.setdefault(clause.symbol, source)
    return found


def local_source(path: str) -> str | None:
    """`L['x'][0]` of `x[0]`: how stock programs spell an input.

    >>> local_source("batch['mask']")
    "L['batch']['mask']"
    """
    root = ROOT.match(path)
    return None if root is None else f"L[{root[0]!r}]{path[root.end() :]}"


def _is_plain(condition: str) -> bool:
    try:
        tree = ast.parse(condition, mode="eval")
    except SyntaxError:  # an argument whose name is no name
        return False
    return all(node.id in KNOWN for node in ast.walk(tree) if isinstance(node, ast.Name))


def path_reader(paths: Mapping[str, Any], sizes: Mapping[str, Any]) -> Callable[[str], Any]:
    """What finds the number that a source such as `L['x'].size()[0]` shows."""

    def find(source: str) -> Any:
        found = SIZE.fullmatch(source)
        if found is not None and found[1] in sizes:
            shape = sizes[found[1]]
            if int(found[2]) < len(shape):
                return shape[int(found[2])]
        if source in paths:
            return paths[source]
        raise Refused(f"it has a condition on {source[:120]!r}, which is no input")

    return find


def sources_of(clauses: Any) -> Iterator[tuple[str, Any]]:
    """Each input's source with its clause; one of `*xs`, called `xs_0`, is `L['xs'][0]` too.

    Strict programs of torch.export number the leaves of a call: `L['flat_args'][0]`. An argument
    of that name comes after and counts.
    """
    for position, clause in enumerate(clauses):
        yield f"L['flat_args'][{position}]", clause
    for clause in clauses:
        gathered = GATHERED.match(clause.path)
        if gathered is not None:
            yield f"L[{gathered[1]!r}][{gathered[2]}]{clause.path[gathered.end() :]}", clause
        source = local_source(clause.path)
        if source is not None:
            # An argument whose name is no name can be in no condition.
            with suppress(SyntaxError):
                yield ast.unparse(ast.parse(source, mode="eval")), clause


__all__ = ["guard_sources", "guards_code", "local_source", "path_reader", "sources_of"]
