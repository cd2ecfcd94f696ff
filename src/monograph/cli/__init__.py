"""The command line: `monograph export model.py:make -o model.pt2`, and what is done with files.

Nothing of PyTorch is imported before a command needs it.
"""

from __future__ import annotations

from monograph.cli.output import MISSING, RIGHT, WRONG, complain
from monograph.cli.planning import estimate
from monograph.cli.programs import (
    convert,
    diff,
    export,
    inspect,
    minify,
    report,
    run,
    show,
    verify,
)
from monograph.cli.reading import doctor, examples, explain
from monograph.cli.sweeping import sweep
from monograph.lazy_imports import deferred

_commands = deferred("monograph.cli.commands:app")


def main() -> None:
    """Run the command that the arguments of the process name."""
    try:
        _commands()
    except ImportError as error:
        if error.name != "typer":
            raise
        complain("this needs typer: pip install 'monograph[cli]'")
        raise SystemExit(MISSING) from None


__all__ = [
    "MISSING",
    "RIGHT",
    "WRONG",
    "convert",
    "diff",
    "doctor",
    "estimate",
    "examples",
    "explain",
    "export",
    "inspect",
    "main",
    "minify",
    "report",
    "run",
    "show",
    "sweep",
    "verify",
]
