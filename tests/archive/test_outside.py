"""Weights in safetensors files beside a program, in checkpoints, and given to `load`."""

import io
import json

import pytest
import torch

import monograph
from monograph.archive.files import safetensors as ours
from monograph.diagnostics import ArchiveError
from tests.archive.test_files import every, state_of
from tests.seeding import reseed

safetensors = pytest.importorskip("safetensors.torch")


class Two(torch.nn.Module):
    """A model with a tie and a buffer."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(6, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.head = torch.nn.Linear(4, 6, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.norm(self.embed(ids)))


def two():
    """Give a model and its program."""
    reseed(0)
    model = Two().eval()
    shapes = {"ids": {0: monograph.Dim("n", min=1, max=64)}}
    return model, monograph.export(model, (torch.tensor([1, 2, 3]),), dynamic_shapes=shapes)


IDS = torch.tensor([5, 0, 1, 2, 2])


def test_weights_lie_beside_and_others_can_read_them(tmp_path):
    """The safetensors package reads the file; the program that is loaded answers alike."""
    model, program = two()
    monograph.save(program, tmp_path / "two.pt2", weights="two.safetensors")
    found = safetensors.load_file(tmp_path / "two.safetensors")
    for name, tensor in found.items():
        assert torch.equal(tensor, program.state_dict[name])
    names = set(program.state_dict)
    assert set(found) == names - {"head.weight"}
    again = monograph.load(tmp_path / "two.pt2")
    assert list(again.state_dict) == list(program.state_dict)
    assert again.state_dict["head.weight"] is again.state_dict["embed.weight"]
    assert isinstance(again.state_dict["embed.weight"], torch.nn.Parameter)
    assert torch.equal(again.module()(IDS), model(IDS))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["two.pt2", "two.safetensors"]


def test_state_of_every_kind(tmp_path):
    """What safetensors has no form for stays in the program's file; all comes back as it was."""
    program = every()
    monograph.save(program, tmp_path / "every.pt2", weights="every.safetensors")
    again = monograph.load(tmp_path / "every.pt2")
    expected, found = state_of(program), state_of(again)
    assert list(expected) == list(found)
    for name, left in expected.items():
        right = found[name]
        kind = left.dtype if left.is_complex() else torch.float64
        assert torch.equal(left.resolve_conj().to(kind), right.to(kind)), name
        assert (left.dtype, left.shape, left.stride()) == (right.dtype, right.shape, right.stride())
        assert left.requires_grad == right.requires_grad
        assert isinstance(left, torch.nn.Parameter) == isinstance(right, torch.nn.Parameter)
    storages = {name: value.untyped_storage().data_ptr() for name, value in found.items()}
    assert storages["strided"] == storages["overlapping"]
    assert storages["first.bias"] == storages["shared_apart"]
    assert "strided" not in ours.read_file(tmp_path / "every.safetensors")


def test_several_programs_share_one_file(tmp_path):
    """The second save writes no weights; the file is the very same."""
    model, program = two()
    monograph.save(program, tmp_path / "one.pt2", weights="shared.safetensors")
    before = (tmp_path / "shared.safetensors").stat()
    other = monograph.export(model.head, (torch.ones(2, 4),))
    lowered = program.run_decompositions()
    monograph.save({"lowered": lowered}, tmp_path / "other.pt2", weights="shared.safetensors")
    after = (tmp_path / "shared.safetensors").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert (tmp_path / "other.pt2").stat().st_size < 60_000
    again = monograph.load(tmp_path / "other.pt2", model="lowered")
    torch.testing.assert_close(again.module()(IDS), model(IDS))
    # The head alone calls its weight otherwise: it stays in its own file.
    monograph.save(other, tmp_path / "head.pt2", weights="shared.safetensors")
    assert torch.equal(
        monograph.load(tmp_path / "head.pt2").state_dict["weight"], model.head.weight
    )


def test_other_numbers_of_one_name_are_refused(tmp_path):
    """A file that is there is never written to, and holds what is saved, or nothing is."""
    _, program = two()
    monograph.save(program, tmp_path / "two.pt2", weights="two.safetensors")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with torch.no_grad():
        program.state_dict["norm.bias"].add_(1)
    with pytest.raises(ArchiveError) as refused:
        monograph.save(program, tmp_path / "new.pt2", weights="two.safetensors")
    assert "norm.bias" in refused.value.diagnostic.headline
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def checkpoint(folder, model, *, shards):
    """Write a checkpoint as Hugging Face does: ties once, an index over shards."""
    folder.mkdir()
    state = {name: t for name, t in model.state_dict().items() if name != "head.weight"}
    if not shards:
        safetensors.save_file(state, folder / "model.safetensors", {"format": "pt"})
        return
    names = list(state)
    parts = {"model-00001-of-00002.safetensors": names[:2], "model-00002-of-00002.safetensors": []}
    parts["model-00002-of-00002.safetensors"] = names[2:]
    weight_map = {}
    for file, held in parts.items():
        safetensors.save_file({name: state[name] for name in held}, folder / file)
        weight_map |= dict.fromkeys(held, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("shards", [False, True])
def test_a_checkpoint_folder_is_used_as_it_is(tmp_path, shards):
    """Nothing of it changes; the program finds it below its own folder, or where load says."""
    model, program = two()
    folder = tmp_path / "checkpoint"
    checkpoint(folder, model, shards=shards)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    monograph.save(program, tmp_path / "two.pt2", weights="checkpoint")
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    again = monograph.load(tmp_path / "two.pt2")
    assert torch.equal(again.module()(IDS), model(IDS))
    assert again.state_dict["head.weight"] is again.state_dict["embed.weight"]
    moved = tmp_path / "moved"
    folder.rename(moved)
    with pytest.raises(ArchiveError):
        monograph.load(tmp_path / "two.pt2")
    again = monograph.load(tmp_path / "two.pt2", weights=moved)
    assert torch.equal(again.module()(IDS), model(IDS))


def test_a_program_in_memory_has_its_weights_elsewhere(tmp_path):
    """Without a folder of its own, load has to say where they are."""
    model, program = two()
    file = io.BytesIO()
    monograph.save(program, file, weights=tmp_path / "two.safetensors")
    file.seek(0)
    with pytest.raises(ArchiveError, match="weights lie elsewhere"):
        monograph.load(file)
    file.seek(0)
    again = monograph.load(file, weights=tmp_path / "two.safetensors")
    assert torch.equal(again.module()(IDS), model(IDS))


def test_many_weights_go_to_shards(tmp_path, monkeypatch):
    """A folder that is not there is made, with an index where one file would be too large."""
    monkeypatch.setattr(ours, "SHARD_BYTES", 100)
    model, program = two()
    monograph.save(program, tmp_path / "two.pt2", weights="weights")
    names = sorted(each.name for each in (tmp_path / "weights").iterdir())
    assert names[0].startswith("model-00001-of-")
    assert names[-1] == "model.safetensors.index.json"
    assert torch.equal(monograph.load(tmp_path / "two.pt2").module()(IDS), model(IDS))


def test_the_same_weights_give_the_same_bytes(tmp_path):
    """Both files; the order of the state does not matter to the weights."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monograph.save(two()[1], tmp_path / name / "two.pt2", weights="two.safetensors")
    for file in ("two.pt2", "two.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_failed_save_leaves_no_weights(tmp_path, monkeypatch):
    """What was written for a program that is not kept goes too."""

    def wrong(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("monograph.archive.saving.check_round_trip", wrong)
    with pytest.raises(OSError, match="No space"):
        monograph.save(two()[1], tmp_path / "two.pt2", weights="two.safetensors")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------- hostile
def header_of(path):
    """Take a file apart."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def put(path, header, rest):
    """Put a file together."""
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + rest)


def change(name, **fields):
    """Change a tensor's entry."""

    def make(path):
        header, rest = header_of(path)
        header[name].update(fields)
        put(path, header, rest)

    return make


def flip(path):
    """Flip a bit of a weight."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def overlap(path):
    """Let two tensors share bytes."""
    header, rest = header_of(path)
    header["norm.bias"]["data_offsets"] = header["norm.weight"]["data_offsets"]
    put(path, header, rest)


BROKEN = {
    "empty": lambda path: path.write_bytes(b""),
    "cut in the header": lambda path: path.write_bytes(path.read_bytes()[:40]),
    "cut in the weights": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "a header of an exabyte": lambda path: path.write_bytes(b"\xff" * 7 + b"\x0f" + b"{}"),
    "no json": lambda path: path.write_bytes((4).to_bytes(8, "little") + b"nope"),
    "deep json": lambda path: path.write_bytes((90_000).to_bytes(8, "little") + b"[" * 90_000),
    "a flipped bit": flip,
    "overlapping": overlap,
    "missing": lambda path: path.unlink(),
    "beyond": change("norm.bias", data_offsets=[10**9, 10**9 + 16]),
    "backwards": change("norm.bias", data_offsets=[16, 0]),
    "too few bytes": change("norm.bias", shape=[1 << 40]),
    "a negative size": change("norm.bias", shape=[-4]),
    "a dtype of nobody": change("norm.bias", dtype="F3"),
    "offsets of text": change("norm.bias", data_offsets=["0", "16"]),
}


@pytest.mark.parametrize("how", BROKEN)
def test_broken_weights_are_refused(tmp_path, how):
    """Each is refused when the program is loaded."""
    monograph.save(two()[1], tmp_path / "two.pt2", weights="two.safetensors")
    BROKEN[how](tmp_path / "two.safetensors")
    with pytest.raises(ArchiveError):
        monograph.load(tmp_path / "two.pt2")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("folder", "../elsewhere"),
        ("folder", "/etc"),
        ("file", "../../secret.safetensors"),
        ("file", "passwd"),
        ("file", ".hidden.safetensors"),
    ],
)
def test_records_point_nowhere_else(tmp_path, key, value):
    """A record that names a file outside of the program's folder is not followed."""
    from tests.archive.hostile import SIDE, members_of, written  # noqa: PLC0415

    monograph.save(two()[1], tmp_path / "two.pt2", weights="two.safetensors")
    members = members_of((tmp_path / "two.pt2").read_bytes())
    side = json.loads(members[SIDE])
    if key == "folder":
        side["outside"]["folder"] = value
    else:
        for payload in side["outside"]["tensors"].values():
            payload["file"] = value
    (tmp_path / "two.pt2").write_bytes(written({**members, SIDE: json.dumps(side).encode()}))
    with pytest.raises(ArchiveError) as refused:
        monograph.load(tmp_path / "two.pt2")
    assert refused.value.diagnostic.name == "archive-unsafe"


# ---------------------------------------------------------------------------------- weights given
def test_a_program_without_data_gets_its_weights_when_loaded(tmp_path):
    """Captured on meta, saved in a few kilobytes, loaded with a state dict: as the real model's."""
    model, _ = two()
    with torch.device("meta"):
        empty = Two().eval()
    shapes = {"ids": {0: monograph.Dim("n", min=1, max=64)}}
    ids = torch.zeros(3, dtype=torch.int64, device="meta")
    program = monograph.export(empty, (ids,), dynamic_shapes=shapes)
    monograph.save(program, tmp_path / "empty.pt2")
    assert (tmp_path / "empty.pt2").stat().st_size < 60_000
    again = monograph.load(tmp_path / "empty.pt2", state_dict=model.state_dict())
    assert torch.equal(again.module()(IDS), model(IDS))
    assert again.state_dict["embed.weight"].data_ptr() == model.embed.weight.data_ptr()
    assert again.state_dict["head.weight"] is again.state_dict["embed.weight"]
    monograph.save(again, tmp_path / "full.pt2")
    assert torch.equal(monograph.load(tmp_path / "full.pt2").module()(IDS), model(IDS))


def test_given_weights_take_the_place_of_saved_ones(tmp_path):
    """Some or all of them; the file keeps its own."""
    model, program = two()
    monograph.save(program, tmp_path / "two.pt2")
    before = model(IDS)
    model.norm.bias = torch.nn.Parameter(torch.full((4,), 7.0))
    again = monograph.load(tmp_path / "two.pt2", state_dict={"norm.bias": model.norm.bias})
    assert again.state_dict["norm.bias"] is model.norm.bias
    assert torch.equal(again.module()(IDS), model(IDS))
    assert torch.equal(monograph.load(tmp_path / "two.pt2").module()(IDS), before)


@pytest.mark.parametrize(
    "given",
    [
        {"nobody": torch.ones(1)},
        {"norm.bias": torch.ones(5)},
        {"norm.bias": torch.ones(4, dtype=torch.float64)},
        {"norm.bias": [0.0] * 4},
        {"norm.bias": torch.ones(4, device="meta")},
    ],
    ids=["unknown", "shape", "dtype", "list", "device"],
)
def test_what_does_not_fit_is_refused(tmp_path, given):
    """Other names, shapes, dtypes, kinds and devices."""
    monograph.save(two()[1], tmp_path / "two.pt2")
    with pytest.raises(ArchiveError) as refused:
        monograph.load(tmp_path / "two.pt2", state_dict=given)
    assert refused.value.diagnostic.name == "weights-do-not-fit"


def test_a_program_without_data_needs_all_of_them(tmp_path):
    """The first that is missing is named."""
    with torch.device("meta"):
        empty = torch.nn.Linear(3, 2)
    program = monograph.export(empty, (torch.empty(2, 3, device="meta"),))
    monograph.save(program, tmp_path / "empty.pt2")
    with pytest.raises(ArchiveError, match="`bias` has no data"):
        monograph.load(tmp_path / "empty.pt2", state_dict={"weight": torch.ones(2, 3)})


def test_weights_without_data_need_no_file(tmp_path):
    """What is on the meta device has no bytes that could lie outside."""
    with torch.device("meta"):
        empty = torch.nn.Linear(3, 2)
    program = monograph.export(empty, (torch.empty(2, 3, device="meta"),))
    monograph.save(program, tmp_path / "empty.pt2", weights="empty.safetensors")
    assert [each.name for each in tmp_path.iterdir()] == ["empty.pt2"]
    module = torch.nn.Linear(3, 2)
    again = monograph.load(tmp_path / "empty.pt2", state_dict=module.state_dict())
    x = torch.ones(2, 3)
    assert torch.equal(again.module()(x), module(x))


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device is here")
def test_weights_of_a_device_that_is_not_here_are_refused(tmp_path):
    """By the name of the device."""
    from tests.archive.hostile import WEIGHTS, members_of, written  # noqa: PLC0415

    monograph.save(two()[1], tmp_path / "two.pt2")
    members = members_of((tmp_path / "two.pt2").read_bytes())
    members[WEIGHTS] = members[WEIGHTS].replace(b'"cpu"', b'"cuda"')
    (tmp_path / "two.pt2").write_bytes(written(members))
    with pytest.raises(ArchiveError, match="lie on cuda, which is not here"):
        monograph.load(tmp_path / "two.pt2")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no other device is here")
def test_weights_of_another_device_stay_in_the_file(tmp_path):
    """They are fetched when they are written, and come back to their device."""
    module = torch.nn.Linear(3, 2, device="cuda")
    x = torch.ones(2, 3, device="cuda")
    program = monograph.export(module, (x,))
    monograph.save(program, tmp_path / "cuda.pt2", weights="cuda.safetensors")
    assert [each.name for each in tmp_path.iterdir()] == ["cuda.pt2"]
    again = monograph.load(tmp_path / "cuda.pt2")
    assert torch.equal(again.module()(x), module(x))
