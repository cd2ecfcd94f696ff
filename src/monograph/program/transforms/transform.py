"""Rewriting a program: a copy of its graph is given to passes, and the result is verified.

A pass is a `Rewrite` of `monograph.passes`, or any function over a `torch.fx.GraphModule` that
edits it in place, returns another, or returns an object with one in `graph_module`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.amp import is_autocast_available

from monograph.capture.queries.query_kinds import ASK_OF_A_DEVICE, asks_tensor
from monograph.diagnostics import problem
from monograph.integers import Facts
from monograph.passes.alias_analysis import Sharing, writes
from monograph.passes.rewrites.lift import lift
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput, copied
from monograph.passes.rewrites.registry import Rewrite
from monograph.passes.rewrites.type_propagation import retype, snapshot
from monograph.program.contract import FoundLater, TensorClause
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

    from monograph.capture.queries.query_kinds import Answer
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
    edited = _copy_of(program)
    before = snapshot(edited.module)
    if isinstance(each, Rewrite):
        each.apply(edited)
        if edited.devices or edited.dtypes or edited.is_typed:
            before = snapshot(edited.module)  # which says the new types already
    else:
        result = each(edited.module)
        found = getattr(result, "graph_module", result)
        if isinstance(found, torch.fx.GraphModule):
            edited.module = found
        lift().apply(edited)
    retype(edited.module, before, edited.facts)
    _check_writes(program, edited)
    return _program(program, edited)


def _check_writes(program: ExportedProgram, edited: ProgramCopy) -> None:
    """A pass may let the graph write to the inputs and state that it wrote to, and to no other.

    Raises: invalid-program.
    """
    if not writes(edited.module):
        return
    new = _written_inputs(edited.module)
    known = {spec.arg.name for spec in program.graph_signature.input_specs}
    for node in known & new.keys() - _written_inputs(program.graph_module).keys():
        if node not in edited.written:
            reason = "is written to, which the signature does not say"
            raise problem(
                "invalid-program", at=(), graph=edited.graph, node=new[node], reason=reason
            )


def _written_inputs(module: torch.fx.GraphModule) -> dict[str, torch.fx.Node]:
    """The inputs that may be written to, by name."""
    sharing = Sharing(module)
    inputs = (node for node in module.graph.nodes if node.op == "placeholder")
    return {node.name: node for node in inputs if sharing.is_written(node)}


def _copy_of(program: ExportedProgram) -> ProgramCopy:
    signature = program.graph_signature
    state_inputs = {
        spec.arg.name: StateInput(_NAMES[spec.kind], str(spec.target), spec.persistent)
        for spec in signature.input_specs
        if spec.kind in _NAMES
    }
    written = {*signature.mutated_in_place}
    targets = {spec.target for spec in signature.output_specs if spec.target is not None}
    written |= {name for name, each in state_inputs.items() if each.target in targets}
    return ProgramCopy(
        copied(program.graph_module, GraphModule),
        state_inputs,
        {**program.constants, **program.state_dict},
        frozenset(written),
        Facts.copy(program.facts or Facts()),
    )


def _program(program: ExportedProgram, edited: ProgramCopy) -> ExportedProgram:
    old = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    given = [node.name for node in edited.placeholders() if node.name not in edited.state_inputs]
    asked = [spec.arg.name for spec in old.values() if spec.kind is InputKind.USER_INPUT]
    if given != asked:
        reason = f"takes {given} from its user, where the contract has {asked}"
        raise problem("invalid-program", at=(), node="graph", reason=reason)
    inputs = [_input_spec(node.name, old, edited) for node in edited.placeholders()]
    values: Any = edited.graph.output_node().args[0]
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
    state = {name: t for name, t in edited.tensors.items() if _is_state(name, program, edited)}
    children = dict(edited.module.named_children())
    result = replace(
        program,
        graph_module=GraphModule(children, edited.graph),
        graph_signature=ExportGraphSignature(inputs, outputs, mutated),
        state_dict=state,
        constants={name: t for name, t in edited.tensors.items() if name not in state},
        contract=_contract(program, edited),
        facts=edited.facts,
        module_call_graph=list(program.module_call_graph),
    )
    result.graph_module.meta.update(program.graph_module.meta)
    result.validate_graph()
    return result


def _is_state(name: str, program: ExportedProgram, edited: ProgramCopy) -> bool:
    new = [each for each in edited.state_inputs.values() if each.target == name]
    if name in program.state_dict:  # what a pass has frozen is a constant now
        return edited.tensors[name] is program.state_dict[name] or not _are_constants(new)
    return name not in program.constants and any(
        each.kind == "parameter" or bool(each.persistent) for each in new
    )


def _are_constants(inputs: list[StateInput]) -> bool:
    return bool(inputs) and all(each.kind == "constant" for each in inputs)


def _input_spec(name: str, old: dict[str, InputSpec], edited: ProgramCopy) -> InputSpec:
    state_input = edited.state_inputs.get(name)
    if state_input is None:
        return replace(old[name])
    return InputSpec(
        _KINDS[state_input.kind], TensorArgument(name), state_input.target, state_input.persistent
    )


def _output_spec(spec: OutputSpec, value: Any) -> OutputSpec:
    if not isinstance(value, torch.fx.Node):
        return replace(spec)
    if isinstance(spec.arg, ConstantArgument):
        return replace(spec)
    return replace(spec, arg=replace(spec.arg, name=value.name))


def _without_lost_state(contract: Contract, edited: ProgramCopy) -> Contract:
    """What is asked of state asks no longer where a pass has replaced it."""
    kept = edited.tensors.keys()
    asked = (e for e in contract.answers if asks_tensor(e) and e.argument is None)
    lost = [answer for answer in asked if answer.path not in kept]
    apart = tuple(pair for pair in contract.apart_from_state if pair[1] in kept)
    if not lost and apart == contract.apart_from_state:
        return contract
    answers = tuple(answer for answer in contract.answers if answer not in lost)
    return replace(contract, answers=answers, apart_from_state=apart)


def _with_guards(program: ExportedProgram, facts: Facts) -> Contract:
    """The contract, with what operators need that a pass has put in."""
    contract, known = program.contract, len((program.facts or Facts()).guards)
    added = facts.guards[known:]
    if not added:
        return contract
    return replace(contract, guards=FoundLater(lambda: [*contract.guards, *added]))


def _contract(program: ExportedProgram, edited: ProgramCopy) -> Contract:
    contract = _without_lost_state(_with_guards(program, edited.facts), edited)
    if not edited.devices and not edited.dtypes:
        return contract
    anywhere = edited.devices.get(None)
    kinds = {old.type: new.type for old, new in edited.devices.items() if old is not None}

    def kind_of(device_type: str) -> str:
        return anywhere.type if anywhere else kinds.get(device_type, device_type)

    def moved(clause: Any) -> Any:
        if not isinstance(clause, TensorClause):
            return clause
        dtype = edited.dtypes.get(clause.dtype, clause.dtype)
        return replace(clause, device_type=kind_of(clause.device_type), dtype=dtype)

    def asked(answer: Answer) -> Answer:
        """What autocast does is asked of the new device, if that has one."""
        is_moved = answer.question in ASK_OF_A_DEVICE and is_autocast_available(
            kind_of(answer.path)
        )
        return replace(answer, path=kind_of(answer.path)) if is_moved else answer

    clauses = tuple(moved(clause) for clause in contract.clauses)
    return replace(contract, clauses=clauses, answers=tuple(map(asked, contract.answers)))


__all__ = ["transformed"]
