"""Programs become those of torch.export and back, with the same tensors and the same answers."""

import copy
import io
import logging

import pytest
import torch

import monograph
from monograph import ContractError, HandOverError
from tests.archive.peers import quietly
from tests.archive.test_stock import STOCK_CANNOT_READ, answers_alike
from tests.interop.programs import attention, counts, net
from tests.programs.harness import build, capture, start_anew
from tests.programs.test_programs import CAPTURED

pytestmark = pytest.mark.filterwarnings("ignore")
SOME = [each for each in CAPTURED if each.name not in STOCK_CANNOT_READ][2::9]


def test_the_tensors_are_the_same():
    """Nothing is copied in either direction; ties stay ties."""
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3)
    )
    module[2].weight = module[0].weight
    program = monograph.export(module.eval(), (torch.ones(2, 3),))
    with quietly():
        theirs = program.to_torch()
        back = monograph.from_torch(theirs)
    for name, tensor in program.state_dict.items():
        assert theirs.state_dict[name] is tensor
        assert back.state_dict[name] is tensor
    assert program.state_dict["0.weight"] is program.state_dict["2.weight"]


@pytest.mark.parametrize("program", SOME, ids=[each.name for each in SOME])
def test_programs_go_there_and_back(program):
    """The corpus answers there as the module does, and so does what comes back."""
    exported = capture(program, dynamic=program.refused_dynamic is None)
    with quietly():
        theirs = exported.to_torch()
        module = theirs.module()
    reference = build(program)
    start_anew(module, reference)
    answers_alike(program, reference, module)
    reference = build(program)
    back = monograph.from_torch(theirs).module()
    start_anew(back, reference)
    answers_alike(program, reference, back)


def test_what_stays_behind_is_logged(caplog):
    """Conditions that torch.export's programs do not check are named; others are not."""

    class Picky(torch.nn.Module):
        def forward(self, x, y):
            if x.requires_grad:
                return x * 2
            x.add_(y)
            return x * y

    class Plain(torch.nn.Module):
        def forward(self, x):
            return x * 2

    caplog.set_level(logging.WARNING, "monograph.interop")
    program = monograph.export(Picky(), (torch.ones(3), torch.ones(3)))
    program.run_decompositions().to_torch()
    assert "x.requires_grad is False" in caplog.text
    assert "x apart from y in memory" in caplog.text
    caplog.clear()
    monograph.export(Plain(), (torch.ones(3),)).to_torch()
    assert not caplog.text


def test_a_program_of_torch_has_a_contract_here():
    """What torch.export states is checked before anything runs."""
    batch = torch.export.Dim("batch", min=2, max=8)
    module = torch.nn.Linear(4, 2)
    with quietly():
        theirs = torch.export.export(
            module, (torch.ones(3, 4),), dynamic_shapes={"input": {0: batch}}
        )
    program = monograph.from_torch(theirs)
    run = program.module()
    x = torch.randn(8, 4)
    assert torch.equal(run(x), module(x))
    for wrong in (torch.ones(9, 4), torch.ones(3, 5), torch.ones(3, 4).double()):
        with pytest.raises(ContractError):
            run(wrong)
    monograph.save(program, io.BytesIO())


def test_conditions_over_flat_arguments_are_taken_over():
    """Strict programs of torch.export number the leaves of a call, whatever holds them."""

    class Nested(torch.nn.Module):
        def forward(self, n, x, *, d):
            return (x[:, :3] + d["a"]) * n

    auto = torch.export.Dim.AUTO
    given = (3, torch.randn(4, 5))
    with quietly():
        theirs = torch.export.export(
            Nested(),
            given,
            {"d": {"a": torch.randn(4, 3)}},
            dynamic_shapes={"n": None, "x": {0: auto, 1: auto}, "d": {"a": {0: auto}}},
            strict=True,
        )
    run = monograph.from_torch(theirs).module()
    x, a = torch.randn(6, 9), torch.randn(6, 3)
    assert torch.equal(run(3, x, d={"a": a}), (x[:, :3] + a) * 3)
    for rows, columns in ((7, 9), (6, 3), (6, 2)):
        with pytest.raises(ContractError):
            run(3, torch.randn(rows, columns), d={"a": a})


def test_what_torch_has_no_form_for_is_refused():
    """A string among the results is for files of ours alone."""

    class Named(torch.nn.Module):
        def forward(self, x):
            return x + 1, "name"

    program = monograph.export(Named(), (torch.ones(2),))
    with pytest.raises(HandOverError) as refused, quietly():
        program.to_torch()
    assert refused.value.diagnostic.name == "not-handed-over"


def test_what_is_no_tensor_is_not_taken_over():
    """Constants of other kinds are refused by name."""
    with quietly():
        theirs = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    theirs.constants["odd"] = object()
    with pytest.raises(HandOverError) as refused:
        monograph.from_torch(theirs)
    assert refused.value.diagnostic.name == "not-taken-over"


@pytest.mark.parametrize("make", [attention, counts, net])
def test_torch_lowers_what_it_is_given(make):
    """Its own decompositions run on it, and answer alike."""
    module, program = make()
    module = copy.deepcopy(module)
    args, kwargs = program.example_inputs
    with quietly():
        lowered = program.to_torch().run_decompositions()
        found = lowered.module()(*args, **kwargs)
    expected = module(*args, **kwargs)
    left, right = map(torch.utils._pytree.tree_leaves, (expected, found))
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(other, one)


@torch.library.custom_op("monograph_tests::repeated_rows", mutates_args=())
def repeated_rows(x: torch.Tensor, n: int) -> torch.Tensor:
    """Every row `n` times."""
    return x.repeat_interleave(n, 0)


@repeated_rows.register_fake
def _(x, n):
    return x.new_empty(2 * x.shape[0], x.shape[1])


class Repeated(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        with torch.no_grad():
            first = repeated_rows(x, self.n)
        return repeated_rows(x, self.n) + first


@pytest.mark.parametrize("shapes", [None, {"x": {0: monograph.Dim("rows")}}], ids=str)
def test_torch_lowers_and_checks_promised_sizes(shapes):
    """Its fake tensors accept no sizes in assertions of metadata; as numbers they are compared."""
    x = torch.randn(3, 4)
    with quietly():
        theirs = monograph.export(Repeated(2), (x,), dynamic_shapes=shapes).to_torch()
        broken = monograph.export(Repeated(3), (x,), dynamic_shapes=shapes).to_torch()
    for each in (theirs, theirs.run_decompositions()):
        for given in [x] if shapes is None else [x, torch.randn(5, 4)]:
            torch.testing.assert_close(each.module()(given), Repeated(2)(given))
        back = monograph.from_torch(each).module()
        torch.testing.assert_close(back(x), Repeated(2)(x))
    promises = pytest.raises(RuntimeError, match="promises another size of dimension 0")
    with promises, torch.enable_grad():  # torch's module leaves `no_grad` on where it raises
        broken.module()(x)
    with promises:
        monograph.from_torch(broken).module()(x)
    assert torch.is_grad_enabled()


def test_assertions_of_torch_after_custom_operators_are_taken_over():
    """Its casts of what a custom operator returns assert dtypes alone."""

    class Cast(torch.nn.Module):
        def forward(self, x):
            return repeated_rows(x, 2).to(torch.float64)

    x = torch.randn(3, 4)
    with quietly():
        back = monograph.from_torch(torch.export.export(Cast(), (x,)))
    torch.testing.assert_close(back.module()(x), Cast()(x))
