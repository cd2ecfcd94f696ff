"""Every operator and module of PyTorch's databases, lowered, agrees with eager or is refused.

What capture refuses or accepts at fewer sizes (`known.py`) is so for the lowered program as well;
the lists here are what lowering adds. Every program is lowered twice (`lowering.py`).
"""

import logging
from types import MappingProxyType

import pytest

from tests.laws.database import modules, operators
from tests.laws.exporting import AGREES, NARROW, REFUSED, SKIPPED, WRONG, judged
from tests.laws.known import NARROWER, REFUSED_BY
from tests.laws.lowering import LawBrokenError, hold, lowering

pytestmark = pytest.mark.laws

PARTS = 6
ENTRIES = {entry.name: entry for entry in [*operators(), *modules()]}

NOT_LOWERED: dict[str, str] = {
    # They replace the memory of a tensor that the caller holds.
    "resize_": "not-functional",
    "resize_as_": "not-functional",
}

NARROWER_LOWERED = {"linalg.matrix_rank": "the formula that PyTorch has asks which size is less"}


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def problems(names, table, *, dynamic, count=1):
    """What is wrong, fails, or is refused or narrow and on no list."""
    found = []
    for name in names:
        tally = judged(ENTRIES[name], count, lowering(table), dynamic=dynamic)
        for at, verdict in enumerate(tally.verdicts):
            refusals = (REFUSED_BY.get(name, "?"), NOT_LOWERED.get(name, "?"))
            known = (
                verdict.kind in {AGREES, SKIPPED}
                or (verdict.kind == REFUSED and verdict.why.startswith(refusals))
                or (verdict.kind == NARROW and name in NARROWER | NARROWER_LOWERED)
            )
            if not known:
                found.append(f"{name}[{at}] is {verdict.kind}: {verdict.why}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(
    ("table", "dynamic"), [("functional", False), ("core", False), ("core", True)]
)
def test_each_entry_lowered_agrees_with_eager(table, dynamic, part):
    """The first sample of each: right, in core operators, and lowered once for all."""
    found = problems(sorted(ENTRIES)[part::PARTS], table, dynamic=dynamic)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("table", ["functional", "core"])
@pytest.mark.parametrize("name", ["nn.BatchNorm2d[train]", "nn.functional.linear", "std"])
def test_some_entries_lowered_agree_with_eager(name, table):
    """A few of each kind, for every run."""
    assert not problems([name], table, dynamic=False, count=3)


@pytest.mark.parametrize("name", sorted(NOT_LOWERED))
def test_what_is_listed_is_not_lowered(name):
    """The list names nothing that is lowered by now."""
    tally = judged(ENTRIES[name], 3, lowering("core"), dynamic=False)
    assert tally.worst.kind == REFUSED, f"{name} is lowered: take it off the list"


def test_a_broken_law_is_found():
    """Operators that a table has a formula for must not be left, and writes neither."""
    sample = ENTRIES["nn.functional.linear"].samples(1)[0]
    exporter = lowering("functional")
    program = exporter.export(sample.build(), sample.args, sample.kwargs, None)

    class Mislabelled:
        graph_module, graph_signature = program.graph_module, program.graph_signature
        exceptions = MappingProxyType({"aten.linear.default": "it has no reason"})

    with pytest.raises(LawBrokenError, match="linear"):
        hold(Mislabelled(), table={"not": "empty"})
    assert judged(ENTRIES["nn.functional.linear"], 1, exporter, dynamic=False).worst.kind != WRONG
