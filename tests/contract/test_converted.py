"""`program.to(dtype)` is the program of `module.to(dtype)`, or it is refused."""

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph.diagnostics import MonographError
from tests.contract import test_probes  # noqa: F401  importing registers the probes
from tests.contract.forms import FORMS, Form, plain
from tests.contract.judging import (
    AGREES,
    FAILS,
    SEED_OF_EXAMPLE,
    WRONG,
    captured_once,
    exported,
    inputs_of,
    judged,
)
from tests.contract.registry import PROBES, Call, Probe
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings("ignore")

DOUBLE = torch.float64

WRONG_YET = {"ListOfABuffer"}
"""A list keeps the tensor that `Module.to` puts another in the place of: DESIGN.md, section 8."""


def in_double(probe: Probe) -> Probe:
    """The same program as a module of doubles, given doubles."""
    calls = {name: in_doubles(call) for name, call in probe.calls.items()}
    return Probe(
        probe.name,
        probe.row,
        lambda: probe.build().to(DOUBLE),
        in_doubles(probe.example),
        calls,
        probe.must,
        probe.shapes,
        probe.refused,
    )


def in_doubles(call: Call) -> Call:
    """The same call with floats twice as wide, each object converted once."""

    def inputs():
        reseed(SEED_OF_EXAMPLE)
        done = {}
        return pytree.tree_map(lambda leaf: widened(leaf, done), inputs_of(call, SEED_OF_EXAMPLE))

    return Call(inputs, call.under, call.before, call.times)


def widened(leaf, done):
    """A tensor of doubles for one of floats."""
    if not isinstance(leaf, torch.Tensor) or leaf.dtype is not torch.float32:
        return leaf
    if id(leaf) not in done:
        done[id(leaf)] = (leaf, leaf.detach().to(DOUBLE).requires_grad_(leaf.requires_grad))
    return done[id(leaf)][1]


def converted(program):
    """In another floating-point type."""
    return program.to(DOUBLE).module()


FORM = Form("converted", plain, FORMS["plain"].Dim, converted, (MonographError, TypeError))


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_program_in_doubles_is_that_of_the_module_in_doubles(probe):
    """Every probe that can be converted agrees with eager's module of doubles."""
    program, verdict = exported(probe, FORM, captured_once)
    assert verdict.kind not in (WRONG, FAILS), str(verdict)
    if program is None:
        return
    twin = in_double(probe)
    found = {name: judged(twin, program, FORM, call) for name, call in twin.calls.items()}
    wrong = {n: str(v) for n, v in found.items() if v.kind in (WRONG, FAILS)}
    assert bool(wrong) == (probe.name in WRONG_YET), wrong


@pytest.mark.parametrize(
    "name", ["first_written", "Tied", "columns_written", "ParameterWritten", "InEvaluation"]
)
def test_many_are_converted(name):
    """The law is not kept by refusing everything."""
    program, verdict = exported(PROBES[name], FORM)
    assert verdict.kind == AGREES, str(verdict)
    assert program is not None
