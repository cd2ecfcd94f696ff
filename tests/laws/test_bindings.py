"""Each function that stands for an overload dispatches that overload, with the same arguments."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from monograph.host.fast_calls import bindings
from tests.laws.rule_check import is_composite, load_rules, op_samples, own_samples

pytestmark = pytest.mark.laws


class Dispatched(Exception):  # noqa: N818 - it says what happened, and nothing is wrong
    """The first operator that a call dispatches, which does not run."""


class Catch(TorchDispatchMode):
    """Stops a call at its first operator."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise Dispatched(func, arguments(func, args, kwargs or {}))


class Compare(TorchDispatchMode):
    """Calls the function in place of each overload that it stands for, and sees what arrives."""

    def __init__(self):
        super().__init__()
        self.seen, self.wrong = Counter(), set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in bindings():
            self.seen[func] += 1
            self.compare(func, args, kwargs)
        if is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        return func(*args, **kwargs)

    def compare(self, func, args, kwargs):
        """Lists of numbers are given as tuples, as generated code does."""
        fixed = [tuple(x) if isinstance(x, list) and {*map(type, x)} <= {int} else x for x in args]
        try:
            with Catch():
                bindings()[func](*fixed, **kwargs)
        except Dispatched as found:
            target, given = found.args
            if target is func and all(map(same, given, arguments(func, args, kwargs))):
                return
        self.wrong.add(str(func))


def arguments(func, args, kwargs):
    """By the schema, with defaults."""
    given = iter(args)
    return [
        next(given, each.default_value)
        if not each.kwarg_only
        else kwargs.get(each.name, each.default_value)
        for each in func._schema.arguments
    ]


def same(one, other):
    """Whether two arguments are the same tensor, or equal numbers of one type."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor) and one is not other:  # a number that was wrapped
        return one.dtype == other.dtype and one.dim() == 0 and torch.equal(one, other)
    return one is other or (type(one) is type(other) and repr(one) == repr(other))


def own():
    """Calls that no sample of PyTorch makes."""
    x, at = torch.randn(3, 4), torch.tensor([1])
    names = (
        "relu_",
        "exp_",
        "sigmoid_",
        "tanh_",
        "zero_",
        "div_",
        "mul_",
        "add_",
        "sub_",
        "clamp_",
    )
    functions = ("silu_", "hardtanh_", "hardswish_", "leaky_relu_")
    two = {"div_", "mul_", "add_", "sub_", "clamp_"}
    for name in names:
        more = (2.5,) if name in two else ()
        yield lambda n=name, m=more: getattr(torch.ops.aten, n)(x, *m)
    for name in functions:
        yield lambda n=name: getattr(torch.ops.aten, n)(x)
    yield lambda: torch.ops.aten.index_copy_(x, 0, at, torch.randn(1, 4))


@pytest.mark.slow
def test_functions_dispatch_what_they_stand_for():
    """Over PyTorch's own samples, those of our rules, and a few more."""
    load_rules()
    compare = Compare()
    samples = [*own_samples(), *op_samples([torch.float32, torch.bool], 2)]
    calls = [*own(), *(call for _, call in samples)]
    for call in calls:
        try:
            with torch._C._AutoDispatchBelowADInplaceOrView(), compare:
                call()
        except Exception:  # noqa: BLE001 - torch's own samples; what was seen is counted
            continue
    assert not compare.wrong
    assert [str(each) for each in bindings() if not compare.seen[each]] == []


@pytest.mark.parametrize("number", [2, 2.5, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_numbers_in_place_of_tensors_promote_alike(dtype, number):
    """A number is no tensor to type promotion, in whatever way it comes."""
    x = torch.tensor([1, 4, 6]).to(dtype)
    taken = 0
    for overload, function in bindings().items():
        kinds = [str(each.type) for each in overload._schema.arguments if not each.kwarg_only]
        if kinds[:2] == ["Tensor", "Tensor"] and len(kinds) == 2:
            try:
                expected = overload(x.clone(), number)
            except (RuntimeError, TypeError):
                continue
            got = function(x.clone(), number)
            assert (got.dtype, got.tolist()) == (expected.dtype, expected.tolist()), overload
            taken += 1
    assert taken > 3
