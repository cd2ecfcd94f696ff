"""Serialised pytree structures: containers by the names they are registered under.

Law: nothing is imported to read one. A class is found among those registered with pytrees in this
process, an enum among the modules that are loaded.
"""

from __future__ import annotations

import json
import sys
from collections import OrderedDict, defaultdict, deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.json_fields import integer, listed, mapping, parse_json, text
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.host.trees import TreeSpec

VERSION = 1
DEEPEST = 64

FACTORIES: Final[Mapping[str, Any]] = {
    each.__name__: each for each in (bool, dict, float, int, list, set, str, tuple)
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
    return {
        "type": _type_name(spec.type),
        "context": _context(spec, fields),
        "children_spec": [_node(child, fields) for child in spec.children()],
    }


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
def read_structure(written: Any) -> TreeSpec:
    """The structure of a text.

    Raises: Refused.
    """
    version, node = listed(parse_json(memoryview(text(written).encode())))
    if integer(version) != VERSION:
        raise Refused(f"a structure of version {version}", "archive-newer")
    return _spec(mapping(node), 0)


def _spec(node: dict[str, Any], depth: int) -> TreeSpec:
    if depth > DEEPEST:
        raise Refused("it has a structure of more than 64 containers inside each other")
    kind = node["type"]
    children = [_spec(mapping(child), depth + 1) for child in listed(node["children_spec"])]
    if kind is None:
        if children or node["context"] is not None:
            raise Refused("a leaf of a structure has children")
        return pytree.treespec_leaf()
    python_type, context = _python_type(text(kind), node["context"])
    spec = pytree.TreeSpec(python_type, context, children)
    _check_children(spec, len(children))
    return spec


def _python_type(kind: str, context: Any) -> tuple[Any, Any]:
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


def find_loaded(fqn: str) -> Any:
    """What `module:Class` names, where that module is loaded already; None else."""
    module, _, qualname = fqn.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, type) else None


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


__all__ = ["find_loaded", "read_structure", "structure_text"]
