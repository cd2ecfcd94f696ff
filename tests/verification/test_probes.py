"""`verify` over the probing programs of the contract: no difference but those that are known."""

import pytest

import monograph
from monograph import Dim
from tests.contract import test_probes as probing
from tests.contract.registry import PROBES

pytestmark = [pytest.mark.slow, probing.pytestmark]

KNOWN = {
    ("lowered", "heads_computed_with"): "a view that raises for an expanded input",
    ("lowered", "PaddedWithGradients"): "gradients of rows that are all padding",
    ("lowered", "pixels_by_one"): "strides of channels-last inputs",
    ("lowered", "a_view_by_a_size_that_happens_to_be_one"): "strides of channels-last inputs",
    ("lowered", "products_put_where_told"): "`out=` with gradients, which PyTorch refuses",
    ("lowered", "sums_put_where_told"): "`out=` with gradients, which PyTorch refuses",
    ("lowered", "written_copy_in_a_loop"): "`aten.copy` has no derivative",
    ("plain", "view_in_no_grad"): "a leaf that is a view, asked for gradients",
    ("lowered", "view_in_no_grad"): "a leaf that is a view, asked for gradients",
}
"""Calls at which the program differs, and why."""


@pytest.mark.parametrize("form", ["plain", "lowered"])
@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_no_difference_is_found(probe, form):
    """Each is exported at its example and called as its contract allows."""
    if probe.refused:
        return
    with probe.example.under():
        module, given = probe.build(), probe.example.inputs()
        nested = len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict)
        args, kwargs = given if nested else (given, {})
        shapes = probe.shapes(Dim) if probe.shapes else None
        try:
            program = monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
            program = program.run_decompositions() if form == "lowered" else program
        except Exception:  # noqa: BLE001  (the probes' own test says what may be refused)
            return
        found = monograph.verify(program, module, samples=12)
    if (form, probe.name) not in KNOWN:
        assert not found.differences, found
        assert not found.state, found
