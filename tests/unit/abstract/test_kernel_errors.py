"""Calls that may raise stay in the graph where nobody uses their results."""

import pytest
import torch

import monograph
from monograph.abstract.kernel_errors import may_raise
from tests.raising import RAISING_FOR_DATA


class Unused(torch.nn.Module):
    """Three calls whose results nobody uses."""

    def forward(self, x):
        """Two may raise: one of no elements, one of positions."""
        _ = x.argmax(), x[[0]], x.sin()
        return x * 2


@pytest.mark.parametrize(("size", "left"), [(3, ["index"]), (None, ["argmax", "index"])])
def test_what_may_raise_stays(size, left):
    """Of a reduction with known sizes it is known that it does not."""
    sizes = None if size else ({0: monograph.Dim("n", min=0)},)
    program = monograph.export(Unused(), (torch.randn(3, 4),), dynamic_shapes=sizes)
    found = [node for node in program.graph.nodes if may_raise(node)]
    assert [str(node.target).split(".")[1] for node in found] == left
    with pytest.raises((IndexError, monograph.MonographError)):
        program.module()(torch.randn(0, 4))


@pytest.mark.parametrize("is_used", [True, False])
@pytest.mark.parametrize("name", RAISING_FOR_DATA)
def test_what_data_raises_is_raised_by_the_program(name, is_used):
    """Whether or not a result is used, and when the operator became others, too."""
    operator, legal, illegal = RAISING_FOR_DATA[name]

    class Calling(torch.nn.Module):
        """Call it."""

        def forward(self, given):
            """Give back its result, or another one."""
            result = operator(given)
            return result if is_used and result is not None else given.logical_not()

    with pytest.raises((IndexError, RuntimeError)) as eager:
        Calling()(illegal)
    for strict in (True, False):
        program = monograph.export(Calling(), (legal,), strict=strict)
        for each in (program, program.run_decompositions()):
            torch.manual_seed(0)
            result = each.module()(legal)
            torch.manual_seed(0)
            torch.testing.assert_close(result, Calling()(legal))
            with pytest.raises((IndexError, RuntimeError)) as ours:
                each.module()(illegal)
            assert type(ours.value).__module__ == type(eager.value).__module__
