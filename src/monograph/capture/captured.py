"""The result of a capture: graph, facts, inputs, outputs, and what was left out or gone past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch.fx.node import Node

from monograph.capture.recording.operators import ASSERT_SCALAR
from monograph.integers import Relation

if TYPE_CHECKING:
    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.capture.inputs.mutation_spec import Changes
    from monograph.capture.inputs.outputs import Outputs
    from monograph.capture.recording.module_calls import ModuleCalls
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.side_effects.module_state import ModuleState
    from monograph.capture.side_effects.observations import Observations
    from monograph.diagnostics import MonographError, Spot
    from monograph.integers import Expr, Facts

GRAD_MODE: Final = ("grad_mode", "", None)
"""How a run notes that it asked whether gradients are followed."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A size that a program leaves out, and what the module does differently there.

    `at` are the user's lines where it first does, innermost first.
    """

    symbol: Expr
    value: int
    what: str
    at: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoveredRefusal:
    """A refusal that a capture went past.

    `assumed` says what the program takes for true instead, "" if nothing; `is_checked` whether it
    asserts that when it runs; `times` how often the same refusal was met at this line;
    `is_seen_in_results` whether what is not checked can make them differ.
    """

    error: MonographError
    assumed: str = ""
    is_checked: bool = False
    times: int = 1
    is_seen_in_results: bool = True


@dataclass(frozen=True, slots=True)
class Capture:
    """What one run of user code left behind."""

    inputs: Inputs
    input_nodes: tuple[Node, ...]
    outputs: Outputs
    state: ModuleState
    recorder: Recorder
    facts: Facts
    calls: ModuleCalls
    observed: Observations
    changes: Changes | None = None
    inference_results: tuple[int, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    problems: tuple[RecoveredRefusal, ...] = ()
    """What a capture that goes on after refusals went past."""


def nodes_of(recorder: Recorder) -> list[Node]:
    """The nodes of a graph and of its subgraphs."""
    found, waiting = list(recorder.writer.graph.nodes), [*recorder.children.values()]
    for each in waiting:
        found += each.graph.nodes
        waiting += each.children.values()
    return found


def asserted_in_regions(captured: Capture) -> list[Relation]:
    """What is asserted of numbers where something runs that may not run."""
    made = [node.args[0] for node in nodes_of(captured.recorder) if node.target is ASSERT_SCALAR]
    values = [each.meta["val"] for each in made if isinstance(each, Node)]
    numbers = [each.node.value for each in values if isinstance(each, torch.SymBool)]
    return [each for each in numbers if isinstance(each, Relation)]


def account(captured: Capture, *, regions: bool = False) -> list[str]:
    """Everything about a capture that two equal ones agree on; the modes it stands in, if asked."""
    recorder = captured.recorder
    states = recorder.scopes.states if regions else {}
    return [
        *(
            f"{node} {node.target} {node.args} {node.kwargs} {states.get(node)}"
            for node in nodes_of(recorder)
        ),
        *(str(guard.relation) for guard in captured.facts.guards),
        *(f"{name} {real.tolist()}" for name, real in recorder.writer.constants.items()),
        f"{captured.outputs.spec} {sorted(recorder.mutated)} {captured.changes}",
        f"{sorted(recorder.answers_noted.answers, key=str)}",
        *(str(leaf.value) for leaf in captured.outputs.leaves if leaf.node is None),
    ]


__all__ = [
    "GRAD_MODE",
    "Capture",
    "Exclusion",
    "RecoveredRefusal",
    "account",
    "asserted_in_regions",
    "nodes_of",
]
