"""Control flow that torch.export recorded is read here and handed over here, and answers alike."""

import warnings

import pytest
import torch

import monograph
from tests.archive.peers import loaded, quietly, saved, saved_there
from tests.control_flow import branches, loops  # noqa: F401  they enter the programs
from tests.control_flow.loops import LoopWithParameters
from tests.control_flow.registry import PROGRAMS
from tests.control_flow.test_programs import check
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings("ignore")
STOCK = [name for name, each in PROGRAMS.items() if each.stock]
VMAPPED = [name for name in STOCK if name.startswith("Associative")]


def exported_there(each):
    """Give the module and torch's program, with fixed sizes; skip where torch refuses it."""
    reseed(0)
    module = each.module()
    try:
        with quietly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = torch.export.export(module, each.inputs(each.sizes[0]))
            return module, theirs, saved_there(theirs)
    except Exception:  # noqa: BLE001  whatever keeps the peer from exporting or saving
        pytest.skip("torch.export does not export it, or cannot save it")


@pytest.mark.parametrize("name", [name for name in STOCK if name not in VMAPPED])
def test_what_torch_recorded_is_read_here(name):
    """From its file, from its objects, and from a file of ours made of that."""
    each = PROGRAMS[name]
    module, theirs, content = exported_there(each)
    check(each, module, loaded(content).module(), static=True)
    taken = monograph.from_torch(theirs)
    check(each, module, taken.module(), static=True)
    check(each, module, loaded(saved(taken)).module(), static=True)


@pytest.mark.parametrize("name", VMAPPED)
def test_torchs_associative_scans_are_read_lowered(name):
    """Before, they hold calls into the insides of vmap, which no file may ask for."""
    each = PROGRAMS[name]
    module, theirs, content = exported_there(each)
    with pytest.raises(monograph.ArchiveError, match="which is no operator"):
        loaded(content)
    with quietly():
        lowered = theirs.run_decompositions()
    check(each, module, loaded(saved_there(lowered)).module(), static=True)


def test_gradients_of_parameters_in_a_loop_over_what_has_none():
    """Those of Python's own loop: torch's `while_loop` loses what earlier rounds give."""
    x = torch.randn(2, 4, dtype=torch.float64)
    module = LoopWithParameters().double()
    program = monograph.export(module, (x,)).run_decompositions()
    expected = x
    for _ in range(3):
        expected = torch.tanh(module.linear(expected))
    expected = torch.autograd.grad(expected.square().sum(), module.linear.parameters())
    for each in (program.module(), loaded(saved(program)).module()):
        each(x).square().sum().backward()
        found = [parameter.grad for parameter in each.parameters()]
        torch.testing.assert_close(found, list(expected))
        each.zero_grad()
