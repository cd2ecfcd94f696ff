"""Sweeps over a Ray cluster: tasks on its nodes, each answered by a worker of that Ray process.

Ray runs a task again when its process dies; at most `processes` tasks, or twice as many as the
cluster has CPUs, are handed over at once, and records are given as they come. The places of models
are looked up where a task runs: files lie in a folder that all nodes share, under the same name.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from monograph.factories import NotThereError
from monograph.lazy_imports import resolved
from monograph.sweep.processes import Told
from monograph.sweep.workers import RETRIES, Watch, Worker, died

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

CONNECT_SECONDS: Final = 10
LOCAL: Final = "local"
"""In the place of an address: a cluster on this machine, which ends with the sweep."""


def run_on_ray(
    tasks: Sequence[Told], address: str, processes: int | None, preload: Sequence[str], watch: Watch
) -> Generator[tuple[Told, Told]]:
    """Give `(task, record)` as they come, from the cluster at an address (`auto`, `host:port`).

    Raises: NotThereError (Ray is not installed, or there is no such cluster).
    """
    ray, ends = _connected(address, processes)
    # Whatever kills a process of Ray's is none of the model's doing: those end in their own.
    answer = ray.remote(num_cpus=1, max_retries=RETRIES, max_calls=0)(_answer)
    waiting, running = [*reversed(tasks)], dict[Any, Told]()
    most = processes or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    try:
        while waiting or running:
            while waiting and len(running) < most:
                task = waiting.pop()
                asked = answer.remote(json.dumps(task), tuple(preload), os.getcwd())  # noqa: PTH109
                running[asked] = task
                watch(task, {"at": "start"})
            for done in ray.wait([*running], num_returns=1)[0]:
                task = running.pop(done)
                try:
                    record = json.loads(ray.get(done))
                except ray.exceptions.RayError as error:
                    record = died(str(error))
                yield task, record
    finally:
        for each in running:
            with suppress(Exception):  # what is over cannot be cancelled
                ray.cancel(each, force=True)
        if ends:
            ray.shutdown()


def _connected(address: str, processes: int | None) -> tuple[Any, bool]:
    """Ray, connected; and whether the connection is ours to end."""
    try:
        ray: Any = resolved("ray")
    except ImportError:
        raise NotThereError("this needs the package ray: pip install 'monograph[ray]'") from None
    if ray.is_initialized():
        return ray, False
    host, _, port = address.rpartition(":")
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address == LOCAL:
            ray.init(num_cpus=processes, include_dashboard=False, **quiet)
        else:
            if port.isdigit() and "/" not in host:  # Ray itself would try for minutes
                socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            ray.init(address, **quiet)
    except OSError as error:
        raise NotThereError(f"there is no Ray cluster at {address}: {error}") from None
    return ray, True


def _answer(task: str, preload: tuple[str, ...], folder: str) -> str:
    """On a node: the record of a task, by the worker of this process of Ray's."""
    if os.path.isdir(folder):  # noqa: PTH112
        os.chdir(folder)
    words = ""
    for _ in range(RETRIES + 1):
        worker = _worker(preload)
        try:
            return json.dumps(worker.answer(json.loads(task)))
        except EOFError:
            words = worker.last_words()
            worker.stop()
            _worker.cache_clear()
    return json.dumps(died(words))


@lru_cache(maxsize=1)
def _worker(preload: tuple[str, ...]) -> Worker:
    """The worker of this process; it ends with the process, at which its socket closes."""
    return Worker(preload)


__all__ = ["LOCAL", "run_on_ray"]
