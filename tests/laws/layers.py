"""Layers and functions that are more than one operator, or draw random numbers: what models hold.

Each has a size that may differ from call to call; `inputs` makes the arguments of a size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tests.laws.database import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (4, 6, 3)


@dataclass(frozen=True, slots=True)
class Layer:
    """How to build it, its arguments for a size, and which dimensions have that size."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = SIZES

    def module(self) -> nn.Module:
        """With the same weights each time."""
        with seeded(1):
            return self.build()

    def arguments(self, n: int) -> tuple[Any, ...]:
        """With the same numbers each time."""
        with seeded(2):
            return self.inputs(n)


class Of(nn.Module):
    """A function as a layer."""

    def __init__(self, function: Callable[..., Any], training: bool = True) -> None:
        super().__init__()
        self.function = function
        self.train(training)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


LAYERS: dict[str, Layer] = {}


def layer(
    name: str,
    build: Callable[[], nn.Module],
    inputs: Callable[[int], tuple[Any, ...]],
    sizes: tuple[int, ...] = SIZES,
) -> None:
    """Enter a layer."""
    assert name not in LAYERS
    LAYERS[name] = Layer(name, build, inputs, sizes)


def function(
    name: str,
    of: Callable[..., Any],
    inputs: Callable[[int], tuple[Any, ...]] = lambda n: (torch.randn(n, 3),),
    sizes: tuple[int, ...] = SIZES,
) -> None:
    """Enter a function."""
    layer(name, lambda: Of(of), inputs, sizes)


# --- recurrent -----------------------------------------------------------------------------------

for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell):
    layer(kind.__name__, lambda kind=kind: kind(3, 5), lambda n: (torch.randn(n, 3),))

for kind in (nn.RNN, nn.LSTM, nn.GRU):
    name = kind.__name__
    layer(name, lambda kind=kind: kind(3, 5), lambda n: (torch.randn(n, 2, 3),))
    layer(
        f"{name} of two layers both ways",
        lambda kind=kind: kind(3, 5, 2, bidirectional=True, batch_first=True).eval(),
        lambda n: (torch.randn(n, 7, 3),),
    )
    layer(
        f"{name} with dropout",
        lambda kind=kind: kind(3, 5, 2, dropout=0.5),
        lambda n: (torch.randn(7, n, 3),),
    )
    layer(f"{name} of one sequence", lambda kind=kind: kind(3, 5), lambda n: (torch.randn(n, 3),))

layer(
    "GRU from a state", lambda: nn.GRU(3, 5), lambda n: (torch.randn(7, n, 3), torch.randn(1, n, 5))
)
layer(
    "LSTM with a projection", lambda: nn.LSTM(3, 5, proj_size=2), lambda n: (torch.randn(n, 2, 3),)
)


class Stepping(nn.Module):
    """A cell in a loop over a fixed number of steps."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 5)

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[1], 5)
        for step in x.unbind(0):
            h, c = self.cell(step, (h, c))
        return h


layer("LSTMCell in a loop", Stepping, lambda n: (torch.randn(3, n, 3),))


class Packed(nn.Module):
    """Sequences of several lengths, packed and padded again."""

    def __init__(self, kind: type[nn.RNNBase], sorted_: bool = True) -> None:
        super().__init__()
        self.rnn = kind(3, 5, batch_first=True)
        self.sorted = sorted_

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=self.sorted)
        result, state = self.rnn(packed)
        return pad_packed_sequence(result, batch_first=True, total_length=x.shape[1]), state


class Summed(nn.Module):
    """A packed sequence as the argument."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(3, 5)

    def forward(self, data: Tensor, batch_sizes: Tensor) -> Tensor:
        return self.rnn(PackedSequence(data, batch_sizes))[1]


for kind in (nn.RNN, nn.LSTM, nn.GRU):
    layer(
        f"packed {kind.__name__}",
        lambda kind=kind: Packed(kind),
        lambda n: (torch.randn(n, 7, 3), torch.arange(n, 0, -1) + 1),
    )
layer(
    "packed LSTM unsorted",
    lambda: Packed(nn.LSTM, sorted_=False),
    lambda n: (torch.randn(n, 7, 3), torch.randint(1, 8, (n,))),
)
layer("PackedSequence", Summed, lambda n: (torch.randn(3 * n, 3), torch.tensor([n, n, n])))

# --- attention -----------------------------------------------------------------------------------


class Attending(nn.Module):
    """Self attention."""

    def __init__(self, training: bool, **how: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.25, batch_first=True)
        self.how = how
        self.train(training)

    def forward(self, x: Tensor, padding: Tensor | None = None) -> Any:
        return self.attention(x, x, x, key_padding_mask=padding, **self.how)


def tokens(n: int) -> tuple[Tensor, ...]:
    """A batch of so many sequences."""
    return (torch.randn(n, 5, 8),)


def padded(n: int) -> tuple[Tensor, ...]:
    """With the last places left out, here and there."""
    return torch.randn(n, 5, 8), torch.arange(5)[None] > torch.arange(n)[:, None] % 3 + 1


for training in (False, True):
    mode = "training" if training else "fast"
    for weights in (False, True):
        layer(
            f"MultiheadAttention {mode}{' with weights' if weights else ''}",
            lambda t=training, w=weights: Attending(t, need_weights=w),
            tokens,
        )
    layer(
        f"MultiheadAttention {mode} padded",
        lambda t=training: Attending(t, need_weights=False),
        padded,
    )
    layer(
        f"TransformerEncoderLayer {mode}",
        lambda t=training: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).train(t),
        tokens,
    )
layer(
    "MultiheadAttention without gradients",
    lambda: Attending(False, need_weights=False).requires_grad_(False),
    tokens,
)
layer(
    "TransformerDecoderLayer",
    lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
    lambda n: (torch.randn(n, 5, 8), torch.randn(n, 3, 8)),
)
for dropout in (0.0, 0.5):
    for causal in (False, True):
        function(
            f"SDPA dropout {dropout} {'causal' if causal else ''}",
            lambda x, p=dropout, c=causal: F.scaled_dot_product_attention(
                x, x, x, dropout_p=p, is_causal=c
            ),
            lambda n: (torch.randn(n, 2, 5, 8),),
        )

# --- embeddings, resizing, sampling, alignment ---------------------------------------------------

for mode in ("sum", "mean", "max"):
    layer(
        f"EmbeddingBag {mode}",
        lambda mode=mode: nn.EmbeddingBag(10, 3, mode=mode, padding_idx=2),
        lambda n: (torch.randint(0, 10, (n, 5)),),
    )
    layer(
        f"EmbeddingBag {mode} by offsets",
        lambda mode=mode: nn.EmbeddingBag(10, 3, mode=mode),
        lambda n: (torch.randint(0, 10, (3 * n,)), torch.arange(n) * 3),
    )
layer(
    "EmbeddingBag weighed",
    lambda: nn.EmbeddingBag(10, 3, mode="sum", include_last_offset=True),
    lambda n: (torch.randint(0, 10, (n,)), torch.tensor([0, 2, 3]), torch.rand(n)),
)

RESIZED = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "area": (1, 2, 3),
}
for mode, dims in RESIZED.items():
    for dim in dims:
        for how in ({"scale_factor": 2.0}, {"size": (5,) * dim}):
            function(
                f"interpolate {mode} {dim}d by {next(iter(how))}",
                lambda x, mode=mode, how=how: F.interpolate(x, mode=mode, **how),
                lambda n, dim=dim: (torch.randn(n, 2, *(4,) * dim),),
            )
for mode in ("bilinear", "bicubic"):
    function(
        f"interpolate {mode} aligned",
        lambda x, mode=mode: F.interpolate(x, scale_factor=1.5, mode=mode, align_corners=True),
        lambda n: (torch.randn(2, 3, n, n + 1),),
    )
    function(
        f"interpolate {mode} smooth",
        lambda x, mode=mode: F.interpolate(x, (3, 3), mode=mode, antialias=True),
        lambda n: (torch.randn(2, 3, n + 3, 8),),
    )
function(
    "interpolate to a size of the input",
    lambda x, y: F.interpolate(x, y.shape[2:], mode="bilinear"),
    lambda n: (torch.randn(2, 3, 4, 4), torch.randn(2, 1, n, n + 2)),
)
for mode in ("bilinear", "nearest", "bicubic"):
    for beyond in ("zeros", "border", "reflection"):
        function(
            f"grid_sample {mode} {beyond}",
            lambda x, g, m=mode, b=beyond: F.grid_sample(x, g, m, b, align_corners=False),
            lambda n: (torch.randn(n, 2, 5, 6), torch.rand(n, 3, 4, 2) * 3 - 1.5),
        )
function(
    "grid_sample in three dimensions",
    lambda x, g: F.grid_sample(x, g, align_corners=True),
    lambda n: (torch.randn(n, 2, 3, 4, 5), torch.rand(n, 2, 3, 4, 3) * 2 - 1),
)
function(
    "affine_grid",
    lambda t, x: F.grid_sample(x, F.affine_grid(t, x.shape, False), align_corners=False),
    lambda n: (torch.randn(n, 2, 3), torch.randn(n, 2, 4, 5)),
)


def alignments(n: int) -> tuple[Any, ...]:
    """Logarithms of probabilities, targets, and their lengths."""
    return torch.randn(9, n, 5).log_softmax(2), torch.randint(1, 5, (n, 3)), torch.full((n,), 9)


for reduction in ("none", "mean", "sum"):
    function(
        f"ctc_loss {reduction}",
        lambda x, y, n, r=reduction: F.ctc_loss(x, y, n, y.new_full(y.shape[:1], 3), reduction=r),
        alignments,
    )
function(
    "ctc_loss by lengths that are numbers",
    lambda x, y: F.ctc_loss(x, y, (9, 9), (3, 2), zero_infinity=True),
    lambda _: alignments(2)[:2],
    (2,),
)

# --- transforms, linear algebra, complex numbers -------------------------------------------------

for centred in (False, True):
    for onesided in (False, True):
        function(
            f"stft {'centred' if centred else 'plain'} {'one side' if onesided else 'both'}",
            lambda x, w, c=centred, o=onesided: torch.stft(
                x, 8, 4, window=w, center=c, onesided=o, return_complex=True
            ),
            lambda n: (torch.randn(n, 40), torch.hann_window(8)),
        )
function(
    "istft",
    lambda x, w: torch.istft(torch.stft(x, 8, 4, window=w, return_complex=True), 8, 4, window=w),
    lambda n: (torch.randn(n, 40), torch.hann_window(8)),
)
function(
    "stft of a length",
    lambda x: torch.stft(x, 8, return_complex=True).abs(),
    lambda n: (torch.randn(20 * n),),
)
function(
    "fft and back",
    lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=x.shape[-1]),
    lambda n: (torch.randn(2, n),),
)
function("fft of planes", lambda x: torch.fft.fftshift(torch.fft.fft2(x)).abs())
function("least distance", lambda x: torch.cdist(x, x).topk(2).indices)
function(
    "solved",
    lambda x, y: torch.linalg.solve(x @ x.mT + torch.eye(3), y),
    lambda n: (torch.randn(n, 3, 3), torch.randn(n, 3, 2)),
)
function("factors", lambda x: torch.linalg.qr(x)[1].abs(), lambda n: (torch.randn(n, 3),))
function("singular values", torch.linalg.svdvals, lambda n: (torch.randn(n, 3),))
function(
    "rotations",
    lambda x: torch.view_as_real(
        torch.view_as_complex(x) * torch.polar(x[..., 0].abs(), x[..., 1])
    ),
    lambda n: (torch.randn(n, 3, 2),),
)

# --- random numbers ------------------------------------------------------------------------------

for kind in (
    nn.Dropout,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.RReLU,
):
    layer(kind.__name__, kind, lambda n, kind=kind: (torch.randn(n, 3, *DROPPED.get(kind, ())),))

DROPPED = {
    nn.Dropout1d: (4,),
    nn.Dropout2d: (4, 5),
    nn.Dropout3d: (4, 5, 2),
    nn.FeatureAlphaDropout: (4,),
}
DRAWN: dict[str, Callable[[Tensor], Any]] = {
    "rand": lambda x: x + torch.rand(x.shape),
    "rand_like": torch.rand_like,
    "randn": lambda x: x * torch.randn(x.shape[0], 1),
    "randn_like": torch.randn_like,
    "randint": lambda x: torch.randint(0, 9, x.shape),
    "randint_like": lambda x: torch.randint_like(x, 9),
    "randperm": lambda x: x[torch.randperm(x.shape[0])],
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
    "bernoulli of a number": lambda x: torch.empty_like(x).bernoulli_(0.3),
    "normal": lambda x: torch.normal(x, 2.0),
    "normal of two": lambda x: torch.normal(x, x.abs()),
    "multinomial": lambda x: x.softmax(1).multinomial(2),
    "poisson": lambda x: torch.poisson(x.exp()),
    "binomial": lambda x: torch.binomial(torch.full_like(x, 5), x.sigmoid()),
    "uniform_": lambda x: x.clone().uniform_(2, 3),
    "normal_": lambda x: x.clone().normal_(),
    "exponential_": lambda x: x.clone().exponential_(),
    "geometric_": lambda x: x.clone().geometric_(0.4),
    "cauchy_": lambda x: x.clone().cauchy_(),
    "log_normal_": lambda x: x.clone().log_normal_(),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True),
    "a gamma": lambda x: torch.distributions.Gamma(x.exp(), 1.0, validate_args=False).rsample(),
    "a dirichlet": lambda x: torch.distributions.Dirichlet(x.exp(), validate_args=False).sample(),
    "several": lambda x: (F.dropout(x), torch.rand(x.shape[0]), F.dropout(x, 0.2), x.bernoulli()),
    "in a loop": lambda x: sum(F.dropout(x, p) for p in (0.1, 0.2, 0.3)),
}
DRAWN["several"] = lambda x: (F.dropout(x), torch.rand(x.shape[0]), F.dropout(x, 0.2))
for name, of in DRAWN.items():
    function(f"random: {name}", of)
