"""The models that benchmarks, tests and the demo share: random weights, nothing fetched."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    """Causal self-attention over `f32[batch, seq, width]`."""

    def __init__(self, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq, width = x.shape
        query, key, value = (
            part.view(batch, seq, self.n_heads, width // self.n_heads).transpose(1, 2)
            for part in self.joint(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(
            query, key, value, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, seq, width))


class Block(nn.Module):
    """Attention and a two-layer perceptron, each on a normalised residual branch."""

    def __init__(self, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(width)
        self.attention = Attention(width, n_heads, dropout)
        self.norm_2 = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attention(self.norm_1(x)))
        return x + self.drop(self.narrow(F.gelu(self.widen(self.norm_2(x)), approximate="tanh")))


class GPT(nn.Module):
    """A decoder-only transformer: `i64[batch, seq]` to logits `f32[batch, seq, n_tokens]`."""

    def __init__(
        self,
        n_layers: int = 12,
        width: int = 64,
        n_heads: int = 4,
        n_tokens: int = 256,
        longest: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_tokens, width)
        self.positions = nn.Embedding(longest, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, n_heads, dropout) for _ in range(n_layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.tokens(ids) + self.positions(places))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tokens.weight)


class Residual(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv_1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.norm_1 = nn.BatchNorm2d(n_out)
        self.conv_2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.norm_2 = nn.BatchNorm2d(n_out)
        self.shortcut = (
            nn.Identity()
            if stride == 1 and n_in == n_out
            else nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm_1(self.conv_1(x)))
        return F.relu(self.norm_2(self.conv_2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Eighteen layers of residual convolution: `f32[batch, 3, height, width]` to ten logits."""

    def __init__(self, n_channels: int = 16, n_classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, n_channels, 7, 2, 3, bias=False),
            nn.BatchNorm2d(n_channels),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        stages: list[nn.Module] = []
        n_in = n_channels
        for stage in range(4):
            n_out = n_channels * 2**stage
            stages += [Residual(n_in, n_out, 1 if stage == 0 else 2), Residual(n_out, n_out, 1)]
            n_in = n_out
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(n_in, n_classes)

    def forward(self, image: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.stages(self.stem(image)), 1)
        return self.head(torch.flatten(x, 1))


def llama(n_layers: int = 4, width: int = 64) -> nn.Module:
    """Give the Llama of the transformers library, small, without a cache."""
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415  optional, and slow

    config = LlamaConfig(
        vocab_size=256,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=n_layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


def perturbed(module: nn.Module, seed: int = 0) -> nn.Module:
    """Move every parameter and statistic off its first value, so that none is a silent 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.02)
        for name, buffer in module.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.add_(torch.rand(buffer.shape, generator=generator), alpha=0.2)
    return module


@dataclass(frozen=True, slots=True)
class Case:
    """A model to measure: the module, one call of it, and the axes that may vary."""

    module: nn.Module
    kwargs: dict[str, Tensor]
    axes: dict[str, dict[int, str]]

    def dynamic_shapes(self, dim: object) -> dict[str, dict[int, object]]:
        """Give every varying axis the same `dim`, such as an exporter's `Dim.AUTO`."""
        return {name: dict.fromkeys(axes, dim) for name, axes in self.axes.items()}


def gpt_case() -> Case:
    """Twelve layers of GPT."""
    ids = torch.randint(0, 256, (2, 32))
    return Case(perturbed(GPT(12)).eval(), {"ids": ids}, {"ids": {0: "batch", 1: "seq"}})


def resnet_case(*, training: bool = False) -> Case:
    """Eighteen layers of ResNet."""
    axes = {"image": {0: "batch", 2: "height", 3: "width"}}
    return Case(perturbed(ResNet()).train(training), {"image": torch.randn(2, 3, 64, 64)}, axes)


def llama_case() -> Case:
    """Four layers of the Llama of transformers."""
    ids = torch.randint(0, 256, (2, 32))
    axes = {"input_ids": {0: "batch", 1: "seq"}}
    return Case(perturbed(llama(4)).eval(), {"input_ids": ids}, axes)


CASES: dict[str, Callable[[], Case]] = {
    "GPT, 12 layers": gpt_case,
    "ResNet-18, eval": resnet_case,
    "ResNet-18, train": lambda: resnet_case(training=True),
    "Llama, 4 layers": llama_case,
}
