"""Run in a fresh process: what each first step of monograph costs, and what it imports.

    python bench/cold_start.py

Prints one line of JSON: for each step, its processor seconds and the modules that it imported, and
the seconds that `import torch` took before all of them.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

STEPS = {}


def step(name, run):
    """Do something for the first time, and remember what it took."""
    before, began = set(sys.modules), time.process_time()
    result = run()
    cpu = time.process_time() - began
    STEPS[name] = {"cpu": cpu, "imported": sorted(set(sys.modules) - before)}
    return result


def main() -> None:
    """Export, call, save, load and inspect one Linear, and report."""
    torch = step("torch", lambda: __import__("torch"))
    monograph = step("monograph", lambda: __import__("monograph"))
    module, example = torch.nn.Linear(8, 4), (torch.randn(2, 8),)
    step("entry", lambda: monograph.export)
    program = step("export", lambda: monograph.export(module, example))
    step("call", lambda: program.module()(*example))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.pt2"
        step("save", lambda: monograph.save(program, file))
        step("load", lambda: monograph.load(file).module()(*example))
        cli = step("cli", lambda: __import__("monograph.cli", fromlist=["inspect"]))
        sys.stdout = sys.stderr
        step("inspect", lambda: cli.inspect(str(file)))
        sys.stdout = sys.__stdout__
    print(json.dumps(STEPS))


main()
