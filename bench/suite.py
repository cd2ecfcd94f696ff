"""The benchmarks in one command: ours beside torch.export, each pair in a process of its own.

    python -m bench.suite [--rounds N] [--zoo N] [--seed N] [--only TEXT] [--dry]

Processor seconds, medians of rounds that alternate. The run comes first in bench/RESULTS.md; its
numbers are kept in bench/history/, and `bench.history_plots` draws them into docs/plots/. Zoo
models are drawn by the seed out of the folder that MONOGRAPH_ZOO names (bench/zoo.md), by the
Python of MONOGRAPH_ZOO_PYTHON where their libraries are; without it they are left out, which the
run says.
"""

import argparse
import datetime as dt
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench import history_plots
from bench.history_plots import HISTORY
from bench.pairs import MODELS, STAGES
from bench.results import ROOT, Results, commit, insert, setting

DEPTHS = (64, 256, 1000, 4096)
BLOCKS = (8, 126)
ZOO_STAGES = ("capture, fixed", "capture, varying", "capture, strict")
OF_ALL = [each for each in STAGES if each != "contract"]
LIMIT = 900
"""Wall seconds after which a pair is given up, and named."""

Record = dict[str, Any]


def measure(model: str, stage: str, *more: str) -> Record:
    """Run one pair; where it fails, `error` is the last line that it printed."""
    is_zoo = model.startswith("zoo:")
    python = os.environ.get("MONOGRAPH_ZOO_PYTHON", sys.executable) if is_zoo else sys.executable
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    record: Record = {"model": model, "stage": stage}
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-m", "bench.pairs", model, stage, *more],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return record | {"error": f"more than {LIMIT} s"}
    except subprocess.CalledProcessError as error:
        return record | {"error": (error.stderr.strip().splitlines() or ["nothing said"])[-1][:120]}
    return record | json.loads(done.stdout.splitlines()[-1])


def both(model: str, stage: str) -> list[Record]:
    """What is measured in a process for each exporter: `cold` and `memory`."""
    return [{**measure(model, stage, "--who", who), "who": who} for who in ("ours", "torch")]


def zoo_models(count: int, seed: int) -> list[str]:
    """Entries of the zoo, drawn; none where there is no zoo."""
    folder = os.environ.get("MONOGRAPH_ZOO")
    if not folder or not count:
        return []
    names = (Path(folder) / "shared.txt").read_text().split()
    return [f"zoo:{name}" for name in sorted(random.Random(seed).sample(names, count))]  # noqa: S311


def pairs(options: argparse.Namespace) -> list[tuple[str, str]]:
    """What a run measures."""
    found = [(model, stage) for model in MODELS for stage in OF_ALL]
    found += [("MLP", "contract")]
    found += [(f"chain:{n}", stage) for n in DEPTHS for stage in ("capture, fixed", "lowering")]
    found += [
        ("chain:1000", stage) for stage in OF_ALL if stage not in ("capture, fixed", "lowering")
    ]
    found += [(f"blocks:{n}", "capture, fixed") for n in BLOCKS]
    zoo = zoo_models(options.zoo, options.seed)
    return found + [(model, stage) for model in zoo for stage in ZOO_STAGES]


# --- wording --------------------------------------------------------------------------------------


def milli(value: float | None) -> str:
    """Seconds as milliseconds."""
    return "-" if value is None else f"{1000 * value:.3g}"


def ratio(record: Record, base: str) -> str:
    """How many times ours is faster than torch's, or how long it takes beside eager."""
    ours, other = record.get("ours"), record.get(base)
    if not ours or not other:
        return "-"
    return f"{other / ours:.1f}x" if base == "torch" else f"{ours / other:.2f}"


def table(records: list[Record], rounds: int) -> Results:
    """All pairs."""
    columns = ("model and stage", "eager ms", "ours ms", "torch ms", "torch / ours", "ours / eager")
    rows = [
        (
            f"{each['model']}: {each['stage']}",
            *(milli(each.get(who)) for who in ("eager", "ours", "torch")),
            ratio(each, "torch"),
            ratio(each, "eager"),
        )
        for each in records
        if "error" not in each and "ours" in each
    ]
    notes = [f"Medians of {rounds} rounds, processor time; one process a pair."]
    notes += [
        f"Not measured: {each['model']}, {each['stage']}: {each['error']}"
        for each in records
        if "error" in each
    ]
    return Results("Ours beside torch.export", columns, rows, (*notes, *means(records)))


def means(records: list[Record]) -> list[str]:
    """Over the zoo, for each stage: geometric mean and worst."""
    by_stage: defaultdict[str, list[float]] = defaultdict(list)
    for each in records:
        if each["model"].startswith("zoo:") and each.get("ours"):
            by_stage[each["stage"]].append(each["torch"] / each["ours"])
    if not by_stage:
        return ["No zoo: MONOGRAPH_ZOO names no folder, or none was asked for."]
    return [
        f"Zoo, {stage}: {len(found)} models, geometric mean "
        f"{math.exp(sum(map(math.log, found)) / len(found)):.1f}x, worst {min(found):.1f}x."
        for stage, found in by_stage.items()
    ]


def of_processes(records: list[Record]) -> Results:
    """What is measured in a process of its own for each exporter."""
    columns = ("process", "import ms", "first export ms", "megabytes")
    rows = [
        (
            f"{each['model']}: {each['stage']}, {each['who']}",
            milli(each.get("import")),
            milli(each.get("first export") or each.get("first")),
            "-" if "megabytes" not in each else f"{each['megabytes']:.1f}",
        )
        for each in records
        if "error" not in each and "who" in each
    ]
    return Results("Cold start and memory", columns, rows)


def main() -> None:
    """Measure, show, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--zoo", type=int, default=30, help="how many models of the zoo")
    parser.add_argument("--seed", type=int, default=0, help="which models of the zoo")
    parser.add_argument("--only", default="", help="a pattern that `model: stage` has to match")
    parser.add_argument("--dry", action="store_true", help="keep nothing")
    options = parser.parse_args()
    records: list[Record] = []
    cold = [("Linear", "cold"), ("GPT-12", "memory"), ("chain:4096", "memory")]
    wanted = re.compile(options.only)
    for model, stage in [*cold, *pairs(options)]:
        if not wanted.search(f"{model}: {stage}"):
            continue
        print(f"{model}: {stage}", file=sys.stderr, flush=True)
        alone = (model, stage) in cold
        found = (
            both(model, stage) if alone else [measure(model, stage, f"--rounds={options.rounds}")]
        )
        records += found
    tables = [table(records, options.rounds), of_processes(records)]
    for each in tables:
        each.show()
    if options.dry:
        return
    HISTORY.mkdir(exist_ok=True)
    name = f"{dt.datetime.now(dt.UTC):%Y-%m-%d-%H%M}-{commit()}"
    kept = {
        "setting": setting(),
        "rounds": options.rounds,
        "seed": options.seed,
        "records": records,
    }
    (HISTORY / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
    shown = [line for each in tables if each.rows for line in each.lines()]
    insert([*shown, *history_plots.write()])


if __name__ == "__main__":
    main()
