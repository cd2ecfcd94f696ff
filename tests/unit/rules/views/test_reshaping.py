"""Views and reshapes of symbolic sizes: what is inferred, and what is guarded."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import MonographError
from monograph.integers import Facts, relation_text, text, use
from monograph.rules.views import dimensions as views
from monograph.rules.views import reshaping, slicing


def tensor(*shape, strides=None, dtype=torch.float32):
    """A type on the CPU."""
    return TensorType(shape, dtype, torch.device("cpu"), strides)


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


def shape(t):
    """The sizes as text."""
    return [text(size) for size in t.shape]


@pytest.mark.parametrize(
    ("old", "wanted", "expected", "guarded"),
    [
        (lambda b, s, d: (b, s, 12), lambda b, s, d: [-1, 12], ["b*s", "12"], []),
        (lambda b, s, d: (b, s, 12), lambda b, s, d: [b * s, 12], ["b*s", "12"], []),
        (lambda b, s, d: (b, s, 12), lambda b, s, d: [-1, 4], ["3*b*s", "4"], []),
        (lambda b, s, d: (b, s, 12), lambda b, s, d: [b, -1], ["b", "12*s"], ["b >= 1"]),
        (lambda b, s, d: (b * s, 8), lambda b, s, d: [b, -1, 8], ["b", "s", "8"], ["b >= 1"]),
        (lambda b, s, d: (s,), lambda b, s, d: [-1, 2], ["s//2", "2"], ["s % 2 == 0"]),
        (lambda b, s, d: (s,), lambda b, s, d: [s // 2, 2], ["s//2", "2"], ["s % 2 == 0"]),
        (lambda b, s, d: (b, 12 * d), lambda b, s, d: [b, 12, d], ["b", "12", "d"], []),
        (lambda b, s, d: (12 * d,), lambda b, s, d: [-1, d], ["12", "d"], ["d >= 1"]),
    ],
)
def test_a_view_keeps_the_product_of_its_sizes(facts, sizes, old, wanted, expected, guarded):
    """What follows from the algebra is not guarded; what does not, is."""
    result = reshaping.view(tensor(*old(*sizes)), wanted(*sizes))
    assert shape(result) == expected
    assert guards(facts) == guarded


def test_a_view_of_data_dependent_size_asserts_at_run_time(facts):
    """The relation is checked by the program, for nothing is known before it runs."""
    u = facts.symbol("u", hint=None)
    assert shape(reshaping.view(tensor(u), [-1, 2])) == ["u//2", "2"]
    assert [relation_text(made.relation) for made in facts.assertions] == ["u % 2 == 0"]


def test_a_refused_view_names_the_whole_shapes(sizes):
    """The message shows what the user wrote, not the part that was looked at."""
    b, *_ = sizes
    with pytest.raises(MonographError, match=r"\[b, 12\] cannot be viewed as \[b, 5\]"):
        reshaping.view(tensor(b, 12), [b, 5])


@pytest.mark.parametrize("wanted", [[-1, -1], [-2, 6], [5], [0, -1]])
def test_views_that_eager_refuses_are_refused(facts, wanted):
    """Two holes, a negative size, another product, a hole that may be anything."""
    with pytest.raises(MonographError, match="view-impossible"):
        reshaping.view(tensor(12), wanted)


def test_merging_heads_is_a_copy_without_a_guard(facts, sizes):
    """Attention's output may have a batch or a sequence of 1: its layout would be the same."""
    b, s, _ = sizes
    turned = views.transpose(tensor(b, 12, s, 64), 1, 2)
    result = reshaping.reshape(turned, [b, s, 768])
    assert result.strides is None
    assert guards(facts) == []


def test_undoing_a_transposition_is_a_view(facts, sizes):
    """The strides say that nothing moved."""
    b, s, d = sizes
    back = views.transpose(views.transpose(tensor(b, s, 12, d), 1, 2), 1, 2)
    assert reshaping.view(back, [b, s, 12 * d]).strides is None
    assert guards(facts) == []


def test_a_size_of_one_that_would_lie_otherwise_is_excluded(facts, sizes):
    """With d = 1 eager returns a view whose strides are no copy's."""
    b, s, d = sizes
    turned = views.transpose(tensor(b, 12, s, d), 1, 2)
    assert reshaping.reshape(turned, [b, s, 12 * d]).strides is None
    assert guards(facts) == ["d != 1"]


def test_a_coincidence_of_sizes_is_guarded(facts, sizes):
    """x[:, :n] is contiguous only if n is the whole row."""
    b, s, d = sizes
    rows = slicing.part_of(tensor(b, s), 1, 0, d)
    assert reshaping.reshape(rows, [-1]).strides is None
    assert "s != d" in " ".join(guards(facts)) or "d != s" in " ".join(guards(facts))


def test_a_view_that_the_layout_forbids_is_refused(sizes):
    """`view` never copies."""
    b, s, d = sizes
    with pytest.raises(MonographError, match="view-impossible"):
        reshaping.view(views.transpose(tensor(b, s, d), 1, 2), [b, -1])


def test_flatten_returns_the_tensor_itself_where_eager_does(facts):
    """Flattening one dimension is nothing."""
    x = tensor(2, 3)
    assert reshaping.flatten(x, 1, 1) is x
    assert reshaping.flatten(x).shape == (6,)


def test_ones_in_front_of_a_run_do_not_hide_it(facts, sizes):
    """[1, 2, 1, 2] of two dimensions that lie apart is a view, with the sizes of the example."""
    n, m = facts.symbol("n", hint=2), facts.symbol("m", hint=2)
    apart = tensor(n, m, strides=(1, n))
    result = reshaping.view(apart, [1, 2, 1, 2])
    assert [text(step) for step in result.stride()][1::2] == ["1", "n"]
    assert guards(facts) == ["n*m == 4", "m == 2"]
