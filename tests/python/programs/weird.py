"""Legal but strange: what only a careful interpreter gets right."""

import gc
import sys

from tests.python.registry import called_with, program


@program
def mutual_recursion_deep():
    """Recursion some hundred levels deep."""

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    return even(150), odd(150)


@called_with((3, 3), (2, 3), (0, 5))
def ackermann(m, n):
    """Deep and wide recursion."""

    def a(m, n):
        return n + 1 if m == 0 else a(m - 1, 1) if n == 0 else a(m - 1, a(m, n - 1))

    return a(min(m, 2), min(n, 3))


@program
def hanoi():
    """Recursion with lists as state."""
    pegs = {"a": [3, 2, 1], "b": [], "c": []}
    moves = []

    def move(n, src, dst, via):
        if n:
            move(n - 1, src, via, dst)
            pegs[dst].append(pegs[src].pop())
            moves.append(src + dst)
            move(n - 1, via, dst, src)

    move(3, "a", "c", "b")
    return moves, pegs


@program
def y_combinator():
    """Recursion without names."""
    return (lambda f: (lambda x: x(x))(lambda x: f(lambda n: x(x)(n))))(
        lambda g: lambda n: 1 if n == 0 else n * g(n - 1)
    )(6)


@program
def church_numerals():
    """Functions all the way."""
    zero = lambda f: lambda x: x
    succ = lambda n: lambda f: lambda x: f(n(f)(x))
    add = lambda m: lambda n: lambda f: lambda x: m(f)(n(f)(x))
    three = succ(succ(succ(zero)))
    return add(three)(three)(lambda n: n + 1)(0)


@program
def quine():
    """A program that makes its own text."""
    text = "text = {!r}\nresult = text.format(text)"
    scope = {}
    exec(text.format(text), scope)
    return scope["result"] == text.format(text)


@program
def class_that_is_its_own_instance_of():
    """A metaclass whose instance is used as a decorator and a context manager."""

    class Meta(type):
        def __enter__(cls):
            return cls.__name__

        def __exit__(cls, *exc):
            return True

        def __call__(cls, f):
            return lambda *a: (cls.__name__, f(*a))

    class Thing(metaclass=Meta):
        pass

    @Thing
    def f(x):
        return x

    with Thing as name:
        raise ValueError
    return f(1), name


@program
def dunder_call_of_type():
    """`type(x)(...)` and `x.__class__(...)`."""

    class A:
        def __init__(self, n=0):
            self.n = n

        def next(self):
            return type(self)(self.n + 1)

        def other(self):
            return self.__class__(self.n + 10)

    class B(A):
        pass

    return type(B().next()).__name__, B(5).other().n


@program
def class_assignment():
    """`__class__` of an instance can be replaced."""

    class A:
        def f(self):
            return "A"

    class B:
        def f(self):
            return "B"

    a = A()
    before = a.f()
    a.__class__ = B
    return before, a.f(), type(a).__name__


@program
def methods_added_later():
    """Methods added to and removed from a class are seen by old instances."""

    class A:
        pass

    a = A()
    A.f = lambda self, x=1: ("f", x)
    A.__len__ = lambda self: 3
    A.__getitem__ = lambda self, i: i * 2 if i < 3 else (_ for _ in ()).throw(IndexError)
    first = a.f(), len(a), list(a)
    del A.f
    A.__len__ = lambda self: 4
    return first, hasattr(a, "f"), len(a)


@program
def bases_assignment():
    """`__bases__` can be replaced, and methods follow."""

    class A:
        def f(self):
            return "A"

    class B:
        def f(self):
            return "B"

    class C(A):
        def g(self):
            return self.f(), super().f()

    c = C()
    before = c.g()
    C.__bases__ = (B,)
    return before, c.g()


@program
def assignment_to_loop_iterable():
    """Rebinding the iterable's name does not change the loop."""
    x = [1, 2, 3]
    seen = []
    for i in x:
        x = "other"
        seen.append((i, x))
        i = "rebound"
    return seen, i


@program
def for_target_is_the_iterable():
    """`for x in x`."""
    x = [1, 2]
    for x in x:
        pass
    for x, x in [(1, 2), (3, 4)]:
        pass
    return x


@program
def for_with_attribute_and_item_targets():
    """Loop targets that run code."""
    log = []

    class T:
        def __setattr__(self, name, value):
            log.append((name, value))

        def __setitem__(self, key, value):
            log.append((key, value))

    t = T()
    for t.x in range(2):
        pass
    for t[len(log)] in "ab":
        pass
    return log


@program
def default_argument_is_function_itself():
    """A decorator sees the defaults; a function can be its own default later."""

    def f(g=None):
        return g

    f.__defaults__ = (f,)
    return f() is f


@program
def return_in_nested_finally_with_exception():
    """Competing exits in nested `finally` blocks."""

    def f():
        for i in range(3):
            try:
                try:
                    raise ValueError(i)
                finally:
                    if i == 0:
                        continue
                    if i == 1:
                        break
            finally:
                log.append(i)
        return "end"

    log = []
    return f(), log


@program
def exceptions_as_control_flow():
    """Exceptions that carry values out of deep recursion."""

    class Found(Exception):
        pass

    def search(tree, what, path=()):
        if tree == what:
            raise Found(path)
        if isinstance(tree, list):
            for i, one in enumerate(tree):
                search(one, what, (*path, i))

    try:
        search([1, [2, [3, "x"], 4], 5], "x")
    except Found as found:
        return found.args[0]


@program
def conditional_definitions():
    """Functions and classes defined in branches and loops."""
    made = []
    for i in range(3):
        if i % 2:

            def f():
                return "odd", i

        else:

            class f:
                def __new__(cls):
                    return "even", i

        made.append(f)
    return [one() for one in made]


@program
def star_in_index_and_slices_of_slices():
    """Slices are values."""
    s = slice(1, 5, 2)
    x = list(range(10))
    x[s] = "ab"
    return x, x[s], s.indices(4), [*range(10)[s]][0], (s.start, s.stop, s.step)


@program
def chained_ternary_and_lambda_defaults():
    """Precedence of lambda, conditional and tuples."""
    f = lambda x: x if x else lambda: x
    g = (lambda: 1, 2)[0]
    h = lambda *, k=lambda: 5: k()
    return f(1), f(0)(), g(), h(), (lambda x=(1, 2): x)()


@program
def bool_of_everything():
    """Truth of builtin values in a jump."""
    values = [
        0,
        0.0,
        0j,
        "",
        b"",
        [],
        (),
        {},
        set(),
        range(0),
        None,
        False,
        frozenset(),
        bytearray(),
        float("nan"),
        -0.0,
        "0",
        [0],
        (None,),
        ...,
    ]
    return ["t" if v else "f" for v in values], [not v for v in values]


@program
def string_methods_with_callbacks():
    """C methods that call back: `re.sub`, `str.join`, `str.translate`, `dict.update`."""
    import re

    class Table:
        def __getitem__(self, key):
            if key == ord("a"):
                return "A"
            if key == ord("b"):
                return None
            raise LookupError

    class Keys:
        def keys(self):
            return ["x", "y"]

        def __getitem__(self, key):
            return key * 2

    d = {}
    d.update(Keys())
    return (
        re.sub(r"\d", lambda m: str(int(m.group()) * 2), "a1b2"),
        "abc".translate(Table()),
        d,
        ",".join(c for c in "xyz"),
        dict(Keys()),
    )


@program
def mutating_while_sorting_and_hashing():
    """A dict whose keys change it while being compared."""
    d = {}

    class K:
        def __hash__(self):
            return 1

        def __eq__(self, other):
            d["side"] = "effect"
            return False

    d[K()] = 1
    d[K()] = 2
    return len(d), d["side"]


@program
def slots_with_weakrefs_and_gc():
    """Cycles are collected."""
    import weakref

    class A:
        pass

    a = A()
    a.me = a
    gone = []
    ref = weakref.ref(a, lambda r: gone.append(1))
    del a
    gc.collect()
    return ref() is None, gone


@program
def unhashable_and_deep_equality():
    """Recursive containers."""
    a = [1]
    a.append(a)
    d = {}
    d["me"] = d
    return repr(a), repr(d), a[1][1][1] is a


@program
def integer_caching_is_not_relied_on():
    """Equality of large integers, identity of small ones and constants."""
    a = 257
    b = 257
    return a == b, a is b, (lambda: 1000)() == 1000, 5 is 5


@program
def long_string_of_conditions():
    """Many branches, each reached."""

    def grade(n):
        if n >= 90:
            return "A"
        if n >= 80:
            return "B"
        if n >= 70 or n == 42:
            return "C"
        if not n:
            return "F-"
        return "F"

    return [grade(n) for n in (95, 85, 75, 42, 0, 10)]


@program
def game_of_life():
    """A small algorithm with sets and comprehensions."""
    cells = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}

    def step(cells):
        near = [
            (x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy
        ]
        return {c for c in near if near.count(c) == 3 or (near.count(c) == 2 and c in cells)}

    for _ in range(4):
        cells = step(cells)
    return sorted(cells)


@program
def n_queens():
    """Backtracking with generators and sets."""

    def place(n, row=0, cols=frozenset(), a=frozenset(), b=frozenset()):
        if row == n:
            yield []
            return
        for c in range(n):
            if c in cols or row + c in a or row - c in b:
                continue
            for rest in place(n, row + 1, cols | {c}, a | {row + c}, b | {row - c}):
                yield [c, *rest]

    return next(place(6)), sum(1 for _ in place(5))


@program
def tokenizer_and_parser():
    """A recursive-descent calculator."""
    import re

    def parse(text):
        tokens = iter(re.findall(r"\d+|[-+*/()]", text) + ["end"])
        current = next(tokens)

        def advance():
            nonlocal current
            current, previous = next(tokens), current
            return previous

        def atom():
            if current == "(":
                advance()
                value = expr()
                assert advance() == ")"
                return value
            return int(advance())

        def term():
            value = atom()
            while current in ("*", "/"):
                value = value * atom() if advance() == "*" else value // atom()
            return value

        def expr():
            value = term()
            while current in ("+", "-"):
                value = value + term() if advance() == "+" else value - term()
            return value

        return expr()

    return parse("2*(3+4)-6/2"), parse("1"), parse("((2))*3")


@program
def dijkstra():
    """A heap of tuples with ties."""
    import heapq

    graph = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 6}, "c": {"d": 3}, "d": {}}
    heap, seen = [(0, "a", ())], {}
    while heap:
        cost, node, path = heapq.heappop(heap)
        if node in seen:
            continue
        seen[node] = (cost, (*path, node))
        for other, weight in graph[node].items():
            heapq.heappush(heap, (cost + weight, other, (*path, node)))
    return seen


@program
def heap_of_user_objects():
    """`heapq` and `bisect` call `__lt__` and keys."""
    import bisect
    import heapq

    log = []

    class V:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            log.append(1)
            return self.n < other.n

    heap = [V(n) for n in (5, 1, 4, 2)]
    heapq.heapify(heap)
    return (
        [heapq.heappop(heap).n for _ in range(4)],
        bisect.bisect([1, 3, 5], 4),
        bool(log),
        heapq.nsmallest(2, "dbca", key=ord),
    )


@program
def trace_of_recursion_limit():
    """The recursion limit can be read inside of a function."""
    return sys.getrecursionlimit() > 100


@program
def interleaved_side_effects():
    """Everything at once, in order."""
    log = []

    class T:
        def __init__(self, name):
            self.name = name

        def __getattr__(self, attr):
            log.append(f"{self.name}.{attr}")
            return T(f"{self.name}.{attr}")

        def __call__(self, *args, **kw):
            log.append(f"{self.name}({len(args)},{sorted(kw)})")
            return T(f"{self.name}()")

        def __getitem__(self, key):
            log.append(f"{self.name}[{key if isinstance(key, str) else 'T'}]")
            return T(f"{self.name}[]")

        def __add__(self, other):
            log.append(f"{self.name}+{other.name}")
            return T("sum")

        def __bool__(self):
            log.append(f"bool {self.name}")
            return len(log) % 2 == 0

        def __enter__(self):
            log.append("enter")
            return self

        def __exit__(self, *exc):
            log.append("exit")

    a, b = T("a"), T("b")
    with a.b.c(b.d, *[b["k"]], key=b) as c:
        x = c.e + b[a.f] if a or b.g else a + b
        y = a and b and c or x
    del x
    return log, y.name


@program
def generator_based_scheduler():
    """Round-robin tasks."""
    log = []

    def task(name, n):
        for i in range(n):
            log.append((name, i))
            got = yield name
            if got == "cancel":
                log.append((name, "cancelled"))
                return

    tasks = [task("a", 3), task("b", 1), task("c", 5)]
    turns = 0
    while tasks:
        for t in list(tasks):
            turns += 1
            try:
                next(t) if turns != 7 else t.send("cancel")
            except StopIteration:
                tasks.remove(t)
    return log, turns


@program
def singleton_and_borg():
    """Instances that share their dict."""

    class Borg:
        shared = {}

        def __init__(self):
            self.__dict__ = self.shared

    a, b = Borg(), Borg()
    a.x = 1
    return b.x, a is b, vars(a) is vars(b)


@program
def dict_subclass_as_instance_dict():
    """An instance's dict replaced by another."""

    class A:
        pass

    a = A()
    a.x = 1
    a.__dict__ = {"y": 2}
    return hasattr(a, "x"), a.y


@program
def function_overwriting_its_own_code():
    """A function that replaces its code while it runs goes on with the old."""

    def f(me):
        me.__code__ = (lambda me: "new").__code__
        return "old"

    return f(f), f(f)


@program
def loop_else_with_return_and_try():
    """`else` of loops nested in `try`, with `return`."""

    def f(n):
        for i in range(3):
            try:
                if i == n:
                    return ("found", i)
            finally:
                log.append(i)
        else:
            log.append("else")
        return "not found"

    log = []
    return f(1), f(7), log


@program
def inner_class_with_outer_variables():
    """Classes nested in functions nested in classes."""

    class Outer:
        tag = "outer"

        def make(self):
            me = self

            class Inner:
                tag = "inner"

                def get(self):
                    return self.tag, me.tag, __class__.__qualname__.rpartition(".")[2]

                class Deep:
                    def get(self):
                        return me.tag, __class__.__name__

            return Inner().get(), Inner.Deep().get()

    return Outer().make()
