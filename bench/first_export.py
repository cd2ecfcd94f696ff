"""Run in a fresh process: what its first export imports, and how long that takes.

    python bench/first_export.py MODULE:FUNCTION

Prints one line of JSON: wall and processor seconds of the first export of one Linear after the
exporter was imported, and the modules that this export imported.
"""

import importlib
import json
import sys
import time

import torch


def main(exporter: str) -> None:
    """Export one Linear and report."""
    path, _, name = exporter.partition(":")
    export = getattr(importlib.import_module(path), name)
    module, example = torch.nn.Linear(8, 4), (torch.randn(2, 8),)
    before = set(sys.modules)
    wall, cpu = time.perf_counter(), time.process_time()
    program = export(module, example)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    program.module()(*example)
    imported = sorted(set(sys.modules) - before)
    print(json.dumps({"wall": wall, "cpu": cpu, "imported": imported}))


main(sys.argv[1])
