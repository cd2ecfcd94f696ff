"""Programs lowered as exporters, so that PyTorch's databases judge them as they judge capture."""

from __future__ import annotations

import torch

import monograph
from monograph.diagnostics import MonographError
from tests.laws.exporting import Exporter

TABLES = {"functional": dict, "core": monograph.default_decompositions}

NAMED = {"aten.detach.default", "aten.resolve_conj.default", "aten.resolve_neg.default"}
"""Kept for callers who differentiate, or pass a conjugate."""


class LawBrokenError(Exception):
    """A lowered program is not what lowering promises; the message says why."""


def lowering(table: str, *, strict: bool = False) -> Exporter:
    """Export, lower, and hold the result to the laws of lowering."""

    def export(module, args, kwargs, shapes):
        program = monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=strict)
        lowered = program.run_decompositions(TABLES[table]())
        hold(lowered, TABLES[table]())
        return lowered

    return Exporter(f"lowered, {table}", export, monograph.Dim.AUTO, (MonographError,))


def hold(lowered, table):
    """Nothing is written to, nothing that has a formula is left, and once is enough.

    Raises: LawBrokenError.
    """
    if lowered.graph_signature.mutated_in_place:
        raise LawBrokenError(f"writes to {lowered.graph_signature.mutated_in_place}")
    left = with_formula(lowered) if table else []
    if left:
        raise LawBrokenError(f"has a formula, and is left: {', '.join(left)}")
    again = lowered.run_decompositions(table)
    if calls(again) != calls(lowered):
        raise LawBrokenError("lowered twice, it is not what it was")


def with_formula(lowered):
    """Operators that are no core operators, although PyTorch's exporter has a formula for them.

    Those whose formula does not apply to these arguments have the reason, in `exceptions`.
    """
    theirs = torch.export.default_decompositions()
    return [
        f"{name} ({reason})"
        for name, reason in lowered.exceptions.items()
        if name not in NAMED and overload_named(name) in theirs and "its formula" not in reason
    ]


def overload_named(name):
    """The overload that a node's target is called by."""
    namespace, operator, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload)


def calls(program):
    """What every graph calls, in order."""
    return [
        str(node.target)
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if node.op == "call_function"
    ]
