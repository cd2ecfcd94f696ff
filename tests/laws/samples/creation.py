"""Calls of factories and random operators that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.pointwise import LAYOUTS, case, floats, integers

X = floats(2, 3)
GENERATOR = torch.Generator()
WINDOWS = ("bartlett", "blackman", "hamming", "hann", "kaiser")
FILLED = ("cauchy", "exponential", "log_normal", "uniform", "normal_functional")
LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
DROPOUTS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
RANGES = (
    *((0, 5, 1), (2, 9, 3), (5, 0, -2), (0.0, 2.5, 1), (0, 1, 0.3), (1.5, -1, -0.5)),
    *((3, 3, 1), (0, 7.9, 2)),
)

SAMPLES = [
    *[case(name, size) for name in ("zeros", "ones", "rand", "randn") for size in ([2, 3], [])],
    *[case("empty.memory_format", [2, 3, 4, 5], memory_format=torch.channels_last)],
    *[case("empty_strided", [2, 3], strides) for strides in ([3, 1], [1, 2], [6, 2])],
    *[case("new_empty_strided", X, [2, 3], [1, 2], dtype=torch.int64)],
    *[case("empty_permuted", [2, 3, 4], order) for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0])],
    *[case("full", [2, 3], value) for value in (1, 1.5, True, 1j)],
    *[case("full", [2, 3], 1, dtype=torch.float16), case("scalar_tensor", 2)],
    *[case("scalar_tensor", 2, dtype=torch.int64), case("new_full", X, [4], 2)],
    *[case(f"new_{name}", X, [4, 5]) for name in ("zeros", "ones", "empty")],
    *[case(name, x) for name in LIKE for x in LAYOUTS],
    *[case("zeros_like", x, memory_format=torch.contiguous_format) for x in LAYOUTS],
    *[case("full_like", x, 1, dtype=torch.int64) for x in LAYOUTS],
    *[case("fill.Scalar", x, 1) for x in LAYOUTS],
    *[case("fill.Tensor", X, torch.tensor(2)), case("zero", X.t())],
    *[case("arange.start_step", *ends) for ends in RANGES],
    *[case("arange.start_step", *ends, dtype=torch.int64) for ends in RANGES if int(ends[2])],
    *[case("arange.start_step", *ends, dtype=torch.int32) for ends in RANGES],
    *[case("arange.start", 2, 7), case("arange.start", 2, 7.5), case("arange", 2.5)],
    *[case("arange", 5), case("arange", 5, dtype=torch.float32)],
    *[case("linspace.Scalar_Tensor", 1, torch.tensor(2.0), 4), case("linspace", 0, 1, 5)],
    *[case("logspace.Scalar_Tensor", 1, torch.tensor(2.0), 4), case("linspace", 0, 1j, 5)],
    *[
        case("eye", 3),
        case("eye.m", 3, 4),
        case("tril", X.t()),
        case("triu", floats(4, 3)[:, ::2], 1),
    ],
    *[
        case(name, row, col, offset)
        for name in ("tril_indices", "triu_indices")
        for row, col in ((3, 3), (2, 5), (5, 2), (0, 3))
        for offset in (-3, -1, 0, 1, 4, 9)
    ],
    *[case("one_hot", integers(2, 3), 4), case("one_hot", integers(2, 3))],
    *[case(f"{name}_window", 7) for name in WINDOWS],
    *[case(f"{name}_window.periodic", 7, False) for name in WINDOWS],
    *[
        case("hamming_window.periodic_alpha", 7, True, 0.5),
        case("kaiser_window.beta", 7, True, 9.0),
    ],
    *[case("hamming_window.periodic_alpha_beta", 7, True, 0.5, 0.5)],
    *[case("hann_window", 1, dtype=torch.float64), case("fft_fftfreq", 7), case("fft_rfftfreq", 7)],
    # Random.
    *[case(f"{name}.generator", [2, 3], generator=GENERATOR) for name in ("rand", "randn")],
    *[case("randint", 5, [2, 3]), case("randint.low", 1, 5, [2, 3], dtype=torch.float32)],
    *[case("randint.generator", 5, [2, 3], generator=None)],
    *[case("randint.low_generator", 1, 5, [2, 3], generator=None)],
    *[case("randperm", 5), case("randperm.generator", 5, generator=GENERATOR)],
    *[case(f"{name}.generator", X.t(), generator=None) for name in ("rand_like", "randn_like")],
    *[case("randint_like", x, 5) for x in LAYOUTS],
    *[case("randint_like.low_dtype", X, 1, 5), case("randint_like.Tensor", X, torch.tensor(5))],
    *[case("randint_like.generator", X, 5, generator=None)],
    *[case("randint_like.Tensor_generator", X, torch.tensor(5), generator=None)],
    *[case("randint_like.low_generator_dtype", X, 1, 5, generator=None)],
    *[case(name, x) for name in FILLED for x in LAYOUTS],
    *[case("geometric", x, 0.5) for x in LAYOUTS],
    *[case("bernoulli", x) for x in LAYOUTS],
    *[case("bernoulli.p", x, 0.5) for x in LAYOUTS],
    *[case("bernoulli.Tensor", x, floats(1)) for x in LAYOUTS],
    *[case("normal.Tensor_float", x) for x in LAYOUTS],
    *[case("normal.float_Tensor", 0.0, x) for x in LAYOUTS],
    *[case("normal.Tensor_Tensor", x, floats(1)) for x in LAYOUTS],
    *[case("normal.Tensor_Tensor", X.t(), X.t()), case("normal.float_float", 0.0, 1.0, [2, 3])],
    *[case("poisson", x) for x in LAYOUTS],
    *[case("multinomial", X, 2), case("multinomial", floats(4), 7, True)],
    *[case(name, x, 0.5, True) for name in DROPOUTS for x in LAYOUTS],
    *[case(name, X, 0.5, False) for name in DROPOUTS],
    *[case("dropout", X, 0.0, True), case("dropout", X.t(), 1.0, True)],
    *[case("native_dropout", x, 0.5, train) for x in LAYOUTS for train in (True, False, None)],
    *[case("native_dropout_backward", X, X > 0, 2.0)],
]
