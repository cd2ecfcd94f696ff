"""Gradients that are operators of their own, in every layout."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

aten = torch.ops.aten
CLASSES = torch.tensor([0, 2, 1, 1])
SCORES, MASKS = floats(2, 3, 4, 4), ((4, 4), (2, 4), (2, 3, 4, 4))
ROWS = (floats(4, 3), floats(3, 4).t(), floats(8, 3)[::2])


def margins():
    """Gradients of losses over classes."""
    for x in ROWS:
        yield case("multi_margin_loss_backward", floats(4), x, CLASSES, 1, 1.0, None, 0)
        yield case("multi_margin_loss_backward", floats(), x, CLASSES, 1, 1.0, floats(3), 1)
        several = torch.zeros(4, 3).long()
        each = aten.multilabel_margin_loss_forward.default(x, several, 0)[1]
        yield case("multilabel_margin_loss_backward", floats(4), x, several, 0, each)


def pools():
    """Gradients of maxima over windows."""
    for x in (*LAYOUTS, LAYOUTS[0][0]):
        for ceil_mode in (False, True):
            window = ([2, 2], [2, 2], [0, 1], [1, 1], ceil_mode)
            largest, where = aten.max_pool2d_with_indices.default(x, *window)
            yield case("max_pool2d_with_indices_backward", largest, x, *window, where)


SAMPLES = [
    *margins(),
    *pools(),
    *[case("_masked_softmax", x, torch.rand(x.shape) > 0.5, -1) for x in LAYOUTS],
    *[case("_masked_softmax", SCORES, torch.rand(s) > 0.5, -1, t) for t, s in enumerate(MASKS)],
    *[case("_masked_softmax_backward", x, x, x > 0, -1) for x in LAYOUTS],
]
