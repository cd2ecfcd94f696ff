"""Every decoder, held against the standard library of its own Python."""

import pytest

from monograph.bytecode.decoding import decode
from monograph.bytecode.instructions import CANONICAL, JUMPS
from tests.python.depths import COUNTED, FIXED, complaints
from tests.python.pythons import VERSIONS, ask, executable

# Instructions that only some version writes, as a check that the sample is not trivial.
EXPECTED = {
    "3.11": {"CALL", "SEND", "UNPACK_EX", "LOAD_CLASSDEREF", "FORMAT_VALUE"},
    "3.12": {"CALL", "SEND", "END_SEND", "LOAD_FAST_AND_CLEAR", "LOAD_SUPER_ATTR"},
    "3.13": {"CALL_KW", "FORMAT_SIMPLE", "CONVERT_VALUE"},
    "3.14": {"CALL_KW", "FORMAT_WITH_SPEC", "BEFORE_WITH", "LOAD_ASSERTION_ERROR"},
}


def check(version, stride, at_least):
    """Decode a part of the library of a version."""
    if executable(version) is None:
        pytest.skip(f"there is no Python {version} here")
    told = ask(version, "decoding", stride)
    assert told["problems"] == []
    assert told["unknown"] == []
    assert told["count"] >= at_least
    assert set(told["names"]) >= EXPECTED[version]


@pytest.mark.parametrize("version", sorted(EXPECTED))
def test_stacks_of_the_library_add_up(version):
    """In a sample of the library each instruction has one depth and enough on the stack.

    Distributions of Linux leave the library's own tests out: half of it.
    """
    check(version, "17", 500)


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(EXPECTED))
def test_stacks_of_the_whole_library_add_up(version):
    """The same, for all of it and of its tests."""
    check(version, "1", 8_000)


def test_every_instruction_has_an_effect():
    """The table of stack effects is that of the canonical instructions."""
    assert set(FIXED) | set(COUNTED) == set(CANONICAL)
    assert not set(FIXED) & set(COUNTED)


def sample(items, default=None):
    """Give something of everything: a loop, a handler, a manager, a call."""
    for item in items:
        try:
            with item as value:
                default = value[1:] or default
        except ValueError:
            continue
    return default


def test_a_wrong_target_is_noticed():
    """An oracle that accepts jumps moved by one would prove nothing."""
    decoded = decode(sample.__code__)
    assert complaints(decoded, JUMPS) == []
    noticed = 0
    jumping = [i for i, one in enumerate(decoded.body) if one.name in JUMPS]
    for index in jumping:
        body = list(decoded.body)
        body[index] = body[index]._replace(argument=body[index].argument + 1)
        wrong = type(decoded)(decoded.code, tuple(body), decoded.handlers, decoded.slots)
        noticed += bool(complaints(wrong, JUMPS))
    assert noticed >= len(jumping) - 1


def test_a_wrong_depth_of_a_handler_is_noticed():
    """A handler that keeps one value more or less is found out."""
    decoded = decode(sample.__code__)
    for by in (-1, 1):
        moved = tuple(
            handler and handler._replace(depth=max(handler.depth + by, 0))
            for handler in decoded.handlers
        )
        wrong = type(decoded)(decoded.code, decoded.body, moved, decoded.slots)
        assert complaints(wrong, JUMPS)


def test_the_versions_are_known():
    """What the tests try is what has a decoder."""
    assert set(EXPECTED) <= set(VERSIONS)
