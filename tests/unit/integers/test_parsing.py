"""Text read back."""

import pytest

from monograph.integers import (
    Facts,
    call,
    eq,
    floor,
    ge,
    maximum,
    minimum,
    ne,
    negate,
    opaque,
    parse,
    parse_real,
    parse_relation,
    round_,
    sqrt,
    text,
    to_float,
)

FACTS = Facts()
N, M = FACTS.symbol("n", hint=3), FACTS.symbol("m", hint=4)
NAMES = {"n": N, "m": M, "x.shape[0]": N}


@pytest.mark.parametrize(
    ("shown", "e"),
    [
        ("4*n + 1", 4 * N + 1),
        ("-n % 3 - m**2", -N % 3 - M * M),
        ("x.shape[0] // 2", N // 2),
        ("max(n, m, 2)", maximum(maximum(N, M), 2)),
        ("min(n, 2)", minimum(N, 2)),
        ("floor(float(n) * 0.1)", floor(to_float(N) * 0.1)),
        ("round(n / 2)", round_(to_float(N) / 2)),
        ("lshift(n, 2)", opaque(FACTS.pool, "lshift", (N, 2))),
        ("lshift(1, 2)", 4),
        ("7", 7),
    ],
)
def test_integers(shown, e):
    """The same object, or the same int."""
    assert parse(shown, NAMES) == e


@pytest.mark.parametrize(
    "r", [sqrt(N) * 0.1 - 2, call("max", sqrt(N), 1.5), to_float(N) ** 0.5 // 3, -sqrt(M), 0.5]
)
def test_reals(r):
    """Printed and read back."""
    assert parse_real(text(r), NAMES) == r
    assert parse_real("max(n / 7, 1.5)", NAMES) == call("max", to_float(N) / 7, 1.5)
    assert parse_real("n * float('inf')", NAMES) == to_float(N) * float("inf")


def test_relations():
    """Comparisons chain, words combine."""
    assert parse_relation("2 <= n < 9 and not n == 4", NAMES) is parse_relation(
        "n >= 2 and n <= 8 and n != 4", NAMES
    )
    assert parse_relation("n == 1 or True", NAMES) is True
    assert parse_relation("not n >= m", NAMES) is negate(ge(N, M))
    assert parse_relation("n != m", NAMES) is ne(N, M)
    assert parse_relation("(n == m)", NAMES) is eq(N, M)


@pytest.mark.parametrize(
    "shown",
    [
        "n +",
        "k",
        "n.real",
        "print(n)",
        "n << 2",
        "n ** 99",
        "n ** m",
        "'n'",
        "True",
        "f(n)(m)",
        "1.5",
        "[n]",
    ],
)
def test_everything_else_is_refused(shown):
    """Text from a file is read, never run."""
    with pytest.raises(ValueError, match="no expression of sizes"):
        parse(shown, NAMES)


@pytest.mark.parametrize("shown", ["n", "n in m", "n == ", "1"])
def test_what_is_no_relation_is_refused(shown):
    """A number is not true or false here."""
    with pytest.raises(ValueError, match="no expression of sizes"):
        parse_relation(shown, NAMES)
