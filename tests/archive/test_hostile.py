"""Bad files are refused with member and reason: quickly, in little memory, running nothing."""

import io
import random
import resource
import sys
import time

import pytest
import torch

import monograph
from monograph.diagnostics import ArchiveError
from tests.archive import hostile
from tests.archive.peers import loaded

SECONDS = 10
MEGABYTES = 200


@pytest.fixture(scope="module")
def content():
    """Give the good file."""
    return hostile.good()


@pytest.fixture(scope="module")
def members(content):
    """Give its members."""
    return hostile.members_of(content)


def test_there_are_many_cases():
    """The suite is large enough to mean something."""
    assert len(hostile.CASES) >= 40


def test_the_good_file_loads(content, members):
    """It is the change that is refused: the file loads unchanged, rewritten, and as stock's."""
    expected = hostile.Model()(*hostile.example()).keys()
    files = [
        content,
        hostile.written(members),
        hostile.edited(members, lambda model: None, ours=True),
        hostile.edited(members, lambda model: None, ours=False),
    ]
    for each in files:
        assert loaded(each).module()(*hostile.example()).keys() == expected


@pytest.mark.parametrize("name", hostile.CASES)
def test_a_bad_file_is_refused(name, content, members, tmp_path, monkeypatch):
    """It is an ArchiveError that names a member; nothing ran, nothing was written or imported."""
    bad = hostile.CASES[name](members, content)
    path = tmp_path / "bad.pt2"
    path.write_bytes(bad)
    monkeypatch.chdir(tmp_path)
    modules, peak, start = set(sys.modules), peak_bytes(), time.process_time()
    with pytest.raises(ArchiveError) as caught:
        monograph.load(path)
    assert time.process_time() - start < SECONDS
    assert peak_bytes() - peak < len(bad) + (MEGABYTES << 20)
    assert caught.value.diagnostic.name.startswith("archive-")
    assert "antigravity" not in set(sys.modules) - modules
    assert [each.name for each in tmp_path.iterdir()] == ["bad.pt2"]
    assert not hostile.FIRED


def peak_bytes() -> int:
    """Give the most memory this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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


def mutated_members(members: dict[str, bytes], source: random.Random) -> bytes:
    """Change one member and put the file together again, so that checksums hold."""
    members = dict(members)
    name = source.choice([name for name in members if members[name]])
    members[name] = mutated(members[name], source)
    if source.random() < 0.5:
        members.pop(hostile.SIDE)
    elif name == hostile.MODEL:
        side = hostile.json.loads(members[hostile.SIDE])
        side["program"] = hostile.zlib.crc32(members[hostile.MODEL])
        members[hostile.SIDE] = hostile.json.dumps(side).encode()
    return hostile.written(members)


def fuzz(content, members, seeds) -> dict[str, int]:
    """Load many mutated files; each is refused, or is a program."""
    verdicts = {"refused": 0, "loaded": 0}
    for seed in seeds:
        source = random.Random(seed)
        is_whole = source.random() < 0.3
        bad = mutated(content, source) if is_whole else mutated_members(members, source)
        start = time.process_time()
        try:
            program = monograph.load(io.BytesIO(bad))
        except ArchiveError:
            verdicts["refused"] += 1
        else:
            verdicts["loaded"] += 1
            str(program.contract)
            assert isinstance(program.graph, torch.fx.Graph)
        assert time.process_time() - start < SECONDS, f"seed {seed}"
        assert not hostile.FIRED, f"seed {seed}"
    return verdicts


def test_mutated_files_are_refused_or_programs(content, members):
    """A few hundred mutated files: no crash, no other exception, nothing runs."""
    verdicts = fuzz(content, members, range(300))
    assert verdicts["refused"] > 150


@pytest.mark.slow
def test_ten_thousand_mutated_files(content, members):
    """The same for ten thousand."""
    verdicts = fuzz(content, members, range(1_000, 11_000))
    assert verdicts["refused"] > 5_000
