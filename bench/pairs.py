"""One pair: the same work by ours and by torch.export, by turns, in a process of its own.

    python -m bench.pairs MODEL STAGE [--rounds N]

Prints one line of JSON: medians of processor seconds by who did it, and what else was measured.
`bench.suite` runs them all. Zoo models are `zoo:NAME`, out of the folder that MONOGRAPH_ZOO names.
"""

import argparse
import gc
import importlib
import io
import json
import os
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from bench.models import GPT, Case, gpt_case, llama_case, perturbed, resnet_case

Work = dict[str, Callable[[], object]]
EXPORTERS = {"ours": "monograph", "torch": "torch.export"}


def chain(n_layers: int) -> Case:
    """Layers one after the other, of which every other one has parameters."""
    layers = [nn.Linear(8, 8) if place % 2 else nn.ReLU() for place in range(n_layers)]
    return Case(nn.Sequential(*layers), {"input": torch.randn(2, 8)}, {"input": {0: "batch"}})


def mlp() -> Case:
    """Two layers and what is between them."""
    layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return Case(layers, {"input": torch.randn(4, 16)}, {"input": {0: "batch"}})


def linear() -> Case:
    """One layer."""
    return Case(nn.Linear(8, 4), {"input": torch.randn(2, 8)}, {"input": {0: "batch"}})


def deep_gpt(n_layers: int) -> Case:
    """Identical blocks, as many as are asked for."""
    ids = torch.randint(0, 256, (2, 32))
    return Case(perturbed(GPT(n_layers)).eval(), {"ids": ids}, {"ids": {0: "batch", 1: "seq"}})


MODELS: dict[str, Callable[[], Case]] = {
    "Linear": linear,
    "MLP": mlp,
    "GPT-12": gpt_case,
    "ResNet-18": resnet_case,
    "Llama-4": llama_case,
}


def case_of(name: str) -> Any:
    """The model of a pair: `module`, `args`, `kwargs`, and `shapes(home)`, its varying sizes."""
    kind, _, rest = name.partition(":")
    if kind == "zoo":
        sys.path.insert(0, os.environ["MONOGRAPH_ZOO"])
        module, args, kwargs, shapes = importlib.import_module("zoo").get(rest)()
        return SimpleNamespace(module=module, args=args, kwargs=kwargs, shapes=lambda _: shapes)
    made = {"chain": chain, "blocks": deep_gpt}[kind](int(rest)) if rest else MODELS[kind]()
    return SimpleNamespace(
        module=made.module,
        args=(),
        kwargs=made.kwargs,
        shapes=lambda home: made.dynamic_shapes(home.Dim.AUTO),
    )


def exporter(home: Any, case: Any, *, varying: bool = False, strict: bool = False) -> Any:
    """One capture by an exporter."""
    shapes = case.shapes(home) if varying else None
    return lambda: home.export(
        case.module, case.args, case.kwargs, dynamic_shapes=shapes, strict=strict
    )


# --- the stages: what each exporter does, and eager code where that is the measure ---------------


def homes() -> dict[str, Any]:
    """Both exporters."""
    return {who: importlib.import_module(name) for who, name in EXPORTERS.items()}


def capture(case: Any, **options: bool) -> Work:
    """Export, beside one call of the module."""
    works: Work = {who: exporter(home, case, **options) for who, home in homes().items()}
    return works | {"eager": lambda: case.module(*case.args, **case.kwargs)}


def programs(case: Any) -> dict[str, Any]:
    """A program of each exporter."""
    return {who: exporter(home, case)() for who, home in homes().items()}


def lowering(case: Any) -> Work:
    """To core ATen, a program that was exported anew, which is not measured."""
    made = {who: exporter(home, case) for who, home in homes().items()}
    return {who: lambda e=each: e().run_decompositions for who, each in made.items()}


def saving(case: Any) -> Work:
    """Into memory; ours without running the program again, as torch's."""
    made, found = programs(case), homes()
    return {
        "ours": lambda: found["ours"].save(made["ours"], io.BytesIO(), verify=False),
        "torch": lambda: found["torch"].save(made["torch"], io.BytesIO()),
    }


def loading(case: Any) -> Work:
    """Out of memory, each its own file."""
    works: Work = {}
    for (who, program), home in zip(programs(case).items(), homes().values(), strict=True):
        file = io.BytesIO()
        home.save(program, file)
        data = file.getvalue()
        works[who] = lambda load=home.load, data=data: load(io.BytesIO(data))
    return works


def calling(case: Any, *, gradients: bool) -> Work:
    """`module()` beside the module."""
    modules = {who: program.module() for who, program in programs(case).items()}
    modules["eager"] = case.module

    def calls(module: Any) -> None:
        with torch.set_grad_enabled(gradients):
            module(*case.args, **case.kwargs)

    return {who: lambda m=module: calls(m) for who, module in modules.items()}


def training(case: Any) -> Work:
    """Forward, backward, and the gradients thrown away."""
    modules = {who: program.module() for who, program in programs(case).items()}
    modules["eager"] = case.module

    def step(module: Any) -> None:
        leaves = tree_leaves(module(*case.args, **case.kwargs))
        used = [each.sum() for each in leaves if isinstance(each, torch.Tensor)]
        torch.stack([each for each in used if each.requires_grad]).sum().backward()
        module.zero_grad()

    return {who: lambda m=module: step(m) for who, module in modules.items()}


def unchecked(case: Any) -> Work:
    """Calls with the contract's checks and without: ours twice."""
    program = programs(case)["ours"]
    modules = {"ours": program.module(), "without checks": program.module(check=False)}

    def calls(module: Any) -> None:
        with torch.no_grad():
            module(*case.args, **case.kwargs)

    return {who: lambda m=module: calls(m) for who, module in modules.items()}


STAGES: dict[str, Callable[[Any], Work]] = {
    "capture, fixed": capture,
    "capture, varying": lambda case: capture(case, varying=True),
    "capture, strict": lambda case: capture(case, strict=True),
    "capture, varying and strict": lambda case: capture(case, varying=True, strict=True),
    "lowering": lowering,
    "save": saving,
    "load": loading,
    "call": lambda case: calling(case, gradients=True),
    "call without gradients": lambda case: calling(case, gradients=False),
    "training step": training,
    "contract": unchecked,
}


def seconds(function: Callable[[], object]) -> tuple[float, object]:
    """Run once, garbage collected beforehand; give processor seconds and the result."""
    gc.collect()
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def measured(works: Work, rounds: int, *, prepares: bool) -> dict[str, float]:
    """Medians over rounds that alternate, after each ran once.

    What is short is run several times a round, up to a hundredth of a second. Where works prepare,
    each gives the function that is measured.
    """
    taken: dict[str, list[float]] = {who: [] for who in works}
    counts = dict.fromkeys(works, 1)
    for turn in range(-2, rounds):
        for who, work in works.items():
            once: Any = work() if prepares else work
            spent, _ = seconds(lambda o=once, n=counts[who]: [o() for _ in range(n)])
            if turn == -1 and not prepares:
                counts[who] = max(1, min(100, int(0.01 / max(spent, 1e-6))))
            elif turn >= 0:
                taken[who].append(spent / counts[who])
    return {who: statistics.median(each) for who, each in taken.items()}


def peak_of(name: str, who: str) -> dict[str, float]:
    """Megabytes by which one capture raises the peak of a fresh process, and what it took first."""
    case, home = case_of(name), importlib.import_module(EXPORTERS[who])
    exporter(home, case_of("Linear"))()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent, _ = seconds(exporter(home, case))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"megabytes": (after - before) / 1024, "first": spent}


def cold(who: str) -> dict[str, float]:
    """Seconds of importing an exporter after torch, and of the first export of a process."""
    start = time.process_time()
    home = importlib.import_module(EXPORTERS[who])
    export = home.export
    imported = time.process_time() - start
    start = time.process_time()
    export(nn.Linear(8, 4), (torch.randn(2, 8),))
    return {"import": imported, "first export": time.process_time() - start}


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("stage", help=f"cold, memory, or one of {', '.join(STAGES)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--who", choices=[*EXPORTERS], help="for cold and memory")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.stage == "cold":
        found = cold(options.who)
    elif options.stage == "memory":
        found = peak_of(options.model, options.who)
    else:
        works = STAGES[options.stage](case_of(options.model))
        found = measured(works, options.rounds, prepares=options.stage == "lowering")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
