"""One rank of a world of gloo: does what its first argument names, writes what it found as JSON."""

import datetime as dt
import json
import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import parallelize_module

import monograph
from bench.models import GPT
from monograph import Dim, passes
from tests.distributed.cases import CAPTURED, REFUSED, Applied
from tests.distributed.data_parallel import load_trained, replicated, sharded, trained
from tests.distributed.found import found_by, nodes
from tests.distributed.models import block, inputs, plan

PERSISTED = ("all_reduce_of_input", "all_gather", "send_and_receive", "functional_gathered")


def example(rank, rows=4):
    return torch.arange(rows * 2.0).reshape(rows, 2) + 100 * rank


def other(rank, rows=4):
    return (torch.arange(rows * 2.0).reshape(rows, 2) + 60) * 3 - 7 * rank


def difference(module, function, rank):
    """Whether a module and a function give equal results, of inputs unlike the example."""
    ours, theirs = other(rank), other(rank)
    got, want = module(ours), function(theirs)
    equal = torch.equal(got, want) and torch.equal(ours, theirs)
    return "equal" if equal else f"{got} is not {want}"


def capture(rank, folder):
    found = {}
    for function in (*CAPTURED, *REFUSED):
        for strict in (True, False) if function not in REFUSED else (True,):

            def check(function=function, strict=strict):
                program = monograph.export(Applied(function), (example(rank),), strict=strict)
                if strict and function.__name__ in PERSISTED:
                    monograph.save(program, folder / f"{function.__name__}.{rank}.pt2")
                own = function.__name__ == "functional_written"  # lowering refuses: through a view
                lowered = program if own else program.run_decompositions({})
                tidy = program.transform(passes.dead_code(), passes.common_subexpressions())
                for each in (program, lowered, tidy):
                    said = difference(each.module(), function, rank)
                    if said != "equal":
                        return said
                return said

            found[f"{function.__name__} {strict}"] = found_by(check)
    found["varying"] = found_by(lambda: varying(rank))
    found["own group"] = found_by(lambda: own_group(rank, folder))
    return found


def varying(rank):
    """Sizes are symbols: a gathered one is multiplied by the size of the world."""

    def both(x):
        rows = torch.ops._c10d_functional.wait_tensor(
            torch.ops._c10d_functional.all_gather_into_tensor(x, 2, "0")
        )
        part = torch.ops._c10d_functional.reduce_scatter_tensor(rows, "sum", 2, "0")
        return torch.ops._c10d_functional.wait_tensor(part)

    program = monograph.export(
        Applied(both), (example(rank),), dynamic_shapes={"x": {0: Dim("n", min=1)}}
    )
    x = other(rank, 7)
    total = x.clone()
    dist.all_reduce(total)
    want = torch.cat([other(at, 7) for at in range(2)]) * 2
    return "equal" if torch.equal(program.module()(x), want[7 * rank : 7 * rank + 7]) else "not"


def own_group(rank, folder):
    group = dist.new_group([0, 1], group_desc="both")

    def reduced(x):
        y = x.clone()
        dist.all_reduce(y, group=group)
        return y

    program = monograph.export(Applied(reduced), (example(rank),))
    monograph.save(program, folder / f"own.{rank}.pt2")
    return difference(program.module(), reduced, rank)


def load(rank, folder):
    """In processes that captured nothing."""
    found = {}
    functions = {each.__name__: each for each in CAPTURED}
    for name in PERSISTED:
        file = folder / f"{name}.{rank}.pt2"
        found[name] = found_by(
            lambda file=file, name=name: difference(
                monograph.load(file).module(), functions[name], rank
            )
        )
    swapped = monograph.load(folder / f"all_gather.{1 - rank}.pt2")
    found["of another rank"] = found_by(lambda: str(swapped.module()(other(rank))))
    own = monograph.load(folder / f"own.{rank}.pt2")
    found["group is missing"] = found_by(lambda: str(own.module()(other(rank))))
    return found


def tensor_parallel(rank, folder):
    found, whole = {}, block()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    module = parallelize_module(block(), mesh, plan())
    size, n = dist.get_world_size(), Dim("length", min=2, max=64)
    for strict in (True, False):

        def check(strict=strict):
            with torch.no_grad():
                program = monograph.export(
                    module, (inputs(2, 5),), dynamic_shapes={"x": {1: n}}, strict=strict
                )
                file = folder / f"block{size}.{rank}.pt2"
                monograph.save(program, file)
                for each in (program, monograph.load(file), program.run_decompositions({})):
                    got, want = each.module()(inputs(2, 9)), whole(inputs(2, 9))
                    torch.testing.assert_close(got, want)
                shard = program.state_dict["q.weight._local_tensor"]
                assert shard.shape == (16 // size, 16), shard.shape
                assert any("all_reduce" in str(each.target) for each in nodes(program))
            found_by_grad = found_by(lambda: str(program.module()(inputs(2, 5))))
            assert found_by_grad == "contract-broken", found_by_grad
            return "equal"

        found[f"block {strict}"] = found_by(check)
    found["with gradients"] = found_by(lambda: str(monograph.export(module, (inputs(2, 5),))))
    return found


def load_parallel(rank, folder):
    def check():
        program = monograph.load(folder / f"block{dist.get_world_size()}.{rank}.pt2")
        with torch.no_grad():
            torch.testing.assert_close(program.module()(inputs(2, 11)), block()(inputs(2, 11)))
        return "equal"

    return {"block": found_by(check)}


TOKENS = torch.arange(18).reshape(3, 6) % 50


def gpt():
    torch.manual_seed(0)
    return GPT(n_layers=12, width=16, n_heads=2, n_tokens=50).eval()


def cut(rank, folder):
    """The first rank captures a GPT of twelve layers, and saves its stages."""
    if rank == 0:
        sizes = {"ids": {0: Dim("batch"), 1: Dim("seq", max=128)}}
        program = monograph.export(gpt(), (TOKENS[:2],), dynamic_shapes=sizes)
        for at, stage in enumerate(program.split(3).stages):
            monograph.save(stage, folder / f"stage{at}.pt2")
    dist.barrier()
    return {}


def stages(rank, folder):
    """Each rank has one stage, and sends to the next what it makes."""

    def check():
        stage = monograph.load(folder / f"stage{rank}.pt2")
        last = dist.get_world_size() - 1
        if rank == 0:
            given = dict.fromkeys(stage.graph_signature.user_inputs, TOKENS)
        else:
            values = [None]
            dist.recv_object_list(values, rank - 1)
            given = values[0]
        with torch.no_grad():
            names = stage.graph_signature.user_inputs
            made = stage.module()(*[given[name] for name in names])
        made = dict(zip(stage.graph_signature.user_outputs, made, strict=True))
        if rank < last:
            dist.send_object_list([given | made], rank + 1)
            return "sent"
        (logits,) = made.values()
        with torch.no_grad():
            torch.testing.assert_close(logits, gpt()(TOKENS))
        return "equal"

    return {"stage": found_by(check)}


CHECKS = (capture, load, tensor_parallel, load_parallel, replicated, sharded, trained, load_trained)
CHECKS_BY_NAME = {each.__name__: each for each in (*CHECKS, cut, stages)}


def main():
    """Under torchrun, the environment says which rank this is."""
    names, folder = sys.argv[1], Path(sys.argv[2])
    rank, size = (int(os.environ[each]) for each in ("RANK", "WORLD_SIZE"))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in names.split(","):
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(str(folder / f"store-{name}-{size}"), size),
            rank=rank,
            world_size=size,
            timeout=dt.timedelta(seconds=60),
        )
        found = CHECKS_BY_NAME[name](rank, folder)
        (folder / f"{name}-{size}.{rank}.json").write_text(json.dumps(found))
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
