"""What a capture was told about sizes is kept, and compared at others."""

import pytest
import torch

from monograph import Dim
from monograph.capture import Request, capture
from monograph.capture.size_probing.retracing import Different
from monograph.capture.size_probing.rule_replay import replayed


def captured(forward, *args, shapes):
    """One capture of a function, its sizes from 0 on."""
    module = type("Module", (torch.nn.Module,), {"forward": staticmethod(forward)})()
    return capture(Request(module, args, {}, dynamic_shapes=shapes, strict=False))


def at(found, **sizes):
    """The symbols of these Dims, with values."""
    names = {name: symbol for symbol, name in found.inputs.names.items()}
    return {names[name]: size for name, size in sizes.items()}


def test_what_was_told_holds_elsewhere():
    """Nothing was asked that one size answers otherwise."""
    found = captured(lambda x: x.relu() + 1, torch.randn(3, 2), shapes=({0: Dim("n")},))
    assert replayed(found, at(found, n=1)) == []
    assert replayed(found, at(found, n=0)) == []


def test_what_user_code_was_told_otherwise_needs_a_run():
    """Only Python knows what it does then."""
    found = captured(
        lambda x: x * 2 if x.shape[0] > 5 else x + 1,
        torch.randn(3, 2),
        shapes=({0: Dim("n", max=5)},),
    )
    assert replayed(found, at(found, n=1)) == []
    found = captured(
        lambda x: x * 2 if x.shape[0] > 5 else x + 1, torch.randn(3, 2), shapes=({0: Dim("n")},)
    )
    assert replayed(found, at(found, n=9)) is None


def test_a_rule_that_refuses_says_so():
    """At the line of its operator."""
    found = captured(lambda x: x[1] + 1, torch.randn(3, 2), shapes=({0: Dim("n")},))
    with pytest.raises(Different, match="is refused") as refused:
        replayed(found, at(found, n=1))
    assert refused.value.at[0].code.co_name == "<lambda>"


def test_a_rule_that_gives_something_else_says_so():
    """Another rank, for one."""
    found = captured(lambda x: x.squeeze(0) + 1, torch.randn(3, 2), shapes=({0: Dim("n")},))
    with pytest.raises(Different, match=r"another result of aten\.squeeze"):
        replayed(found, at(found, n=1))
    assert replayed(found, at(found, n=0)) == []
