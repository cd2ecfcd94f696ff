"""A contract prints as a table, with the user's names and lines."""

import sys

import torch

from monograph.diagnostics import Frame
from monograph.integers import Facts, Guard, eq, ge
from monograph.program import Contract, NumberClause, TensorClause, ValueClause
from monograph.program.contract import range_text, spots


def test_a_contract_is_a_readable_table():
    """One row per input, then ranges, then relations with the line that asked."""
    facts = Facts()
    n, m = facts.symbol("s0", hint=4), facts.symbol("s1", hint=8)
    frame = sys._getframe()
    origin = (Frame(frame.f_code, frame.f_lasti, frame.f_lineno),)
    contract = Contract(
        None,
        (
            TensorClause("x", torch.float32, "cpu", (n, 4)),
            TensorClause("y[0]", torch.int64, "cuda", (m,)),
            NumberClause("offset", n),
            ValueClause("mode", "sum"),
        ),
        (Guard(eq(m, 2 * n), origin), Guard(ge(n, 3), None)),
        ((n, 2, None), (m, 1, 8)),
        {n: "batch", m: "y[0].shape[0]"},
    )
    assert str(contract).split("\n") == [
        "inputs",
        "    x       f32[batch, 4]       cpu",
        "    y[0]    i64[y[0].shape[0]]  cuda",
        "    offset  int                 batch",
        "    mode    always              'sum'",
        "ranges",
        "    batch          2 …",
        "    y[0].shape[0]  1 … 8",
        "relations",
        f"    2*batch == y[0].shape[0]  test_contract.py:{origin[0].line}",
        "    batch >= 3",
    ]


def test_origins_have_several_forms():
    """A guard's origin is a frame, several of them, or nothing."""
    frame = sys._getframe()
    one = Frame(frame.f_code, frame.f_lasti, frame.f_lineno)
    assert (spots(one), spots((one,)), spots(None)) == ((one,), (one,), ())
    assert range_text(0, 0) == "0 … 0"
