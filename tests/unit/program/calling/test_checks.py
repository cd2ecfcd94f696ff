"""The generated checks accept exactly what the contract says, and name everything that differs."""

import enum
import math
import time

import numpy as np
import pytest
import torch

import monograph
from monograph.diagnostics import BugError, ContractError
from monograph.integers import Facts, Guard, any_of, eq, ge, gt, maximum, to_float
from monograph.program import Contract, NumberClause, TensorClause, ValueClause, compile_checks
from monograph.program.calling.checks import same_value

F32 = torch.float32


class Level(enum.IntEnum):
    LOW = 3


def tensor(*shape, dtype=F32):
    """Zeros of a shape."""
    return torch.zeros(shape, dtype=dtype)


def clause(path, *shape, dtype=F32):
    """A float32 tensor of a shape on the CPU."""
    return TensorClause(path, dtype, "cpu", shape)


def said(contract, leaves):
    """The headline and causes of the refusal."""
    with pytest.raises(ContractError) as refused:
        compile_checks(contract)(leaves)
    diagnostic = refused.value.diagnostic
    return [diagnostic.headline, *(cause.label for cause in diagnostic.causes)]


VALUES = [
    None,
    True,
    False,
    0,
    3,
    Level.LOW,
    0.0,
    -0.0,
    2.5,
    math.nan,
    math.inf,
    -math.inf,
    complex(0.0, -0.0),
    complex(0.0, 0.0),
    "sum",
    b"sum",
    torch.float32,
    torch.device("cpu"),
    (1, 2),
]


@pytest.mark.parametrize("expected", VALUES, ids=repr)
@pytest.mark.parametrize("got", VALUES, ids=repr)
def test_constants_match_by_type_and_value(expected, got):
    """Every constant matches itself and no other, whichever types call themselves equal."""
    check = compile_checks(Contract(None, (ValueClause("v", expected),)))
    if expected is got:
        check([got])
        return
    with pytest.raises(ContractError):
        check([got])


def test_nan_is_nan():
    """Two NaNs are the same constant although they are not equal."""
    assert same_value(float("nan"), -float("nan"))


STATIC = Contract(None, (clause("x", 2, 3),))


@pytest.mark.parametrize(
    ("leaf", "headline"),
    [
        (tensor(2, 4), "`x.size()[1]` expected 3, got 4"),
        (tensor(2, 3, 1), "`x.dim()` expected 2, got 3"),
        (tensor(2, 3, dtype=torch.int64), "`x.dtype` expected torch.float32, got torch.int64"),
        (tensor(2, 3).to_sparse(), "`x.layout` expected torch.strided, got torch.sparse_coo"),
        (
            torch.empty(2, 3, device="meta"),
            "`x.device.type` expected cpu, got meta",
        ),
        (None, "`x` expected a tensor of shape [2, 3], got None"),
        (np.zeros((2, 3), "float32"), "`x` expected a tensor of shape [2, 3], got "),
    ],
)
def test_tensors_are_checked(leaf, headline):
    """Type, dtype, device, layout, rank and sizes; each has its own words."""
    assert said(STATIC, [leaf])[0].startswith(headline)


def test_accepts_what_fits():
    """Parameters and subclasses are tensors; a scalar tensor has no sizes to check."""
    compile_checks(STATIC)([tensor(2, 3)])
    compile_checks(STATIC)([torch.nn.Parameter(tensor(2, 3))])
    compile_checks(Contract(None, (clause("x"),)))([tensor()])
    compile_checks(Contract(None, ()))([])


def test_everything_that_differs_is_named():
    """A call with several mistakes hears of all of them at once."""
    contract = Contract(None, (clause("x", 2), clause("y", 3), ValueClause("k", 1)))
    headline, *more = said(contract, [tensor(1), tensor(4, dtype=torch.int32), 2])
    assert headline == "`x.size()[0]` expected 2, got 1, and 3 more differences"
    assert [each.split("`")[1] for each in more] == ["y.dtype", "y.size()[0]", "k"]


@pytest.fixture
def symbols():
    """Two sizes that differ between calls."""
    facts = Facts()
    return facts.symbol("s0", hint=4), facts.symbol("s1", hint=6)


def test_sizes_are_solved(symbols):
    """Symbols follow from sizes, wherever they stand alone or linearly; the rest is compared."""
    n, m = symbols
    contract = Contract(
        None,
        (clause("x", 2 * n + m), clause("y", 3 * m, 7), clause("z", n * m, n)),
        names={n: "n", m: "m"},
    )
    check = compile_checks(contract)
    check([tensor(11), tensor(15, 7), tensor(15, 3)])
    assert said(contract, [tensor(11), tensor(16, 7), tensor(15, 3)])[0].startswith(
        "`y.size()[0]` expected 3*m = 15, got 16"
    )
    # n = 3 and hence m = 6: two sizes do not fit that.
    headline, cause = said(contract, [tensor(12), tensor(15, 7), tensor(15, 3)])
    assert headline == "`y.size()[0]` expected 3*m = 18, got 15, and 1 more difference"
    assert cause == "`z.size()[0]` expected n*m = 18, got 15"
    assert said(contract, [tensor(11), tensor(15, 7), tensor(14, 3)])[0] == (
        "`z.size()[0]` expected n*m = 15, got 14"
    )


def test_equal_sizes_are_compared(symbols):
    """A symbol that two sizes share must be one value."""
    n, _ = symbols
    contract = Contract(None, (clause("x", n), clause("y", n)), names={n: "batch"})
    compile_checks(contract)([tensor(0), tensor(0)])
    assert said(contract, [tensor(2), tensor(3)])[0] == ("`y.size()[0]` expected batch = 2, got 3")


def test_ranges_are_checked(symbols):
    """Both ends of a range count; an open end does not."""
    n, m = symbols
    contract = Contract(None, (clause("x", n), clause("y", m)), ranges=((n, 2, 8), (m, 1, None)))
    check = compile_checks(contract)
    check([tensor(2), tensor(1)])
    check([tensor(8), tensor(1000)])
    assert said(contract, [tensor(1), tensor(1)])[0] == "`x.size()[0]` expected at least 2, got 1"
    assert said(contract, [tensor(9), tensor(1)])[0] == "`x.size()[0]` expected at most 8, got 9"
    assert said(contract, [tensor(2), tensor(0)])[0] == "`y.size()[0]` expected at least 1, got 0"


def test_a_broken_bound_is_said_once(symbols):
    """A guard that taught the range is named, with its line; the range where no guard is broken."""
    n, m = symbols
    guards = (Guard(ge(n, 5), None), Guard(eq(n % 2, 0), None), Guard(ge(n + m, 8), None))
    contract = Contract(
        None,
        (clause("x", n), clause("y", m)),
        guards,
        ranges=((n, 6, 8), (m, 1, None)),
        names={n: "n", m: "m"},
    )
    assert said(contract, [tensor(3), tensor(9)]) == [
        "`n >= 5` expected to hold, got n = 3, and 1 more difference",
        "`n % 2 == 0` expected to hold, got n = 3",
    ]
    assert said(contract, [tensor(10), tensor(9)]) == ["`x.size()[0]` expected at most 8, got 10"]
    assert said(contract, [tensor(6), tensor(0)]) == [
        "`y.size()[0]` expected at least 1, got 0, and 1 more difference",
        "`n + m >= 8` expected to hold, got m = 0, n = 6",
    ]


def test_sizes_that_the_export_fixed_are_to_be_declared():
    """All of them in one line, and only what can be declared so."""
    contract = Contract(
        None, (clause("x", 2, 3), clause("y", 4), clause("d['a']", 5), ValueClause("k", 1))
    )
    with pytest.raises(ContractError) as refused:
        compile_checks(contract)([tensor(2, 5), tensor(3), tensor(6), 2])
    (said_so,) = refused.value.diagnostic.helps
    assert said_so.endswith('dynamic_shapes = {"x": {1: Dim.AUTO}, "y": {0: Dim.AUTO}}')
    with pytest.raises(ContractError) as refused:
        compile_checks(contract)([tensor(2), tensor(4), tensor(5), 2])
    assert refused.value.diagnostic.helps == ()


def test_overlapping_inputs_are_named():
    """Both paths of a pair, and an input whose own elements share memory."""
    contract = Contract(
        None, (clause("x", 3), clause("y", 3), clause("z", 3)), apart=((0, 0), (0, 1))
    )
    room = tensor(5)
    compile_checks(contract)([room[:3], tensor(3), room[2:]])
    (headline,) = said(contract, [room[:3], room[2:], room[2:]])
    assert headline.startswith("`x` expected memory apart from `y`: one is written to before")
    assert said(contract, [tensor(1).expand(3), room[2:], room[2:]]) == [
        "`x` expected elements with memory of their own: they are written to, got strides (0,)"
    ]


def test_relations_are_checked(symbols):
    """Guards of every kind decide as their relations do."""
    n, m = symbols
    relations = [
        eq(m % n, 0),
        ge(m, n + 1),
        any_of(eq(n, 3), ge(n, 5)),
        gt(to_float(m) / 2.0, 1.0),
        gt(maximum(n, m), 3),
    ]
    contract = Contract(
        None,
        (clause("x", n), clause("y", m)),
        tuple(Guard(relation, None) for relation in relations),
        names={n: "n", m: "m"},
    )
    check = compile_checks(contract)
    for a in range(1, 8):
        for b in range(1, 20):
            fits = b % a == 0 and b > a and (a == 3 or a >= 5) and b > 2 and max(a, b) > 3
            try:
                check([tensor(a), tensor(b)])
            except ContractError:
                assert not fits
            else:
                assert fits
    assert said(contract, [tensor(3), tensor(4)])[0] == (
        "`n*(m//n) == m` expected to hold, got m = 4, n = 3"
    )


def test_a_zero_divisor_is_a_difference_not_a_crash(symbols):
    """Sizes at which a relation has no value are refused."""
    n, m = symbols
    contract = Contract(None, (clause("x", n), clause("y", m)), (Guard(eq(m % n, 0), None),))
    with pytest.raises(ContractError):
        compile_checks(contract)([tensor(0), tensor(4)])


def test_numbers_that_differ_between_calls(symbols):
    """An int input may determine a symbol; bools and floats are no ints."""
    n, _ = symbols
    contract = Contract(None, (NumberClause("k", n), clause("x", 2 * n)), ranges=((n, 1, None),))
    check = compile_checks(contract)
    check([3, tensor(6)])
    assert said(contract, [3, tensor(5)])[0].startswith("`x.size()[0]` expected 2*s0 = 6, got 5")
    assert said(contract, [True, tensor(2)])[0].startswith("`k` expected an int, got True")
    assert said(contract, [0, tensor(0)])[0].startswith("`k` expected at least 1, got 0")


def test_an_undetermined_symbol_is_our_mistake(symbols):
    """A contract whose sizes do not determine their symbols cannot be checked."""
    n, m = symbols
    with pytest.raises(BugError, match="does not determine"):
        compile_checks(Contract(None, (clause("x", n * m),)))
    with pytest.raises(BugError, match="do not determine"):
        compile_checks(Contract(None, (clause("x", n),), (Guard(ge(m, 3), None),)))


def test_the_wrong_number_of_leaves_is_refused():
    """The flat list is as long as the contract."""
    assert said(STATIC, [])[0] == "`forward` expected 1 flat inputs, got 0"


@pytest.mark.parametrize(("count", "most_us"), [(3, 15), (100, 60)])
def test_checking_is_cheap(count, most_us, symbols):
    """The fast path costs microseconds; twice the goal is allowed for a busy machine."""
    n, _ = symbols
    shapes = [(n, 3) if index % 2 else (4, 3) for index in range(count)]
    clauses = tuple(clause(f"x{index}", *shape) for index, shape in enumerate(shapes))
    check = compile_checks(Contract(None, clauses, (), ((n, 2, None),)))
    leaves = [tensor(4, 3)] * count
    times = []
    for _ in range(50):
        started = time.perf_counter()
        check(leaves)
        times.append(time.perf_counter() - started)
    assert min(times) * 1e6 < 2 * most_us


class Writes(torch.nn.Module):
    """Writes to an input, which another must not overlap."""

    def forward(self, x, y):
        """Copy."""
        return x.copy_(y)


def test_what_has_no_memory_of_one_piece_overlaps_nothing():
    """A sparse matrix is refused for its layout, where memory is compared besides."""
    pair = tensor(4, 3), tensor(4, 3)
    program = monograph.export(Writes(), pair).run_decompositions().module()
    with pytest.raises(ContractError, match=r"x\.layout"):
        program(*(each.to_sparse() for each in pair))
