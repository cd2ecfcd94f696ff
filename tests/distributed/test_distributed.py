"""Programs of several processes: captured by each rank, saved, and run by fresh processes.

Processes are costly, so each world runs many cases, and the tests below ask what they found.
"""

import json
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

import monograph
from tests.distributed.cases import CAPTURED, REFUSED
from tests.distributed.data_parallel import EQUAL, OF_FOUR
from tests.distributed.data_parallel import REFUSED as REFUSED_SHARDED
from tests.distributed.worker import PERSISTED


def run_ranks(names, size, folder):
    """Run a world of processes by torchrun, which kills all of them where one fails."""
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={size}"]
    rest = ["--master-port=0", "-m", "tests.distributed.worker", names, str(folder)]
    with (folder / "said").open("wb") as said:
        world = subprocess.Popen([*command, *rest], stdout=said, stderr=said)
        try:
            failed = world.wait(timeout=400)
        finally:
            world.terminate()
            world.wait()
    assert not failed, (folder / "said").read_text()[-6000:]
    return {
        name: [
            json.loads((folder / f"{name}-{size}.{rank}.json").read_text()) for rank in range(size)
        ]
        for name in names.split(",")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def captured(folder):
    return run_ranks("capture,tensor_parallel,replicated,sharded,trained", 2, folder)


@pytest.fixture(scope="module")
def loaded(captured, folder):
    return run_ranks("load,load_parallel,load_trained", 2, folder)


@pytest.mark.parametrize("name", [each.__name__ for each in CAPTURED])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_equal_to_eager(captured, name, strict):
    """Both ranks, for other inputs; lowered, and without dead code and common subexpressions."""
    assert [each[f"{name} {strict}"] for each in captured["capture"]] == ["equal"] * 2


@pytest.mark.parametrize(
    ("name", "error"), [(each.__name__, error) for each, error in REFUSED.items()]
)
def test_refused(captured, name, error):
    """A rank that waits for ever would be a wrong answer."""
    assert [each[f"{name} True"] for each in captured["capture"]] == [error] * 2


@pytest.mark.parametrize("name", ["varying", "own group"])
def test_sizes_and_groups(captured, name):
    """Sizes that vary, and a process group of the user's own."""
    assert [each[name] for each in captured["capture"]] == ["equal"] * 2


@pytest.mark.parametrize("name", PERSISTED)
def test_loaded(loaded, name):
    """Each rank has its file."""
    assert [each[name] for each in loaded["load"]] == ["equal"] * 2


@pytest.mark.parametrize("name", ["of another rank", "group is missing"])
def test_contract_names_the_group(loaded, name):
    """No operator runs, so nobody waits."""
    assert [each[name] for each in loaded["load"]] == ["contract-broken"] * 2


def test_tensor_parallel(captured, loaded):
    """Equal to the module on one process; gradients are refused, at capture and at calls."""
    for each in captured["tensor_parallel"]:
        assert each["block True"] == each["block False"] == "equal"
        assert each["with gradients"] == "unsupported-subclass"
    assert [each["block"] for each in loaded["load_parallel"]] == ["equal"] * 2


def test_replicated(captured):
    """Forward without gradients."""
    assert captured["replicated"] == [{"forward": "contract-broken"}] * 2


def test_trained(captured, loaded):
    """Saved, and loaded by other processes: steps equal to those of one process with all rows."""
    assert captured["trained"] == [{"saved": "saved"}] * 2
    names = ("replicated", "sharded", "step", "shards")
    assert loaded["load_trained"] == [dict.fromkeys(names, "equal")] * 2


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("name", EQUAL)
def test_fully_shard(captured, name, strict):
    """Equal to the module that is not sharded, with as many gathers as eager code has."""
    if strict or name != "on both sides":
        assert [each[f"{name} {strict}"] for each in captured["sharded"]] == ["equal"] * 2


@pytest.mark.parametrize("name", REFUSED_SHARDED)
def test_fully_shard_is_refused(captured, name):
    """By name."""
    assert [each[name] for each in captured["sharded"]] == [REFUSED_SHARDED[name][1]] * 2


def test_fully_shard_that_is_frozen(captured):
    """Where no parameter needs a gradient, inputs have theirs."""
    assert [each["frozen"] for each in captured["sharded"]] == ["equal"] * 2


@pytest.mark.slow
def test_tensor_parallel_of_four(folder):
    """Each rank has one head; or two groups of two gather what two groups of two compute."""
    found = run_ranks("tensor_parallel,load_parallel,sharded", 4, folder)
    assert found["sharded"] == [dict.fromkeys(OF_FOUR, "equal")] * 4
    assert [each["block True"] for each in found["tensor_parallel"]] == ["equal"] * 4
    assert [each["block"] for each in found["load_parallel"]] == ["equal"] * 4


@pytest.mark.slow
def test_three_processes_run_the_stages_of_a_gpt(folder):
    """Files of stages, each opened by a process that has nothing else of the model."""
    found = run_ranks("cut,stages", 3, folder)
    assert [each["stage"] for each in found["stages"]] == ["sent", "sent", "equal"]


def logged_in_a_world(x):
    """What a module does that may run alone: a collective where there are others."""
    if dist.is_initialized():
        x = x.clone()
        dist.all_reduce(x)
    return x + 1


@pytest.mark.parametrize("strict", [True, False])
def test_whether_there_is_a_process_group_is_guarded(strict, tmp_path):
    """A program without collectives is not called where its module has some, nor the reverse."""
    module = type("M", (torch.nn.Module,), {"forward": lambda self, x: logged_in_a_world(x)})()
    x, file = torch.ones(3), tmp_path / "alone.pt2"
    monograph.save(monograph.export(module, (x,), strict=strict), file)
    alone = monograph.load(file).module()
    assert alone(x).equal(module(x))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(monograph.ContractError):
            alone(x)
        together = monograph.export(module, (x,), strict=strict).module()
        assert together(x).equal(module(x))
    finally:
        dist.destroy_process_group()
    with pytest.raises(monograph.ContractError):
        together(x)
