"""Recipes: rematerialisation of the values that a segment leaves, as Python expressions.

What was met from outside is itself, tensors are outputs of the graph, and objects that the segment
made are made again, each once however many hold it.
"""

from __future__ import annotations

import functools
import gc
from collections import Counter, OrderedDict, defaultdict, deque
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.frame import Mark
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.jit.graphs.arrays import is_array
from monograph.jit.graphs.sizes import SYMBOLIC, holds_sizes
from monograph.jit.guard_code import (
    ATOMS,
    MAPPINGS,
    container_of,
    is_constant,
    is_odd,
    is_python_class,
    slots_of,
)
from monograph.jit.interpreters import fill_generator

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.jit.guard_code import GuardWriter

__all__ = ["ITERATORS", "NotMade", "RecipeWriter"]

ITERATORS: Final = (
    *(type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")), enumerate, zip),
    *(type(iter({})), type(iter({}.values())), type(iter({}.items())), type(reversed([]))),
    *(type(iter("é")), type(iter(set())), type(iter(deque())), type(iter(OrderedDict()))),
)
"""Iterators in C that say where they stand by `__reduce__`."""
_EXACT: Final = frozenset(
    {
        *(type(iter([])), type(iter(())), type(iter(range(0))), enumerate, zip),
        *(type(iter("")), type(iter("é")), type(reversed([]))),
    }
)
"""Those that can be made again as they are."""
_OF_DICTS: Final = {
    type(iter({})): "",
    type(iter({}.values())): ".values()",
    type(iter({}.items())): ".items()",
}
"""Iterators of dicts, with the view of the dict that they go through."""
_KEPT: Final = (
    *("__qualname__", "__module__", "__doc__", "__type_params__", "__defaults__", "__kwdefaults__"),
)
"""What else a function holds, its attributes and annotations apart."""


class NotMade(Exception):  # noqa: N818 - a signal, which is no error
    """An object that a recipe cannot make; `value` is it."""

    def __init__(self, value: Any, reason: str = "") -> None:
        super().__init__(reason or f"an object of type `{type(value).__name__}`")
        self.value = value


class RecipeWriter:
    """Writes what makes values again; `output` gives the expression of a tensor of the graph."""

    def __init__(
        self,
        guards: GuardWriter,
        output: Callable[[torch.Tensor], str | None],
        is_made: Callable[[Any], bool],
    ) -> None:
        """`is_made` says of a function whether the segment made it."""
        self.lines: list[str] = []
        self.positions: list[str] = []
        """Where iterators stand, once what they go through is as long as it was."""
        self.is_made = is_made
        self._guards = guards
        self._output = output
        self._made: dict[int, str] = {}

    def made(self, value: Any) -> str:  # noqa: C901 - a table
        """The expression that gives a value. Raises: NotMade."""
        kind = type(value)
        if id(value) in self._guards.shared:
            raise NotMade(value)
        if kind is torch.Size and holds_sizes(value):
            return f"{self._guards.constant(torch.Size)}({self.items(value)})"
        if kind in ATOMS:
            if kind is slice and is_odd(value):
                raise NotMade(value)
            return self._guards.constant(value)
        known = self._guards.names.get(id(value)) or self._made.get(id(value))
        if known is not None:
            return known
        if kind in SYMBOLIC and value.read:
            return value.read
        if isinstance(value, torch.Tensor) or kind in SYMBOLIC or is_array(value):
            found = self._output(value)
            if found is None:
                raise NotMade(value)
            return found
        maker = _MAKERS.get(kind)
        if maker is not None:
            return maker(self, value)
        if is_constant(value):
            return self._guards.constant(value)
        return self._object(value)

    def line(self, text: str) -> None:
        """Write a statement."""
        self.lines.append(text)

    def named(self, value: Any, expression: str) -> str:
        """Give a made object a name."""
        name = self._made[id(value)] = f"m{len(self._made)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def function(self, function: Any) -> str:
        """The name of a function that recipes call."""
        return self._guards.constant(function)

    def _object(self, value: Any) -> str:
        kind = type(value)
        if kind in _EXACT:
            return self._iterator(value)
        if kind in _OF_DICTS:
            return self._iterator_of_dict(value, _OF_DICTS[kind])
        if isinstance(value, tuple) and hasattr(kind, "_make") and hasattr(kind, "_fields"):
            return self.named(value, f"{self.function(kind._make)}({self.items(value)})")
        base = container_of(kind)
        if base is None and not is_python_class(kind):
            raise NotMade(value)
        new = (base or object).__new__
        name = self.named(value, f"{self.function(new)}({self.function(kind)})")
        self._fill(value, name, base)
        if hasattr(value, "__dict__"):
            for key, item in value.__dict__.items():
                self.line(f"{name}.__dict__[{key!r}] = {self.made(item)}")
        for slot in slots_of(kind):
            if hasattr(value, slot):
                item = self.made(getattr(value, slot))
                self.line(f"{self.function(object.__setattr__)}({name}, {slot!r}, {item})")
        return name

    def _fill(self, value: Any, name: str, base: Any) -> None:
        """Put items into an object whose class derives from a container."""
        if base is list:
            self.line(
                f"{self.function(list.extend)}({name}, {self.items([*base.__iter__(value)])})"
            )
        elif base is not None:
            write = self.function(base.__setitem__)
            for key, item in base.items(value):
                self.line(f"{write}({name}, {self.made(key)}, {self.made(item)})")

    def _iterator(self, value: Any) -> str:
        reduced = value.__reduce__()
        items = ", ".join(self.made(item) for item in reduced[1])
        name = self.named(value, f"{self.function(reduced[0])}({items})")
        if len(reduced) > 2 and reduced[2] is not None:
            self.positions.append(f"{name}.__setstate__({self.made(reduced[2])})")
        return name

    def _iterator_of_dict(self, value: Any, view: str) -> str:
        """An iterator of a dict that nobody has changed since, by its number of items."""
        (table,) = [each for each in gc.get_referents(value) if isinstance(each, dict)] or [{}]
        rest = value.__length_hint__()
        if id(table) in self._guards.originals:
            raise NotMade(value)
        if table and not rest:  # behind the last item, or the dict has changed since
            try:
                value.__reduce__()
            except RuntimeError:
                raise NotMade(value) from None
        made = self.made(table) if table else "{}"
        name = self.named(value, f"{self.function(iter)}({made}{view})")
        for _ in range(len(table) - rest if table else 1):
            self.line(f"{self.function(next)}({name}, None)")
        return name

    def items(self, values: Any) -> str:
        """The expression of a tuple."""
        return f"({''.join(f'{self.made(item)}, ' for item in values)})"


def _tuple(recipe: RecipeWriter, value: Any) -> str:
    return recipe.named(value, recipe.items(value))


def _list(recipe: RecipeWriter, value: Any) -> str:
    if getattr(value, "maxlen", None) is not None:
        raise NotMade(value)
    name = recipe.named(value, f"{recipe.function(type(value))}()")
    if value:
        recipe.line(f"{name}.extend({recipe.items(value)})")
    return name


def _dict(recipe: RecipeWriter, value: Any) -> str:
    if type(value) is Counter and vars(value):
        raise NotMade(value)
    factory = recipe.made(value.default_factory) if type(value) is defaultdict else ""
    name = recipe.named(value, f"{recipe.function(type(value))}({factory})")
    for key, item in value.items():
        recipe.line(f"{name}[{recipe.made(key)}] = {recipe.made(item)}")
    return name


def _set(recipe: RecipeWriter, value: Any) -> str:
    return recipe.named(value, f"{recipe.function(type(value))}({recipe.items(value)})")


def _cell(recipe: RecipeWriter, value: Any) -> str:
    name = recipe.named(value, f"{recipe.function(CellType)}()")
    try:
        held = value.cell_contents
    except ValueError:
        return name
    recipe.line(f"{name}.cell_contents = {recipe.made(held)}")
    return name


def _function(recipe: RecipeWriter, value: FunctionType) -> str:
    if not recipe.is_made(value):
        return recipe.function(value)
    cells = None if value.__closure__ is None else [*value.__closure__]
    parts = [recipe.function(value.__code__), recipe.function(value.__globals__)]
    parts += [repr(value.__name__), "None"]
    parts.append("None" if cells is None else recipe.items(cells))
    name = recipe.named(value, f"{recipe.function(FunctionType)}({', '.join(parts)})")
    bare = FunctionType(value.__code__, value.__globals__, value.__name__, None, value.__closure__)
    told = "__annotate__" if getattr(value, "__annotate__", None) else "__annotations__"
    for attribute in (*_KEPT, told):
        held = getattr(value, attribute, None)
        if held != getattr(bare, attribute, None):
            recipe.line(f"{name}.{attribute} = {recipe.made(held)}")
    if value.__dict__:
        recipe.line(f"{name}.__dict__.update({recipe.made(value.__dict__)})")
    return name


def _method(recipe: RecipeWriter, value: MethodType) -> str:
    parts = f"{recipe.made(value.__func__)}, {recipe.made(value.__self__)}"
    return recipe.named(value, f"{recipe.function(MethodType)}({parts})")


def _builtin(recipe: RecipeWriter, value: Any) -> str:
    if is_constant(value):
        return recipe.function(value)
    return recipe.named(value, f"{recipe.made(value.__self__)}.{value.__name__}")


def _partial(recipe: RecipeWriter, value: functools.partial[Any]) -> str:
    keywords = recipe.made(value.keywords)
    parts = f"{recipe.made(value.func)}, *{recipe.items(value.args)}, **{keywords}"
    return recipe.named(value, f"{recipe.function(functools.partial)}({parts})")


def _generator(recipe: RecipeWriter, value: InterpretedGenerator) -> str:
    frame = value.frame
    if frame is None or value.running or value.handling.error is not None:
        raise NotMade(value)

    def items(values: list[Any]) -> str:
        made = [recipe.function(v) if type(v) is Mark else recipe.made(v) for v in values]
        return f"({''.join(f'{each}, ' for each in made)})"

    kind = recipe.function(InterpretedGenerator)
    name = recipe.named(value, f"{recipe.function(object.__new__)}({kind})")
    parts = [name, recipe.function(frame.code), str(frame.ip), items(frame.slots)]
    parts += [items(frame.stack), recipe.made(frame.function)]
    recipe.line(f"{recipe.function(fill_generator)}({', '.join(parts)})")
    return name


_MAKERS: Final[dict[type, Callable[[RecipeWriter, Any], str]]] = {
    tuple: _tuple,
    list: _list,
    deque: _list,
    **dict.fromkeys(MAPPINGS, _dict),
    set: _set,
    frozenset: _set,
    CellType: _cell,
    FunctionType: _function,
    MethodType: _method,
    BuiltinFunctionType: _builtin,
    functools.partial: _partial,
    InterpretedGenerator: _generator,
}
