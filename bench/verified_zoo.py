"""Count false alarms of verification: a zoo of models, each verified in a process of its own.

    python -m bench.verified_zoo FOLDER [--dtype bfloat16] [--mode static] [--append]

FOLDER holds a `zoo.py` (see bench/zoo.md). Every model is exported and verified against itself, so
each difference is either a fault of the program or a false alarm of `verify`; none may be left.
"""

import argparse
import copy
import functools
import importlib
import json
import logging
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

import monograph
from bench.lowered_zoo import SEED, in_a_process
from bench.results import Results

COLUMNS = ("dtype", "sizes", "models", "exported", "equal", "different", "raised")


def converted(value: Any, dtype: torch.dtype) -> Any:
    """Convert a module, or the tensors of inputs, to a floating-point type."""
    if isinstance(value, nn.Module):
        return value.to(dtype)

    def convert(leaf: object) -> object:
        is_float = isinstance(leaf, torch.Tensor) and leaf.dtype == torch.float32
        return leaf.to(dtype) if is_float else leaf

    return pytree.tree_map(convert, value)


def verified(zoo: Any, name: str, dtype: str, mode: str, samples: int) -> dict[str, Any]:
    """Export a model, verify the program, and give its verdict, with reasons where not equal."""
    module, args, kwargs, shapes = zoo.get(name)()
    convert = functools.partial(converted, dtype=getattr(torch, dtype))
    module, args, kwargs = convert(module), *map(convert, (args, kwargs))
    torch.manual_seed(SEED)
    try:
        copy.deepcopy(module)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Exception as error:  # noqa: BLE001 - whatever the model raises, it is the finding
        return {"verdict": "eager raises", "said": f"{type(error).__name__}: {error}"[:200]}
    try:
        dynamic = shapes if mode == "dynamic" else None
        program = monograph.export(module, args, kwargs, dynamic_shapes=dynamic)
    except monograph.MonographError as error:
        return {"verdict": "refused", "said": error.diagnostic.headline[:200]}
    found = monograph.verify(program, module, samples=samples)
    return {"verdict": "equal" if found else "different", "said": "" if found else str(found)}


def main() -> None:
    """Verify every model, and show how many are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--mode", choices=["static", "dynamic"], default="dynamic")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=300, help="of processor time for a model")
    parser.add_argument("--json", type=Path, help="where to keep what was found, to go on from")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    sys.setrecursionlimit(10_000)
    sys.path.insert(0, str(options.folder))
    zoo = importlib.import_module("zoo")

    kept = options.json if options.json and options.json.exists() else None
    found: dict[str, dict] = json.loads(kept.read_text(encoding="utf-8")) if kept else {}
    shared = (options.folder / "shared.txt").read_text(encoding="utf-8").split()
    for name in filter(functools.partial(re.search, options.only), shared):
        if name not in found:
            run = functools.partial(
                verified, zoo, name, options.dtype, options.mode, options.samples
            )
            found[name] = in_a_process(run, options.seconds)
            print(name, found[name], flush=True)
        if options.json:
            options.json.write_text(json.dumps(found), encoding="utf-8")

    verdicts = [each.get("verdict", "raised") for each in found.values()]
    exported = [each for each in verdicts if each not in {"refused", "eager raises"}]
    counts = [
        exported,
        *[[v for v in verdicts if v == w] for w in ("equal", "different", "raised")],
    ]
    row = (options.dtype, options.mode, str(len(found)), *[str(len(each)) for each in counts])
    notes = tuple(
        f"{name}: {each.get('verdict', 'raised')}: {str(each.get('said') or each)[:300]}"
        for name, each in found.items()
        if each.get("verdict") != "equal"
    )
    results = Results("False alarms of verification over the zoo", COLUMNS, [row], notes)
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
