"""The zoo (bench/zoo.md) as a table of factories: `ZOO=FOLDER monograph sweep bench/zoo.toml`."""

import functools
import importlib
import os
import sys
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["ZOO"])
sys.path.insert(0, str(FOLDER))
sys.setrecursionlimit(10_000)
warnings.filterwarnings("ignore")


def built(name: str) -> tuple[Any, ...]:
    """Build a model: the module, its example inputs, and which sizes vary."""
    return importlib.import_module("zoo").get(name)()


models = {
    name: functools.partial(built, name)
    for name in (FOLDER / "shared.txt").read_text(encoding="utf-8").split()
}
