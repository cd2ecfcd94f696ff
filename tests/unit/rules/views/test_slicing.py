"""Slices and pieces of symbolic sizes."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import MonographError
from monograph.integers import Expr, Facts, evaluate, ge, is_symbol, le, relation_text, text, use
from monograph.rules.views import slicing


def tensor(*shape, strides=None):
    """A type on the CPU."""
    return TensorType(shape, torch.float32, torch.device("cpu"), strides)


@pytest.fixture
def facts():
    """Facts in force."""
    with use(Facts()) as facts:
        yield facts


@pytest.fixture
def sizes(facts):
    """Symbols with examples."""
    return [facts.symbol(name, hint=hint) for name, hint in (("b", 4), ("s", 128), ("d", 64))]


def guards(facts):
    """The recorded guards as text."""
    return [relation_text(guard.relation) for guard in facts.guards]


@pytest.mark.parametrize(
    ("bounds", "size", "offset"),
    [
        (lambda b, s, d: (1, None), "max(s - 1, 0)", "min(s, 1)"),
        (lambda b, s, d: (None, -1), "max(s - 1, 0)", "0"),
        (lambda b, s, d: (None, 512), "min(s, 512)", "0"),
        (lambda b, s, d: (-5, None), "min(s, 5)", "s - min(s, 5)"),
        (lambda b, s, d: (3, -2), "max(s - 5, 0)", "min(s, 3)"),
        (lambda b, s, d: (None, s // 2), "s//2", "0"),
        (lambda b, s, d: (s // 2, None), "s - s//2", "s//2"),
        (lambda b, s, d: (b, s), "max(-b + s, 0)", "min(b, s)"),
        (lambda b, s, d: (None, 2**63 - 1), "s", "0"),
    ],
)
def test_a_slice_is_exact_and_guards_nothing(facts, sizes, bounds, size, offset):
    """Bounds clamp as in eager, for all sizes at once."""
    _, s, _ = sizes
    result = slicing.slice_tensor(tensor(s), 0, *bounds(*sizes))
    assert (text(result.shape[0]), text(result.offset)) == (size, offset)
    assert guards(facts) == []


def test_a_slice_without_its_first_and_one_without_its_last_agree(sizes):
    """x[1:] - x[:-1] needs no guard: the sizes are one expression."""
    _, s, _ = sizes
    first, last = (slicing.slice_tensor(tensor(s), 0, *ends) for ends in ((1,), (0, -1)))
    assert first.shape[0] is last.shape[0]


def test_a_bound_of_unknown_sign_is_guarded(facts, sizes):
    """A negative bound would count from the end."""
    _, s, _ = sizes
    assert text(slicing.slice_tensor(tensor(s), 0, 0, s - 2).shape[0]) == "s - 2"
    assert guards(facts) == ["s >= 2"]


def test_pieces_of_a_multiple_are_equal_and_guard_nothing(facts, sizes):
    """chunk(3) of a fused projection."""
    *_, d = sizes
    parts = slicing.chunk(tensor(3 * d), 3)
    assert [part.shape[0] for part in parts] == [d] * 3
    assert [text(part.offset) for part in parts] == ["0", "d", "2*d"]
    assert guards(facts) == []


def test_the_number_of_pieces_is_guarded(facts, sizes):
    """A graph has a fixed number of values; the last piece's size is exact."""
    _, s, _ = sizes
    parts = slicing.split(tensor(s), 50)
    assert [text(part.shape[0]) for part in parts] == ["50", "50", "s - 100"]
    assert guards(facts) == ["s >= 101", "s <= 150"]


def test_fewer_chunks_than_asked_for(facts, sizes):
    """4 in at most 3 chunks are 2 and 2, as eager has it."""
    b, *_ = sizes
    parts = slicing.chunk(tensor(b), 3)
    assert [text(part.shape[0]) for part in parts] == ["(b + 2)//3", "b - (b + 2)//3"]
    assert slicing.chunk(tensor(4), 3)[1].shape == (2,)


def test_tensor_split_has_exact_sizes(facts, sizes):
    """The first parts are one longer; nothing is guarded."""
    _, s, _ = sizes
    parts = slicing.tensor_split(tensor(s), 3)
    assert [text(part.shape[0]) for part in parts] == ["(s + 2)//3", "(s + 1)//3", "s//3"]
    assert guards(facts) == []


def test_unbind_pins_the_size(facts, sizes):
    """As many results as rows."""
    b, *_ = sizes
    assert len(slicing.unbind(tensor(b, 2))) == 4
    assert guards(facts) == ["b == 4"]


def test_select_counts_from_the_end(facts, sizes):
    """The last row lies before the end."""
    _, s, d = sizes
    result = slicing.select(tensor(s, d), 0, -1)
    assert (result.shape, text(result.offset)) == ((d,), "s*d - d")
    assert guards(facts) == ["s >= 1"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: slicing.select(tensor(4), 0, 4),
        lambda: slicing.narrow(tensor(4), 0, 2, 3),
        lambda: slicing.slice_tensor(tensor(4), 0, 0, 4, 0),
        lambda: slicing.split(tensor(4), 0),
        lambda: slicing.chunk(tensor(4), 0),
        lambda: slicing.split_with_sizes(tensor(4), [1, 2]),
        lambda: slicing.hsplit(tensor(5), axis=1, needed=1, op="hsplit", sections=2),
        lambda: slicing.select(tensor(), 0, 0),
    ],
)
def test_what_eager_refuses_is_refused(facts, call):
    """Each with a message of ours."""
    with pytest.raises(MonographError):
        call()


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("form", ["[:u]", "[u:]", "[u:u]", "[2:u]", "[u:-1]", "[-3:u]"])
def test_bounds_of_either_sign_are_pythons(facts, n, form):
    """Where only the run tells the sign, sizes and offsets are right for every value of it."""
    u = facts.symbol("u", hint=None, lower=None)
    bounds = [{"": None, "u": u}.get(b, b) for b in form[1:-1].split(":")]
    bounds = [int(b) if isinstance(b, str) else b for b in bounds]
    first, length = slicing.slice_range(n, *bounds)
    assert facts.known(ge(length, 0)) is True
    assert facts.known(le(length, n)) is True
    for value in range(-8, 9):
        env = {u: value}
        start, stop = (evaluate(b, env) if isinstance(b, Expr) else b for b in bounds)
        expected = range(n)[start:stop]
        assert evaluate(length, env) == len(expected)
        if len(expected):
            assert evaluate(first, env) == expected[0]
    assert not facts.assertions


def test_bounds_of_several_numbers_out_of_data_make_a_symbol(facts):
    """One for each slice; where more is known, the length is written."""
    n, u, v = facts.symbol("n", hint=7), *(facts.symbol(x, hint=None, lower=None) for x in "uv")
    _, length = slicing.slice_range(n, u, u + v)
    assert is_symbol(length)
    assert length not in {u, v}
    assert facts.known(ge(length, 0)) is True
    assert facts.known(le(slicing.slice_range(7, u, u + v)[1], 7)) is True
    assert slicing.slice_range(n, u, u + v)[1] is length
    assert slicing.slice_range(n, v, u + v)[1] is not length
    for known_now in (ge(u, 0), ge(v, 0), le(u + v, n)):
        facts.assume(known_now)
    assert slicing.slice_range(n, u, u + v) == (u, v)


def test_parts_of_an_open_cut_add_up(facts):
    """x[:u] and x[u:] together are x."""
    n, u = facts.symbol("n", hint=7), facts.symbol("u", hint=None, lower=None)
    _, before = slicing.slice_range(n, None, u)
    _, after = slicing.slice_range(n, u, None)
    assert before + after is n
