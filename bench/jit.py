"""Just in time, beside `torch.compile(backend="eager")`: cost of a call, and of the first one.

    python -m bench.jit [--inductor]

Both in one process, in alternation; medians, of processor time on one thread. The overhead of a
call is what it takes when its graph does nothing but return what it last returned, so kernels are
left out of it. `--inductor` times whole calls with inductor as the backend of both, after warm-up:
inference, and a training step (forward, backward, SGD); the shortest of all rounds, too.
"""

import argparse
import statistics
import time
import warnings

import torch
from torch import nn

import monograph
from bench.models import GPT, ResNet
from monograph.jit.graphs.expectations import EXPECTATIONS


class Layer(nn.TransformerEncoderLayer):
    """One layer of a transformer, in training so that it is not one fused operator."""

    def __init__(self):
        super().__init__(32, 4, 64, batch_first=True, dropout=0.0)


def mlp():
    """Three Linear layers."""
    return nn.Sequential(
        *(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    )


def cases():
    """Name, module and input."""
    torch.manual_seed(0)
    return [
        ("MLP", mlp(), torch.randn(4, 16)),
        ("transformer layer", Layer(), torch.randn(2, 8, 32)),
        ("GPT-12", GPT(), torch.randint(0, 64, (2, 16))),
    ]


class Idle:
    """A backend whose graphs return what they returned first, and check what they checked then."""

    reads_metadata = False  # as "eager" says

    def __call__(self, graph, _inputs):
        """Run a graph once, and keep what its nodes gave that is checked or returned."""
        nodes = list(graph.graph.nodes)
        checks = [(node.target, node.args) for node in nodes if node.target in EXPECTATIONS]
        kept = []

        def run(*args):
            if not kept:
                interpreter = torch.fx.Interpreter(graph, garbage_collect_values=False)
                result = interpreter.run(*args)
                given = [torch.fx.node.map_arg(args, interpreter.env.get) for _, args in checks]
                pairs = [(check, args) for (check, _), args in zip(checks, given, strict=True)]
                kept.extend((pairs, result))
            for function, values in kept[0]:
                function(*values)
            return kept[1]

        return run


idle = Idle()


def cost(function, x, n):
    """Microseconds of a call."""
    start = time.process_time()
    for _ in range(n):
        function(x)
    return (time.process_time() - start) / n * 1e6


def first(make, x):
    """Milliseconds of the first call."""
    start = time.process_time()
    make()(x)
    return (time.process_time() - start) * 1e3


def step(module, forward):
    """What trains a module once."""
    optimizer = torch.optim.SGD(module.parameters(), 1e-4)

    def train(x):
        optimizer.zero_grad()
        forward(x).square().mean().backward()
        optimizer.step()

    return train


def with_inductor(rounds):
    """Print milliseconds of a call, and of a training step, after warm-up."""
    head = ("eager, ms", "ours, ms", "torch, ms", "ours / torch", "of shortest")
    print(f"{'':24}{''.join(f'{each:>14}' for each in head)}")
    torch.manual_seed(0)
    models = [
        ("GPT-12", GPT(), torch.randint(0, 64, (2, 16))),
        ("ResNet-18", ResNet(), torch.randn(2, 3, 64, 64)),
    ]
    for name, module, x in models:
        for is_training in (False, True):
            module.train(is_training)
            torch.compiler.reset()
            runs = {
                "eager": module,
                "ours": monograph.optimize("inductor")(module),
                "torch": torch.compile(module),
            }
            if is_training:
                runs = {key: step(module, run) for key, run in runs.items()}
            costs = {key: [] for key in runs}
            with torch.set_grad_enabled(is_training):
                for run in runs.values():
                    for _ in range(4):
                        run(x)
                for _ in range(rounds):
                    for key, run in runs.items():
                        costs[key].append(cost(run, x, 5) / 1e3)
            eager, ours, theirs = (statistics.median(values) for values in costs.values())
            ratios = ours / theirs, min(costs["ours"]) / min(costs["torch"])
            label = f"{name}, {'training step' if is_training else 'inference'}"
            row = (eager, ours, theirs, *ratios)
            print(f"{label:24}{''.join(f'{each:14.2f}' for each in row)}", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--inductor", action="store_true", help="time whole calls with inductor")
    args = parser.parse_args()
    rounds = args.rounds
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if args.inductor:
        with_inductor(rounds)
        return
    print(f"{'':20}{'overhead, us':>24}{'':8}{'call, us':>24}{'':8}{'first call, ms':>24}")
    head = f"{'ours':>12}{'torch':>12}{'':8}"
    print(f"{'':20}{head * 3}")
    torch.compile(nn.Linear(2, 2), backend="eager")(torch.ones(1, 2))  # imports
    monograph.optimize()(nn.Linear(2, 2))(torch.ones(1, 2))
    for name, module, x in cases():
        firsts = {"ours": [], "torch": []}
        for _ in range(3):
            firsts["ours"].append(first(lambda m=module: monograph.optimize()(m), x))
            torch.compiler.reset()
            firsts["torch"].append(first(lambda m=module: torch.compile(m, backend="eager"), x))
        torch.compiler.reset()
        runs = {
            "ours idle": monograph.optimize(idle)(module),
            "torch idle": torch.compile(module, backend=idle),
            "ours": monograph.optimize()(module),
            "torch": torch.compile(module, backend="eager"),
        }
        costs = {key: [] for key in runs}
        with torch.no_grad():
            for run in runs.values():
                for _ in range(3):
                    run(x)
            for _ in range(rounds):
                for key, run in runs.items():
                    costs[key].append(cost(run, x, 50))
        mid = {key: statistics.median(values) for key, values in costs.items()}
        at = {key: statistics.median(values) for key, values in firsts.items()}
        print(
            f"{name:20}{mid['ours idle']:12.1f}{mid['torch idle']:12.1f}{'':8}"
            f"{mid['ours']:12.1f}{mid['torch']:12.1f}{'':8}{at['ours']:12.1f}{at['torch']:12.1f}"
        )


if __name__ == "__main__":
    main()
