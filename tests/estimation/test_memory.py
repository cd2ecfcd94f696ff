"""Peak memory: what the allocator of the CPU says while programs run."""

import pytest
import torch
from torch import nn

import monograph
from monograph.estimation import estimate
from tests.estimation.measuring import measured_peak
from tests.models import hugging_face, own  # noqa: F401 - they register
from tests.models.harness import Exporter, build, captured_once, inputs_at
from tests.models.registry import MODELS

OURS = Exporter(monograph.export, monograph)


@pytest.mark.parametrize("name", ["clip", "gpt", "gpt2", "llama", "mixtral", "t5", "transformer"])
def test_the_peak_is_what_the_allocator_says(name):
    """Within a tenth, at sizes unlike the example; kernels of convolutions take scratch besides."""
    model = MODELS[name]
    program = captured_once(model, OURS, "named")
    found = estimate(program)
    _, inputs = build(model)
    for sizes in model.sizes:
        known = {each: value for each, value in sizes.items() if each in found.names.values()}
        measured = measured_peak(program.module(), *inputs_at(inputs, sizes, 0))
        assert found.at(known).activations == pytest.approx(measured, rel=0.1)


class Chain(nn.Module):
    def forward(self, x):
        y = x * 2  # 2 alive with what is next
        z = y.transpose(0, 1)[1:]  # views keep y
        w = z + 1
        y.add_(1)
        return w.reshape(-1), y.t().reshape(-1)


class Parts(nn.Module):
    def forward(self, x):
        a, b = (x + 1).chunk(2)
        values, _ = (a * b).cummax(1)
        return values + values


@pytest.mark.parametrize("module", [Chain(), Parts()], ids=lambda m: type(m).__name__)
def test_views_keep_their_storage_and_writes_make_none(module):
    """To the byte, where each kernel allocates its results alone: large copies do not."""
    program = monograph.export(module, (torch.randn(8, 6),), dynamic_shapes="x: 2*n, m")
    found = estimate(program)
    for n, m in ((4, 6), (16, 64), (3, 5)):
        measured = measured_peak(program.module(), (torch.randn(2 * n, m),), {})
        assert found.at(n=n, m=m).activations == measured
