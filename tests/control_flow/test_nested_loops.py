"""Nested loops that are left: each kind of loop in each other, left in each way, beside eager."""

import itertools
import linecache

import pytest
import torch

import monograph

OUTER = {
    "list": "for e in [1, 2, 3]:",
    "iterator": "it = iter((1, 2, 3))\n    for e in it:",
    "enumerate": "for i, e in enumerate([4, 5]):",
    "while": "n = 0\n    while n < 3:\n        n += 1",
}
INNER = {
    "range": "for at in range(len(y)):",
    "rows": "for row in y:",
    "enumerate": "for at, row in enumerate(y):",
    "while": "k = torch.zeros(())\n        while k < y.sum():\n            k = k + 1",
}
LEFT = {
    "if plain": "if y.is_contiguous(): break",
    "if plain, else": "if y.is_contiguous(): break\n        else:\n            x = x * 2",
    "on data": "if y.sum() > 4: break",
    "else": "if y.sum() > 4: break\n        else:\n            x = x * 2",
    "else, more": "if y.sum() > 4: break\n        else:\n            x = x * 2\n        x = x - 1",
    "more": "if y.sum() > 100: break\n        x = x * 3",
    "always": "break",
    "return": "if y.sum() > 100: return x",
    "continue": "if y.sum() < 4: continue\n            x = x * 2",
}
RARE = ("iterator", "enumerate", "while")
WRITTEN = {"new": "x = x + 1", "in place": "x.add_(1)"}

SOURCE = """def forward(self, x, y):
    x = x * 1
    {outer}
        {written}
        {inner}
            x = x + 0.5
            {left}
    return x * 1
"""


def module(outer, inner, left, written):
    """A module of these loops, whose lines messages can show."""
    source = SOURCE.format(
        outer=OUTER[outer], inner=INNER[inner], left=LEFT[left], written=WRITTEN[written]
    )
    file = f"<{outer}, {inner}, {left}, {written}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names = {"torch": torch}
    exec(compile(source, file, "exec"), names)
    return type("Nested", (torch.nn.Module,), {"forward": names["forward"]})()


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize(
    "outer",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in RARE)) for each in OUTER],
)
def test_nested_loops_equal_eager_or_are_refused(outer, left):
    """At other sizes and on other data; at least one pair of loops in each kind is captured."""
    n_captured = 0
    for inner, written in itertools.product(INNER, WRITTEN):
        model = module(outer, inner, left, written)
        try:
            program = monograph.export(
                model,
                (torch.ones(3, 3), torch.ones(3, 3)),
                dynamic_shapes=({0: monograph.Dim.AUTO}, {0: monograph.Dim.AUTO}),
            )
        except monograph.MonographError:
            continue
        n_captured += 1
        called = program.module()
        for rows, value in itertools.product((1, 7), (1.0, 0.01, -1.0, 5.0)):
            x, y = torch.full((3, 3), 0.25), torch.full((rows, 3), value)
            try:
                actual = called(x.clone(), y.clone())
            except monograph.MonographError:
                continue
            expected = model(x.clone(), y.clone())
            torch.testing.assert_close(
                actual, expected, msg=lambda m, at=(inner, written, rows, value): f"{at}: {m}"
            )
    assert n_captured
