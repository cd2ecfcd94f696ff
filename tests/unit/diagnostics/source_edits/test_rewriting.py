"""Edits are offered where they are sure to work, and nowhere else.

That those offered work is shown in tests/problems/test_repairs.py, by applying them.
"""

import linecache

import pytest

from monograph.diagnostics import Place
from monograph.diagnostics.source_edits.edits import Edit
from monograph.diagnostics.source_edits.rewriting import (
    condition_at,
    edits_of_branch,
    edits_of_comparison,
    edits_of_number,
)

FILE = "rewritten.py"


def at(source, part):
    """Make the source a file, and give the place of a part of it."""
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    before = source[: source.index(part)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
    return Place(FILE, line, line, column, column + len(part), "forward")


def titles(edits):
    """Give the first word after `to` or `if` of each title, for short."""
    return [edit.title for edit in edits]


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    while x.sum() > 0:\n        x = x - 1\n",
        "def f(x, a):\n    if a:\n        pass\n    elif x.sum() > 0:\n        x = x - 1\n",
        "def f(x):\n    return [y for y in (1, 2) if x.sum() > 0]\n",
        "def f(x):\n    return (lambda: x.sum() > 0)()\n",
        "def f(x):\n    if 1: y = 2 if x.sum() > 0 else 3\n",
        "def f(x):\n    if (1 and\n        x.sum() > 0):\n        x = 2\n",
        "if x.sum() > 0\n",
    ],
    ids=["while", "elif", "comprehension", "lambda", "one line", "several lines", "no python"],
)
def test_nothing_is_offered_where_it_would_not_do(source):
    """Not where a line before the statement is evaluated elsewhere, or the source is unclear."""
    assert edits_of_branch(at(source, "x.sum() > 0"), is_number=False) == ()


@pytest.mark.parametrize(
    "body",
    [
        "if x.sum() > 0:\n        y = x\n    return x",
        "if x.sum() > 0:\n        x = y\n        y = x\n    return x",
        "if x.sum() > 0:\n        x.add_(1)\n    return x",
        "if x.sum() > 0:\n        return None\n    return x",
        "if x.sum() > 0:\n        return x, x\n    return x",
        "if x.sum() > 0:\n        raise ValueError\n    return x",
    ],
    ids=["unbound", "order", "effect", "none", "structure", "raise"],
)
def test_where_is_offered_for_values_alone(body):
    """A branch that does anything but choose values is only told what may be stated."""
    edits = edits_of_branch(at(f"def f(x):\n    {body}\n", "x.sum() > 0"), is_number=False)
    assert titles(edits) == ["if it always holds, say so", "if it never holds, say so"]


def test_what_is_not_evaluated_first_is_not_moved():
    """The second operand of `and` is not asked unless the first holds."""
    where = at("def f(x, a):\n    if a and x.sum() > 0:\n        x = 2 * x\n", "x.sum() > 0")
    assert edits_of_branch(where, is_number=False) == ()


def test_names_are_new():
    """A name in use is not taken."""
    source = "def f(x):\n    holds = 1\n    return holds if x.sum() > 0 else None\n"
    edits = edits_of_branch(at(source, "x.sum() > 0"), is_number=False)
    assert edits[0].lines[0] == "    holds_2 = (x.sum() > 0).item()"


def test_the_condition_of_a_statement_is_found():
    """Python says only which statement it was; the condition stands in it."""
    source = "def f(x):\n    if not g(x):\n        return x\n"
    where = at(source, "if not g(x):\n        return x")
    where = Place(FILE, 2, 3, 4, 16, "f")
    assert condition_at(where) == "g(x)"


def test_comparisons_and_numbers():
    """Lines to insert say what stands there; a number that several things decide is left."""
    source = "def f(n, k):\n    if n > k:\n        pass\n    for i in range(n, k):\n        pass\n"
    lines = [edit.lines for edit in edits_of_comparison(at(source, "n > k"))]
    assert lines == [("    torch._check(n > k)",), ("    torch._check(torch.sym_not(n > k))",)]
    assert edits_of_number(at(source, "range(n, k)"), 3, is_tensor=False) == ()
    assert edits_of_comparison(at(source, "range(n, k)")) == ()


def test_edits_replace_lines():
    """Lines go in before a line, or in the place of some."""
    source = "a\nb\nc\n"
    assert Edit("t", "f", 2, 1, ("x",)).applied(source) == "a\nx\nb\nc\n"
    assert Edit("t", "f", 2, 3, ("x", "y")).applied(source) == "a\nx\ny\n"
    assert Edit("t", "f", 1, 1, ("    x", "      y")).shown() == "t:\nx\n  y"
