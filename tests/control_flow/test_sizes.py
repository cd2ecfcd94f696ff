"""Branches on sizes: both ways where that costs little, or is asked for; else a guard."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from tests.control_flow.forms import made_forms, naming
from tests.control_flow.looped import Function
from tests.seeding import reseed

SIZES = (5, 1, 2, 3, 4, 8, 9, 20)


def long_or_short(x):
    """Two ways."""
    if x.shape[0] > 8:
        return x.sin()
    return x.cos()


def both_at_once(x):
    """`and`, and a number that differs by way."""
    n = x.shape[0]
    scale = 2.0 if n > 2 and n % 2 == 0 else 3.0
    return x * scale + n


def sizes_differ(x):
    """A way may use what its condition says, and return another size."""
    y = x[3:] * 2 if x.shape[0] > 3 else x + 1
    return y.sum(0), y.relu()


def told_by_one_side(x):
    """What a side knows of a size is put into no other's computation of it."""
    n = x.shape[0]
    is_other = n != 8 and bool((x > 0).all())
    return x + is_other * 2, n / 2


def steps(x):
    """Three ways, in a function that is called, one of them by data."""

    def pick(t):
        if len(t) < 3:
            return t + 1
        if t.sum() > 0:
            return t - 1
        return t * 2 if not bool(t.shape[0] == 4) else t * 3

    return pick(x) - pick(-x)


class Chunked(nn.Module):
    """Long inputs go another way through the same layer."""

    def __init__(self):
        super().__init__()
        reseed(0)
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if x.size(0) >= 8:
            return torch.cat([self.layer(x[:4]), self.layer(x[4:])])
        return self.layer(x)


def in_chunks(x):
    """Padding that may be nothing, of what lies otherwise, and is cut off again where it is not."""
    n = x.shape[0]
    extra = (4 - n % 4) % 4
    rows = (x * 1).t().contiguous().t()
    padded = nn.functional.pad(rows, (0, 0, 0, extra), mode="constant", value=0)
    sums = padded.reshape(-1, 4, 4).cumsum(1).reshape(-1, 4)
    if extra > 0:
        sums = sums[:n]
    return sums + x


CASES = [long_or_short, both_at_once, told_by_one_side, sizes_differ, steps, Chunked, in_chunks]


def made(case):
    """A module."""
    return case() if isinstance(case, type) else Function(case)


@pytest.mark.parametrize("case", CASES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("dim", [Dim("n", min=1), Dim.AUTO], ids=["named", "auto"])
def test_both_ways_are_captured(case, dim):
    """At every size, with no guard."""
    module = made(case)
    program = monograph.export(
        module, (torch.randn(5, 4),), dynamic_shapes=({0: dim},), control_flow="capture_sizes"
    )
    assert "higher_order.cond" in str(program.graph)
    for form, make in made_forms(program):
        function = make()
        for n in SIZES if form == "as_module" else SIZES[::3]:
            with naming(form):
                for x in (torch.rand(n, 4), -torch.rand(n, 4)):
                    torch.testing.assert_close(function(x), module(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", [long_or_short, both_at_once], ids=lambda each: each.__name__)
def test_both_ways_by_default_where_that_costs_little(case):
    """Few operators more, and all sizes are right."""
    program = monograph.export(Function(case), (torch.randn(5, 4),), dynamic_shapes="x: n, 4")
    assert "cond" in str(program.graph)
    for size in SIZES:
        x = torch.randn(size, 4)
        torch.testing.assert_close(program.module()(x), case(x))


def many(x):
    """More branches than are recorded unasked."""
    for limit in range(10, 40, 3):
        x = x.sin() if x.shape[0] > limit else x.cos()
    return x


@pytest.mark.parametrize(
    ("case", "how"),
    [(long_or_short, {"control_flow": "refuse"}), (many, {})],
    ids=["asked", "many"],
)
def test_a_guard(case, how):
    """The example's way alone; other sizes are refused, never wrong."""
    module, x = Function(case), torch.randn(5, 4)
    program = monograph.export(module, (x,), dynamic_shapes=({0: Dim.AUTO},), **how)
    assert "cond" not in str(program.graph)
    torch.testing.assert_close(program.module()(torch.ones(8, 4)), case(torch.ones(8, 4)))
    with pytest.raises(monograph.ContractError):
        program.module()(torch.ones(11, 4))


@pytest.mark.parametrize("case", CASES[:3], ids=lambda each: each.__name__)
def test_fixed_sizes_do_not_fork(case):
    """They are known."""
    program = monograph.export(made(case), (torch.randn(5, 4),), control_flow="capture_sizes")
    assert "cond" not in str(program.graph)


def raises_when_short(x):
    """One way raises."""
    if x.shape[0] < 3:
        raise ValueError("too short")
    return x.sum(0)


def another_dtype(x):
    """The ways cannot be one."""
    if x.shape[0] < 3:
        return x.long()
    return x


def halves(x):
    """A loop on a size."""
    n = x.shape[0]
    while n > 2:
        n = n // 2
    return x * n


def two_where_odd(x):
    """The loop's guard, that the size is odd, leaves no call in which it is two."""
    for _ in range(2):
        n = 0
        while n < 3 and len(x) % 2 == 0:
            n += 1
        if len(x) == 2:
            continue
        x = x + 1
    return x


@pytest.mark.parametrize("case", [raises_when_short, another_dtype, halves, two_where_odd])
def test_where_both_ways_cannot_be_recorded_the_guard_stays(case):
    """As without asking for sizes."""
    module = Function(case)
    asked, plain = (
        monograph.export(
            module, (torch.randn(5, 4),), dynamic_shapes=({0: Dim.AUTO},), control_flow=each
        )
        for each in ("capture_sizes", "capture")
    )
    assert str(asked.graph) == str(plain.graph)
    for n in (1, 2, 3, 5, 8):
        x = torch.ones(n, 4)
        try:
            expected = plain.module()(x)
        except monograph.ContractError:
            with pytest.raises(monograph.ContractError):
                asked.module()(x)
            continue
        torch.testing.assert_close(asked.module()(x), expected)


def padded(x):
    """Padding that may be nothing, of what lies otherwise."""
    return nn.functional.pad((x * 1).t(), (0, (4 - x.shape[0] % 4) % 4))


def asks_how_it_lies(x):
    """Its layout depends on the size."""
    y = padded(x)
    return y if y.is_contiguous() else y + 1


def written_to(x):
    """What is a view of it depends on the size."""
    y = padded(x)
    z = y.reshape(-1)
    z.add_(1)
    return y


@pytest.mark.parametrize(
    ("case", "name"), [(asks_how_it_lies, "branch-decides"), (written_to, "write-after-branch")]
)
def test_what_a_size_leaves_in_doubt_is_refused(case, name):
    """Padding by nothing gives another layout than padding."""
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(
            Function(case),
            (torch.randn(5, 4),),
            dynamic_shapes=({0: Dim("n", min=1)},),
            control_flow="capture_sizes",
        )
    assert name in [each.diagnostic.name for each in caught.value.problems]


def square_on_one_side(x):
    """One side needs two sizes to be one."""
    if x.isnan().any():
        torch._check(x.shape[0] == x.shape[1])
        return x * 2
    return x.new_ones(x.shape) + x.view(x.shape)


@pytest.mark.parametrize("strict", [True, False])
def test_lowered_sides_know_nothing_of_each_other(strict):
    """What one learns of a size of an input is put into no other's computation of it."""
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}}
    module = Function(square_on_one_side)
    program = monograph.export(module, (torch.rand(3, 3),), dynamic_shapes=shapes, strict=strict)
    lowered = program.run_decompositions().module()
    for sizes in ((3, 3), (5, 3), (2, 4)):
        x = torch.rand(sizes)
        torch.testing.assert_close(lowered(x), square_on_one_side(x))
