"""`torch._check` while a program is captured."""

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


def module(forward):
    """A module that calls a function."""
    return type("M", (nn.Module,), {"forward": staticmethod(forward)})()


def test_a_check_that_fails_for_the_example_is_the_users_error():
    """Nothing was learnt about data: eager raises the same."""

    def forward(x):
        torch._check_value(x.dim() == 3, lambda: "three dimensions")
        return x

    with pytest.raises(ValueError, match="three dimensions"):
        monograph.export(module(forward), (torch.randn(2),))


@pytest.mark.parametrize(
    "second", [lambda n: n == 3, lambda n: n > 2, lambda n: n % 2 == 1, lambda n: n * n > 5]
)
def test_contradictions_are_found_at_capture(second):
    """No number is 2 and satisfies the second check."""

    def forward(x, n):
        a = n.item()
        torch._check(a == 2)
        torch._check(second(a))
        return x * a

    with pytest.raises(MonographError) as raised:
        monograph.export(module(forward), (torch.randn(2), torch.tensor(2)))
    assert raised.value.diagnostic.name == "check-fails"
    assert "torch._check(second(a))" in str(raised.value)


def test_floats_are_checked_at_run_time():
    """An assumption about a float that a tensor holds is asserted."""

    def forward(x):
        s = x.sum().item()
        torch._check(s > 0)
        return x * s

    run = monograph.export(module(forward), (torch.ones(2),)).module()
    assert torch.equal(run(torch.ones(2)), 2 * torch.ones(2))
    with pytest.raises(RuntimeError, match="does not hold"):
        run(-torch.ones(2))


def test_torch_is_as_before():
    """Nothing stays behind."""
    before = torch._check_with
    monograph.export(module(lambda x: x + 1), (torch.ones(2),))
    assert torch._check_with is before
