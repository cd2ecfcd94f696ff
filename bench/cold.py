"""Measure the first export of a fresh process, ours and torch's: one Linear, nothing warm.

python -m bench.cold [--rounds N] [--append]
"""

import argparse
import json
import subprocess
import sys

from bench.results import ROOT, Results, milliseconds

EXPORTERS = {"monograph": "monograph:export", "torch": "torch.export:export"}


def first_export(exporter: str) -> dict:
    """Export in a fresh process and give its report."""
    command = [sys.executable, str(ROOT / "bench" / "first_export.py"), exporter]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure both exporters, turn by turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()

    reports: dict[str, list[dict]] = {name: [] for name in EXPORTERS}
    for _ in range(options.rounds):
        for name, exporter in EXPORTERS.items():
            reports[name].append(first_export(exporter))
    results = Results(
        "First export of a process: one Linear",
        ("exporter", "cpu ms", "wall ms", "modules imported by it"),
    )
    for name, rounds in reports.items():
        cpu, wall = (
            milliseconds([report[clock] for report in rounds]) for clock in ("cpu", "wall")
        )
        results.rows.append((name, f"{cpu:.0f}", f"{wall:.0f}", str(len(rounds[0]["imported"]))))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
