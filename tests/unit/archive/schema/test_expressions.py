"""Expressions survive their text, and hostile text is refused before it costs anything."""

import pytest

from monograph.archive.errors import Refused
from monograph.archive.schema.expressions import ExpressionReader, ExpressionWriter
from monograph.integers import (
    Facts,
    all_of,
    any_of,
    call,
    ceil,
    eq,
    floor,
    ge,
    gt,
    maximum,
    minimum,
    ne,
    negate,
    opaque,
    round_,
    to_float,
    trunc,
)


def many():
    """Give a pool's symbols, and expressions, floats and relations of all kinds over them."""
    facts = Facts()
    a, b = facts.symbol("a", hint=6), facts.symbol("b", hint=3, lower=1)
    x = facts.float_input("x", hint=0.5)
    values = [
        a,
        3 * a * a - 2 * b + 7,
        -a,
        (a + 3) // 4,
        a % 8 + b // (a + 1),
        maximum(
            a,
            b,
        )
        + minimum(a - 1, 5),
        opaque(facts.pool, "lshift", (a, 3)),
        opaque(facts.pool, "bit_and", (a, b)),
        to_float(a),
        to_float(a) / 3,
        to_float(a) / to_float(b) - 0.25,
        x * 2.0 + to_float(b),
        -x,
        call("sqrt", a),
        call("pow", x, 0.5),
        call("max", x, 1.0),
        floor(x * 3.0),
        ceil(to_float(a) / 4 * 0.3),
        round_(x),
        trunc(x),
        eq(a, 2 * b),
        ne(a, 4),
        ge(a - b, 3),
        gt(x, 0.5),
        negate(gt(x, 0.5)),
        all_of(ge(a, 2), any_of(eq(b, 1), ge(b, 5))),
    ]
    return facts, {"a": a, "b": b, "x": x}, values


def test_what_is_written_is_read():
    """Reading in the same pool gives the same object."""
    _, names, values = many()
    shown = {each: name for name, value in names.items() for each in value.symbols}
    writer = ExpressionWriter(lambda symbol, _: f"Symbol('{shown[symbol]}')")
    reading = ExpressionReader(names.__getitem__)
    for value in values:
        text = writer.write(value)
        assert reading.value(text) is value, text


def test_truths_are_written_as_loaders_know_them():
    """A truth from data is a number of 0 and 1 that equals 1, not a difference that is 0."""
    facts = Facts()
    u = facts.symbol("u0", hint=None, upper=1)
    n = facts.symbol("n", hint=5)
    writer = ExpressionWriter(lambda symbol, _: symbol.name)
    assert writer.write(eq(u, 1)) == "Equality(u0, Integer(1))"
    assert writer.write(eq(7, u)) == "Equality(u0, Integer(7))"
    assert writer.write(eq(2 * u, 7 * n)).endswith(", Integer(0))")


@pytest.mark.parametrize(
    "source",
    [
        "9**9**9",
        "Pow(Integer(9), Integer(65))",
        "LShift(Symbol('a'), Integer(65))",
        "LShift(Symbol('a'), Symbol('b'))",
        "Pow(Add(Symbol('a'), Symbol('b'), Integer(1)), Integer(64))",
        "__import__('os')",
        "Symbol(name='a')",
        "a.b",
        "lambda: 1",
        "1 if a else 2",
        "'text'",
        "Equality(1, 1) + 1",
        "unknown(a)",
        "(" * 300 + "a" + ")" * 300,
    ],
)
def test_hostile_text_is_refused(source):
    """No error but our own, whatever the text."""
    _, names, _ = many()
    with pytest.raises(Refused):
        ExpressionReader(names.__getitem__).number(source)


def test_old_forms_are_read():
    """Operators and bare names, as conditions and old files have them."""
    _, names, _ = many()
    a, b = names["a"], names["b"]
    reading = ExpressionReader(names.__getitem__)
    assert reading.number("2*a + b//3 - 1") is 2 * a + b // 3 - 1
    assert reading.truth("a % 2 == 0 and not b > 4") is all_of(eq(a % 2, 0), ge(4, b))
    assert reading.number("Max(2, Mod(a, 4))") is maximum(a % 4, 2)


def test_a_bool_of_the_data_is_written_as_torch_finds_it():
    """Torch looks for a symbol that equals one; the same relation comes back."""
    facts = Facts()
    u = facts.symbol("u", hint=1, lower=0, upper=1)
    writer = ExpressionWriter(lambda symbol, is_float: f"Symbol({symbol.name!r}, integer=True)")
    text = writer.write(eq(u, 1))
    assert text == f"Equality(Symbol({u.name!r}, integer=True), Integer(1))"
    assert ExpressionReader(lambda name: u).truth(text) is eq(u, 1)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("Equality(Symbol('u0'), Integer(1))", "7 - 5 * (1 - u)"),
        ("Equality(Symbol('u0'), Integer(0))", "7 - 5 * u"),
        ("Unequality(Symbol('u0'), Integer(1))", "7 - 5 * u"),
        ("Unequality(Symbol('u0'), Integer(0))", "2 + 5 * u"),
        ("true", "7 + 0 * u"),
    ],
)
def test_one_of_two_numbers_by_a_bit_is_a_sum(condition, expected):
    """What torch writes of `int(flag)` is read where the bit can only be 0 or 1."""
    facts = Facts()
    u = facts.symbol("u", hint=1, lower=0, upper=1)
    wide = facts.symbol("wide", hint=1, lower=0, upper=2)
    text = f"Piecewise(ExprCondPair(Integer(7), {condition}), ExprCondPair(Integer(2), true))"
    assert ExpressionReader(lambda name: u).integer(text) == eval(expected, {"u": u})
    if condition != "true":
        with pytest.raises(Refused, match="more than a bit"):
            ExpressionReader(lambda name: wide).integer(text)


@pytest.mark.parametrize(
    "text",
    [
        "Piecewise(Integer(1), Integer(2))",
        "Piecewise(ExprCondPair(Integer(1), true))",
        "Piecewise(ExprCondPair(Integer(1), Integer(1)), ExprCondPair(Integer(2), true))",
        "ExprCondPair(Integer(1), true)",
    ],
)
def test_other_choices_are_refused(text):
    """They are no expressions, or ask for more than a bit."""
    with pytest.raises(Refused):
        ExpressionReader(lambda name: Facts().symbol("a", hint=2)).integer(text)
