"""Weights and inputs that are FakeTensors: types without numbers, filled in afterwards."""

import copy
import io

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

import monograph
from monograph import Dim


class Normed(nn.Module):
    """Parameters, buffers that are written to, and a literal."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x):
        return self.norm(self.layer(x)) * self.scale + torch.tensor([1.0, 2, 3, 4])


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("how", ["weights", "weights and input", "under the mode"])
def test_fake_weights(how, strict):
    """The program runs once it has weights, also lowered, and read from a file."""
    with FakeTensorMode() as mode:
        fake, x = Normed(), torch.randn(2, 3)
    shapes = ({0: Dim("b", min=0, max=50)},)
    given = torch.randn(2, 3) if how == "weights" else x
    if how == "under the mode":
        with mode:
            program = monograph.export(fake, (given,), dynamic_shapes=shapes, strict=strict)
    else:
        program = monograph.export(fake, (given,), dynamic_shapes=shapes, strict=strict)
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    real, x = Normed(), torch.randn(5, 3)
    for form in (program, program.run_decompositions(), monograph.load(file)):
        module, expected = form.module(), copy.deepcopy(real)
        module.load_state_dict(copy.deepcopy(real.state_dict()), assign=True)
        for each in module.parameters():
            each.requires_grad_()
        torch.testing.assert_close(module(x), expected(x))
        torch.testing.assert_close(dict(module.named_buffers()), dict(expected.named_buffers()))


def test_fake_input():
    """The weights are real, and only the example input is a FakeTensor."""
    module = Normed().eval()
    with FakeTensorMode():
        x = torch.randn(2, 3)
    program = monograph.export(module, (x,))
    x = torch.randn(2, 3)
    torch.testing.assert_close(program.module()(x), module(x))


def test_a_language_model_of_varying_sizes():
    """Its package has a shortcut on data behind the question who traces it."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    with FakeTensorMode():
        fake = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 32, (2, 7))
    shapes = {"input_ids": {0: Dim("b"), 1: Dim("n")}}
    program = monograph.export(fake, (), {"input_ids": ids}, dynamic_shapes=shapes)
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    real = transformers.LlamaForCausalLM(config).eval()
    values = {**dict(real.named_parameters()), **dict(real.named_buffers())}
    for form in (program, program.run_decompositions(), monograph.load(file)):
        module = form.module()
        for shape in ((2, 7), (1, 2), (3, 12)):
            ids = torch.randint(0, 32, shape)
            found = torch.func.functional_call(module, values, (), {"input_ids": ids})
            torch.testing.assert_close(found.logits, real(input_ids=ids).logits)
