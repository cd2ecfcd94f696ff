"""The declaration follows the structure of the inputs, and every mistake in it is reported."""

import collections
import dataclasses

import pytest
import torch

import monograph
from monograph.diagnostics import ExportErrors, MonographError
from monograph.dims import Declared, DeclaredNumber, Dim, bound_arguments, read_specification

Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024  (users have both kinds)
A, B = Dim("a"), Dim("b", min=2, max=9)
X, Y = torch.ones(4, 6), torch.ones(3)


@dataclasses.dataclass
class Cache:
    keys: list
    length: int


monograph.register_dataclass(Cache)


def declared(spec, **arguments):
    """What is declared of each leaf, by path."""
    found = read_specification(spec, arguments)
    return {each.path: each.entries for each in found.declared} | {
        each.path: each.entry for each in found.numbers
    }


def mistakes(spec, **arguments):
    """The names of all mistakes, and the whole text."""
    with pytest.raises(MonographError) as refused:
        read_specification(spec, arguments)
    error = refused.value
    found = error.problems if isinstance(error, ExportErrors) else (error,)
    return [each.diagnostic.name for each in found], str(error)


@pytest.mark.parametrize(
    "spec",
    [
        {"x": (A, None), "y": None},
        {"x": [A, None]},
        {"x": {0: A}},
        {"x": {-2: A}},
        {"x": {0: A, 1: 6}},
        {"x": (A, Dim.STATIC)},
        ((A, None), None),
        [{0: A}],
        [(A, 6), (3,)],
        "x: a, _",
    ],
)
def test_forms_that_say_the_same(spec):
    """By name or position; by list or by number of the dimension; in one line."""
    ((path, (first, second)),) = declared(spec, x=X, y=Y).items()
    assert (path, repr(first), second) == ("x", "a", None)


@pytest.mark.parametrize("spec", [None, {}, (), [], {"x": None}, "", {"x": {}, "y": []}])
def test_forms_that_say_nothing(spec):
    """Everything is fixed."""
    if spec == {"x": {}, "y": []}:
        spec = {"x": {}}
    assert declared(spec, x=X, y=Y) == {}


@pytest.mark.parametrize(
    "spec",
    [
        [[None, (A, None)], Pair((B,), None)],
        {"c": [[None, (A, None)], ((B,), None)], "p": None},
    ],
)
def test_positions_do_not_skip(spec):
    """A declaration nested too deep for its input is refused."""
    names, _ = mistakes(spec, c=Cache([X], 3), p=Pair(Y, Y))
    assert set(names) <= {"spec-structure-differs", "spec-on-non-tensor"}


@pytest.mark.parametrize(
    "spec",
    [
        {"c": [[(A, None)], None], "p": Pair((B,), None)},
        {"c": {"keys": {0: (A, None)}}, "p": {"left": (B,)}},
        {"c": Cache([{0: A}], None), "p": ((B,), None)},
        {"c": [({0: A},), None], "p": [{0: B}, None]},
        ([[{0: A}], None], {0: (B,)}),
        "c.keys[0]: a, _; p.left: b; 2 <= b <= 9",
    ],
)
def test_nested_inputs(spec):
    """Lists for classes, or fields by name; named tuples as such, as tuples, or by field."""
    found = declared(spec, c=Cache([X], 3), p=Pair(Y, Y))
    assert repr(found) == "{'c.keys[0]': (a, None), 'p.left': (b,)}"


def test_leaves_are_numbered_as_they_are_flattened():
    """Constants count too."""
    found = read_specification(
        {"c": [[None, (A, None)], Dim.DYNAMIC], "y": (B,)},
        {"c": Cache([Y, X], 3), "mode": "s", "y": Y},
    )
    assert found.declared == (Declared(1, "c.keys[1]", (A, None)), Declared(4, "y", (B,)))
    assert found.numbers == (DeclaredNumber(2, "c.length", Dim.DYNAMIC),)


def forward(x, y, *rest, k=None, **options):
    """Take every kind of argument."""


@pytest.mark.parametrize(
    "spec",
    [
        {"y": (A,), "rest": ((B,),), "deep": (A,)},
        {"y": (A,), "rest": ((B,),), "options": {"deep": (A,)}},
        {"y": (A,), "rest": ((B,),), "kwargs": {"deep": (A,)}},
        (None, (A,), ((B,),), None, {"deep": (A,)}),
        (None, (A,), ((B,),), None, (A,)),
        "y: a; rest[0]: b; deep: a; b <= 9; b >= 2",
    ],
)
def test_arguments_that_are_gathered(spec):
    """*args is a tuple under its name, **kwargs a dict under its own or each by name."""
    y = torch.ones(3)
    arguments = bound_arguments(forward, (X, y, y), {"deep": y, "k": 1})
    found = read_specification(spec, arguments)
    assert {each.path: repr(each.entries[0]) for each in found.declared} == {
        "y": "a",
        "rest[0]": "b",
        "deep": "a",
    }


def test_positions_follow_the_signature():
    """Not the order in which keywords are given."""
    arguments = bound_arguments(lambda x, y, z: x, (X,), {"z": Y, "y": X})
    found = read_specification((None, (A, None), (B,)), arguments)
    assert [(each.leaf, each.path) for each in found.declared] == [(1, "z"), (2, "y")]


# --- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (Dim.DYNAMIC, 3),
        (Dim.AUTO, -3),
        (A, 3),
        (2 * A + 1, 7),
        (Dim.DYNAMIC(min=-5, max=5), -3),
        (Dim.DYNAMIC, 0.5),
        (Dim.AUTO(max=1), 0.5),
    ],
)
def test_numbers_may_vary(entry, value):
    """An int as any size; a float by a hint."""
    assert declared({"n": entry}, n=value) == {"n": entry}


@pytest.mark.parametrize("value", [3, 0.5, True, "s", None])
@pytest.mark.parametrize("entry", [None, Dim.STATIC, (), {}])
def test_numbers_and_constants_may_be_fixed(entry, value):
    """In every form."""
    assert declared({"n": entry}, n=value) == {}


@pytest.mark.parametrize(
    ("entry", "value", "name"),
    [
        (4, 3, "spec-static-size-differs"),
        (Dim("n", min=4), 3, "spec-size-outside-range"),
        (Dim("n"), -1, "spec-size-outside-range"),
        (Dim.DYNAMIC(max=2), 3, "spec-size-outside-range"),
        (2 * Dim("n"), 3, "spec-derived-unsolvable"),
        ((A,), 3, "spec-on-non-tensor"),
        (A, 0.5, "spec-on-non-tensor"),
        (Dim.DYNAMIC(max=2), 2.5, "spec-size-outside-range"),
        (Dim.DYNAMIC, True, "spec-on-non-tensor"),
        (A, "s", "spec-on-non-tensor"),
    ],
)
def test_declarations_that_do_not_fit_a_number(entry, value, name):
    """Each is refused by the path of the number, which has no shape."""
    names, text = mistakes({"k": entry}, k=value)
    assert names == [name]
    assert "k.shape" not in text


def test_an_int_and_a_size_of_one_name_are_equal():
    """In the example too."""
    assert set(declared({"x": (A, None), "n": A}, x=X, n=4)) == {"x", "n"}
    names, text = mistakes({"x": (A, None), "n": A}, x=X, n=5)
    assert names == ["spec-dim-sizes-differ"]
    assert "`a` is 4 as `x.shape[0]` and 5 as `n`" in text


# --- mistakes ----------------------------------------------------------------------------------


def test_all_mistakes_are_one_error():
    """Each with its path, in the order of the inputs."""
    spec = {
        "x": (A, "b"),
        "y": (None, None),
        "z": {3: A},
        "ww": None,
        "l": {"a": None},
        "m": (Dim("a", max=9),),
        "n": (7,),
        "o": (2 * Dim("o"),),
        "p": "a, b",
    }
    z = {"x": X, "y": Y, "z": X, "w": 3, "l": [X], "m": Y, "n": Y, "o": Y, "p": Y}
    names, text = mistakes(spec, **z)
    assert names == [
        "spec-unknown-argument",
        "spec-not-a-dim",
        "spec-wrong-rank",
        "spec-wrong-rank",
        "spec-structure-differs",
        "spec-dim-conflict",
        "spec-static-size-differs",
        "spec-derived-unsolvable",
        "spec-structure-differs",
    ]
    assert "did you mean `w`" in text
    for path in ('["x"][1]', '["y"]', '["z"]', '["l"]', '["n"][0]', '["o"][0]', '["p"]'):
        assert f"dynamic_shapes{path}" in text


@pytest.mark.parametrize(
    ("spec", "value", "meant"),
    [
        ({"kyes": None, "values": None}, {"keys": X, "values": X}, "keys"),
        ({"lenght": None}, Cache([X], 3), "length"),
    ],
)
def test_a_misspelt_key_is_answered_with_the_nearest(spec, value, meant):
    """Of a dict or of a class."""
    names, text = mistakes({"x": spec}, x=value)
    assert names == ["spec-structure-differs"]
    assert f"did you mean the key `{meant}`" in text


def test_a_dict_is_declared_as_a_whole():
    """A key that is left out may have been forgotten; the declaration to paste has them all."""
    names, text = mistakes({"x": {"a": None}}, x={"a": X, "b": X})
    assert names == ["spec-structure-differs"]
    assert "{'a': None, 'b': None}" in text


INPUTS = {"x": X, "d": {"a": Y, "b": [X, Y]}, "p": Pair(Y, 3), "c": Cache([Y], 3)}
NO_D, NO_P, NO_C = {"a": None, "b": [None, None]}, Pair(None, None), [[None], None]


def torch_takes(spec):
    """Whether torch.export's own check takes a declaration."""
    from torch.export import dynamic_shapes as theirs  # noqa: PLC0415  (the peer)

    def translated(entry):
        return theirs.Dim(entry.__name__) if isinstance(entry, Dim) else entry

    tree = torch.utils._pytree.tree_map(
        translated, spec, is_leaf=lambda item: isinstance(item, Dim)
    )
    try:
        theirs._check_dynamic_shapes(INPUTS, tree)
    except Exception:  # noqa: BLE001  (torch refuses in many ways)
        return False
    return True


@pytest.mark.parametrize(
    "spec",
    [
        {"x": (A, None), "d": NO_D, "p": NO_P, "c": NO_C},
        {"x": {1: A}, "d": {"a": (B,), "b": [None, None]}, "p": NO_P, "c": NO_C},
        {"x": None, "d": {"b": [None, {0: A}], "a": None}, "p": Pair({0: A}, None), "c": NO_C},
        {"x": None, "d": NO_D, "p": NO_P, "c": [[(A,)], None]},
        (None, NO_D, NO_P, [[{0: A}], None]),
        [None, NO_D, NO_P, NO_C],
    ],
)
def test_what_torch_takes_is_taken(spec):
    """Every form of torch.export."""
    assert torch_takes(spec)
    declared(spec, **INPUTS)


@pytest.mark.parametrize(
    "spec",
    [
        {"x": (A,), "d": NO_D, "p": NO_P, "c": NO_C},
        {"x": None, "d": {"a": (A,)}, "p": NO_P, "c": NO_C},
        {"x": None, "d": {"a": None, "b": [None]}, "p": NO_P, "c": NO_C},
        {"x": None, "d": NO_D, "p": NO_P, "c": NO_C, "q": None},
        {"x": None, "d": NO_D, "p": Pair(None, 3.5), "c": NO_C},
        {"x": ("a", None), "d": NO_D, "p": NO_P, "c": NO_C},
        {"x": A, "d": NO_D, "p": NO_P, "c": NO_C},
    ],
)
def test_what_torch_refuses_is_refused(spec):
    """Except that an argument or a container may be left out as a whole, with None."""
    assert not torch_takes(spec)
    mistakes(spec, **INPUTS)
