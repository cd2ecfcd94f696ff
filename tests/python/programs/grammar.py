"""Statements: loops with `else`, chained assignment, deletion, conditional expressions, order."""

from tests.python.registry import called_with, program


@called_with((0,), (3,), (7,))
def for_else(n):
    """`else` runs when the loop was not left by `break`."""
    for i in range(n):
        if i == 4:
            print("break")
            break
    else:
        print("else")
    return n


@called_with((0,), (5,), (-1,))
def while_else(n):
    """`else` of `while` runs when its condition becomes false."""
    seen = []
    while n:
        n -= 1
        if n == 3:
            continue
        if n < -3:
            break
        seen.append(n)
    else:
        seen.append("else")
    return seen


@program
def loop_variable_survives():
    """The variable of a loop is bound after it."""
    for i in range(3):
        pass
    for j in []:
        pass
    try:
        return i, j
    except UnboundLocalError as error:
        return i, str(error)


@program
def nested_break_continue():
    """`break` and `continue` leave their own loop only."""
    seen = []
    for i in range(4):
        for j in range(4):
            if j == 2:
                continue
            if j == 3 and i == 2:
                break
            seen.append((i, j))
        else:
            continue
        seen.append("broken")
    return seen


@program
def chained_assignment_order():
    """Targets of `a = b = c` are stored from left to right, with one value."""
    log = []

    class Target:
        def __init__(self, name):
            object.__setattr__(self, "name", name)

        def __setattr__(self, name, value):
            log.append((self.name, name, value))

        def __setitem__(self, key, value):
            log.append((self.name, key, value))

    def make(name):
        log.append(name)
        return Target(name)

    make("a").x = make("b")[make("c").name] = make("d").y = [1]
    return log


@program
def chained_assignment_shares():
    """`a = b = []` is one list."""
    a = b = []
    a.append(1)
    return a, b, a is b


@program
def assignment_evaluates_value_first():
    """The right side comes before the target's own expressions."""
    log = []

    def say(x):
        log.append(x)
        return x

    say({}) or {}
    {}.setdefault("k", {})
    table = {}
    table[say("key")] = say("value")
    table[say("a")], table[say("b")] = say(1), say(2)
    return log, table


@program
def augmented_assignment_evaluates_target_once():
    """`f()[g()] += h()` calls `f` and `g` once, before `h`."""
    log = []
    data = {"k": 1}

    def f():
        log.append("f")
        return data

    def g():
        log.append("g")
        return "k"

    def h():
        log.append("h")
        return 10

    f()[g()] += h()
    return log, data


@called_with((1,), (2,), (3,), ("x",))
def elif_chain(x):
    """The first true test wins."""
    if x == 1:
        return "one"
    elif x == 2:
        return "two"
    elif isinstance(x, int):
        return "int"
    else:
        return "else"


@called_with((True, False), (False, True), ([], {}), (0, ""), ("a", 0))
def and_or_values(a, b):
    """`and` and `or` give an operand, not a bool."""
    return a and b, a or b, not a, (a and b) or (b and a), a or b and a, not (a or b)


@program
def short_circuit_order():
    """Operands after the decision are not evaluated."""
    log = []

    def say(x):
        log.append(x)
        return x

    values = [
        say(0) and say(1),
        say(2) or say(3),
        say("") or say([]) or say("last"),
        (say(4) and say(5)) or say(6),
        not say(7) and say(8),
    ]
    return log, values


@called_with((5,), (0,), (-5,))
def conditional_expression_nested(x):
    """Conditional expressions nest to the right."""
    return "pos" if x > 0 else "neg" if x < 0 else "zero"


@program
def delete_local():
    """A deleted local is unbound until it is stored again."""
    x = 1
    del x
    try:
        print(x)
    except UnboundLocalError as error:
        print(error.args)
    x = 2
    del x
    try:
        del x
    except UnboundLocalError:
        print("again")


@program
def delete_many():
    """`del a, b[0], c.d` deletes from left to right and stops at the first failure."""
    a, b = 1, [1, 2, 3]

    class C:
        pass

    c = C()
    try:
        del a, b[0], c.d
    except AttributeError as error:
        print(type(error).__name__)
    try:
        a
    except NameError as error:
        print(error)
    return b


@program
def delete_slice_items():
    """`del` takes slices with steps."""
    x = list(range(10))
    del x[::3]
    del x[1:3], x[-1]
    return x


@program
def walrus_in_condition():
    """A named expression binds in the function."""
    data = [3, 1, 4, 1, 5]
    found = []
    while data and (last := data.pop()) != 4:
        found.append(last)
    return found, last, data, (y := 3) + y, [z := 1, z + 1, z]


@program
def walrus_in_comprehension():
    """A named expression in a comprehension binds in the function around it."""
    total = 0
    sums = [total := total + x for x in range(5)]
    any_big = any((witness := x) > 2 for x in range(5))
    return sums, total, any_big, witness


@program
def global_statement():
    """`global` reads and writes the module's name, also from nested functions."""
    global COUNTER
    COUNTER = 0

    def bump():
        global COUNTER
        COUNTER += 1
        return COUNTER

    try:
        return bump(), bump(), COUNTER
    finally:
        del COUNTER


@program
def missing_global():
    """A name that is nowhere raises NameError."""
    return name_that_is_nowhere


@called_with((True,), (False,), (0,), ("text",), ([],))
def assert_with_message(x):
    """`assert` evaluates its message only on failure."""
    log = []
    try:
        assert x, log.append("message") or ("failed", x)
    except AssertionError as error:
        return log, error.args
    return log


@called_with((0,), (1,))
def assert_raises(x):
    """A failed assertion leaves the function with its line."""
    y = x + 1
    assert x > 0
    return y


@program
def pass_and_ellipsis():
    """Statements without effect have none."""
    pass
    ...
    "text"
    1
    return ...


@program
def annotations_of_locals():
    """Annotations of locals are not evaluated; those with a target that is no name are... its target."""
    x: undefined_name = 1
    y: int
    log = []
    box = {}

    def key():
        log.append("key")
        return "k"

    box[key()]: int = 3
    try:
        return x, y
    except UnboundLocalError:
        return x, log, box


@program
def function_annotations():
    """Annotations of parameters are evaluated once, at definition."""
    log = []

    def say(x):
        log.append(x)
        return x

    def f(a: say("a"), *args: say("args"), b: say("b") = say("default"), **kw: say("kw")) -> say(
        "r"
    ):
        return a, b

    return log, f.__annotations__, f(1)


@program
def empty_function_returns_none():
    """A function without `return` gives None."""

    def f():
        pass

    def g():
        return

    def h(x):
        if x:
            return 1

    return f(), g(), h(0), h(1)


@program
def multiple_returns_in_loop():
    """`return` leaves from inside of loops with iterators on the stack."""

    def find(rows, what):
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                for k in range(3):
                    if (cell, k) == what:
                        return i, j, k
        return None

    rows = [[1, 2], [3, 4]]
    return find(rows, (3, 2)), find(rows, (9, 9))


@program
def constants_are_folded():
    """Folded constants keep their types."""
    return 1 + 1, -0.0, 2**10, "a" * 3, (1, 2) + (3,), 1 if True else 2, not 1, 1j * 1j, -(1), +True


@program
def large_constants():
    """Integers beyond one machine word."""
    return 2**200, -(2**64), 10**30 // 7, hex(2**65 + 1), 0xFFFF_FFFF_FFFF_FFFF_F


@program
def many_locals():
    """More than 256 constants and names need extended arguments."""
    scope = {}
    body = [f"    v{i} = {i}.5" for i in range(400)]
    body += ["    if v399 > 1:", *[f"        v0 += v{i}" for i in range(400)]]
    source = "\n".join(["def f():", *body, "    return v0, v255, v256, v257, v399"])
    exec(source, scope)
    return scope["f"]()


@program
def long_jump():
    """Jumps further than 256 instructions, forward and backward."""
    scope = {}
    body = "\n".join("        x += i * 2 - i" for _ in range(200))
    source = f"def f(n):\n    x = 0\n    for i in range(n):\n        if i == 2:\n            continue\n{body}\n    else:\n        x = -x\n    return x"
    exec(source, scope)
    return scope["f"](5), scope["f"](0)


@program
def semicolons_and_lambdas():
    """Lambdas with every kind of parameter."""
    f = lambda a, /, b=2, *c, d, e=5, **g: (a, b, c, d, e, g)
    return f(1, d=4), f(1, 3, 5, 7, d=0, z=9), (lambda: (yield))().send(None), (lambda *, k: k)(k=1)


@program
def comparison_of_identity():
    """`is` compares objects."""
    a = []
    b = a
    return a is b, a is not b, a is [], None is None, () is (), a is not None


@program
def nested_functions_see_later_names():
    """A nested function looks a name up when it is called."""

    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    return even(10), odd(7), even(3)


@program
def nested_function_before_binding():
    """A free variable that is not yet bound raises NameError with its name."""

    def f():
        return later

    try:
        f()
    except NameError as error:
        print(type(error).__name__, error)
    later = 1
    return f()


@program
def docstrings():
    """The docstring is the first constant, also of nested functions and classes."""

    def f():
        """Of f."""

    def g():
        """Of g."""
        return 1

    def h():
        f"no docstring {1}"

    class C:
        """Of C."""

    return f.__doc__, g.__doc__, h.__doc__, C.__doc__


@program
def try_in_loop_with_continue():
    """`continue` and `break` out of `try` in a loop."""
    seen = []
    for i in range(6):
        try:
            if i == 1:
                continue
            if i == 4:
                break
            seen.append(10 // (i - 2))
        except ZeroDivisionError:
            seen.append("zero")
            continue
        else:
            seen.append("else")
        finally:
            seen.append("finally")
    return seen


@program
def infinite_loop_constant_condition():
    """`while True` has no test in its code."""
    n = 0
    while True:
        n += 1
        if n > 5:
            break
    while 1:
        n += 10
        while not 0:
            n += 100
            break
        return n


@program
def comparison_with_side_effects_in_if():
    """Complicated conditions jump to the right places."""
    seen = []
    for a in (0, 1):
        for b in (0, 1):
            for c in (0, 1):
                if (a and not b) or (not a and (b or c)) and not (a and c):
                    seen.append((a, b, c))
                if not (a or b) and c or a and b:
                    seen.append("second")
                x = (a or b) and (b or c) if c else not a
                seen.append(x)
    return seen
