"""Programs whose inputs are caches and other registered classes, in torch.export and after it."""

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from tests.archive.peers import quietly
from tests.interop.test_onnx import needs

KEYS = pytree.MappingKey("keys"), pytree.MappingKey("values")


class Cache:
    """A class that makes itself of tensors alone, as caches of transformers do."""

    def __init__(self, keys, values):
        self.keys, self.values, self.length = keys, values, keys.shape[-2]


def registered(cls=Cache):
    """Register it once, with keys, as transformers' recipes do."""
    if cls in pytree.SUPPORTED_NODES:
        return
    pytree.register_pytree_node(
        cls,
        lambda cache: ([cache.keys, cache.values], None),
        lambda children, _: cls(*children),
        serialized_type_name=f"tests.interop.{cls.__name__}",
        flatten_with_keys_fn=lambda cache: (
            [(key, getattr(cache, key.key)) for key in KEYS],
            None,
        ),
    )


class Decoder(torch.nn.Module):
    """One step with a cache that grows."""

    def forward(self, x, cache):
        """Append to the cache."""
        keys = torch.cat([cache.keys, x], -2)
        values = torch.cat([cache.values, x * 2], -2)
        return (x @ keys.mT).softmax(-1) @ values, Cache(keys, values)


def example(batch=2, past=5):
    """One step's inputs."""
    return torch.randn(batch, 1, 4), Cache(torch.randn(batch, past, 4), torch.randn(batch, past, 4))


@pytest.fixture
def program():
    """The step; batch and the past vary."""
    registered()
    batch, past = monograph.Dim("batch", min=1, max=64), monograph.Dim("past", min=1, max=64)
    sizes = {0: batch, 1: past}
    return monograph.export(
        Decoder(), example(), dynamic_shapes={"x": {0: batch}, "cache": [sizes, sizes]}
    )


def leaves(result):
    """The tensors of a result."""
    return pytree.tree_leaves(result)


def test_conditions_of_what_is_in_a_cache_are_checked_there(program):
    """Torch's checks find a size by the keys of the class, which is made of tensors alone."""
    with quietly():
        module = program.to_torch().module()
    given = example(3, 7)
    torch.testing.assert_close(leaves(module(*given)), leaves(Decoder()(*given)))
    with pytest.raises(AssertionError, match="keys"):
        module(torch.randn(4, 1, 4), given[1])


def test_files_with_caches_open_on_both_sides(program, tmp_path):
    """Also what stock wrote of what we wrote."""
    first, second = tmp_path / "first.pt2", tmp_path / "second.pt2"
    monograph.save(program, first)
    theirs = torch.export.load(first)
    torch.export.save(theirs, second)
    given = example(3, 7)
    expected = leaves(Decoder()(*given))
    for module in (
        theirs.module(),
        monograph.load(first).module(),
        monograph.load(second).module(),
    ):
        torch.testing.assert_close(leaves(module(*given)), expected)
    with pytest.raises(monograph.ContractError):
        monograph.load(second).module()(torch.randn(4, 1, 4), given[1])


class Updating(Cache):
    """A cache that is made by appending to an empty one, which takes operators."""

    def __init__(self, keys, values):
        super().__init__(torch.cat([torch.tensor([], device=keys.device), keys], -2), values)


class Updates(torch.nn.Module):
    """One step with a cache that is made anew."""

    def forward(self, x, cache):
        """Give it by name."""
        made = Decoder()(x, cache)
        return {"hidden": made[0], "cache": Updating(made[1].keys, made[1].values)}


@needs("onnx", "onnxscript", "onnxruntime")
def test_onnx_models_take_and_give_leaves_by_name():
    """Inputs, results and axes are named as in the module and its declaration."""
    registered(Updating)
    batch, past = monograph.Dim("batch", min=1, max=64), monograph.Dim("past", min=1, max=64)
    sizes = {0: batch, 1: past}
    given = torch.randn(2, 1, 4), Updating(torch.randn(2, 5, 4), torch.randn(2, 5, 4))
    program = monograph.export(
        Updates(), given, dynamic_shapes={"x": {0: batch}, "cache": [sizes, sizes]}
    )
    with quietly():
        graph = program.to_onnx().model.graph
    shapes = {each.name: [str(size) for size in each.shape] for each in graph.inputs}
    assert shapes["x"] == ["batch", "1", "4"]
    assert [*shapes.values()][1:] == [["batch", "past", "4"]] * 2
    results = {each.name: [str(size) for size in each.shape] for each in graph.outputs}
    assert [*results] == ["hidden", "cache_keys_out", "cache_values_out"]
    assert results["hidden"] == ["batch", "1", "4"]
    assert results["cache_keys_out"] == ["batch", "past + 1", "4"]
