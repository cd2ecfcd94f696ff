"""Serialisation of a program in the published schema: graph, signature, ranges, conditions.

Tensors are not among it. The same form is written into files and handed over to torch.export.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.aliasing import written_by
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.archive.errors import Refused
from monograph.archive.schema.graph_writing import GraphSerializer, SidecarValues
from monograph.archive.schema.guards_code import guard_sources, guards_code
from monograph.archive.schema.signatures import argument_json, signature_json
from monograph.archive.schema.structures import structure_text
from monograph.archive.schema.symbols import SymbolWriter
from monograph.archive.schema.values import ValueWriter
from monograph.archive.torch_export_files import leaf_paths
from monograph.archive.versions import OPSETS, SCHEMA
from monograph.diagnostics import problem
from monograph.host.operator_types import HigherOrderOperator
from monograph.integers import Facts, relation_text
from monograph.passes.graph_walks import calls
from monograph.passes.rewrites.dead_code import has_effect
from monograph.program import ExportedProgram, InputKind, TensorClause
from monograph.program.contract import (
    answer_text,
    pairs_apart,
    question_text,
    range_text,
    state_asked,
)
from monograph.program.dialect import ATEN, TRAINING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.fx.node import Node

    from monograph.archive.schema.values import Json


def schema_of(program: ExportedProgram) -> Json:
    """A program in the published schema, without its tensors.

    Raises: archive-cannot-hold, archive-unknown-type.
    """
    symbols = SymbolWriter(Facts() if program.facts is None else program.facts)
    try:
        return program_json(program, symbols, SidecarValues())
    except Refused as refused:
        raise cannot_hold(refused) from None


def unsaid(program: ExportedProgram) -> list[str]:
    """What a program's contract asks of callers that its schema does not, in words."""
    contract = program.contract
    paths = _paths(program)
    kept = set(guards_code(contract, paths))
    names = guard_sources(contract, paths)
    found = [
        relation_text(each.relation, contract.names)
        for each in contract.guards
        if not (
            each.relation.symbols <= names.keys() and relation_text(each.relation, names) in kept
        )
    ]
    paths = [*(clause.path for clause in contract.clauses), *state_asked(contract)]
    pairs = pairs_apart(contract)
    found += [f"{paths[a]} apart from {paths[b]} in memory" for a, b in pairs if a != b]
    found += [f"{question_text(each)} is {answer_text(each.value)}" for each in contract.answers]
    if contract.changes is not None:
        found.append("(and does not make) changes to objects that callers pass in")
    if contract.inference_results:
        found.append("(and does not make) inference tensors of its results")
    return found


def conditions(program: ExportedProgram) -> list[str]:
    """What a program's contract asks beside structures, dtypes, ranks and fixed sizes, in words."""
    contract = program.contract
    ranges = [
        f"{contract.names.get(symbol, symbol.name)} {range_text(lower, upper)}"
        for symbol, lower, upper in contract.ranges
        if (lower or 0) > 0 or upper is not None
    ]
    guards = [relation_text(each.relation, contract.names) for each in contract.guards]
    return [*ranges, *guards, *[each for each in unsaid(program) if each not in guards]]


def cannot_hold(refused: Refused) -> Exception:
    """What to raise where a program has no form in a file."""
    if refused.name == "archive-invalid":
        return problem("archive-cannot-hold", reason=refused.reason)
    return problem(refused.name, member="the program", reason=refused.reason)


def program_json(program: ExportedProgram, symbols: SymbolWriter, beside: SidecarValues) -> Json:
    """A program but for its tensors; what the schema has no place for is entered into `beside`.

    Raises: Refused.
    """
    values = ValueWriter(symbols.facts, symbols.expressions)
    fields: dict[str, list[str]] = {}
    inputs = dict(_reshaped_inputs(program))
    graph = GraphSerializer(program.graph_module, values, beside, inputs).graph()
    return {
        "graph_module": {
            "graph": graph,
            "signature": signature_json(program.graph_signature),
            "module_call_graph": list(_module_calls(program, fields)),
            "metadata": {},
            "treespec_namedtuple_fields": {
                name: {"field_names": names} for name, names in fields.items()
            },
        },
        "opset_version": OPSETS,
        "range_constraints": symbols.ranges(program.range_constraints),
        "schema_version": {"major": SCHEMA[0], "minor": SCHEMA[1]},
        "verifiers": [_verifier(program)],
        "torch_version": str(torch.__version__),
        "guards_code": guards_code(program.contract, _paths(program)),
    }


def _paths(program: ExportedProgram) -> list[str]:
    clauses = program.contract.clauses
    ranks = [len(each.shape) if isinstance(each, TensorClause) else None for each in clauses]
    return leaf_paths(program.in_spec, program.call_names, ranks)


def _verifier(program: ExportedProgram) -> str:
    """The dialect as others call it.

    They know no functional graph that writes to its copies, and sweep from functional ones every
    region whose result nobody uses, whatever it checks or draws.
    """
    is_taken_for_training = program.dialect == TRAINING or any(
        any(written_by(node)) or (not node.users and _is_region_with_effect(node))
        for node in calls(program.graph_module)
    )
    return TRAINING if is_taken_for_training else ATEN


def _is_region_with_effect(node: Node) -> bool:
    is_region = isinstance(node.target, HigherOrderOperator)
    return is_region and has_effect(node.graph.owning_module, node)


def _reshaped_inputs(program: ExportedProgram) -> Iterator[tuple[str, TensorType]]:
    """The types of inputs that the program gives other sizes, as callers give them."""
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    user = [
        node
        for node, spec in zip(inputs, program.graph_signature.input_specs, strict=True)
        if spec.kind is InputKind.USER_INPUT
    ]
    for node, clause in zip(user, program.contract.clauses, strict=True):
        value = node.meta.get("val")
        if isinstance(clause, TensorClause) and isinstance(value, AbstractTensor):
            simplify = value.recorder.facts.simplify
            now = tuple([simplify(size) for size in value.tensor_type.shape])
            if now != tuple([simplify(size) for size in clause.shape]):
                yield node.name, TensorType(clause.shape, clause.dtype, value.tensor_type.device)


def _module_calls(program: ExportedProgram, fields: dict[str, list[str]]) -> Iterator[Json]:
    for entry in program.module_call_graph:
        call = entry.signature
        written = None
        if call is not None:
            is_root = not entry.fqn
            written = {
                "inputs": [] if is_root else [argument_json(each) for each in call.inputs],
                "outputs": [] if is_root else [argument_json(each) for each in call.outputs],
                "in_spec": structure_text(call.in_spec, fields),
                "out_spec": structure_text(call.out_spec, fields),
                "forward_arg_names": call.forward_arg_names or None,
            }
        yield {"fqn": entry.fqn, "signature": written}


__all__ = ["cannot_hold", "conditions", "program_json", "schema_of", "unsaid"]
