"""The first step of each kind in a process is quick, and wakes none of torch's own exporter."""

import json
import subprocess
import sys

import pytest

from monograph import lazy_imports
from tests.repo.sources import ROOT, environment, is_within, sources

SCRIPT = ROOT / "bench" / "cold_start.py"
BUDGET = 0.3
"""Seconds of processor time for the first export of one Linear."""
OF_TORCH = 0.25
"""How much of the time of `import torch` the import of monograph may take; 0.10 when measured."""
MODULES = 90
"""How many modules the import of monograph may load; 72 when measured."""
ASLEEP = (
    *("sympy", "torch._dynamo", "torch._inductor", "torch.export._trace", "torch._functorch"),
    *("torch.distributed", "z3"),
)
STEPS = ("monograph", "entry", "export", "call", "save", "load", "cli", "inspect")
UNUSED = ("archive", "interop", "report", "passes.decomposition.lowering", "program.python_source")
"""Parts of monograph that capture does without."""


@pytest.fixture(scope="module")
def runs():
    """Give what fresh processes report of their first steps."""
    command = [sys.executable, str(SCRIPT)]
    return [
        json.loads(subprocess.check_output(command, env=environment(), text=True)) for _ in range(2)
    ]


def quickest(runs, step):
    """Give the least processor time that a step took."""
    return min(run[step]["cpu"] for run in runs)


@pytest.mark.parametrize("step", STEPS)
def test_a_first_step_imports_nothing_of_the_peer(runs, step):
    """No Dynamo, no sympy, no torch.distributed, no tracer of torch.export."""
    found = [
        name for name in runs[0][step]["imported"] if any(is_within(name, one) for one in ASLEEP)
    ]
    assert not found


def test_the_first_export_is_quick(runs):
    """Exporting one Linear in a fresh process takes at most 0.3 seconds of processor time."""
    assert quickest(runs, "export") <= BUDGET


def test_importing_is_cheap(runs):
    """The package takes a small part of what torch takes, and few modules."""
    assert len(runs[0]["monograph"]["imported"]) <= MODULES
    ratios = [run["monograph"]["cpu"] / run["torch"]["cpu"] for run in runs]
    assert min(ratios) <= OF_TORCH


def test_capture_does_without_what_others_need(runs):
    """Files, other systems, reports, lowering and text are imported when they are asked for."""
    found = [
        name
        for step in ("monograph", "entry", "export")
        for name in runs[0][step]["imported"]
        if any(is_within(name, f"monograph.{one}") for one in UNUSED)
    ]
    assert not found


def test_what_is_imported_late_exists():
    """Every `module:name` in a table of late imports can be had."""
    for source in sources():
        if "lazy_imports" in source.text and source.path.name != "lazy_imports.py":
            parts = source.path.relative_to(ROOT / "src").with_suffix("").parts
            lazy_imports.resolved(".".join(parts).removesuffix(".__init__") + ":")
    for place in lazy_imports.DEFERRED:
        assert lazy_imports.resolved(place) is not None


@pytest.mark.parametrize("package", ["monograph", "monograph.passes", "monograph.program"])
def test_a_package_lists_what_it_imports_late(package):
    """Every public name can be had and is listed; another name is refused as usual."""
    module = lazy_imports.resolved(f"{package}:")
    assert {*module.__all__} <= {*dir(module)}
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'unheard_of'"):
        module.unheard_of  # noqa: B018
