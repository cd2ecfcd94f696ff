"""Unpacking: targets, stars, errors, order of stores."""

from tests.python.registry import called_with, program


@called_with(
    ([1, 2, 3],),
    ("abc",),
    ((1, 2),),
    ([1, 2, 3, 4],),
    (5,),
    (None,),
    ({1: 2, 3: 4, 5: 6},),
    ({1: 2, 3: 4, 5: 6, 7: 8},),
    ({1, 2, 3, 4},),
    (range(3),),
    (range(4),),
)
def exact(x):
    """Three targets for three values."""
    a, b, c = x
    return a, b, c


@called_with(([1],), ([1, 2],), ([1, 2, 3, 4, 5],), ("",), (7,))
def star_in_the_middle(x):
    """A star takes what is left, as a list."""
    a, *b, c = x
    return a, b, c


@program
def star_positions():
    """A star at either end."""
    *a, b = "xyz"
    c, *d = "xyz"
    (*e,) = range(3)
    *f, (g, *h) = [1, 2, [3, 4, 5]]
    return a, b, c, d, e, f, g, h


@program
def nested():
    """Nested patterns, brackets and parentheses alike."""
    (a, [b, (c, *d)], e) = 1, (2, [3, 4, 5]), "e"
    return a, b, c, d, e


@program
def swap_and_rotate():
    """The right side is complete before the first store."""
    a, b, c, d = 1, 2, 3, 4
    a, b = b, a
    b, c, d = d, b, c
    x = [0, 1, 2]
    i = 0
    i, x[i] = 2, "i"
    return a, b, c, d, i, x


@program
def order_of_stores():
    """Targets are stored from left to right, their parts evaluated just before."""
    log = []

    class T:
        def __setattr__(self, name, value):
            log.append((name, value))

        def __setitem__(self, key, value):
            log.append((key, value))

    def target(name):
        log.append(name)
        return T()

    def key(name):
        log.append(name)
        return name

    target("t1").a, target("t2")[key("k")], *target("t3").c = 1, 2, 3, 4
    return log


@program
def stores_before_failure_stay():
    """If a store fails, the ones before it have happened."""

    class Bad:
        def __setattr__(self, name, value):
            raise ValueError(name)

    a = b = None
    try:
        a, Bad().x, b = 1, 2, 3
    except ValueError:
        return a, b


@program
def generator_is_read_to_the_end():
    """Unpacking asks for one value more than there are targets."""
    log = []

    def g():
        for i in range(5):
            log.append(i)
            yield i

    try:
        a, b = g()
    except ValueError as error:
        return log, str(error)


@program
def iterator_is_left_where_it_stood():
    """Unpacking an iterator object that has too few values."""
    it = iter([1])
    try:
        a, b = it
    except ValueError as error:
        return str(error), next(it, "empty")


@program
def iteration_error_passes():
    """An exception of the iterator leaves the statement."""

    class It:
        def __iter__(self):
            raise KeyError("iter")

    a, b = It()


@program
def sequence_protocol():
    """An object with only `__getitem__` is iterable."""

    class Seq:
        def __getitem__(self, i):
            if i >= 3:
                raise IndexError
            return i * 10

    a, *b = Seq()
    return a, b, list(Seq()), 20 in Seq()


@program
def in_for_and_with():
    """Patterns as loop variables."""
    seen = []
    for i, (a, *b) in enumerate(["abc", "d"]):
        seen.append((i, a, b))
    for seen_0, seen[0] in [(1, "x"), (2, "y")]:
        pass
    return seen, seen_0


@program
def into_attributes_and_items():
    """Targets that are attributes, items and slices."""

    class Box:
        pass

    box, items = Box(), [0] * 5
    box.a, items[0], items[1:3], (box.b, *items[3:]) = 1, 2, "xy", (3, 4, 5, 6)
    return vars(box), items


@program
def subclass_of_tuple_and_list():
    """Subclasses with their own `__iter__` are asked."""

    class T(tuple):
        def __iter__(self):
            return iter("xy")

    class L(list):
        def __iter__(self):
            return iter([9, 8])

    a, b = T([1, 2])
    c, *d = L([1, 2, 3])
    return a, b, c, d, [*T([1])], (lambda *a: a)(*L())


@program
def star_makes_new_list():
    """The starred list is new each time."""
    source = [1, 2, 3]
    *a, _ = source
    *b, _ = source
    a.append("x")
    return a, b, source


@program
def empty_targets():
    """Empty patterns match empty iterables."""
    [] = ()
    () = []
    try:
        () = [1]
    except ValueError as error:
        return str(error)


@program
def in_return_and_yield_and_subscript():
    """Stars in returned, yielded and subscripted tuples."""

    def f(x):
        return 0, *x

    def g(x):
        yield *x, "end"

    class K:
        def __getitem__(self, key):
            return key

    return f("ab"), list(g("cd")), K()[(*"ef", 1)]


@program
def many_targets():
    """More than 255 targets before a star."""
    scope = {}
    names = ", ".join(f"a{i}" for i in range(250))
    exec(f"def f(x):\n    {names}, *rest, last = x\n    return a0, a129, a249, rest, last", scope)
    return scope["f"](range(265)), len(scope["f"](range(300))[3])


@program
def chained_with_star():
    """Chained assignment with different patterns."""
    a, *b = c = *d, e = "wxyz"
    return a, b, c, d, e


@program
def dict_unpacking_order():
    """Later mappings win and keep the first place."""
    log = []

    def say(x):
        log.append(x)
        return x

    made = {"a": say(1), **say({"b": 2, "a": 3}), say("c"): say(4), **say({"b": 5})}
    return made, log


@program
def dict_unpacking_of_not_mapping():
    """`**` in a display needs a mapping."""
    seen = []
    for x in (1, [("a", 1)], None):
        try:
            {**x}
        except TypeError as error:
            seen.append(str(error))
    return seen
