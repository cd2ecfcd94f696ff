"""What operators cannot take is refused by name, with the lines that matter."""

import subprocess
import sys

import pytest
import torch
import torch._higher_order_ops as hops
from torch import nn

import monograph
from monograph.diagnostics import MonographError


def refusal(forward, *arguments, strict=True, shapes=None):
    """The refusal of a forward function."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.ones(3))

        def forward(self, *inputs):
            return forward(self, *inputs)

    given = arguments or (torch.ones(3),)
    with pytest.raises(MonographError) as caught:
        monograph.export(Model(), given, dynamic_shapes=shapes, strict=strict)
    return caught.value


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("dtype", lambda x: x.double()),
        ("rank", lambda x: x[None]),
        ("structure", lambda x: (x, x + 1)),
        ("value", lambda x: None),
    ],
)
def test_branches_that_disagree(what, other, strict):
    """Both functions' lines are named."""

    def forward(_, x):
        def positive(x):
            return x + 1

        return torch.cond(x.sum() > 0, positive, other, (x,))

    found = refusal(forward, strict=strict)
    assert found.diagnostic.name == "branches-disagree"
    assert what in found.diagnostic.headline
    assert "return torch.cond" in str(found)
    if what in {"dtype", "rank"}:
        assert "return x + 1" in str(found)


def test_layouts_that_disagree():
    """Sizes may differ, strides may not."""
    x = torch.rand(3, 3)
    found = refusal(
        lambda _, x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: (x * 2).t(), (x,)), x
    )
    assert found.diagnostic.name == "branches-disagree"
    assert "layout" in found.diagnostic.headline


@pytest.mark.parametrize(
    "step",
    [
        lambda x: (x.double(),),
        lambda x: (torch.cat([x, x]),),
        lambda x: (x, x),
        lambda x: (x[None],),
    ],
)
def test_steps_that_change_what_is_carried(step):
    """Dtype, sizes, number and rank."""
    found = refusal(lambda _, x: hops.while_loop(lambda x: x.sum() < 9, step, (x,)))
    assert found.diagnostic.name == "loop-carry-changes"


@pytest.mark.parametrize("strict", [True, False])
def test_writes_in_a_step(strict):
    """A loop does not write to what is outside of it, nor to what it is given."""

    def captured(self, x):
        def step(i, x):
            self.table.add_(1)
            return i + 1, x * 2

        return hops.while_loop(lambda i, x: i < 3, step, (0, x))

    def carried(_, x):
        def step(i, x):
            x.add_(1)
            return i + 1, x * 2

        return hops.while_loop(lambda i, x: i < 3, step, (0, x))

    for forward, line in ((captured, "self.table.add_(1)"), (carried, "x.add_(1)")):
        found = refusal(forward, strict=strict)
        assert found.diagnostic.name == "branch-writes"
        assert line in str(found)


def test_a_view_from_outside_of_what_a_branch_writes_to():
    """It would show what was there before."""

    def forward(_, x):
        y = x.clone()
        first = y.split(1)[0]

        def positive(x):
            y.add_(1)
            return x + first

        return torch.cond(x.sum() > 0, positive, lambda x: x * 2, (x,))

    assert refusal(forward).diagnostic.name == "branch-writes"


def test_a_simple_view_from_outside_shows_what_a_branch_writes():
    """It is taken again of the copy that the branch writes to."""

    class Model(nn.Module):
        def forward(self, x):
            y = x.clone()
            first = y[1:][0]

            def positive(x):
                y.add_(1)
                return x + first

            return torch.cond(x.sum() > 0, positive, lambda x: x * 2, (x,)), y, first

    exported = monograph.export(Model(), (torch.ones(3),)).module()
    for sign in (1, -1):
        x = torch.rand(3) * sign
        y = x + 1 if sign > 0 else x
        torch.testing.assert_close(exported(x), (x + y[1] if sign > 0 else x * 2, y, y[1]))


@pytest.mark.parametrize("kind", ["list", "dict", "variable", "object", "module"])
def test_python_objects_that_a_branch_changes(kind):
    """Strict capture sees every write, of what was there before the branch."""

    class Box:
        value = 0

    def forward(self, x):
        box, taken, names, flag = Box(), [], {}, 0

        def positive(x):
            nonlocal flag
            if kind == "list":
                taken.append(1)
            elif kind == "dict":
                names["a"] = 1
            elif kind == "variable":
                flag = 1
            elif kind == "object":
                box.value = 1
            else:
                self.flag = 1
            return x + 1

        y = torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))
        if kind == "module":
            del self.flag
        return y * (len(taken) + len(names) + flag + box.value)

    assert refusal(forward).diagnostic.name == "branch-side-effect"


def test_objects_that_a_branch_made_itself():
    """They may be changed."""

    class Model(nn.Module):
        def forward(self, x):
            def positive(x):
                parts, names = [], {}
                for row in range(3):
                    parts.append(x[row])
                    names[row] = x[row] * 2
                return torch.stack(parts) + torch.stack(list(names.values()))

            return torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))

    program = monograph.export(Model(), (torch.ones(3),))
    assert torch.equal(program.module()(torch.ones(3)), torch.full((3,), 3.0))
    assert torch.equal(program.module()(-torch.ones(3)), torch.full((3,), -2.0))


def test_values_that_leave_a_branch_by_another_way():
    """Plain capture sees their use."""

    def forward(_, x):
        kept = []

        def positive(x):
            kept.append(x + 1)
            return x * 2

        torch.cond(x.sum() > 0, positive, lambda x: x - 1, (x,))
        return kept[0] * 2

    found = refusal(forward, strict=False)
    assert found.diagnostic.name == "branch-value-outside"
    assert "kept[0] * 2" in str(found)


@pytest.mark.parametrize(
    "forward",
    [
        lambda _, x: torch.cond(x > 0, lambda x: x, lambda x: x, (x,)),
        lambda _, x: torch.cond(x.sum() > 0, lambda x: x, 3, (x,)),
        lambda _, x: hops.while_loop(lambda x: x > 0, lambda x: (x,), (x,)),
        lambda _, x: hops.while_loop(lambda f, x: f < 1, lambda f, x: (f + 1, x), (0.5, x)),
        lambda _, x: hops.map(lambda r: r.nonzero(), x[:, None]),
    ],
)
def test_arguments_of_the_wrong_kind(forward):
    """Conditions of several elements, no functions, floats that are carried, open sizes."""
    assert refusal(forward).diagnostic.name == "operator-arguments"


def test_an_assumption_of_a_branch_is_no_guard():
    """It is checked where the branch runs."""

    class Model(nn.Module):
        def forward(self, x):
            def positive(x):
                return x[0] if x.shape[0] > 4 else x[1]

            return torch.cond(x.sum() > 0, positive, lambda x: x.sum(0), (x,))

    n = monograph.Dim("n")
    program = monograph.export(Model(), (torch.ones(5, 2),), dynamic_shapes=({0: n},))
    assert not program.guards
    made = program.module()
    assert torch.equal(made(torch.ones(7, 2)), torch.ones(2))
    assert torch.equal(made(-torch.ones(3, 2)), torch.full((2,), -3.0))
    with pytest.raises(RuntimeError, match="does not hold"):
        made(torch.ones(3, 2))


def test_nothing_is_compiled():
    """Neither capturing nor running needs torch's compiler."""
    code = """
import sys, torch, monograph
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
program = monograph.export(Model(), (torch.ones(3),))
program.module()(torch.ones(3))
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_input_beside_what_a_branch_may_give_back():
    """A caller may give one tensor for both."""

    def forward(_, x, other):
        if x.sum() > 1:
            x = x * 2
        return x + 1, other is x

    assert refusal(forward, ONE, torch.zeros(1)).diagnostic.name == "outside-read"


def either(_, x, d):
    """Give an input as it is, or without its history."""
    if d.sum() > 0:
        x = x.detach()
    return x + 1


def test_an_expanded_input_with_gradients():
    """Each of its elements has a gradient of its own, which no copy hands on."""
    expanded = torch.randn(3).expand(3, 3)
    found = refusal(either, expanded.clone().as_strided((3, 3), (0, 1)).requires_grad_(), ONE)
    assert found.diagnostic.name == "gradient-in-forward"


def test_an_expanded_input_without_gradients():
    """The program holds for calls without any."""

    class Either(nn.Module):
        forward = either

    program = monograph.export(Either(), (torch.randn(3).expand(3, 3), ONE)).module()
    x = torch.randn(3).expand(3, 3)
    for d in (ONE, -ONE):
        assert torch.equal(program(x, d), x + 1)
    with pytest.raises(monograph.ContractError, match="requires_grad"):
        program(torch.randn(3).expand(3, 3).requires_grad_(), ONE)


ONE = torch.ones(1)
