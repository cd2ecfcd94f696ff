"""Reads `dynamic_shapes`: which dimension of which input may vary, and as what.

The declaration mirrors the inputs: by argument name or by position, then nested like the argument
itself; a tensor's entry is a dict from dimension to size, a list of one entry per dimension, or
None; that of an int is one size, and of a float a hint. The whole may be one line of text instead.
All mistakes are collected and reported together.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import MonographError, nearest, problem, together
from monograph.dims.arguments import Arguments
from monograph.dims.cache_forms import by_attributes, is_grouped
from monograph.dims.dim import DerivedDim, Dim, DimHint, from_torch
from monograph.dims.nesting import child_named, children
from monograph.dims.one_line import read_line
from monograph.dims.sparse_forms import by_parts
from monograph.host.trees import Visits
from monograph.integers import parse_relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DICTS = (dict, OrderedDict, defaultdict)
Entry = Dim | DerivedDim | DimHint | None
"""One dimension's declaration after normalisation; None means static."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The entries of one tensor input, by its place among the flattened inputs."""

    leaf: int
    path: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class DeclaredNumber:
    """The entry of one int or float input that differs between calls."""

    leaf: int
    path: str
    entry: Dim | DerivedDim | DimHint


@dataclass(frozen=True, slots=True)
class Specification:
    """Everything a declaration says.

    `relations` are what it states of named sizes beyond ranges and multiples, as text over the
    names: to be read with `parse_relation`, assumed, and checked at every call.
    """

    declared: tuple[Declared, ...] = ()
    numbers: tuple[DeclaredNumber, ...] = ()
    relations: tuple[str, ...] = ()


class _Reader:
    def __init__(self) -> None:
        self.problems: list[MonographError] = []
        self.declared: list[Declared] = []
        self.numbers: list[DeclaredNumber] = []
        self.leaf = 0
        self.visits = Visits()
        self.named: dict[str, tuple[Dim, str]] = {}
        self.sizes: dict[str, tuple[int, str]] = {}

    def refuse(self, name: str, **facts: Any) -> None:
        self.problems.append(problem(name, **facts))

    # --- walking inputs and declaration side by side ----------------------------------------

    def walk(self, value: Any, spec: Any, tensor: str, path: str) -> None:
        """`tensor` is how the input is written (`x[0]`), `path` how its declaration is."""
        found = children(value)
        if found is not None:
            if self.visits.is_again(value):
                return
            if is_grouped(value, spec := by_parts(value, spec)):
                spec = by_attributes(value, spec)
            self._walk_container(value, found, spec, tensor, path)
            return
        leaf, self.leaf = self.leaf, self.leaf + 1
        if isinstance(value, torch.Tensor):
            entries = self._entries(value, spec, tensor, path)
            if any(entry is not None for entry in entries):
                self.declared.append(Declared(leaf, tensor, entries))
        elif type(value) is int or type(value) is float:
            self._number(leaf, value, from_torch(spec), tensor, path)
        elif spec is not None and not _says_static(spec, value):
            self.refuse("spec-on-non-tensor", path=path, given=spec, value=value)

    def _walk_container(
        self, value: Any, inside: list[tuple[str, Any]], spec: Any, tensor: str, path: str
    ) -> None:
        specs = self._match(value, inside, spec, path)
        for (key, child), child_spec in zip(inside, specs, strict=True):
            self.walk(child, child_spec, tensor + key, path + key)

    def _match(self, value: Any, inside: list[tuple[str, Any]], spec: Any, path: str) -> list[Any]:
        """One declaration per child; all None where the structures differ."""
        nothing: list[Any] = [None] * len(inside)
        if spec is None or (isinstance(spec, DimHint) and spec.mode == "STATIC"):
            return nothing
        meant = ""
        if type(spec) is type(value) and is_dataclass(spec):
            # Flattening leaves out fields that are None.
            said = {each.name: getattr(spec, each.name) for each in fields(spec)}
            spec = {name: entry for name, entry in said.items() if entry is not None}
        if isinstance(spec, dict):
            places = {key: _place(value, inside, key) for key in spec}
            unknown = [key for key, place in places.items() if place is None]
            if not unknown and (not isinstance(value, dict) or len(spec) == len(value)):
                for key, place in places.items():
                    nothing[place or 0] = spec[key]
                return nothing
            meant = _meant(unknown, value, inside)
        elif type(value) not in _DICTS:
            found = children(spec)
            if found is not None and len(found) == len(inside):
                return [child for _, child in found]
        self.refuse(
            "spec-structure-differs",
            path=path,
            expected=_describe(value, inside),
            given=_describe(spec, children(spec) or []),
            skeleton=_skeleton(value),
            meant=meant,
        )
        return nothing

    # --- one number --------------------------------------------------------------------------

    def _number(self, leaf: int, value: float, spec: Any, tensor: str, path: str) -> None:
        """An int may be any size, and negative too; a float may vary, but is no size."""
        if _says_nothing(spec) or (type(spec) is type(value) and spec == value):
            return
        if isinstance(spec, DimHint):
            self._check_size(repr(spec), spec.min, spec.max, value, tensor, None, path)
            self.numbers.append(DeclaredNumber(leaf, tensor, spec))
        elif isinstance(spec, Dim | DerivedDim) and isinstance(value, int):
            self._check_named(spec, value, tensor, None, path)
            self.numbers.append(DeclaredNumber(leaf, tensor, spec))
        elif type(spec) is int and type(value) is int:
            self.refuse(
                "spec-static-size-differs",
                path=path,
                tensor=tensor,
                axis=None,
                declared=spec,
                size=value,
            )
        else:
            self.refuse("spec-on-non-tensor", path=path, given=spec, value=value)

    # --- one tensor --------------------------------------------------------------------------

    def _entries(self, value: torch.Tensor, spec: Any, tensor: str, path: str) -> tuple[Entry, ...]:
        rank = value.dim()
        listed: list[Any] = [None] * rank
        if isinstance(spec, dict):
            for dim, entry in spec.items():
                if not isinstance(dim, int) or not -rank <= dim < rank:
                    self.refuse(
                        "spec-wrong-rank", path=path, tensor=tensor, rank=rank, given=_above(dim)
                    )
                    return ()
                listed[dim % rank] = entry
        elif isinstance(spec, list | tuple):
            if len(spec) != rank:
                self.refuse("spec-wrong-rank", path=path, tensor=tensor, rank=rank, given=len(spec))
                return ()
            listed = list(spec)
        elif spec is not None:
            skeleton = _skeleton(value)
            self.refuse(
                "spec-structure-differs",
                path=path,
                expected=f"a tensor of {rank} dimensions",
                given=repr(spec),
                skeleton=skeleton,
            )
        return tuple(
            self._entry(from_torch(entry), value.shape[dim], tensor, dim, f"{path}[{dim}]")
            for dim, entry in enumerate(listed)
        )

    def _entry(self, entry: Any, size: int, tensor: str, axis: int, path: str) -> Entry:
        if entry is None:
            return None
        if isinstance(entry, DimHint):
            if entry.mode == "STATIC":
                return None
            self._check_size(repr(entry), entry.min or 0, entry.max, size, tensor, axis, path)
            return entry
        if isinstance(entry, Dim | DerivedDim):
            self._check_named(entry, size, tensor, axis, path)
            return entry
        if type(entry) is int:
            if entry != size:
                self.refuse(
                    "spec-static-size-differs",
                    path=path,
                    tensor=tensor,
                    axis=axis,
                    declared=entry,
                    size=size,
                )
            return None
        self.refuse("spec-not-a-dim", path=path, given=entry)
        return None

    def _check_named(
        self, entry: Dim | DerivedDim, size: int, tensor: str, axis: int | None, path: str
    ) -> None:
        root = entry if isinstance(entry, Dim) else entry.root
        before, first_path = self.named.setdefault(root.__name__, (root, path))
        if (before.min, before.max) != (root.min, root.max):
            self.refuse(
                "spec-dim-conflict",
                dim=root.__name__,
                first=_range_text(before),
                second=_range_text(root),
                first_path=first_path,
                second_path=path,
            )
            return
        root_size = size
        if isinstance(entry, DerivedDim):
            if not entry.coefficient or (size - entry.offset) % entry.coefficient:
                self.refuse(
                    "spec-derived-unsolvable",
                    path=path,
                    expression=repr(entry),
                    dim=root.__name__,
                    size=size,
                )
                return
            root_size = (size - entry.offset) // entry.coefficient
        known, known_path = self.sizes.setdefault(root.__name__, (root_size, _where(tensor, axis)))
        if known != root_size:
            self.refuse(
                "spec-dim-sizes-differ",
                dim=root.__name__,
                first_path=known_path,
                first_size=known,
                second_path=_where(tensor, axis),
                second_size=root_size,
            )
            return
        self._check_size(root.__name__, root.min, root.max, root_size, tensor, axis, path)

    def _check_size(
        self,
        dim: str,
        lower: int | None,
        upper: int | None,
        size: float,
        tensor: str,
        axis: int | None,
        path: str,
    ) -> None:
        if (lower is not None and size < lower) or (upper is not None and size > upper):
            self.refuse(
                "spec-size-outside-range",
                path=path,
                tensor=tensor,
                axis=axis,
                dim=dim,
                size=size,
                lower=lower,
                upper=upper,
            )


def read_specification(
    dynamic_shapes: Any, arguments: Mapping[str, Any] | Arguments
) -> Specification:
    """What is declared of every input that has a declaration.

    `arguments` are the example inputs by parameter name, in the order they are flattened.

    Raises: SpecError, with every mistake found.
    """
    if not isinstance(arguments, Arguments):
        arguments = Arguments(dict(arguments), tuple(arguments))
    relations: tuple[str, ...] = ()
    if isinstance(dynamic_shapes, str):
        dynamic_shapes, relations = read_line(dynamic_shapes, arguments.by_name)
    reader = _Reader()
    for name, spec in _by_argument(dynamic_shapes, arguments, reader).items():
        reader.walk(arguments.by_name[name], spec, name, f'dynamic_shapes["{name}"]')
    for relation in relations:
        _check_relation(relation, reader)
    if reader.problems:
        raise together(reader.problems)
    return Specification(tuple(reader.declared), tuple(reader.numbers), relations)


def _check_relation(relation: str, reader: _Reader) -> None:
    """The example inputs are legal inputs, so what is stated of sizes holds for theirs."""
    sizes = {name: size for name, (size, _) in reader.sizes.items()}
    try:
        fails = parse_relation(relation, sizes) is False
    except ArithmeticError:
        fails = True
    except ValueError:
        # A name has no size, because its dimension was refused; that is said already.
        return
    if fails:
        reader.refuse("spec-relation-fails", relation=relation, sizes=sizes)


def _by_argument(spec: Any, arguments: Arguments, reader: _Reader) -> dict[str, Any]:
    """The declaration of each argument, None where it says nothing."""
    found: dict[str, Any] = dict.fromkeys(arguments.by_name)
    if isinstance(spec, dict):
        for name, entry in spec.items():
            if name in found:
                found[name] = entry
            elif _is_gathered(name, entry, arguments):
                found.update(entry or {})
            else:
                reader.refuse(
                    "spec-unknown-argument", argument=str(name), arguments=arguments.by_name
                )
    elif isinstance(spec, list | tuple):
        listed = list(spec)
        plain = [name for name in arguments.in_signature if name not in arguments.extra]
        if len(listed) == len(plain) + 1 and _is_gathered(None, listed[-1], arguments):
            found.update(listed.pop() or {})
        if len(listed) > len(found):
            reader.refuse(
                "spec-structure-differs",
                path="dynamic_shapes",
                expected=f"{len(found)} arguments",
                given=f"a {type(spec).__name__} of {len(spec)}",
                skeleton={name: _skeleton(value) for name, value in arguments.by_name.items()},
            )
        found.update(zip(arguments.in_signature, listed, strict=False))
    elif spec is not None:
        reader.refuse("spec-not-a-dim", path="dynamic_shapes", given=spec)
    return found


def _is_gathered(name: Any, entry: Any, arguments: Arguments) -> bool:
    """Whether an entry is about all that `**kwargs` gathers, and fits that."""
    if name is not None and name not in {arguments.gathered, "kwargs"}:
        return False
    names = arguments.extra if arguments.gathered else frozenset(arguments.by_name)
    return entry is None or (isinstance(entry, dict) and set(entry) <= names)


def _place(value: Any, inside: list[tuple[str, Any]], key: Any) -> int | None:
    """Which child a key is about; what is no dict may also be counted."""
    if type(key) is int and not isinstance(value, dict):
        return key if 0 <= key < len(inside) else None
    return child_named(inside, key)


def _meant(unknown: list[Any], value: Any, inside: list[tuple[str, Any]]) -> str:
    """How the first unknown key was probably meant, "" if nobody can tell."""
    keys = [str(key) for key in value] if isinstance(value, dict) else _fields(inside)
    return next(filter(None, (nearest(str(key), keys) for key in unknown)), "")


def _fields(inside: list[tuple[str, Any]]) -> list[str]:
    return [name.removeprefix(".") for name, _ in inside]


def _where(tensor: str, axis: int | None) -> str:
    return tensor if axis is None else f"{tensor}.shape[{axis}]"


def _says_nothing(spec: Any) -> bool:
    """Whether a declaration leaves a number as it is."""
    if isinstance(spec, DimHint):
        return spec.mode == "STATIC"
    return spec is None or (isinstance(spec, list | tuple | dict) and not spec)


def _says_static(spec: Any, value: Any) -> bool:
    """Whether a non-tensor's declaration merely repeats that it is fixed."""
    entry = from_torch(spec)
    if isinstance(entry, DimHint):
        return entry.mode != "DYNAMIC"
    return (isinstance(entry, list | tuple | dict) and not entry) or entry is value


def _above(dim: Any) -> int:
    return abs(dim) + 1 if isinstance(dim, int) else 0


def _range_text(dim: Dim) -> str:
    return f"{dim.min} … {'' if dim.max is None else dim.max}".strip()


def _describe(value: Any, inside: Sequence[tuple[str, Any]]) -> str:
    if isinstance(value, dict):
        keys = ", ".join(f"`{key}`" for key in value)
        return f"a dict with keys {keys}" if keys else "an empty dict"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if inside:
        return f"a {type(value).__name__} of {len(inside)}"
    return repr(value) if not isinstance(value, torch.Tensor) else "a tensor"


def _skeleton(value: Any) -> Any:
    """A declaration of the right structure in which everything is fixed."""
    if isinstance(value, dict):
        return {key: _skeleton(child) for key, child in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_skeleton(child) for child in value)
    found = children(value)
    return None if found is None else [_skeleton(child) for _, child in found]
