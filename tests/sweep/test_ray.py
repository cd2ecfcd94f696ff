"""Sweeps over a Ray cluster on this machine, started and stopped here; skipped where it is not."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

import monograph
from tests.sweep.test_processes import wait_until_gone
from tests.sweep.test_sweeps import Watched, children, listed, report, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # those of Ray's own
    pytest.mark.skipif(
        not any(Path(each, "ray").is_dir() for each in sys.path), reason="ray is not installed"
    ),
]


@pytest.fixture
def cluster(monkeypatch):
    """Four workers."""
    import ray  # noqa: PLC0415

    paths = [str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def ray_workers():
    """The processes of Ray that have a worker of ours, with it."""
    found = {}
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command.read_bytes()
        except OSError:
            continue
        if text.startswith(b"ray::"):
            pid = int(command.parent.name)
            ours = [
                each
                for each in children(pid)
                if b"monograph.sweep" in Path(f"/proc/{each}/cmdline").read_bytes()
            ]
            found |= {pid: ours} if ours else {}
    return found


def test_a_worker_that_is_killed_loses_nothing(folder, cluster):
    """Its models are run again by others; the report is that of a sweep without Ray."""
    slow = "\n\ndef {0}():\n    time.sleep(3)\n    return good()\n"
    names = [f"slow{number}" for number in range(6)]
    with Path("models.py").open("a", encoding="utf-8") as file:
        file.write("".join([slow.format(name) for name in names]))
    listed(folder, *names, "refused", "segfault")
    killed = {}

    def kill_one():
        pid, ours = next(iter(wait_for(ray_workers).items()))
        (model,) = wait_for(lambda: children(ours[0]))
        os.kill(pid, signal.SIGKILL)
        killed[pid] = [*ours, model]

    watched = Watched()

    def watch(task, told):
        watched(task, told)
        if len(watched.started) == 8 and not killed:
            kill_one()

    start = time.monotonic()
    found = monograph.sweep("list.toml", ray="auto", processes=8, watch=watch)
    print(f"with Ray: {time.monotonic() - start:.1f} s")  # noqa: T201
    assert found.counts == {"crashed": 1, "passed": 6, "refused": 1}
    assert len(killed) == 1
    for each in next(iter(killed.values())):
        wait_until_gone(each)
    with_ray = report()
    monograph.sweep("list.toml", "other", processes=2)
    assert with_ray == report("other")


def test_a_cluster_that_is_not_there(folder):
    """Says so."""
    listed(folder, "good")
    with pytest.raises(Exception, match=r"there is no Ray cluster at 127\.0\.0\.1:1"):
        monograph.sweep("list.toml", ray="127.0.0.1:1")
