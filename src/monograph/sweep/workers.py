"""Worker processes: fork servers that have imported PyTorch once, and fork for every model.

A worker is asked over a pipe, in JSON, and ends when the pipe closes, with the model's process. It
may die itself; then another one is asked again, `RETRIES` times.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from monograph.factories import NotThereError
from monograph.sweep.processes import (
    KILLED,
    AbandonedError,
    Limits,
    SupervisedRun,
    Told,
    supervised,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

Watch: TypeAlias = "Callable[[Told, Told], None]"
"""Is told of a task, and what is known of it: in which stage it is, or its record."""
EMPTY: Final[Told] = {"stage": "make", "problems": [], "sizes": {}, "measured": {"seconds": {}}}
"""The record of a model of which nothing is known."""
RETRIES: Final = 2
WALL: Final = 5
"""So many times the processor time that it may take, a model may take of wall time: what a loaded
machine takes is no finding, and what sleeps is ended all the same."""


def serve(descriptor: int, preload: str) -> None:
    """Answer whoever holds the other end of a socket, until it closes."""
    asked_by = Connection(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("torch", "monograph.sweep.stages", *json.loads(preload)):
        with suppress(Exception):  # the model that needs it will say
            import_module(name)
    with suppress(EOFError, OSError, AbandonedError):
        while True:
            task = json.loads(asked_by.recv_bytes())
            record = _answered(task, asked_by)
            asked_by.send_bytes(json.dumps(record).encode())


def _answered(task: Told, asked_by: Connection) -> Told:
    """Supervise the process of one model, and give its record.

    Raises: AbandonedError (whoever asked is gone, or somebody killed the model).
    """
    stages: Any = import_module("monograph.sweep.stages")
    memory = task.get("memory")
    limits = Limits(
        WALL * task["seconds"],
        math.ceil(task["seconds"]),
        None if memory is None else int(memory * 1e9),
    )

    def tell_stage(told: Told) -> None:
        if "stage" in told and "verdict" not in told:
            asked_by.send_bytes(json.dumps({"at": told["stage"]}).encode())

    if "names_in" in task:
        run = supervised(partial(stages.entries_of, task["names_in"]), limits, asked_by=asked_by)
        return {"names": [], **run.told, "ending": run.ending, "detail": run.detail}
    run = supervised(partial(stages.run_stages, task), limits, watch=tell_stage, asked_by=asked_by)
    if run.detail == KILLED:  # by the kernel for want of memory, or by somebody: not its own doing
        raise AbandonedError
    return _record(run)


def _record(run: SupervisedRun) -> Told:
    """What a model told; a process that did not come to its end is judged by how it ended."""
    record: Told = {**EMPTY, "measured": {"seconds": {}}, **run.told}
    if run.ending != "returned" or "verdict" not in record:
        record["verdict"] = ending = "crashed" if run.ending == "returned" else run.ending
        said = f"{run.detail or 'it ended'}, in stage `{record['stage']}`"
        text = f"{said}\n{run.output}" if run.output else said
        record["problems"] = [{"name": ending, "headline": said, "at": "", "text": text}]
    record["measured"]["peak bytes"] = run.peak_bytes
    return record


class Worker:
    """A fork server, and this end of its socket."""

    def __init__(self, preload: Sequence[str]) -> None:
        ends: Any = Pipe()
        self.connection, other = ends
        ours = str(Path(__file__).parents[2])
        script = (
            f"import sys; sys.path.append({ours!r}); "
            "from monograph.sweep.workers import serve; serve(int(sys.argv[1]), sys.argv[2])"
        )
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (read when the worker has died)
        self._process = subprocess.Popen(  # noqa: S603  (this interpreter)
            [sys.executable, "-c", script, str(other.fileno()), json.dumps([*preload])],
            env={"OMP_NUM_THREADS": "1", **os.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[other.fileno()],
            start_new_session=True,  # Ctrl-C is for the driver
        )
        other.close()

    def ask(self, task: Told) -> None:
        """Hand a task over; a worker that is dead says so when it is heard."""
        with suppress(OSError):
            self.connection.send_bytes(json.dumps(task).encode())

    def heard(self) -> Told:
        """The next message: where the model is, or its record.

        Raises: EOFError (the worker has died).
        """
        try:
            return json.loads(self.connection.recv_bytes())
        except (OSError, ValueError) as error:
            raise EOFError from error

    def answer(self, task: Told, watch: Callable[[Told], None] = lambda _: None) -> Told:
        """Ask, and wait for the record.

        Raises: EOFError (the worker has died).
        """
        self.ask(task)
        while "at" in (told := self.heard()):
            watch(told)
        return told

    def last_words(self) -> str:
        """The end of what a dead worker wrote to its standard error."""
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode(errors="replace")

    def stop(self) -> None:
        """Close the socket, at which the worker ends; it is not asked twice."""
        self.connection.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


def died(words: str = "") -> Told:
    """The record of a model whose workers died; it is not kept, as the next sweep may succeed."""
    said = f"its process or its worker was killed, {RETRIES + 1} times"
    problem = {"name": "worker-died", "headline": said, "at": "", "text": f"{said}\n{words}"}
    return {**EMPTY, "verdict": "worker-died", "problems": [problem]}


def names_in_table(place: str, *, seconds: float = 60) -> list[str]:
    """The names in a table of factories, which another process imports.

    Raises: NotThereError (there is none, or importing it failed; the text says how).
    """
    worker: Worker = Worker(())
    told: dict[str, Any] = {}
    try:
        told = worker.answer({"names_in": place, "seconds": seconds})
    except EOFError:
        told = {"failed": f"the worker died: {worker.last_words()}"}
    finally:
        worker.stop()
    if told.get("failed") or told.get("ending", "returned") != "returned":
        raise NotThereError(f"{place}: {told.get('failed') or told['detail']}")
    return told["names"]


def run_locally(
    tasks: Sequence[Told], processes: int, preload: Sequence[str], watch: Watch
) -> Generator[tuple[Told, Told]]:
    """Give `(task, record)` as they come, from so many workers on this machine."""
    waiting = deque((task, 0) for task in tasks)
    idle: list[Worker] = []
    busy: dict[Any, tuple[Worker, Told, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < processes:
                worker = idle.pop() if idle else Worker(preload)
                task, tries = waiting.popleft()
                busy[worker.connection] = worker, task, tries
                worker.ask(task)
                watch(task, {"at": "start"})
            for connection in wait([*busy]):
                worker, task, tries = busy[connection]
                try:
                    told = worker.heard()
                except EOFError:
                    del busy[connection]
                    words = worker.last_words()
                    worker.stop()
                    if tries < RETRIES:
                        waiting.appendleft((task, tries + 1))
                        continue
                    yield task, died(words)
                    continue
                if "at" in told:
                    watch(task, told)
                    continue
                del busy[connection]
                idle.append(worker)
                yield task, told
    finally:
        for worker in [*idle, *[each for each, _, _ in busy.values()]]:
            worker.stop()


__all__ = ["RETRIES", "Watch", "Worker", "died", "names_in_table", "run_locally", "serve"]
