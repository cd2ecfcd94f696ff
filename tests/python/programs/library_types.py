"""Dataclasses, enumerations, named tuples and other classes the library makes."""

import collections
import copy
import dataclasses
import enum
import pickle
import string
import textwrap
import types
import typing

from tests.python.registry import program


@program
def dataclass_basics():
    """Generated methods, defaults and factories."""

    @dataclasses.dataclass
    class P:
        x: int
        y: int = 2
        tags: list = dataclasses.field(default_factory=list)

    a, b = P(1), P(1)
    a.tags.append("t")
    return (
        repr(a).rpartition(".")[2],
        a == b,
        b.tags,
        P(1, 2, []) == b,
        dataclasses.asdict(a),
        dataclasses.replace(b, y=9).y,
    )


@program
def dataclass_frozen():
    """A frozen instance refuses writes, hashes, and can be replaced."""

    @dataclasses.dataclass(frozen=True)
    class P:
        x: int

    p = P(1)
    seen = []
    for action in (lambda: setattr(p, "x", 2), lambda: delattr(p, "x")):
        try:
            action()
        except dataclasses.FrozenInstanceError as error:
            seen.append(str(error))
    return seen, hash(p) == hash(P(1)), {p: 1}[P(1)], dataclasses.replace(p, x=5).x


@program
def dataclass_post_init():
    """`__post_init__` with init-only fields and fields that are not in `__init__`."""

    @dataclasses.dataclass
    class P:
        x: int
        scale: dataclasses.InitVar[int] = 10
        y: int = dataclasses.field(init=False)
        hidden: int = dataclasses.field(default=0, repr=False, compare=False)
        shared: typing.ClassVar[list] = []

        def __post_init__(self, scale):
            self.y = self.x * scale

    return (
        P(2).y,
        P(2, 3).y,
        repr(P(1)).rpartition(".")[2],
        [f.name for f in dataclasses.fields(P)],
        P(1, hidden=5) == P(1),
    )


@program
def dataclass_order_slots_inheritance():
    """Ordering, slots, keyword-only fields, inheritance."""

    @dataclasses.dataclass(order=True)
    class A:
        x: int
        y: int = 0

    @dataclasses.dataclass(slots=True, kw_only=True)
    class B(A):
        z: int

        def total(self):
            return self.x + self.y + self.z

    b = B(1, z=5)
    try:
        A(1) < 3
    except TypeError as error:
        return A(1, 5) < A(2), sorted([A(3), A(1)])[0].x, b.total(), B.__slots__, str(error)


@program
def dataclass_slots_with_super():
    """`super()` in a class that the decorator makes anew."""

    class Base:
        def who(self):
            return "base"

    @dataclasses.dataclass(slots=True)
    class P(Base):
        x: int = 1

        def get(self):
            return super(P, self).who(), self.x

    return P().get(), hasattr(P(), "__dict__")


@program
def dataclass_errors():
    """What the decorator refuses."""
    seen = []
    try:

        @dataclasses.dataclass
        class A:
            x: list = []

    except ValueError as error:
        seen.append(str(error))
    try:

        @dataclasses.dataclass
        class B:
            x: int = 1
            y: int

    except TypeError as error:
        seen.append(str(error))
    return seen


@program
def dataclass_custom_methods():
    """Methods that are written win over generated ones."""

    @dataclasses.dataclass
    class P:
        x: int

        def __eq__(self, other):
            return "own"

        def __repr__(self):
            return f"<{self.x}>"

        def __init__(self, x):
            self.x = x * 100

    return (P(1) == 2), repr(P(1)), P(3).x


@program
def enum_basics():
    """Members, values, names, lookups."""

    class Color(enum.Enum):
        RED = 1
        GREEN = "g"
        ALIAS = 1

        @property
        def loud(self):
            return self.name + "!"

        @classmethod
        def first(cls):
            return next(iter(cls))

    try:
        Color("nothing")
    except ValueError as error:
        message = str(error).rpartition(".")[2]
    return (
        [m.name for m in Color],
        Color.RED.value,
        Color("g").name,
        Color["RED"] is Color.ALIAS,
        Color.RED.loud,
        Color.first().name,
        Color.RED in Color,
        len(Color),
        message,
        Color.RED == 1,
    )


@program
def enum_kinds():
    """Integers, flags, automatic values, members with data."""

    class Size(enum.IntEnum):
        S = enum.auto()
        M = enum.auto()

    class Perm(enum.Flag):
        R = enum.auto()
        W = enum.auto()
        X = enum.auto()
        RW = R | W

    class Planet(enum.Enum):
        EARTH = (5.9, 6.3)
        MARS = (0.6, 3.3)

        def __init__(self, mass, radius):
            self.mass, self.radius = mass, radius

        @property
        def density(self):
            return round(self.mass / self.radius, 3)

    return (
        Size.M + 1,
        Size.S < Size.M,
        max(Size).name,
        (Perm.R | Perm.W) is Perm.RW,
        bool(Perm.R & Perm.X),
        (~Perm.R & Perm.RW).name,
        Planet.MARS.density,
        Planet((5.9, 6.3)).name,
        Size(2) is Size.M,
    )


@program
def enum_errors():
    """Members cannot be changed, classes with members not extended."""

    class Color(enum.Enum):
        RED = 1

    seen = []
    try:
        Color.RED = 2
    except AttributeError as error:
        seen.append(type(error).__name__)
    try:

        class More(Color):
            BLUE = 2

    except TypeError as error:
        seen.append(type(error).__name__)
    try:

        class Twice(enum.Enum):
            A = 1
            A = 2

    except TypeError as error:
        seen.append(type(error).__name__)
    return seen


@program
def enum_missing_and_generate():
    """`_missing_` and `_generate_next_value_`."""

    class Lower(enum.Enum):
        @staticmethod
        def _generate_next_value_(name, start, count, last):
            return name.lower()

        @classmethod
        def _missing_(cls, value):
            return cls.__members__.get(str(value).upper())

        ONE = enum.auto()
        TWO = enum.auto()

    return Lower.ONE.value, Lower("One").name, Lower(Lower.TWO).name


@program
def named_tuples():
    """Both ways to make a named tuple."""
    P = collections.namedtuple("P", "x y", defaults=[5])

    class Q(typing.NamedTuple):
        a: int
        b: str = "b"

        def both(self):
            return f"{self.a}{self.b}"

    p, q = P(1), Q(2)
    x, y = p
    try:
        p.x = 3
    except AttributeError as error:
        return (
            p,
            x,
            y,
            p._replace(x=9),
            p._asdict(),
            q.both(),
            q[0],
            Q._fields,
            P._make([7, 8]),
            type(error).__name__,
        )


@program
def named_tuple_subclass():
    """A subclass with `__new__` and `super()`."""

    class P(collections.namedtuple("Base", "x y")):
        __slots__ = ()

        def __new__(cls, x, y=None):
            return super().__new__(cls, x, x if y is None else y)

        def __add__(self, other):
            return type(self)(*(a + b for a, b in zip(self, other)))

    return P(1), P(1) + P(2, 3), P(1, 2) == (1, 2), P(4)._replace(y=0)


@program
def copying():
    """`copy` and `deepcopy` with hooks, cycles and memo."""
    log = []

    class A:
        def __init__(self, x):
            self.x = x

        def __deepcopy__(self, memo):
            log.append("deep")
            return A(copy.deepcopy(self.x, memo))

        def __copy__(self):
            log.append("shallow")
            return A(self.x)

    class B:
        pass

    b = B()
    b.me, b.items = b, [[1]]
    c = copy.deepcopy(b)
    d = copy.copy(b)
    a = A([1])
    return (
        c.me is c,
        c.items is b.items,
        d.items is b.items,
        copy.copy(a).x is a.x,
        copy.deepcopy(a).x is a.x,
        log,
    )


class Pickled:
    """A class that can be found again by its name."""

    def __init__(self, x):
        """Keep one value."""
        self.x = x

    def __getstate__(self):
        """Give the state, changed."""
        return {"x": self.x, "extra": "saved"}

    def __setstate__(self, state):
        """Take the state."""
        self.__dict__.update(state, restored=True)


class Reduced:
    """A class that says how to make it again."""

    def __init__(self, *args):
        """Keep the arguments."""
        self.args = args

    def __reduce__(self):
        """Say how."""
        return (Reduced, (*self.args, "reduced"))


@program
def pickling():
    """State hooks and reduction are called."""
    return vars(pickle.loads(pickle.dumps(Pickled(1)))), pickle.loads(
        pickle.dumps(Reduced(1, 2))
    ).args


@program
def typing_classes():
    """Generics, protocols and typed dicts at run time."""
    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        def __init__(self, x: T):
            self.x = x

        def get(self) -> T:
            return self.x

    class HasLen(typing.Protocol):
        def __len__(self) -> int: ...

    class Movie(typing.TypedDict, total=False):
        name: str

    @typing.runtime_checkable
    class Closes(typing.Protocol):
        def close(self): ...

    class File:
        def close(self):
            pass

    return (
        Box[int](5).get(),
        Box[int] == Box[int],
        Movie(name="x"),
        isinstance(File(), Closes),
        isinstance(3, Closes),
        Box.__parameters__ == (T,),
    )


@program
def simple_namespace_and_types():
    """`SimpleNamespace`, `MappingProxyType`, `new_class`, `DynamicClassAttribute`."""
    n = types.SimpleNamespace(a=1)
    n.b = 2
    made = types.new_class("Made", (dict,), {}, lambda ns: ns.update(f=lambda self: len(self)))
    proxy = types.MappingProxyType({"k": 1})
    try:
        proxy["k"] = 2
    except TypeError as error:
        return n, made(a=1).f(), proxy["k"], str(error)


@program
def templates_and_text():
    """Library code written in Python, called with Python hooks."""

    class T(string.Template):
        delimiter = "%"

    class F(string.Formatter):
        def get_value(self, key, args, kwargs):
            return kwargs.get(key, f"<{key}>") if isinstance(key, str) else args[key]

    return (
        T("%a ${b}").substitute(a=1),
        F().format("{x} {y} {0}", 5, x=1),
        textwrap.dedent("  a\n    b"),
        textwrap.fill("aaa bbb", 4),
    )


@program
def weird_isinstance():
    """`isinstance` with unions, tuples, generics and `__class__` lies."""

    class Liar:
        @property
        def __class__(self):
            return int

    seen = [
        isinstance(1, int | str),
        isinstance("x", (int, (str,))),
        isinstance(Liar(), int),
        type(Liar()).__name__,
    ]
    for kinds in (list[int], 5, (int, 5)):
        try:
            seen.append(isinstance("x", kinds))
        except TypeError as error:
            seen.append(type(error).__name__)
    return seen
