"""`verify` finds each planted fault, names the operator and the user's line, and nothing else."""

import inspect

import pytest
import torch

import monograph
from tests.verification import faults
from tests.verification.faults import FAULTS


@pytest.fixture(params=FAULTS.values(), ids=FAULTS)
def case(request):
    """A fault with its module and right program."""
    torch.manual_seed(0)
    fault = request.param
    module = fault.module().eval()
    program = monograph.export(module, fault.example(), dynamic_shapes=fault.shapes)
    return fault, module, program


def test_there_are_enough():
    """As many as were promised, of every kind."""
    assert len(FAULTS) >= 25
    kinds = {fault.kind for fault in FAULTS.values()}
    assert kinds == {"values", "type", "strides", "memory", "gradients", "raises", "state"}


def test_found(case):
    """The right program is right; with the fault it is not, and what is said is where it was."""
    fault, module, program = case
    right = monograph.verify(program, module)
    assert right, right
    found = monograph.verify(fault.plant(program), module)
    assert not found
    if fault.kind == "state":
        assert found.state, found
        return
    first = found.differences[0]
    assert first.difference.kind == fault.kind, found
    if fault.operator:
        assert first.divergence is not None, found
        assert first.divergence.operator.startswith(fault.operator), found
        assert first.divergence.text == fault.line
        assert first.divergence.file == inspect.getsourcefile(faults)
