"""Relations of sizes that are declared: assumed while capturing, checked at every call."""

import pytest
import torch

from monograph import ContractError, SpecError, export


class Attend(torch.nn.Module):
    """A cache that grows: keys are the past ones and the new ones."""

    def forward(self, new, past, mask):
        keys = torch.cat([past, new])
        return keys * mask if keys.shape[0] == mask.shape[0] else keys


LINE = "new: t, _; past: p, _; mask: kv, 1; kv == t + p"


def inputs(t, p, kv):
    """New keys, past keys, and a mask over both."""
    return torch.randn(t, 4), torch.randn(p, 4), torch.randn(kv, 1)


@pytest.mark.parametrize("example", [(3, 4, 7), (1, 4, 5), (2, 0, 2), (1, 1, 2)])
def test_a_relation_of_three_sizes(example):
    """No branch is guarded for what is declared already, and other calls are refused."""
    program = export(Attend(), inputs(*example), dynamic_shapes=LINE)
    module = program.module()
    for sizes in ((3, 4, 7), (1, 9, 10), (5, 2, 7), (1, 0, 1)):
        given = inputs(*sizes)
        assert torch.equal(module(*given), Attend()(*given))
    for sizes in ((3, 4, 8), (3, 4, 1)):
        with pytest.raises(ContractError, match="kv"):
            module(*inputs(*sizes))
    assert program.contract.guards[0].relation.kind == "eq"


def test_the_example_satisfies_what_is_declared():
    """Or the declaration is refused."""
    with pytest.raises(SpecError) as refused:
        export(Attend(), inputs(3, 4, 8), dynamic_shapes=LINE)
    assert refused.value.diagnostic.name == "spec-relation-fails"


def test_ranges_of_what_a_relation_determines_are_checked():
    """The range of a sum is no consequence of the ranges of its parts."""
    module = export(Attend(), inputs(3, 4, 7), dynamic_shapes=f"{LINE}; kv <= 9").module()
    module(*inputs(5, 4, 9))
    with pytest.raises(ContractError):
        module(*inputs(5, 5, 10))


def test_divisibility_is_used_and_checked():
    """A view that needs it is no question any more."""

    class Fold(torch.nn.Module):
        def forward(self, x):
            return x.view(-1, 8).sum(1)

    module = export(Fold(), (torch.randn(16),), dynamic_shapes="x: n; n % 8 == 0").module()
    x = torch.randn(40)
    assert torch.equal(module(x), Fold()(x))
    with pytest.raises(ContractError):
        module(torch.randn(41))


def test_a_relation_may_be_about_an_int():
    """As an argument that says how long the rest is."""

    class Take(torch.nn.Module):
        def forward(self, x, n, skip):
            return x[skip : skip + n] * n

    line = "x: total, _; n: n; skip: s; n + s <= total"
    module = export(Take(), (torch.randn(9, 2), 3, 4), dynamic_shapes=line).module()
    for size, n, skip in ((9, 3, 4), (12, 6, 6), (5, 2, 0)):
        x = torch.randn(size, 2)
        assert torch.equal(module(x, n, skip), Take()(x, n, skip))
    with pytest.raises(ContractError):
        module(torch.randn(9, 2), 6, 4)


@pytest.mark.parametrize(
    ("line", "accepted", "refused"),
    [
        ("x: b, s; y: b, s", (5, 7, 5, 7), (5, 7, 5, 6)),
        ("x: b, s; y: b, 2*s", (5, 7, 5, 14), (5, 7, 5, 7)),
        ("x: b, s; y: b, k; k == 2*s; s <= 9", (5, 9, 5, 18), (5, 10, 5, 20)),
        ("x: b, _; y: b, ...", (5, 3, 5, 6), (5, 4, 5, 6)),
    ],
)
def test_the_line_is_the_contract(line, accepted, refused):
    """Calls that satisfy the line are accepted, others are not."""

    class Twice(torch.nn.Module):
        def forward(self, x, y):
            return x * 2, y * 3

    wide = 3 if line == "x: b, s; y: b, s" else 6
    program = export(Twice(), (torch.ones(4, 3), torch.ones(4, wide)), dynamic_shapes=line)
    module = program.module()
    a, b, c, d = accepted
    module(torch.ones(a, b), torch.ones(c, d))
    a, b, c, d = refused
    with pytest.raises(ContractError):
        module(torch.ones(a, b), torch.ones(c, d))


def test_two_sizes_in_a_proportion():
    """`2*a == 3*b` says that `a` goes by threes and `b` by twos."""

    class Pairs(torch.nn.Module):
        def forward(self, x, y):
            return x.view(-1, 3).sum(1) + y.view(-1, 2).sum(1)

    shapes = "x: a; y: b; 2*a == 3*b"
    program = export(Pairs(), (torch.randn(6), torch.randn(4)), dynamic_shapes=shapes)
    assert [guard.relation for guard in program.guards] == ["2*x.shape[0] == 3*y.shape[0]"]
    module = program.module()
    for a, b in ((6, 4), (3, 2), (30, 20), (0, 0)):
        given = torch.randn(a), torch.randn(b)
        assert torch.equal(module(*given), Pairs()(*given))
    for a, b in ((6, 6), (3, 4), (1, 1)):
        with pytest.raises(ContractError):
            module(torch.randn(a), torch.randn(b))
