"""Code units are read with their prefixes and caches, then by a table."""

import opcode

import pytest

from monograph.bytecode.decoding import RUNNING
from monograph.bytecode.decoding.tables import (
    At,
    constant,
    dropped,
    fixed,
    flag,
    jump,
    jump_back,
    name,
    number,
    plain,
    translate,
    units,
)

HERE = pytest.mark.skipif(RUNNING != (3, 11), reason="the expected text is of Python 3.11")


def spelled(*pairs):
    """Write code units."""
    return bytes(byte for said, argument in pairs for byte in (opcode.opmap[said], argument))


def test_prefixes_are_folded():
    """Up to three prefixes make an argument of four bytes."""
    prefixes = [("EXTENDED_ARG", 1), ("EXTENDED_ARG", 2), ("EXTENDED_ARG", 3)]
    read = units(spelled(("NOP", 0), *prefixes, ("LOAD_CONST", 4)))
    assert [unit[:3] for unit in read] == [("NOP", 0, 0), ("LOAD_CONST", 0x01020304, 8)]


def test_a_prefix_of_zero_is_no_instruction():
    """An EXTENDED_ARG whose byte is zero is still only a prefix."""
    read = units(spelled(("EXTENDED_ARG", 0), ("LOAD_CONST", 5), ("NOP", 0)))
    assert [unit[:2] for unit in read] == [("LOAD_CONST", 5), ("NOP", 0)]


def test_jumps_count_from_behind_the_caches():
    """`after` skips the caches of an instruction, and only its own."""
    read = units(spelled(("NOP", 0), ("COMPARE_OP", 2), ("CACHE", 0), ("CACHE", 0), ("NOP", 0)))
    assert [unit.after for unit in read] == [1, 4, 5]


def readings(code, reading, *pairs):
    """Apply a reading to the last of some instructions."""
    read = units(spelled(*pairs))
    return list(reading(At(code, read, len(read) - 1)))


def test_readings_resolve_what_they_say():
    """Each shared reading takes its argument from where it should."""

    def code(a):
        return a.attribute + 12345

    code = code.__code__
    assert readings(code, plain, ("NOP", 7)) == [("NOP", None)]
    assert readings(code, number, ("COPY", 7)) == [("COPY", 7)]
    assert readings(code, flag, ("IS_OP", 1)) == [("IS_OP", True)]
    assert readings(code, name, ("STORE_ATTR", 0)) == [("STORE_ATTR", "attribute")]
    at = code.co_consts.index(12345)
    assert readings(code, constant, ("LOAD_CONST", at)) == [("LOAD_CONST", 12345)]
    assert readings(code, dropped, ("NOP", 0)) == []
    assert readings(code, fixed(("A", 1), ("B", 2)), ("NOP", 0)) == [("A", 1), ("B", 2)]
    assert readings(code, jump("JUMP"), ("NOP", 0), ("JUMP_FORWARD", 3)) == [("JUMP", 5)]
    assert readings(code, jump_back, ("NOP", 0), ("JUMP_BACKWARD", 2)) == [("JUMP", 0)]


def test_neighbours_at_the_ends():
    """The first instruction has none before it, the last none after."""
    read = units(spelled(("NOP", 0), ("POP_TOP", 0)))
    first, last = At(None, read, 0), At(None, read, 1)
    assert (first.before, first.before_is, first.next_is) == (None, "", "POP_TOP")
    assert (last.before, last.before_is, last.next_is) == (read[0], "NOP", "")


@HERE
def test_jumps_become_indexes_and_unknown_instructions_are_refused():
    """A jump to something dropped goes to what follows it; a hole in the table has a name."""

    def f(x):
        return x

    code = f.__code__.replace(
        co_code=spelled(("LOAD_FAST", 0), ("JUMP_FORWARD", 1), ("NOP", 0), ("RESUME", 0))
        + spelled(("RETURN_VALUE", 0))
    )
    table = {
        "LOAD_FAST": number,
        "JUMP_FORWARD": jump("JUMP"),
        "NOP": dropped,
        "RESUME": dropped,
        "RETURN_VALUE": plain,
    }
    body = translate(code, table).body
    assert body == (("LOAD_FAST", 0, 0), ("JUMP", 2, 2), ("RETURN_VALUE", None, 8))
    del table["RESUME"]
    with pytest.raises(NotImplementedError, match="RESUME"):
        translate(code, table)
