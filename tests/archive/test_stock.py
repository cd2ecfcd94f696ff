"""Files go both ways: torch.export reads what is saved here, and what it saves is read here."""

import inspect

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph import ContractError, export
from tests.archive.peers import loaded, loaded_there, of_this_version, quietly, saved, saved_there
from tests.programs.harness import (
    SEED_OF_CALL,
    SEED_OF_EXAMPLE,
    build,
    capture,
    inputs_at,
    run,
    same,
    start_anew,
)
from tests.programs.registry import PROGRAMS
from tests.programs.test_programs import CAPTURED

pytestmark = pytest.mark.filterwarnings("ignore")

# What stock files have no form for; ours hold it where only we look.
STOCK_CANNOT_READ = of_this_version(
    {
        "constants_returned": "a string among the results",
        "dict_input": "a string among the results",
        "dtype_and_device_inputs": "names of inputs that hide torch.device",
        "enum_inputs": "an enum among the inputs",
        "max_over": "a result of a class without a name",
        "namedtuple_input": "a class without a name",
        "size_round": "round() of a number",
        "star_kwargs": "a string among the results",
        "sort": "a result of a class without a name",
        "topk": "a result of a class without a name",
    }
)
EVERY = 6
SOME = CAPTURED[::EVERY]
FEW = SOME[::4]
"""Some of each file of the corpus: torch.export takes half a second for each."""


def answers_alike(program, expected, actual):
    """Hold that two modules give the same results and leave the same inputs."""
    given = inputs_at(program, program.sizes, SEED_OF_CALL)
    left, right = run(expected, given), run(actual, given)
    if isinstance(left, Exception):
        assert isinstance(right, Exception)
        return
    if isinstance(right, Exception):
        raise right
    same(left[0], right[0], "the result")
    same(left[1], right[1], "the inputs")


def read_there(program, *, dynamic):
    """Save here, read there, run there, save there, read here, run here."""
    exported = capture(program, dynamic=dynamic)
    theirs = loaded_there(saved(exported))
    reference = build(program)
    with quietly():
        module = theirs.module()
    start_anew(module, reference)
    answers_alike(program, reference, module)
    back = loaded(saved_there(theirs)).module()
    reference = build(program)
    start_anew(back, reference)
    answers_alike(program, reference, back)


def read_here(program, *, dynamic):
    """Save there, with and without decompositions; read here, run, save, read there."""
    module = build(program)
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    try:
        with quietly():
            shapes = every_dim_there(module, args, kwargs) if dynamic else None
            theirs = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
            files = [saved_there(theirs), saved_there(theirs.run_decompositions())]
    except Exception:  # noqa: BLE001  whatever keeps the peer from exporting
        pytest.skip("torch.export does not export it, or cannot save it")
    for content in files:
        ours = loaded(content)
        here, there = ours.module(), theirs.module()
        start_anew(here, build(program))
        start_anew(there, build(program))
        answers_alike(program, there, here)
        again = saved(ours)
        assert str(loaded(again)) == str(ours)
        if program.name not in STOCK_CANNOT_READ:
            loaded_there(again)


def every_dim_there(module, args, kwargs):
    """Declare every dimension automatic, in torch.export's words."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments

    def declared(leaf):
        return [torch.export.Dim.AUTO] * leaf.dim() if isinstance(leaf, torch.Tensor) else None

    return {name: pytree.tree_map(declared, value) for name, value in bound.items()}


some = pytest.mark.parametrize("program", SOME, ids=[each.name for each in SOME])
few = pytest.mark.parametrize("program", FEW, ids=[each.name for each in FEW])
everything = pytest.mark.parametrize("program", CAPTURED, ids=[each.name for each in CAPTURED])
both = pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])


@some
def test_torch_reads_what_is_saved_here(program):
    """torch.export opens our file, runs it, and saves it to one that we open."""
    if program.name in STOCK_CANNOT_READ:
        pytest.skip(STOCK_CANNOT_READ[program.name])
    read_there(program, dynamic=program.refused_dynamic is None)


@few
def test_what_torch_saved_is_read_here(program):
    """A file of torch.export opens here and answers as it does there; the slow test tries all."""
    read_here(program, dynamic=True)


@pytest.mark.slow
@everything
@both
def test_torch_reads_everything_that_is_saved_here(program, dynamic):
    """The same for the whole corpus, with fixed and with open sizes."""
    if program.name in STOCK_CANNOT_READ or (dynamic and program.refused_dynamic):
        pytest.skip("stock files have no form for it, or it is refused")
    read_there(program, dynamic=dynamic)


@pytest.mark.slow
@everything
@both
def test_everything_that_torch_saved_is_read_here(program, dynamic):
    """The same for the whole corpus, with fixed and with open sizes."""
    read_here(program, dynamic=dynamic)


@pytest.mark.parametrize("name", sorted(STOCK_CANNOT_READ))
def test_what_torch_cannot_read_is_still_so(name):
    """The list of exceptions is current: each of them fails there, and works here."""
    program = PROGRAMS[name]
    exported = capture(program, dynamic=True)
    module = loaded(saved(exported)).module()
    start_anew(module, build(program))
    answers_alike(program, build(program), module)
    with pytest.raises(Exception):  # noqa: B017  of many kinds
        read_there(program, dynamic=True)


class Written(torch.nn.Module):
    """Writes to one input, and reads another."""

    def forward(self, x, y):
        x.add_(1)
        return y * 2


def test_what_torch_writes_to_at_the_end_shares_no_memory():
    """A functional graph of torch's keeps what was written to the end: overlaps are refused."""
    room = torch.zeros(5)
    example = (torch.zeros(3), torch.zeros(3))
    with quietly():
        theirs = torch.export.export(Written(), example).run_decompositions()
    module = loaded(saved_there(theirs)).module()
    module(room[:2].repeat(2)[:3], room[2:])
    with pytest.raises(ContractError) as refused:
        module(room[:3], room[2:])
    assert refused.value.diagnostic.headline.startswith("`x` expected memory apart from `y`")


def checked_size(x):
    """A number that a branch learns the value of."""
    if x.sum() > 0:
        count = (x > 0).sum().item()
        torch._check(count == x.shape[0])
        return x + count
    return x * 2.0


def checked_truth(x):
    """A truth that a branch asserts."""
    if x.sum() > 0:
        assert (x > 0).all(), "all"
        return x + 1
    return x * 2.0


@pytest.mark.parametrize("lowered", [False, True], ids=["captured", "lowered"])
@pytest.mark.parametrize("function", [checked_size, checked_truth])
def test_what_a_branch_knows_stands_in_its_types(function, lowered):
    """Torch's reader binds each symbol to a value of the subgraph; also once saved again."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    program = export(Model(), (torch.ones(4),))
    program = program.run_decompositions() if lowered else program
    for written in (program, loaded(saved(program))):
        theirs = loaded_there(saved(written)).module()
        for x in (torch.full((4,), 3.0), -torch.ones(4)):
            torch.testing.assert_close(theirs(x), function(x))
        with pytest.raises(RuntimeError):
            theirs(torch.tensor([9.0, -1.0, 1.0, 1.0]))


class ChecksAndDraws(torch.nn.Module):
    """A region of which nobody uses a result."""

    def forward(self, x):
        with torch.no_grad():
            torch.ops.aten._assert_async.msg(x[0] > 0, "first")
            torch.rand(3)
        return x + torch.rand(1)


def test_torch_keeps_regions_that_check_and_draw():
    """Its reader sweeps such regions from what is called functional."""
    program = export(ChecksAndDraws(), (torch.ones(4),)).run_decompositions()
    module = loaded_there(saved(program)).module()
    found = []
    for each in (ChecksAndDraws(), module):
        torch.manual_seed(0)
        found.append(each(torch.ones(4)))
    torch.testing.assert_close(*found)
    # Torch's own module leaves gradients off when its region raises.
    with pytest.raises(RuntimeError, match="first"), torch.enable_grad():
        module(-torch.ones(4))
