"""Matrices with a pattern, of sizes that are symbols."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from monograph.abstract.tensor_type import TensorType
from monograph.integers import Facts, evaluate, use
from monograph.rules.creation.matrices import one_hot, tril_indices, triu_indices

SIZES = st.integers(0, 6)


@given(SIZES, SIZES, st.integers(-8, 8))
def test_a_triangle_has_as_many_elements_at_every_size(row, col, offset):
    """One closed formula serves all."""
    facts = Facts()
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=4)
    with use(facts):
        lower, upper = tril_indices(n, m, offset), triu_indices(n, m, offset)
    env = {n: row, m: col}
    assert evaluate(lower.shape[1], env) == torch.tril_indices(row, col, offset).shape[1]
    assert evaluate(upper.shape[1], env) == torch.triu_indices(row, col, offset).shape[1]


def test_classes_counted_from_data_are_unknown():
    """Their number is a symbol of at least 1."""
    with use(Facts()) as facts:
        x = TensorType((5,), torch.int64, torch.device("cpu"))
        count = one_hot(x).shape[1]
        assert facts.is_unbacked(count)
        assert facts.interval(count).lower == 1
