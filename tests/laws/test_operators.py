"""Every operator and module of PyTorch's databases is captured right, or refused by name.

`known.py` lists what is refused, and what is right at fewer sizes than eager accepts; whatever is
on no list agrees with eager: at the example and, with dynamic sizes, at others.
"""

import logging

import pytest
import torch

from monograph.host.versions import version
from tests.laws.database import modules, operators
from tests.laws.exporting import AGREES, ERROR, NARROW, REFUSED, SKIPPED, WRONG, judged, ours
from tests.laws.known import NARROWER, REFUSED_BY

pytestmark = pytest.mark.laws

PARTS = 6
ENTRIES = {entry.name: entry for entry in [*operators(), *modules()]}
NOT_HERE = {
    *("torch._scaled_mm", "torch._scaled_mm_v2", "nn.functional.batch_norm[without_cudnn]"),
    *("torch.ops.aten._efficient_attention_forward", "torch.ops.aten._flash_attention_forward"),
    *("jiterator_unary", "jiterator_binary", "jiterator_binary_return_by_ref"),
    *("jiterator_2inputs_2outputs", "jiterator_4inputs_with_extra_args"),
}
"""They need another device."""


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def problems(names, count, *, strict, dynamic):
    """What is wrong, fails, or is refused or narrow and not on a list; and what is not here."""
    found, skipped = [], set()
    for name in names:
        tally = judged(ENTRIES[name], count, ours(strict=strict), dynamic=dynamic)
        for at, verdict in enumerate(tally.verdicts):
            known = (
                verdict.kind in {AGREES, SKIPPED}
                or (verdict.kind == REFUSED and verdict.why.startswith(REFUSED_BY.get(name, "?")))
                or (verdict.kind == NARROW and name in NARROWER)
            )
            if not known:
                found.append(f"{name}[{at}] is {verdict.kind}: {verdict.why}")
        if tally.worst.kind == SKIPPED:
            skipped.add(name)
    return found, skipped


def part_of(part):
    """Every so many names, sorted."""
    return sorted(ENTRIES)[part::PARTS]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("strict", "dynamic"), [(False, False), (True, True)])
def test_each_entry_agrees_with_eager(part, strict, dynamic):
    """The first sample of each: plain with fixed sizes, interpreted with all sizes dynamic."""
    found, skipped = problems(part_of(part), 1, strict=strict, dynamic=dynamic)
    assert not found, "\n".join(found)
    assert skipped <= NOT_HERE


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_each_entry_agrees_with_eager_at_length(part, strict, dynamic):
    """Six samples of each, in every mode."""
    found, _ = problems(part_of(part), 6, strict=strict, dynamic=dynamic)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", sorted(REFUSED_BY))
def test_what_is_listed_is_refused(name):
    """The list of refusals names nothing that is captured by now."""
    tally = judged(ENTRIES[name], 6, ours(strict=True), dynamic=False)
    kinds = {verdict.kind for verdict in tally.verdicts}
    assert REFUSED in kinds, f"{name} is captured: take it off the list"


def test_lists_name_entries():
    """Each name on a list is an entry of a database."""
    gone: set[str] = set() if version() == "2.13" else {"cholesky"}
    assert set(REFUSED_BY) | set(NARROWER) | NOT_HERE <= set(ENTRIES) | gone


def test_differences_are_found():
    """An exporter that answers one more, or drops a result's stride, is told to be wrong."""
    sample = ENTRIES["add"].samples(1)[0]

    class Off(torch.nn.Module):
        def forward(self, *tensors):
            return sample.build()(*tensors) + 1

    class Program:
        def module(self):
            return Off()

    exporter = ours(strict=False)
    broken = type(exporter)("broken", lambda *_: Program(), exporter.auto, exporter.refusals)
    tally = judged(ENTRIES["add"], 1, broken, dynamic=False)
    assert tally.worst.kind == WRONG
    failing = type(exporter)("failing", lambda *_: 1 // 0, exporter.auto, exporter.refusals)
    assert judged(ENTRIES["add"], 1, failing, dynamic=False).worst.kind == ERROR
