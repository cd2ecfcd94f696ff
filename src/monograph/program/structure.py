"""Flattening of a call's arguments into the leaves that a graph takes, and their paths.

Law: arguments are accepted when their structure is that of the example, exactly: the same container
types, lengths, keys of the same types in the same order, contexts of registered types. Two
freedoms, which change nothing the model could see: arguments that the signature names come by
keyword in any order, and by position or by name where it allows both.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from monograph.diagnostics import Clause, problem
from monograph.host.calling import kept_out_of_dynamo, recorded_by_fx
from monograph.host.objects import CHILD, ObjectState, fits, is_object, steps, unlike
from monograph.host.trees import (
    ObjectNode,
    SharedNode,
    Visits,
    children_of,
    is_container,
    leaf_paths,
    node_type,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from monograph.host.trees import TreeSpec
    from monograph.program.signature import CallNames

Flattened = list[Any]


def input_paths(names: CallNames, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Return where each leaf is, as a user writes it: `x`, `y[0]`, `batch['mask']`, `cache.k`."""
    roots = [
        *zip(names.positional, args, strict=True),
        *((name, kwargs[name]) for name in names.keywords),
    ]
    visits = Visits()
    return [path for name, value in roots for path in leaf_paths(name, value, visits)]


def _parts(value: object) -> tuple[list[Any], Any] | None:
    """Return the children and the context of a container, None for a leaf."""
    return parts_of(value, node_type(value)) if is_container(value) else None


# ------------------------------------------------------------------------------------- flattening
class _FlattenCode:
    """Writes straight-line code that takes a structure apart, or raises `Differs`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {"Differs": _DiffersError}
        self.constants |= {"children": _children, "alike": _alike}
        self.leaves: list[str] = []
        self.objects: list[str] = []
        self.n_around = 0
        self.containers: list[str] = []
        """What lies in objects and is to be a list or a dict of its own."""
        self.count = 0

    def fresh(self, prefix: str, value: Any = None) -> str:
        self.count += 1
        name = f"{prefix}{self.count}"
        if value is not None:
            self.constants[name] = value
        return name

    def take_apart(self, name: str, spec: TreeSpec) -> None:
        """Write the code for one node, named `name`, and everything below it."""
        if spec.is_leaf():
            self.leaves.append(name)
            return
        if spec.type is SharedNode:
            self.refuse(f"{name} is not {self.objects[spec.context]}")
            return
        if self.n_around and spec.type in _MUTABLE:
            self.containers.append(name)
        if spec.type is ObjectNode:
            if self.objects:
                self.refuse(" or ".join([f"{name} is {other}" for other in self.objects]))
            self.objects.append(name)
        parts = [self.fresh("v") for _ in range(spec.num_children)]
        targets = "".join(f"{part}, " for part in parts)
        if spec.type in _EXACT:
            expected = self.fresh("type_", spec.type)
            keys = self.fresh("keys_", list(spec.context)) if spec.type in _DICTS else ""
            differs = f" or not alike(list({name}), {keys})" if keys else ""
            self.refuse(f"type({name}) is not {expected} or len({name}) != {len(parts)}{differs}")
            source = f"{name}.values()" if keys else name
        else:
            source = f"children({name}, {self.fresh('spec_', spec)})"
        if parts:
            self.lines.append(f"{targets}= {source}")
        elif spec.type not in _EXACT:
            self.lines.append(source)
        self.n_around += spec.type is ObjectNode
        for part, child in zip(parts, spec.children(), strict=True):
            self.take_apart(part, child)
        self.n_around -= spec.type is ObjectNode

    def refuse(self, condition: str) -> None:
        self.lines.append(f"if {condition}: raise Differs")


_DICTS: tuple[Any, ...] = (dict, OrderedDict)
_EXACT: tuple[Any, ...] = (tuple, list, *_DICTS)
_MUTABLE: tuple[Any, ...] = (list, deque, defaultdict, *_DICTS)


class _DiffersError(Exception):
    """The structure is not the example's; `structure_clause` says how."""


def _children(value: object, spec: TreeSpec) -> list[Any]:
    """Return the children of a container of a registered type, if it is like the example's."""
    if spec.type is not ObjectNode and node_type(value) is not spec.type:
        raise _DiffersError
    if spec.type is ObjectNode and not is_object(value):
        raise _DiffersError
    parts, context = parts_of(value, spec.type)
    if len(parts) != spec.num_children or not _alike(context, spec.context):
        raise _DiffersError
    return parts


def _alike(one: Any, other: Any) -> bool:
    """Whether keys or contexts are equal, and of the same types: 1 is not True, nor 1.0."""
    if isinstance(one, ObjectState):
        return isinstance(other, ObjectState) and fits(other, one)
    if one != other or type(one) is not type(other):
        return False
    return not isinstance(one, list | tuple) or all(map(_alike, one, other))


def compile_flatten(in_spec: TreeSpec, names: CallNames) -> Callable[[Any, Any], Flattened]:
    """Make the function from `(args, kwargs)` to the flat leaves.

    Raises: contract-broken.
    """
    writer = _FlattenCode()
    args_spec, kwargs_spec = in_spec.children()
    positional = [writer.fresh("v") for _ in names.positional]
    writer.refuse(f"len(args) != {len(positional)} or len(kwargs) != {len(names.keywords)}")
    if positional:
        writer.lines.append(f"{''.join(f'{each}, ' for each in positional)}= args")
    for name, spec in zip(positional, args_spec.children(), strict=True):
        writer.take_apart(name, spec)
    if names.gathered:
        gathered = writer.fresh("gathered_", list(names.gathered))
        writer.refuse(f"[key for key in kwargs if key in {gathered}] != {gathered}")
    for key, spec in zip(names.keywords, kwargs_spec.children(), strict=True):
        name = writer.fresh("v")
        writer.lines.append(f"{name} = kwargs[{key!r}]")
        writer.take_apart(name, spec)
    if len(writer.containers) > 1:
        ids = ", ".join([f"id({name})" for name in writer.containers])
        writer.refuse(f"len({{{ids}}}) != {len(writer.containers)}")
    body = "\n        ".join(writer.lines)
    source = (
        "def flat_inputs(args, kwargs):\n"
        "    try:\n"
        f"        {body}\n"
        "    except (Differs, KeyError):\n"
        "        pass\n"
        "    else:\n"
        f"        return [{', '.join(writer.leaves)}]\n"
        "    return others(args, kwargs)\n"
    )

    @kept_out_of_dynamo("this call does not fit the program: uncompiled, it says how")
    def others(args: Any, kwargs: Any) -> Any:
        found = recorded_by_fx(namespace["flat_inputs"], (args, kwargs))
        if found is not None:
            return found
        clause = structure_clause(in_spec, names, args, kwargs)
        raise problem("contract-broken", clauses=[clause])

    namespace: dict[str, Any] = {**writer.constants, "others": others}
    exec(compile(source, f"{__file__}, generated", "exec"), namespace)  # noqa: S102  (written above)
    namespace["flat_inputs"].__module__ = __name__  # torch.fx asks for it
    return namespace["flat_inputs"]


# ------------------------------------------------------------------------------------ differences
def structure_clause(
    in_spec: TreeSpec, names: CallNames, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Clause:
    """Return the first difference between a call's structure and the example's."""
    given, extra = _bound(names, args, kwargs)
    if extra:
        return Clause(extra[0][0], "no argument", _described(extra[0][1]))
    args_spec, kwargs_spec = in_spec.children()
    specs = zip(
        (*names.positional, *names.keywords),
        (*args_spec.children(), *kwargs_spec.children()),
        strict=True,
    )
    met: list[tuple[str, Any]] = []
    for name, spec in specs:
        if name not in given:
            return Clause(name, _expected(spec), "no argument")
        clause = _difference(name, spec, given[name], met)
        if clause is not None:
            return clause
    order = [name for name in kwargs if name in names.gathered]
    if order != list(names.gathered):
        words = f"the keywords in the order {', '.join(names.gathered)}"
        return Clause(f"**{names.gatherer}", words, ", ".join(order))
    return Clause("forward", "arguments structured as in the example", "others")


def _bound(
    names: CallNames, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Return the arguments by name, and those for which there is no name."""
    by_position = (*names.positional, *names.either_way)
    given = dict(zip(by_position, args, strict=False))
    extra = [(f"args[{index}]", args[index]) for index in range(len(by_position), len(args))]
    by_name = {*names.positional[names.n_position_only :], *names.keywords}
    for name, value in kwargs.items():
        if name in given or name not in by_name:
            extra.append((name, value))
        else:
            given[name] = value
    return given, extra


def _difference(
    path: str, spec: TreeSpec, value: object, met: list[tuple[str, Any]]
) -> Clause | None:
    """The first difference at or below a path; `met` are the objects before, which it joins."""
    if spec.is_leaf():
        return None
    if spec.type is SharedNode:
        other, same = met[spec.context]
        return None if value is same else Clause(path, f"the object at {other}", "another")
    if spec.type is ObjectNode:
        again = next((other for other, each in met if each is value), None)
        if again is not None:
            return Clause(path, "an object of its own", f"the one at {again}")
        met.append((path, value))
        clause = _unlike(path, spec.context, value)
        if clause is not None:
            return clause
    return _difference_inside(path, spec, value, met)


def _unlike(path: str, expected: ObjectState, value: object) -> Clause | None:
    """In what an object that is taken by its attributes differs, beside its children."""
    if not is_object(value):
        return Clause(path, with_article(expected.kind.__name__), _described(value))
    given = parts_of(value, ObjectNode)[1]
    step = unlike(expected, given)
    if step is None:
        return None
    names = [", ".join([name for name, _ in each.attributes]) for each in (expected, given)]
    if not step and names[0] != names[1] and expected.kind is given.kind:
        return Clause(path, f"its attributes in the order {names[0]}", names[1])
    if not step:
        return Clause(path, with_article(expected.kind.__name__), with_article(given.kind.__name__))
    name = step.removeprefix(".")
    return Clause(path + step, _attribute(expected, name), _attribute(given, name))


def _attribute(state: ObjectState, name: str) -> str:
    """What an object has under a name, in words."""
    held = dict(state.attributes)
    if name not in held:
        return "no such attribute"
    return "a tensor, number or container" if held[name] is CHILD else repr(held[name])


def _difference_inside(
    path: str, spec: TreeSpec, value: object, met: list[tuple[str, Any]]
) -> Clause | None:
    if spec.type is ObjectNode:
        parts, names = parts_of(value, ObjectNode)[0], steps(spec.context)
        found = (
            _difference(path + step, child, part, met)
            for step, child, part in zip(names, spec.children(), parts, strict=True)
        )
        return next((clause for clause in found if clause is not None), None)
    parts = _parts(value)
    if parts is None or node_type(value) is not spec.type or not _alike(parts[1], spec.context):
        return Clause(path, _expected(spec), _described(value))
    if len(parts[0]) != spec.num_children:
        return Clause(path, _expected(spec), _described(value))
    found = (
        _difference(path + step, child, part, met)
        for (step, part), child in zip(children_of(value), spec.children(), strict=True)
    )
    return next((clause for clause in found if clause is not None), None)


def with_article(noun: str) -> str:
    """Return the noun with "a" or "an", by its first letter.

    >>> with_article("int"), with_article("dict")
    ('an int', 'a dict')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _expected(spec: TreeSpec) -> str:
    if spec.is_leaf():
        return "an argument"
    return _container(spec.type, spec.context, spec.num_children)


def _described(value: object) -> str:
    parts = _parts(value)
    if parts is None:
        return "None" if value is None else with_article(type(value).__name__)
    return _container(node_type(value), parts[1], len(parts[0]))


def _container(node_type: Any, context: Any, count: int) -> str:
    if node_type is ObjectNode:
        return with_article(context.kind.__name__)
    if node_type in _DICTS:
        keys = ", ".join(repr(key) for key in context)
        name = with_article(node_type.__name__)
        return f"{name} with the keys {keys}" if count else f"{name} without keys"
    name = getattr(context, "__name__", "") if node_type not in _EXACT else ""
    return f"{with_article(name or node_type.__name__)} of {count}"
