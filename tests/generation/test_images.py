"""Vision-language models: tokens behind prompts with images are those of the library."""

import functools

import pytest
import torch

from monograph import ContractError, generation
from tests.generation.test_generate import SMALL, loaded
from tests.seeding import reseed

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

IMAGE = 100
"""The token that stands for a part of an image; an image has four."""
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 8,
}
SIZES = ((1, 9, 0), (2, 11, 2), (2, 20, 5))
"""Rows, length, and how much of the first row is padding."""


def prompt(rows, length, padding):
    """Token ids, mask and images; tokens of an image follow the first two of a text."""
    ids = torch.randint(3, IMAGE, (rows, length))
    mask = torch.ones_like(ids)
    mask[0, :padding] = 0
    for row in range(rows):
        start = 2 + padding * (row == 0)
        ids[row, start : start + 4] = IMAGE
    return ids * mask, mask, torch.randn(rows, 3, 16, 16)


def llava():
    """Patches of a tower among the tokens."""
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION, projection_dim=32),
        text_config=transformers.LlamaConfig(**SMALL),
        image_token_index=IMAGE,
        image_seq_length=4,
    )
    return transformers.LlavaForConditionalGeneration(config)


def paligemma():
    """Another tower and positions that begin with 1; its masks differ by the kind of cache."""
    config = transformers.PaliGemmaConfig(
        vision_config=transformers.SiglipVisionConfig(**VISION, vision_use_head=False),
        text_config=transformers.GemmaConfig(**SMALL, head_dim=8),
        image_token_index=IMAGE,
        projection_dim=32,
    )
    return transformers.PaliGemmaForConditionalGeneration(config)


@functools.cache
def exported(make, kind):
    """Give a model and its program; the example is the shortest prompt."""
    reseed(0)
    model = make().eval()
    model.generation_config.update(pad_token_id=0, bos_token_id=1, eos_token_id=2)
    ids, _, pixels = prompt(1, 9, 0)
    given = {"max_batch": 2, "max_length": 40, "cache": kind}
    inputs = {"input_ids": ids, "pixel_values": pixels}
    return model, generation.export(model, **given, inputs=inputs)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (llava, "static"),
        pytest.param(llava, "dynamic", marks=pytest.mark.slow),
        pytest.param(paligemma, "static", marks=pytest.mark.slow),
    ],
)
def test_tokens_are_those_of_the_library(make, kind):
    """With a cache of the same kind; the image matters."""
    model, program = exported(make, kind)
    theirs = {"cache_implementation": kind, "disable_compile": True}
    for form in (program, loaded(program)):
        for sizes in SIZES:
            ids, mask, pixels = prompt(*sizes)
            given = {"attention_mask": mask, "pixel_values": pixels, "max_new_tokens": 20}
            expected = model.generate(ids, **given, **theirs)
            assert torch.equal(form.generate(ids, **given), expected)
            given["pixel_values"] = torch.randn_like(pixels) * 9
            assert not torch.equal(form.generate(ids, **given), expected)


def test_calls_that_are_refused():
    """Without an image, with another size of it, and with a prompt below the example's."""
    _, program = exported(llava, "static")
    ids, mask, pixels = prompt(1, 9, 0)
    with pytest.raises(TypeError, match="pixel_values"):
        program.generate(ids, mask)
    for tokens, images in ((ids, torch.randn(1, 3, 8, 8)), (ids[:, 1:], pixels)):
        with pytest.raises(ContractError):
            program.generate(tokens, pixel_values=images)
