"""Many threads call one program with inputs it accepts and inputs it refuses: each gets its answer.

Nothing is left behind: memory is flat after the first calls.
"""

import random
import threading
from pathlib import Path

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import ContractError
from tests.contract.forms import as_module, loaded, unflattened
from tests.seeding import reseed

THREADS, FEW, MANY = 4, 400, 10_000
MEGABYTES = 24


class Model(nn.Module):
    """Sizes, a mode, a branch, a plain value, a dictionary, and state that is read."""

    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleDict({"import": nn.Linear(4, 4)})
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x, more, flag="on"):
        """Everything depends on everything."""
        with torch.no_grad():
            y = self.inner["import"](x) * self.scale
        if x.shape[0] > 16:
            y = y * 2
        z = torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (y,))
        return {"z": z + more["k"] if flag == "on" else z, "n": x.shape[0]}


def legal(rows: int) -> tuple:
    """Arguments that are accepted."""
    return torch.randn(rows, 4), {"k": torch.randn(4)}


def illegal() -> list[tuple]:
    """Arguments of which nothing is known, or too much."""
    x, more = legal(3)
    return [
        (x.double(), more),
        (x[:, :3], more),
        (x[0], more),
        (torch.randn(40, 4), more),
        (x, {}),
        (x, {"q": torch.randn(4)}),
        (x, [torch.randn(4)]),
        (x, more, "off"),
        (x,),
        (x, more, "on", 1),
        (None, more),
        (x, {"k": torch.randn(1)}),
        (torch.randn(3, 4).to_sparse(), more),
    ]


def resident() -> int:
    """Bytes that the process has in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) << 12


def right(module, calls, expected, source) -> None:
    """Make one call of many; hold that it is answered rightly."""
    place = source.randrange(len(calls))
    try:
        found = module(*calls[place])
    except ContractError:
        assert expected[place] is None, f"call {place} was refused"
        return
    wanted = expected[place]
    assert wanted is not None, f"call {place} was accepted"
    assert found["n"] == wanted["n"]
    assert torch.equal(found["z"], wanted["z"]), f"call {place}"


def under_load(module, calls, expected, times: int) -> list[BaseException]:
    """What went wrong in threads that call together."""
    wrong: list[BaseException] = []
    together = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        source = random.Random(seed)
        together.wait()
        try:
            for _ in range(times):
                right(module, calls, expected, source)
        except BaseException as error:  # noqa: BLE001  shown by who started the thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def check(form, times: int) -> None:
    """Warm up, call, and compare memory."""
    reseed(0)
    model = Model()
    shapes = {"x": {0: monograph.Dim("n", max=16)}, "more": {"k": None}}
    module = form(monograph.export(model, legal(5), dynamic_shapes=shapes))
    good = [legal(rows) for rows in range(2, 17)]
    calls = [*good, *illegal()]
    expected = [*(model(*each) for each in good), *(None for _ in illegal())]
    assert under_load(module, calls, expected, max(times // 10, 100)) == []
    before = resident()
    assert under_load(module, calls, expected, times) == []
    assert resident() - before < MEGABYTES << 20


@pytest.mark.parametrize("form", [as_module, unflattened, loaded])
def test_threads_call_one_program(form):
    """Some calls, in the forms that are called."""
    check(form, FEW)


@pytest.mark.slow
def test_threads_call_one_program_many_times():
    """Ten thousand calls of each thread."""
    check(as_module, MANY)
