"""From observed sizes to symbols."""

import pytest

from monograph.integers import Contradiction, Facts, evaluate, solution_order, solve

FACTS = Facts()
N, M, K = (FACTS.symbol(name, hint=3) for name in "nmk")


def test_order_prefers_no_division():
    """A bare symbol comes before a multiple of it."""
    assert solution_order([2 * N, N, 3]) == [(N, 1, 1, 0)]
    assert solution_order([N + 2 * M, 3 * N + 1]) == [(N, 1, 3, 1), (M, 0, 2, N)]
    assert solution_order([N * N, N * M]) == []


def test_steps_give_the_values():
    """Each step uses only what was found before."""
    env = {N: 4, M: 7, K: 2}
    exprs = [N + M + K, 2 * N, 5 * K - N]
    found = {}
    for symbol, index, coefficient, offset in solution_order(exprs):
        value = evaluate(exprs[index], env) - evaluate(offset, found)
        assert value % coefficient == 0
        found[symbol] = value // coefficient
    assert found == env


def test_everything_observed_is_checked():
    """Constants, products, and second mentions."""
    assert solve([(N, 3), (N * M, 12), (M, 4), (5, 5)]) == {N: 3, M: 4}
    for observed in (
        [(2 * N, 7)],
        [(N, 3), (N + 1, 3)],
        [(5, 6)],
        [(N * M, 12)],
        [(N, 0), (M // N, 1)],
    ):
        with pytest.raises(Contradiction):
            solve(observed)
