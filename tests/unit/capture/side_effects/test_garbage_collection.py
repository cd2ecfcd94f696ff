"""Objects made since a moment, whatever collections run meanwhile."""

from __future__ import annotations

import gc

import pytest
import torch

import monograph
from monograph.capture.side_effects import garbage_collection
from monograph.capture.side_effects.garbage_collection import MadeSince, seeing_collections


class Made:
    """An object that the collector knows."""


@pytest.mark.parametrize("collects", ["never", "before", "while asked", "asked twice"])
def test_what_was_made_since_is_known_whenever_a_collection_runs(collects, monkeypatch):
    """Also in the one that listing generation 0 sets off."""
    young = garbage_collection._young
    before = Made()

    def collected_at_the_worst_moment() -> list[int]:
        gc.collect()  # as listing generation 0 may do
        return young()

    with seeing_collections():
        made = MadeSince()
        new = Made()
        if collects == "before":
            gc.collect()
        if collects in {"while asked", "asked twice"}:
            monkeypatch.setattr(garbage_collection, "_young", collected_at_the_worst_moment)
        for _ in range(2 if collects == "asked twice" else 1):
            found = made.among([before, new])
        assert found == {id(new)}
        assert made.includes(new)
        assert not made.includes(before)


class Output(dict):
    """A result that is filled by its own methods."""

    def __init__(self, value: torch.Tensor) -> None:
        self.fill("value", value)

    def fill(self, name: str, value: torch.Tensor) -> None:
        """Set both an item and an attribute, as transformers' results do."""
        self[name] = value
        setattr(self, name, value)
        assert any(each == name for each in self)


torch.utils._pytree.register_pytree_node(
    Output, lambda o: (list(o.values()), None), lambda values, _: Output(*values)
)


def filled_twice(x: torch.Tensor) -> Output:
    """The first is let go of when this ends."""
    inner = Output(x + 1)
    return Output(inner.value * 2)


HELD = Output(torch.ones(2))


def held_outside(x: torch.Tensor) -> Output:
    """Somebody sees what is written."""
    HELD.fill("value", x + 1)
    return HELD


class Calls(torch.nn.Module):
    """A module of a function."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Output:
        """Call it."""
        return self.function(x)


def test_results_that_nobody_else_holds_are_not_looked_for_among_all_young_objects(monkeypatch):
    """Two outputs are filled after they were met: no list of generation 0 is made for them."""
    listed = []
    young = garbage_collection._young
    monkeypatch.setattr(garbage_collection, "_young", lambda: listed.append(1) or young())
    gc.disable()  # a collection lists them, too
    try:
        program = monograph.export(Calls(filled_twice), (torch.ones(2),), strict=False)
    finally:
        gc.enable()
    assert not listed
    assert program.module()(torch.zeros(2))["value"].tolist() == [2.0, 2.0]


def test_a_result_that_somebody_else_holds_is_from_before():
    """What forward returns is no secret of its own then."""
    with pytest.raises(monograph.MonographError, match="write-outlives-call"):
        monograph.export(Calls(held_outside), (torch.ones(2),), strict=False)
