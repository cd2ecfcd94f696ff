"""Decorators and functools."""

import functools

from tests.python.registry import program


@program
def decorator_order():
    """Decorator expressions top down, application bottom up."""
    log = []

    def deco(name):
        log.append(("make", name))

        def apply(f):
            log.append(("apply", name))

            @functools.wraps(f)
            def wrapper(*args, **kw):
                log.append(("call", name))
                return (name, f(*args, **kw))

            return wrapper

        return apply

    @deco("a")
    @deco("b")
    @deco("c")
    def f(x):
        """Of f."""
        return x

    return f(1), log, f.__name__, f.__doc__, f.__wrapped__.__wrapped__.__wrapped__(5)


@program
def decorator_returning_anything():
    """A decorator may return what it likes."""

    @lambda f: f.__name__
    def name():
        pass

    @list
    @dict
    @lambda f: f()
    def items():
        return [("a", 1), ("b", 2)]

    @(lambda n: lambda f: f(n))(5)
    def five(n):
        return n * 2

    @[0, property][1]
    def p(self):
        pass

    return name, items, five, type(p).__name__


@program
def decorator_class():
    """A class as decorator; its instances replace the function."""

    class Count:
        def __init__(self, f):
            functools.update_wrapper(self, f)
            self.f, self.n = f, 0

        def __call__(self, *args):
            self.n += 1
            return self.f(*args)

        def __get__(self, obj, cls):
            return functools.partial(self, obj)

    @Count
    def f(x):
        return x

    class A:
        @Count
        def m(self, x):
            return type(self).__name__, x

    return f(1), f(2), f.n, A().m(3), vars(A)["m"].n, f.__name__


@program
def decorated_methods():
    """Decorators on methods, class methods and properties."""

    def twice(f):
        @functools.wraps(f)
        def wrapper(self, *args):
            return f(self, *args), f(self, *args)

        return wrapper

    class A:
        n = 0

        @twice
        def bump(self):
            self.n += 1
            return self.n

        @property
        @twice
        def p(self):
            return self.bump()

        @classmethod
        @twice
        def c(cls):
            return cls.__name__

        @staticmethod
        @functools.lru_cache
        def s(x):
            return x * 2

    a = A()
    return a.bump(), a.p, A.c(), A.s(4)


@program
def wraps_keeps():
    """`functools.wraps` copies names, text, annotations and attributes."""

    def f(a: int, b="x") -> str:
        """Of f."""

    f.extra = [1]

    @functools.wraps(f)
    def g(*args):
        return args

    return (
        g.__name__,
        g.__doc__,
        g.__annotations__,
        g.extra is f.extra,
        g.__wrapped__ is f,
        g(1),
        g.__qualname__,
    )


@program
def lru_cache():
    """Results are kept by arguments; typed and keyword arguments differ."""
    log = []

    @functools.lru_cache(maxsize=2)
    def f(x, y=0):
        log.append((x, y))
        return [x, y]

    same = f(1) is f(1)
    f(1, 0), f(1, y=0), f(2), f(1.0)
    info = f.cache_info()
    f.cache_clear()
    f(1)
    try:
        f([])
    except TypeError as error:
        return same, log, info, f.cache_info(), type(error).__name__


@program
def cache_of_recursion():
    """A cached recursive function."""
    calls = []

    @functools.cache
    def fib(n):
        calls.append(n)
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return fib(30), len(calls), fib.cache_info().hits


@program
def cache_of_raising():
    """Exceptions are not kept."""
    log = []

    @functools.lru_cache
    def f(x):
        log.append(x)
        if len(log) < 3:
            raise ValueError(x)
        return x

    for _ in range(2):
        try:
            f(1)
        except ValueError:
            pass
    return f(1), f(1), log


@program
def reduce():
    """`functools.reduce` folds from the left."""
    log = []

    def f(a, b):
        log.append((a, b))
        return f"({a}{b})"

    seen = [
        functools.reduce(f, "abc"),
        functools.reduce(f, [], "init"),
        functools.reduce(f, "x"),
        functools.reduce(f, "yz", "i"),
    ]
    try:
        functools.reduce(f, [])
    except TypeError as error:
        return seen, log, str(error)


@program
def singledispatch():
    """Dispatch on the type of the first argument, by inheritance."""

    @functools.singledispatch
    def f(x, *rest):
        return "object", rest

    @f.register
    def _(x: int, *rest):
        return "int", rest

    @f.register(list)
    @f.register(tuple)
    def _(x, *rest):
        return "sequence", [f(one) for one in x]

    class A(int):
        pass

    return f("x"), f(1, 2), f([1, "a"]), f((True,)), f(A(3)), f.dispatch(bool)(0), len(f.registry)


@program
def partial_of_methods_and_classes():
    """Partials of classes, bound methods, builtins; attributes and repr."""

    class A:
        def __init__(self, x, y=2):
            self.xy = x, y

        def m(self, *args):
            return self.xy, args

    make = functools.partial(A, y=5)
    say = functools.partial(make(1).m, "a")
    base2 = functools.partial(int, base=2)
    say.note = "kept"
    return make(3).xy, say("b"), base2("101"), say.note, functools.partial(max, key=abs)([-5, 3])


@program
def map_filter_reduce_with_python():
    """C functions that call Python ones, and their order."""
    log = []

    def f(x):
        log.append(("f", x))
        return x * 2

    def odd(x):
        log.append(("odd", x))
        return x % 2

    it = map(f, filter(odd, range(4)))
    log.append("made")
    first = next(it)
    log.append(first)
    return list(it), log


@program
def any_all_sum():
    """`any` and `all` stop early."""
    log = []

    def say(x):
        log.append(x)
        return x

    class T:
        def __bool__(self):
            log.append("bool")
            return True

    return (
        any(say(x) for x in (0, "", 3, 4)),
        all(say(x) for x in (1, [], 2)),
        any([]),
        all([]),
        any([T(), T()]),
        sum((say(x) for x in (1, 2)), 10),
        log,
    )


@program
def callbacks_raise_through_c():
    """An exception of a callback shows the callback's line and the caller's."""

    def f(x):
        return 1 // x

    return [list(map(f, [1, 2, 0]))]


@program
def sum_of_user_objects():
    """`sum` adds from the left, starting at 0."""

    class V:
        def __init__(self, n):
            self.n = n

        def __add__(self, other):
            return V(self.n + other.n)

        def __radd__(self, other):
            return V(self.n + 1000 + other)

    try:
        sum(["a"], "")
    except TypeError as error:
        return sum([V(1), V(2)]).n, sum([[1], [2]], []), str(error)


@program
def compose_and_curry():
    """Higher-order functions."""

    def compose(*fs):
        return functools.reduce(lambda f, g: lambda x: f(g(x)), fs, lambda x: x)

    def curry(f, n, *got):
        return f(*got) if n == 0 else lambda x: curry(f, n - 1, *got, x)

    return compose(lambda x: x + 1, lambda x: x * 10, str.__len__)("abc"), curry(
        lambda a, b, c: (a, b, c), 3
    )(1)(2)(3)


@program
def decorator_preserving_generator():
    """A decorator around a generator function."""

    def doubled(f):
        @functools.wraps(f)
        def wrapper(*args):
            for x in f(*args):
                yield x
                yield x

        return wrapper

    @doubled
    def g(n):
        yield from range(n)

    return list(g(3))


@program
def memo_in_default():
    """Memoisation in a default argument."""

    def fib(n, memo={}):
        if n not in memo:
            memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
        return memo[n]

    return fib(40), len(fib.__defaults__[0])


@program
def function_attributes():
    """Functions have attributes of their own."""

    def f():
        f.calls = getattr(f, "calls", 0) + 1
        return f.calls

    f(), f()
    f.__name__ = "renamed"
    f.__doc__ = "new"
    return f(), vars(f), f.__name__, f.__doc__, f.__qualname__, f.__module__.rpartition(".")[2]


@program
def reduce_with_short_circuit():
    """A callback that raises stops the fold where it stands."""
    seen = []

    def add(a, b):
        seen.append(b)
        if b == 3:
            raise StopIteration("stop")
        return a + b

    try:
        functools.reduce(add, range(10))
    except StopIteration as stop:
        return seen, stop.value
