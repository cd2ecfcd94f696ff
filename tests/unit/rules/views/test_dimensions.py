"""Dimensions of size 1 and dimensions that are repeated, where sizes are symbols."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import MonographError
from monograph.integers import Facts, relation_text, text, use
from monograph.rules.views import dimensions as views


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
    return [facts.symbol(name, hint=hint) for name, hint in (("b", 4), ("s", 128), ("one", 1))]


def guards(facts):
    """The recorded guards as text."""
    return [relation_text(guard.relation) for guard in facts.guards]


def test_squeeze_guards_what_it_keeps(facts, sizes):
    """A size that is 1 for another input would be dropped."""
    b, s, _ = sizes
    assert views.squeeze(tensor(b, 1, s)).shape == (b, s)
    assert guards(facts) == ["b != 1", "s != 1"]


def test_squeeze_follows_the_example_where_it_is_one(facts, sizes):
    """And then the size is 1."""
    *_, one = sizes
    assert views.squeeze_dims(tensor(3, one), 1).shape == (3,)
    assert guards(facts) == ["one == 1"]


def test_expand_repeats_ones_and_keeps_equal_sizes(facts, sizes):
    """No guard where the sizes are the same expression."""
    b, s, _ = sizes
    result = views.expanded(tensor(b, 1, s), [b, 12, -1])
    assert result.shape == (b, 12, s)
    assert [text(step) for step in result.stride()] == ["s", "0", "1"]
    assert guards(facts) == []


def test_expand_requires_other_sizes_to_be_equal(facts, sizes):
    """A size that is not 1 in the example equals the wanted one."""
    b, s, _ = sizes
    assert views.expanded(tensor(s), [b, 128]).shape == (b, 128)
    assert guards(facts) == ["s == 128"]


def test_unfold_counts_its_windows(facts, sizes):
    """A window must fit once."""
    b, s, _ = sizes
    assert [text(n) for n in views.unfold(tensor(b, s), 1, 16, 8).shape] == ["b", "s//8 - 1", "16"]
    assert guards(facts) == ["s >= 16"]


def test_the_diagonal_is_as_long_as_the_shorter_side(facts, sizes):
    """Exactly, without choosing a side."""
    b, s, _ = sizes
    assert text(views.diagonal(tensor(b, s)).shape[0]) == "min(b, s)"
    assert views.diagonal(tensor(s, s)).shape == (s,)
    assert guards(facts) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: views.expanded(tensor(3), [4]),
        lambda: views.expanded(tensor(3), [-1, 3]),
        lambda: views.expanded(tensor(2, 3), [3]),
        lambda: views.permute(tensor(2, 3), [0, 0]),
        lambda: views.permute(tensor(2, 3), [0]),
        lambda: views.t(tensor(2, 3, 4)),
        lambda: views.matrix_transpose(tensor(3)),
        lambda: views.diagonal(tensor(2, 3), 0, 1, 1),
        lambda: views.transpose(tensor(2), 0, 1),
        lambda: views.unfold(tensor(4), 0, 5, 1),
        lambda: views.movedim(tensor(2, 3), [0, 0], [0, 1]),
        lambda: views.as_strided(tensor(4), [2], [1, 1]),
    ],
)
def test_what_eager_refuses_is_refused(facts, call):
    """Each with a message of ours."""
    with pytest.raises(MonographError):
        call()
