"""Closures and cells: which variable a function sees, and when."""

from tests.python.registry import called_with, program


@program
def counter():
    """`nonlocal` writes the variable of the function around."""

    def make():
        n = 0

        def bump(by=1):
            nonlocal n
            n += by
            return n

        return bump

    a, b = make(), make()
    return a(), a(5), b(), a()


@program
def late_binding():
    """Functions made in a loop share the loop's variable."""
    late = [lambda: i for i in range(3)]
    early = [lambda i=i: i for i in range(3)]
    shared = []
    for j in range(3):
        shared.append(lambda: j)
    j = 10
    return [f() for f in late], [f() for f in early], [f() for f in shared]


@program
def parameter_in_cell():
    """A parameter that is captured lives in a cell, also after it is changed."""

    def f(x, *args, k, **kw):
        def g():
            return x, args, k, kw

        x += 1
        kw["new"] = 1
        return g

    return f(1, 2, 3, k=4, z=5)()


@program
def sibling_closures_share():
    """Two functions share one cell."""

    def make():
        value = 0

        def get():
            return value

        def put(x):
            nonlocal value
            value = x

        return get, put

    get, put = make()
    before = get()
    put(7)
    return before, get(), get.__closure__[0] is put.__closure__[0], get.__closure__[0].cell_contents


@program
def deep_nonlocal():
    """`nonlocal` reaches through functions that do not mention the name."""

    def a():
        x = "a"

        def b():
            def c():
                def d():
                    nonlocal x
                    x += "d"

                d()

            c()

        b()
        return x

    return a()


@program
def nonlocal_stops_at_binding():
    """`nonlocal` writes the nearest binding."""
    x = "outer"

    def f():
        x = "middle"

        def g():
            nonlocal x
            x = "inner"

        g()
        return x

    return f(), x


@program
def delete_cell():
    """A captured variable can be deleted and bound again."""

    def f():
        x = 1

        def g():
            return x

        print(g())
        del x
        try:
            g()
        except NameError as error:
            print(type(error).__name__, error)
        try:
            x
        except UnboundLocalError as error:
            print(error)
        x = 2
        return g()

    return f()


@program
def delete_through_nonlocal():
    """An inner function deletes the variable of the outer one."""
    x = 1

    def f():
        nonlocal x
        del x

    f()
    try:
        return x
    except UnboundLocalError as error:
        return type(error).__name__


@program
def cell_writes_from_outside():
    """`cell_contents` is the variable itself."""
    x = 1

    def f():
        return x

    f.__closure__[0].cell_contents = 42
    del f.__closure__[0].cell_contents
    try:
        x
    except NameError:
        print("empty")
    f.__closure__[0].cell_contents = 43
    return x, f()


@program
def class_body_sees_function_names():
    """A class body reads the names of the function around, and shadows them."""
    x = "function"

    class C:
        y = x
        z = "class"

        def f(self):
            return x, z

    z = "outside"

    class D:
        try:
            x = x
        except NameError as error:
            seen = str(error)
        x = "class"
        w = x

    return C.y, C.z, C().f(), D.seen, D.w


@program
def class_body_does_not_scope_methods():
    """Methods do not see the names of their class body; comprehensions only see the first iterable."""

    class C:
        n = 3
        items = [i for i in range(n)]
        try:
            bad = [n for i in range(2)]
        except NameError as error:
            bad = str(error)

    return C.items, C.bad


@program
def nonlocal_in_class_body():
    """A class body can write the function's variable."""
    x = 1

    class C:
        nonlocal x
        x = 2
        y = 3

    return x, hasattr(C, "x"), C.y


@program
def global_in_nested_function():
    """`global` skips the functions around."""
    __doc__ = "function's own"

    def f():
        global __doc__
        return __doc__[:11]

    return f(), __doc__


@program
def lambda_in_default():
    """A default that is a function closes over the scope around the definition."""
    n = 5

    def f(g=lambda: n):
        n = 7
        return g(), n

    return f()


@program
def comprehension_closes_over_its_variable():
    """Functions made by a comprehension share its variable, which is not the function's."""
    x = "outside"
    functions = [lambda: (x, y) for x in range(3) for y in "ab"]
    return [f() for f in functions], x


@program
def generator_closes_over_variable():
    """A generator reads the variable as it is when it runs."""
    n = 2
    items = (i * n for i in range(3))
    n = 10
    return list(items)


@program
def first_iterable_is_evaluated_outside():
    """The first iterable of a generator expression is evaluated at once, the others late."""
    log = []

    def say(x):
        log.append(x)
        return range(x)

    made = ((i, j) for i in say(2) for j in say(3))
    log.append("made")
    return list(made), log


@program
def recursion_through_cell():
    """A local function that calls itself finds itself in its cell."""

    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)

    saved, result = fact, fact(6)
    fact = lambda n: -1
    return result, saved(3)


@program
def closure_over_exception_name():
    """The name of an exception is deleted after its handler, also in a cell."""
    try:
        raise ValueError("x")
    except ValueError as error:

        def f():
            return error

        inside = f().args
    try:
        f()
    except NameError as gone:
        return inside, str(gone)


@program
def closure_over_loop_with_break():
    """The cell keeps the last value of a loop that was left."""
    for i in range(10):
        if i == 4:
            break

    def f():
        return i

    return f()


@program
def freevars_and_cellvars():
    """The code of a function knows its free and captured names."""
    a = b = c = 1

    def f(p, q):
        r = a

        def g():
            return b, p, r

        return g

    return f.__code__.co_freevars, f.__code__.co_cellvars, f(1, 2)(), c


@program
def closures_in_methods():
    """`self` and `__class__` are captured by functions inside of methods."""

    class C:
        def __init__(self):
            self.n = 1

        def make(self):
            def bump():
                self.n += 1
                return self.n, __class__.__name__

            return bump

    c = C()
    f = c.make()
    return f(), f(), c.n


@program
def decorator_with_state():
    """A decorator that closes over its own state."""

    def counted(f):
        def wrapper(*args):
            wrapper.calls += 1
            return f(*args)

        wrapper.calls = 0
        return wrapper

    @counted
    def f(x):
        return x * 2

    return f(1), f(2), f.calls


@called_with((3,), (0,))
def accumulating_closures(n):
    """A chain of closures, each over the last."""
    f = lambda x: x
    for i in range(n):

        def g(x, f=f, i=i):
            return f(x) * 10 + i

        f = g
    return f(1)


@program
def exec_does_not_see_cells():
    """`exec` in a function works on a snapshot of its names."""
    x = 1

    def f():
        return x

    scope = {}
    exec("x = 2", {}, scope)
    return x, f(), scope


@program
def locals_contains_free_names():
    """`locals()` holds captured and free names that are bound."""
    a = 1

    def f(b):
        c = 3
        d = a

        def g():
            return c

        return dict(sorted(locals().items(), key=lambda item: item[0])).keys()

    return list(f(2))


@program
def unused_nonlocal_in_branch():
    """A nonlocal that is written in a branch not taken is unchanged."""
    x = []

    def f(flag):
        nonlocal x
        if flag:
            x = [1]
        return x

    return f(False), f(True), x


@program
def two_generators_share_cell():
    """Generators of one function write the same outer variable."""
    total = 0

    def run(n):
        nonlocal total
        for i in range(n):
            total += i
            yield total

    return list(zip(run(4), run(4))), total


@program
def same_name_in_many_scopes():
    """One name in five scopes."""
    x = 1

    def f(x):
        g = [(lambda x: x + 1)(x) for x in [x * 10]]

        def h():
            x = "h"
            return x

        return x, g, h(), {x: x for x in "k"}

    return f(2), x


@program
def free_variable_of_nested_lambda_default():
    """Defaults in nested lambdas see the right scope."""
    k = 1
    f = lambda a=(lambda b=k: b + k): (a(), a(5))
    k = 2
    return f()
