"""Losses whose operands lie in different ways."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

X = floats(2, 3, 4, 5)
INDEX = torch.zeros(2, 4, 5, dtype=torch.int64)
LENGTHS = torch.tensor([7, 7])
TWO = (
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss"),
    *("binary_cross_entropy", "hinge_embedding_loss", "binary_cross_entropy_with_logits"),
)


def with_reduction(name, reduction):
    """Where the name says the reduction."""
    return {"reduction": reduction} if reduction != 1 else {}


SAMPLES = [
    *[
        case(name, x, target, **with_reduction(name, reduction))
        for name in TWO
        for x in LAYOUTS
        for target in LAYOUTS
        for reduction in (0, 1)
    ],
    *[case(name, X, floats(4, 1), reduction=0) for name in ("mse_loss", "l1_loss", "huber_loss")],
    *[case("poisson_nll_loss", x, y, True, False, 1e-8, 0) for x in LAYOUTS for y in LAYOUTS],
    *[case(f"nll_loss{kind}", x, INDEX, None, 0) for kind in ("_nd", "2d") for x in LAYOUTS],
    *[
        case("cross_entropy_loss", x, y, None, r)
        for x in LAYOUTS
        for y in (INDEX, X)
        for r in (0, 1, 2)
    ],
    *[case("cross_entropy_loss", x, INDEX, None, 0, -100, 0.1) for x in LAYOUTS],
    *[case("cross_entropy_loss", floats(3), t) for t in (torch.tensor(0), floats(3))],
    *[case("nll_loss2d_forward", X, INDEX, floats(3), r, -100) for r in (0, 1, 2)],
    *[case("nll_loss_forward", floats(4, 3), INDEX[0, :, 0], None, r, -100) for r in (0, 1, 2)],
    *[case("nll_loss_nd", floats(2, 3, 4), INDEX[:, :, 0], None, r) for r in (0, 1)],
    *[case("nll_loss_nd", floats(2, 3, 4, 1, 2), torch.zeros(2, 4, 1, 2).long(), None, 0)],
    *[case("margin_ranking_loss", x, y, X, 0.0, 0) for x in LAYOUTS for y in LAYOUTS],
    *[case("triplet_margin_loss", x, x, x, reduction=0) for x in LAYOUTS],
    *[case("triplet_margin_loss", X, X, X, swap=True, reduction=0)],
    *[case("cosine_embedding_loss", floats(4, 3), floats(4, 3), floats(4), reduction=0)],
    *[case("cosine_embedding_loss", floats(3), floats(3), floats(), reduction=0)],
    *[case("multi_margin_loss", floats(4, 3), INDEX[0, :, 0], reduction=r) for r in (0, 1)],
    *[
        case("multilabel_margin_loss_forward", *[floats(*s), torch.zeros(s).long()], 0)
        for s in ((3,), (4, 3))
    ],
    *[
        case("ctc_loss.IntList", floats(7, 2, 5), floats(2, 3).long(), [7, 7], [3, 2], reduction=r)
        for r in (0, 1)
    ],
    case(
        "ctc_loss.Tensor",
        floats(7, 2, 5),
        floats(2, 3).long(),
        torch.tensor([7, 7]),
        torch.tensor([3, 2]),
    ),
    *[
        case("_ctc_loss", floats(7, 2, 5), floats(2, 3).long(), [7, 7], lengths)
        for lengths in ([3, 2], [0, 1])
    ],
    case("_ctc_loss", floats(7, 5), floats(3).long(), [7], [3]),
    case("_ctc_loss.Tensor", floats(7, 2, 5), floats(2, 3).long(), LENGTHS, torch.tensor([3, 2])),
]
