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
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


MAKERS = {
    "coo": lambda x: torch.sparse_coo_tensor(torch.tensor([[0], [1]]), x.sum()[None], (3, 3)),
    "to coo": lambda x: x.to_sparse(),
    "to csr": lambda x: x.to_sparse_csr(),
    "to bsr": lambda x: x.to_sparse_bsr((1, 1)),
    "quantised": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
    "by channels": lambda x: torch.quantize_per_channel(
        x, torch.ones(3), torch.zeros(3), 0, torch.qint8
    ),
    "nested": lambda x: torch.nested.nested_tensor([x, x]),
    "packed": lambda x: x.to_mkldnn(),
}


CAPTURED_AS_STATE = {"coo", "csr"}


def name_of(module, x, *, strict=True):
    """The name of the refusal."""
    with pytest.raises(monograph.UnsupportedError) as caught:
        monograph.export(module, (x,), strict=strict)
    return caught.value.diagnostic.name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", UNUSUAL)
def test_inputs_and_state(kind):
    """As an input, and as a buffer."""
    assert name_of(Twice(), UNUSUAL[kind]) == "unsupported-layout"
    if kind not in CAPTURED_AS_STATE:
        assert name_of(Held(UNUSUAL[kind]), torch.ones(3)) == "unsupported-layout"


@pytest.mark.filterwarnings("ignore")
def test_tensors_that_forward_meets():
    """In a list of the module's."""
    assert name_of(Met(UNUSUAL["quantised"]), torch.ones(3, 3)) == "unsupported-layout"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", MAKERS)
def test_results_of_operators(kind, strict):
    """Made by an operator, whether or not its result could be made dense again afterwards."""
    module = Made(MAKERS[kind])
    assert name_of(module, torch.ones(3, 3), strict=strict) == "unsupported-layout"


FLOATS = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e8m0fnu)
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *UNSIGNED, torch.complex32])
def test_dtypes_with_few_kernels(dtype, strict):
    """Numbers of 8 bits and other rare ones are dense: moved, turned, joined, cast, viewed."""

    class Cast(torch.nn.Module):
        def forward(self, x, y):
            small = torch.cat([x.to(dtype), y.mT]).view(2, -1).t()
            return small, small.contiguous().view(torch.uint8), y.to(torch.complex64) * 2

    args = (torch.rand(2, 4) + 1, (torch.rand(4, 4) + 1).to(dtype))
    program = monograph.export(Cast(), args, strict=strict)
    for given, wanted in zip(program.module()(*args), Cast()(*args), strict=True):
        assert given.dtype == wanted.dtype
        assert given.stride() == wanted.stride()
        assert torch.equal(bits(given), bits(wanted))


def bits(tensor):
    """Numbers that every dtype has a comparison for."""
    return tensor.contiguous().view(torch.uint8)


@pytest.mark.parametrize("strict", [False, True])
def test_products_of_eight_bits(strict):
    """The scaled product of matrices of 8 bits."""

    class Product(torch.nn.Module):
        def forward(self, x, y):
            one = torch.tensor(1.0)
            return torch._scaled_mm(x, y.t(), one, one, out_dtype=torch.bfloat16)

    args = tuple(torch.rand(16, 16).to(torch.float8_e4m3fn) for _ in range(2))
    program = monograph.export(Product(), args, strict=strict)
    assert torch.equal(program.module()(*args), Product()(*args))


def test_lazy_parameters_are_refused_until_a_call_gave_them_sizes():
    """With what to do; PyTorch's own error says which operator met them."""

    class Lazy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.LazyLinear(2)

        def forward(self, x):
            return self.head(x)

    x, module = torch.ones(3, 4), Lazy()
    for strict in (True, False):
        with pytest.raises(monograph.MonographError, match="no sizes yet") as caught:
            monograph.export(module, (x,), strict=strict)
        assert caught.value.diagnostic.name == "unsupported-layout"
    module(x)
    assert torch.equal(monograph.export(module, (x,)).module()(x), module(x))
