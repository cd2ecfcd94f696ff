"""Suggested fixes are put into a declaration: names get other sizes, hints become numbers.

The structure of the declaration stays as it is, and so does every entry that nothing is said about.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from monograph.diagnostics import ConstraintViolation
from monograph.dims.dim import DerivedDim, Dim, DimHint, from_torch
from monograph.dims.linear import linear
from monograph.dims.source import dim_definition, size_source
from monograph.dims.specification import read_specification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.dims.arguments import Arguments

Size = int | float | Dim | DerivedDim | DimHint
"""What an entry of a declaration may become."""

_TITLE: Final = re.compile(r"^suggested fixes:", re.IGNORECASE | re.MULTILINE)
_FIX: Final = re.compile(r"\s+([^=]+?) = (.+)")


@dataclass(frozen=True, slots=True)
class Fixes:
    """What is to change in a declaration.

    `equations` say what a declared name is, over names that stay or are new; in their order they
    can be pasted. `roots` are the Dims that are new or have another range. `places` are hints, by
    the path of their size (`x.shape[0]`). `relations` say of a name that became a hint what the
    one-line form can say of it: `a == b + c`.
    """

    equations: Mapping[str, Size] = field(default_factory=dict[str, Size])
    roots: Mapping[str, Dim] = field(default_factory=dict[str, Dim])
    places: Mapping[str, Size] = field(default_factory=dict[str, Size])
    relations: tuple[str, ...] = ()

    def lines(self) -> dict[str, str]:
        """The fixes as text by what they are about, to be pasted in this order.

        >>> n = Dim("_n")
        >>> Fixes({"n": 2 * n}, {"_n": n}, {"x.shape[1]": 4}).lines()
        {'_n': 'Dim("_n")', 'n': '2*_n', 'x.shape[1]': '4'}
        """
        found = {name: dim_definition(root) for name, root in self.roots.items()}
        found |= {name: size_source(size) for name, size in self.equations.items()}
        return found | {path: size_source(size) for path, size in self.places.items()}

    def clauses(self) -> list[str]:
        """The fixes in the one-line form, which has no hints.

        >>> Fixes({"d": 4}, {"n": Dim("n", min=3, max=8)}).clauses()
        ['d == 4', 'n >= 3', 'n <= 8']
        """
        said = [
            f"{name} == {size!r}"
            for name, size in self.equations.items()
            if not isinstance(size, DimHint)
        ]
        said += self.relations
        for name, root in self.roots.items():
            said += [f"{name} >= {root.min}"] if root.min else []
            said += [] if root.max is None else [f"{name} <= {root.max}"]
        return said

    def sizes(self) -> dict[str, Size]:
        """What each name becomes, over roots alone."""
        known: dict[str, Size] = dict(self.roots)
        waiting = dict(self.equations)
        while waiting:
            name = next(iter(waiting))
            known[name] = _settled(name, waiting, known)
        return known


def _settled(name: str, waiting: dict[str, Size], known: dict[str, Size]) -> Size:
    """What a name becomes, with what its own root becomes in the place of that."""
    size = waiting.pop(name)
    root = size.root if isinstance(size, DerivedDim) else size
    if isinstance(root, Dim):
        if root.__name__ in waiting:
            known[root.__name__] = _settled(root.__name__, waiting, known)
        if root.__name__ in known:
            return _scaled(size, known[root.__name__])
    return size


def _scaled(entry: Size, root: Size) -> Size:
    """An entry with another size in the place of its root; a hint takes the place of all."""
    if not isinstance(entry, DerivedDim) or isinstance(root, DimHint):
        return root
    return cast("Any", root) * entry.coefficient + entry.offset


def refined(spec: Any, fixes: Fixes, arguments: Arguments | None = None) -> Any:
    """The declaration with the fixes put in.

    Hints are found by their place among the `arguments`, or, without those, by their path in a
    declaration by argument name.
    """
    if isinstance(spec, str):
        return "; ".join([spec.rstrip("; "), *fixes.clauses()])
    sizes = fixes.sizes()

    def entry_of(entry: Any) -> Any:
        ours = from_torch(entry)
        root = ours.root if isinstance(ours, DerivedDim) else ours
        if isinstance(root, Dim) and root.__name__ in sizes:
            return _scaled(ours, sizes[root.__name__])
        return entry

    if fixes.places:
        spec = _at_places(spec, fixes.places, arguments)
    return _mapped(spec, entry_of)


def _at_places(spec: Any, places: Mapping[str, Size], arguments: Arguments | None) -> Any:
    if arguments is None:
        for path, size in places.items():
            found = _at_path(spec, _steps(path), size)
            if found is None:
                raise ValueError(
                    f"nothing is declared of {path} by its name; pass the error itself"
                )
            spec = found
        return spec
    # A hint has no name, so each occurrence is made an object of its own, and found as that.
    tagged = _mapped(spec, _own_hint)
    found = read_specification(tagged, arguments)
    paths = {
        id(entry): f"{each.path}.shape[{axis}]"
        for each in found.declared
        for axis, entry in enumerate(each.entries)
    }
    paths |= {id(each.entry): each.path for each in found.numbers}
    return _mapped(tagged, lambda entry: places.get(paths.get(id(entry), ""), entry))


def _own_hint(entry: Any) -> Any:
    ours = from_torch(entry)
    return replace(ours) if isinstance(ours, DimHint) else entry


def _mapped(spec: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with every entry changed."""
    if isinstance(spec, dict):
        pairs = {key: _mapped(value, change) for key, value in cast("Any", spec).items()}
        takes_pairs = type(spec) is not dict and not hasattr(spec, "default_factory")
        return type(spec)(pairs) if takes_pairs else pairs
    if isinstance(spec, list):
        return [_mapped(value, change) for value in cast("Any", spec)]
    if isinstance(spec, tuple):
        values = [_mapped(value, change) for value in cast("Any", spec)]
        return type(spec)(*values) if hasattr(spec, "_fields") else tuple(values)
    if is_dataclass(spec) and not isinstance(spec, type | DimHint | DerivedDim):
        named = {each.name: _mapped(getattr(spec, each.name), change) for each in fields(spec)}
        return replace(spec, **named)
    return change(spec)


def _steps(path: str) -> list[Any]:
    """`x['k'][0].shape[1]` as the keys that lead there: x, k, 0, 1."""
    found = re.findall(r"\.shape\[(\d+)\]|\[(-?\d+)\]|\['([^']*)'\]|\.?([A-Za-z_]\w*)", path)
    return [
        int(number) if number else key
        for shape, index, quoted, plain in found
        for number, key in [(shape or index, quoted or plain)]
    ]


def _at_path(spec: Any, steps: list[Any], size: Size) -> Any:
    """The declaration with this size at the end of a path, None where there is no such place."""
    if not steps:
        return size
    key, *rest = steps
    if isinstance(spec, dict):
        items: dict[Any, Any] = cast("Any", spec)
        inside = _at_path(items[key], rest, size) if key in items else None
        return None if inside is None else {**items, key: inside}
    if not isinstance(spec, list | tuple) or not isinstance(key, int):
        return None
    values: list[Any] = list(cast("Any", spec))
    inside = _at_path(values[key], rest, size) if key < len(values) else None
    if inside is None:
        return None
    values[key] = inside
    if hasattr(spec, "_fields"):
        return type(spec)(*values)
    return values if isinstance(spec, list) else tuple(values)


def fixes_in(text: str) -> Fixes:
    r"""The fixes below `suggested fixes:` in a message, ours or torch.export's.

    >>> fixes_in("suggested fixes:\n  d1 = 4\n  dy = dx\n  b = Dim('b', min=3)").lines()
    {'b': 'Dim("b", min=3)', 'd1': '4', 'dy': 'dx'}
    """
    title = _TITLE.search(text)
    equations: dict[str, Size] = {}
    roots: dict[str, Dim] = {}
    places: dict[str, Size] = {}
    for line in text[title.end() :].lstrip("\n").splitlines() if title else ():
        found = _FIX.fullmatch(line)
        if found is None:
            break
        name, size = found[1], _size(found[2])
        if size is None:
            continue
        if not name.isidentifier():
            places[name] = size
        elif isinstance(size, Dim) and size.__name__ == name:
            roots[name] = size
        else:
            equations[name] = size
    return Fixes(equations, roots, places)


def _size(text: str) -> Size | None:
    """What stands after `=` in a fix; None where it is no size."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    match tree:
        case ast.Attribute(value=ast.Name(id="Dim"), attr="AUTO" | "DYNAMIC" | "STATIC" as mode):
            return DimHint(cast("Any", mode))
        case ast.Call(func=ast.Attribute() as hint, args=[]) if isinstance(
            made := _size(ast.unparse(hint)), DimHint
        ):
            return made(**_ends(tree))
        case ast.Call(func=ast.Name(id="Dim"), args=[ast.Constant(value=str(name))]):
            return Dim(name, **_ends(tree))
        case ast.Constant(value=float(value)):
            return value
        case _:
            found = linear(tree)
            if found is None or isinstance(found, int):
                return found
            root = Dim(found.name)
            return root if found.is_name else root * found.coefficient + found.offset


def _ends(call: ast.Call) -> dict[str, Any]:
    return {
        each.arg: each.value.value
        for each in call.keywords
        if each.arg in {"min", "max"} and isinstance(each.value, ast.Constant)
    }


def refine_dynamic_shapes(spec: Any, error: ConstraintViolation | str) -> Any:
    r"""The declaration with the suggested fixes of a refusal, or of the text of its message.

    `spec` is what was given as `dynamic_shapes`. An error knows it with the inputs, so what it
    suggests is what comes back; from text, the fixes are put into `spec` by name and by path.

    Raises: ValueError, where nothing is suggested.

    >>> refine_dynamic_shapes({"x": (Dim("d1"), None)}, "suggested fixes:\n  d1 = 4")
    {'x': (4, None)}
    """
    if isinstance(error, ConstraintViolation):
        if error.suggestions:
            return error.suggested_dynamic_shapes
        raise ValueError("this error suggests no fixes of dynamic_shapes")
    fixes = fixes_in(str(error))
    if not fixes.equations and not fixes.roots and not fixes.places:
        raise ValueError("this message has no `suggested fixes:` that can be read")
    return refined(spec, fixes)


def refine_dynamic_shapes_from_suggested_fixes(
    msg: str | ConstraintViolation, dynamic_shapes: Any
) -> Any:
    """`refine_dynamic_shapes` under torch.export's name, with its order of arguments.

    Raises: ValueError, where nothing is suggested.
    """
    return refine_dynamic_shapes(dynamic_shapes, msg)


__all__ = [
    "Fixes",
    "Size",
    "fixes_in",
    "refine_dynamic_shapes",
    "refine_dynamic_shapes_from_suggested_fixes",
    "refined",
]
