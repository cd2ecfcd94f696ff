"""Serialised pytree structures: containers by the names they are registered under.

Law: nothing is imported to read one. A class is found among those registered with pytrees in this
process, an enum among the modules that are loaded.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.json_fields import integer, listed, mapping, parse_json, text
from monograph.archive.schema.plain_values import (
    class_name,
    class_of,
    constant_json,
    find_loaded,
    read_constant,
)
from monograph.host.objects import CHILD, ObjectState, SparseParts, base_of
from monograph.host.trees import ObjectNode, SharedNode, pytree
from monograph.lazy_imports import resolved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.host.trees import TreeSpec

VERSION = 1
OBJECT, SHARED = "monograph.object", "monograph.shared"
"""The types of nodes that are objects, and objects again; no class has a name like these."""
DEEPEST = 64

FACTORIES: Final[Mapping[str, Any]] = {
    each.__name__: each for each in (bool, dict, float, int, list, set, str, tuple)
}
CONTENTS: Final[Mapping[str, type]] = {
    each.__name__: each for each in (OrderedDict, dict, list, tuple, deque)
}
NAMED_TUPLE: Final = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE["collections.namedtuple"]
NAMELESS: Final = pytree.NO_SERIALIZED_TYPE_NAME_FOUND


# ---------------------------------------------------------------------------------------- writing
def structure_text(spec: TreeSpec, fields: dict[str, list[str]]) -> str:
    """The text of a structure; the fields of named tuples are entered into `fields`.

    Raises: Refused (archive-unknown-type, or what the keys are cannot be written).
    """
    return json.dumps([VERSION, _node(spec, fields)], separators=(", ", ": "))


def _node(spec: TreeSpec, fields: dict[str, list[str]]) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if spec.type is SharedNode:
        return {"type": SHARED, "context": str(spec.context), "children_spec": []}
    if spec.type is ObjectNode:
        context = json.dumps(_state_json(spec.context))
        children = [_node(child, fields) for child in spec.children()]
        return {"type": OBJECT, "context": context, "children_spec": children}
    return {
        "type": _type_name(spec.type),
        "context": _context(spec, fields),
        "children_spec": [_node(child, fields) for child in spec.children()],
    }


def _state_json(state: ObjectState) -> dict[str, Any]:
    """The class and the attributes of an object; null is a child."""
    attributes = [
        [name, None if value is CHILD else [constant_json(value)]]
        for name, value in state.attributes
    ]
    content = None if state.content is None else state.content.__name__
    return {"class": class_name(state.kind), "content": content, "attributes": attributes}


def _type_name(kind: Any) -> str:
    """The name a class is registered under for files, else where it is defined."""
    registered = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    if registered is not None and registered.serialized_type_name != NAMELESS:
        name = registered.serialized_type_name
        # Another class may have taken the name since.
        if pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name) is kind:
            return name
    name = f"{kind.__module__}:{kind.__qualname__}"
    if find_loaded(name) is not kind:
        raise Refused(f"{kind.__module__}.{kind.__qualname__}", "archive-unknown-type")
    return name


def is_named_there(kind: type) -> bool:
    """Whether torch.export's files have a name for a class of containers."""
    return kind is not SharedNode and ":" not in _type_name(kind)


def _context(spec: TreeSpec, fields: dict[str, list[str]]) -> Any:
    if spec.type is NAMED_TUPLE:
        name = _type_name(spec.context)
        fields[name] = list(spec.context._fields)
        return name
    definition = pytree.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if definition is not None and definition.to_dumpable_context is not None:
        return definition.to_dumpable_context(spec.context)
    written = json.dumps(spec.context, default=_enum_json)
    if _context_of(json.loads(written)) != spec.context:
        raise Refused(f"the keys {spec.context!r} of a container cannot be written")
    return written


def _enum_json(value: Any) -> Any:
    if not isinstance(value, Enum):
        raise Refused(f"a container has {value!r} for a key, which no file can hold")
    fqn = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"__enum__": True, "fqn": fqn, "name": value.name}


# ---------------------------------------------------------------------------------------- reading
REGISTERING: Final = "transformers.modeling_outputs"
"""Registers the results of models when it is imported: the one module that a file's names import.
"""


def read_structure(written: Any) -> TreeSpec:
    """The structure of a text.

    Raises: Refused.
    """
    version, node = listed(parse_json(memoryview(text(written).encode())))
    if integer(version) != VERSION:
        raise Refused(f"a structure of version {version}", "archive-newer")
    found = _spec(mapping(node), 0)
    _check_shared(found, 0)
    return found


def _check_shared(spec: TreeSpec, n_objects: int) -> int:
    """Hold that nodes that are objects again come after these; returns how many there are."""
    if spec.type is SharedNode and not 0 <= spec.context < n_objects:
        raise Refused("a structure shares an object that it does not have")
    before, n_objects = n_objects, n_objects + (spec.type is ObjectNode)
    for child in spec.children():
        inside = _check_shared(child, n_objects)
        n_objects = inside
    return max(before, n_objects)


def _state(written: Any) -> ObjectState:
    """What an object is beside its children.

    Raises: Refused.
    """
    found = mapping(parse_json(_bytes(written)))
    name = found["content"]
    content = None if name is None else CONTENTS.get(text(name))
    if name is not None and content is None:
        raise Refused(f"an object has the content of a {name[:40]!r}")
    kind = class_of(found["class"], content)
    if base_of(kind) is None or (content or base_of(kind)) is not base_of(kind):
        raise Refused(f"{kind.__module__}.{kind.__qualname__}"[:120], "archive-unsafe")
    pairs = [(text(name), held) for name, held in map(listed, listed(found["attributes"]))]
    if len({name for name, _ in pairs}) != len(pairs):
        raise Refused("an object has one attribute twice")
    attributes = [(n, CHILD if held is None else read_constant(*listed(held))) for n, held in pairs]
    names = kind.names if issubclass(kind, SparseParts) else None
    if names is not None and attributes != [(name, CHILD) for name in names]:
        raise Refused("a sparse matrix has other parts")
    return ObjectState(kind, tuple(attributes), content)


def _spec(node: dict[str, Any], depth: int) -> TreeSpec:
    if depth > DEEPEST:
        raise Refused("it has a structure of more than 64 containers inside each other")
    kind = node["type"]
    children = [_spec(mapping(child), depth + 1) for child in listed(node["children_spec"])]
    if kind is None:
        if children or node["context"] is not None:
            raise Refused("a leaf of a structure has children")
        return pytree.treespec_leaf()
    if kind == OBJECT:
        state = _state(node["context"])
        if len(children) != len(state.children) + (state.content is not None):
            raise Refused(f"an object has {len(children)} children")
        return pytree.TreeSpec(ObjectNode, state, children)
    if kind == SHARED:
        number = text(node["context"])
        if children or not number.isdecimal() or len(number) > 9:
            raise Refused("an object that is there again has children")
        return pytree.TreeSpec(SharedNode, int(number), [])
    python_type, context = _python_type(text(kind), node["context"])
    spec = pytree.TreeSpec(python_type, context, children)
    _check_children(spec, len(children))
    return spec


def _python_type(kind: str, context: Any) -> tuple[Any, Any]:
    if kind.startswith(f"{REGISTERING}."):
        with suppress(ImportError):
            resolved(f"{REGISTERING}:")
    found = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(kind)
    if found is None or kind == NAMELESS:
        found = find_loaded(kind)
        if found not in pytree.SUPPORTED_NODES:
            raise Refused(kind[:120], "archive-unknown-type")
    if found is NAMED_TUPLE:
        name = text(context)
        registered = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name) or find_loaded(name)
        if not isinstance(registered, type) or not pytree.is_namedtuple_class(registered):
            raise Refused(name[:120], "archive-unknown-type")
        return found, registered
    if found is defaultdict:
        return found, _default_context(mapping(context))
    definition = pytree.SUPPORTED_SERIALIZED_TYPES.get(found)
    if definition is not None and definition.from_dumpable_context is not None:
        return found, definition.from_dumpable_context(context)
    return found, _context_of(parse_json(memoryview(text(context).encode())))


def _default_context(written: dict[str, Any]) -> list[Any]:
    module, name = written["default_factory_module"], written["default_factory_name"]
    if name is None:
        factory = None
    elif module == "builtins" and name in FACTORIES:
        factory = FACTORIES[name]
    else:
        raise Refused(f"a defaultdict makes {module}.{name}, which is not read from files", UNSAFE)
    inner = written["dict_context"]
    return [factory, _context_of(inner if isinstance(inner, list) else parse_json(_bytes(inner)))]


def _bytes(value: Any) -> memoryview:
    return memoryview(text(value).encode())


UNSAFE = "archive-unsafe"


def _context_of(value: Any) -> Any:
    """Enum members in place of their descriptions; lists stay lists."""
    if isinstance(value, list):
        return [_context_of(each) for each in value]
    if isinstance(value, dict):
        if value.get("__enum__") is True:
            return _enum_member(text(value["fqn"]), text(value["name"]))
        return {key: _context_of(each) for key, each in value.items()}
    return value


def _enum_member(fqn: str, name: str) -> Enum:
    found = find_loaded(fqn)
    if found is None or not issubclass(found, Enum) or name not in found.__members__:
        raise Refused(f"{fqn[:80]}.{name[:40]}", "archive-unknown-type")
    return found.__members__[name]


def _check_children(spec: TreeSpec, count: int) -> None:
    """Hold that containers whose children are counted elsewhere have that many."""
    if spec.type in (dict, OrderedDict):
        expected = len(listed(spec.context))
        keys = {repr(key) for key in spec.context}
        if len(keys) != expected:
            raise Refused("a dictionary of a structure has one key twice")
    elif spec.type is NAMED_TUPLE:
        expected = len(spec.context._fields)
    elif spec.type is defaultdict:
        expected = len(listed(spec.context[1]))
    elif spec.type in (tuple, list) and spec.context is not None:
        raise Refused("a tuple or list of a structure has a context")
    elif spec.type is deque and spec.context is not None:
        integer(spec.context, 0)
        expected = count
    else:
        expected = count
    if expected != count:
        raise Refused(f"a container of {expected} has {count} children")


__all__ = ["read_structure", "structure_text"]
