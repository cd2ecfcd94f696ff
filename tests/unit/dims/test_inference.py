"""What several calls say about sizes."""

import pytest
import torch

from monograph import Dim, SpecError, dims, export, infer_dynamic_shapes


def said(forward, *calls):
    """The inferred declaration, as people read it."""
    return repr(dict(infer_dynamic_shapes(forward, calls)))


def sizes(*shapes):
    """A call with tensors of these shapes."""
    return (tuple([torch.ones(shape) for shape in shapes]), {})


def test_equal_sizes_are_one_dim_and_unrelated_ones_are_not():
    """Two calls are enough for that."""
    found = said(lambda x, y: x, sizes((2, 5, 3), (2, 7)), sizes((4, 5, 8), (4, 9)))
    assert found == "{'x': (x_0, None, x_2), 'y': (x_0, y_1)}"


def test_a_relation_needs_three_calls_that_agree():
    """Through two points there is always a line."""
    calls = [sizes((n,), (2 * n,), (n + 1,)) for n in (2, 5, 7)]
    assert said(lambda x, y, z: x, *calls[:2]) == "{'x': (x_0,), 'y': (y_0,), 'z': (z_0,)}"
    assert said(lambda x, y, z: x, *calls[:2], calls[0]) == said(lambda x, y, z: x, *calls[:2])
    assert said(lambda x, y, z: x, *calls) == "{'x': (x_0,), 'y': (2*x_0,), 'z': (x_0 + 1,)}"
    calls[2] = sizes((7,), (15,), (8,))
    assert said(lambda x, y, z: x, *calls) == "{'x': (x_0,), 'y': (y_0,), 'z': (x_0 + 1,)}"


def test_the_root_is_the_one_that_varies_least():
    """Wherever it is among the inputs."""
    calls = [sizes((3 * n - 1,), (n,)) for n in (2, 5, 7)]
    assert said(lambda x, y: x, *calls) == "{'x': (3*y_0 - 1,), 'y': (y_0,)}"


def test_numbers_take_part():
    """An int may be a size; a float that differs is dynamic."""
    calls = [((torch.ones(n), n, 0.5 * n, "s"), {"k": -n}) for n in (2, 5, 7)]
    found = infer_dynamic_shapes(lambda x, n, f, s, k: x, calls)
    assert repr(found) == "{'x': (x_0,), 'n': x_0, 'f': Dim.DYNAMIC, 's': None, 'k': k}"
    assert found["k"].min == -7


def test_it_can_be_pasted():
    """The text is Python that defines the Dims and the declaration."""
    calls = [(({"a": torch.ones(n, 2), "b": [torch.ones(2 * n)]}, -n), None) for n in (2, 5, 7)]
    found = infer_dynamic_shapes(lambda x, k: x, calls)
    names = {"Dim": Dim}
    exec(str(found), names)
    assert repr(names["dynamic_shapes"]) == repr(dict(found))
    assert names["dynamic_shapes"]["k"].min == -7


def test_it_can_be_used():
    """The program accepts every call it was made from."""

    class Model(torch.nn.Module):
        def forward(self, x, mask, out):
            return x * mask[:, None], out.reshape(2, -1)

    calls = [sizes((n, m), (n,), (2 * n,)) for n, m in ((2, 3), (5, 4), (7, 9))]
    found = infer_dynamic_shapes(Model(), calls)
    module = export(Model(), *calls[0], dynamic_shapes=found).module()
    for args, _ in calls:
        for mine, theirs in zip(module(*args), Model()(*args), strict=True):
            assert torch.equal(mine, theirs)


def test_a_call_without_keywords_may_be_its_arguments():
    """As people collect them."""
    calls = [(torch.ones(2), torch.ones(3)), (torch.ones(4), torch.ones(3))]
    assert repr(infer_dynamic_shapes(lambda x, y: x, calls)) == "{'x': (x_0,), 'y': (None,)}"


def test_what_cannot_be_dynamic_is_refused():
    """With its path."""
    with pytest.raises(SpecError, match="mode"):
        infer_dynamic_shapes(lambda mode: mode, [(("a",), {}), (("b",), {})])
    assert dims("a", "b")
