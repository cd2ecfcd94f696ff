"""Recurrent layers, attention, resizing, transforms and random numbers agree with eager.

Static and with a dynamic size, in both modes, as recorded and lowered; random ones under one seed.
"""

import pytest

import monograph
from tests.laws.exporting import difference_of, seen
from tests.laws.layers import LAYERS, Of

pytestmark = pytest.mark.laws

AUTO = monograph.Dim.AUTO


def left_open(args, others):
    """Every dimension that differs between the sizes of an example."""
    return tuple(
        {at: AUTO for at in range(one.dim()) if one.shape[at] != two.shape[at]}
        for one, two in zip(args, others, strict=True)
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_agree_with_eager(name, dynamic, strict):
    """Values, strides, aliasing and the stream of random numbers."""
    layer = LAYERS[name]
    args = layer.arguments(layer.sizes[0])
    sizes = layer.sizes if dynamic else layer.sizes[:1]
    shapes = left_open(args, layer.arguments(sizes[-1])) if len(sizes) > 1 else None
    module = layer.module()
    if shapes is not None and isinstance(module, Of):
        shapes = {"inputs": shapes}
    program = monograph.export(module, args, dynamic_shapes=shapes, strict=strict)
    for form in (program.module(), program.run_decompositions().module()):
        for size in sizes:
            given = layer.arguments(size)
            expected, actual = seen(layer.module(), given, {}), seen(form, given, {})
            assert not isinstance(expected, Exception), expected
            assert not isinstance(actual, Exception), actual
            assert not difference_of(expected, actual), (size, difference_of(expected, actual))
