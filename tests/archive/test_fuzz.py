"""Mutated files, with fixed seeds: each is refused, or is a program; nothing else happens.

Programs saved here and by torch.export, weights beside them, changed by the byte, in one member
whose sums are set right again, and value by value in their JSON.
"""

import json
import random
import warnings
import zlib
from pathlib import Path

import pytest
import torch

import monograph
from monograph.diagnostics import ArchiveError
from tests.archive import hostile
from tests.archive.peers import loaded, loaded_there, saved_there
from tests.archive.watching import watched

FEW, MANY = 400, 10_000
ODD_VALUES = (
    *(None, True, False, -1, 0, 1, 7, 1 << 31, 1 << 62, 1 << 63, 1 << 70, -(1 << 63), 0.5, 1e308),
    *("", "x", "x\0", "9**9**9", "../../x", "s0", "u0", "lambda: 0", "NaN", "os.system"),
    *(hostile.CANARY, "Symbol('s0')", "torch.ops.aten.add.Tensor", "builtins.list"),
    *([], {}, [[]], [None], {"as_int": -1}, {"as_none": True}, {"as_tensor": {"name": "x"}}),
)
WEIGHTS = "weights.safetensors"


def mutated(content: bytes, source: random.Random) -> bytes:
    """Change a few bytes: flip, overwrite, cut, repeat, swap."""
    data = bytearray(content)
    for _ in range(source.choice((1, 1, 1, 2, 4, 16))):
        if len(data) < 64:
            break
        at = source.randrange(len(data))
        size = min(source.choice((1, 2, 4, 32)), len(data) - at)
        match source.randrange(5):
            case 0:
                data[at] ^= 1 << source.randrange(8)
            case 1:
                data[at : at + size] = source.randbytes(size)
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = data[at : at + size]
            case _:
                other = source.randrange(len(data) - size + 1)
                data[at : at + size] = data[other : other + size]
    return bytes(data)


def places(value) -> list:
    """Every (container, key) of a JSON value."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else range(len(each))
            found += [(each, key) for key in keys]
            waiting += [each[key] for key in keys]
    return found


def mutated_json(content: bytes, source: random.Random) -> bytes:
    """Change a few values: by an odd one, by another of the file, or leave one out."""
    value = json.loads(content)
    for _ in range(source.choice((1, 1, 2, 5))):
        found = places(value)
        if not found:
            break
        container, key = source.choice(found)
        match source.randrange(4):
            case 0 | 1:
                container[key] = source.choice(ODD_VALUES)
            case 2:
                other, place = source.choice(found)
                container[key] = json.loads(json.dumps(other[place]))
            case _:
                del container[key]
    return json.dumps(value).encode()


def mutated_members(members: dict[str, bytes], source: random.Random) -> bytes:
    """Change one member and put the file together again, so that checksums hold."""
    members = dict(members)
    name = source.choice([name for name in members if members[name]])
    is_json = name.endswith(".json") and source.random() < 0.7
    members[name] = (mutated_json if is_json else mutated)(members[name], source)
    if source.random() < 0.3:
        members.pop(hostile.SIDE, None)
    elif name == hostile.MODEL and hostile.SIDE in members:
        side = json.loads(members[hostile.SIDE])
        side["program"] = zlib.crc32(members[hostile.MODEL])
        members[hostile.SIDE] = json.dumps(side).encode()
    return hostile.written(members)


def mutated_weights(content: bytes, source: random.Random) -> bytes:
    """Change a safetensors file: its bytes, or the values of its header."""
    if source.random() < 0.5:
        return mutated(content, source)
    size = int.from_bytes(content[:8], "little")
    head = mutated_json(content[8 : 8 + size], source)
    return len(head).to_bytes(8, "little") + head + content[8 + size :]


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> list[tuple[bytes, dict[str, bytes], bytes]]:
    """Give good files with their members, and the weights beside them, if any."""
    folder = tmp_path_factory.mktemp("good")
    here = hostile.good()
    there = saved_there(loaded_there(here))
    monograph.save(loaded(here), folder / "program.pt2", weights=WEIGHTS, verify=False)
    beside = (folder / "program.pt2").read_bytes()
    weights = (folder / WEIGHTS).read_bytes()
    return [
        (here, hostile.members_of(here), b""),
        (there, hostile.members_of(there), b""),
        (beside, hostile.members_of(beside), weights),
    ]


def drawn(originals, source: random.Random) -> tuple[bytes, bytes]:
    """Draw a bad program, and the weights beside it."""
    content, members, weights = source.choice(originals)
    if weights and source.random() < 0.5:
        return content, mutated_weights(weights, source)
    if source.random() < 0.25:
        return mutated(content, source), weights
    return mutated_members(members, source), weights


def fuzz(originals, seeds, folder: Path) -> dict[str, int]:
    """Load many mutated files; nothing runs, is written, takes long or takes much memory."""
    verdicts = {"refused": 0, "loaded": 0}
    path, beside = folder / "program.pt2", folder / WEIGHTS
    for seed in seeds:
        bad, weights = drawn(originals, random.Random(seed))
        path.write_bytes(bad)
        beside.write_bytes(weights)
        try:
            with watched(limit=len(bad) + len(weights)) as seen, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = monograph.load(path)
        except ArchiveError:
            verdicts["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        else:
            verdicts["loaded"] += 1
            str(program.contract)
            assert isinstance(program.graph, torch.fx.Graph)
        assert not seen, f"seed {seed}: {seen}"
        assert not hostile.FIRED, f"seed {seed}"
        assert sorted(each.name for each in folder.iterdir()) == ["program.pt2", WEIGHTS]
        assert path.read_bytes() == bad, f"seed {seed}"
        assert beside.read_bytes() == weights, f"seed {seed}"
    return verdicts


def test_mutated_files_are_refused_or_programs(originals, tmp_path, monkeypatch):
    """A few hundred mutated files: no crash, no other exception, nothing runs."""
    monkeypatch.chdir(tmp_path)
    verdicts = fuzz(originals, range(FEW), tmp_path)
    assert verdicts["refused"] > FEW // 2
    assert verdicts["loaded"] > FEW // 50


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_mutated_files(originals, part, tmp_path, monkeypatch):
    """The same for ten thousand, a thousand at a time."""
    monkeypatch.chdir(tmp_path)
    size = MANY // 10
    verdicts = fuzz(originals, range(1_000 + part * size, 1_000 + (part + 1) * size), tmp_path)
    assert verdicts["refused"] > size // 2
