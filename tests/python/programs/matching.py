"""`match`: patterns of every kind, bindings, guards, and who is asked."""

import collections
import dataclasses
import enum

from tests.python.registry import called_with, program


@called_with((0,), (1,), (1.0,), (True,), ("a",), (None,), (b"a",), (-1,), (1j,), ([],))
def literals(x):
    """Numbers and strings compare by `==`, None and the bools by `is`."""
    match x:
        case None:
            return "none"
        case True:
            return "true"
        case 0 | 1:
            return "zero or one"
        case "a":
            return "text"
        case b"a":
            return "bytes"
        case -1 | 0 + 1j:
            return "signed"
        case _:
            return "other"


@called_with(
    ([],),
    ([1],),
    ((1, 2),),
    ([1, 2, 3],),
    ("ab",),
    (b"ab",),
    (range(2),),
    ({1: 2},),
    (iter([1, 2]),),
)
def sequences(x):
    """Sequences are lists, tuples and what is registered, never text."""
    match x:
        case []:
            return "empty"
        case [a]:
            return "one", a
        case (a, b):
            return "two", a, b
        case [a, *rest]:
            return "more", a, rest
        case _:
            return "no sequence"


@called_with(([1, 2, 3, 4],), ([1, 4],), ([1],), ([[1, 2], [3]],))
def star_patterns(x):
    """A star anywhere, with or without a name."""
    match x:
        case [1, *_, 4]:
            return "ends"
        case [[a, *b], *c]:
            return "nested", a, b, c
        case [*everything]:
            return everything


@called_with(
    ({"a": 1},), ({"a": 1, "b": 2, "c": 3},), ({"b": None},), ({},), ([],), ({"a": {"b": [1]}},)
)
def mappings(x):
    """Mappings match if the keys are there; the rest can be bound."""
    match x:
        case {"a": {"b": [y]}}:
            return "deep", y
        case {"a": a, "b": b, **rest}:
            return "both", a, b, rest
        case {"b": None}:
            return "b is none"
        case {"a": int(a)}:
            return "a", a
        case {}:
            return "any mapping"
        case _:
            return "none"


@program
def mapping_uses_get():
    """A mapping pattern asks `get`, so a default dict makes nothing."""
    d = collections.defaultdict(list)
    match d:
        case {"missing": _}:
            found = True
        case _:
            found = False
    return found, len(d)


@dataclasses.dataclass
class Point:
    """A class with positional patterns."""

    x: int
    y: int


@dataclasses.dataclass
class Line:
    """Two points."""

    start: Point
    end: Point


@called_with(
    (Point(0, 0),),
    (Point(0, 5),),
    (Point(3, 3),),
    (Point(1, 2),),
    (Line(Point(1, 1), Point(2, 9)),),
    (7,),
    ("t",),
)
def classes(x):
    """Class patterns with positions and names."""
    match x:
        case Point(0, 0):
            return "origin"
        case Point(0, y):
            return "axis", y
        case Point(x=a, y=b) if a == b:
            return "diagonal", a
        case Point(a, y=b):
            return "point", a, b
        case Line(start=Point(y=1) as s, end=Point(_, last)):
            return "line", s, last
        case int(n) | float(n):
            return "number", n
        case str():
            return "text"


@called_with((5,), (-5,), (0,), ("x",))
def guards(x):
    """A guard that fails leaves its bindings and goes on."""
    match x:
        case n if isinstance(n, str):
            return "text"
        case int(m) if m > 0:
            return "positive", n
        case _ if x == 0:
            return "zero", m
    return "none", n, m


@program
def guard_order():
    """Patterns before guards, cases in order, the subject evaluated once."""
    log = []

    def say(x):
        log.append(x)
        return x

    match say(2):
        case 1 if say("never"):
            pass
        case 2 if not say("first guard"):
            pass
        case x if say("second guard") and x == 2:
            log.append("matched")
        case _ if say("never again"):
            pass
    return log


@program
def or_patterns():
    """Alternatives bind the same names."""
    seen = []
    for x in ([1, "a"], ["b", 2], (3, 4, 5), "no", {"k": 6}):
        match x:
            case [int(n), str()] | [str(), int(n)] | [_, _, n] | {"k": n}:
                seen.append(n)
            case _:
                seen.append("none")
    return seen


class Color(enum.Enum):
    """Values with dots."""

    RED = 1
    BLUE = 2


@program
def value_patterns():
    """A dotted name is compared, a plain name binds."""
    seen = []
    for x in (Color.RED, Color.BLUE, 1):
        match x:
            case Color.RED:
                seen.append("red")
            case Color.BLUE as c:
                seen.append(c.name)
            case other:
                seen.append(other)
    return seen


@program
def equality_is_asked():
    """Literal and value patterns ask `subject == pattern`."""
    log = []

    class Any:
        def __eq__(self, other):
            log.append(other)
            return other == 3

        __hash__ = None

    match Any():
        case 1:
            log.append("one")
        case "x":
            log.append("x")
        case 3:
            log.append("three")
    return log


@program
def match_args_and_attributes():
    """`__match_args__` gives positions; attributes are read with their descriptors."""
    log = []

    class A:
        __match_args__ = ("first", "second")

        @property
        def first(self):
            log.append("first")
            return 1

        @property
        def second(self):
            log.append("second")
            raise AttributeError

        def __getattr__(self, name):
            log.append(("getattr", name))
            raise AttributeError(name)

    seen = []
    match A():
        case A(2, _):
            seen.append("two")
        case A(1, x):
            seen.append(x)
        case A(first=1):
            seen.append("keyword")
    return seen, log


@program
def class_pattern_errors():
    """Too many positions, no `__match_args__`, and what is no class."""

    class A:
        __match_args__ = ("x",)
        x = 1

    class B:
        pass

    class C:
        __match_args__ = ["x"]

    thing = 5
    seen = []

    def one():
        match A():
            case A(1, 2):
                pass

    def two():
        match B():
            case B(1):
                pass

    def three():
        match 5:
            case thing():
                pass

    def four():
        match C():
            case C(1):
                pass

    def five():
        match A():
            case A(1, x=1):
                pass

    for call in (one, two, three, four, five):
        try:
            call()
        except (TypeError, UnboundLocalError) as error:
            seen.append(type(error).__name__)
    return seen, thing


@program
def builtins_take_one_position():
    """`int(x)`, `str(x)`, `list(x)`... bind the subject itself."""
    seen = []
    for x in (1, "s", [1], (2,), {"k": 1}, {1}, b"b", 1.5, frozenset(), bytearray(b"z"), True):
        match x:
            case bool(v):
                seen.append(("bool", v))
            case int(v) | str(v) | list(v) | tuple(v) | dict(v) | set(v) | bytes(v) | float(v):
                seen.append((type(x).__name__, v is x))
            case frozenset(v) | bytearray(v):
                seen.append("rare")
    return seen


@program
def instance_check_is_asked():
    """A class pattern is `isinstance`, so a metaclass decides."""

    class Meta(type):
        def __instancecheck__(cls, instance):
            return instance == 3

    class Three(metaclass=Meta):
        pass

    def f(x):
        match x:
            case Three():
                return "three"
            case _:
                return "other"

    return f(3), f(4), f(Three())


@program
def bindings_survive():
    """Names bound by a case stay bound after the statement, also of cases that failed."""
    match [1, 2]:
        case [a, 3]:
            pass
        case [b, 2]:
            pass
    try:
        return a, b
    except UnboundLocalError:
        return "a unbound", b


@program
def no_case_matches():
    """Without a match nothing happens."""
    x = "before"
    match 5:
        case 6:
            x = "six"
        case str():
            x = "text"
    return x


@program
def as_patterns():
    """`as` binds whole and part."""
    match {"k": [1, (2, 3)]}:
        case {"k": [int() as a, (b, 3) as pair] as whole} as everything:
            return a, b, pair, whole, everything


@program
def registered_sequences():
    """What is registered as a sequence or mapping matches as one."""

    class Seq(collections.abc.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            if i < 2:
                return i * 10
            raise IndexError

    class Map(collections.abc.Mapping):
        def __len__(self):
            return 1

        def __iter__(self):
            return iter("k")

        def __getitem__(self, key):
            return {"k": "v"}[key]

    seen = []
    for x in (Seq(), Map(), collections.deque([1, 2]), collections.UserDict(k=1), object()):
        match x:
            case [a, b]:
                seen.append((a, b))
            case {"k": v, **rest}:
                seen.append((v, rest))
            case _:
                seen.append(type(x).__name__)
    return seen


@program
def match_in_loop_with_jumps():
    """`break`, `continue` and `return` out of a case."""

    def f(items):
        seen = []
        for x in items:
            match x:
                case "skip":
                    continue
                case "stop":
                    break
                case ["return", value]:
                    return "returned", value, seen
                case _:
                    seen.append(x)
            seen.append("|")
        return seen

    return f([1, "skip", 2, "stop", 3]), f([1, ["return", 5], 2])


@program
def duplicate_keys_at_run_time():
    """A mapping pattern that names one key twice, by value."""

    class K:
        a = "x"
        b = "x"

    try:
        match {"x": 1}:
            case {K.a: 1, K.b: 1}:
                return "matched"
    except ValueError as error:
        return type(error).__name__


@called_with(("go", "north"), ("go",), ("drop", "a", "b"), ("look", 1), ())
def command_interpreter(*command):
    """The tutorial's adventure."""
    match command:
        case ["go", ("north" | "south") as direction]:
            return f"going {direction}"
        case ["drop", *objects]:
            return f"dropping {objects}"
        case [action]:
            return f"just {action}"
        case [action, obj]:
            return f"{action} on {obj!r}"
        case _:
            return "?"


@called_with((("+", 1, ("*", 2, 3)),), (("-", ("neg", 4)),), (("?", 1, 2),), (5,))
def expression_evaluator(tree):
    """Recursive matching."""

    def run(node):
        match node:
            case int() | float():
                return node
            case ("+", a, b):
                return run(a) + run(b)
            case ("*", a, b):
                return run(a) * run(b)
            case ("-", a) | ("neg", a):
                return -run(a)
            case (op, *_):
                raise ValueError(f"unknown {op}")

    return run(tree)
