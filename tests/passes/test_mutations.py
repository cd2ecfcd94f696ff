"""Functional graphs do what eager does: values, visible writes, aliases among what is returned."""

import pytest
import torch
from torch import nn

import monograph
from tests.contract.forms import Form
from tests.contract.judging import AGREES, exported, judged
from tests.contract.registry import Call, Probe, module_of
from tests.passes.mutations import INPUTS, PROGRAMS

FORMS = {
    "before": lambda program: program.module(),
    "functional": lambda program: program.run_decompositions({}).module(),
    "core": lambda program: program.run_decompositions().module(),
    "twice": lambda program: program.run_decompositions().run_decompositions().module(),
}

def export(module, args, kwargs, shapes):
    """Export as plain Python."""
    return monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name, form):
    """Called twice, it agrees with the module called twice."""
    call = Call(INPUTS[name], times=2)
    build = module_of(name, PROGRAMS[name])
    probe = Probe(name, "write", build, call, {"twice": call})
    made = Form(form, export, monograph.Dim, FORMS[form])
    program, verdict = exported(probe, made)
    assert program is not None, str(verdict)
    verdict = judged(probe, program, made, call)
    assert verdict.kind == AGREES, str(verdict)
    assert not verdict.raised, "eager raises: the program shows nothing"


def test_there_are_sixty():
    """The list is as long as it was meant to be."""
    assert len(PROGRAMS) >= 60


def test_a_parameter_written_twice_is_refused():
    """Between two writes there is a value whose gradient a graph of values loses."""

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            with torch.no_grad():
                self.weight.mul_(2)
            y = x * self.weight
            with torch.no_grad():
                self.weight.add_(1)
            return y + self.weight

    program = export(Twice(), (torch.ones(3),), {}, None)
    with pytest.raises(monograph.MonographError) as caught:
        program.run_decompositions()
    assert caught.value.diagnostic.name == "not-functional"
    assert "weight" in str(caught.value)
