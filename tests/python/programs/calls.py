"""Calls: how arguments meet parameters, in which order, and how they fail to."""

import functools

from tests.python.registry import called_with, program


@called_with((1, 2), (1, 2, 3), (1, 2, 3, 4, 5))
def star_args(a, b, *rest):
    """Extra positional arguments become a tuple."""
    return a, b, rest, type(rest)


@program
def every_kind_of_parameter():
    """Positional-only, default, variadic, keyword-only and keyword parameters together."""

    def f(a, b=2, /, c=3, *args, d, e=5, **kw):
        return a, b, c, args, d, e, kw

    return (
        f(1, d=4),
        f(1, 2, 3, 4, 5, d=6, e=7, a=8, b=9),
        f(*[1, 2], c=0, **{"d": 1, "z": 2}),
        f(1, **{"d": 4, "a": "kw"}),
    )


def failing_calls(f, *calls):
    """Call and give the messages; the wording is CPython's own."""
    seen = []
    for args, kw in calls:
        try:
            seen.append(f(*args, **kw))
        except TypeError as error:
            seen.append(str(error))
    return seen


@program
def missing_arguments():
    """One, two or many missing arguments are named."""

    def f(a, b, c, *, d, e):
        return a, b, c, d, e

    return failing_calls(
        f,
        ((), {}),
        ((1,), {}),
        ((1, 2), {"d": 1, "e": 1}),
        ((1, 2, 3), {}),
        ((1, 2, 3), {"d": 1}),
        ((1, 2, 3), {"e": 5, "d": 4}),
    )


@program
def too_many_arguments():
    """Too many positional arguments are counted as CPython counts them."""

    def f(a):
        return a

    def g(a, b=1):
        return a

    def h(a, *, k):
        return a

    def none():
        return None

    seen = [failing_calls(one, ((1, 2, 3), {})) for one in (f, g, none)]
    return seen, failing_calls(h, ((1, 2), {}), ((1, 2), {"k": 1}), ((1, 2, 3), {"k": 3}))


@program
def unexpected_keywords():
    """A keyword nobody takes, one taken twice, and one that is positional-only."""

    def f(a, /, b):
        return a, b

    return failing_calls(
        f,
        ((1, 2), {"c": 3}),
        ((1, 2), {"b": 3}),
        ((), {"a": 1, "b": 2}),
        ((1,), {"a": 1, "b": 2}),
    )


@program
def evaluation_order_of_arguments():
    """The function comes first, then arguments as written, also past stars."""
    log = []

    def say(x):
        log.append(x)
        return x

    def target():
        log.append("function")
        return lambda *a, **k: (a, k)

    result = target()(say(1), *say([2, 3]), say(4), k=say(5), **say({"z": 6}), y=say(7))
    return log, result


@program
def arguments_before_call_fails():
    """Arguments are evaluated even if the callee cannot be called."""
    log = []
    try:
        None(log.append("evaluated"))
    except TypeError as error:
        return log, str(error)


@program
def star_of_any_iterable():
    """`*` takes any iterable, `**` any mapping."""

    class M:
        def keys(self):
            print("keys")
            return iter("ab")

        def __getitem__(self, key):
            print("item", key)
            return key * 2

    def f(*a, **k):
        return a, k

    return f(*"xy", *(i for i in range(2)), *{}, **M())


@program
def star_of_not_iterable():
    """`*` of something that is not iterable fails before the call."""

    def f(*a, **k):
        print("called")

    seen = []
    for call in (lambda: f(*1), lambda: f(**1), lambda: f(**{1: 2}), lambda: f(1, *None)):
        try:
            call()
        except TypeError as error:
            seen.append(type(error).__name__)
    return seen


@program
def duplicate_keyword_from_mapping():
    """A keyword that two mappings give is refused before the call."""

    def f(**k):
        print("called")

    seen = []
    for call in (lambda: f(**{"a": 1}, **{"a": 2}), lambda: f(a=1, **{"a": 2})):
        try:
            call()
        except TypeError as error:
            seen.append(str(error).split("()")[-1])
    return seen


@program
def keyword_mapping_is_copied():
    """`**kw` is a new dict in the callee."""
    given = {"a": 1}

    def f(**kw):
        kw["b"] = 2
        return kw

    return f(**given), given


@program
def args_tuple_is_passed_through():
    """`f(*args)` with one tuple, and nested forwarding."""

    def inner(*args, **kw):
        return args, sorted(kw.items())

    def outer(*args, **kw):
        return inner(*args, 0, **kw, extra=1)

    return outer(1, 2, k=3)


@program
def defaults_are_shared():
    """A mutable default lives with the function."""

    def f(x, seen=[]):
        seen.append(x)
        return seen

    return f(1), f(2), f(3, []), f.__defaults__


@program
def defaults_evaluated_at_definition():
    """Defaults are evaluated at definition, in order."""
    log = []

    def say(x):
        log.append(x)
        return x

    n = 1

    def f(a=say("a"), *, b=say("b"), c=n):
        return a, b, c

    n = 2
    return log, f(), f.__kwdefaults__, n


@program
def defaults_can_be_replaced():
    """`__defaults__` and `__kwdefaults__` are read at each call."""

    def f(a, b=1, *, c=2):
        return a, b, c

    before = f(0)
    f.__defaults__ = (10, 20)
    f.__kwdefaults__ = {"c": 30}
    between = f()
    f.__kwdefaults__["c"] = 31
    f.__defaults__ = None
    try:
        f()
    except TypeError as error:
        return before, between, str(error), f(1, 2)


@program
def code_can_be_replaced():
    """`__code__` is read at each call."""

    def f(x):
        return x + 1

    def g(x):
        return x * 100

    before = f(2)
    f.__code__ = g.__code__
    return before, f(2)


@program
def bound_methods():
    """A bound method carries its object; equal ones compare equal."""

    class C:
        def f(self, x):
            return self, x

    c = C()
    m = c.f
    return m(1)[0] is c, m == c.f, m is c.f, m.__self__ is c, C.f(c, 2)[1], m.__func__ is C.f


@program
def method_on_instance_dict():
    """A function in the instance's own dict is not bound."""

    class C:
        def f(self):
            return "class"

    c = C()
    c.f = lambda *args: ("instance", args)
    return c.f(), c.f(1), C.f(c)


@program
def callable_object():
    """`__call__` is looked up on the type."""

    class C:
        def __call__(self, *args, **kw):
            return args, kw

    c = C()
    c.__call__ = lambda: "instance"
    return c(1, a=2), callable(c), callable(object())


@program
def call_of_callable_object_chain():
    """`__call__` may itself be a callable object, a static method or a class."""

    class Inner:
        def __call__(self, *args):
            return "inner", args

    class A:
        __call__ = Inner()

    class B:
        @staticmethod
        def __call__(*args):
            return "static", args

    class C:
        @classmethod
        def __call__(cls, *args):
            return cls.__name__, args

    class D:
        __call__ = dict

    return A()(1), B()(2), C()(3), D()(a=1)


@program
def staticmethod_is_callable():
    """A bare `staticmethod` can be called in the class body."""

    class C:
        @staticmethod
        def f(x):
            return x * 2

        y = f(21)

    return C.y, C.f(1), C().f(2)


@program
def partials():
    """`functools.partial` merges positional and keyword arguments, and nests."""

    def f(*args, **kw):
        return args, kw

    p = functools.partial(f, 1, a=1)
    q = functools.partial(p, 2, a=2, b=3)
    return p(5), q(), q(9, b=0), q.func is f, q.args, q.keywords


@program
def partialmethod():
    """`functools.partialmethod` binds like a method."""

    class Cell:
        alive = False

        def set(self, state, *, loud=False):
            self.alive = state
            return self, loud

        on = functools.partialmethod(set, True)
        off = functools.partialmethod(set, False, loud=True)

    c = Cell()
    return c.on()[1], c.alive, c.off()[1], c.alive


@program
def recursion_with_default_and_star():
    """A recursive function with stars keeps its frames apart."""

    def f(n, *acc, **kw):
        if not n:
            return acc, kw
        return f(n - 1, n, *acc, **{f"k{n}": n}, **kw)

    return f(4)


@program
def call_returns_function_called_at_once():
    """`f()()()` and methods of results."""

    def f(n):
        return lambda m: lambda k: (n, m, k)

    return f(1)(2)(3), [lambda x: x * 2][0](4), {"a": abs}["a"](-1), (lambda: "x")().upper()


@program
def many_arguments():
    """More than 255 arguments."""
    scope = {}
    exec(
        "def f(" + ", ".join(f"a{i}" for i in range(300)) + "): return a0, a255, a299\n"
        "def g(): return f(" + ", ".join(map(str, range(300))) + ")\n"
        "def h(): return f(" + ", ".join(f"a{i}={i}" for i in range(300)) + ")\n",
        scope,
    )
    return scope["g"](), scope["h"]()


@program
def builtin_keyword_calls():
    """Builtins with keyword arguments."""
    return (
        int("ff", base=16),
        sorted([3, 1, 2], reverse=True),
        dict(a=1, **{"b": 2}),
        print("a", "b", sep="-", end="!\n"),
        max([1, 5, 3], key=lambda x: -x),
        max([], default="none"),
        round(2.5),
        round(2.675, ndigits=2),
        pow(2, 10, mod=1000),
        sum([[1], [2]], start=[]),
        "a b c".split(maxsplit=1),
    )


@called_with((1,), ("a",), (None,))
def call_wrong_type(x):
    """A failing builtin raises inside of the user's line."""
    return len(x)


@program
def method_and_attribute_of_same_name_call():
    """LOAD_METHOD meets descriptors, class attributes and slots."""

    class D:
        def __get__(self, obj, cls):
            return lambda *a: ("got", obj is None, a)

    class C:
        d = D()
        s = staticmethod(lambda *a: ("static", a))
        k = classmethod(lambda cls, *a: (cls.__name__, a))
        p = property(lambda self: lambda *a: ("property", a))
        t = int

    c = C()
    return c.d(1), C.d(1), c.s(2), C.s(2), c.k(3), C.k(3), c.p(4), c.t("5")


@program
def call_super_class_method_unbound():
    """Methods of builtins called through the class."""
    return (
        str.upper("a"),
        list.append([], 1),
        dict.get({"a": 1}, "a"),
        int.__add__(1, 2),
        object.__repr__,
    )


@program
def unbound_local_argument_deleted():
    """An argument can be deleted and bound again."""

    def f(a, b):
        del a
        try:
            a
        except UnboundLocalError as error:
            b = str(error)
        a = 5
        return a, b

    return f(1, 2)


@program
def positional_only_name_in_kwargs():
    """A positional-only name is free for `**kw`."""

    def f(self, /, **kw):
        return self, kw

    return f(1, self=2), "{self}".format(self=3)


@program
def error_in_argument_stops_later_ones():
    """An exception in an argument leaves the others unevaluated."""
    log = []

    def say(x):
        log.append(x)
        return x

    try:
        say(print)(say(1), 1 // 0, say(2))
    except ZeroDivisionError:
        return log


@program
def keyword_order_is_kept():
    """`**kw` keeps the order of the call."""

    def f(**kw):
        return list(kw)

    return f(z=1, a=2, **{"m": 3}, b=4)


@program
def calls_through_map_of_methods():
    """Bound builtin and Python methods as values."""

    class C:
        def __init__(self, n):
            self.n = n

        def get(self, x=0):
            return self.n + x

    out = []
    list(map(out.append, [1, 2]))
    list(map(C.get, [C(1), C(2)]))
    return out, list(map(C(10).get, [1, 2])), list(map(C.get, [C(1), C(2)], [5, 6]))
