"""A draft takes the example's way, says so, and asserts it: right for the example, never wrong."""

import time

import numpy as np
import pytest
import torch

from monograph import ContractError, Dim, MonographError, draft_export, load, save
from tests.seeding import reseed

X = torch.arange(1.0, 5.0)
BOTH = pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])


def problems(program):
    """Give name, what is assumed, and whether it is checked, of every problem."""
    return [(p.name, p.assumed, p.is_checked) for p in program.report.problems]


@BOTH
def test_a_branch_is_asserted(strict):
    """The draft agrees where the branch goes the same way, and raises where it does not."""

    class Branch(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return 2 * x
            return x - 1

    program = draft_export(Branch(), (X,), strict=strict, control_flow="refuse")
    assert problems(program) == [("data-dependent-branch", "it is True", True)]
    run = program.module()
    for x in (X, X + 3, X[[3, 1, 0, 2]]):
        assert torch.equal(run(x), Branch()(x))
    with pytest.raises(RuntimeError, match="does not hold"):
        run(-X)


@BOTH
def test_a_comparison_and_a_plain_number_are_asserted(strict):
    """What a number read from data decides holds for all data that decides it so."""

    class Counted(torch.nn.Module):
        def forward(self, x, n):
            k = n.item()
            y = torch.ones(4) if k > 2 else torch.zeros(4)
            for _ in range(k):
                y = y + x
            return y

    program = draft_export(Counted(), (X, torch.tensor(3)), strict=strict, control_flow="refuse")
    assert [name for name, _, _ in problems(program)] == [
        "data-dependent-size",
        "specialized-value",
    ]
    assert all(checked for _, _, checked in problems(program))
    run = program.module()
    assert torch.equal(run(2 * X, torch.tensor(3)), Counted()(2 * X, torch.tensor(3)))
    for other in (1, 4):
        with pytest.raises(RuntimeError, match="does not hold"):
            run(X, torch.tensor(other))


def test_the_value_at_the_moment_counts():
    """Where something is written in place, the answer is the one that eager has at that line."""

    class InPlace(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(()))

        def forward(self, x):
            y = x.clone()
            view = y[:2]
            first = view.sum() > 5
            y.add_(10)
            self.n += 1
            second = view.sum() > 5
            return y + (1 if first else 2) + (4 if second else 8) + (16 if self.n > 0 else 32)

    model = InPlace()
    want = model(X)
    model = InPlace()
    program = draft_export(model, (X,), control_flow="refuse")
    assert [assumed for _, assumed, _ in problems(program)] == [
        "it is False",
        "it is True",
        "it is True",
    ]
    assert model.n.item() == 0
    assert torch.equal(program.module()(X), want)


def test_a_dynamic_size_of_one_in_the_example_is_answered_for_the_example():
    """An example of 1, for which a stand-in is captured, gives its own answer."""

    class Ones(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 3 else x - 1

    sizes = {"x": {0: Dim("n", max=9)}}
    program = draft_export(Ones(), (torch.ones(1),), dynamic_shapes=sizes, control_flow="refuse")
    assert problems(program) == [("data-dependent-branch", "it is False", True)]
    run = program.module()
    for n in (0, 1, 3):
        assert torch.equal(run(torch.ones(n)), Ones()(torch.ones(n)))
    with pytest.raises(RuntimeError):
        run(torch.ones(4))


def test_values_read_out_are_compared():
    """NumPy's view of a tensor is the example's, and the program sees if it would differ."""

    class Reads(torch.nn.Module):
        def forward(self, x):
            return x + float(np.median(x.numpy()))

    program = draft_export(Reads(), (X,))
    assert [(name, checked) for name, _, checked in problems(program)] == [("value-read", True)]
    assert torch.equal(program.module()(X), Reads()(X))
    with pytest.raises(RuntimeError):
        program.module()(X + 1)


def test_how_many_results_there_are_is_asserted():
    """A loop over the rows that a mask leaves goes as often as for the example."""

    class Rows(torch.nn.Module):
        def forward(self, x):
            total = x.new_zeros(())
            for row in x[x > 2]:
                total = total + row
            return total

    program = draft_export(Rows(), (X,), control_flow="refuse")
    assert [(name, checked) for name, _, checked in problems(program)] == [
        ("data-dependent-size", True)
    ]
    assert torch.equal(program.module()(X.flip(0)), Rows()(X.flip(0)))
    with pytest.raises(RuntimeError, match="this draft assumes"):
        program.module()(X + 3)


def test_an_output_of_another_kind_is_left_out():
    """What no program returns is None in a draft, which says so."""

    class Returns(torch.nn.Module):
        def forward(self, x):
            return x + 1, object()

    program = draft_export(Returns(), (X,))
    assert problems(program) == [("unsupported-output", "`output[1]` is None", False)]
    with pytest.raises(ContractError, match="cannot vouch"):
        program.module()(X)
    first, second = program.module(check_guards=False)(X)
    assert torch.equal(first, X + 1)
    assert second is None


def test_what_cannot_be_checked_is_said():
    """A clock and a write that outlives the call are in the report, as unchecked."""
    kept = []

    class Outside(torch.nn.Module):
        def forward(self, x):
            kept.append(x.shape[0])
            return x * time.time()

    program = draft_export(Outside(), (X,))
    assert [(name, checked) for name, _, checked in problems(program)] == [
        ("outside-read", False),
        ("write-outlives-call", False),
    ]
    assert kept == []


def test_what_an_own_generator_drew_is_repeated():
    """And the generator stands where it stood before the export."""
    generator = torch.Generator()

    class Draws(torch.nn.Module):
        def forward(self, x):
            return x + torch.rand(4, generator=generator)

    program = draft_export(Draws(), (X,))
    assert [name for name, _, _ in problems(program)] == ["write-outlives-call"]
    want = X + torch.rand(4, generator=generator)
    assert torch.equal(program.module(check_guards=False)(X), want)


def test_a_generator_is_left_out_where_data_decide_what_it_draws():
    """The program draws from PyTorch's own generator instead."""

    class Draws(torch.nn.Module):
        def forward(self, x):
            return torch.bernoulli(x / 9, generator=torch.Generator().manual_seed(3))

    program = draft_export(Draws(), (X,))
    assert [name for name, _, _ in problems(program)] == ["own-generator"]
    reseed(3)
    want = torch.bernoulli(X / 9)
    reseed(3)
    assert torch.equal(program.module(check_guards=False)(X), want)


def test_a_model_without_problems_is_exported():
    """Its draft has nothing to report."""
    program = draft_export(torch.nn.Linear(4, 2), (X,))
    assert program.report.problems == ()


def test_autocast_regions_hold_for_the_answer():
    """The condition is computed under the casts that it was recorded in."""

    class Cast(torch.nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x
            return y.float() if y.sum() > 0 else -y.float()

    program = draft_export(Cast(), (torch.ones(3, 3),))
    assert torch.equal(program.module()(torch.ones(3, 3)), Cast()(torch.ones(3, 3)))


def test_problems_are_saved_with_the_program(tmp_path):
    """A draft that was saved says the same of itself after loading."""

    class Branch(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    program = draft_export(Branch(), (X,), control_flow="refuse")
    save(program, tmp_path / "draft.pt2")
    again = load(tmp_path / "draft.pt2")
    assert str(again.report) == str(program.report)
    (problem,) = again.report.problems
    assert problem.diagnostic.headline == program.report.problems[0].headline


def test_a_loop_without_end_is_left():
    """A question asked without end is refused in the end."""

    class Endless(torch.nn.Module):
        def forward(self, x):
            while x.sum() > 0:
                x = x * 1
            return x

    with pytest.raises(MonographError):
        draft_export(Endless(), (X,), control_flow="refuse")
