"""The registry of rewrites: one decorated function a file, the file named as the function.

    @rewrite
    def dead_code(edited: ProgramCopy) -> None: ...

What the decorator leaves under the name takes the rewrite's options and gives a `Rewrite`, which
`program.transform` applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.passes.rewrites.program_copy import ProgramCopy

Options = ParamSpec("Options")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite with its options."""

    name: str
    apply: Callable[[ProgramCopy], None]


REWRITES: dict[str, Callable[..., Rewrite]] = {}
"""Every rewrite, by name."""


def rewrite(
    function: Callable[Concatenate[ProgramCopy, Options], None],
) -> Callable[Options, Rewrite]:
    """Enter a rewrite; its name is that of the function."""
    name = function.__name__

    def configured(*args: Options.args, **kwargs: Options.kwargs) -> Rewrite:
        def apply(edited: ProgramCopy) -> None:
            function(edited, *args, **kwargs)

        return Rewrite(name, apply)

    entered: Any = configured
    entered.__name__, entered.__doc__ = name, function.__doc__
    REWRITES[name] = configured
    return configured


__all__ = ["REWRITES", "Rewrite", "rewrite"]
