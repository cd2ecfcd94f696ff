"""Supervised forks: what is told, how they end, their limits, what they print and leave behind."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Pipe
from pathlib import Path

import pytest

from monograph.sweep.processes import AbandonedError, Limits, supervised

# From 3.12 on Python warns of forks beside threads, which pytest has.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def is_running(pid):
    """Whether there is such a process, and it is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid):
    """Fail where a process is still there after a while."""
    end = time.monotonic() + 30
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} is still running"
        time.sleep(0.02)


def test_what_is_told_last_is_kept_and_all_is_seen():
    """In order; and nothing was printed."""
    seen = []

    def run(tell):
        for number in range(3):
            tell({"number": number})

    found = supervised(run, Limits(), watch=seen.append)
    assert (found.ending, found.told, found.output) == ("returned", {"number": 2}, "")
    assert [each["number"] for each in seen] == [0, 1, 2]
    assert found.peak_bytes > 1e6


def test_a_crash_keeps_what_was_told_before():
    """The signal is named."""

    def run(tell):
        tell({"stage": "early"})
        ctypes.string_at(0)

    found = supervised(run, Limits())
    assert (found.ending, found.detail) == ("crashed", "ended by SIGSEGV")
    assert found.told == {"stage": "early"}
    assert "test_processes.py" in found.output, "the Python stack"
    assert found.output.startswith("Fatal Python error")


def test_of_a_deep_crash_the_innermost_frames_are_kept():
    """The stack is longer than what is kept."""

    def descend(n):
        return ctypes.string_at(0) if n == 0 else [descend(n - 1)]

    found = supervised(lambda _tell: descend(90), Limits())
    assert "ctypes" in found.output.partition("descend")[0]


def test_what_is_raised_is_printed():
    """With its traceback, and an exit status."""

    def run(tell):
        raise KeyError("where")

    found = supervised(run, Limits())
    assert (found.ending, found.detail) == ("crashed", "left with exit status 1")
    assert "KeyError: 'where'" in found.output


def burn(tell):
    """Take processor time for ever."""
    while True:
        pass


def eat(tell):
    """Take memory for ever."""
    held = []
    while True:
        held.append(bytearray(20_000_000))


@pytest.mark.parametrize(
    ("run", "limits", "ending"),
    [
        (lambda tell: time.sleep(60), Limits(seconds=0.3), "timed-out"),
        (burn, Limits(processor_seconds=1), "timed-out"),
        (eat, Limits(memory_bytes=1 << 30), "out-of-memory"),
    ],
)
def test_limits(run, limits, ending):
    """A run that is over one is ended, soon."""
    start = time.monotonic()
    found = supervised(run, limits)
    assert found.ending == ending
    assert found.detail.startswith("more ")
    assert time.monotonic() - start < 20


def test_a_lot_of_output_is_kept_in_part():
    """The end of it, bytes that are no text included."""

    def run(tell):
        for _ in range(50):
            os.write(1, b"x" * 1_000_000)
        os.write(2, b"\xff the end")

    found = supervised(run, Limits())
    assert found.ending == "returned"
    assert len(found.output) < 5000
    assert found.output.endswith("\ufffd the end")


@pytest.mark.parametrize("own_session", [False, True])
def test_processes_left_behind_do_not_hold_it_up(own_session, tmp_path):
    """Those of its group are ended; others may keep the pipe open, which is not waited for."""
    note = tmp_path / "pid"

    def run(tell):
        left = subprocess.Popen(["sleep", "30"], start_new_session=own_session)
        note.write_text(str(left.pid))

    start = time.monotonic()
    assert supervised(run, Limits()).ending == "returned"
    assert time.monotonic() - start < 10
    pid = int(note.read_text())
    if own_session:
        os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)


def test_it_ends_when_whoever_asked_is_gone(tmp_path):
    """The run too."""
    note = tmp_path / "pid"
    here, there = Pipe()

    def run(tell):
        there.close()
        note.write_text(str(os.getpid()))
        tell({"stage": "early"})
        time.sleep(60)

    with pytest.raises(AbandonedError):
        supervised(run, Limits(), watch=lambda _: there.close(), asked_by=here)
    wait_until_gone(int(note.read_text()))


PARENT = """
import os, pathlib, time
from monograph.sweep.processes import Limits, supervised

def run(tell):
    pathlib.Path("pid").write_text(str(os.getpid()))
    time.sleep(60)

supervised(run, Limits())
"""


def test_nothing_outlives_a_parent_that_is_killed(tmp_path):
    """By SIGKILL, which no parent can answer."""
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), *filter(None, sys.path)])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    note, end = tmp_path / "pid", time.monotonic() + 30
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < end, "it did not start"
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    wait_until_gone(int(note.read_text()))
