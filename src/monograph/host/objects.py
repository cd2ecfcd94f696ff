"""Object pytrees: an instance of a class that nobody registered is a container of its attributes.

Law: `made(state, children)` is an object of the same class that holds the same; looking at one
object and making another runs none of their classes' code. `None` and flags are part of the
structure, tensors, numbers and containers are children. A sparse matrix (COO, CSR) is such an
object of its tensors and sizes; whether it is coalesced is not kept: no sum depends on it.
"""

from __future__ import annotations

import enum
import sys
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from dataclasses import dataclass
from functools import cache
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
)
from typing import TYPE_CHECKING, Any, ClassVar, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ObjectNode:
    """The type of the tree nodes that are objects; their class is in the context."""


class SharedNode:
    """The type of the tree nodes that are an object again; the context is the object's number."""


class StandIn:
    """An object of a class that is not loaded: its attributes, and no methods."""

    def __repr__(self) -> str:
        held = ", ".join([f"{name}={value!r}" for name, value in attributes_of(self).items()])
        return f"{type(self).__qualname__}({held})"


@dataclass(frozen=True, slots=True)
class AliasText:
    """A generic alias that typing noted on an object, by its text: files know no more of it."""

    text: str


class _Child:
    """Stands for an attribute that is a child of the node."""

    def __repr__(self) -> str:
        return "*"

    def __reduce__(self) -> str:
        return "CHILD"


CHILD: Final = _Child()


@dataclass(frozen=True, slots=True, eq=False)
class ObjectState:
    """What an object is beside its children: its class, and its attributes in order.

    `content` is the builtin class whose content is the first child, if the object has content.
    """

    kind: type
    attributes: tuple[tuple[str, Any], ...]
    content: type | None = None

    @property
    def children(self) -> tuple[str, ...]:
        """The names of the attributes that are children."""
        return tuple([name for name, value in self.attributes if value is CHILD])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectState) and self.kind is other.kind and fits(self, other)

    def __hash__(self) -> int:
        return hash((self.kind, tuple([name for name, _ in self.attributes])))

    def __repr__(self) -> str:
        held = ", ".join([f"{name}={value!r}" for name, value in self.attributes])
        return f"{self.kind.__qualname__}({held})"


# --- which objects -----------------------------------------------------------------------------
_CONTENTS: Final[tuple[type, ...]] = (OrderedDict, dict, list, tuple, deque)
_BASES: Final = frozenset({object, SimpleNamespace, *_CONTENTS})
_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that are made at run time; others are written in C."""
_NO_CONTAINERS: Final = (
    *(torch.Tensor, torch.nn.Module, torch.SymInt, torch.SymFloat, torch.SymBool, enum.Enum),
    BaseException,
)
_STAND_INS: Final = tuple(
    [f"{__name__.partition('.')[0]}.{part}." for part in ("abstract", "capture")]
)
"""Where the classes are of what stands for numbers, texts and lists."""
_PLAIN: Final = (
    *(bool, str, bytes, complex, type(None), type(...), enum.Enum, type),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)


@cache
def base_of(kind: type) -> type | None:
    """The builtin class below a class written in Python; None if it is not written in Python."""
    if kind.__module__.startswith(_STAND_INS):
        return None
    if kind in _CONTENTS or kind is object or issubclass(kind, (*_NO_CONTAINERS, *_PLAIN)):
        return None
    if not (kind.__dictoffset__ or any("__slots__" in vars(each) for each in kind.__mro__)):
        return None
    for each in kind.__mro__:
        made = vars(each).get("__new__")
        is_of_c = made is not None and not isinstance(getattr(made, "__func__", made), FunctionType)
        if is_of_c or not each.__flags__ & _HEAP_TYPE:
            return each if each in _BASES else None
    return None


def is_object(value: object) -> bool:
    """Whether a value is an object that is its attributes, and its content, and nothing else."""
    return base_of(type(value)) is not None or sparse_kind(value) is not None


def is_plain(value: object) -> bool:
    """Whether an attribute is part of the structure: a flag, a text, a class; never a number."""
    kind = type(value)
    if kind is slice or kind is range:
        parts: Any = value
        return all(type(each) in _ENDS for each in (parts.start, parts.stop, parts.step))
    if kind is frozenset:
        members: Any = value
        return all(type(each) in {int, float} or is_plain(each) for each in members)
    return issubclass(kind, _PLAIN) or is_alias(value) or is_function(value)


def is_alias(value: object) -> bool:
    """Whether a value is a generic class with its parameters, such as `Box[int]`."""
    return type(value) is AliasText or type(value).__module__ == "typing"


_ENDS: Final = frozenset({int, type(None)})


def is_function(value: Any) -> bool:
    """Whether a value is a function that is always the same one: its module has it, or C."""
    if type(value) is BuiltinFunctionType:
        return type(value.__self__) in {ModuleType, type, type(None)}
    if type(value) is not FunctionType:
        return False
    found: Any = sys.modules.get(value.__module__ or "")
    for part in value.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found is value


# --- taking apart, making ----------------------------------------------------------------------
def attributes_of(value: Any) -> dict[str, Any]:
    """An object's own attributes, past whatever its class makes of reading them."""
    found: dict[str, Any] = {}
    if type(value).__dictoffset__:
        found.update(object.__getattribute__(value, "__dict__"))
    for name, slot in _slots(type(value)).items():
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue
    return found


@cache
def _slots(kind: type) -> dict[str, Any]:
    """The descriptors of slots by name, those of base classes first."""
    return {
        name: slot
        for each in reversed(kind.__mro__)
        if each.__flags__ & _HEAP_TYPE
        for name, slot in vars(each).items()
        if isinstance(slot, MemberDescriptorType) and name not in {"__dict__", "__weakref__"}
    }


def taken_apart(value: Any) -> tuple[list[Any], ObjectState]:
    """The children of an object, and what else it is."""
    sparse = sparse_kind(value)
    if sparse is not None:
        children = sparse.parts(value)
        return children, ObjectState(sparse, tuple([(name, CHILD) for name in sparse.names]))
    base = base_of(type(value))
    content = base if base in _CONTENTS else None
    children: list[Any] = [] if content is None else [content_of(value)]
    attributes: list[tuple[str, Any]] = []
    for name, held in attributes_of(value).items():
        if is_plain(held):
            attributes.append((name, held))
        else:
            attributes.append((name, CHILD))
            children.append(held)
    return children, ObjectState(type(value), tuple(attributes), content)


def content_of(value: Any) -> Any:
    """What a container holds, as one of the builtin class below its own."""
    kind: Any = next(each for each in _CONTENTS if issubclass(type(value), each))
    if issubclass(kind, dict):
        return kind(kind.items(value))
    held = kind.__iter__(value)
    return deque(held, deque.maxlen.__get__(value)) if kind is deque else kind(held)  # pyright: ignore[reportAttributeAccessIssue] - a descriptor


def blank(state: ObjectState, content: Any = None) -> Any:
    """An object of the class, with its content and without attributes."""
    kind: Any = loaded(state.kind)
    base: Any = base_of(kind)
    if base is tuple:
        return tuple.__new__(kind, content)
    made = base.__new__(kind)
    if issubclass(base, dict):
        for key, each in content.items():
            base.__setitem__(made, key, each)
    elif state.content is not None:
        if base is deque:
            deque.__init__(made, (), content.maxlen)
        base.extend(made, content)
    return made


def fill(made: Any, state: ObjectState, children: Sequence[Any]) -> None:
    """Give an object its attributes; `children` are those of the attributes alone."""
    held = iter(children)
    for name, value in state.attributes:
        plain = loaded(value) if isinstance(value, type) else value
        write_attribute(made, name, next(held) if value is CHILD else plain)


def write_attribute(owner: Any, name: str, value: Any) -> None:
    """Give an object an attribute, past whatever its class makes of writing it."""
    slot = _slots(type(owner)).get(name)
    if slot is not None:
        slot.__set__(owner, value)
    else:
        object.__getattribute__(owner, "__dict__")[name] = value


def delete_attribute(owner: Any, name: str) -> None:
    """Take an attribute away from an object, past whatever its class makes of it."""
    slot = _slots(type(owner)).get(name)
    if slot is not None:
        slot.__delete__(owner)
    else:
        del object.__getattribute__(owner, "__dict__")[name]


def made(state: ObjectState, children: Sequence[Any]) -> Any:
    """An object of this state that holds these children."""
    held = list(children)
    if issubclass(state.kind, SparseParts):
        return state.kind.joined(*held)
    content = None if state.content is None else held.pop(0)
    found = blank(state, content)
    fill(found, state, held)
    return found


def steps(state: ObjectState) -> list[str]:
    """How a user writes the step to each child; that to the content is none."""
    own = [] if state.content is None else [""]
    return [*own, *[f".{name}" for name in state.children]]


# --- sparse matrices ---------------------------------------------------------------------------
class SparseParts:
    """What a matrix is made of; a class for each layout, which stands for it in a structure."""

    layout: ClassVar[torch.layout]
    varying: ClassVar[dict[str, int]]
    """The tensors by name, and which of their dimensions has one place for each entry."""
    names: ClassVar[tuple[str, ...]] = ()
    __module__ = "monograph"  # as files call them, wherever they are

    @staticmethod
    def parts(matrix: Any) -> list[Any]:
        """The tensors and the sizes of a matrix."""
        raise NotImplementedError

    @staticmethod
    def plain(*parts: Any) -> torch.Tensor:
        """The matrix that these tensors of PyTorch make."""
        raise NotImplementedError

    @classmethod
    def joined(cls, *parts: Any) -> Any:
        """The matrix that they make."""
        return MATRIX_MAKERS.get(type(parts[0]), cls.plain)(*parts)


MATRIX_MAKERS: Final[dict[type, Callable[..., Any]]] = {}
"""What makes a matrix of tensors that stand for others, by their class."""


class SparseCoo(SparseParts):
    """Of `torch.sparse_coo`: where each value stands, and the values."""

    __module__ = "monograph"
    layout = torch.sparse_coo
    varying: ClassVar = {"indices": 1, "values": 0}
    names = ("indices", "values", "n_rows", "n_columns")

    @staticmethod
    def parts(matrix: Any) -> list[Any]:
        """`indices` i64[2, nnz], `values` [nnz], and the sizes."""
        return [matrix._indices(), matrix._values(), *matrix.shape]

    @staticmethod
    def plain(*parts: Any) -> torch.Tensor:
        """The matrix that these tensors of PyTorch make."""
        indices, values, *size = parts
        return torch.sparse_coo_tensor(indices, values, size, check_invariants=True)


class SparseCsr(SparseParts):
    """Of `torch.sparse_csr`: where each row begins, the columns, and the values."""

    __module__ = "monograph"
    layout = torch.sparse_csr
    varying: ClassVar = {"col_indices": 0, "values": 0}
    names = ("crow_indices", "col_indices", "values", "n_rows", "n_columns")

    @staticmethod
    def parts(matrix: Any) -> list[Any]:
        """`crow_indices` [n_rows + 1], `col_indices` and `values` [nnz], and the sizes."""
        return [matrix.crow_indices(), matrix.col_indices(), matrix.values(), *matrix.shape]

    @staticmethod
    def plain(*parts: Any) -> torch.Tensor:
        """The matrix that these tensors of PyTorch make."""
        starts, columns, values, *size = parts
        return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=True)


_KINDS: Final = {each.layout: each for each in (SparseCoo, SparseCsr)}


def sparse_kind(value: Any) -> type[SparseParts] | None:
    """What stands for a value in a structure, if it is a matrix that is taken apart."""
    if type(value) is not torch.Tensor or value.layout is torch.strided:
        return None
    kind = _KINDS.get(value.layout)
    is_taken = kind is not None and value.dim() == 2 and not value.requires_grad
    return kind if is_taken and not value.dense_dim() else None


# --- comparing ---------------------------------------------------------------------------------
def fits(expected: ObjectState, given: ObjectState) -> bool:
    """Whether an object may stand for another: same class, attributes, and plain values.

    Where the class is not loaded, attributes and plain values alone count.
    """
    return unlike(expected, given) is None


def unlike(expected: ObjectState, given: ObjectState) -> str | None:
    """The first difference: "" is the class, `.name` an attribute; None is no difference."""
    if loaded(expected.kind) is not given.kind and not _stands_in(expected.kind, given.kind):
        return ""
    if expected.content is not given.content:
        return ""
    names = [[name for name, _ in each.attributes] for each in (expected, given)]
    if names[0] != names[1]:
        own, others = set(names[0]), set(names[1])
        other = next((n for n in (*names[0], *names[1]) if (n in own) is not (n in others)), "")
        return f".{other}" if other else ""
    pairs = zip(expected.attributes, given.attributes, strict=True)
    return next((f".{name}" for (name, one), (_, other) in pairs if not _same(one, other)), None)


def _stands_in(expected: type, given: type) -> bool:
    """Whether a class is the other's stand-in, or any bag of attributes where that is unknown."""
    if name_of(expected) == name_of(given):
        return issubclass(expected, StandIn) or issubclass(given, StandIn)
    return given is SimpleNamespace and issubclass(loaded(expected), StandIn)


def _same(one: Any, other: Any) -> bool:
    """Whether two plain values are the same, and of the same type."""
    if one is other:
        return True
    if isinstance(one, type) and isinstance(other, type):
        return loaded(one) is loaded(other)
    if type(one) is AliasText:
        return is_alias(other) and one.text == repr(other)
    return type(one) is type(other) and not isinstance(one, _Child) and bool(one == other)


# --- classes by name ---------------------------------------------------------------------------
_OF_PYTHON: Final = (object, SimpleNamespace, UserDict, UserList, defaultdict)


def name_of(kind: type) -> str:
    """`module:Class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def is_safe(kind: type) -> bool:
    """Whether a file may name a class: none of Python's library, none that acts when it goes."""
    if kind in _OF_PYTHON:
        return True
    root = kind.__module__.partition(".")[0]
    return root not in sys.stdlib_module_names and not hasattr(kind, "__del__")


@cache
def stand_in(name: str, content: type | None = None) -> type:
    """The class that stands for one of this name, and content, while that is not loaded."""
    module, _, qualname = name.partition(":")
    own = {"__module__": module, "__qualname__": qualname}
    bases = (StandIn,) if content is None else (StandIn, content)
    return type(qualname.rpartition(".")[2], bases, own)


def loaded(kind: type) -> type:
    """The class itself; for one that stands in, the class of its name if it is loaded by now."""
    if not issubclass(kind, StandIn) or kind is StandIn:
        return kind
    found = class_named(name_of(kind))
    return kind if found is None or base_of(found) is not base_of(kind) else found


def may_stand_for(value: Any, kind: str) -> bool:
    """Whether a bag of attributes may stand for an object of `module.Class`: it is not loaded."""
    if type(value) is not SimpleNamespace:
        return False
    parts = kind.split(".")
    splits = ((".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts)))
    return all(class_named(f"{module}:{name}") is None for module, name in splits)


def class_named(name: str) -> type | None:
    """The class that `module:Class` names and that a file may name, if it is loaded."""
    sparse = next((each for each in _KINDS.values() if name_of(each) == name), None)
    if sparse is not None:
        return sparse
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if not isinstance(found, type) or not is_safe(found):
        return None
    return found


__all__ = [
    "CHILD",
    "MATRIX_MAKERS",
    "AliasText",
    "ObjectNode",
    "ObjectState",
    "SharedNode",
    "SparseCsr",
    "SparseParts",
    "StandIn",
    "attributes_of",
    "base_of",
    "blank",
    "class_named",
    "content_of",
    "delete_attribute",
    "fill",
    "fits",
    "is_alias",
    "is_function",
    "is_object",
    "is_plain",
    "is_safe",
    "loaded",
    "made",
    "may_stand_for",
    "name_of",
    "sparse_kind",
    "stand_in",
    "steps",
    "taken_apart",
    "unlike",
    "write_attribute",
]
