"""Expressions and relations as text."""

import pytest

from monograph.integers import (
    Facts,
    all_of,
    any_of,
    call,
    eq,
    evaluate_namespace,
    floor,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    opaque,
    python_source,
    relation_source,
    relation_text,
    sqrt,
    text,
    to_float,
)

FACTS = Facts()
N, M = FACTS.symbol("n", hint=3), FACTS.symbol("m", hint=4)


@pytest.mark.parametrize(
    ("e", "shown"),
    [
        (4 * N + 1, "4*n + 1"),
        (N * M, "n*m"),
        (N * N - M, "n**2 - m"),
        ((N + 3) // 4, "(n + 3)//4"),
        (N - 8 * (N // 8), "n % 8"),
        (3 * (N % 8) + 2, "3*(n % 8) + 2"),
        (-N, "-n"),
        (-(N // 2), "-(n//2)"),
        (2 * (N // 2), "2*(n//2)"),
        (N * (M // 3), "n*(m//3)"),
        ((N // 2) ** 2, "(n//2)**2"),
        (N // (M // 2), "n//(m//2)"),
        (maximum(N - 1, 0), "max(n - 1, 0)"),
        (minimum(N, 2 * M) * 2, "2*min(n, 2*m)"),
        (opaque(FACTS.pool, "lshift", (N, 2)), "lshift(n, 2)"),
        (floor(to_float(N) * 0.1), "floor(float(n) * 0.1)"),
        (-5, "-5"),
        (to_float(N) / 3 - 0.5, "n / 3 - 0.5"),
        (-(sqrt(N) ** -2.0), "-sqrt(float(n)) ** -2.0"),
        (
            (sqrt(N) - (sqrt(M) - 1)) * float("inf"),
            "(sqrt(float(n)) - (sqrt(float(m)) - 1.0)) * float('inf')",
        ),
        (call("log", N), "log(float(n))"),
    ],
)
def test_expressions(e, shown):
    """As a person would write them."""
    assert text(e) == shown


@pytest.mark.parametrize(
    ("r", "shown"),
    [
        (eq(N, 2 * M), "n == 2*m"),
        (le(N, 16), "n <= 16"),
        (ge(N, 2), "n >= 2"),
        (gt(N, M), "n > m"),
        (lt(N, M + 2), "n <= m + 1"),
        (ne(N, 0), "n != 0"),
        (eq(N % 8, 0), "n % 8 == 0"),
        (eq(-N - M, -3), "n + m == 3"),
        (all_of(ge(N, 2), any_of(eq(M, 1), eq(N, M))), "n >= 2 and (m == 1 or n == m)"),
        (lt(sqrt(N), 2), "2 > sqrt(float(n))"),
        (negate(lt(sqrt(N), 2)), "not 2 > sqrt(float(n))"),
        (True, "True"),
    ],
)
def test_relations(r, shown):
    """Nothing negative on either side, nothing compared with a bare zero but differences."""
    assert relation_text(r) == shown


def test_names_replace_symbols():
    """Messages say where a size comes from."""
    names = {N: "x.shape[0]", M: "y.shape[1]"}
    assert text(N * M + 1, names) == "x.shape[0]*y.shape[1] + 1"
    assert relation_text(eq(N, M), names) == "x.shape[0] == y.shape[1]"


def test_source_runs_with_its_namespace():
    """Every function the source may call is there."""
    source = python_source(
        maximum(floor(to_float(N) * 0.1), opaque(FACTS.pool, "pow", (N, 2))), {N: "a"}
    )
    assert eval(source, {**evaluate_namespace(), "a": 12}) == 144
    assert eval(relation_source(ge(N, 4), {N: "a"}), {"a": 4}) is True
