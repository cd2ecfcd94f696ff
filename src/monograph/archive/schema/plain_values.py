"""Serialised constants: what is neither a tensor, nor a size, nor a record.

Law: nothing is imported to read one. Enums and classes are found among the modules that are loaded;
a class that is not, or that no file may name, is a stand-in of its name.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.errors import Refused
from monograph.archive.schema.enums import LAYOUT_OF, LAYOUTS, MEMORY_FORMAT_OF, MEMORY_FORMATS
from monograph.archive.schema.json_fields import boolean, integer, listed, only_key, text
from monograph.archive.schema.values import (
    device_json,
    device_of,
    dtype_code,
    dtype_of,
    float_json,
    float_of,
)
from monograph.host.objects import AliasText, class_named, is_alias, loaded, name_of, stand_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def find_loaded(fqn: str) -> Any:
    """What `module:Class` names, where that module is loaded already; None else."""
    module, _, qualname = fqn.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


# ---------------------------------------------------------------------------------------- writing
def _enum(value: Enum) -> Any:
    fqn = f"{type(value).__module__}:{type(value).__qualname__}"
    if find_loaded(fqn) is not type(value):
        raise Refused(
            f"{type(value).__module__}.{type(value).__qualname__}", "archive-unknown-type"
        )
    return [fqn, value.name]


def class_name(kind: type) -> str:
    """The name of a class in files.

    Raises: Refused (another class has it, or a file may not name it).
    """
    name = name_of(kind)
    if class_named(name) is not loaded(kind) and class_named(name) is not None:
        raise Refused(name.replace(":", "."), "archive-unknown-type")
    if "<locals>" in name:
        raise Refused(name.replace(":", "."), "archive-unknown-type")
    return name


SIMPLE: Final[Sequence[tuple[Any, str, Callable[[Any], Any]]]] = (
    (Enum, "enum", _enum),
    (float, "float", float_json),
    (complex, "complex", lambda x: [float_json(x.real), float_json(x.imag)]),
    (bytes, "bytes", bytes.hex),
    (torch.dtype, "dtype", dtype_code),
    (torch.device, "device", device_json),
    (torch.layout, "layout", lambda x: LAYOUTS[x]),
    (torch.memory_format, "memory_format", lambda x: MEMORY_FORMATS[x]),
    (type(...), "ellipsis", lambda _: True),
    (type, "class", class_name),
    (AliasText, "alias", lambda x: x.text),
)
"""Constants that hold no others: their class, how they are marked, and what is written."""


def constant_json(value: Any) -> Any:
    """A constant that is part of a structure.

    Raises: Refused.
    """
    kind: Any
    if value is None or type(value) in (bool, str, int):
        return value
    for kind, tag, write in SIMPLE:
        if isinstance(value, kind):
            return {tag: write(value)}
    if isinstance(value, slice | range):
        parts = [constant_json(each) for each in (value.start, value.stop, value.step)]
        return {type(value).__name__: parts}
    if isinstance(value, frozenset):
        return {"set": sorted([constant_json(each) for each in value], key=repr)}
    if is_alias(value):
        return {"alias": repr(value)}
    raise Refused(f"an object holds {value!r}, which no file can hold")


# ---------------------------------------------------------------------------------------- reading
def _read_enum(inner: Any) -> Enum:
    fqn, name = (text(each) for each in listed(inner))
    found = find_loaded(fqn)
    if found is None or not issubclass(found, Enum) or name not in found.__members__:
        raise Refused(f"{fqn[:80]}.{name[:40]}", "archive-unknown-type")
    return found.__members__[name]


def class_of(name: Any, content: type | None = None) -> type:
    """The class of a name, or what stands in for it.

    Raises: Refused.
    """
    module, colon, qualname = text(name).partition(":")
    parts = [*module.split("."), *qualname.split(".")]
    if not colon or len(name) > 1024 or not all(part.isidentifier() for part in parts):
        raise Refused(f"{name[:120]!r} is the name of no class", "archive-unsafe")
    return class_named(name) or stand_in(name, content)


READ_SIMPLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "alias": lambda x: AliasText(text(x)),
    "bytes": lambda x: bytes.fromhex(text(x)),
    "class": class_of,
    "complex": lambda x: complex(*[float_of(each) for each in listed(x)]),
    "device": device_of,
    "dtype": dtype_of,
    "ellipsis": lambda x: ... if boolean(x) else None,
    "enum": _read_enum,
    "float": float_of,
    "layout": lambda x: LAYOUT_OF[integer(x)],
    "memory_format": lambda x: MEMORY_FORMAT_OF[integer(x)],
}


def read_constant(value: Any) -> Any:
    """A constant that is part of a structure.

    Raises: Refused.
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    tag, inner = only_key(value)
    if tag in READ_SIMPLE:
        return READ_SIMPLE[tag](inner)
    parts = [read_constant(each) for each in listed(inner)]
    if tag == "set":
        return frozenset(parts)
    is_range = tag in ("slice", "range") and len(parts) == 3
    if not is_range or not all(each is None or type(each) is int for each in parts):
        raise Refused(f"an object holds a value of kind {tag[:40]!r}")
    return slice(*parts) if tag == "slice" else range(*parts)


__all__ = [
    "READ_SIMPLE",
    "SIMPLE",
    "class_name",
    "class_of",
    "constant_json",
    "find_loaded",
    "read_constant",
]
