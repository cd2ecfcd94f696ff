"""Bytecode of CPython 3.12 becomes canonical instructions, asked of a Python 3.12."""

import pytest

from tests.python.pythons import ask, executable

pytestmark = pytest.mark.skipif(executable("3.12") is None, reason="there is no Python 3.12 here")


def body(source):
    """Decode the function of a text there: its instructions as names and arguments."""
    return [tuple(one) for one in ask("3.12", "instructions", source)["body"]]


def test_methods_comparisons_and_constants():
    """The bits beside a name, a comparison and a returned constant are taken apart."""
    read = body("def f(x):\n    if x.a >= x.m(1):\n        return 'c'")
    names = [one for one in read if one[0] in {"LOAD_ATTR", "LOAD_METHOD", "COMPARE_OP"}]
    assert names == [("LOAD_ATTR", "a"), ("LOAD_METHOD", "m"), ("COMPARE_OP", ">=")]
    assert read[-4:] == [
        ("LOAD_CONST", "c"),
        ("RETURN_VALUE", "None"),
        ("LOAD_CONST", "None"),
        ("RETURN_VALUE", "None"),
    ]


def test_keywords_belong_to_their_call():
    """Each call has its own names, and those without names have none."""
    read = body("def f(g):\n    return g(1, a=g(2), b=g(x=3))")
    calls = [one[1] for one in read if one[0] == "CALL"]
    assert calls == ["(1, ())", "(1, ('x',))", "(3, ('a', 'b'))"]


def test_an_ended_loop_goes_behind_its_end():
    """The loop's exit is what follows the loop, with the iterator gone."""
    read = body("def f(x):\n    for i in x:\n        pass\n    return 7")
    (ends,) = [int(argument) for name, argument in read if name == "FOR_ITER"]
    assert read[ends] == ("LOAD_CONST", "7")


def test_delegation_ends_behind_end_send():
    """SEND and the yield after it agree on where the result goes."""
    read = body("def f(x):\n    y = yield from x\n    yield 5\n    return y")
    (send,) = [argument for name, argument in read if name == "SEND"]
    assert read[int(send)][0] == "STORE_FAST"
    assert [argument for name, argument in read if name == "YIELD_VALUE"] == [send, "None"]
    assert read[0][0] == "LOAD_FAST"


def test_inlined_comprehensions_put_variables_aside():
    """The function's own variable is put aside and restored, also if the body raises."""
    told = ask("3.12", "instructions", "def f(x):\n    return [x / 2 for x in x]")
    names = [name for name, _ in told["body"]]
    assert names.count("LOAD_FAST_AND_CLEAR") == 1
    assert any(told["handlers"])
    assert told["slots"] == ["x"]


def test_super_is_one_instruction():
    """`super()` carries its operands on the stack, for attributes and for methods."""
    method = "    def g(self):\n        return super().m(1), super(A, self).a\n"
    source = f"class A:\n{method}f = A.__dict__['g']"
    read = [one for one in body(source) if one[0] == "LOAD_SUPER_ATTR"]
    assert [argument for _, argument in read] == ["('m', True, False)", "('a', False, True)"]


def test_type_parameters_are_intrinsics():
    """What only CPython can make is asked of CPython; what has a name of its own keeps it."""
    read = body(
        "def g():\n    def f[T: int](x: T): return (+x, *x)\n    type A[U] = U\n    return f"
    )
    assert not [one for one in read if one[0] == "TYPE_INTRINSIC"]  # they stand in inner scopes
    read = body("def f(x):\n    return +x, [*x, 1], (*x, 1)")
    assert {"UNARY_POSITIVE", "LIST_TO_TUPLE"} <= {name for name, _ in read}
