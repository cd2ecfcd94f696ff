"""Dataclasses as JSON, field by field: what other tools' formats have no place for.

Law: every dataclass of `program/contract.py` is carried with every field, under its name; so are
guards, reports and the names of arguments. What is read has the types its fields are annotated
with, or is refused: the annotations are the schema.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch

import monograph.program.contract
from monograph.archive.errors import Refused
from monograph.archive.schema.json_fields import integer, listed, mapping, only_key, text
from monograph.archive.schema.plain_values import READ_SIMPLE, SIMPLE
from monograph.archive.schema.structures import read_structure, structure_text
from monograph.capture.inputs.mutation_spec import (
    Change,
    Changes,
    FromInput,
    FromObject,
    FromOutput,
    GivenObject,
    MadeContainer,
    PlainValue,
)
from monograph.diagnostics import Edit, Frame, Place, place
from monograph.host.trees import TreeSpec
from monograph.integers import Expr, Guard, Int, Real, Relation
from monograph.program import (
    Assumed,
    Because,
    CallNames,
    IgnoredEffect,
    LeftOut,
    NativeIsland,
    Problem,
    Report,
    Specialization,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from monograph.archive.schema.expressions import ExpressionReader, ExpressionWriter

_CHANGES: Final = (
    *(Changes, Change, FromInput, FromObject, FromOutput),
    *(GivenObject, MadeContainer, PlainValue),
)
"""What a call does to what it is given."""

Spot = Frame | Place
Origin = Spot | tuple[Spot, ...] | None
"""Where a relation was asked for: a line, or several, innermost first."""

_CONTRACT: Final = monograph.program.contract


def _contract_records() -> dict[str, type[Any]]:
    return {
        name: each
        for name, each in vars(_CONTRACT).items()
        if isinstance(each, type) and is_dataclass(each)
    }


RECORDS: Final[Mapping[str, type[Any]]] = {
    **_contract_records(),
    **{each.__name__: each for each in (CallNames, Guard, Report, Specialization)},
    **{each.__name__: each for each in (Assumed, IgnoredEffect, LeftOut, NativeIsland)},
    **{each.__name__: each for each in (Because, Edit, Problem)},
    **{each.__name__: each for each in _CHANGES},
}
"""What may be carried, by name. A dataclass added to the contract is carried from then on."""


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


# ---------------------------------------------------------------------------------------- writing
class RecordWriter:
    """Writes records; lines of source are gathered in `places` and named by their number."""

    def __init__(self, expressions: ExpressionWriter, name: Callable[[Expr], str]) -> None:
        self.expressions = expressions
        self.name = name
        self.places: dict[Place, int] = {}
        self._frames: dict[tuple[int, int], int] = {}
        self._kept: list[Frame] = []

    def write(self, value: Any) -> Any:
        """One value.

        Raises: Refused.
        """
        if value is None or type(value) in (bool, str, int):
            return value
        writer = next((write for kind, write in WRITERS if isinstance(value, kind)), None)
        if writer is not None:
            return writer(self, value)
        name = type(value).__name__
        if RECORDS.get(name) is type(value):
            written = {each.name: self.write(getattr(value, each.name)) for each in fields(value)}
            return {"record": [name, written]}
        raise Refused(f"the contract holds {value!r}, which no file can hold")

    def several(self, values: Iterable[Any]) -> list[Any]:
        """A tuple."""
        return [self.write(value) for value in values]

    def spot(self, value: Spot) -> Any:
        """A line of source."""
        return {"place": self.place(value)}

    def place(self, value: Spot) -> int:
        """The number of a line of source."""
        if isinstance(value, Place):
            return self.places.setdefault(value, len(self.places))
        key = (id(value.code), value.lasti)
        found = self._frames.get(key)
        if found is None:
            self._kept.append(value)
            found = self._frames[key] = self.places.setdefault(place(value), len(self.places))
        return found

    def expression(self, value: Any) -> Any:
        """An expression; a symbol by its name alone, as it may stand for a float."""
        if isinstance(value, Expr) and value.kind == "symbol":
            return {"symbol": self.name(value)}
        return {"expr": self.expressions.write(value)}


def _simple(
    kind: Any, tag: str, write: Callable[[Any], Any]
) -> tuple[Any, Callable[[RecordWriter, Any], Any]]:
    return kind, lambda _, x: {tag: write(x)}


WRITERS: Final[Sequence[tuple[Any, Callable[[RecordWriter, Any], Any]]]] = (
    *[_simple(*each) for each in SIMPLE],
    ((Expr, Real, Relation), RecordWriter.expression),
    ((Frame, Place), RecordWriter.spot),
    (TreeSpec, lambda _, x: {"structure": structure_text(x, {})}),
    (torch.Size, lambda writer, x: {"shape": writer.several(x)}),
    (list, lambda writer, x: {"list": writer.several(x)}),
    (slice, lambda writer, x: {"slice": writer.several((x.start, x.stop, x.step))}),
    (range, lambda writer, x: {"range": writer.several((x.start, x.stop, x.step))}),
    (
        Mapping,
        lambda writer, x: {"map": [[writer.write(k), writer.write(v)] for k, v in x.items()]},
    ),
    ((set, frozenset), lambda writer, x: {"set": sorted(writer.several(x), key=repr)}),
    (Sequence, RecordWriter.several),
)


# ---------------------------------------------------------------------------------------- reading
class RecordReader:
    """Reads records; `symbols` are those the file declares, by their names in expressions."""

    def __init__(
        self, expressions: ExpressionReader, symbols: Mapping[str, Expr], places: Sequence[Place]
    ) -> None:
        self.expressions = expressions
        self.symbols = symbols
        self.places = places

    def read(self, value: Any) -> Any:
        """One value.

        Raises: Refused.
        """
        if value is None or isinstance(value, bool | str | int):
            return value
        if isinstance(value, list):
            return tuple([self.read(each) for each in value])
        tag, inner = only_key(value)
        reader = READERS.get(tag)
        if reader is None:
            raise Refused(f"it holds a value of kind {tag[:40]!r}")
        return reader(self, inner)

    def record(self, inner: Any, expected: type[Any] | None = None) -> Any:
        """A record, whose fields have the types they are annotated with.

        A field that an older file does not have is as its default.

        Raises: Refused.
        """
        name, written = listed(inner)
        kind = RECORDS.get(text(name))
        if kind is None or (expected is not None and kind is not expected):
            raise Refused(f"it holds a record of kind {name[:40]!r}")
        found = {key: self.read(each) for key, each in mapping(written).items()}
        hints = field_types(kind)
        needed = {each.name for each in fields(kind) if not _has_default(each)}
        if not needed <= found.keys() <= hints.keys():
            raise Refused(f"a {name} has the fields {', '.join(found)[:200]}")
        for key, each in found.items():
            if not is_of(each, hints[key]):
                raise Refused(f"`{key}` of a {name} is a {type(each).__name__}")
        return kind(**found)

    def place(self, number: Any) -> Place:
        """A line of source by its number."""
        return self.places[integer(number, 0, len(self.places) - 1)]

    def symbol(self, name: Any) -> Expr:
        """A symbol by its name."""
        found = self.symbols.get(text(name))
        if found is None:
            raise Refused(f"the symbol {name[:40]!r} is not declared")
        return found


def _read_simple(read: Callable[[Any], Any]) -> Callable[[RecordReader, Any], Any]:
    return lambda _, x: read(x)


def _three(reader: RecordReader, inner: Any) -> tuple[Any, Any, Any]:
    start, stop, step = (reader.read(each) for each in listed(inner))
    return start, stop, step


READERS: Final[Mapping[str, Callable[[RecordReader, Any], Any]]] = {
    **{tag: _read_simple(read) for tag, read in READ_SIMPLE.items()},
    "expr": lambda reader, x: reader.expressions.value(text(x)),
    "list": lambda reader, x: [reader.read(each) for each in listed(x)],
    "map": lambda reader, x: {
        reader.read(key): reader.read(each) for key, each in map(listed, listed(x))
    },
    "place": RecordReader.place,
    "range": lambda reader, x: range(*_three(reader, x)),
    "record": RecordReader.record,
    "set": lambda reader, x: frozenset(reader.read(each) for each in listed(x)),
    "shape": lambda reader, x: torch.Size([reader.read(each) for each in listed(x)]),
    "slice": lambda reader, x: slice(*_three(reader, x)),
    "structure": lambda _, x: read_structure(x),
    "symbol": RecordReader.symbol,
}


@cache
def field_types(kind: type[Any]) -> dict[str, Any]:
    """The annotated types of a record's fields.

    Raises: NameError (an annotation names what is not known here).
    """
    module = vars(sys.modules[kind.__module__])
    names = {"Guard": Guard, "Int": Int, "Expr": Expr, "Spot": Spot, "Origin": Origin}
    names |= {"Changes": Changes}
    known = {**module, **names, "Mapping": Mapping, "Sequence": Sequence}
    hints = typing.get_type_hints(kind, globalns=known)
    return {each.name: hints[each.name] for each in fields(kind)}


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type.

    >>> is_of((1, 2), tuple[int, ...]), is_of(("x",), tuple[int, ...]), is_of(None, int | None)
    (True, False, True)
    """
    if hint in (Any, object):
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(is_of(value, each) for each in args)
    if origin is typing.Literal:
        return value in args
    if origin is tuple and not (len(args) == 2 and args[1] is ...):
        return isinstance(value, tuple) and len(value) == len(args) and all(map(is_of, value, args))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            is_of(k, args[0]) and is_of(v, args[1]) for k, v in value.items()
        )
    if isinstance(origin, type):
        return isinstance(value, origin) and all(is_of(each, args[0]) for each in value)
    if hint is None:
        return value is None
    if isinstance(value, bool) and hint in (int, float):
        return False
    return isinstance(value, hint) or (hint is float and type(value) is int)


__all__ = ["RECORDS", "RecordReader", "RecordWriter", "field_types", "is_of"]
