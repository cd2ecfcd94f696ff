"""Calls of views, joins and copies that PyTorch's own samples do not reach, in many layouts."""

import itertools

import torch

from tests.laws.samples.pointwise import case, floats, integers

X = floats(2, 3, 4)
IMAGE = floats(2, 3, 4, 6)
TURNED = floats(4, 3, 2).permute(2, 0, 1)
CHANNELS_LAST = IMAGE.to(memory_format=torch.channels_last)
VOLUME = floats(2, 3, 4, 5, 6)
SLICED = floats(4, 6, 5)[1:, ::2, :4]
HEADS = floats(2, 5, 3, 4).transpose(1, 2)
EXPANDED = floats(3, 1, 4).expand(3, 5, 4)
LAYOUTS = (X, TURNED, SLICED, EXPANDED, CHANNELS_LAST, HEADS)
PADS = {
    1: ((X, [1, 2]), (X[0], [1, 0])),
    2: ((IMAGE, [1, 2, 1, 1]), (CHANNELS_LAST, [1, 1, 2, 1]), (X, [1, 1, 0, 1])),
    3: ((VOLUME, [1, 2, 1, 1, 1, 1]), (IMAGE, [1, 1, 2, 1, 1, 1])),
}
VOLUME_LAST = VOLUME.to(memory_format=torch.channels_last_3d)
NUMBERS = ("sym_size.int", "sym_stride.int")
NAMES = ("sym_numel", "sym_storage_offset", "ravel", "squeeze", "nonzero", "numpy_T")
SLICES = tuple(itertools.product((None, 0, 1, -2, 7), (None, 2, -1, 9, -9), (1, 2)))
SPLITS = ("split.Tensor", "unsafe_split.Tensor", "chunk", "unsafe_chunk", "tensor_split.sections")

SAMPLES = [
    *[case("_reshape_alias", X, [6, 4], [4, 1]), case("view.dtype", X, torch.int32)],
    *[case("view.dtype", x, to) for x in (X, IMAGE, SLICED) for to in (torch.int16, torch.uint8)],
    *[case("view.dtype", x, torch.float64) for x in (X, IMAGE)],
    *[case("reshape", x, [-1]) for x in LAYOUTS],
    *[case("reshape", x, [x.shape[0], -1]) for x in LAYOUTS],
    *[
        case("flatten.using_ints", x, first, last)
        for x in LAYOUTS
        for first, last in ((0, 1), (1, 2))
    ],
    *[case("view", x, [*x.shape[:-1], 2, -1]) for x in LAYOUTS],
    *[case("reshape", HEADS.transpose(1, 2), [2, 5, 12]), case("reshape", HEADS, [2, 3, -1])],
    *[case("reshape", HEADS, [2, 15, 4]), case("view", HEADS.transpose(1, 2), [2, 5, 12])],
    *[case("unflatten.int", x, -1, [2, -1]) for x in LAYOUTS],
    *[case("unflatten.int", x, 0, [x.shape[0], 1]) for x in LAYOUTS],
    *[case(name, x, dim) for name in NUMBERS for x in LAYOUTS for dim in (0, -1)],
    *[case(name, x) for name in NAMES for x in LAYOUTS],
    *[case("slice.Tensor", x, 1, *ends) for x in (X, SLICED) for ends in SLICES],
    *[case("slice.Tensor", X, 0, *ends) for ends in SLICES],
    *[case("select.int", x, dim, i) for x in LAYOUTS for dim in (0, 1, -1) for i in (0, 1, -1)],
    *[case("narrow", x, 1, start, 1) for x in LAYOUTS for start in (0, 1, -1)],
    *[case("narrow.Tensor", X, 1, torch.tensor(1), 2)],
    *[case(name, x, 2, dim) for name in SPLITS for x in LAYOUTS for dim in (0, -1)],
    *[case(name, floats(12, 2), n) for name in SPLITS for n in (1, 3, 4, 5, 7)],
    *[case("tensor_split.indices", x, [1, 3, -1], 1) for x in LAYOUTS],
    *[case("split.sizes", X, [1, 2], 1), case("unsafe_split_with_sizes", X, [3, 1], 2)],
    *[case("adjoint", x) for x in LAYOUTS],
    *[case(name, x, 0, -1) for name in ("swapaxes", "swapdims", "movedim.int") for x in LAYOUTS],
    *[case("moveaxis.int", x, 0, 1) for x in LAYOUTS],
    *[case("moveaxis.intlist", x, [0, 1], [1, 2]) for x in LAYOUTS],
    *[case("expand", x.unsqueeze(1), [4, -1, 3, *x.shape[1:]]) for x in LAYOUTS],
    *[case("expand", floats(1, 3), [4, 3]), case("expand", floats(), [2, 3])],
    *[case("meshgrid", [floats(3), floats(4), floats()])],
    *[case("meshgrid.indexing", [floats(3), floats(4)], indexing="xy")],
    *[case("diagonal", x, k, 0, 1) for x in LAYOUTS for k in (-1, 0, 1, 3)],
    *[case("unfold", x, 1, 2, 1) for x in LAYOUTS],
    *[
        case(name, [x, x])
        for name in ("cat", "stack", "hstack", "vstack", "dstack")
        for x in LAYOUTS
    ],
    *[case(name, [X, integers(2, 3, 1)], -1) for name in ("concat", "concatenate", "cat")],
    *[case("cat", [X, torch.zeros(0)], 1), case("cat", [CHANNELS_LAST, IMAGE], 1)],
    *[
        case("pad_sequence", [floats(3, 2), floats(5, 2), floats(1, 2)], first, 0.5, side)
        for first in (True, False)
        for side in ("left", "right")
    ],
    *[case("pad_sequence", [integers(4), integers(0)]), case("pad_sequence", [floats(2, 0, 3)])],
    *[case("stack", [X, integers(2, 3, 4)], 1), case("row_stack", [X, X])],
    *[case("column_stack", [floats(3), floats(3, 2), floats(3)]), case("column_stack", [X, X])],
    *[case("combinations", floats(5), r, again) for r in (0, 1, 2, 3) for again in (False, True)],
    *[case("flip", x, [0]) for x in LAYOUTS],
    *[case("roll", x, [s], [1]) for x in LAYOUTS for s in (0, 1, 3)],
    *[case("roll", x, [1, 2], [0, 1]) for x in LAYOUTS],
    *[case("roll", x, [1]) for x in LAYOUTS],
    *[case("rot90", x, k) for x in LAYOUTS for k in range(4)],
    *[case("pixel_shuffle", x, 2) for x in (floats(8, 3, 2), floats(1, 2, 4, 6, 3))],
    *[case("pixel_unshuffle", x, 2) for x in (IMAGE, CHANNELS_LAST)],
    *[case("native_channel_shuffle", x, 3) for x in (IMAGE, CHANNELS_LAST)],
    *[case("channel_shuffle", x, 3) for x in (IMAGE, CHANNELS_LAST)],
    *[case("slice_scatter", x, x[:, 1:], 1, 1) for x in LAYOUTS],
    *[case("select_scatter", x, x[0], 0, 0) for x in LAYOUTS],
    *[case("diagonal_scatter", x, x.diagonal()) for x in LAYOUTS],
    *[case("repeat", x, [2] + [1] * x.dim()) for x in LAYOUTS],
    *[case("repeat_interleave.self_int", x, 2, dim) for x in LAYOUTS for dim in (None, 1)],
    *[case(f"reflection_pad{n}d", x, pad) for n, cases in PADS.items() for x, pad in cases],
    *[case(f"replication_pad{n}d", x, pad) for n, cases in PADS.items() for x, pad in cases],
    *[case("pad", x, pad, "circular") for cases in PADS.values() for x, pad in cases],
    *[case(f"{kind}_pad3d", VOLUME_LAST, [1] * 6) for kind in ("reflection", "replication")],
    *[case("constant_pad_nd", x, pad) for x in LAYOUTS for pad in ([1, 2], [-1, 0], [0, 0, -1, 1])],
    *[case("im2col", x, [2, 2], [1, 1], [0, 1], [1, 2]) for x in (IMAGE, CHANNELS_LAST)],
    *[case("col2im", floats(2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])],
    *[case("col2im", floats(12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])],
    *[case("set_.source_Tensor", floats(2, 3), x) for x in LAYOUTS],
    *[case("set_", floats(2, 3))],
]
