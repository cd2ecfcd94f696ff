"""How many numbers a range has, with sizes for ends."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from monograph.diagnostics import MonographError
from monograph.integers import Facts, evaluate, holds, to_float, use
from monograph.rules.creation.ranges import arange, linspace

ENDS = st.integers(-20, 20)
STEPS = st.integers(-5, 5).filter(bool)
FLOATS = st.sampled_from([-1.5, -0.3, 0.1, 0.5, 1.0, 2.5])


def facts_and_size(hint=6):
    """Facts with one size in them."""
    facts = Facts()
    return facts, facts.symbol("n", hint=hint)


@given(ENDS, ENDS, st.one_of(STEPS, FLOATS), st.sampled_from([None, torch.int64, torch.int32]))
def test_a_range_of_numbers_is_eagers(start, end, step, dtype):
    """Same length and dtype, or refused where eager refuses."""
    try:
        wanted = torch.arange(start, end, step, dtype=dtype)
    except (RuntimeError, ValueError):
        wanted = None
    with use(Facts()):
        try:
            got = arange(end, start, step, dtype=dtype)
        except MonographError:
            got = None
    assert (got is None) == (wanted is None)
    if wanted is not None:
        assert got.shape == tuple(wanted.shape)
        assert got.dtype == wanted.dtype


def test_a_range_to_a_size_has_that_size():
    """The size itself, without a guard."""
    facts, n = facts_and_size()
    with use(facts):
        assert arange(n).shape == (n,)
        assert arange(n).dtype == torch.int64
        assert arange(n, dtype=torch.float32).shape == (n,)
        assert arange(2 * n, n).shape == (n,)
    assert not facts.guards


def test_a_range_that_could_be_negative_is_guarded():
    """Eager refuses the other sizes, so the program does."""
    facts, n = facts_and_size()
    with use(facts):
        assert arange(n, 3).shape == (n - 3,)
    assert [holds(guard.relation, {n: 2}) for guard in facts.guards] == [False]


@given(st.integers(1, 9), st.integers(0, 9), st.sampled_from([0.25, 0.3, 1.5, 2.0]))
def test_a_range_over_floats_of_sizes_is_eagers_at_every_size(step, size, factor):
    """float(n) * factor, in steps: interpolation does it."""
    facts, n = facts_and_size(5)
    with use(facts):
        whole = arange(n, 0, step)
        scaled = arange(to_float(n) * factor)
    assert evaluate(whole.shape[0], {n: size}) == len(torch.arange(0, size, step))
    assert evaluate(scaled.shape[0], {n: size}) == len(torch.arange(float(size) * factor))
    assert scaled.dtype == torch.float32


def test_points_between_ends_are_as_many_as_asked():
    """Of the default dtype, or complex where an end is."""
    facts, n = facts_and_size()
    with use(facts):
        assert linspace(0, 1, n).shape == (n,)
        assert linspace(0, 1j, 3).dtype == torch.complex64


@pytest.mark.parametrize("ends", [(0, 5, 0), (0, 5, -1), (0, float("inf"), 1)])
def test_a_range_that_never_ends_is_refused(ends):
    """As eager refuses it."""
    start, end, step = ends
    with use(Facts()), pytest.raises(MonographError):
        arange(end, start, step)
