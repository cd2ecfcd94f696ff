"""Row `structure`: objects of classes that nobody registered, as inputs and as results."""

import enum
from collections import OrderedDict, UserDict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Generic, NamedTuple, TypeVar

import attrs
import torch
from torch import nn

from tests.contract.registry import probe


def v(n=3):
    """Give a vector."""
    return torch.randn(n)


class Kind(enum.Enum):
    """What is done."""

    ADD = 1
    MUL = 2


@dataclass
class Sample:
    """A dataclass with a number, a flag and a text."""

    x: torch.Tensor
    scale: float = 1.0
    negated: bool = False
    name: str = "a"
    kind: Kind = Kind.ADD
    mask: torch.Tensor | None = None


@probe(
    "structure",
    lambda: (Sample(v()),),
    agrees={"same": lambda: (Sample(v()),)},
    calls={
        "other scale": lambda: (Sample(v(), 2.0),),
        "an int": lambda: (Sample(v(), 1),),
        "negated": lambda: (Sample(v(), negated=True),),
        "one": lambda: (Sample(v(), negated=0),),
        "renamed": lambda: (Sample(v(), name="b"),),
        "multiplied": lambda: (Sample(v(), kind=Kind.MUL),),
        "masked": lambda: (Sample(v(), mask=v()),),
        "another class": lambda: (SimpleNamespace(**vars(Sample(v()))),),
    },
)
def unregistered_dataclass(s):
    """Each plain attribute decides something."""
    y = s.x * s.scale
    if s.negated is True:
        y = -y
    y = y + len(s.name) if s.kind is Kind.ADD else y * 2
    return y if s.mask is None else y * s.mask


@probe(
    "structure",
    lambda: ([Sample(v()), Sample(v(), 2.0)], {"last": Sample(v(), name="z")}),
    agrees={
        "other sizes": lambda: ([Sample(v()), Sample(v(), 2.0)], {"last": Sample(v(), name="z")})
    },
    calls={
        "one less": lambda: ([Sample(v())], {"last": Sample(v(), name="z")}),
        "swapped": lambda: ([Sample(v(), 2.0), Sample(v())], {"last": Sample(v(), name="z")}),
    },
)
def dataclasses_in_lists(many, by_name):
    """Nested in containers, and returned in others."""
    return tuple(Sample(s.x + 1, s.scale) for s in many), {"first": by_name["last"], "n": len(many)}


@dataclass(frozen=True)
class Frozen:
    """No attribute is written after construction."""

    x: torch.Tensor
    n: int = 2


@probe("structure", lambda: (Frozen(v()),), calls={"other": lambda: (Frozen(v(), 3),)})
def frozen_dataclass(f):
    """Made by writing attributes all the same."""
    return Frozen(f.x * f.n, f.n + 1)


@dataclass(slots=True)
class Slotted:
    """A dataclass without a dict."""

    x: torch.Tensor
    y: torch.Tensor | None = None


@probe(
    "structure",
    lambda: (Slotted(v()),),
    calls={"both": lambda: (Slotted(v(), v()),)},
)
def slotted_dataclass(s):
    """Slots are attributes."""
    s.y = s.x * 2
    return Slotted(s.y)


class Base:
    """Slots below a class with a dict; one slot is private, one is never filled."""

    __slots__ = ("__hidden", "never", "x")

    def __init__(self, x):
        self.x = x
        self.__hidden = x * 2

    def hidden(self):
        """Give what is hidden."""
        return self.__hidden


class Derived(Base):
    """A dict beside slots."""

    def __init__(self, x):
        super().__init__(x)
        self.own = x + 1


@probe("structure", lambda: (Derived(v()),))
def slots_and_a_dict(d):
    """Private slots are found; one that was never filled is not there."""
    return d.x + d.hidden() + d.own, hasattr(d, "never"), Derived(d.x)


class NoisyInit:
    """Its constructor must not run: it needs what nobody gives, and counts."""

    made = 0

    def __init__(self, x, *, ready):
        assert ready, "made without care"
        type(self).made += 1
        self.x = x
        self.parts = {"k": [x * 2, (x * 3,)]}


@probe("structure", lambda: (NoisyInit(v(), ready=True),))
def constructor_with_needs(o):
    """Neither at the export nor in a call."""
    return o.x + o.parts["k"][0] + o.parts["k"][1][0]


class NewNeedsMore:
    """`__new__` needs arguments and gives something else without them."""

    def __new__(cls, x):
        made = super().__new__(cls)
        made.born = x * 0
        return made

    def __init__(self, x):
        self.x = x


@probe("structure", lambda: (NewNeedsMore(v()),))
def new_with_needs(o):
    """The base's `__new__` makes it."""
    return NewNeedsMore(o.x + o.born)


class Computed:
    """State behind properties, computed attributes and a guarded `__setattr__`."""

    def __init__(self, x):
        object.__setattr__(self, "_x", x)
        object.__setattr__(self, "reads", [])

    @property
    def x(self):
        """What is kept, negated."""
        return -self._x

    def __getattr__(self, name):
        if name.startswith("times_"):
            return self._x * int(name.removeprefix("times_"))
        raise AttributeError(name)

    def __setattr__(self, name, value):
        raise TypeError("read only")


@probe("structure", lambda: (Computed(v()),))
def state_behind_properties(c):
    """Taken apart by what it holds, not by what it says."""
    return c.x + c.times_3, hasattr(c, "times"), Computed(c.x)


class Lying:
    """Says that it is another class, equal to all, and true of nothing."""

    def __init__(self, x):
        self.x = x

    @property
    def __class__(self):
        return dict

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7

    def __bool__(self):
        raise TypeError("neither")

    def __len__(self):
        return 99


@probe("structure", lambda: (Lying(v()),), calls={"a dict": lambda: ({"x": v()},)})
def lies_about_itself(o):
    """`type` says what it is."""
    return o.x * 2, isinstance(o, dict)


@attrs.define
class Made:
    """An attrs class, slotted."""

    x: torch.Tensor
    n: int = 1


@attrs.define(slots=False, frozen=True)
class MadeFrozen:
    """An attrs class with a dict, frozen."""

    inner: Made
    tags: tuple = ("a", "b")


@probe(
    "structure",
    lambda: (MadeFrozen(Made(v())),),
    calls={
        "other n": lambda: (MadeFrozen(Made(v(), 2)),),
        "other tags": lambda: (MadeFrozen(Made(v()), ("a", "c")),),
    },
)
def attrs_classes(m):
    """One inside the other."""
    return MadeFrozen(Made(m.inner.x * (m.inner.n + len(m.tags))))


class Point(NamedTuple):
    """A named tuple of an object and a tensor."""

    where: Slotted
    weight: torch.Tensor


@probe("structure", lambda: (Point(Slotted(v()), v()),))
def objects_in_named_tuples(p):
    """Named tuples are as before."""
    return Point(Slotted(p.weight), p.where.x)


class Shelf(dict):
    """A dict with attributes of its own."""

    def __init__(self, *args, label="", **kwargs):
        super().__init__(*args, **kwargs)
        self.label = label

    def __missing__(self, key):
        return self["default"]


@probe(
    "structure",
    lambda: (Shelf({"default": v(), "b": v()}, label="top"),),
    calls={
        "other label": lambda: (Shelf({"default": v(), "b": v()}, label="low"),),
        "more": lambda: (Shelf({"default": v(), "b": v(), "c": v()}, label="top"),),
        "a dict": lambda: ({"default": v(), "b": v()},),
    },
)
def subclass_of_dict(s):
    """Content and attributes."""
    made = Shelf({"sum": s["b"] + s["nothing"]}, label=s.label + "!")
    return made, len(s)


class Row(list):
    """A list with an attribute."""


class Pair(tuple):  # noqa: SLOT001 - it has attributes
    """A tuple with an attribute, and a `__new__` of its own."""

    def __new__(cls, one, other):
        made = super().__new__(cls, (one, other))
        made.sign = -1
        return made


def row(*values):
    """Make a row that has a bias."""
    made = Row(values)
    made.bias = v()
    return made


@probe("structure", lambda: (row(v(), v()), Pair(v(), v())))
def subclasses_of_sequences(r, p):
    """Appended to, and returned."""
    r.append(p[0] * p.sign + r.bias)
    return Pair(r[-1], p[1]), sum(r)


class Ordered(OrderedDict):
    """An ordered dict of a class of its own."""


@probe("structure", lambda: (Ordered(b=v(), a=v()), UserDict({"k": v()})))
def other_mappings(o, u):
    """A UserDict is an object that holds a dict."""
    o.move_to_end("b")
    return next(iter(o.values())) + u["k"], Ordered(k=u["k"], o=o["b"])


@probe("structure", lambda: (SimpleNamespace(x=v(), n=SimpleNamespace(y=v(), z="t")),))
def namespaces(ns):
    """Python's own bag of attributes."""
    ns.n.y = ns.x + ns.n.y
    return SimpleNamespace(out=ns.n.y, of=ns.n.z)


T = TypeVar("T")


class Box(Generic[T]):
    """A generic class."""

    def __init__(self, held: T):
        self.held = held


@probe("structure", lambda: (Box[torch.Tensor](v()), Box(Box(v()))))
def generic_classes(a, b):
    """Also when it was made from an alias, which is noted on it."""
    return Box(a.held + b.held.held)


# --- mutation ----------------------------------------------------------------------------------
class Cache:
    """A little cache of layers."""

    def __init__(self, n):
        self.layers = [Layer() for _ in range(n)]
        self.seen = 0

    def update(self, i, x):
        """Append to a layer."""
        if i == 0:
            self.seen += x.shape[0]
        return self.layers[i].update(x)


class Layer:
    """What one layer remembers, and how long it is."""

    def __init__(self):
        self.keys = None
        self.length = 0
        self.is_full = False

    def update(self, x):
        """Append."""
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        self.length = self.length + x.shape[0]
        self.is_full = self.length > 8
        return self.keys


def filled(n=2, *sizes):
    """Make a cache that was used with inputs of these sizes."""
    cache = Cache(n)
    for size in sizes:
        for i in range(n):
            cache.update(i, v(size))
    return cache


def stepped(x, cache):
    """Attend to all that was seen."""
    for i in range(len(cache.layers)):
        x = x * cache.update(i, x).sum()
    return x, cache


@probe(
    "structure",
    lambda: (v(3), filled()),
    agrees={"again": lambda: (v(3), filled())},
    calls={"filled": lambda: (v(3), filled(2, 3)), "more layers": lambda: (v(3), filled(3))},
)
def empty_cache_filled(x, cache):
    """What was None holds a tensor then; the caller's own object is returned."""
    return stepped(x, cache)


@probe(
    "structure",
    lambda: (v(1), filled(2, 3)),
    agrees={"two more": lambda: (v(1), filled(2, 4))},
    calls={
        "full": lambda: (v(1), filled(2, 9)),
        "parts": lambda: (v(1), filled(2, 1, 1)),
        "empty": lambda: (v(1), filled()),
        "one layer": lambda: (v(1), filled(1, 3)),
    },
    shapes=lambda dim: {
        "x": None,
        "cache": {"layers": [{"keys": {0: dim("past", min=1, max=12)}}] * 2},
    },
)
def cache_that_counts(x, cache):
    """Numbers that forward replaces differ in the next call; what they decide is guarded."""
    return stepped(x, cache)


@probe("structure", lambda: (v(), Slotted(v())))
def mutated_and_deleted(x, s):
    """An attribute goes, another comes."""
    s.y = s.x + x
    del s.x
    return s.y


@dataclass
class Tree:
    """A node and its children."""

    value: torch.Tensor
    children: list = field(default_factory=list)


@probe(
    "structure",
    lambda: (Tree(v(), [Tree(v()), Tree(v(), [Tree(v())])]),),
    calls={
        "flat": lambda: (Tree(v()),),
        "mirrored": lambda: (Tree(v(), [Tree(v(), [Tree(v())]), Tree(v())]),),
    },
)
def recursive_trees(tree):
    """Grown at a leaf."""

    def total(node):
        return node.value + sum(total(each) for each in node.children)

    tree.children[0].children.append(Tree(tree.value * 2))
    return total(tree)


# --- sharing -----------------------------------------------------------------------------------
def shared(again):
    """Make two boxes that hold one object, or two."""
    one = Slotted(v())
    return Box(one), Box(one if again else Slotted(v()))


@probe(
    "structure",
    lambda: shared(again=True),
    agrees={"again": lambda: shared(again=True)},
    calls={"two objects": lambda: shared(again=False)},
)
def one_object_twice(a, b):
    """What is written by one way is read by the other."""
    a.held.x = a.held.x * 2
    return b.held.x + 1, a.held is b.held


@probe(
    "structure",
    lambda: shared(again=False),
    calls={"one object": lambda: shared(again=True)},
)
def two_objects(a, b):
    """Not the same ones."""
    a.held.x = a.held.x * 2
    return b.held.x + 1, a.held is b.held


@probe("structure", lambda: (v(),))
def shared_in_the_result(x):
    """One object in two places of the result."""
    one = Slotted(x + 1)
    return Box(one), [one, Box(one)]


@probe("structure", lambda: (Box(v()), Box(v())))
def given_back(a, b):
    """The caller's own object, beside one that holds it."""
    return [a, Box(b)]


class Linked:
    """Knows who holds it."""

    def __init__(self, x, owner=None):
        self.x, self.owner = x, owner


def cycle():
    """Make an object that is held by what it holds."""
    outer = Linked(v())
    outer.owner = Linked(v(), outer)
    return (outer,)


@probe("structure", cycle, refused=("cyclic-container",))
def holds_itself(o):
    """No tree."""
    return o.x


@probe("structure", lambda: (v(),), refused=("cyclic-container",))
def result_that_holds_itself(x):
    """No tree either."""
    made = Linked(x + 1)
    made.owner = [made]
    return made


@probe("structure", lambda: (Box(lambda t: t * 2), v()), refused=("unsupported-input",))
def function_in_an_object(b, x):
    """A function that nobody can name."""
    return b.held(x)


@probe(
    "structure",
    lambda: (Box(torch.relu), SimpleNamespace(kind=Slotted, x=v())),
    calls={
        "another": lambda: (Box(torch.tanh), SimpleNamespace(kind=Slotted, x=v())),
        "another class": lambda: (Box(torch.relu), SimpleNamespace(kind=Box, x=v())),
    },
)
def functions_by_name(b, ns):
    """A function of a module, and a class, are what they are."""
    return ns.kind(b.held(ns.x))


@probe(
    "structure",
    lambda: (Sample(v(4)),),
    agrees={"longer": lambda: (Sample(v(7)),), "one": lambda: (Sample(v(1)),)},
    calls={"scaled": lambda: (Sample(v(4), 2.0),)},
    shapes=lambda dim: {"s": {"x": {0: dim("n", max=64)}}},
)
def sizes_by_attribute(s):
    """A declaration that names the attribute."""
    return Sample(s.x * s.x.shape[0], s.scale, mask=s.x > 0)


class KeepsAnObject(nn.Module):
    """An object of the module's, returned with what was computed."""

    def __init__(self):
        super().__init__()
        self.settings = SimpleNamespace(n=2, name="m")

    def forward(self, x):
        """Return a new one that is like it."""
        return SimpleNamespace(x=x * self.settings.n, name=self.settings.name)


probe("structure", lambda: (v(),))(KeepsAnObject)


@probe("structure", lambda: (Linked(v()),), refused=("write-outlives-call",))
def reclassed(o):
    """What changes its class."""
    o.__class__ = Layer
    return o.x * 2


@probe(
    "structure",
    lambda: (SimpleNamespace(a=v(), b=v()),),
    calls={"other order": lambda: (SimpleNamespace(b=v(), a=v()),)},
)
def order_of_attributes(o):
    """`vars` tells it."""
    return [value * i for i, value in enumerate(vars(o).values())]


@probe(
    "structure",
    lambda: (SimpleNamespace(x=v(), n=1),),
    agrees={"more": lambda: (SimpleNamespace(x=v(), n=2),)},
    calls={"many": lambda: (SimpleNamespace(x=v(), n=9),)},
)
def counted_and_compared(o):
    """A counter that decides is guarded by what it decides."""
    o.n += 1
    return o.x * 2 if o.n > 3 else o.x


@probe(
    "structure",
    lambda: (SimpleNamespace(x=v(), o=None), SimpleNamespace(x=v(2), o=None)),
)
def swapped(a, b):
    """Objects that come to hold each other's values, and one the other."""
    a.x, b.x = b.x, a.x
    a.o = b
    return a


class HoldsAnother(nn.Module):
    """What it holds is not what it is given."""

    def __init__(self):
        super().__init__()
        self.box = Box(torch.ones(3))

    def forward(self, box):
        """Write to the one, read the other."""
        box.held = box.held + 1
        return self.box.held * 2


probe("structure", lambda: (Box(v()),))(HoldsAnother)


def held_lists(again):
    """Make an object that holds one list twice, or two."""
    one = [v()]
    return (SimpleNamespace(a=one, b=one if again else [v()]),)


@probe(
    "structure",
    lambda: held_lists(again=False),
    calls={"one list": lambda: held_lists(again=True)},
)
def lists_that_may_be_one(o):
    """Asked whether they are one."""
    return o.a[0] * (2 if o.a is o.b else 3)


@probe("structure", lambda: held_lists(again=True), refused=("unsupported-input",))
def one_list_twice(o):
    """What is written to it is seen in both places."""
    o.a.append(o.a[0])
    return len(o.b)
