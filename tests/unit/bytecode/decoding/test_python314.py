"""Bytecode of CPython 3.14 becomes canonical instructions, asked of a Python 3.14."""

import pytest

from tests.python.pythons import ask, executable

pytestmark = pytest.mark.skipif(executable("3.14") is None, reason="there is no Python 3.14 here")


def body(source):
    """Decode the function of a text there: its instructions as names and arguments."""
    return [tuple(one) for one in ask("3.14", "instructions", source)["body"]]


def test_entering_a_with_is_one_instruction():
    """The exit has a NULL above it, as a callee has."""
    read = body("def f(a):\n    with a as b:\n        return b")
    assert read[:5] == [
        ("LOAD_FAST", "0"),
        ("BEFORE_WITH", "None"),
        ("PUSH_NULL", "None"),
        ("SWAP", "2"),
        ("STORE_FAST", "1"),
    ]
    assert ("WITH_EXCEPT_START", "5") in read


def test_all_of_a_generator_expression_is_a_call():
    """The loop that is written for the builtin is not taken: both give the same."""
    read = body("def f(a):\n    return all(x for x in a)")
    assert [name for name, _ in read[:2]] == ["LOAD_GLOBAL", "JUMP"]
    assert read[int(read[1][1])] == ("PUSH_NULL", "None")
    assert "IS_OP" not in [name for name, _ in read]


def test_items_small_integers_and_borrowed_loads():
    """What is only quicker is as before."""
    read = body("def f(a, b):\n    return a[1], b")
    assert read[:4] == [
        ("LOAD_FAST", "0"),
        ("LOAD_CONST", "1"),
        ("BINARY_SUBSCR", "None"),
        ("LOAD_FAST", "1"),
    ]


def test_calls_with_a_place_for_keywords():
    """The place is there, filled or not."""
    without = body("def f(g, a):\n    return g(*a)")
    assert ("CALL_FUNCTION_EX", "False") in without
    assert [name for name, _ in without].count("PUSH_NULL") == 1
    of_a_global = body("def f(g):\n    return g(*GIVEN)")
    assert of_a_global[-3:-1] == [("LOAD_GLOBAL", "GIVEN"), ("CALL_FUNCTION_EX", "False")]
    assert ("CALL_FUNCTION_EX", "True") in body("def f(g, a, k):\n    return g(*a, **k)")


def test_template_strings():
    """Interpolations have their source, and perhaps a conversion and a format."""
    read = body("def f(a):\n    return t'{a!r:>3} and {a}'")
    assert ("BUILD_INTERPOLATION", "('r', True)") in read
    assert ("BUILD_INTERPOLATION", "('', False)") in read
    assert ("BUILD_TEMPLATE", "None") in read


def test_annotations_are_functions():
    """They are carried like a closure."""
    assert ("MAKE_FUNCTION", "16") in body("def f():\n    def g(a: int): ...\n    return g")


def test_conditions_that_lead_to_a_pop_stay_nowhere():
    """`a and b or c` asks for `a` once."""
    read = body("def f(a, b, c):\n    return a and b or c")
    assert [name for name, _ in read] == [
        "LOAD_FAST",
        "POP_JUMP_IF_FALSE",
        "LOAD_FAST",
        "JUMP_IF_TRUE_OR_POP",
        "LOAD_FAST",
        "RETURN_VALUE",
    ]
