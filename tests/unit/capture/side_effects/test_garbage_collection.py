"""Objects made since a moment, whatever collections run meanwhile."""

from __future__ import annotations

import gc

import pytest

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
