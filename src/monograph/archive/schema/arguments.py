"""Serialised arguments of a node, as a tagged union: `{"as_ints": [2, 3]}`.

Law: what is written for an argument is read as an equal argument, of the same type except that a
tuple comes back as a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.archive.errors import Refused
from monograph.archive.schema.enums import (
    LAYOUT_OF,
    LAYOUTS,
    MEMORY_FORMAT_OF,
    MEMORY_FORMATS,
    find_operator,
    operator_name,
)
from monograph.archive.schema.json_fields import (
    boolean,
    integer,
    listed,
    mapping,
    only_key,
    small,
    text,
)
from monograph.archive.schema.values import (
    SYMBOLIC,
    device_json,
    device_of,
    dtype_code,
    dtype_of,
    float_json,
    float_of,
    plain_value,
)
from monograph.host.operator_types import HigherOrderOperator, OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.archive.schema.values import Json

# ---------------------------------------------------------------------------------------- writing
PLAIN: Final[Mapping[type, Callable[[Any], Json]]] = {
    bool: lambda x: {"as_bool": x},
    int: lambda x: {"as_int": small(x)},
    float: lambda x: {"as_float": float_json(x)},
    str: lambda x: {"as_string": x},
    complex: lambda x: {"as_complex": {"real": float_json(x.real), "imag": float_json(x.imag)}},
    type(None): lambda _: {"as_none": True},
    torch.dtype: lambda x: {"as_scalar_type": dtype_code(x)},
    torch.device: lambda x: {"as_device": device_json(x)},
    torch.layout: lambda x: {"as_layout": LAYOUTS[x]},
    torch.memory_format: lambda x: {"as_memory_format": MEMORY_FORMATS[x]},
}
EMPTY: Final = {
    "bool": "as_bools",
    "int": "as_ints",
    "float": "as_floats",
    "str": "as_strings",
    "Tensor": "as_tensors",
}
LISTS: Final = {bool: "as_bools", int: "as_ints", float: "as_floats", str: "as_strings"}
SYMBOLIC_LISTS: Final = (
    ("as_sym_int", "as_sym_ints", int, "as_int"),
    ("as_sym_float", "as_sym_floats", float, "as_float"),
    ("as_sym_bool", "as_sym_bools", bool, "as_bool"),
)


class ArgumentWriter:
    """Writes arguments; `name` writes a node by its kind: tensor, number, graph."""

    __slots__ = ("name",)

    def __init__(self, name: Callable[[Node], Json]) -> None:
        self.name = name

    def write(self, value: Any, element: str = "Tensor") -> Json:
        """One argument; `element` is what an empty list would hold.

        Raises: Refused.
        """
        plain = PLAIN.get(type(value))
        if plain is not None:
            return plain(value)
        if isinstance(value, Node):
            return self.name(value)
        if isinstance(value, list | tuple):
            return self._list(list(value), element)
        if isinstance(value, dict):
            return {
                "as_string_to_argument": {
                    text(key): self.write(each) for key, each in value.items()
                }
            }
        if isinstance(value, OpOverload | HigherOrderOperator):
            return {"as_operator": operator_name(value)}
        if isinstance(value, SYMBOLIC):
            constant = plain_value(value)
            if type(constant) in PLAIN:
                return PLAIN[type(constant)](constant)
        raise Refused(f"the graph holds a {type(value).__name__}, which no file can hold")

    def _list(self, values: list[Any], element: str) -> Json:
        if not values:
            return {EMPTY.get(element, "as_ints"): []}
        kinds = {type(value) for value in values}
        if len(kinds) == 1:
            tag = LISTS.get(kinds.copy().pop())
            if tag is not None:
                is_float = tag == "as_floats"
                return {tag: [float_json(value) for value in values] if is_float else values}
        if all(isinstance(value, Node | None) for value in values):
            return self._nodes([None if value is None else self.name(value) for value in values])
        if any(isinstance(value, Node) for value in values):
            return self._numbers(values)
        return self._nested(values)

    def _nodes(self, written: list[Json | None]) -> Json:
        tags = {None if each is None else next(iter(each)) for each in written}
        if tags == {"as_tensor"}:
            return {"as_tensors": [each["as_tensor"] for each in written if each is not None]}
        if tags <= {"as_tensor", None}:
            return {
                "as_optional_tensors": [
                    {"as_none": True} if each is None else each for each in written
                ]
            }
        for tag, tags_many, _, _ in SYMBOLIC_LISTS:
            if tags == {tag}:
                return {tags_many: [each[tag] for each in written if each is not None]}
        named = [_named(each) for each in written]
        if all(named):
            # What control flow is given: readers look up any value by the name in such a list.
            return {"as_tensors": named}
        raise Refused("the graph holds a list of different things, which no file can hold")

    def _numbers(self, values: list[Any]) -> Json:
        """Symbolic numbers among constants."""
        for tag, many, kind, constant in SYMBOLIC_LISTS:
            found: list[Json] = []
            for value in values:
                if isinstance(value, Node):
                    written = self.name(value)
                    if tag not in written:
                        break
                    found.append(written[tag])
                elif type(value) is kind:
                    found.append({constant: float_json(value) if kind is float else value})
                else:
                    break
            else:
                return {many: found}
        raise Refused("the graph holds a list of different things, which no file can hold")

    def _nested(self, values: list[Any]) -> Json:
        rows = [list(value) for value in values if isinstance(value, list | tuple)]
        if len(rows) == len(values):
            kinds = {type(each) for row in rows for each in row}
            if kinds == {int}:
                return {"as_int_lists": rows}
            if kinds == {float}:
                return {"as_float_lists": [[float_json(x) for x in row] for row in rows]}
            if kinds == {Node}:
                named = [[self.name(each) for each in row] for row in rows]
                if all("as_tensor" in each for row in named for each in row):
                    return {
                        "as_nested_tensors": [[each["as_tensor"] for each in row] for row in named]
                    }
        raise Refused("the graph holds a list of different things, which no file can hold")


def _named(written: Json | None) -> Json | None:
    """A value by its name alone, None where it has none."""
    if written is None or "as_graph" in written:
        return None
    ((_, inner),) = written.items()
    name = inner.get("name") or inner.get("as_name") if isinstance(inner, dict) else None
    return None if name is None else {"name": name}


# ---------------------------------------------------------------------------------------- reading
class ArgumentReader:
    """Reads arguments; `node` finds a value by name, `graph` makes the node of a subgraph."""

    __slots__ = ("graph", "node")

    def __init__(self, node: Callable[[str], Any], graph: Callable[[Json], Any]) -> None:
        self.node = node
        self.graph = graph

    def read(self, argument: Any) -> Any:
        """One argument.

        Raises: Refused.
        """
        tag, value = only_key(argument)
        if tag == "as_tensor":
            return self.node(text(mapping(value)["name"]))
        simple = SIMPLE.get(tag)
        if simple is not None:
            return simple(value)
        several = READERS.get(tag)
        if several is None:
            raise Refused(f"an argument is {tag[:40]!r}, which this format does not have")
        return several(self, value)

    def tensors(self, values: Any) -> list[Any]:
        """A list of tensors by name."""
        return [self.node(text(mapping(value)["name"])) for value in listed(values)]

    def symbolic(self, value: Any) -> Any:
        """A symbolic number by name, or a constant."""
        tag, inner = only_key(value)
        if tag == "as_name":
            return self.node(text(inner))
        if tag not in {"as_int", "as_float", "as_bool"}:
            raise Refused(f"a number is {tag[:40]!r}")
        return SIMPLE[tag](inner)

    def optional(self, value: Any) -> Any:
        """A tensor by name, or None."""
        tag, inner = only_key(value)
        if tag not in {"as_none", "as_tensor"}:
            raise Refused(f"an optional tensor is {tag[:40]!r}")
        return None if tag == "as_none" else self.node(text(mapping(inner)["name"]))


def _complex(value: Any) -> complex:
    parts = mapping(value)
    return complex(float_of(parts["real"]), float_of(parts["imag"]))


def _memory_format(value: Any) -> torch.memory_format:
    found = MEMORY_FORMAT_OF.get(integer(value))
    if found is None:
        raise Refused(f"{value} is the number of no memory format")
    return found


def _layout(value: Any) -> torch.layout:
    found = LAYOUT_OF.get(integer(value))
    if found is None:
        raise Refused(f"{value} is the number of no layout")
    return found


def _each(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda values: [read(value) for value in listed(values)]


SIMPLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "as_none": lambda _: None,
    "as_int": integer,
    "as_bool": boolean,
    "as_float": float_of,
    "as_string": text,
    "as_complex": _complex,
    "as_scalar_type": dtype_of,
    "as_device": device_of,
    "as_layout": _layout,
    "as_memory_format": _memory_format,
    "as_operator": lambda name: find_operator(text(name)),
    "as_ints": _each(integer),
    "as_bools": _each(boolean),
    "as_floats": _each(float_of),
    "as_strings": _each(text),
    "as_int_lists": _each(lambda row: tuple([integer(each) for each in listed(row)])),
    "as_float_lists": _each(_each(float_of)),
}
READERS: Final[Mapping[str, Callable[[ArgumentReader, Any], Any]]] = {
    "as_graph": lambda reader, value: reader.graph(mapping(value)),
    "as_tensors": ArgumentReader.tensors,
    "as_nested_tensors": lambda reader, rows: [reader.tensors(row) for row in listed(rows)],
    "as_optional_tensor": ArgumentReader.optional,
    "as_optional_tensors": lambda reader, values: [
        reader.optional(value) for value in listed(values)
    ],
    "as_string_to_argument": lambda reader, values: {
        key: reader.read(value) for key, value in mapping(values).items()
    },
    **{f"as_sym_{kind}": ArgumentReader.symbolic for kind in ("int", "float", "bool")},
    **{
        f"as_sym_{kind}s": lambda reader, values: [
            reader.symbolic(value) for value in listed(values)
        ]
        for kind in ("int", "float", "bool")
    },
}

__all__ = ["ArgumentReader", "ArgumentWriter"]
