"""Mixtral as the installed transformers has it: every way in which it computes its experts.

The loop over the experts that were hit runs as often as data says: it needs captured loops.
"""

import pytest
import torch
from transformers import MixtralConfig, MixtralModel

import monograph
from monograph.diagnostics import DataDependentError
from tests.seeding import reseed

CONFIG = MixtralConfig(
    vocab_size=50,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    num_local_experts=6,
    num_experts_per_tok=2,
    max_position_embeddings=64,
)


def model(implementation):
    """Give the model, its experts computed this way."""
    reseed(0)
    made = MixtralModel(CONFIG).eval()
    made.set_experts_implementation(implementation)
    return made


def tokens(k):
    """Give token ids; one token alone, at draw 0, leaves most experts without any."""
    reseed(k)
    return torch.randint(0, 50, (1, 7)) if k else torch.zeros(1, 7, dtype=torch.int64)


@pytest.mark.parametrize("implementation", ["batched_mm", "grouped_mm"])
def test_unmodified_experts_agree_with_eager(implementation):
    """Twenty draws, experts with no token among them."""
    eager = model(implementation)
    run = monograph.export(eager, (tokens(1),), {"use_cache": False}).module()
    for k in range(20):
        mine, theirs = run(tokens(k), use_cache=False), eager(tokens(k), use_cache=False)
        torch.testing.assert_close(mine[0], theirs[0], rtol=1e-5, atol=1e-5)


def test_the_loop_over_experts_that_were_hit_is_refused():
    """Listed here until a loop over the rows of a tensor of unknown length is captured."""
    with pytest.raises(DataDependentError, match="how many results there are depends on data"):
        monograph.export(model("eager"), (tokens(1),), {"use_cache": False}, control_flow="refuse")
