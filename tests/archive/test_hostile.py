"""Bad files are refused with member and reason: quickly, in little memory, running nothing."""

import ctypes
import gc
import subprocess
import sys

import pytest

import monograph
from monograph.diagnostics import ArchiveError
from tests.archive import hostile, hostile_costs  # noqa: F401  it enters its cases
from tests.archive.peers import loaded
from tests.archive.watching import watched


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
    modules = set(sys.modules)
    with watched(limit=len(bad)) as seen, pytest.raises(ArchiveError) as caught:
        monograph.load(path)
    assert not seen
    assert caught.value.diagnostic.name.startswith("archive-")
    assert "antigravity" not in set(sys.modules) - modules
    assert [each.name for each in tmp_path.iterdir()] == ["bad.pt2"]
    assert not hostile.FIRED


def test_what_is_watched_is_seen(tmp_path):
    """The watch is awake: it sees files written, programs started, and memory taken."""
    with watched(limit=0) as seen:
        (tmp_path / "written").write_bytes(b"")
        subprocess.run([sys.executable, "-c", ""], check=True)
        (tmp_path / "written").read_bytes()
    # From Python 3.13 on a program may be started by `os.posix_spawn`, which is seen, too.
    assert [each.split()[0] for each in seen][:2] == ["open", "subprocess.Popen"]
    assert not _seen_of_garbage()
    with pytest.raises(AssertionError, match="memory grew"), watched(limit=0):
        assert b"x" * (300 << 20)


def _seen_of_garbage() -> list[str]:
    """Give what is seen while garbage of others dies, by way of ctypes."""

    class Left:
        def __del__(self) -> None:
            ctypes.c_int.from_buffer_copy(b"1234")
            dead.append(self)

    dead: list[object] = []
    left = Left()
    left.itself = left
    del left
    with watched(limit=0) as seen:
        gc.collect(0)  # of all that a worker holds by now, it takes many seconds
    assert dead
    return seen
