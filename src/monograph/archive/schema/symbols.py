"""Serialised symbols of a program: names, ranges, examples, and what was stated of them.

Law: reading states the same relations of the same symbols in the same order, so what is known of
them afterwards is what was known when the program was saved. A name's letters say what it stands
for, as in the format's specification: `s` an input's size or integer, `zf` an input's float, `u`
and `zuf` what depends on data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.expressions import ExpressionReader, ExpressionWriter
from monograph.archive.schema.json_fields import integer, listed, mapping, text
from monograph.archive.schema.values import float_json, float_of
from monograph.integers import (
    Contradiction,
    Expr,
    Facts,
    Guard,
    MeteredPool,
    Real,
    Relation,
    declared_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.archive.budget import Budget
    from monograph.archive.schema.dataclass_fields import RecordReader, RecordWriter
    from monograph.archive.schema.values import Json

NAME: Final = re.compile(r"(s|u|zf|zuf)\d{1,9}")
UNBACKED: Final = ("u", "zuf")
FLOATS: Final = ("zf", "zuf")
MOST_SYMBOLS = 1 << 16


class SymbolWriter:
    """Names the symbols of a program as the format wants them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.numbers = {symbol: index for index, symbol in enumerate(facts.symbols)}
        self.floats: set[Expr] = set(facts.float_inputs)
        self.expressions = ExpressionWriter(self.text)

    def name(self, symbol: Expr) -> str:
        """What a symbol is called in the file.

        Raises: Refused (it belongs to another program).
        """
        number = self.numbers.get(symbol)
        if number is None:
            raise Refused(f"the program uses a size {symbol} that nothing is known of")
        letters = "u" if self.facts.is_unbacked(symbol) else "s"
        if symbol in self.floats:
            letters = "zuf" if letters == "u" else "zf"
        return f"{letters}{number}"

    def text(self, symbol: Expr, is_float: bool) -> str:  # noqa: FBT001  (what `ExpressionWriter` calls)
        """A symbol with the assumptions that belong to its identity."""
        if is_float:
            self.floats.add(symbol)
        name = self.name(symbol)
        if name.startswith(FLOATS):
            return f"Symbol('{name}')"
        lower = declared_interval(symbol).lower
        if name.startswith("u") or lower < 0:
            return f"Symbol('{name}', integer=True)"
        sign = "positive" if lower > 0 else "nonnegative"
        return f"Symbol('{name}', {sign}=True, integer=True)"

    def table(self) -> list[Json]:
        """All symbols; written last, when it is known which are floats."""
        return [self._entry(symbol) for symbol in self.facts.symbols]

    def _entry(self, symbol: Expr) -> Json:
        lower, upper = [end if isinstance(end, int) else None for end in declared_interval(symbol)]
        hint: Any = self.facts.hints.get(symbol)
        return {
            "name": self.name(symbol),
            "text": symbol.name,
            "hint": float_json(hint) if isinstance(hint, float) else hint,
            "lower": lower,
            "upper": upper,
            "source": self.facts.source_of(symbol),
        }

    def stated(self, records: RecordWriter) -> list[Any]:
        """Every relation that was stated, with its standing and the lines that asked."""
        guards = {guard.relation for guard in self.facts.guards}
        assertions = {guard.relation for guard in self.facts.assertions}
        found: list[Any] = []
        for each in self.facts.stated:
            relation = each.relation
            standing = "guard" if relation in guards else "fact"
            standing = "assertion" if relation in assertions else standing
            found.append([standing, self.expressions.write(relation), records.write(each.origin)])
        return found

    def ranges(self, constraints: Mapping[Any, Any]) -> dict[str, Json]:
        """The range of every symbol, for readers that know no more than ranges."""
        found: dict[str, Json] = {}
        for symbol in self.facts.symbols:
            if symbol in self.floats:
                continue
            span = constraints.get(symbol)
            ends = self.facts.range_of(symbol) if span is None else (span.lower, span.upper)
            lower, upper = [end if isinstance(end, int) else None for end in ends]
            if span is not None or self.facts.is_unbacked(symbol):
                found[self.name(symbol)] = {"min_val": lower, "max_val": upper}
        return found


class SymbolReader:
    """The symbols a file declares, by name; expressions are read with them."""

    def __init__(self, budget: Budget) -> None:
        self.facts = Facts(MeteredPool(budget.charge))
        self.symbols: dict[str, Expr] = {}
        self.values: dict[str, Expr | Real] = {}
        self.expressions = ExpressionReader(self.value)

    def value(self, name: str) -> Expr | Real:
        """What a name stands for.

        Raises: Refused.
        """
        found = self.values.get(name)
        if found is None:
            raise Refused(f"the symbol {name[:40]!r} is not declared")
        return found

    def declare(
        self,
        name: str,
        *,
        label: str = "",
        hint: Any = None,
        lower: int | None,
        upper: int | None,
        source: str = "",
    ) -> Expr | Real:
        """Make a symbol.

        Raises: Refused.
        """
        found = NAME.fullmatch(name)
        if found is None or name in self.values or len(self.values) >= MOST_SYMBOLS:
            raise Refused(f"{name[:40]!r} is no name for a symbol, or there are two")
        letters = found[1]
        label = label or name
        if not label.isidentifier():
            raise Refused(f"{label[:40]!r} is no name for a symbol", "archive-unsafe")
        if letters == "zf":
            made: Expr | Real = self.facts.float_input(label, hint=float_of(hint), source=source)
        else:
            value = None if letters in UNBACKED else integer(hint)
            symbol = self._symbol(label, value, lower, upper, source)
            made = Real("unbacked", (symbol,)) if letters == "zuf" else symbol
        self.values[name] = made
        (self.symbols[name],) = made.symbols
        return made

    def _symbol(
        self, label: str, hint: int | None, lower: int | None, upper: int | None, source: str
    ) -> Expr:
        try:
            return self.facts.symbol(label, hint=hint, lower=lower, upper=upper, source=source)
        except (Contradiction, ValueError) as error:
            raise Refused(f"the symbol {label[:40]!r} cannot be: {error}") from None

    def read_table(self, entries: Any) -> None:
        """Make every symbol of a table.

        Raises: Refused.
        """
        for each in listed(entries):
            entry = mapping(each)
            self.declare(
                text(entry["name"]),
                label=text(entry["text"]),
                hint=entry["hint"],
                lower=_end(entry["lower"]),
                upper=_end(entry["upper"]),
                source=text(entry["source"]),
            )

    def read_stated(self, entries: Any, records: RecordReader) -> None:
        """State every relation again.

        Raises: Refused (they contradict each other).
        """
        kept = {"fact": [], "guard": self.facts.guards, "assertion": self.facts.assertions}
        seen: dict[str, set[Relation]] = {standing: set() for standing in kept}
        for each in listed(entries):
            standing, written, origin = listed(each)
            relation = self.expressions.truth(text(written))
            where: Any = records.read(origin)
            try:
                self.facts.assume(relation, where)
            except Contradiction as error:
                raise Refused(f"what it says of sizes contradicts itself: {error}") from None
            if standing not in kept:
                raise Refused(f"a relation stands as {standing!r}")
            if isinstance(relation, Relation) and relation not in seen[standing]:
                seen[standing].add(relation)
                kept[standing].append(Guard(relation, where))


def _end(value: Any) -> int | None:
    return None if value is None else integer(value)


__all__ = ["SymbolReader", "SymbolWriter"]
