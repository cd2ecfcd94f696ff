"""Weight-only quantisation by torchao: `quantize_`, then export, lower, save, load and generate."""

import io
import subprocess
import sys

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, Programs, call

quantization = pytest.importorskip("torchao.quantization")
pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMES = {
    "int8": quantization.Int8WeightOnlyConfig,
    "int4": lambda: quantization.IntxWeightOnlyConfig(weight_dtype=torch.int4),
}
WITHOUT = """
import sys, torch, monograph
sys.modules["torchao"] = None
x, expected = torch.load(sys.argv[2])
torch.testing.assert_close(monograph.load(sys.argv[1]).module()(x), expected)
"""


def quantised(scheme):
    """Give layers whose weights are quantised."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32)).eval()
    model.requires_grad_(requires_grad=False)
    quantization.quantize_(model, SCHEMES[scheme]())
    assert type(model[0].weight) is not nn.Parameter
    return model


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entries_over_quantised_weights(scheme, tmp_path):
    """Captured, lowered and loaded they are equal at another batch; a file has the weights once."""
    model, x = quantised(scheme), torch.randn(3, 64)
    rows = Dim("rows", min=1, max=64)
    entries = {"plain": call(x), "twice": call(x).of(lambda m, x: m(x) * 2)}
    shapes = dict.fromkeys(entries, ({0: rows},))
    programs = monograph.export_methods(model, entries, dynamic_shapes=shapes)
    programs.save(tmp_path / "two.pt2")
    n_bytes = 128 * 64 + 32 * 128
    assert n_bytes < (tmp_path / "two.pt2").stat().st_size < 2.5 * n_bytes
    x = torch.randn(7, 64)
    for form in (programs, programs.run_decompositions(), Programs.load(tmp_path / "two.pt2")):
        run = form.module()
        torch.testing.assert_close(run.plain(x), model(x))
        torch.testing.assert_close(run.twice(x), model(x) * 2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_file_is_read_without_the_library(scheme, tmp_path):
    """Of int8 as it was captured; of int4, whose operator is torchao's own, once it is lowered."""
    model, x = quantised(scheme), torch.randn(3, 64)
    program = monograph.export(model, (x,))
    program = program if scheme == "int8" else program.run_decompositions()
    monograph.save(program, tmp_path / "one.pt2")
    torch.save((x, model(x)), tmp_path / "expected.pt")
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT]
    command += [str(tmp_path / name) for name in ("one.pt2", "expected.pt")]
    subprocess.run(command, check=True, timeout=120)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_other_quantised_weights(scheme):
    """Those of another model of the same scheme, by the names of their parts."""
    model, x = quantised(scheme), torch.randn(3, 64)
    program = monograph.export(model, (x,))
    other = program.with_state({"0.weight.scale": program.state_dict["0.weight.scale"] * 2})
    hidden = torch.relu(2 * (model[0](x) - model[0].bias) + model[0].bias)
    torch.testing.assert_close(other.module()(x), model[2](hidden))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_generation_with_quantised_weights(scheme):
    """Tokens are those of the library's loop, before a file and after it."""
    transformers = pytest.importorskip("transformers")
    from monograph import generation  # noqa: PLC0415  (it needs nothing, the model does)

    config = transformers.LlamaConfig(
        vocab_size=128,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    llama = transformers.LlamaForCausalLM(config).eval()
    quantization.quantize_(llama, SCHEMES[scheme]())
    ids = torch.randint(3, 128, (2, 7))
    expected = llama.generate(ids, max_new_tokens=20, do_sample=False, pad_token_id=0)
    program = generation.export(llama, max_batch=2, max_length=48, cache="static")
    file = io.BytesIO()
    program.save(file)
    file.seek(0)
    for each in (program, generation.load(file)):
        assert torch.equal(each.generate(ids, max_new_tokens=20, pad_token_id=0), expected)
