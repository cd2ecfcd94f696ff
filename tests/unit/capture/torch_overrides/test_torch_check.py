"""`torch._check` while a program is captured."""

import pytest
import torch
from torch import nn

import monograph
from monograph.capture.torch_overrides.lazy_messages import text_of_message
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


def message_of(forward, *args):
    """The text with which a check fails when a program runs on other numbers."""
    program = monograph.export(module(forward), (torch.ones(6, 4), torch.tensor(3)))
    with pytest.raises(RuntimeError) as raised:
        program.module()(*args)
    return str(raised.value)


LIMITS = {"most": 5, "names": ["few", "many"]}


def test_messages_reach_the_program():
    """Constant ones, and f-strings: numbers by where they come from, and their values after it."""

    def constant(x, n):
        torch._check(n.item() <= 5, lambda: "too many")
        return x

    def formatted(x, n):
        k = n.item()
        torch._check(k <= 5, lambda: f"{k} rows, {k + 1:>3} or {x.shape[0]!r} of {x.dtype}")
        return x

    def of_globals(x, n):
        k = n.item()
        torch._check(k <= 5, lambda: f"{k} of {LIMITS['most']} is {LIMITS['names'][1]}")
        return x

    args = (torch.ones(6, 4), torch.tensor(9))
    assert message_of(constant, *args).startswith("too many: `n.item() <= 5` does not hold")
    said = message_of(formatted, *args)
    assert said.startswith("k rows, k + 1 or 6 of torch.float32: `k <= 5`".replace("k", "n.item()"))
    assert said.endswith("`n.item()` is 9")
    assert message_of(of_globals, *args).startswith("n.item() of 5 is many: `n.item() <= 5`")


def test_messages_are_not_called():
    """Eager calls them only when the check fails: what they do besides is not done."""
    seen = []

    def forward(x, n):
        k = n.item()
        torch._check(k <= 5, lambda: f"{k} after {seen.append(k)}")
        return x

    said = message_of(forward, torch.ones(6, 4), torch.tensor(9))
    assert "`n.item() <= 5` does not hold" in said
    assert seen == []


class Odd:
    """Has an attribute that is computed."""

    plain = 7

    @property
    def computed(self):
        """What must not run."""
        raise AssertionError


ODD = Odd()


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (lambda: f"{ODD.plain}", "7"),
        (lambda: f"{ODD.computed}", ""),
        (lambda: f"{ODD}", ""),
        (lambda: f"{LIMITS['least']}", ""),
        (lambda: f"{LIMITS['most'] // 0}", ""),
        (lambda: f"{LIMITS['most'] * 2:03d}", "010"),
        (lambda: f"{LIMITS['most']:s}", ""),
        (lambda: f"{missing}", ""),  # noqa: F821
        (lambda: 7, ""),
        (lambda x="a": f"{x}", ""),
        (lambda: "a" if LIMITS else "b", ""),
        ("no function", ""),
    ],
)
def test_what_is_read_of_a_message(message, shown):
    """Only what looking tells."""
    assert text_of_message(message) == shown
