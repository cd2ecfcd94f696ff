"""Calls of elementwise operators that PyTorch's own samples do not reach."""

import torch

aten = torch.ops.aten


def floats(*shape):
    """Ones of a shape."""
    return torch.ones(shape)


def integers(*shape):
    """Ones of a shape."""
    return torch.ones(shape, dtype=torch.int64)


ALIASES = (
    *("absolute", "negative", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh"),
    *("fix", "special_digamma", "special_erf", "special_erfc", "special_erfinv", "special_exp2"),
    *("special_expit", "special_expm1", "special_gammaln", "special_i0", "special_log1p"),
    *("special_logit", "special_psi", "special_round", "special_sinc", "special_bessel_y0"),
)
OF_TWO = (
    *("greater", "greater_equal", "less", "less_equal", "not_equal", "multiply", "subtract"),
    *("divide", "true_divide", "rsub", "gt", "fmod", "remainder", "copysign", "eq", "lt"),
)
BITS = ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")
BITS_SCALAR = ("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
SCALAR_FIRST = (
    *("special_xlog1py.self_scalar", "special_xlogy.self_scalar", "special_zeta.self_scalar"),
    *("xlogy.Scalar_Self", "remainder.Scalar_Tensor", "pow.Scalar", "float_power.Scalar"),
)
SCALAR_SECOND = (
    *("special_xlog1py.other_scalar", "special_xlogy.other_scalar", "special_zeta.other_scalar"),
    *("xlogy.Scalar_Other", "pow.Tensor_Scalar", "float_power.Tensor_Scalar"),
    *("floor_divide.Scalar", "clamp_min", "clamp_max", "isin.Tensor_Scalar"),
)
WITH_GRADIENT = ("gelu_backward", "sigmoid_backward", "silu_backward", "tanh_backward")


def operator(name):
    """`add.Tensor` or, for a default overload, `add`."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


def case(name, *args, **kwargs):
    """A call for later."""
    return lambda: operator(name)(*args, **kwargs)


X, Y = floats(2, 3, 4), floats(3, 1)
TURNED = floats(4, 3, 2).permute(2, 0, 1)
CHANNELS_LAST = floats(2, 3, 4, 5).to(memory_format=torch.channels_last)
SLICED = floats(4, 6)[:, ::2]
EXPANDED = floats(3, 1).expand(3, 5)
LAYOUTS = (TURNED, CHANNELS_LAST, SLICED, EXPANDED)

SAMPLES = [
    *[case(name, x) for name in ALIASES for x in (X, SLICED)],
    *[case(f"{name}.Tensor", X, Y) for name in OF_TWO],
    *[case(f"{name}.Scalar", X, 2.0) for name in OF_TWO],
    *[case(f"{name}.Tensor", integers(2, 3), integers(3)) for name in (*BITS, *SHIFTS)],
    *[case(f"{name}.Scalar", integers(2, 3), 1) for name in BITS],
    *[case(name, integers(2, 3), 1) for name in BITS_SCALAR],
    *[case(f"{name}_Tensor", 1, integers(2, 3)) for name in BITS_SCALAR],
    *[case(f"{name}.Tensor_Scalar", integers(2, 3), 1) for name in SHIFTS],
    *[case(f"{name}.Scalar_Tensor", 1, integers(2, 3)) for name in SHIFTS],
    *[case(name, 2.0, x) for name in SCALAR_FIRST for x in (X, TURNED)],
    *[case(name, x, 2.0) for name in SCALAR_SECOND for x in (X, TURNED)],
    *[case(name, X, X) for name in WITH_GRADIENT],
    *[case("arctan2", X, Y), case("special_xlogy", X, Y), case("threshold_backward", X, X, 0.0)],
    *[case("special_gammainc", X, Y), case("special_gammaincc", X, Y)],
    # Layouts meet: each alone, with a number, and with every other that fits.
    *[case("exp", x) for x in LAYOUTS],
    *[case("add.Tensor", x, 1) for x in LAYOUTS],
    *[case("add.Tensor", x, x.contiguous()) for x in LAYOUTS],
    *[case("add.Tensor", x.contiguous(), x) for x in LAYOUTS],
    *[case("mul.Tensor", x, torch.tensor(2)) for x in LAYOUTS],
    *[case("add.Tensor", CHANNELS_LAST, floats(size, 1, 1)) for size in (1, 3)],
    *[case("add.Tensor", floats(5), CHANNELS_LAST), case("add.Tensor", SLICED, floats(3))],
    *[case("add.Tensor", EXPANDED, floats(5, 3).t()), case("mul.Tensor", floats(4, 1), floats(3))],
    *[case("add.Tensor", integers(2, 3), 2.5), case("div.Tensor", integers(2, 3), 2)],
    *[case("add.Tensor", integers(2, 3), torch.tensor(2.5)), case("square", integers(2) == 1)],
    # Selection.
    *[case("clip", X, 0.0, 1.0), case("clip.Tensor", X, Y), case("clamp.Tensor", TURNED, None, Y)],
    *[case("clamp", integers(3), 0.5), case("clamp", TURNED, max=2)],
    *[case("where.Scalar", X > 0, 1, 2.0), case("where.ScalarOther", TURNED > 0, TURNED, 0.0)],
    *[case("where.ScalarSelf", X > 0, 1.5, integers(3, 4)), case("where.self", X > 0, X, Y)],
    *[case("where.self", CHANNELS_LAST > 0, CHANNELS_LAST, torch.tensor(0.0))],
    *[case("where.self", floats(5) > 0, CHANNELS_LAST, floats(3, 1, 1))],
    *[case("masked_fill.Scalar", x, x > 0, 0) for x in LAYOUTS],
    *[case("masked_fill.Tensor", X, Y > 0, torch.tensor(0.0))],
    *[case("ldexp.Tensor", x, y) for x, y in ((X, TURNED), (TURNED, X), (X[:, :1], TURNED[1]))],
    *[case("lerp.Tensor", X, Y, X), case("lerp.Scalar", TURNED, TURNED, 0.5)],
    *[case("div.Scalar_mode", X, 2.0, rounding_mode=mode) for mode in (None, "floor")],
    *[case("divide.Scalar_mode", integers(3), 2, rounding_mode="trunc")],
    *[case("divide.Tensor_mode", integers(3), 2, rounding_mode=None)],
    *[case("div.Tensor_mode", integers(3), integers(3), rounding_mode="floor")],
    *[case("glu", x, 1) for x in (floats(2, 6, 3), floats(6, 2).t(), floats(2, 8)[:, ::2])],
    *[
        case("prelu", x, floats(3))
        for x in (floats(2, 3), CHANNELS_LAST, floats(5, 3, 2, 4)[:, :, 1])
    ],
    *[case("prelu", floats(4), floats(1)), case("log_sigmoid_forward", X), case("frexp.Tensor", X)],
    *[case("log_sigmoid_forward", SLICED), case("log_sigmoid", CHANNELS_LAST)],
    *[case("polygamma", 1, TURNED), case("mvlgamma", floats(3, 4).t() + 2, 2)],
    *[case("isclose", TURNED, X), case("isfinite", SLICED), case("heaviside", SLICED, floats(3))],
    *[case("isin.Tensor_Tensor", TURNED, floats(7)), case("isinf", CHANNELS_LAST)],
    # Complex numbers.
    *[case("conj", x) for x in (X, X.to(torch.complex64), TURNED.to(torch.complex64))],
    *[case("real", x) for x in (X, TURNED.to(torch.complex64))],
    *[case("imag", x) for x in (X.to(torch.complex64)[1:], TURNED.to(torch.complex64))],
    *[case("view_as_real", x.to(torch.complex64)) for x in LAYOUTS],
    *[case("view_as_complex", x) for x in (floats(3, 5, 2), floats(4, 3, 2).transpose(0, 1)[1:])],
    *[case("resolve_conj", X), case("resolve_neg", X), case("positive", X), case("angle", TURNED)],
    *[case("polar", X, Y), case("complex", X, Y), case("abs", X.to(torch.complex64))],
    *[case("conj_physical", TURNED.to(torch.complex64)), case("_conj", X.to(torch.complex64))],
]
