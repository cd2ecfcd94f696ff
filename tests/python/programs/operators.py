"""Operators: binary, reflected, in place, unary, subscripts; who is asked and who answers."""

import operator

from tests.python.registry import called_with, program

BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def attempt(f, *args):
    """Give the result or the type and text of the exception."""
    try:
        return f(*args)
    except Exception as error:
        return type(error).__name__, str(error)


@called_with(
    (7, 2),
    (-7, 2),
    (7, -2),
    (7.5, 2),
    (True, 3),
    ("ab", 2),
    ([1], 2),
    ({1, 2}, {2, 3}),
    (1, "x"),
    (0, 0),
)
def every_binary(a, b):
    """All thirteen operators on builtin types."""
    return {sign: attempt(f, a, b) for sign, f in BINARY.items()}


class Recorder:
    """An object whose operators say how they were called."""

    def __init__(self, name, log):
        self.name, self.log = name, log


def add_operators():
    """Give the class every operator."""
    names = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor".split()
    for name in names:
        for prefix in ("", "r", "i"):
            full = f"__{prefix}{name}__"

            def method(self, other, full=full):
                self.log.append((self.name, full, getattr(other, "name", other)))
                return self if full.startswith("__i") else (full, self.name)

            setattr(Recorder, full, method)


add_operators()


@program
def dunder_of_each_operator():
    """Each operator calls its own method."""
    log = []
    a, b = Recorder("a", log), Recorder("b", log)
    return [f(a, b) for f in BINARY.values()], log


@program
def reflected_operators():
    """The right side is asked when the left has no answer."""
    log = []
    b = Recorder("b", log)
    return [f(1, b) for f in BINARY.values()], [f(None, b) for f in BINARY.values()], log


@program
def every_in_place_operator():
    """Each augmented assignment calls its own method and stores the result."""
    log = []
    x = Recorder("x", log)
    x += 1
    x -= 1
    x *= 1
    x /= 1
    x //= 1
    x %= 1
    x **= 1
    x @= 1
    x <<= 1
    x >>= 1
    x &= 1
    x |= 1
    x ^= 1
    return log, x.name


@program
def in_place_falls_back():
    """Without the in-place method the binary one is used, then the reflected."""
    log = []

    class A:
        def __add__(self, other):
            log.append("add")
            return "added"

    class B:
        def __radd__(self, other):
            log.append("radd")
            return "radded"

        def __iadd__(self, other):
            log.append("iadd")
            return NotImplemented

        def __add__(self, other):
            log.append("B.add")
            return "B"

    a, b = A(), B()
    a += 1
    n = 1
    n += B()
    b += 1
    return a, n, b, log


@called_with((1, 2), ([1], [2]), ("a", "b"), ({1}, {2}), ((1,), (2,)), (1.5, 1))
def in_place_on_builtins(a, b):
    """Mutable values change in place, others are replaced."""
    alias = a
    a += b
    return a, alias, a is alias


@program
def in_place_on_containers():
    """Sets, dicts and lists keep their identity; list += takes any iterable."""
    s, d, x, t = {1, 2}, {"a": 1}, [1], (1,)
    s0, d0, x0, t0 = s, d, x, t
    s |= {3}
    s -= {1}
    s &= {2, 3, 4}
    s ^= {9}
    d |= {"b": 2}
    d |= [("c", 3)]
    x += "ab"
    x += (i for i in range(2))
    x *= 2
    t += (2,)
    return s, d, x, t, s is s0, d is d0, x is x0, t is t0


@program
def in_place_on_tuple_item():
    """`t[0] += [1]` changes the list and then raises."""
    t = ([],)
    try:
        t[0] += [1]
    except TypeError as error:
        return t, str(error)


@program
def in_place_on_attribute_and_slice():
    """Augmented assignment to attributes, items, slices."""

    class Box:
        x = 1

    box, items = Box(), [1, 2, 3]
    box.x += 1
    box.x **= 3
    items[0] -= 5
    items[1:] += [9]
    items[-1] @= 1 if False else Recorder("r", [])
    return Box.x, box.x, items[:3], items[-1][0]


@program
def not_implemented_everywhere():
    """If both sides decline, TypeError names both types."""

    class A:
        def __add__(self, other):
            return NotImplemented

        def __lt__(self, other):
            return NotImplemented

    class B:
        def __radd__(self, other):
            return NotImplemented

    return (
        attempt(lambda: A() + B()),
        attempt(lambda: A() + A()),
        attempt(lambda: A() < B()),
        attempt(lambda: A() + 1),
        attempt(lambda: 1 - A()),
        attempt(lambda: A() @ 2),
        attempt(lambda: -A()),
        attempt(lambda: A()[0]),
        attempt(lambda: A()(1)),
        attempt(lambda: len(A())),
        attempt(lambda: iter(A())),
    )


@program
def in_place_type_errors():
    """The message of a failed augmented assignment names its sign."""

    def run(code):
        scope = {"a": object(), "n": None}
        try:
            exec(code, scope)
        except TypeError as error:
            return str(error)

    return [run(f"a {s}= n") for s in ("+", "-", "*", "/", "//", "%", "**", "@", "<<", "&")]


@program
def subclass_on_the_right_goes_first():
    """A right operand of a subclass that overrides is asked first."""

    class A:
        def __add__(self, other):
            return "A.add"

        def __radd__(self, other):
            return "A.radd"

        def __lt__(self, other):
            return "A.lt"

        def __gt__(self, other):
            return "A.gt"

        def __eq__(self, other):
            return "A.eq"

        __hash__ = None

    class B(A):
        def __radd__(self, other):
            return "B.radd"

        def __gt__(self, other):
            return "B.gt"

        def __eq__(self, other):
            return "B.eq"

        __hash__ = None

    class C(A):
        pass

    return A() + B(), A() + C(), B() + A(), A() < B(), A() < C(), A() == B(), A() == C()


@program
def unary():
    """`-`, `+`, `~`, `not`, `abs` and friends."""

    class A:
        def __neg__(self):
            return "neg"

        def __pos__(self):
            return "pos"

        def __invert__(self):
            return "invert"

        def __abs__(self):
            return "abs"

        def __bool__(self):
            return False

    a = A()
    return -a, +a, ~a, not a, abs(a), -True, +True, ~5, not [], -(-3), not not 2, --5


@program
def conversions():
    """`int`, `float`, `complex`, `index`, `round`, `hash`, `bytes` of user objects."""

    class A:
        def __int__(self):
            return 1

        def __float__(self):
            return 2.0

        def __complex__(self):
            return 3j

        def __index__(self):
            return 4

        def __round__(self, n=None):
            return ("round", n)

        def __trunc__(self):
            return 5

        def __floor__(self):
            return 6

        def __hash__(self):
            return 7

        def __bytes__(self):
            return b"8"

        def __divmod__(self, other):
            return ("divmod", other)

        def __reversed__(self):
            return iter("reversed")

        def __length_hint__(self):
            return 9

        def __dir__(self):
            return ["z"]

    a = A()
    return (
        int(a),
        float(a),
        complex(a),
        [0] * 5 == [0] * a + [0],
        "abcdef"[a],
        range(a),
        bin(a),
        round(a),
        round(a, 2),
        hash(a),
        bytes(a),
        divmod(a, 1),
        list(reversed(a)),
        operator.length_hint(a),
        dir(a),
        [1, 2, 3, 4, 5, 6][: A()],
        hex(a),
        chr(a),
        operator.index(a),
    )


@program
def pow_and_divmod():
    """Powers with three arguments and reflected ones."""

    class A:
        def __pow__(self, other, mod=None):
            return ("pow", other, mod)

        def __rpow__(self, other):
            return ("rpow", other)

    return (
        A() ** 2,
        pow(A(), 2),
        pow(A(), 2, 3),
        2 ** A(),
        pow(2, -1, 7),
        2**-1,
        (-8) ** (1 / 3),
        -(2**2),
    )


@program
def subscripts():
    """What arrives in `__getitem__`."""

    class A:
        def __getitem__(self, key):
            return key

    a = A()
    return (
        a[1],
        a[1, 2],
        a[()],
        a[1:2],
        a[::],
        a[:, 1:2:3, ...],
        a[1,],
        a["k"],
        a[a[0] : a[5]],
        a[-1:],
        a[{}],
    )


@program
def subscript_stores():
    """`__setitem__` and `__delitem__`, in order value, object, key."""
    log = []

    class A:
        def __setitem__(self, key, value):
            log.append(("set", key, value))

        def __delitem__(self, key):
            log.append(("del", key))

        def __getitem__(self, key):
            log.append(("get", key))
            return 1

    a = A()
    a[1] = a[2:3] = 4
    a["x"] += 5
    a[1:2, ...] -= 1
    del a[1], a[::2]
    return log


@program
def slices_of_builtins():
    """Slices with every sign, reading and writing."""
    x = list(range(10))
    x[2:5] = "ab"
    x[::4] = [-1] * len(x[::4])
    x[5:5] = [7, 7]
    y = x[:]
    y[:] = []
    return x, y, x[-3:], x[::-2], "hello"[1:-1], (1, 2, 3)[:2], bytes(5)[1:3], x[10:], x[3:1]


@program
def slice_errors():
    """Wrong lengths, steps and indexes."""

    def step():
        x = [1, 2, 3]
        x[::2] = [1]

    return (
        attempt(step),
        attempt(lambda: [1][::0]),
        attempt(lambda: [1]["a"]),
        attempt(lambda: [1][5]),
        attempt(lambda: (1,)[1.0]),
        attempt(lambda: "abc"[None]),
        attempt(lambda: {}[[]]),
        attempt(lambda: None[0]),
    )


@program
def membership():
    """`in` asks `__contains__`, then iterates, then indexes."""
    log = []

    class A:
        def __contains__(self, x):
            log.append(("contains", x))
            return "yes" if x else ""

    class B:
        def __iter__(self):
            log.append("iter")
            return iter([1, 2])

    class C:
        def __getitem__(self, i):
            log.append(i)
            if i > 2:
                raise IndexError
            return i

    class D:
        __contains__ = None

        def __iter__(self):
            return iter([])

    return (
        5 in A(),
        0 in A(),
        5 not in A(),
        2 in B(),
        3 not in B(),
        1 in C(),
        9 in C(),
        log,
        attempt(lambda: 1 in D()),
        attempt(lambda: 1 in 5),
        "b" in "abc",
        attempt(lambda: 1 in "abc"),
    )


@program
def membership_uses_identity_first():
    """Containers compare by identity before equality."""
    nan = float("nan")

    class Never:
        def __eq__(self, other):
            return False

        __hash__ = None

    n = Never()
    return (
        nan in [nan],
        float("nan") in [nan],
        n in [n],
        n in (n,),
        [nan] == [nan],
        n == n,
        [n].index(n),
        [n].count(n),
    )


@program
def arithmetic_on_mixed_numbers():
    """int, bool, float and complex mix."""
    return (
        True + True,
        1 + 1.0,
        1 // 2.0,
        -7 // 2,
        -7 % 3,
        7 % -3,
        1 / 3,
        1j * 1j,
        2**0.5,
        10**20 + 0.5,
        5 // -2,
        divmod(-7, 2),
    )


@program
def zero_divisions():
    """Messages of division by zero."""
    return [
        attempt(f, x, 0)
        for x in (1, 1.0, 1j)
        for f in (operator.truediv, operator.floordiv, operator.mod)
    ]


@program
def matmul():
    """`@` and `@=`."""

    class M:
        def __init__(self, v):
            self.v = v

        def __matmul__(self, other):
            return M(self.v * other.v)

    a = M(2)
    a @= M(3)
    return (a @ M(5)).v


@program
def string_and_sequence_operators():
    """Concatenation, repetition and their errors."""
    return (
        "a" + "b",
        "ab" * 2,
        2 * [1],
        [1] + [2],
        (1,) * 0,
        b"a" + b"b",
        "x" * -1,
        attempt(lambda: "a" + 1),
        attempt(lambda: [1] + (2,)),
        attempt(lambda: "a" * "b"),
        attempt(lambda: 1 + "a"),
    )


@program
def operators_through_operator_module():
    """C functions that call back into Python operators."""
    log = []
    a, b = Recorder("a", log), Recorder("b", log)
    return (
        operator.add(a, b),
        operator.iadd(a, 1) is a,
        operator.matmul(1, b),
        sum([a, b], start=0)[0],
        log,
    )


@program
def in_place_with_descriptor_and_property():
    """Augmented assignment through a property reads once and writes once."""
    log = []

    class A:
        @property
        def x(self):
            log.append("get")
            return [1]

        @x.setter
        def x(self, value):
            log.append(("set", value))

    a = A()
    a.x += [2]
    return log


@program
def operator_exception_lines():
    """An exception in an operator names both lines."""

    class A:
        def __add__(self, other):
            return self.missing

    a = A()
    return 1 if not a else a + 1
