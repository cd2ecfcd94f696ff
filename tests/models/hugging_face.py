"""Models of the transformers library, from tiny configurations, without caches, random weights."""

import torch
import transformers as hf
from torch import nn

from bench.models import llama as build_llama
from tests.models.registry import model

N_TOKENS = 200
TINY = {
    "vocab_size": N_TOKENS,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
MASKED = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}}
SIZES = [{"batch": 3, "seq": 12}, {"batch": 2, "seq": 21}, {"batch": 5, "seq": 6}]
EDGES = [{"batch": 1, "seq": 12}, {"batch": 2, "seq": 1}]


def tokens(*shape):
    """Draw token ids, none of them a special one."""
    return torch.randint(5, N_TOKENS, shape)


def masked(batch, seq):
    """Give ids and a mask in which row i has lost its last i tokens."""
    mask = torch.ones(batch, seq, dtype=torch.int64)
    for row in range(1, batch):
        mask[row, max(1, seq - row) :] = 0
    return (), {"input_ids": tokens(batch, seq), "attention_mask": mask}


@model(axes=MASKED, sizes=SIZES, edges=EDGES, ranges={"seq": (1, 64)})
def bert():
    """An encoder."""
    return hf.BertModel(hf.BertConfig(**TINY, max_position_embeddings=64)), masked


@model(axes={"input_ids": {0: "batch", 1: "seq"}}, sizes=SIZES, edges=EDGES)
def llama():
    """A decoder with rotary positions and grouped heads."""
    return build_llama(n_layers=2), lambda batch, seq: ((), {"input_ids": tokens(batch, seq)})


@model(axes=MASKED, sizes=SIZES, edges=EDGES)
def llama_masked():
    """The same, called with a padding mask."""
    return build_llama(n_layers=2), masked


@model(axes=MASKED, sizes=SIZES, edges=EDGES, ranges={"seq": (1, 64)})
def gpt2():
    """A decoder with learnt positions and one-dimensional convolutions."""
    config = hf.GPT2Config(
        vocab_size=N_TOKENS, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False
    )
    return hf.GPT2LMHeadModel(config), masked


@model(
    axes={"input_ids": {0: "batch", 1: "seq"}},
    sizes=[{"batch": 3, "seq": 16}, {"batch": 2, "seq": 21}, {"batch": 5, "seq": 6}],
)
def mamba2():
    """State spaces in chunks of eight tokens, to which it pads."""
    config = hf.Mamba2Config(
        vocab_size=N_TOKENS,
        hidden_size=32,
        state_size=8,
        num_hidden_layers=2,
        num_heads=4,
        head_dim=16,
        n_groups=1,
        chunk_size=8,
        use_cache=False,
    )
    return hf.Mamba2ForCausalLM(config), lambda batch, seq: ((), {"input_ids": tokens(batch, seq)})


@model(
    axes={"pixel_values": {0: "batch"}},
    sizes=[{"batch": 3}, {"batch": 2}, {"batch": 7}],
    edges=[{"batch": 1}],
)
def vit():
    """A vision transformer at its own image size."""
    config = {k: v for k, v in TINY.items() if k != "vocab_size"}
    module = hf.ViTModel(hf.ViTConfig(**config, image_size=32, patch_size=8))
    return module, lambda batch: ((torch.randn(batch, 3, 32, 32),), {})


@model(
    axes={"pixel_values": {0: "batch", 2: "height", 3: "width"}},
    sizes=[
        {"batch": 3, "height": 48, "width": 64},
        {"batch": 2, "height": 40, "width": 40},
        {"batch": 4, "height": 64, "width": 24},
    ],
    ranges={"batch": (1, 64), "height": (16, 128), "width": (16, 128)},
)
def vit_any_size():
    """A vision transformer that resamples its positions to the image it is given."""

    class AnySize(nn.Module):
        def __init__(self):
            super().__init__()
            config = {k: v for k, v in TINY.items() if k != "vocab_size"}
            self.vit = hf.ViTModel(hf.ViTConfig(**config, image_size=32, patch_size=8))

        def forward(self, pixel_values):
            return self.vit(pixel_values, interpolate_pos_encoding=True).last_hidden_state

    def inputs(batch, height, width):
        return (torch.randn(batch, 3, height, width),), {}

    return AnySize(), inputs


@model(
    axes={
        "input_ids": {0: "batch", 1: "source"},
        "attention_mask": {0: "batch", 1: "source"},
        "decoder_input_ids": {0: "batch", 1: "target"},
    },
    sizes=[
        {"batch": 3, "source": 12, "target": 7},
        {"batch": 2, "source": 5, "target": 14},
        {"batch": 4, "source": 9, "target": 9},
    ],
    edges=[{"batch": 1, "source": 12, "target": 1}],
)
def t5():
    """An encoder and decoder with relative positions."""
    config = hf.T5Config(
        vocab_size=N_TOKENS,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        use_cache=False,
        decoder_start_token_id=0,
    )

    def inputs(batch, source, target):
        _, named = masked(batch, source)
        return (), {**named, "decoder_input_ids": tokens(batch, target)}

    return hf.T5ForConditionalGeneration(config), inputs


@model(
    axes={"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}},
    sizes=[{"batch": 3, "target": 7}, {"batch": 2, "target": 12}, {"batch": 5, "target": 4}],
    edges=[{"batch": 1, "target": 7}],
    ranges={"target": (1, 32)},
)
def whisper():
    """Speech to text: convolutions over a spectrogram, then an encoder and a decoder."""
    config = hf.WhisperConfig(
        vocab_size=N_TOKENS,
        num_mel_bins=8,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=30,
        max_target_positions=32,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        begin_suppress_tokens=None,
        suppress_tokens=None,
    )

    def inputs(batch, target):
        return (), {
            "input_features": torch.randn(batch, 8, 60),
            "decoder_input_ids": tokens(batch, target),
        }

    return hf.WhisperModel(config), inputs


@model(axes={"input_ids": {0: "batch", 1: "seq"}}, sizes=SIZES, edges=EDGES)
def mixtral():
    """A mixture of experts: which expert sees which token depends on the data."""
    config = hf.MixtralConfig(
        **TINY,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=128,
        use_cache=False,
    )
    module = hf.MixtralForCausalLM(config)
    return module, lambda batch, seq: ((), {"input_ids": tokens(batch, seq)})


@model(
    axes={
        "input_ids": {0: "texts", 1: "seq"},
        "pixel_values": {0: "images"},
        "attention_mask": {0: "texts", 1: "seq"},
    },
    sizes=[
        {"texts": 3, "seq": 9, "images": 4},
        {"texts": 2, "seq": 14, "images": 3},
        {"texts": 5, "seq": 5, "images": 5},
    ],
    edges=[{"texts": 1, "seq": 9, "images": 1}],
    ranges={"seq": (1, 32)},
)
def clip():
    """Images beside texts, each batch its own size."""
    towers = {k: v for k, v in TINY.items() if k != "vocab_size"}
    config = hf.CLIPConfig(
        text_config={**TINY, "max_position_embeddings": 32, "eos_token_id": N_TOKENS - 1},
        vision_config={**towers, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )

    def inputs(texts, seq, images):
        _, named = masked(texts, seq)
        return (), {**named, "pixel_values": torch.randn(images, 3, 32, 32)}

    return hf.CLIPModel(config), inputs
