"""Loops and maps over bodies as Python statements, which do what `region_calls` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import problem
from monograph.program.region_calls import run_loop, run_map, run_scan, run_while_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def loop_lines(
    target: Any, args: Sequence[Any], listed: Callable[[Any, str], str], fresh: Callable[[str], str]
) -> tuple[list[str], str]:
    """The statements of a loop, and the expression that then has its results.

    `args` are the run function's, with names for its bodies. `listed` spells values one after the
    other, each tensor followed by a suffix; `fresh` gives a variable its name.

    Raises: program-not-spelt (an associative scan).
    """
    carried, made, step = fresh("carried"), fresh("made"), fresh("step")
    rest = listed(args[-1], "")
    if target in {run_loop, run_while_loop}:
        goes_on, body, begun, _ = args
        copied = ".clone()" if target is run_while_loop else ""
        lines = [
            f"{carried} = {_tuple(listed(begun, copied))}",
            f"while {goes_on}(*{carried}, {rest}):",
            f"    {carried} = {body}(*{carried}, {rest})",
        ]
        return lines, carried
    if target is run_map:
        body, begun, xs, _ = args[0], (), *args[1:]
    elif target is run_scan:
        body, begun, xs, _ = args
    else:
        raise problem("program-not-spelt", what="an associative scan")
    lines = [
        f"{carried}, {made} = {_tuple(listed(begun, ''))}, []",
        f"for {step} in zip({listed(xs, '.unbind(0)')}):",
        f"    {carried} = {body}(*{carried}, *{step}, {rest})",
        f"    {made}.append({carried}[{len(begun)}:])",
        f"    {carried} = {carried}[:{len(begun)}]",
    ]
    return lines, f"(*{carried}, *map(torch.stack, zip(*{made})))"


def _tuple(listed: str) -> str:
    return f"({listed},)" if listed else "()"


__all__ = ["loop_lines"]
