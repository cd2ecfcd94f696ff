"""Indexing with positions and masks, where sizes are symbols or depend on data."""

import pytest
import torch

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import MonographError
from monograph.integers import Facts, relation_text, text, use
from monograph.rules.data_movement import advanced_indexing as indexing
from monograph.rules.data_movement import data_dependent as finding
from monograph.rules.data_movement import gather_scatter as scattering


def tensor(*shape, strides=None, dtype=torch.float32):
    """A type on the CPU."""
    return TensorType(shape, dtype, torch.device("cpu"), strides)


def positions(*shape):
    """The type of an index."""
    return tensor(*shape, dtype=torch.int64)


def mask(*shape):
    """The type of a mask."""
    return tensor(*shape, dtype=torch.bool)


@pytest.fixture
def facts():
    """Facts in force."""
    with use(Facts()) as facts:
        yield facts


@pytest.fixture
def sizes(facts):
    """Symbols with examples."""
    return [facts.symbol(name, hint=hint) for name, hint in (("b", 4), ("s", 128))]


def new(facts):
    """The symbols that stand for sizes only the data tells."""
    return [symbol for symbol in facts.symbols if facts.is_unbacked(symbol)]


def test_positions_replace_the_dimensions_they_index(facts, sizes):
    """Adjacent ones in place, separated ones in front."""
    b, s = sizes
    x = tensor(b, s, 8)
    assert indexing.index_tensor(x, [positions(7), positions(7)]).shape == (7, 8)
    assert indexing.index_tensor(x, [None, positions(5, 7)]).shape == (b, 5, 7, 8)
    assert indexing.index_tensor(x, [positions(5), None, positions(7, 1)]).shape == (7, 5, s)
    assert not facts.guards


def test_a_mask_makes_a_new_size(facts, sizes):
    """At least 0, at most its own number of elements."""
    b, s = sizes
    result = indexing.index_tensor(tensor(b, s, 8), [mask(b, s)])
    (found,) = new(facts)
    assert result.shape == (found, 8)
    bounds = [relation_text(made.relation) for made in facts.stated]
    assert bounds == ["b*s >= u0"]
    assert not facts.guards
    assert not facts.assertions


def test_positions_beside_a_mask_say_how_many_places_it_has(facts, sizes):
    """No size is made that nothing in the program would compute."""
    b, s = sizes
    assert indexing.index_tensor(tensor(b, s), [mask(b), positions(7)]).shape == (7,)
    assert not new(facts)


def test_writing_through_a_mask_makes_no_size(facts, sizes):
    """x[mask] = y[mask]: the kernel compares the two counts."""
    b, s = sizes
    indexing.index_put(tensor(b, s), [mask(b, s)], tensor(3))
    assert not new(facts)


def test_sizes_of_values_are_guarded(facts, sizes):
    """They broadcast to what they replace."""
    b, s = sizes
    indexing.index_put(tensor(b, s), [positions(4)], tensor(b, s))
    assert [relation_text(made.relation) for made in facts.guards] == ["b == 4 or b == 1"]


def test_two_searches_give_two_sizes(facts, sizes):
    """Even of the same tensor."""
    b, s = sizes
    first, second = (finding.nonzero(tensor(b, s)) for _ in range(2))
    assert first.shape[0] is not second.shape[0]
    assert [text(step) for step in first.stride()] == ["1", "u0"]


def test_nothing_is_found_in_nothing(facts):
    """The size is the number 0."""
    assert finding.nonzero(tensor(0, 3)).shape == (0, 2)
    assert not new(facts)


def test_gather_guards_what_must_fit(facts, sizes):
    """Outside its dimension, the index is no larger."""
    b, s = sizes
    assert scattering.gather(tensor(b, s), 1, positions(3, 5)).shape == (3, 5)
    assert [relation_text(made.relation) for made in facts.guards] == ["b >= 3"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: indexing.index_tensor(tensor(2), [positions(1), positions(1)]),
        lambda: indexing.index_tensor(tensor(2), [tensor(1)]),
        lambda: indexing.index_tensor(tensor(2, 3), [mask(3)]),
        lambda: indexing.index_tensor(tensor(2, 3), [positions(2), positions(3)]),
        lambda: indexing.index_put(tensor(2, 3), [positions(2)], tensor(4)),
        lambda: indexing.index_put(tensor(2), [positions(2)], positions(2)),
        lambda: indexing.index_select(tensor(2), 0, positions(2, 2)),
        lambda: indexing.embedding(tensor(2), positions(2)),
        lambda: scattering.gather(tensor(2, 3), 0, positions(2)),
        lambda: scattering.scatter(tensor(2, 3), 0, positions(2, 3), tensor(1, 3)),
        lambda: finding.bincount(tensor(3)),
    ],
)
def test_what_eager_refuses_is_refused(facts, call):
    """Each with a message of ours."""
    with pytest.raises(MonographError):
        call()
