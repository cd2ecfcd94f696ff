"""Files when things go wrong, and what saving costs: full disks, kills, races, memory, sums."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import monograph
from monograph.archive import loading
from monograph.diagnostics import ArchiveError

ROOT = Path(__file__).parents[2]
HEAD = """
import os, resource, signal, sys, torch, monograph
from pathlib import Path
from tests.archive.watching import forgotten_peak, in_status

class Stack(torch.nn.Module):
    def __init__(self, count, size, value):
        super().__init__()
        self.weights = torch.nn.ParameterList(
            torch.full((size, size), value + i) for i in range(count)
        )

    def forward(self, x):
        for weight in self.weights:
            x = x @ weight
        return x

def stack(count, size, value=0.0):
    return monograph.export(Stack(count, size, value), (torch.ones(1, size),))

path = Path(sys.argv[1])
"""


def in_a_process(script: str, *arguments: str, status: int = 0) -> str:
    """Run a script with `stack` and `path`; give what it prints."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr[-2000:]
    return done.stdout


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(each.name for each in folder.iterdir())


STREAMS = """
program = stack(12, 2560)  # 12 of 26 MB
for name, options in {"a.pt2": {}, "b.pt2": {"weights": "b.safetensors"}}.items():
    before = forgotten_peak()
    monograph.save(program, path / name, verify=False, **options)
    print((in_status("VmHWM") - before) >> 20)
"""


def test_saving_streams(tmp_path):
    """Memory grows by less than the largest tensor and 100 MB, of 315 MB that are written."""
    for grown in in_a_process(STREAMS, str(tmp_path)).split():
        assert int(grown) < 26 + 100
    assert (tmp_path / "a.pt2").stat().st_size > 300e6
    assert (tmp_path / "b.safetensors").stat().st_size > 300e6


FULL = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
other = stack(2, 256, 5.0)  # 512 kB
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
for options in ({}, {"weights": "other.safetensors"}, {"verify": False}):
    try:
        monograph.save(other, path / "program.pt2", **options)
    except OSError as error:
        print(error.errno)
"""


def test_no_room_leaves_the_old_file(tmp_path):
    """Where no more bytes fit, the error is the system's, and nothing is left behind."""
    program = monograph.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),))
    monograph.save(program, tmp_path / "program.pt2")
    before = (tmp_path / "program.pt2").read_bytes()
    assert in_a_process(FULL, str(tmp_path)).split() == ["27", "27", "27"]
    assert (tmp_path / "program.pt2").read_bytes() == before
    assert names(tmp_path) == ["program.pt2"]


KILLED = """
import importlib
module = importlib.import_module("monograph.archive.{module}")
count = 0
original = module.{name}

def dies(*args, **kwargs):
    global count
    count += 1
    if count == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)

module.{name} = dies
monograph.save(stack(2, 64, 5.0), path / "program.pt2", **{options})
"""


@pytest.mark.parametrize(
    ("module", "name", "at", "options"),
    [
        ("saving", "block_bytes", 2, {}),
        pytest.param("saving", "check_round_trip", 1, {}, marks=pytest.mark.slow),
        pytest.param(
            *("files.safetensors", "replacing", 1, {"weights": "other.safetensors"}),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["while weights are written", "before it is renamed", "before weights are written"],
)
def test_a_kill_leaves_the_old_file(tmp_path, module, name, at, options):
    """What stands under the name is the old program, whole; the next save works."""
    program = monograph.export(torch.nn.Linear(3, 2), (torch.ones(2, 3),))
    monograph.save(program, tmp_path / "program.pt2")
    before = (tmp_path / "program.pt2").read_bytes()
    script = KILLED.format(module=module, name=name, at=at, options=options)
    in_a_process(script, str(tmp_path), status=-signal.SIGKILL)
    assert (tmp_path / "program.pt2").read_bytes() == before
    assert "other.safetensors" not in names(tmp_path)
    monograph.save(program, tmp_path / "program.pt2", **options)
    again = monograph.load(tmp_path / "program.pt2")
    assert torch.equal(again.state_dict["weight"], program.state_dict["weight"])


def test_readers_see_one_program_or_the_other(tmp_path):
    """While it is replaced again and again, every load is of a whole file."""
    path = tmp_path / "program.pt2"
    x = torch.ones(2, 3)
    programs = []
    for value in (1.0, 2.0):
        module = torch.nn.Linear(3, 2)
        torch.nn.init.constant_(module.weight, value)
        torch.nn.init.constant_(module.bias, 0.0)
        programs.append(monograph.export(module, (x,)))
    monograph.save(programs[0], path)
    found, problems = [], []

    def read():
        try:
            found.extend(monograph.load(path).module()(x)[0, 0].item() for _ in range(15))
        except BaseException as error:  # noqa: BLE001  told to the main thread
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(30):
        monograph.save(programs[turn % 2], path, verify=False)
    for thread in threads:
        thread.join()
    assert not problems
    assert len(found) == 60
    assert set(found) <= {3.0, 6.0}
    assert names(tmp_path) == ["program.pt2"]


def test_sums_of_large_weights_are_verified_when_asked_for(tmp_path, monkeypatch):
    """Beyond a size that a load would have to page in, the default leaves them."""
    path = tmp_path / "program.pt2"
    module = torch.nn.Linear(64, 64)
    monograph.save(monograph.export(module, (torch.ones(1, 64),)), path)
    content = bytearray(path.read_bytes())
    at = content.index(module.weight.detach().numpy().tobytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="checksum"):
        monograph.load(path)
    monkeypatch.setattr(loading, "LAZY_BYTES", 1000)
    monograph.load(path)
    with pytest.raises(ArchiveError, match="checksum"):
        monograph.load(path, checksums=True)


BYTES = """
import hashlib, io
from tests.archive import test_fixtures, test_files, test_injection, hostile
for make in (*test_fixtures.PROGRAMS.values(), test_files.every):
    file = io.BytesIO()
    monograph.save(make(), file, verify=False)
    print(hashlib.sha256(file.getvalue()).hexdigest())
print(hashlib.sha256(hostile.written(test_injection.good())).hexdigest())
"""


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_process(tmp_path, monkeypatch):
    """Programs with sizes, state, branches, contracts and state of every kind; two hash seeds."""
    found = []
    for seed in ("1", "31337"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        found.append(in_a_process(BYTES, str(tmp_path)).split())
    assert found[0] == found[1]
    assert len(set(found[0])) == 5
