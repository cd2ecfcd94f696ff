"""Alias analysis: what sides of branches know together is as much as they know, merged or not."""

from types import SimpleNamespace

import torch

from monograph.abstract.tensor import make_tensor
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.alias_analysis import AliasAnalysis


def tensor():
    """An abstract tensor with memory of its own."""
    plain = TensorType((2,), torch.float32, torch.device("cpu"), (1,), 0, False)
    return make_tensor(plain, None, SimpleNamespace(closed=False))


def test_what_both_sides_began_with_is_known_once():
    """However many branches were merged: each side begins with all that was known before."""
    analysis = AliasAnalysis([])
    one, other, news = tensor(), tensor(), tensor()
    analysis.may_alias([one, other])
    for _ in range(8):
        sides = []
        for _ in range(2):
            with analysis.of_one_side(sides):
                analysis.may_alias([other, news])
        analysis.note_sides(sides)
    assert [id(each) for each in analysis.possible_storages(one)] == [*map(id, (one, other, news))]
    assert {key: len(each) for key, each in analysis._aliases.items()} == {id(one): 1, id(other): 1}
