"""Bytecode of CPython 3.13 becomes canonical instructions, asked of a Python 3.13."""

import pytest

from tests.python.pythons import ask, executable

pytestmark = pytest.mark.skipif(executable("3.13") is None, reason="there is no Python 3.13 here")


def body(source):
    """Decode the function of a text there: its instructions as names and arguments."""
    return [tuple(one) for one in ask("3.13", "instructions", source)["body"]]


def test_the_null_stands_below_the_callee():
    """Locals and globals are called alike, as in older versions."""
    read = body("def f(g):\n    return g(h(1))")
    assert read[:5] == [
        ("LOAD_FAST", "0"),
        ("PUSH_NULL", "None"),
        ("SWAP", "2"),
        ("PUSH_NULL", "None"),
        ("LOAD_GLOBAL", "h"),
    ]


def test_questions_are_left_to_the_jump():
    """A value goes to its jump as it is; elsewhere a bool is made."""
    read = body("def f(x, y):\n    if x and not y or x < y:\n        return 1\n    return not x")
    assert "TO_BOOL" not in [name for name, _ in read]
    assert ("COMPARE_OP", "<") in read
    assert ("UNARY_NOT", "None") in read


def test_pairs_are_split():
    """Fused loads and stores are two instructions."""
    read = body("def f(a, b):\n    c, d = b, a\n    e = c\n    return e, d")
    assert [one for one in read if "FAST" in one[0]][:4] == [
        ("LOAD_FAST", "1"),
        ("LOAD_FAST", "0"),
        ("STORE_FAST", "3"),
        ("STORE_FAST", "2"),
    ] or ("SWAP", "2") in read
    assert all(name in {"LOAD_FAST", "STORE_FAST"} for name, _ in read if "FAST" in name)


def test_cells_are_loaded_as_closures():
    """A cell or a free variable on its way into a closure is no variable that is read."""
    read = body("def f(a):\n    b = 1\n    def g():\n        return a, b\n    return g")
    loads = [one for one in read if one[0] in {"LOAD_CLOSURE", "LOAD_FAST"}]
    assert ("LOAD_CLOSURE", "2") in loads
    assert ("MAKE_FUNCTION", "8") in read


def test_keywords_are_on_the_stack():
    """A call with names finds them on top."""
    read = body("def f(g):\n    return g(1, a=2)")
    assert read[-3:] == [("LOAD_CONST", "('a',)"), ("CALL_KW", "2"), ("RETURN_VALUE", "None")]


def test_text_is_converted_then_formatted():
    """The three instructions of f-strings."""
    read = body("def f(x):\n    return f'{x!r:>5}{x}'")
    assert ("CONVERT_VALUE", "r") in read
    assert [name for name, _ in read if name.startswith("FORMAT")] == [
        "FORMAT_WITH_SPEC",
        "FORMAT_SIMPLE",
    ]


def test_an_ended_loop_goes_behind_its_pop():
    """The loop's exit is what follows the loop, and nothing pops the iterator twice."""
    read = body("def f(x):\n    for i in x:\n        pass\n    return 7")
    (ends,) = [int(argument) for name, argument in read if name == "FOR_ITER"]
    assert read[ends] == ("LOAD_CONST", "7")
    assert ("POP_TOP", "None") not in read
