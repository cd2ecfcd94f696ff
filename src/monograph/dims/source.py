"""Declarations as source that can be pasted: `batch = Dim("batch", min=2)`, then where it is used.

Law: the lines of `root_lines` and then `declaration_source` evaluate to the declaration again.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from monograph.dims.dim import DerivedDim, Dim, DimHint, from_torch

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOM = 76
"""Columns a declaration may take on one line; a longer one has a line for each argument."""


def dim_definition(dim: Dim) -> str:
    """How a Dim is made, without ends that are open anyway.

    >>> dim_definition(Dim("n", min=2, max=8)), dim_definition(Dim("n"))
    ('Dim("n", min=2, max=8)', 'Dim("n")')
    """
    ends = [f"min={dim.min}"] if dim.min else []
    ends += [] if dim.max is None else [f"max={dim.max}"]
    return f"Dim({', '.join([quoted_name(dim.__name__), *ends])})"


def quoted_name(name: str) -> str:
    """A name in double quotes, as declarations are written here."""
    return f'"{name}"'


def size_source(entry: Any) -> str:
    """One entry of a declaration: `batch`, `2*batch + 1`, `Dim.DYNAMIC(min=2)`, `4`, `None`."""
    return repr(from_torch(entry))


def declaration_source(spec: Any) -> str:
    """A declaration as one expression, over several lines where it is long.

    >>> n = Dim("n")
    >>> declaration_source({"x": {0: n, 1: Dim.AUTO(min=2)}, "y": [(2 * n,)]})
    '{"x": {0: n, 1: Dim.AUTO(min=2)}, "y": [(2*n,)]}'
    """
    line = _nested(spec)
    if len(line) <= _ROOM or not isinstance(spec, dict):
        return line
    inside = "".join(f"    {_key(key)}: {_nested(value)},\n" for key, value in spec.items())
    return f"{{\n{inside}}}"


def root_lines(spec: Any) -> list[str]:
    """A line for each Dim that a declaration is made of, in order of appearance.

    >>> root_lines(((2 * Dim("n", min=1), Dim("m")),))
    ['n = Dim("n", min=1)', 'm = Dim("m")']
    """
    roots = {root.__name__: root for root in roots_of(spec)}
    return [f"{name} = {dim_definition(root)}" for name, root in roots.items()]


def _nested(spec: Any) -> str:
    match spec:
        case dict():
            inside = ", ".join([f"{_key(key)}: {_nested(value)}" for key, value in spec.items()])
            return f"{{{inside}}}"
        case list():
            return f"[{', '.join([_nested(value) for value in spec])}]"
        case tuple():
            inside = ", ".join([_nested(value) for value in spec])
            named = hasattr(spec, "_fields")
            name = type(spec).__name__ if named else ""
            return f"{name}({inside}{',' if len(spec) == 1 and not named else ''})"
        case _ if is_dataclass(spec) and not isinstance(spec, type | DimHint | DerivedDim):
            inside = ", ".join(
                [f"{each.name}={_nested(getattr(spec, each.name))}" for each in fields(spec)]
            )
            return f"{type(spec).__name__}({inside})"
        case _:
            return size_source(spec)


def _key(key: Any) -> str:
    is_plain = isinstance(key, str) and '"' not in key and "\\" not in key
    return f'"{key}"' if is_plain and key.isprintable() else repr(key)


def roots_of(spec: Any) -> Iterator[Dim]:
    """The Dims that a declaration is made of, as often as they are used."""
    entry = from_torch(spec)
    if isinstance(entry, Dim | DerivedDim):
        yield entry if isinstance(entry, Dim) else entry.root
        return
    inside: list[Any] = []
    if isinstance(entry, dict):
        inside = list(entry.values())
    elif isinstance(entry, list | tuple):
        inside = list(entry)
    elif is_dataclass(entry) and not isinstance(entry, type):
        inside = [getattr(entry, each.name) for each in fields(entry)]
    for value in inside:
        yield from roots_of(value)


__all__ = [
    "declaration_source",
    "dim_definition",
    "quoted_name",
    "root_lines",
    "roots_of",
    "size_source",
]
