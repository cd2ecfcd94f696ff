"""Source of loops and maps over bodies, which do what `subgraph_calls` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from torch.fx.node import Node

from monograph.program.calling.subgraph_calls import (
    run_associative_scan,
    run_loop,
    run_map,
    run_while_loop,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch


def loop_lines(
    target: Any,
    args: Sequence[Any],
    n_results: int,
    listed: Callable[[Any, str], str],
    fresh: Callable[[str], str],
) -> tuple[list[str], str]:
    """The statements of a loop, and the expression that then has its results.

    `args` are the run function's, with names for its bodies; the last body returns `n_results`.
    `listed` spells values one after the other, each tensor followed by a suffix; `fresh` gives a
    variable its name.
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
    if target is run_associative_scan:
        body, xs, _ = args
        lines = [
            f"{made} = []",
            f"for {step} in zip({listed(xs, '.unbind(0)')}):",
            f"    {made}.append({body}(*{made}[-1], *{step}, {rest}) if {made} else {step})",
        ]
        stacked = f"map(torch.stack, zip(*{made}))"
        return lines, f"(*({stacked} if {made} else {_tuple(listed(xs, '.clone()'))}),)"
    body, begun, xs, _ = (args[0], (), *args[1:]) if target is run_map else args
    lines = [
        f"{carried}, {made} = {_tuple(listed(begun, ''))}, []",
        f"for {step} in zip({listed(xs, '.unbind(0)')}):",
        f"    {carried} = {body}(*{carried}, *{step}, {rest})",
        f"    {made}.append({carried}[{len(begun)}:])",
        f"    {carried} = {carried}[:{len(begun)}]",
    ]
    if n_results == len(begun):
        return lines, carried
    lines += [
        f"if {made}:",
        f"    {made} = map(torch.stack, zip(*{made}))",
        "else:  # a step on zeros tells what there is none of",
        f"    {step} = [x.new_zeros(x.shape[1:]) for x in {_tuple(listed(xs, ''))}]",
        "    with torch.no_grad(), torch.random.fork_rng([]):",
        f"        {made} = {body}(*{carried}, *{step}, {rest})[{len(begun)}:]",
        f"    {made} = [x.new_empty((0, *x.shape)) for x in {made}]",
    ]
    return lines, f"(*{carried}, *{made})"


def n_returned(module: torch.fx.GraphModule, node: Node) -> int:
    """How many results the last body of a loop has."""
    *_, last = [each for each in node.args if isinstance(each, Node)]
    body = cast("torch.fx.GraphModule", module.get_submodule(str(last.target)))
    return len(cast("tuple[Any, ...]", body.graph.output_node().args[0]))


def _tuple(listed: str) -> str:
    return f"({listed},)" if listed else "()"


__all__ = ["loop_lines", "n_returned"]
