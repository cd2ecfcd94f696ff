"""Converted state keeps its names, its sharing and its parameters."""

import torch

from monograph.passes.rewrites.state_conversion import convert


def test_sharing_is_kept():
    """One tensor under two names, and views of one memory."""
    whole = torch.arange(6.0)
    weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    tensors = {"whole": whole, "part": whole[2:], "one": weight, "two": weight}
    convert(tensors, tensors, lambda tensor: tensor.to(torch.float64))
    assert tensors["one"] is tensors["two"]
    assert isinstance(tensors["one"], torch.nn.Parameter)
    assert not tensors["one"].requires_grad
    tensors["part"].add_(10)
    assert tensors["whole"].tolist() == [0, 1, 12, 13, 14, 15]
    assert whole.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_there_already_stays():
    """The same object, as its own or among others in its memory."""
    whole = torch.arange(6.0)
    tensors = {"whole": whole, "part": whole[2:], "weight": torch.nn.Parameter(torch.ones(2))}
    before = dict(tensors)
    convert(tensors, tensors, lambda tensor: tensor.to(torch.float32))
    assert all(tensors[name] is before[name] for name in before)


def test_only_what_is_named():
    """The rest stays."""
    tensors = {"a": torch.ones(2), "b": torch.ones(2)}
    convert(tensors, ["a"], lambda tensor: tensor.half())
    assert [each.dtype for each in tensors.values()] == [torch.float16, torch.float32]
