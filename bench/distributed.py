"""Programs of several processes, captured by torch.export and by us: what comes of each.

    python -m bench.distributed [--ranks 2] [--only NAME] [--append]

Under torchrun with gloo, each rank exports a program and saves its file; processes of a second
torchrun load the files, and call them on inputs unlike the example. A result is held against the
module in one process where it is the same there, and against eager code on all ranks elsewhere.
"""

import argparse
import datetime as dt
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama

import monograph
from bench.results import ROOT, Results
from tests.distributed import cases
from tests.distributed.data_parallel import Net, Step, rows


class Llama(torch.nn.Module):
    """One layer of transformers' Llama, with its rotary embedding: 8 heads over 4 of keys."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        names = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1}
        config = LlamaConfig(
            **names, num_attention_heads=8, num_key_value_heads=4, attn_implementation="sdpa"
        )
        self.rotary = modeling_llama.LlamaRotaryEmbedding(config)
        self.layer = modeling_llama.LlamaDecoderLayer(config, 0)

    def forward(self, x):
        places = torch.arange(x.shape[1])[None]
        return self.layer(x, position_ids=places, position_embeddings=self.rotary(x, places))


def tensor_parallel():
    """As the transformers plan says: columns into heads and gates, rows out of them."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    columns, across = ("self_attn.q", "self_attn.k", "self_attn.v"), ("self_attn.o", "mlp.down")
    plan = {f"layer.{each}_proj": ColwiseParallel() for each in (*columns, "mlp.gate", "mlp.up")}
    plan |= {f"layer.{each}_proj": RowwiseParallel() for each in across}
    return parallelize_module(Llama(), mesh, plan)


def tokens(n, _rank):
    """The same on all ranks."""
    return (torch.randn(2, n, 64, generator=torch.Generator().manual_seed(n)),)


def pairs(n, rank):
    """Inputs and targets."""
    return rows(n, rank), rows(n, rank)


def four_rows(n, rank):
    """Other numbers on each rank."""
    return (torch.arange(8.0).reshape(4, 2) * n - 7 * rank,)


PROGRAMS = {
    "Llama layer, tensor parallel": (tensor_parallel, Llama, tokens),
    "fully_shard (FSDP2), forward": (
        lambda: fully_shard(Net()),
        Net,
        lambda n, rank: (rows(n, rank),),
    ),
    "DistributedDataParallel, forward": (
        lambda: DistributedDataParallel(Net()),
        Net,
        lambda n, rank: (rows(n, rank),),
    ),
    "a training step, gradients reduced": (Step, Step, pairs),
} | {
    f"`{each.__name__}`": (lambda each=each: cases.Applied(each), None, four_rows)
    for each in (
        *(cases.all_reduce, cases.waited_for_later, cases.broadcast, cases.all_gather),
        *(cases.reduce_scatter_tensor, cases.all_to_all_single, cases.barrier),
        *(cases.send_and_receive, cases.coalesced, cases.rank_alone),
        *(cases.functional_all_reduce, cases.functional_gathered, cases.within_a_loop),
        *(cases.on_one_side, cases.in_another_order, cases.never_waited_for),
    )
}
"""How a module is made, one for one process (None: eager code), and inputs for a rank."""


def exported(exporter, name, file):
    """Export a program, and save it."""
    make, _, inputs = PROGRAMS[name]
    module = make()
    with torch.no_grad():
        args = inputs(4, dist.get_rank())
        if exporter == "torch.export":
            torch.export.save(torch.export.export(module, args, strict=False), file)
        else:
            monograph.save(monograph.export(module, args), file)
    return "saved"


def loaded(exporter, name, file):
    """Load a program, and call it twice beside its module."""
    make, alone, inputs = PROGRAMS[name]
    load = torch.export.load if exporter == "torch.export" else monograph.load
    with torch.no_grad():
        ours, theirs = (inputs(4, dist.get_rank()) for _ in range(2))
        ours, theirs = ([each * 3 - 1 for each in args] for args in (ours, theirs))
        program, module = load(file).module(), (alone or make)()
        for _ in range(2):  # the second call has what the first one wrote
            got, want = program(*ours), module(*theirs)
    torch.testing.assert_close(got, want)
    return "equal"


def outcome(check, *args):
    """What a check says, or how it ends."""
    try:
        return check(*args)
    except monograph.MonographError as error:
        return f"refused: {error.diagnostic.name}"
    except AssertionError as error:
        return "wrong" if "Mismatched" in str(error) or "not close" in str(error) else "raises"
    except Exception as error:  # noqa: BLE001  (what there is to say)
        first = re.sub(r"[|`\n]+", " ", str(error).strip())[:60]
        return "waits for ever" if "imed out" in str(error) else f"{type(error).__name__}: {first}"


def work(stage, folder, only):
    """What each rank does: every program by both, each in a process group of its own."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    for at, name in enumerate(PROGRAMS):
        for exporter in ("monograph", "torch.export"):
            if only and only not in name:
                continue
            said = folder / f"{at}-{exporter}-{rank}.json"
            before = json.loads(said.read_text()) if stage == "load" else "saved"
            if before != "saved":
                continue
            store = dist.FileStore(str(folder / f"{stage}-{at}-{exporter}"), size)
            dist.init_process_group(
                "gloo", store=store, rank=rank, world_size=size, timeout=dt.timedelta(seconds=15)
            )
            check = loaded if stage == "load" else exported
            found = outcome(check, exporter, name, folder / f"{at}-{exporter}-{rank}.pt2")
            said.write_text(json.dumps(found))
            dist.destroy_process_group()


def measured(ranks, only=""):
    """A table of what came of each program, on the rank where it went worst."""
    table = Results(
        f"Programs of {ranks} processes, ours beside torch.export",
        ("program", "monograph", "torch.export (strict=False)"),
        notes=("Exported, saved, and loaded by other processes, under torchrun with gloo.",),
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for stage in ("export", "load"):
            command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
            rest = ["--master-port=0", "-m", "bench.distributed", "--stage", stage]
            names = ["--folder", str(folder), "--only", only]
            subprocess.run([*command, *rest, *names], cwd=ROOT, check=True, timeout=900)
        for at, name in enumerate(PROGRAMS):
            if only and only not in name:
                continue
            found = []
            for exporter in ("monograph", "torch.export"):
                files = [folder / f"{at}-{exporter}-{rank}.json" for rank in range(ranks)]
                said = {json.loads(each.read_text()) for each in files}
                found.append(", ".join(sorted(said - {"equal"} or said)))
            table.rows.append((name, *found))
    return table


def main():
    """Measure, or be one rank of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--append", action="store_true")
    parser.add_argument("--stage", choices=("export", "load"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        work(options.stage, options.folder, options.only)
        return
    table = measured(options.ranks, options.only)
    table.show()
    if options.append:
        table.append()


if __name__ == "__main__":
    main()
