"""Self-check of an installation: versions, private names of torch, and a program there and back.

It takes about a second, and needs nothing that is not installed with the package.
"""

from __future__ import annotations

import io
import platform
from typing import TYPE_CHECKING

import torch

from monograph import __version__
from monograph.api import export
from monograph.archive import load, save
from monograph.dims import Dim
from monograph.host.overloads import ABSENT, LACKING
from monograph.host.versions import VERIFIED, is_free_threaded, unresolved, version

if TYPE_CHECKING:
    from collections.abc import Iterator


def diagnosis() -> tuple[str, bool]:
    """What is installed and whether it works: a text of some lines, and the verdict."""
    problems = [*_problems()]
    verified = "verified" if version() in VERIFIED else f"verified on {', '.join(VERIFIED)} only"
    threads = ", free-threaded, not verified" if is_free_threaded() else ""
    lines = [
        f"monograph {__version__}, Python {platform.python_version()}{threads}",
        f"PyTorch {torch.__version__}: {verified}",
        *problems,
        "it does not work here" if problems else "it works",
    ]
    return "\n".join(lines), not problems


def _problems() -> Iterator[str]:
    yield from (f"{name} is gone from PyTorch" for name in unresolved())
    try:
        _there_and_back()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said
        yield f"a program of one layer fails: {type(error).__name__}: {error}"
    yield from (f"{each} is gone from PyTorch" for each in ABSENT if each.name not in LACKING)


def _there_and_back() -> None:
    """Export, lower, save, load and call; in both modes, at another size.

    Raises: RuntimeError where a result differs.
    """
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    size, x = Dim("n"), torch.randn(5, 3)
    for strict in (True, False):
        program = export(module, (torch.ones(2, 3),), dynamic_shapes=[{0: size}], strict=strict)
        file = io.BytesIO()
        save(program.run_decompositions(), file)
        file.seek(0)
        for each in (program, load(file)):
            if not torch.allclose(each.module()(x), module(x)):
                raise RuntimeError("another result than in eager code")


__all__ = ["diagnosis"]
