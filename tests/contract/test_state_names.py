"""State of any name after a file: what was loaded is lowered, written as text, and unflattened."""

import io

import pytest
import torch

import monograph
from tests.contract import state_names  # noqa: F401  importing registers the probes
from tests.contract.forms import plain
from tests.contract.judging import captured_once, inputs_of, made
from tests.contract.registry import PROBES
from tests.programs.texts import Texted

NAMES = {name: probe for name, probe in PROBES.items() if probe.build.__module__.endswith("names")}
UNWRITTEN = {"modules_spaces", "tensors_spaces"}


def loaded(program):
    """Save and load."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file)


FORMS = {
    "lowered": lambda program: program.run_decompositions().module(),
    "unflattened": monograph.unflatten,
    "text": lambda program: Texted(program).module(),
    "saved again": lambda program: loaded(program.run_decompositions()).module(),
}


@pytest.mark.parametrize("name", sorted(NAMES.keys() - UNWRITTEN))
def test_a_loaded_program_keeps_its_names(name):
    """Its state has the names of the original, and every form of it computes the same."""
    probe = NAMES[name]
    form = type("Form", (), {"export": staticmethod(plain), "Dim": monograph.Dim})
    program = loaded(captured_once(probe, form))
    original = made(probe)
    assert program.module().state_dict().keys() == original.state_dict().keys()
    expected = made(probe)(*inputs_of(probe.example, 5)[0], **inputs_of(probe.example, 5)[1])
    for what, make in FORMS.items():
        args, kwargs = inputs_of(probe.example, 5)
        torch.testing.assert_close(make(loaded(program))(*args, **kwargs), expected, msg=what)
