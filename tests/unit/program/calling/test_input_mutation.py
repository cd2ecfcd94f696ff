"""What a program does to the objects that its caller passes in is what the original does."""

import copy
import io
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import monograph
from monograph import ContractError, Dim, UnsupportedError, export


@dataclass
class Memory:
    """A cache of keys, as an object."""

    keys: torch.Tensor
    count: int = 0


pytree.register_dataclass(Memory, serialized_type_name="tests.unit.Memory")


class Appends(nn.Module):
    def forward(self, x, xs):
        xs.append(x * 2)
        return xs


class Nested(nn.Module):
    def forward(self, x, d):
        new = {"twice": x * 2}
        d["seen"][0], d["seen"][1] = d["seen"][1], d["seen"][0]
        d["new"] = new
        return x + 1, new, d["seen"]


class Grows(nn.Module):
    def forward(self, x, memory):
        memory.keys = torch.cat([memory.keys, x])
        return memory.keys.sum()


def forms(program):
    """Every form of a program that can be called."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    yield program.module()
    yield program.module(check=False)
    yield copy.deepcopy(program).module()
    yield program.run_decompositions().module()
    yield program.run_decompositions({}).module()
    yield monograph.load(file).module()
    yield monograph.unflatten(program)


@pytest.mark.parametrize("strict", [False, True])
def test_the_callers_own_list_grows_and_is_returned(strict):
    """The result is the list that was passed in, and what it held is in it, itself."""
    program = export(Appends(), (torch.ones(2), [torch.zeros(2)]), strict=strict)
    for module in forms(program):
        kept = torch.rand(2)
        xs = [kept]
        result = module(torch.full((2,), 3.0), xs)
        assert result is xs
        assert xs[0] is kept
        assert xs[1].tolist() == [6.0, 6.0]
        with pytest.raises(ContractError, match="xs"):
            module(torch.ones(2), xs)
        assert len(xs) == 2


@pytest.mark.parametrize("strict", [False, True])
def test_what_is_put_somewhere_and_returned_is_one_object(strict):
    """A dict that the call makes is in the caller's dict and in the result."""
    args = (torch.ones(2), {"seen": [torch.zeros(2), torch.ones(2)]})
    program = export(Nested(), args, strict=strict)
    assert list(args[1]) == ["seen"]
    for module in forms(program):
        one, other = torch.rand(2), torch.rand(2)
        seen = [one, other]
        d = {"seen": seen}
        _, new, returned = module(torch.full((2,), 3.0), d)
        assert d["new"] is new
        assert d["seen"] is seen
        assert returned is seen
        assert seen[0] is other
        assert seen[1] is one
        assert new["twice"].tolist() == [6.0, 6.0]


@pytest.mark.parametrize("strict", [False, True])
def test_an_object_grows_over_three_calls(strict):
    """Where the size may vary, the same object is passed in again and again."""
    n = Dim("n", min=1)
    shapes = {"x": {0: Dim("m", min=1)}, "memory": [{0: n}, None]}
    example = (torch.ones(2), Memory(torch.zeros(3)))
    program = export(Grows(), example, dynamic_shapes=shapes, strict=strict)
    for module in forms(program):
        ours, eagers = Memory(torch.zeros(4)), Memory(torch.zeros(4))
        for size in (2, 1, 5):
            x = torch.rand(size)
            torch.testing.assert_close(module(x, ours), Grows()(x, eagers))
            torch.testing.assert_close(ours.keys, eagers.keys)
        assert ours.keys.shape == (12,)


def test_one_list_given_twice_is_refused():
    """A list that grows is no other argument of the call, whatever the form."""

    class Two(nn.Module):
        def forward(self, xs, ys):
            xs.append(xs[0] * 2)
            return ys[0] * len(ys)

    program = export(Two(), ([torch.ones(2)], [torch.ones(2)]))
    for module in forms(program):
        same = [torch.ones(2)]
        with pytest.raises(ContractError, match="an object of its own"):
            module(same, same)
        assert len(same) == 1
    with pytest.raises(ContractError, match="an object of its own"):
        program.check_inputs(same, same)


def test_a_refused_call_changes_nothing():
    """Inputs that the contract does not admit are given back as they were."""
    program = export(Appends(), (torch.ones(2), [torch.zeros(2)]))
    xs = [torch.zeros(2)]
    for module in forms(program):
        with pytest.raises((ContractError, RuntimeError)):
            module(torch.ones(7, 3), [*xs, 1])
    assert len(xs) == 1


def test_a_cache_of_transformers_is_the_callers_own():
    """The layers of the cache are what the call made of them; the result holds the cache itself."""
    transformers = pytest.importorskip("transformers")
    integration = pytest.importorskip("transformers.integrations.executorch")
    integration.register_dynamic_cache_export_support()

    class Attends(nn.Module):
        def forward(self, x, cache):
            keys, values = cache.update(x, x * 2, 0)
            return {"out": keys.sum() + values.sum(), "cache": cache}

    def a_cache():
        cache = transformers.DynamicCache()
        cache.update(torch.rand(1, 2, 3, 4), torch.rand(1, 2, 3, 4), 0)
        return cache

    program = export(Attends(), (torch.rand(1, 2, 1, 4), a_cache()))
    for module in forms(program):
        ours = a_cache()
        eagers = copy.deepcopy(ours)
        x = torch.rand(1, 2, 1, 4)
        expected, got = Attends()(x, eagers), module(x, ours)
        torch.testing.assert_close(got["out"], expected["out"])
        assert got["cache"] is ours
        assert ours.get_seq_length() == 4
        torch.testing.assert_close(ours.layers[0].values, eagers.layers[0].values)


def test_what_is_no_output_is_refused_by_the_text_form():
    """The one form that cannot say it says so."""
    program = export(Appends(), (torch.ones(2), [torch.zeros(2)]))
    with pytest.raises(UnsupportedError, match="passes in"):
        program.to_python()
