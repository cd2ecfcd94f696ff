"""A program that was saved and loaded is the program: its text, contract, answers and refusals."""

import re

import pytest
import torch

from monograph import export
from tests.archive.peers import loaded, saved
from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import Exporter, build, call, exporter_named, inputs_at
from tests.models.harness import capture as capture_model
from tests.models.registry import MODELS
from tests.programs.harness import agree, captured_once
from tests.programs.registry import PROGRAMS
from tests.programs.test_programs import CAPTURED
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)

# Sizes that are constants now, and print so; inputs whose type is that before they change in place;
# a loop or branch that is given nothing or numbers alone: files have no such tuples; and a sum,
# whose terms stand in the order in which they were first met.
TEXT_DIFFERS = {
    "if_elif",
    "ternary",
    "set_by_size",
    "input_transposed_in_place",
    "input_unsqueezed_in_place",
    "loop_over_rows",
    "mixture_of_experts",
    "if_statement",
    "sym_not",
    "ternary_and",
    "ternary_chain",
    "ternary_equal",
    "ternary_even",
    "ternary_not",
    "ternary_numel",
}
EVERY = 4


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] if index % EVERY else [])
        for index, each in enumerate(CAPTURED)
    ],
)
def test_a_program_comes_back(program):
    """Text, contract and file are the same again; calls agree with eager or are refused alike."""
    exported = captured_once(program, dynamic=program.refused_dynamic is None)
    content = saved(exported)
    again = loaded(content)
    assert str(again.contract) == str(exported.contract)
    assert str(again.guards) == str(exported.guards)
    assert str(again.report) == str(exported.report)
    if program.name not in TEXT_DIFFERS:
        assert str(again) == str(exported)
    assert saved(again) == content
    ours, back = exported.module(), again.module()
    assert agree(program, back, program.sizes) in {"agrees", "raises"}
    for sizes in program.sweep()[:2]:
        assert agree(program, back, sizes) == agree(program, ours, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_fixed_sizes_comes_back(name):
    """The same, captured at fixed sizes, over all sizes that are tried."""
    program = PROGRAMS[name]
    if program.refused or program.raises:
        pytest.skip("not captured")
    exported = captured_once(program, dynamic=False)
    again = loaded(saved(exported))
    assert str(again.contract) == str(exported.contract)
    ours, back = exported.module(), again.module()
    for sizes in program.sweep():
        assert agree(program, back, sizes) == agree(program, ours, sizes)


def words(contract):
    """What a contract says, in whichever order the factors of a product were first met."""
    return sorted(re.split(r"[*\s]|, |\[|\]", str(contract)))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_comes_back(model):
    """A model's program answers after loading as before, at every size, bit for bit."""
    exporter: Exporter = exporter_named("monograph:export")
    program = capture_model(model, exporter, "automatic" if model.axes else "static")
    again = loaded(saved(program))
    assert words(again.contract) == words(program.contract)
    for sizes in model.sizes[:2]:
        _, inputs = build(model)
        given = inputs_at(inputs, sizes, 5)
        reseed(0)
        expected = call(program.module(), given)
        reseed(0)
        actual = call(again.module(), given)
        leaves = zip(*map(torch.utils._pytree.tree_leaves, (expected, actual)), strict=True)
        for left, right in leaves:
            torch.testing.assert_close(right, left, equal_nan=True)


@pytest.mark.parametrize("is_lowered", [False, True])
def test_a_buffer_that_a_call_computed_comes_back_as_a_value(is_lowered):
    """What a call under gradients wrote to a buffer has a history here, and none in a file."""

    class Keeps(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.register_buffer("last", torch.zeros(3))

        def forward(self, x):
            y = self.linear(x)
            self.last.copy_(y[0])
            return y + self.last

    program = export(Keeps(), (torch.ones(2, 3),))
    program = program.run_decompositions() if is_lowered else program
    module, x = program.module(), torch.randn(2, 3)
    module(x)
    assert program.state_dict["last"].grad_fn is not None
    again = loaded(saved(program))
    assert not again.state_dict["last"].requires_grad
    torch.testing.assert_close(again.state_dict["last"], module.get_buffer("last").detach())
    torch.testing.assert_close(again.module()(x), module(x))


class Caches(torch.nn.Module):
    """What it computes goes into a buffer."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(2, 4))

    def forward(self, x):
        self.cache.copy_(self.linear(x))
        return self.cache * 1


def test_the_module_is_left_as_it_was():
    """Trying out what was saved gives the module's buffers no history."""
    module = Caches()
    saved(export(module, (torch.randn(2, 4),)))
    assert module.cache.is_leaf
    assert not module.cache.requires_grad
    assert not module.cache.any()


class CountsOnOneSide(torch.nn.Module):
    """Replaces its buffer on one side of a branch, or in each round."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        for row in x if self.rounds else [x]:
            if row.sum() < 100:
                self.count = self.count + 1
        return x * 2


@pytest.mark.parametrize("rounds", [False, True])
def test_a_buffer_that_a_branch_replaces_is_left_as_it_was(rounds):
    """The trial run of `save` takes the step, and takes it back."""
    program = export(CountsOnOneSide(rounds), (torch.ones(2, 4),))
    file = saved(program)
    assert not program.state_dict["count"].any()
    assert not loaded(file).state_dict["count"].any()
