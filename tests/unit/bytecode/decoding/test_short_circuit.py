"""`and`, `or` and chained comparisons are one jump that keeps what it asked, in every version."""

import itertools

import pytest

from monograph.bytecode import interpret
from monograph.bytecode.decoding import decode
from monograph.bytecode.decoding.short_circuit import has_target, with_short_circuits
from monograph.bytecode.instructions import JUMPS, Instruction, Instructions
from tests.python.depths import complaints


def either(a, b):
    """Keep the first that holds."""
    return a or b


def both(a, b):
    """Keep the first that does not."""
    return a and b


def chained(a, b):
    """Ask the middle twice."""
    return 0 < a < b


def mixed(a, b):
    """One within another, within a handler."""
    try:
        return (a and b) or [each and b for each in (a, b)]
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("function", "jump"),
    [
        (either, "JUMP_IF_TRUE_OR_POP"),
        (both, "JUMP_IF_FALSE_OR_POP"),
        (chained, "JUMP_IF_FALSE_OR_POP"),
        (mixed, "JUMP_IF_TRUE_OR_POP"),
    ],
)
def test_what_is_asked_is_kept_by_one_jump(function, jump):
    """No copy of it is asked, and results are those of Python."""
    decoded = decode(function.__code__)
    names = [step.name for step in decoded.body]
    assert jump in names
    assert ("COPY", "POP_JUMP_IF_TRUE") not in itertools.pairwise(names)
    assert complaints(decoded, JUMPS) == []
    for a, b in ((0, 1), (1, 0), (2, 3), (3, 2), (0, 0), (1, 5)):
        assert interpret(function, a, b) == function(a, b)


def code_of(*steps):
    """Make code of instructions, as 3.12 writes them."""
    body = tuple(Instruction(*step, 2 * at) for at, step in enumerate(steps))
    return Instructions(either.__code__, body, (None,) * len(body), ("a", "b"))


def test_what_something_else_jumps_into_stays_as_it_is():
    """A jump to the pop in the middle would lead nowhere."""
    steps = [
        ("LOAD_FAST", 0),
        ("COPY", 1),
        ("POP_JUMP_IF_TRUE", 5),
        ("POP_TOP", None),
        ("LOAD_FAST", 1),
        ("RETURN_VALUE", None),
    ]
    fused = with_short_circuits(code_of(*steps))
    assert [step.name for step in fused.body][1] == "JUMP_IF_TRUE_OR_POP"
    assert fused.body[1].argument == 3
    assert [has_target(step) for step in fused.body] == [False, True, False, False]
    entered = code_of(*steps, ("JUMP", 3))
    assert with_short_circuits(entered) == entered
