"""FLOPs: those that PyTorch counts while models run, at sizes unlike the example."""

from contextlib import suppress

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula

import monograph
from monograph.estimation import estimate, flop_formula
from monograph.estimation.flop_registry import FORMULAS
from tests.laws.database import modules, operators, seeded
from tests.models import hugging_face, own  # noqa: F401 - they register
from tests.models.harness import Exporter, build, captured_once, inputs_at
from tests.models.registry import MODELS

OURS = Exporter(monograph.export, monograph)


def counted(function, args=(), kwargs=None):
    """What PyTorch counts in a call, by kernels that it has formulas for."""
    off = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with off, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as mode:
        function(*args, **(kwargs or {}))
    return mode.get_total_flops()


DROPPED = {"vit_any_size"}
"""Models that compute what nobody uses, which their programs leave out."""


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models_cost_what_pytorch_counts(name):
    """The formula of a program, at each of a model's sizes, is what running both counts."""
    model = MODELS[name]
    program = captured_once(model, OURS, "named")
    found = estimate(program)
    module, inputs = build(model)
    for sizes in model.sizes:
        known = {each: value for each, value in sizes.items() if each in found.names.values()}
        expected = counted(program.module(), *inputs_at(inputs, sizes, 0))
        assert found.at(known).flops == expected > 0
        if name not in DROPPED:
            assert expected == counted(module, *inputs_at(inputs, sizes, 0))


UNCOUNTED = {"addbmm", "addmv", "bilinear", "dot", "inner", "matmul", "mv", "tensordot", "vdot"}
"""What PyTorch has no formula for, or comes to: products with vectors, sums of products."""


@pytest.mark.laws
@pytest.mark.slow
def test_operators_cost_what_pytorch_counts():
    """Over PyTorch's databases: no composite operator is missed, and nothing is counted besides."""
    wrong, equal = [], 0
    for entry in [*operators(), *modules()]:
        for sample in samples_of(entry):
            with seeded(), torch.no_grad(), suppress(Exception):
                expected = counted(sample.build(), sample.args, sample.kwargs)
                program = monograph.export(sample.build(), sample.args, sample.kwargs)
                found = estimate(program)
                used = {row.operator.removeprefix("aten.") for row in found.operators}
                equal += expected == found.flops > 0
                if expected != found.flops and (expected or not used & UNCOUNTED):
                    wrong.append((entry.name, expected, found.flops))
    assert wrong == []
    assert equal > 120


def samples_of(entry):
    """Some need libraries that are not here."""
    with suppress(Exception):
        return entry.samples(3)
    return []


# What the formulas of PyTorch are given, on the meta device: arguments, and the result.
def meta(*shape):
    """A tensor without data."""
    return torch.empty(shape, device="meta")


Q, KV, PACKED, CUMULATIVE = meta(2, 4, 6, 8), meta(2, 2, 5, 8), meta(9, 4, 8), meta(4)
X, W, Y = meta(2, 4, 9, 9), meta(6, 2, 3, 3), meta(2, 6, 7, 7)
CONV = (None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2)
TRANSPOSED = (None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1)
PRODUCT = (meta(3, 4), meta(4, 5))
LENGTHS = (CUMULATIVE, CUMULATIVE, 7, 6)
CALLS = {
    "mm": (PRODUCT, meta(3, 5)),
    "addmm": ((meta(5), *PRODUCT), meta(3, 5)),
    "bmm": ((meta(2, 3, 4), meta(2, 4, 5)), meta(2, 3, 5)),
    "baddbmm": ((meta(5), meta(2, 3, 4), meta(2, 4, 5)), meta(2, 3, 5)),
    "_scaled_mm": ((*PRODUCT, meta(), meta()), meta(3, 5)),
    "convolution": ((X, W, *CONV), Y),
    "_convolution": ((Y, W, *TRANSPOSED), meta(2, 2, 9, 9)),
    "convolution_overrideable": ((X, W, *CONV), Y),
    "cudnn_convolution": ((X, W, [0, 0], [1, 1], [1, 1], 2, False, False, True), Y),
    "_slow_conv2d_forward": ((X, meta(6, 4, 3, 3), [3, 3], None, [1, 1], [0, 0], False), Y),
    "convolution_backward": ((Y, X, W, *CONV, [True, True, False]), (X, W, None)),
    "_scaled_dot_product_flash_attention": ((Q, KV, KV), (Q,)),
    "_scaled_dot_product_efficient_attention": ((Q, KV, KV, None, False), (Q,)),
    "_scaled_dot_product_cudnn_attention": ((Q, KV, KV, None, False), (Q,)),
    "_scaled_dot_product_flash_attention_backward": ((Q, Q, KV, KV), (Q, KV, KV)),
    "_scaled_dot_product_efficient_attention_backward": ((Q, Q, KV, KV), (Q, KV, KV)),
    "_scaled_dot_product_cudnn_attention_backward": ((Q, Q, KV, KV), (Q, KV, KV)),
    "_flash_attention_forward": ((PACKED, PACKED, PACKED, *LENGTHS, 0.0, False, False), (PACKED,)),
    "_efficient_attention_forward": ((meta(1, 9, 4, 8),) * 3 + (None, *LENGTHS, 0.0, 0), (Q,)),
    "_flash_attention_backward": ((PACKED,) * 5 + (Q, *LENGTHS, 0.0, False), (PACKED,)),
    "_efficient_attention_backward": ((meta(1, 9, 4, 8),) * 4 + (None, Q, *LENGTHS), (Q,)),
    "flex_attention": ((Q, KV, KV), (Q,)),
    "flex_attention_backward": ((Q, KV, KV, Q, Q, Q), (Q, KV, KV)),
}
TRANSPOSED_BACKWARD = ((X, Y, W, *TRANSPOSED, [True, True, False]), (Y, W, None))


OF_CPU = {
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
}
"""Counted here on every version."""


def test_pytorch_has_formulas_for_nothing_else():
    """Each operator of its registry is among the calls below."""
    theirs = {str(each).removeprefix("aten.") for each in flop_registry}
    assert theirs - {*CALLS} <= OF_CPU  # of 2.15 on
    assert theirs >= {*CALLS}


@pytest.mark.parametrize(
    ("name", "call"), [*CALLS.items(), ("convolution_backward", TRANSPOSED_BACKWARD)]
)
def test_formulas_agree_with_those_of_pytorch(name, call):
    """Given the same shapes."""
    args, result = call
    theirs = next(f for each, f in flop_registry.items() if str(each) in (name, f"aten.{name}"))
    expected = theirs(*args, out_val=result)
    ours = FORMULAS.get(f"aten::{name}") or FORMULAS[f"higher_order::{name}"]
    assert ours(*shapes(args), out_shape=shapes(result)) == expected > 0


def shapes(value):
    """The same with shapes in the place of tensors."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return type(value)(map(shapes, value)) if isinstance(value, tuple | list) else value


def test_symbolic_products_of_several_matrices():
    """The order of three matrices is the cheapest, where sizes are known; else from the left."""

    class Chain(nn.Module):
        def forward(self, a, b, c):
            return torch.linalg.multi_dot([a, b, c]), torch.einsum("ij,jk,kl->il", a, b, c)

    example = torch.randn(2, 30), torch.randn(30, 3), torch.randn(3, 40)
    fixed = estimate(monograph.export(Chain(), example))
    assert fixed.flops == counted(Chain(), example)
    free = estimate(monograph.export(Chain(), example, dynamic_shapes="a: n, k; b: k, m; c: m, o"))
    rows = {row.operator: free.text(row.flops) for row in free.operators if row.flops != 0}
    assert rows["aten.linalg_multi_dot"] == "2*n*k*m + 2*n*m*o"


def test_own_operators_have_formulas_too():
    """Registered here, or with PyTorch."""
    with torch.library._scoped_library("costs", "DEF") as library:
        for name in ("ours", "theirs"):
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x.clone(), "CPU")
            library.impl(name, torch.empty_like, "Meta")
        flop_formula("costs::ours")(lambda x, *, out_shape: 3 * x[0] + 0 * out_shape[0])
        register_flop_formula(torch.ops.costs.theirs)(lambda x, out_shape=None: 5 * x[0])

        class Own(nn.Module):
            def forward(self, x):
                return torch.ops.costs.theirs(torch.ops.costs.ours(x))

        found = estimate(monograph.export(Own(), (torch.ones(4),), dynamic_shapes="x: n"))
        assert found.text(found.flops) == "8*n"
        with pytest.raises(ValueError, match="has a formula"):
            flop_formula("costs::ours")(len)
        del FORMULAS["costs::ours"], flop_registry[torch.ops.costs.theirs]
