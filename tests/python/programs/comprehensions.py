"""Comprehensions of all four kinds, their scopes and their order."""

from tests.python.registry import called_with, program


@called_with((0,), (4,))
def four_kinds(n):
    """List, set, dict and generator."""
    return (
        [x * 2 for x in range(n)],
        {x % 3 for x in range(n)},
        {x: x * x for x in range(n)},
        list(x + 1 for x in range(n)),
    )


@program
def nested_loops_and_conditions():
    """Loops and conditions alternate; later ones see earlier variables."""
    return (
        [(x, y) for x in range(4) if x % 2 for y in range(x) if y != 1],
        [x for x in range(20) if x % 2 == 0 if x % 3 == 0],
        [[y * x for y in range(x)] for x in range(4)],
        [z for x in [[1, 2], [3]] for y in [x] for z in y],
    )


@program
def variable_does_not_leak():
    """The variable is not the function's; the function's is untouched."""
    x = "kept"
    made = [x for x in range(3)]
    other = {x: x for x in "ab"}
    try:
        y_made = [y for y in range(2)]
        y
    except NameError as error:
        return x, made, other, y_made, type(error).__name__


@program
def variable_unbound_stays_unbound():
    """A name that is unbound before is unbound after, though it is a local elsewhere."""
    [late for late in range(2)]
    try:
        late
    except UnboundLocalError:
        print("unbound")
    late = 1
    return late, [late for late in "z"], late


@program
def order_of_dict_comprehension():
    """Key before value, first iterable before everything."""
    log = []

    def say(x):
        log.append(x)
        return x

    made = {say(f"k{i}"): say(f"v{i}") for i in say((1, 2)) if say(i)}
    return made, log


@program
def last_duplicate_wins():
    """A repeated key keeps its place and takes the last value."""
    return {k: v for k, v in [("a", 1), ("b", 2), ("a", 3)]}


@program
def unpacking_targets():
    """Targets of all shapes."""
    pairs = [(1, (2, 3)), (4, (5, 6))]

    class Box:
        pass

    box = Box()
    return (
        [a + b + c for a, (b, c) in pairs],
        [rest for _, *rest in ["abc", "de"]],
        [box.x for box.x in range(2)],
        box.x,
        {a: b for [a, b] in ["xy", "zw"]},
    )


@program
def exception_inside():
    """An exception inside leaves through the comprehension."""
    return [1 // x for x in (2, 1, 0, 5)]


@program
def exception_then_locals_are_restored():
    """After an exception the function's own variable is what it was."""
    x = "kept"
    try:
        [1 // x for x in (1, 0)]
    except ZeroDivisionError:
        return x


@program
def closures_inside():
    """Functions made inside share the variable of the comprehension."""
    return (
        [f() for f in [lambda: i for i in range(3)]],
        [f() for f in [(lambda i: lambda: i)(i) for i in range(3)]],
        {k: f() for k, f in {k: (lambda: k) for k in "ab"}.items()},
    )


@program
def function_variable_in_nested():
    """Inner comprehensions see outer variables and the function's."""
    a = 10

    def f(b):
        c = 1
        return [[a + b + c + x + y for x in range(2)] for y in range(2)]

    return f(100)


@program
def captured_variable_of_same_name():
    """A comprehension's variable that has the name of a captured local."""
    x = "cell"

    def g():
        return x

    made = [(x, g()) for x in range(2)]
    return made, x, g()


@program
def conditional_expression_inside():
    """Conditional expressions as element and as filter."""
    return [("even" if x % 2 == 0 else "odd") for x in range(4) if (x > 1 if x % 2 else True)]


@program
def walrus_inside():
    """Named expressions bind outside of the comprehension."""
    made = [y for x in range(5) if (y := x * x) > 3]
    return made, y


@program
def await_free_nested_generators():
    """Generator expressions nested in comprehensions and calls."""
    return (
        sum(x * y for x in range(3) for y in range(3)),
        [sum(y for y in range(x)) for x in range(5)],
        dict((k, list(v for v in range(k))) for k in range(3)),
        max(len(w) for w in "a bb ccc".split()),
        sorted((x for x in "bca"), reverse=True),
    )


@program
def generator_expression_is_lazy():
    """A generator expression evaluates one element per demand."""
    log = []
    it = (log.append(x) or x for x in range(10) if log.append(("test", x)) or x % 2)
    return next(it), next(it), log


@program
def iterating_own_result():
    """The iterable may be changed by the element expression."""
    items = [1, 2, 3]
    made = [items.append(x * 10) or x for x in items if len(items) < 6]
    return made, items


@program
def in_default_and_decorator():
    """Comprehensions in defaults and in decorators."""

    def deco(values):
        def apply(f):
            f.values = values
            return f

        return apply

    @deco([x * 2 for x in range(3)])
    def f(a=[x for x in "ab"], *, b={x for x in (1, 1)}):
        return a, b

    return f(), f.values


@program
def in_class_body():
    """In a class body only the first iterable sees the class's names."""
    outer = 5

    class A:
        n = 3
        a = [x + outer for x in range(n)]
        b = {x: y for x in range(n) for y in [x]}
        c = list(x for x in range(n))

    return A.a, A.b, A.c, hasattr(A, "x")


@program
def at_module_level():
    """Comprehensions executed at the top of a module."""
    scope = {"n": 3}
    exec(
        "a = [x * n for x in range(n)]\nb = [[x + y for y in a] for x in a]\nc = {n for n in a}",
        scope,
    )
    return scope["a"], scope["b"], scope["c"], scope["n"], "x" in scope


@program
def many_elements():
    """A long comprehension with a jump back per element."""
    return sum([x for x in range(1000) if x % 7 == 3]), len({x % 100 for x in range(1000)})


@program
def locals_inside():
    """`locals()` of a nested function with comprehensions."""

    def f():
        a = 1
        b = [a for _ in range(2)]
        return sorted(locals())

    return f()


@program
def starred_in_displays():
    """Stars in list, set, tuple and dict displays."""
    a, b = [1, 2], {"x": 1}
    return [*a, 0, *a], {*a, *"ab"}, (*a,), (*a, *a), {**b, "y": 2, **{"x": 3}}, [*()], {**{}}


@program
def yield_free_set_order():
    """Sets and dicts built piece by piece have the same content as displays."""
    return {*range(5)} == {0, 1, 2, 3, 4}, list({3: 1, 1: 2, 2: 3}), {True: "a", 1: "b", 1.0: "c"}
