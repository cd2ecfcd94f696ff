"""Tensors that shape and strides do not describe are refused by name, wherever they turn up."""

import warnings

import pytest
import torch

import monograph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    UNUSUAL = {
        "coo": torch.eye(3).to_sparse(),
        "csr": torch.eye(3).to_sparse_csr(),
        "quantised": torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.quint8),
        "nested": torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]),
        "packed": torch.eye(3).to_mkldnn(),
    }


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2


class Held(torch.nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.register_buffer("held", tensor)

    def forward(self, x):
        return x * 2


class Met(torch.nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.tensors = [tensor]

    def forward(self, x):
        return x + self.tensors[0].dequantize()


class Made(torch.nn.Module):
    def forward(self, x):
        return torch.sparse_coo_tensor(torch.tensor([[0], [1]]), x.sum()[None], (2, 2))


class Quantised(torch.nn.Module):
    def forward(self, x):
        return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)


def name_of(module, x):
    """The name of the refusal."""
    with pytest.raises(monograph.UnsupportedError) as caught:
        monograph.export(module, (x,))
    return caught.value.diagnostic.name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", UNUSUAL)
def test_inputs_and_state(kind):
    """As an input, and as a buffer."""
    assert name_of(Twice(), UNUSUAL[kind]) == "unsupported-layout"
    assert name_of(Held(UNUSUAL[kind]), torch.ones(3)) == "unsupported-layout"


@pytest.mark.filterwarnings("ignore")
def test_tensors_that_forward_meets():
    """In a list of the module's."""
    assert name_of(Met(UNUSUAL["quantised"]), torch.ones(3, 3)) == "unsupported-layout"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", [Made(), Quantised()])
def test_results_of_operators(module):
    """Made by an operator."""
    assert name_of(module, torch.ones(3)) == "unsupported-layout"
