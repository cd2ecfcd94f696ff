"""What benchmarks of one table over the models of `bench.models` share: options, and the table."""

import argparse
import re
import warnings
from collections.abc import Callable, Iterable

import torch

from bench.models import CASES, Case
from bench.results import Results

Row = tuple[str, ...]


def measure_models(
    about: str, results: Results, rows: Callable[[str, Case, int], Iterable[Row]], only: str = ""
) -> None:
    """Read the options, measure the models they name, show the table, and keep it if asked.

    `rows` takes a model's name, the model, and how many rounds to measure. `only` is the default.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=only, help="a part of the model's name")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for name, make in CASES.items():
        if re.search(options.only, name, re.IGNORECASE):
            results.rows.extend(rows(name, make(), options.rounds))
    results.show()
    if options.append:
        results.append()
