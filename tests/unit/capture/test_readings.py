"""A number that is read out of one tensor twice is one number, until somebody writes to it."""

import math

import pytest
import torch

import monograph

X = torch.arange(6.0)
BOTH = pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])


def module(forward):
    """A module that calls a function."""
    return type("M", (torch.nn.Module,), {"forward": staticmethod(forward)})()


def checked(x, n):
    """What is checked of one reading is known of the next."""
    torch._check(n.item() >= 2)
    torch._check(n.item() <= 4)
    return x[: n.item()] if n.item() > 1 else x


def written(x, n):
    """In place, and read between."""
    first = n.item()
    y = n + 0
    second = y.item()
    y.add_(1)
    third = y.item()
    y.view(1).add_(first)
    return first, second, third, y.item(), x * y.item()


def truths(x, n):
    """A truth and a float are read as well."""
    some = n > 2
    torch._check(some.item())
    if some.item():
        return x * n.float().item(), n
    return x, n


@BOTH
@pytest.mark.parametrize("forward", [checked, written, truths])
def test_readings_agree_with_eager(forward, strict):
    """For numbers unlike the example."""
    program = monograph.export(module(forward), (X, torch.tensor(3)), strict=strict)
    for run in (program.module(), program.run_decompositions().module()):
        for n in (3, 4):
            given = torch.tensor(n)
            torch.testing.assert_close(run(X, given), forward(X, torch.tensor(n)))


def test_one_reading_is_one_node():
    """The graph asks the tensor once."""
    program = monograph.export(module(checked), (X, torch.tensor(3)))
    targets = [node.target for node in program.graph.nodes]
    assert targets.count(torch.ops.aten.item.default) == 1


def elements(x, counts):
    """Elements of a vector, each selected anew, and written to between."""
    first, again, other = counts[0].item(), counts[0].item(), counts[1].item()
    kept = x.new_zeros(first) + x.new_ones(again)
    held = counts + 0
    before = held[0].item()
    held[0] = 2
    return kept, other, before, held[0].item(), held[1].item()


@BOTH
def test_elements_are_read_by_place(strict):
    """Selecting one element twice gives one number, as long as nobody writes to it."""
    program = monograph.export(module(elements), (X, torch.tensor([3, 1])), strict=strict)
    for run in (program.module(), program.run_decompositions().module()):
        for counts in ([3, 1], [4, 4], [0, 2]):
            given = torch.tensor(counts)
            torch.testing.assert_close(run(X, given), elements(X, given.clone()))
    counted = [str(node.target) for node in program.graph.nodes].count("aten.item.default")
    assert counted == 5


def branched(x):
    """One side alone asks."""
    if x[0] > 0:
        int(x.mean())
    return x + 1


ROUNDED = {
    "floor": lambda x: (math.floor(x.sum().item()), x + 1)[1],
    "ceil": lambda x: (math.ceil(2 * x.sum().item()), x + 1)[1],
    "int": lambda x: (int(x.mean()), x + 1)[1],
    "round": lambda x: (round(x.mean().item()), x + 1)[1],
    "branched": branched,
}


def outcome(call, *values):
    """What a call gives or raises, and what it was given afterwards."""
    given = torch.tensor(values)
    try:
        made = call(given).tolist()
    except (ValueError, OverflowError) as error:
        made = type(error), str(error)
    return str((made, given.tolist()))


@BOTH
@pytest.mark.parametrize("forward", ROUNDED.values(), ids=ROUNDED)
def test_rounding_what_is_no_number_raises(forward, strict, tmp_path):
    """Also where nobody uses the integer: lowered, and saved, where the reader says so."""
    program = monograph.export(module(forward), (torch.tensor([1.0, 2.0]),), strict=strict)
    monograph.save(program, tmp_path / "p.pt2")
    for run in [each.module() for each in (program, program.run_decompositions())]:
        for values in ((1.5, 2.5), (1.0, math.nan), (1.0, math.inf), (-1.0, math.nan)):
            assert outcome(run, *values) == outcome(forward, *values)
    with pytest.raises(monograph.MonographError, match=r"cannot\s+convert float NaN"):
        monograph.load(tmp_path / "p.pt2").module()(torch.tensor([1.0, math.nan]))


def test_rounded_sizes_are_not_kept():
    """They are never NaN."""
    forward = ROUNDED["floor"]

    def of_sizes(x):
        math.floor(x.shape[0] * 0.3)
        return x + 1

    for each, n in ((forward, 1), (of_sizes, 0)):
        shapes = {"x": {0: monograph.Dim.AUTO}}
        program = monograph.export(module(each), (X,), dynamic_shapes=shapes)
        assert [node.target for node in program.graph.nodes].count(math.floor) == n
