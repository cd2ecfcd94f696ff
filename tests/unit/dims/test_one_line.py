"""The one-line form says what the nested form says, and every mistake in it is shown in place."""

import collections

import pytest
import torch

from monograph.diagnostics import ExportErrors, MonographError
from monograph.dims.one_line import read_line

Cache = collections.namedtuple("Cache", "keys values")  # noqa: PYI024  (users have both kinds)
X, Y = torch.ones(4, 6), torch.ones(4, 6, 8)


def read(line, **arguments):
    """The declaration and the relations as text, with ranges."""
    spec, relations = read_line(line, arguments or {"x": X, "y": Y})
    return repr(spec), relations


def mistakes(line, **arguments):
    """(name, what is marked, headline) of each mistake."""
    with pytest.raises(MonographError) as refused:
        read_line(line, arguments or {"x": X, "y": Y})
    error = refused.value
    found = error.problems if isinstance(error, ExportErrors) else (error,)
    return [(each.diagnostic.name, _marked(each.diagnostic), each) for each in found]


def _marked(diagnostic):
    for note in diagnostic.notes:
        lines = note.split("\n")
        if len(lines) == 3:
            start = lines[2].index("^")
            return lines[1][start : start + lines[2].count("^")]
    return None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x: batch, seq", "{'x': (batch, seq), 'y': None}"),
        (" x :( batch , _ ) ; ", "{'x': (batch, None), 'y': None}"),
        ("y: ..., 2*d", "{'x': None, 'y': (None, None, 2*d)}"),
        ("y: b, ...", "{'x': None, 'y': (b, None, None)}"),
        ("y: b, ..., d + 1", "{'x': None, 'y': (b, None, d + 1)}"),
        ("x: 4, n; y: _, n, _", "{'x': (4, n), 'y': (None, n, None)}"),
        ("x: t, k; y: k, t, _; k == t", "{'x': (t, t), 'y': (t, t, None)}"),
        ("x: t, k; 2*t + 1 == k", "{'x': (t, 2*t + 1), 'y': None}"),
        ("k == 4*t; x: t, k + 1", "{'x': (t, 4*t + 1), 'y': None}"),
        ("x: t, k; t == 4", "{'x': (4, k), 'y': None}"),
        ("x: k, _; k == 4*t", "{'x': (4*t, None), 'y': None}"),
    ],
)
def test_sizes(line, expected):
    """Names, numbers, multiples, fixed ones and equations give the nested declaration."""
    assert read(line) == (expected, ())


def test_nested_inputs_are_reached_by_path():
    """Fields, keys and indices, as users write them; a dict's key also as a field."""
    cache = Cache([torch.ones(2, 3, 4)], {"v w": torch.ones(2)})
    found, _ = read(
        "c.keys[0]: b, h, t; c.values['v w']: b; n: t; d.k: b", c=cache, n=4, d={"k": X}
    )
    assert found == "{'c': Cache(keys=[(b, h, t)], values={'v w': (b,)}), 'n': t, 'd': {'k': (b,)}}"


@pytest.mark.parametrize(
    ("relations", "ends"),
    [
        ("t <= 512", (0, 512)),
        ("512 >= t", (0, 512)),
        ("2 < t < 9", (3, 8)),
        ("2*t <= 9; t >= 1", (1, 4)),
        ("k == 4*t; k <= 33", (0, 8)),
    ],
)
def test_bounds_become_ranges(relations, ends):
    """Of the name that stays, wherever the bound stands."""
    spec, left = read_line(f"x: t, k; {relations}", {"x": X})
    assert ((spec["x"][0].min, spec["x"][0].max), left) == (ends, ())


@pytest.mark.parametrize(
    ("relations", "left"),
    [
        ("k == t + p", ("k == t + p",)),
        ("t % 8 == 0", ("t % 8 == 0",)),
        ("t != 3", ("t != 3",)),
        ("k == 4*p; k*t <= 64", ("4 * p * t <= 64",)),
        ("2 <= t <= k", ("t <= k",)),
        ("k == 8 - t", ("k == 8 - t",)),
        ("2*k == 3*t", ("2 * k == 3 * t",)),
        ("max(t, k) <= 9", ("max(t, k) <= 9",)),
    ],
)
def test_what_no_dim_says_is_left_as_a_relation(relations, left):
    """Over the names that stay."""
    assert read_line(f"x: t, k; z: p; {relations}", {"x": X, "z": torch.ones(3)})[1] == left


@pytest.mark.parametrize(
    ("line", "marked", "reason"),
    [
        ("x: a, b/2", "b/2", "is no size"),
        ("x: a, 2**b", "2**b", "is no size"),
        ("x: a, 3 - b", "3 - b", "is no size"),
        ("x: a, b +", "b +", "no expression"),
        ("x: a,, b", None, "missing"),
        ("x: a, ..., ...", "...", "stands twice"),
        ("x: a, b; x: c, d", "x", "declared twice"),
        ("x a, b", "x a, b", "neither"),
        ("x: a, b; a <= c", "c", "names no size"),
        ("x: batch, b; bacth <= 4", "bacth", "names no size"),
        ("x: a, b; a + b < 'z'", "a + b < 'z'", "no comparison"),
        ("x[0]: a", "[0]", "has no"),
    ],
)
def test_a_mistake_is_marked_in_the_line(line, marked, reason):
    """The caret stands under the part that cannot be read, whatever is before it."""
    (name, found, error), *others = mistakes(line)
    assert (name, others) == ("spec-text-unreadable", [])
    assert reason in error.diagnostic.headline
    assert marked is None or found == marked


def test_a_misspelt_name_is_answered_with_the_nearest():
    """Names of arguments, of sizes and of parts."""
    found = mistakes("c.kyes: a; y: batch, _, _; bacth < 4", c={"keys": X}, y=Y)
    assert [each.diagnostic.helps[0] for _, _, each in found] == [
        "did you mean `c['keys']`",
        "did you mean `batch`",
    ]
    assert "did you mean `x`" in str(mistakes("xx: a", x=X)[0][2])


def test_a_container_is_not_declared_as_a_whole():
    """A part of it is offered."""
    ((_, marked, error),) = mistakes("c: a", c={"keys": X})
    assert (marked, error.diagnostic.helps[0]) == ("c", "did you mean `c['keys']`")


def test_all_mistakes_are_reported_together():
    """One run tells everything, empty ranges included."""
    names = [name for name, _, _ in mistakes("x: a, b//2; z: b; y: a, k, _; k < 3; k > 5")]
    assert names == ["spec-text-unreadable", "spec-unknown-argument", "spec-range-empty"]


def test_of_a_long_line_the_surroundings_are_shown():
    """The mark is under the same part."""
    line = "; ".join(f"x{i}: batch, seq" for i in range(30)) + "; sqe <= 4; batch >= 1"
    ((_, marked, error),) = mistakes(line, **{f"x{i}": X for i in range(30)})
    assert marked == "sqe"
    assert max(map(len, str(error).split("\n"))) <= 100
