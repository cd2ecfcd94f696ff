"""ShapesCollection: the declaration that torch.export makes of the same assignments."""

import dataclasses

import pytest
import torch

import monograph
from monograph import Dim, ShapesCollection, SpecError, export
from monograph.dynamic_shapes import IntInput


class Nested(torch.nn.Module):
    def forward(self, inp):
        return inp["x"] * 1, inp["others"][0] * 2, inp["others"][1] * 3


@dataclasses.dataclass
class Box:
    t: torch.Tensor
    n: int


monograph.register_dataclass(Box)


def test_the_documented_program():
    """Assigned per tensor, nested like the inputs, and the program varies as declared."""
    x, y, z = torch.randn(3, 4, 8), torch.randn(6), torch.randn(6)
    dim, shapes = Dim("dim"), ShapesCollection()
    shapes[x] = (dim, dim + 1, 8)
    shapes[y] = {0: dim * 2}
    inputs = ({"x": x, "others": [y, z]},)
    found = shapes.dynamic_shapes(Nested(), inputs)
    assert repr(found) == "{'inp': {'x': (dim, dim + 1, 8), 'others': [{0: 2*dim}, None]}}"
    module = export(Nested(), inputs, dynamic_shapes=shapes).module()
    other = {"x": torch.randn(5, 6, 8), "others": [torch.randn(10), torch.randn(6)]}
    for mine, theirs in zip(module(other), Nested()(other), strict=True):
        assert torch.equal(mine, theirs)
    with pytest.raises(monograph.ContractError):
        module({**other, "others": [torch.randn(9), torch.randn(6)]})


def test_it_says_what_torch_says():
    """The same structure for dicts, lists, registered classes, *args and keywords."""

    def forward(a, *rest, k, **more):
        """Take everything."""

    x, y, z, w = [torch.ones(i + 2) for i in range(4)]
    args, kwargs = ([{"t": x}, 3], Box(y, 4), z), {"k": w}
    ours, theirs = ShapesCollection(), torch.export.ShapesCollection()
    for tensor in (x, y, w):
        ours[tensor] = theirs[tensor] = ("n",)
    assert ours.dynamic_shapes(forward, args, kwargs) == theirs.dynamic_shapes(
        forward, args, kwargs
    )


def test_ints_have_an_identity_where_they_are_wrapped():
    """Equal ints are one object; a wrapped one is declared, and the others stay as they are."""

    class Counts(torch.nn.Module):
        def forward(self, x, numbers):
            return x * numbers[0] + numbers[1]

    for wrapper in (IntInput, torch.export.dynamic_shapes._IntWrapper):
        shapes, first, x = ShapesCollection(), wrapper(3), torch.ones(4)
        shapes[first] = Dim.DYNAMIC
        shapes[x] = {0: Dim.DYNAMIC}
        args = (x, [first, wrapper(3)])
        found = shapes.dynamic_shapes(Counts(), args)
        assert found == {"x": {0: Dim.DYNAMIC}, "numbers": [Dim.DYNAMIC, None]}
        module = export(Counts(), args, dynamic_shapes=shapes).module()
        assert torch.equal(module(torch.ones(6), [5, 3]), torch.ones(6) * 5 + 3)
        with pytest.raises(monograph.ContractError):
            module(torch.ones(6), [5, 4])
    shapes[IntInput(7)] = Dim.DYNAMIC
    with pytest.raises(SpecError, match="not among the inputs"):
        export(Counts(), args, dynamic_shapes=shapes)


def test_one_tensor_in_two_places_has_one_declaration():
    """Wherever it is passed."""
    x, shapes = torch.ones(3), ShapesCollection()
    shapes[x][0] = "n"
    assert shapes.dynamic_shapes(lambda a, b: a, (x, [x])) == {"a": {0: "n"}, "b": [{0: "n"}]}
    assert len(shapes) == 1
    assert shapes[torch.ones(3)] == {}


def test_what_is_assigned_and_not_passed_is_refused():
    """A copy is another tensor."""
    x, shapes = torch.ones(3), ShapesCollection()
    shapes[x] = {0: Dim("n")}
    with pytest.raises(SpecError) as refused:
        shapes.dynamic_shapes(lambda a: a, (x.clone(),))
    assert refused.value.diagnostic.name == "spec-inputs-not-found"


def test_assignments_that_contradict_are_refused():
    """The same again is no contradiction."""
    x, shapes, n = torch.ones(3), ShapesCollection(), Dim("n")
    shapes[x] = (n,)
    shapes[x] = (n,)
    with pytest.raises(SpecError) as refused:
        shapes[x] = (Dim("m"),)
    assert refused.value.diagnostic.name == "spec-assigned-twice"
    with pytest.raises(SpecError) as refused:
        shapes[3] = (n,)
    assert refused.value.diagnostic.name == "spec-on-non-tensor"
