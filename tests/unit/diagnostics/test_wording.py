"""Wording: values in sentences."""

from __future__ import annotations

from monograph.diagnostics import nearest
from monograph.diagnostics.wording import counted, dim_source, interval, listed, paste, quoted


def test_values_in_sentences() -> None:
    """Numbers are bare, everything else is in backticks."""
    assert [quoted(value) for value in (3, -3, "3*n", "batch")] == ["3", "-3", "`3*n`", "`batch`"]
    assert [listed(values) for values in ([], ["a"], ["a", "b"])] == ["", "`a`", "`a` and `b`"]
    assert listed(["a", "b", "c"], "or") == "`a`, `b` or `c`"
    assert (counted(0, "size"), counted(1, "size")) == ("0 sizes", "1 size")
    assert (interval(1, 8), interval(2, None)) == ("1 … 8", "2 and more")
    assert paste("write", "a", "b") == "write:\na\nb"


def test_dims_as_they_are_written() -> None:
    """A name that is none becomes `n`."""
    assert dim_source("batch", "min=1") == 'Dim("batch", min=1)'
    assert dim_source("x.shape[0]") == 'Dim("n")'


def test_nearest() -> None:
    """The most similar candidate, or none."""
    assert nearest("bacth", ["batch", "channels"]) == "batch"
    assert nearest("q", ["batch", "channels"]) is None
