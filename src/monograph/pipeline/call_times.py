"""Measured time of each call of a graph, on the example inputs of its program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.trees import leaves_of
from monograph.program import InputKind
from monograph.program.stateful_module import state_of

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.program import ExportedProgram

_ROUNDS: Final = 3


def times_of(program: ExportedProgram) -> dict[str, int]:
    """The nanoseconds that each call takes, by the name of its node: the least of a few runs.

    Runs have copies of state and inputs, which calls may write to, and follow no gradients.
    """
    timed = _Timed(program.graph_module)
    assert program.example_inputs is not None, "asked before"
    with torch.no_grad():
        for _ in range(_ROUNDS):
            given = iter(leaves_of(program.example_inputs))
            values = [
                next(given) if spec.kind is InputKind.USER_INPUT else state_of(program, spec)
                for spec in program.graph_signature.input_specs
            ]
            timed.run(
                *(each.clone() if isinstance(each, torch.Tensor) else each for each in values)
            )
    return timed.times


class _Timed(torch.fx.Interpreter):
    """Runs the nodes of a graph one after the other, and remembers how long each took."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.times: dict[str, int] = {}

    def run_node(self, n: Node) -> Any:
        """As the interpreter of torch.fx runs it."""
        began = time.perf_counter_ns()
        result = super().run_node(n)
        taken = time.perf_counter_ns() - began
        self.times[n.name] = min(taken, self.times.get(n.name, taken))
        return result
