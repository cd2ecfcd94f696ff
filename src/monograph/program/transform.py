"""Rewriting a program: a copy of its graph is given to passes, and what comes back is verified.

A pass is a `Rewrite` of `monograph.passes`, or any function over a `torch.fx.GraphModule` that
edits it in place, returns another, or returns an object with one in `graph_module`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.integers import Facts
from monograph.passes.lift import lift
from monograph.passes.material import Held, Material, copied
from monograph.passes.registry import Rewrite
from monograph.passes.value_types import infer_types
from monograph.program.contract import TensorClause
from monograph.program.graph_module import GraphModule
from monograph.program.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputSpec,
    TensorArgument,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program.contract import Contract
    from monograph.program.program import ExportedProgram

_KINDS = {
    "parameter": InputKind.PARAMETER,
    "buffer": InputKind.BUFFER,
    "constant": InputKind.CONSTANT_TENSOR,
}
_NAMES: dict[Any, Any] = {kind: name for name, kind in _KINDS.items()}


def transformed(
    program: ExportedProgram, passes: tuple[Rewrite | Callable[[Any], Any], ...]
) -> ExportedProgram:
    """The program after each pass in turn, verified after each.

    Raises: invalid-program.
    """
    for each in passes:
        program = _after(program, each)
    return program


def _after(program: ExportedProgram, each: Rewrite | Callable[[Any], Any]) -> ExportedProgram:
    material = _material(program)
    if isinstance(each, Rewrite):
        each.apply(material)
    else:
        result = each(material.module)
        found = getattr(result, "graph_module", result)
        if isinstance(found, torch.fx.GraphModule):
            material.module = found
        lift().apply(material)
    for module in list(material.graphs()):
        infer_types(module, material.facts)
    return _program(program, material)


def _material(program: ExportedProgram) -> Material:
    signature = program.graph_signature
    held = {
        spec.arg.name: Held(_NAMES[spec.kind], str(spec.target), spec.persistent)
        for spec in signature.input_specs
        if spec.kind in _NAMES
    }
    written = {*signature.mutated_in_place}
    targets = {spec.target for spec in signature.output_specs if spec.target is not None}
    written |= {name for name, each in held.items() if each.target in targets}
    return Material(
        copied(program.graph_module, GraphModule),
        held,
        {**program.constants, **program.state_dict},
        frozenset(written),
        program.facts or Facts(),
    )


def _program(program: ExportedProgram, material: Material) -> ExportedProgram:
    old = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    given = [node.name for node in material.placeholders() if node.name not in material.held]
    asked = [spec.arg.name for spec in old.values() if spec.kind is InputKind.USER_INPUT]
    if given != asked:
        reason = f"takes {given} from its user, where the contract has {asked}"
        raise problem("invalid-program", at=(), node="graph", reason=reason)
    inputs = [_input_spec(node.name, old, material) for node in material.placeholders()]
    values: Any = material.graph.output_node().args[0]
    outputs = [
        _output_spec(spec, value)
        for spec, value in zip(program.graph_signature.output_specs, values, strict=True)
    ]
    names = {spec.arg.name for spec in inputs}
    mutated = {
        name: target
        for name, target in program.graph_signature.mutated_in_place.items()
        if name in names
    }
    state = {name: t for name, t in material.tensors.items() if _is_state(name, program, material)}
    children = dict(material.module.named_children())
    result = replace(
        program,
        graph_module=GraphModule(children, material.graph),
        graph_signature=ExportGraphSignature(inputs, outputs, mutated),
        state_dict=state,
        constants={name: t for name, t in material.tensors.items() if name not in state},
        contract=_contract(program.contract, material),
        module_call_graph=list(program.module_call_graph),
    )
    result.graph_module.meta.update(program.graph_module.meta)
    result.validate()
    return result


def _is_state(name: str, program: ExportedProgram, material: Material) -> bool:
    if name in program.state_dict:
        return True
    new = (held for held in material.held.values() if held.target == name)
    return name not in program.constants and any(
        held.kind == "parameter" or bool(held.persistent) for held in new
    )


def _input_spec(name: str, old: dict[str, InputSpec], material: Material) -> InputSpec:
    held = material.held.get(name)
    if held is None:
        return replace(old[name])
    return InputSpec(_KINDS[held.kind], TensorArgument(name), held.target, held.persistent)


def _output_spec(spec: OutputSpec, value: Any) -> OutputSpec:
    if not isinstance(value, torch.fx.Node):
        return replace(spec)
    if isinstance(spec.arg, ConstantArgument):
        return replace(spec)
    return replace(spec, arg=replace(spec.arg, name=value.name))


def _contract(contract: Contract, material: Material) -> Contract:
    if not material.devices and not material.dtypes:
        return contract
    anywhere = material.devices.get(None)
    kinds = {old.type: new.type for old, new in material.devices.items() if old is not None}

    def moved(clause: Any) -> Any:
        if not isinstance(clause, TensorClause):
            return clause
        kind = anywhere.type if anywhere else kinds.get(clause.device_type, clause.device_type)
        dtype = material.dtypes.get(clause.dtype, clause.dtype)
        return replace(clause, device_type=kind, dtype=dtype)

    return replace(contract, clauses=tuple(moved(clause) for clause in contract.clauses))


__all__ = ["transformed"]
