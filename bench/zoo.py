"""Run an external zoo of models through both exporters, and lay the two results side by side.

    python -m bench.zoo FOLDER [--mode static|dynamic] [--only REGEX] [--strict] [--append]

FOLDER holds `run_baseline.py`, which captures every model in a process of its own and writes JSON
(see bench/zoo.md). What ran before is kept in bench/out/ and runs again only with `--fresh`.
"""

import argparse
import collections
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from bench.results import ROOT, Results

EXPORTERS = {"monograph": "monograph:export", "torch": "torch.export:export"}
OUT = ROOT / "bench" / "out"
COLUMNS = (
    "exporter",
    "mode",
    "models",
    "captured",
    "right",
    "wrong",
    "refuses",
    "cpu s",
    "ms/node",
)


def run(folder: Path, name: str, options: argparse.Namespace) -> list[dict]:
    """Run one exporter over the zoo and give its records."""
    OUT.mkdir(parents=True, exist_ok=True)
    strict = "-strict" if options.strict else ""
    file = OUT / f"zoo-{name}-{options.mode}{strict}.json"
    if options.fresh:
        file.unlink(missing_ok=True)
    command = [sys.executable, "run_baseline.py", "--exporter", EXPORTERS[name]]
    command += ["--mode", options.mode, "--json", str(file), "--resume"]
    command += ["--only", options.only] if options.only else []
    command += ["--strict"] if options.strict else []
    subprocess.run(command, cwd=folder, env=environment(), check=True)
    return json.loads(file.read_text())["results"]


def environment() -> dict[str, str]:
    """Let a process that runs in the zoo's folder find the package."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def row(name: str, mode: str, records: list[dict]) -> tuple[str, ...]:
    """Count what became of each model."""
    status = collections.Counter(record["status"] for record in records)
    captured = [record for record in records if record["ok"]]
    cpu = sum(record["capture_cpu"] for record in captured)
    nodes = sum(record["nodes"] for record in captured)
    return (
        name,
        mode,
        str(len(records)),
        str(len(captured)),
        str(status["pass"]),
        str(sum(n for key, n in status.items() if key.endswith("WRONG"))),
        str(sum(n for key, n in status.items() if key.endswith("error"))),
        f"{cpu:.1f}",
        f"{1000 * cpu / nodes:.2f}" if nodes else "-",
    )


def speed(ours: list[dict], theirs: list[dict]) -> str:
    """Say how many times faster ours captured what both captured."""
    peer = {record["name"]: record for record in theirs if record["ok"]}
    ratios = [
        math.log(peer[record["name"]]["capture_cpu"] / record["capture_cpu"])
        for record in ours
        if record["ok"] and record["name"] in peer and record["capture_cpu"]
    ]
    if not ratios:
        return "No model was captured by both."
    mean = math.exp(sum(ratios) / len(ratios))
    return (
        f"Over the {len(ratios)} models both captured, ours is {mean:.0f}x faster (geometric mean)."
    )


def differences(ours: list[dict], theirs: list[dict]) -> list[str]:
    """Name every model whose status is not the same, with our reason where we have one."""
    peer = {record["name"]: record["status"] for record in theirs}
    return [
        f"{record['name']}: {record['status']} (torch: {peer[record['name']]}) "
        f"{record.get('error_type', '')}".rstrip()
        for record in ours
        if record["name"] in peer and record["status"] != peer[record["name"]]
    ]


def main() -> None:
    """Run both, show both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=["static", "dynamic"], default="static")
    parser.add_argument("--only", default="")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="forget what ran before")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()

    records = {name: run(options.folder, name, options) for name in EXPORTERS}
    results = Results(
        f"The zoo, {options.mode}",
        COLUMNS,
        [row(name, options.mode, found) for name, found in records.items()],
        (speed(records["monograph"], records["torch"]),),
    )
    results.show()
    print("\n".join(differences(records["monograph"], records["torch"])))
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
