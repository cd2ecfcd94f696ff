"""A script run with torch.export replaced: `python -m monograph.as_torch_export script.py ...`."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from monograph.interop import as_torch_export

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(given: Sequence[str]) -> None:
    """Run a script or a module as `python` does, inside of `monograph.as_torch_export()`."""
    about = "run a script whose calls of torch.export are captured by monograph"
    parser = argparse.ArgumentParser(prog="python -m monograph.as_torch_export", description=about)
    parser.add_argument("--fallback", action="store_true", help="torch captures what is refused")
    parser.add_argument("-m", dest="module", action="store_true", help="the name of a module")
    parser.add_argument("script", help="a file, or a module after -m")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the arguments of the script")
    options = parser.parse_args(given)
    sys.argv = [options.script, *options.args]
    with as_torch_export(fallback=options.fallback):
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(options.script).resolve().parent)
            runpy.run_path(options.script, run_name="__main__")


class _AsTorchExport(ModuleType):
    """Stays callable where somebody imports the module, which the function has the name of."""

    def __call__(self, *, fallback: bool = False) -> Any:
        return as_torch_export(fallback=fallback)


if __name__ == "__main__":
    main(sys.argv[1:])
else:
    sys.modules[__name__].__class__ = _AsTorchExport

__all__ = ["as_torch_export", "main"]
