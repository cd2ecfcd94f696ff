"""Hints: which sizes are captured with the example's own value after all."""

from types import SimpleNamespace

import pytest

from monograph.capture.size_probing.size_hints import contradicted_paths
from monograph.diagnostics import DataDependentError
from monograph.integers import Facts, Guard, eq, ge


def guarded(relation_of, *, hint):
    """Give inputs of one size, and facts with one guard about it and a value of data."""
    facts = Facts()
    n = facts.symbol("n", hint=3, source="x.shape[0]")
    data = facts.symbol("u", hint=None)
    guard = Guard(relation_of(n, data), None)
    stated = SimpleNamespace(guards=[guard], source_of=facts.source_of)
    return SimpleNamespace(examples={n: hint}), stated


def test_sizes_of_guards_that_the_example_breaks():
    """The stand-in keeps the guard, and the example does not."""
    assert contradicted_paths(*guarded(lambda n, _: ge(n, 2), hint=1)) == {"x.shape[0]"}
    assert not contradicted_paths(*guarded(lambda n, _: ge(n, 2), hint=2))


def test_a_guard_on_data_is_refused():
    """No example says what data will be."""
    with pytest.raises(DataDependentError, match="known only"):
        contradicted_paths(*guarded(eq, hint=3))
