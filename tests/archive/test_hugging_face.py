"""Checkpoints as transformers writes them are used as they are: shards, ties, other prefixes."""

import json
import zipfile

import pytest
import torch

import monograph
from monograph.diagnostics import ArchiveError
from tests.seeding import reseed

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])


class Logits(torch.nn.Module):
    """A language model by its logits; the checkpoint knows nothing of `model.`."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids, use_cache=False).logits


class Hidden(torch.nn.Module):
    """The model below the head: the checkpoint calls it `transformer.`."""

    def __init__(self, model):
        super().__init__()
        for name, child in model.named_children():
            self.add_module(name, child)
        self.whole = [model]

    def forward(self, ids):
        return self.whole[0](ids, use_cache=False).last_hidden_state


class Same(Hidden):
    """The language model, under the names of its checkpoint."""

    def forward(self, ids):
        return self.whole[0](ids, use_cache=False).logits


def gpt():
    """Give a small GPT-2 whose head is its embedding."""
    reseed(0)
    config = transformers.GPT2Config(
        n_layer=2,
        n_head=2,
        n_embd=32,
        vocab_size=64,
        n_positions=32,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=True,
    )
    return transformers.GPT2LMHeadModel(config).eval()


def exported(module, ids=IDS, **options):
    """Export with an open length."""
    length = monograph.Dim("length", min=2, max=32)
    return monograph.export(module, (ids,), dynamic_shapes={"ids": {1: length}}, **options)


def written(folder, model, **options):
    """Write the checkpoint; give its files by name."""
    model.save_pretrained(folder, safe_serialization=True, **options)
    return files_of(folder)


def weights_in(path):
    """How many bytes of weights a program's own file holds."""
    with zipfile.ZipFile(path) as members:
        return sum(each.file_size for each in members.infolist() if "/weight_" in each.filename)


def files_of(folder):
    """The bytes of each file."""
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@pytest.mark.parametrize("size", ["5GB", "40KB"], ids=["whole", "shards"])
def test_a_checkpoint_is_shared(tmp_path, size):
    """The program's file has no weights, the folder is untouched, and ties are ties."""
    model = gpt()
    before = written(tmp_path / "gpt", model, max_shard_size=size)
    assert ("model.safetensors.index.json" in before) == (size == "40KB")
    names = {
        name
        for file, content in before.items()
        if file.endswith(".safetensors")
        for name in json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    }
    assert "lm_head.weight" not in names
    program = exported(Logits(model))
    monograph.save(program, tmp_path / "logits.pt2", weights="gpt")
    assert files_of(tmp_path / "gpt") == before
    again = monograph.load(tmp_path / "logits.pt2")
    state = again.state_dict
    assert state["model.lm_head.weight"] is state["model.transformer.wte.weight"]
    ids = torch.randint(0, 64, (1, 11))
    assert torch.equal(again.module()(ids), Logits(model)(ids))
    assert weights_in(tmp_path / "logits.pt2") == 0


def test_a_part_of_a_checkpoint_serves(tmp_path):
    """The model below the head lacks the prefix that the checkpoint has."""
    model = gpt()
    before = written(tmp_path / "gpt", model)
    program = exported(Hidden(model.transformer))
    assert "wte.weight" in program.state_dict
    monograph.save(program, tmp_path / "hidden.pt2", weights="gpt")
    assert files_of(tmp_path / "gpt") == before
    assert weights_in(tmp_path / "hidden.pt2") == 0
    again = monograph.load(tmp_path / "hidden.pt2")
    ids = torch.randint(0, 64, (1, 9))
    assert torch.equal(again.module()(ids), Hidden(model.transformer)(ids))


def test_other_numbers_do_not_serve(tmp_path):
    """Under the names that are its own they are refused; else they stay in the program's file."""
    model = gpt()
    written(tmp_path / "gpt", model)
    with torch.no_grad():
        model.transformer.wpe.weight.add_(1)
    with pytest.raises(ArchiveError) as refused:
        monograph.save(exported(Same(model)), tmp_path / "gpt.pt2", weights="gpt")
    assert "transformer.wpe.weight" in refused.value.diagnostic.headline
    assert not (tmp_path / "gpt.pt2").exists()
    monograph.save(exported(Logits(model)), tmp_path / "gpt.pt2", weights="gpt")
    assert weights_in(tmp_path / "gpt.pt2") == model.transformer.wpe.weight.nbytes
    again = monograph.load(tmp_path / "gpt.pt2")
    assert torch.equal(again.module()(IDS), Logits(model)(IDS))


def test_weights_come_when_it_is_loaded(tmp_path):
    """Captured on the meta device, loaded with the state of a checkpoint."""
    model = gpt()
    with torch.device("meta"):
        empty = transformers.GPT2LMHeadModel(model.config).eval()
        empty.tie_weights()
        ids = torch.empty(1, 7, dtype=torch.int64)
    program = exported(Logits(empty), ids, is_exporting=True)  # no values to compare ways by
    monograph.save(program, tmp_path / "empty.pt2")
    assert weights_in(tmp_path / "empty.pt2") == 0
    state = {f"model.{name}": value for name, value in model.state_dict().items()}
    again = monograph.load(tmp_path / "empty.pt2", state_dict=state)
    ids = torch.randint(0, 64, (1, 11))
    torch.testing.assert_close(again.module()(ids), Logits(model)(ids))
