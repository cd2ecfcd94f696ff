"""Comparisons: chains, rich methods, reflection, sorting."""

import functools

from tests.python.registry import called_with, program


@called_with((1, 2, 3), (1, 3, 2), (2, 2, 2), (3, 2, 1), (1.0, 1, True))
def chains(a, b, c):
    """A chain is a conjunction with each operand once."""
    return (
        a < b < c,
        a <= b <= c,
        a == b == c,
        a < b > c,
        a != b != c,
        a < b == c,
        a is b is c,
        not a < b < c,
    )


@program
def chain_evaluates_once():
    """The middle operand is evaluated once; the rest not at all after a False."""
    log = []

    def say(x):
        log.append(x)
        return x

    seen = [say(1) < say(2) < say(3), say(5) < say(4) < say(6), say(1) < say(2) > say(3) < say(0)]
    return seen, log


@program
def chain_returns_operand_result():
    """The result of a chain is the first false result, or the last."""

    class A:
        def __init__(self, result):
            self.result = result

        def __lt__(self, other):
            return self.result

    return (A([]) < A([1]) < 1, A([1]) < A([2]) < 1, A("") < 5, A("x") < A(0) < A(1))


@program
def chain_in_conditions():
    """Chains in `if`, `while`, comprehension filters, `and`/`or`."""
    n = 0
    while 0 <= n < 5 != 7:
        n += 1
    if 1 < n < 10 and not 3 < n < 4 or 0 > n:
        n *= 10
    return n, [x for x in range(10) if 2 < x <= 6 != x], 1 if 0 < n < 10 else 2


@program
def chain_in_a_b_c_d():
    """Long chains and mixed operators."""
    a, b, c, d = 1, [1], [1, 2], {1: 2}
    return (
        a in b != c,
        1 < 2 < 3 < 4 < 5,
        1 < 2 < 3 < 3 < 5,
        a in b in [b],
        None is None is not a,
        a in d is not True,
    )


@program
def reflection():
    """`<` reflects to `>`, `==` to itself."""
    log = []

    class A:
        pass

    class B:
        def __gt__(self, other):
            log.append("gt")
            return "B.gt"

        def __ge__(self, other):
            log.append("ge")
            return "B.ge"

        def __eq__(self, other):
            log.append("eq")
            return "B.eq"

        def __ne__(self, other):
            log.append("ne")
            return "B.ne"

        __hash__ = None

    return A() < B(), A() <= B(), A() == B(), A() != B(), 1 < B(), 1 == B(), log


@program
def ne_from_eq():
    """`!=` inverts `__eq__` unless it has its own method."""

    class A:
        def __init__(self, result):
            self.result = result

        def __eq__(self, other):
            return self.result

        __hash__ = None

    return A(True) != 1, A(False) != 1, A([]) != 1, A(NotImplemented) != 1, A(NotImplemented) == 1


@program
def default_comparison():
    """Without methods equality is identity and order is refused."""

    class A:
        pass

    a, b = A(), A()
    seen = [a == a, a == b, a != b]
    for f in (
        lambda: a < b,
        lambda: a >= b,
        lambda: 1 < "x",
        lambda: None < 1,
        lambda: [1] < (1,),
        lambda: 1j < 2j,
    ):
        try:
            f()
        except TypeError as error:
            seen.append(str(error))
    return seen


@program
def containers_compare_elements():
    """Lists, tuples and dicts compare their elements with user code."""
    log = []

    class K:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            log.append(("eq", self.n, other.n))
            return self.n == other.n

        def __lt__(self, other):
            log.append(("lt", self.n, other.n))
            return self.n < other.n

        __hash__ = None

    return (
        [K(1), K(2)] == [K(1), K(3)],
        (K(1), K(2)) < (K(1), K(3)),
        {"a": K(1)} == {"a": K(1)},
        log,
    )


@program
def total_ordering():
    """`functools.total_ordering` fills the missing ones in."""

    @functools.total_ordering
    class V:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n if isinstance(other, V) else NotImplemented

        def __lt__(self, other):
            return self.n < other.n if isinstance(other, V) else NotImplemented

        __hash__ = None

    a, b = V(1), V(2)
    try:
        a >= 5
    except TypeError as error:
        return a < b, a <= b, a > b, a >= b, a <= V(1), a != b, str(error)


@program
def sort_with_key():
    """Keys are computed once per element, in order; sorting is stable."""
    log = []

    def key(word):
        log.append(word)
        return len(word)

    words = "pear fig apple kiwi date nut".split()
    return (
        sorted(words, key=key),
        sorted(words, key=len, reverse=True),
        log,
        min(words, key=key),
        max(words, key=len),
    )


@program
def sort_in_place():
    """`list.sort` returns None; the list looks empty to the key function."""
    x = [3, 1, 2]
    sizes = []
    result = x.sort(key=lambda v: sizes.append(len(x)) or v)
    return result, x, sizes


@program
def sort_with_lt_only():
    """Sorting asks `__lt__` alone."""

    class V:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            return self.n < other.n

        def __repr__(self):
            return f"V{self.n}"

    items = [V(3), V(1), V(2)]
    return (
        repr(sorted(items)),
        repr(sorted(items, reverse=True)),
        repr(min(items)),
        repr([v.n for v in items]),
    )


@program
def sort_raising():
    """An exception of key or comparison leaves the list with all its elements."""
    x = [3, "a", 1]
    try:
        x.sort()
    except TypeError:
        left = sorted(map(str, x))
    y = [1, 2, 0]
    try:
        y.sort(key=lambda v: 1 // v)
    except ZeroDivisionError:
        return left, y


@program
def sort_key_modifying_list():
    """A key function that changes the list is caught."""
    x = [3, 1, 2]

    def key(v):
        x.append(v)
        return v

    try:
        x.sort(key=key)
    except ValueError as error:
        return str(error), x


@program
def cmp_to_key():
    """`functools.cmp_to_key` with a Python comparison."""
    log = []

    def compare(a, b):
        log.append(1)
        return (a > b) - (a < b) if len(a) == len(b) else len(a) - len(b)

    return sorted("ccc b aaa bb a".split(), key=functools.cmp_to_key(compare)), bool(log)


@program
def min_max():
    """`min` and `max` of one, several, with default, key, and ties."""
    log = []

    def key(x):
        log.append(x)
        return -x

    seen = [
        min(3, 1, 2),
        max([3, 1, 2], key=key),
        min((), default="d"),
        max("b", "a"),
        min([1], key=None),
    ]
    seen.append(max([(1, "a"), (1, "b")], key=lambda t: t[0]))
    seen.append(min([(1, "a"), (1, "b")], key=lambda t: t[0]))
    for f in (lambda: min([]), lambda: max(1), lambda: min(1, 2, default=3), lambda: max(1, "a")):
        try:
            f()
        except (ValueError, TypeError) as error:
            seen.append(type(error).__name__)
    return seen, log


@program
def comparison_result_kept():
    """A comparison may return anything."""

    class A:
        def __eq__(self, other):
            return [other]

        def __lt__(self, other):
            return None

        __hash__ = None

    a = A()
    return a == 1, a < 1, (a == 1)[0], [1 if a < 2 else 0], (a == 5) and "true", a == a == a


@called_with((None,), (1,), (True,), ("",), ([],))
def none_tests(x):
    """`is None` in jumps, both ways."""
    a = 1 if x is None else 2
    b = 1 if x is not None else 2
    while x is None:
        return a, b, "none"
    if not x is not None:
        return "never"
    return a, b, x is None or x, x is not None and x


@program
def not_of_chain_and_membership():
    """`not` binds less than comparisons."""
    return not 1 in [1], not 1 == 1, not (1 < 2 < 3), not 1 is 1, (not 1) in [False]


@program
def comparison_of_bools_and_floats():
    """NaN, infinities and mixed types."""
    nan, inf = float("nan"), float("inf")
    return (
        nan == nan,
        nan != nan,
        nan < 1,
        inf > 10**400,
        -0.0 == 0.0,
        True == 1.0,
        "1" == 1,
        1 == 1 + 0j,
        max(nan, 1) != 1,
    )


@program
def none_as_operand():
    """None answers comparisons like any object, also when it is asked second."""

    class Same:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other

        __hash__ = None

    values = [None, 2.0, Same(2.0), Same(None), [1]]
    return [(a == b, a != b) for a in values for b in values]


@program
def virtual_subclass_is_not_first():
    """Only a real subclass on the right is asked first; one its class only claims is not."""
    log = []

    class Meta(type):
        def __subclasscheck__(cls, other):
            log.append("subclasscheck")
            return True

    class A(metaclass=Meta):
        def __eq__(self, other):
            log.append("A.eq")
            return NotImplemented

        def __add__(self, other):
            log.append("A.add")
            return NotImplemented

        __hash__ = None

    class B:
        def __eq__(self, other):
            log.append("B.eq")
            return NotImplemented

        def __radd__(self, other):
            log.append("B.radd")
            return "sum"

        __hash__ = None

    return A() == B(), A() + B(), log


@program
def unequal_asks_the_subclass_first():
    """`!=` of a class that says only what is equal, beside a subclass that says it otherwise."""
    log = []

    class A:
        def __eq__(self, other):
            log.append("A.eq")
            return True

        __hash__ = None

    class B(A):
        def __eq__(self, other):
            log.append("B.eq")
            return False

        __hash__ = None

    class C(A):
        pass

    return A() != B(), B() != A(), A() != C(), A() == B(), log
