"""Weights attached to programs that were saved without them: from checkpoints, lazily, by name."""

import io
import json

import pytest
import torch
from torch import nn

import monograph
from monograph import MonographError, Programs, call
from monograph.archive.files import safetensors


class Towers(nn.Module):
    """Two towers, a head that is tied to one of them, and state of every other kind."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16))
        self.text = nn.Embedding(10, 16)
        self.head = nn.Linear(16, 10, bias=False)
        self.head.weight = self.text.weight
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("tail", self.seen[2:])

    def encode_image(self, x):
        """Read one tower."""
        return self.image(x) * self.scale

    def encode_text(self, ids):
        """Read the other, write to a buffer and read it through another."""
        self.seen.add_(1)
        return self.head(self.text(ids)) + self.tail.sum()


X, IDS = torch.randn(3, 8), torch.randint(0, 10, (3,))
ENTRIES = {"encode_image": call(X), "encode_text": call(IDS)}


def towers(seed):
    """Give the model with weights of its own."""
    torch.manual_seed(seed)
    model = Towers().eval()
    model.image[1].running_mean.normal_()
    return model


@pytest.fixture(scope="module")
def bare_file():
    """Give the bytes of the entries, saved without weights."""
    file = io.BytesIO()
    monograph.export_methods(towers(0), ENTRIES).save(file, weights=False)
    return file.getvalue()


def checkpoint(folder, model, name_of=str, *, leave_out=("head.weight", "seen", "tail")):
    """Write its state into shards of one tower each, with their index."""
    state = {
        name_of(name): tensor.detach().clone()
        for name, tensor in model.state_dict().items()
        if name not in leave_out
    }
    shards = {"image.safetensors": {}, "text.safetensors": {}}
    for name, tensor in state.items():
        shards["image.safetensors" if "image" in name else "text.safetensors"][name] = tensor
    folder.mkdir(exist_ok=True)
    for file, tensors in shards.items():
        safetensors.write_file(folder / file, tensors)
    index = {"weight_map": {name: file for file, found in shards.items() for name in found}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def equal(programs, model):
    """Compare the entries with the model's methods."""
    run = programs.module()
    torch.testing.assert_close(run.encode_image(X), model.encode_image(X))
    torch.testing.assert_close(run.encode_text(IDS), model.encode_text(IDS))


def test_a_file_without_weights_takes_those_of_a_checkpoint(tmp_path, bare_file):
    """In shards, with what the checkpoint does not name kept; two programs share nothing then."""
    folder = checkpoint(tmp_path, towers(1))
    bare = Programs.load(io.BytesIO(bare_file))
    equal(bare.with_state(folder), towers(1))
    equal(Programs.load(io.BytesIO(bare_file), weights=folder), towers(1))
    equal(bare.with_state(towers(2).state_dict()), towers(2))
    found = bare.with_state(folder)
    tied = found["encode_text"].state_dict
    assert tied["head.weight"] is tied["text.weight"]
    assert tied["text.weight"] is found["encode_image"].state_dict["text.weight"]


def test_programs_without_weights_are_not_called(bare_file):
    """Nor a single one of them; its name says which tensor, and it can be given them after that."""
    bare = Programs.load(io.BytesIO(bare_file))
    for run in (bare.module().encode_text, bare["encode_text"].module()):
        with pytest.raises(MonographError, match="has no data") as refused:
            run(IDS)
        assert not bare["encode_text"].constants.get("seen", torch.zeros(1)).any()
        assert refused.value.diagnostic.name == "weights-do-not-fit"
    one = monograph.load(io.BytesIO(bare_file), model="encode_text")
    with pytest.raises(MonographError, match=r"`text.weight` has no data"):
        one.with_state({"image.0.weight": torch.zeros(16, 8)})
    model = towers(3)
    torch.testing.assert_close(
        one.with_state({"text.weight": model.text.weight}).module()(IDS), model.encode_text(IDS)
    )


def test_an_entry_opens_only_the_shards_that_it_reads(tmp_path, bare_file, monkeypatch):
    """The others need not be there."""
    folder = checkpoint(tmp_path, towers(1))
    opened = []
    read = safetensors.read_file
    monkeypatch.setattr(
        "monograph.archive.checkpoints.read_file",
        lambda path: opened.append(path.name) or read(path),
    )
    (folder / "text.safetensors").unlink()
    one = monograph.load(io.BytesIO(bare_file), model="encode_image", weights=folder)
    torch.testing.assert_close(one.module()(X), towers(1).encode_image(X))
    assert opened == ["image.safetensors"]
    with pytest.raises(MonographError, match=r"text.safetensors"):
        Programs.load(io.BytesIO(bare_file), weights=folder)


def test_weights_are_mapped(tmp_path, bare_file):
    """They are views of the file; writing to them leaves it as it is."""
    folder = checkpoint(tmp_path, towers(1))
    before = (folder / "image.safetensors").read_bytes()
    one = monograph.load(io.BytesIO(bare_file), model="encode_image", weights=folder)
    with torch.no_grad():
        one.state_dict["image.0.weight"].zero_()
    assert (folder / "image.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("name_of", "key"),
    [
        (lambda name: f"base.model.{name}", None),
        (lambda name: name.replace("image.", "vision.").upper(), True),
    ],
)
def test_names_of_a_checkpoint(tmp_path, bare_file, name_of, key):
    """Those of a prefix are found; others by a function, also in a mapping."""
    folder = checkpoint(tmp_path, towers(1), name_of)
    bare = Programs.load(io.BytesIO(bare_file))
    equal(bare.with_state(folder, key=name_of if key else None), towers(1))
    state = {name_of(name): tensor for name, tensor in towers(1).state_dict().items()}
    equal(bare.with_state(state, key=name_of), towers(1))


def without(name):
    """Leave a tensor out of a checkpoint, and put another into it."""

    def change(state):
        state["another"] = state.pop(name)

    return change


def put(name, tensor):
    """Put a tensor into the place of one."""
    return lambda state: state.update({name: tensor})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("image.0.weight"), "`image.0.weight` is not in the checkpoint"),
        (lambda state: state.pop("image.0.bias"), "`image.0.bias` has no data"),
        (put("text.weight", torch.ones(10, 4)), "the shape of `text.weight` is [10, 16]"),
        (put("text.weight", torch.ones(10, 16).half()), "the dtype of `text.weight`"),
        (lambda state: state.clear(), "no safetensors files"),
    ],
)
def test_checkpoints_that_do_not_fit(tmp_path, bare_file, change, said):
    """By name, and the program is as it was."""
    left_out = ("head.weight", "seen", "tail")
    state = {n: t.clone() for n, t in towers(1).state_dict().items() if n not in left_out}
    change(state)
    if state:
        safetensors.write_file(tmp_path / "model.safetensors", state)
    bare = Programs.load(io.BytesIO(bare_file))
    with pytest.raises(MonographError) as refused:
        bare.with_state(tmp_path)
    diagnostic = refused.value.diagnostic
    assert diagnostic.name == "weights-do-not-fit"
    assert said in diagnostic.headline
    equal(bare.with_state(towers(1).state_dict()), towers(1))


def test_two_adapters_of_files_over_one_base(tmp_path):
    """A checkpoint that holds nothing else changes that alone; the base is shared, not copied."""

    class Adapted(nn.Module):
        """A linear layer and its update of low rank."""

        def __init__(self):
            super().__init__()
            self.base = nn.Linear(64, 64)
            self.down = nn.Linear(64, 2, bias=False)
            self.up = nn.Linear(2, 64, bias=False)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    torch.manual_seed(0)
    model, x = Adapted(), torch.randn(3, 64)
    base = monograph.export_methods(
        model, {"forward": call(x), "twice": call(x).of(lambda m, x: m(m(x)))}
    )
    adapters = []
    for number in range(2):
        state = {
            f"{name}.weight": torch.randn_like(getattr(model, name).weight)
            for name in ("up", "down")
        }
        safetensors.write_file(tmp_path / f"{number}.safetensors", state)
        adapters.append(base.with_state(tmp_path / f"{number}.safetensors"))
        expected = torch.func.functional_call(model, state, (x,))
        torch.testing.assert_close(adapters[-1].module().forward(x), expected)
    for each in adapters:
        for entry in each.values():
            assert entry.state_dict["base.weight"] is model.base.weight
    file = tmp_path / "both.pt2"
    monograph.save(
        {f"{name}_{i}": p for i, each in enumerate(adapters) for name, p in each.items()}, file
    )
    assert file.stat().st_size < 1.5 * sum(p.nbytes for p in model.parameters()) + 20_000
