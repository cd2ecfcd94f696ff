"""f-strings, conversions, format specifications, `%` and `str.format`."""

import datetime
import decimal

from tests.python.registry import called_with, program


@called_with((1,), (1.5,), ("x",), (None,), ([1],))
def conversions(x):
    """`!r`, `!s`, `!a` and none."""
    return f"{x}", f"{x!r}", f"{x!s}", f"{x!a}", f"{x = }", f"{x=!s}", f"<{x!r:>6}>"


@program
def specifications():
    """Format specifications, also computed ones."""
    w, p, c = 10, 3, "*"
    x = 3.14159
    return (
        f"{x:.2f}",
        f"{x:{w}.{p}}",
        f"{x:{c}^{w}.{p}f}",
        f"{42:#x} {42:08b}",
        f"{'a':{'>'}{5}}",
        f"{1e10:,}",
    )


@program
def nothing_to_format():
    """Constant parts, braces, empty strings, concatenation."""
    x = "v"
    return f"", f"plain", f"{{}}", f"{{{x}}}", f"ab{x}c", f"{''}", f"{x}{x}{x}"


@program
def order_of_evaluation():
    """Value, then its specification, then formatting; then the next value."""
    log = []

    class A:
        def __init__(self, name):
            self.name = name

        def __format__(self, spec):
            log.append(("format", self.name, spec))
            return self.name

        def __str__(self):
            log.append(("str", self.name))
            return self.name

        def __repr__(self):
            log.append(("repr", self.name))
            return self.name

    def say(x):
        log.append(x if isinstance(x, str) else x.name)
        return x

    text = f"{say(A('a')):{say('spec')}} {say(A('b'))!r:>{say('4')}} {say(A('c'))!s}"
    return text, log


@program
def expressions_inside():
    """Any expression, with lambdas, conditionals, calls and nested f-strings."""
    d = {"k": [1, 2]}
    return (
        f"{d['k'][1] * 2} {(lambda x: x * 3)(4)} {'yes' if d else 'no'}",
        f"{f'{1 + 1}' + f'{d}'}",
        f"{[x for x in range(3)]} { {1: 2}[1] } {(*d,)}",
        f"{(y := 5)} {y:>3} {y!r:<3}|",
    )


@program
def exceptions_inside():
    """Exceptions while formatting."""
    seen = []

    class Bad:
        def __format__(self, spec):
            raise KeyError("format")

        def __repr__(self):
            return 5

    for action in (
        lambda: f"{Bad()}",
        lambda: f"{Bad()!r}",
        lambda: f"{1:zz}",
        lambda: f"{'x':d}",
        lambda: f"{1 // 0}",
        lambda: f"{[]:>5}",
    ):
        try:
            action()
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return seen


@program
def wrong_result_of_format():
    """`__format__` must return text."""

    class A:
        def __format__(self, spec):
            return 1

    try:
        f"{A()}"
    except TypeError as error:
        return str(error)


@program
def str_subclasses():
    """The result of an f-string is plain text; a lone value is formatted, not passed."""

    class S(str):
        def __format__(self, spec):
            return "formatted"

    s = S("x")
    return f"{s}", type(f"{s}") is str, f"{s!s}", "{}".format(s), f"a{s}b"


@program
def self_documenting():
    """`=` keeps the text of the expression."""
    x, y = 1, [2]
    return f"{x + 1 = }", f"{y[0]=}", f"{x=:>4}", f"{x=!r:^5}", f"{ x = }"


@program
def percent_formatting():
    """The `%` operator, with tuples, dicts and user objects."""

    class A:
        def __str__(self):
            return "A!"

        def __repr__(self):
            return "A()"

        def __int__(self):
            return 7

        def __index__(self):
            return 7

        def __float__(self):
            return 7.5

    return (
        "%s %r %d %.1f %x" % (A(), A(), 5, A(), A()),
        "%(a)s %(b)05d" % {"a": 1, "b": 2},
        "%% %c" % "x",
        "%s" % [1],
        "%-5s|" % "ab",
        "%*d" % (5, 42),
    )


@program
def percent_errors():
    """Too few, too many, wrong kinds."""
    seen = []
    for action in (
        lambda: "%s %s" % (1,),
        lambda: "%s" % (1, 2),
        lambda: "%d" % "x",
        lambda: "%(a)s" % {},
    ):
        try:
            action()
        except (TypeError, KeyError) as error:
            seen.append((type(error).__name__, str(error)))
    return seen


@program
def str_format_fields():
    """Fields with attributes, items and nested specifications reach Python code."""

    class A:
        def __init__(self):
            self.items = {"k": [1, 2]}

        @property
        def p(self):
            return "property"

        def __getitem__(self, key):
            return f"item {key}"

    return (
        "{0.p} {0[x]} {0.items[k][1]}".format(A()),
        "{a:{w}}|{b!r}".format(a=1, w=5, b="x"),
        "{} {} {}".format(*"abc"),
        "{1} {0}".format(1, 2),
        "{k}".format_map({"k": 5}),
    )


@program
def format_of_library_types():
    """`__format__` of library objects."""
    when = datetime.date(2020, 2, 3)
    return (
        f"{when:%Y/%m/%d}",
        f"{decimal.Decimal('1.25'):.1f}",
        f"{when!r}",
        format(255, "x"),
        f"{True:>6}",
        f"{None}",
    )


@program
def text_and_bytes_literals():
    """Escapes, raw text, bytes and their concatenation."""
    return (
        "a\tb\x41\u00e9\N{BULLET}",
        r"\n" "\n",
        b"\x00a" rb"\x",
        "\
joined",
        """three
lines""",
    )


@program
def multi_line_expression():
    """An f-string over several lines."""
    x = 5
    return (
        f"""{x + 1} and {
            x!r:
    >5}"""
        if False
        else f"""{x + 1}"""
    )


@program
def joining_many():
    """Many parts in one f-string."""
    a, b = 1, "two"
    return f"{a}{b}{a}{b}-{a:02}{b:>5}{a!r}{b!r}" * 2, "".join(f"{i}," for i in range(5))
