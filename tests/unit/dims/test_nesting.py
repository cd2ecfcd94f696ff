"""Declarations are nested like the inputs."""

import collections
import dataclasses

import torch

import monograph
from monograph.dims import Dim
from monograph.dims.nesting import child_named, children, nested

Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024  (users have both kinds)


@dataclasses.dataclass
class Cache:
    keys: list
    length: int


monograph.register_dataclass(Cache)


def test_tensors_dims_and_plain_values_are_leaves():
    """Nothing is inside them."""
    for leaf in (torch.ones(2), Dim("n"), 2 * Dim("n"), Dim.AUTO, 3, None, "text"):
        assert children(leaf) is None


def test_an_empty_container_is_no_leaf():
    """It has no children, which is not the same."""
    assert children(()) == []
    assert children({}) == []


def test_containers_keep_their_type_and_classes_become_lists():
    """As torch.export maps them: a registered class may hold tensors only."""
    value = {"p": Pair(1, (2,)), "c": Cache([3, 4], 5), "o": collections.OrderedDict(a=6)}
    found = nested(value, lambda path, leaf: (path, leaf))
    assert found == {
        "p": Pair(("['p'].left", 1), (("['p'].right[0]", 2),)),
        "c": [[("['c'].keys[0]", 3), ("['c'].keys[1]", 4)], ("['c'].length", 5)],
        "o": collections.OrderedDict(a=("['o']['a']", 6)),
    }


def test_children_are_named_by_index_key_or_field():
    """Whichever the container has."""
    assert child_named(children(Cache([], 5)), "length") == 1
    assert child_named(children({"a": 1, "b": 2}), "b") == 1
    assert child_named(children([1, 2]), 1) == 1
    assert child_named(children([1, 2]), 2) is None
