"""A benchmark over a zoo of models: options, a process per model, results kept to go on from."""

import argparse
import functools
import importlib
import json
import logging
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from monograph.sweep.processes import Limits, supervised

Found = dict[str, Any]


def parser_of(about: str) -> argparse.ArgumentParser:
    """Make the options that all of them have."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where zoo.py and shared.txt lie (bench/zoo.md)")
    parser.add_argument("--only", default="", help="a part of the model's name")
    parser.add_argument("--every", type=int, default=1, help="each so many of the list")
    parser.add_argument("--seconds", type=int, default=200, help="of processor time for a model")
    parser.add_argument("--json", type=Path, help="where to keep what was found, to go on from")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    return parser


def over_zoo(options: argparse.Namespace, run: Callable[[Any, str], Found]) -> dict[str, Found]:
    """Give what `run(zoo, name)` finds for each model; `{"failed": reason}` where it raises."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    sys.setrecursionlimit(10_000)
    sys.path.insert(0, str(options.folder))
    zoo = importlib.import_module("zoo")
    kept = options.json if options.json and options.json.exists() else None
    found: dict[str, Found] = json.loads(kept.read_text(encoding="utf-8")) if kept else {}
    shared = (options.folder / "shared.txt").read_text(encoding="utf-8").split()
    for name in filter(functools.partial(re.search, options.only), shared[:: options.every]):
        if name not in found:
            found[name] = in_a_process(functools.partial(run, zoo, name), options.seconds)
            print(name, found[name], flush=True)
        if options.json:
            options.json.write_text(json.dumps(found), encoding="utf-8")
    return found


def in_a_process(run: Callable[[], Found], seconds: int) -> Found:
    """Run in a fork, which may take this much processor time; where it fails, say how."""

    def told(tell: Callable[[Found], None]) -> None:
        try:
            tell(run())
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it is the finding
            tell({"failed": said(error)})

    ended = supervised(told, Limits(processor_seconds=seconds))
    return ended.told or {"failed": ended.detail or ended.output}


def said(error: BaseException) -> str:
    """Give an exception in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
