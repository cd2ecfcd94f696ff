"""Names, ranges, multiples and hints of one size, ours and torch's."""

import pytest
import torch

from monograph.diagnostics import SpecError
from monograph.dims import DerivedDim, Dim, DimHint, dims
from monograph.dims.dim import from_torch


def test_a_multiple_knows_its_root_and_its_range():
    """As torch.export writes and counts it."""
    n = Dim("n", min=2, max=8)
    size = 3 * (n - 1) + 4
    assert (repr(size), size.__name__, size.root) == ("3*n + 1", "3*n + 1", n)
    assert (size.min, size.max, size.fn(5)) == (7, 25, 16)
    assert (Dim("m") + 1).max is None


def test_dims_share_a_range():
    """Several names at once."""
    assert [(d.__name__, d.min, d.max) for d in dims("a", "b", max=4)] == [("a", 0, 4), ("b", 0, 4)]


def test_hints_may_have_a_range():
    """And print as they are written."""
    assert Dim.DYNAMIC(min=2, max=4) == DimHint("DYNAMIC", 2, 4)
    hints = (Dim.AUTO, Dim.AUTO(max=4), Dim.DYNAMIC(min=2, max=4), Dim.STATIC)
    text = "(Dim.AUTO, Dim.AUTO(max=4), Dim.DYNAMIC(min=2, max=4), Dim.STATIC)"
    assert repr(hints) == text
    assert eval(text, {"Dim": Dim}) == hints


@pytest.mark.parametrize(
    "derive",
    [lambda n: n * "x", lambda n: n + "x", lambda n: 2.5 * n, lambda n: n / 2, lambda n: n - n],
)
def test_sizes_are_derived_with_whole_numbers(derive):
    """Of a name and of what is derived of one."""
    for each in (Dim("n"), 2 * Dim("n")):
        with pytest.raises(TypeError):
            derive(each)


@pytest.mark.parametrize("make", [Dim, lambda name, **ends: Dim.DYNAMIC(**ends)])
@pytest.mark.parametrize("ends", [{"min": 5, "max": 4}, {"max": -1}])
def test_empty_ranges_are_refused(make, ends):
    """When they are written, not when they are used."""
    with pytest.raises(SpecError) as refused:
        make("n", **ends)
    assert refused.value.diagnostic.name == "spec-range-empty"


def test_a_name_is_an_identifier():
    """It becomes a symbol in messages and code."""
    with pytest.raises(SpecError):
        Dim("batch size")


def test_dims_of_torch_are_taken():
    """Named, derived and hints."""
    n = torch.export.Dim("n", min=2, max=8)
    assert (from_torch(n).__name__, from_torch(n).min, from_torch(n).max) == ("n", 2, 8)
    derived = from_torch(2 * n + 1)
    assert isinstance(derived, DerivedDim)
    assert (derived.coefficient, derived.offset) == (2, 1)
    assert from_torch(torch.export.Dim.AUTO) == Dim.AUTO
    assert from_torch(torch.export.Dim.DYNAMIC(max=4)) == Dim.DYNAMIC(max=4)
    assert from_torch(7) == 7
