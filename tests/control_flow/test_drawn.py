"""Random branching programs agree with plain Python on inputs of all kinds, or are refused."""

import copy
import linecache

import pytest
import torch

import monograph
from tests.control_flow.drawn import drawn

CALLS = tuple(
    tuple(torch.randn(3, generator=torch.Generator().manual_seed(10 * n + k)) * 2 for k in (0, 1))
    for n in range(8)
)


def module_of(source: str, name: str) -> torch.nn.Module:
    """A module with this forward, whose lines messages can show."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"torch": torch}
    exec(compile(source, name, "exec"), names)
    return type("Drawn", (torch.nn.Module,), {"forward": names["forward"]})()


def clones(inputs):
    """Inputs that nobody else changes."""
    return tuple(each.clone() for each in inputs)


def judge(seed: int) -> str:
    """Whether a program was captured and agreed, or what it was refused for.

    Raises: AssertionError where it disagrees.
    """
    source = drawn(seed)
    module = module_of(source, f"<drawn {seed}>")
    eager = copy.deepcopy(module)
    try:
        program = monograph.export(module, clones(CALLS[0]), control_flow="capture").module()
    except monograph.MonographError as error:
        return min(each.diagnostic.name for each in error.problems)
    for inputs in CALLS:
        given, mine = clones(inputs), clones(inputs)
        expected, found = eager(*given), program(*mine)
        message = f"seed {seed}:\n{source}"
        torch.testing.assert_close(
            found, expected, equal_nan=True, msg=lambda m, t=message: f"{m}\n{t}"
        )
        torch.testing.assert_close(
            mine, given, equal_nan=True, msg=lambda m, t=message: f"{m}\n{t}"
        )
    return "agrees"


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_drawn_programs_agree_or_are_refused(first):
    """Ten at a time; most of what is refused says that a branch cannot be merged."""
    verdicts = [judge(seed) for seed in range(first, first + 10)]
    assert "agrees" in verdicts
    assert "bug" not in verdicts
