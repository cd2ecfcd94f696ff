"""Calls of indexing, embedding, finding and sorting that PyTorch's own samples do not reach."""

import itertools

import torch

from tests.laws.samples.pointwise import case, floats, integers
from tests.laws.samples.views import LAYOUTS, SLICED, TURNED, X

I1, I2 = integers(3), integers(4, 1)
FLIPPED = integers(2, 3).t()
MASK = torch.ones(2, 3, dtype=torch.bool)
MASK_OF = {x: torch.ones(x.shape[:2], dtype=torch.bool) for x in LAYOUTS}
INDICES = (
    *([I1 * 0], [None, I1], [I1 * 0, I2], [I1 * 0, None, I2], [None, FLIPPED, I2[0]]),
    *([None, FLIPPED * 0, FLIPPED], [FLIPPED, None, FLIPPED], [None, None, I2]),
)
BAG = (floats(10, 4), integers(6), torch.tensor([0, 2, 4]))
TURNED_BAG = (floats(4, 10).t(), *BAG[1:])
# Not the greatest of bags with a last offset: without any index the kernel crashes.
MODES = ((0, False), (0, True), (1, False), (1, True), (2, False))
FLAGS = (False, 0, False, None, False)
BAGS = tuple(itertools.product((False, True), (None, floats(6))))
SORTED = torch.tensor([1.0, 2.0, 3.0])

SAMPLES = [
    *[case("index.Tensor", x, indices) for x in LAYOUTS for indices in INDICES],
    *[case("_unsafe_index.Tensor", x, indices) for x in (X, TURNED) for indices in INDICES],
    *[case("index.Tensor", x, [MASK_OF[x]]) for x in LAYOUTS],
    *[case("index.Tensor", X, [MASK, integers(6)]), case("index.Tensor", X, [MASK, I2[:1, 0]])],
    *[case("index.Tensor", X, [MASK, I2]), case("index.Tensor", X, [None, MASK[0], I1])],
    *[case("index.Tensor", X, [torch.ones(2) > 0, None, torch.ones(4) > 2])],
    *[case("index_put", x, [I1], floats()) for x in LAYOUTS],
    *[case("index_put", X, [MASK], floats(4)), case("_unsafe_index_put", X, [I1], floats(3, 4))],
    *[case("index_put", X, [MASK], floats(6, 4)), case("index_put", X, [None, I1], floats(1, 1))],
    *[case("index_select", x, 1, I1) for x in LAYOUTS],
    *[case("index_fill.int_Scalar", x, 1, I1, 2) for x in LAYOUTS],
    *[
        case("index_add", x, 1, I1, x[:, :1].expand_as(x)[:, :1].repeat_interleave(3, 1))
        for x in LAYOUTS
    ],
    *[case("take", x, I2) for x in LAYOUTS],
    *[case("embedding", floats(5, 3), i) for i in (I1, I2, FLIPPED, integers(2).int())],
    *[case("_embedding_bag", *BAG, False, mode, False, None, last) for mode, last in MODES],
    *[case("embedding_bag", *BAG, False, mode, False, None, last) for mode, last in MODES],
    *[case("_embedding_bag_forward_only", *BAG, False, 0, False, w, last) for last, w in BAGS],
    *[case("_embedding_bag", *TURNED_BAG, False, 0, False, w, last) for last, w in BAGS],
    *[case("embedding_bag.padding_idx", *BAG, *FLAGS, p) for p in (None, 1, -1)],
    *[case("gather", x, 1, x.long() * 0) for x in LAYOUTS],
    *[case("scatter.value", x, 1, x.long() * 0, 1.0) for x in LAYOUTS],
    *[case("scatter.value_reduce", X, 1, X.long(), 1.0, reduce="add")],
    *[case("scatter_add", x, 1, x.long() * 0, x) for x in LAYOUTS],
    *[case("take_along_dim", x, x.long()[:, :1] * 0, 1) for x in LAYOUTS],
    *[case("sort", x, 1) for x in LAYOUTS],
    *[case(name, x, stable=True) for name in ("sort.stable", "argsort.stable") for x in LAYOUTS],
    *[case("topk", x, 2, 0) for x in LAYOUTS],
    *[case(name, x) for name in ("_unique", "where", "nonzero_numpy", "argwhere") for x in LAYOUTS],
    *[case("_unique2", x, True, inverse, True) for x in LAYOUTS for inverse in (False, True)],
    *[case("unique_dim", x, 1) for x in LAYOUTS],
    *[case("unique_dim_consecutive", x, -1) for x in LAYOUTS],
    *[case("unique_consecutive", x, True, True, None) for x in LAYOUTS],
    *[case("unique_consecutive", x, True, True, 0) for x in (*LAYOUTS, X[0, 0])],
    *[case("searchsorted.Scalar", SORTED, 2.0), case("bucketize.Scalar", 2.0, SORTED)],
    *[case("searchsorted.Tensor", SORTED, x) for x in LAYOUTS],
    *[case("repeat_interleave.Tensor", integers(3)), case("masked_select", SLICED, SLICED > 0)],
    *[
        case("repeat_interleave.self_Tensor", X, r, 1)
        for r in (integers(3), integers(1), integers())
    ],
    *[case("bincount", integers(3), w, 2) for w in (None, floats(3), integers(3))],
]
