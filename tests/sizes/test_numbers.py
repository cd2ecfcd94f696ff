"""Ints and floats as inputs: the program agrees with eager at other values, or refuses them."""

import math

import pytest
import torch

from monograph import ConstraintViolation, ContractError, Dim, MonographError, export
from monograph.program.signature import SymFloatArgument, SymIntArgument

D = Dim.DYNAMIC


def module_of(function):
    """A module whose forward is this function."""

    class Model(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Model()


def agree(function, example, spec, others):
    """Export, call at other values; say which were refused."""
    model = module_of(function)
    module = export(model, example, dynamic_shapes=(spec,)).module()
    verdicts = []
    for inputs in [example, *others]:
        try:
            expected = model(*inputs)
        except Exception:  # noqa: BLE001  (whatever eager raises, the program must raise)
            with pytest.raises(Exception):  # noqa: B017
                module(*inputs)
            verdicts.append("raises")
            continue
        try:
            actual = module(*inputs)
        except ContractError:
            verdicts.append("refused")
            continue
        same(expected, actual)
        verdicts.append("agrees")
    return verdicts


def same(expected, actual):
    """Equal to the bit, NaN included."""
    if isinstance(expected, tuple):
        for mine, theirs in zip(expected, actual, strict=True):
            same(mine, theirs)
    elif isinstance(expected, torch.Tensor):
        assert expected.dtype == actual.dtype
        assert torch.equal(expected.nan_to_num(7.5), actual.nan_to_num(7.5))
    else:
        assert type(expected) is type(actual)
        assert expected == actual or (math.isnan(expected) and math.isnan(actual))


X = torch.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x * n + n,
        lambda x, n: (x + n, n * 2 - 1, n // 2),
        lambda x, n: x.float() ** n,
        lambda x, n: torch.full((2,), n) + x[0, :2],
        lambda x, n: x * (n / 2),
        lambda x, n: x if n > 0 else -x,
        lambda x, n: torch.tensor([n, 2 * n]) + x[0, :2],
        lambda x, n: x.clamp(max=n),
        lambda x, n: (n, x + max(n, 2)),
    ],
)
@pytest.mark.parametrize("example", [3, 1, 0, -2])
def test_an_int_in_arithmetic(function, example):
    """It may be anything that takes the same branches."""
    verdicts = agree(function, (X, example), (None, D), [(X, n) for n in (5, 2, 1, 0, -1, -7)])
    assert verdicts[0] == "agrees"
    assert "agrees" in verdicts[1:]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x[:n] * 2,
        lambda x, n: x[n:] + 1,
        lambda x, n: x.narrow(1, 1, n),
        lambda x, n: x.new_zeros(n, n) + n,
        lambda x, n: torch.arange(n) + 1,
        lambda x, n: x.repeat(n, 1),
        lambda x, n: x[0].expand(n, 6),
        lambda x, n: x.sum(0).unsqueeze(0).expand(n, -1).reshape(-1),
    ],
)
@pytest.mark.parametrize("example", [3, 2])
def test_an_int_as_a_size(function, example):
    """Within what the operator takes."""
    verdicts = agree(function, (X, example), (None, D), [(X, n) for n in (4, 3, 2, 1, 0, -1, 9)])
    assert verdicts[0] == "agrees"
    assert verdicts.count("agrees") >= 3


def test_an_int_that_is_a_size_of_a_tensor():
    """One name, one value: checked."""
    n = Dim("n")

    def scaled(x, length):
        return x.sum(0) / length + x[:length].sum(0)

    others = [(torch.randn(7, 6), 7), (torch.randn(7, 6), 6), (torch.randn(2, 6), 2)]
    verdicts = agree(scaled, (X, 4), ((n, None), n), others)
    assert verdicts == ["agrees", "agrees", "refused", "agrees"]


def test_an_int_that_is_a_multiple():
    """`2*n + 1` of a size."""
    n = Dim("n")
    others = [(torch.randn(5, 6), 11), (torch.randn(5, 6), 10)]
    verdicts = agree(lambda x, k: x * k, (X, 9), ((n, None), 2 * n + 1), others)
    assert verdicts == ["agrees", "agrees", "refused"]
    verdicts = agree(lambda x, k: x * k, (X, 9), (None, 2 * n + 1), [(X, 11), (X, 10)])
    assert verdicts == ["agrees", "agrees", "refused"]


def test_an_int_has_its_declared_range():
    """Checked at every call."""
    others = [(X, 5), (X, 6), (X, -4), (X, -5)]
    verdicts = agree(lambda x, n: x * n, (X, 3), (None, D(min=-4, max=5)), others)
    assert verdicts == ["agrees", "agrees", "refused", "agrees", "refused"]


def test_branches_on_an_int_go_both_ways():
    """A chain of them."""

    def classified(x, n):
        if n % 2 == 0:
            return x + n
        return x - n if n > 2 else x * n

    verdicts = agree(classified, (X, 3), (None, D), [(X, n) for n in (5, 4, 1, -1)])
    assert verdicts == ["agrees"] * 5


def test_an_int_that_the_model_fixes():
    """DYNAMIC and named are violations; AUTO becomes constant, and is checked."""

    def counted(x, n):
        for factor in [2, 3, 4, 5, 6][:n]:
            x = x + factor
        return x

    for entry in (D, Dim("n")):
        with pytest.raises(ConstraintViolation) as refused:
            export(module_of(counted), (X, 3), dynamic_shapes=((None, entry),))
        assert refused.value.diagnostic.name == "dim-specialised"
    verdicts = agree(counted, (X, 3), (None, Dim.AUTO), [(X, 4), (X, 2)])
    assert verdicts == ["agrees", "refused", "refused"]


def test_only_an_int_is_an_int():
    """A bool or a float is something else to a model."""
    others = [(X, True), (X, 4.0), (X, torch.tensor(4)), (X, None), (X, "4")]
    model = module_of(lambda x, n: x * n)
    module = export(model, (X, 3), dynamic_shapes=((None, D),)).module()
    for inputs in others:
        with pytest.raises(ContractError, match="an int"):
            module(*inputs)


FLOATS = (2.5, 0.5, 0.0, -0.0, -3.25, 1e300, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: x * s,
        lambda x, s: (x + s, s, s * 2.0, -s, s / 3.0),
        lambda x, s: x * (s * 2.0 + 1.0) - s,
        lambda x, s: torch.add(x, x, alpha=s),
        lambda x, s: torch.full((3,), s),
        lambda x, s: x.clamp(min=s),
        lambda x, s: x * abs(s),
        lambda x, s: (x * (s // 0.1), s % 0.3, 7 // (s * s + 0.1), -0.7 % (abs(s) + 0.1)),
        lambda x, s: x.shape[0] // (abs(s) + 0.1) + x,
        lambda x, s: x * max(s, 0.2) + min(x.shape[0], s),
        lambda x, s: x * (s * s + 1.0) ** 0.5,
        lambda x, s: x * torch.sym_max(s, 0.7) + torch.sym_min(s, 0.7),
        lambda x, s: x * x.shape[0] * s,
        lambda x, s: x if s > 1.0 else x * s,
        lambda x, s: torch.where(x > s, x, s),
        lambda x, s: x.masked_fill(x > 3, s),
    ],
)
@pytest.mark.parametrize("example", [1.5, 0.25])
def test_a_float(function, example):
    """It may be anything that takes the same branches, NaN and infinities included."""
    verdicts = agree(function, (X, example), (None, D), [(X, s) for s in FLOATS])
    assert verdicts[0] == "agrees"
    assert "agrees" in verdicts[1:]


def test_branches_on_a_float_go_both_ways():
    """NaN takes the side it takes in Python."""

    def gated(x, s):
        return x * s if s > 0.25 else x - s

    verdicts = agree(gated, (X, 0.5), (None, D), [(X, s) for s in (0.3, 0.25, -1.0, math.nan)])
    assert verdicts == ["agrees"] * 5
    verdicts = agree(gated, (X, 0.1), (None, D), [(X, s) for s in (0.3, 0.25, -1.0, math.nan)])
    assert verdicts == ["agrees"] * 5


def test_a_float_that_becomes_a_size():
    """By rounding, where the program can follow it."""

    def first(x, share):
        return x[: int(x.shape[0] * share)]

    verdicts = agree(first, (X, 0.5), (None, Dim.AUTO), [(X, s) for s in (0.75, 0.25, 1.0)])
    assert verdicts[0] == "agrees"


def test_a_float_that_the_model_fixes():
    """DYNAMIC is a violation; AUTO becomes constant, zeros with their sign."""

    def formatted(x, s):
        return x * len(f"{s:.1f}")

    with pytest.raises(ConstraintViolation) as refused:
        export(module_of(formatted), (X, 0.5), dynamic_shapes=((None, D),))
    assert refused.value.diagnostic.name == "dim-specialised"
    verdicts = agree(formatted, (X, 0.5), (None, Dim.AUTO), [(X, 0.25)])
    assert verdicts == ["agrees", "refused"]
    verdicts = agree(lambda x, s: x * s.__float__(), (X, 0.0), (None, Dim.AUTO), [(X, -0.0)])
    assert verdicts == ["agrees", "refused"]
    with pytest.raises(MonographError):
        agree(lambda x, s: x * s.__float__(), (X, math.nan), (None, Dim.AUTO), [])


def test_a_float_has_its_declared_range():
    """Checked at every call."""
    others = [(X, 1.0), (X, 1.5), (X, 0.0), (X, -0.5), (X, math.nan)]
    verdicts = agree(lambda x, s: x * s, (X, 0.5), (None, D(min=0, max=1)), others)
    assert verdicts == ["agrees", "agrees", "refused", "agrees", "refused", "refused"]


def test_only_a_float_is_a_float():
    """An int gives other dtypes."""
    model = module_of(lambda x, s: x * s)
    module = export(model, (X, 0.5), dynamic_shapes=((None, D),)).module()
    for other in (2, True, None, torch.tensor(0.5)):
        with pytest.raises(ContractError, match="a float"):
            module(X, other)


def test_the_signature_and_the_contract_tell():
    """Which inputs are numbers, and what is asked of them."""

    class Scale(torch.nn.Module):
        def forward(self, x, n, s):
            return x[:n] * s if s > 0.25 else x

    shapes = {"n": D(max=9), "s": D}
    program = export(Scale(), (X, 3, 0.5), dynamic_shapes=shapes, control_flow="refuse")
    kinds = [type(spec.arg) for spec in program.graph_signature.input_specs]
    assert kinds[1:] == [SymIntArgument, SymFloatArgument]
    assert (
        str(program.contract).split()
        == (
            "inputs x f32[4, 6] cpu n int n s float s ranges n 0 … 9 relations"
            " s > 0.25 test_numbers.py:LINE n >= 0 test_numbers.py:LINE"
            " modes and flags torch.get_default_dtype() f32 test_numbers.py:LINE"
        )
        .replace("LINE", str(Scale.forward.__code__.co_firstlineno + 1))
        .split()
    )
