"""One stage of a pipeline in a process of its own: what `test_processes.py` starts three of.

    python processes.py FOLDER RANK WORLD by-names|pipelining

`FOLDER` holds `stage_<rank>.pt2`, `inputs.pt`, `edges.json`; the last rank writes `results.pt`.
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import monograph


def by_names(stage, inputs, rank, edges):
    """Values by their names, from whichever stage made them."""
    values = dict(inputs)
    for name, source, target in edges:
        if target == rank:
            received = [None]
            dist.recv_object_list(received, src=source)
            values[name] = received[0]
    made = stage.module()(*[values[name] for name in stage.graph_signature.user_inputs])
    values.update(zip(stage.graph_signature.user_outputs, made, strict=True))
    for name, source, target in edges:
        if source == rank:
            dist.send_object_list([values[name]], dst=target)
    return made[0]


def pipelining(stage, inputs, rank, world):
    """PyTorch's own schedule, with two microbatches."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe  # noqa: PLC0415 - it is slow

    (ids,) = inputs.values()
    half, width = ids[: len(ids) // 2], stage_width(stage)
    hidden = torch.zeros(*half.shape, width[0])
    given = (half,) if rank == 0 else (hidden,)
    result = torch.zeros(*half.shape, width[1])
    made = PipelineStage(
        stage.module(), rank, world, torch.device("cpu"), input_args=given, output_args=(result,)
    )
    schedule = ScheduleGPipe(made, n_microbatches=2)
    with torch.no_grad():
        found = schedule.step(ids) if rank == 0 else schedule.step()
    return found[0] if isinstance(found, tuple) else found


def stage_width(stage):
    """The last dimensions of what a stage takes and gives."""
    shapes = [n.meta["val"].shape for n in stage.graph.nodes if n.op == "placeholder"]
    result = stage.graph.output_node().args[0][0].meta["val"].shape
    return int(shapes[-1][-1]) if len(shapes[-1]) == 3 else 0, int(result[-1])


def main():
    """Take part in one call."""
    folder, rank, world, how = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/{how}", rank=rank, world_size=world
    )
    stage = monograph.load(folder / f"stage_{rank}.pt2")
    inputs = torch.load(folder / "inputs.pt")
    if how == "by-names":
        result = by_names(stage, inputs, rank, json.loads((folder / "edges.json").read_text()))
    else:
        result = pipelining(stage, inputs, rank, world)
    if rank == world - 1:
        torch.save(result, folder / f"{how}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
