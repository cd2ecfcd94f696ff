"""`run_decompositions`: the same program in other operators, without writes.

What the graph wrote to in place is among its outputs instead, which `program.module()` writes back;
everything else about the program is kept: its contract, its sizes, its state.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.capture.queries.query_kinds import Answer
from monograph.capture.side_effects.garbage_collection import uncollected_alone
from monograph.diagnostics import frame_filter, problem
from monograph.host.dispatch import storage_key
from monograph.host.flags import region_operators
from monograph.host.trees import leaves_of
from monograph.integers import Facts, use
from monograph.passes import core_decompositions, decompose, facts_of_program
from monograph.passes.decomposition.table import DecompositionTable
from monograph.passes.functionalization.read_after_write import read_after_write
from monograph.passes.graph_walks import calls
from monograph.passes.properties import GraphProperties, differences
from monograph.program.calling.memory_overlap import reach_of
from monograph.program.contract import FoundLater, TensorClause, example_sizes, real_strides
from monograph.program.dialect import ATEN, CORE_ATEN, REASONS
from monograph.program.graph_module import GraphModule
from monograph.program.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from monograph.abstract.tensor_type import TensorType
    from monograph.passes import Decomposed
    from monograph.passes.decomposition.decompose import Place
    from monograph.program.contract import Contract
    from monograph.program.program import ExportedProgram

_WRITTEN = {
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
}


@uncollected_alone()
def lowered(
    program: ExportedProgram, table: Mapping[Any, Callable[..., Any]] | None
) -> ExportedProgram:
    """The program without writes, in the operators that the table leaves.

    Raises: write-through-view, not-functional.
    """
    table = core_decompositions() if table is None else table
    shared = _shared_memory(program)
    to_core = isinstance(table, DecompositionTable)
    with _default_dtype_of(program.contract):
        done = decompose(
            program.graph,
            table,
            program.facts or Facts(),
            GraphModule,
            keeps_autocast=not to_core,
            static=table.static if isinstance(table, DecompositionTable) else None,
            without_history=_without_history(program),
            leaves={
                spec.arg.name
                for spec in program.graph_signature.input_specs
                if spec.kind is InputKind.PARAMETER
            },
            shared=shared,
            example=example_sizes(program.contract, leaves_of(program.example_inputs or ())),
        )
    _check_state(program, done, {name for group in shared for name in group})
    facts, contract = _conditions(program, done)
    if to_core:
        contract = replace(contract, answers=(*contract.answers, *_casts_written_out(program)))
    result = replace(
        program,
        graph_module=GraphModule(done.submodules, done.graph),
        graph_signature=_signature(program.graph_signature, done),
        state_dict=dict(program.state_dict),
        constants=dict(program.constants),
        contract=contract,
        facts=facts,
        module_call_graph=list(program.module_call_graph),
        dialect=CORE_ATEN if to_core else ATEN,
    )
    result.graph_module.meta.update(program.graph_module.meta)
    removed = table.removed if isinstance(table, DecompositionTable) else {}
    result.graph_module.meta[REASONS] = {**done.reasons, **removed}
    result.validate_graph()
    _check_properties(program, done, result)
    return result


def _check_properties(program: ExportedProgram, done: Decomposed, result: ExportedProgram) -> None:
    """What is returned, and drawn, is after the lowering what it was before.

    Raises: lowering-loses.
    """
    inputs = program.graph_signature.input_specs
    users = [spec.arg.name for spec in inputs if spec.kind is InputKind.USER_INPUT]
    clauses = zip(users, result.contract.clauses, strict=True)
    free = {name for name, each in clauses if getattr(each, "strides", None) is None}
    fixed = {spec.arg.name for spec in inputs} - free
    written = {node: name for name, node in done.writes.items()}
    owners = {name: next(iter(group)) for group in _in_one_memory(program) for name in group}
    returned: Any = program.graph.output_node().args[0]
    with use(done.facts):
        before, after = (
            GraphProperties(program.graph, fixed, owners=owners),
            GraphProperties(result.graph, fixed, written, owners),
        )
        for at, lost in differences(before.of(returned), after.of(done.outputs)):
            frames = frame_filter().innermost_user(returned[at].meta.get("frames", ()))
            raise problem("lowering-loses", at=frames, what=f"output {at} would lose {lost}")
    if not before.draws_often and len(before.draws) != len(after.draws):
        what = (
            f"{len(after.draws)} operators would draw random numbers where {len(before.draws)} do"
        )
        raise problem("lowering-loses", at=(), what=what)


def _without_history(program: ExportedProgram) -> set[str]:
    """The inputs that are state which requires no gradients, and no parameter."""
    state_input = program.constants | program.state_dict
    return {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind in {InputKind.BUFFER, InputKind.CONSTANT_TENSOR}
        and not getattr(state_input.get(spec.target or ""), "requires_grad", False)
    }


@contextmanager
def _default_dtype_of(contract: Contract) -> Generator[None]:
    """Formulas follow the default dtype; where the program depends on it, it is the program's."""
    before = torch.get_default_dtype()
    asked = (each.value for each in contract.answers if each.question == "default_dtype")
    torch.set_default_dtype(next(asked, before))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _casts_written_out(program: ExportedProgram) -> Iterator[Answer]:
    """Where casts replace a region of autocast, no autocast around the call may cast otherwise."""
    known = {
        each.path
        for each in program.contract.answers
        if each.question == "autocast" and each.value is None
    }
    _, autocast = region_operators()
    for node in calls(program.graph_module):
        kind: Any = node.args[0] if node.target is autocast else None
        if kind is not None and kind not in known:
            known.add(kind)
            yield Answer("autocast", None, kind, None, node.meta.get("frames"))


def _conditions(program: ExportedProgram, done: Decomposed) -> tuple[Any, Contract]:
    """The contract, with what the new graph needs beyond it; and the facts it comes from."""
    before = program.contract
    given = [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT
    ]
    places = {name: i for i, name in enumerate(given)}
    pairs = {(name, name) for name in done.writes} | read_after_write(program.graph_module, places)
    found = {(places[a], places[b]) for a, b in pairs if places.keys() >= {a, b}}
    apart = tuple(sorted({*before.apart} | {(min(pair), max(pair)) for pair in found}))
    state = _state_in_memory(program)
    beside = {(places[a], state[b]) for a, b in pairs if a in places and b in state}
    beside |= {(places[b], state[a]) for a, b in pairs if b in places and a in state}
    beside |= {*before.apart_from_state}
    clauses = tuple(
        _laid_out(clause, done.laid_out.get(name), is_placed=name in done.placed)
        if isinstance(clause, TensorClause)
        else clause
        for name, clause in zip(given, before.clauses, strict=True)
    )
    known = len(program.facts.guards) if program.facts is not None else 0
    added = done.facts.guards[known:]
    guards = FoundLater(lambda: [*before.guards, *added]) if added else before.guards
    flags = tuple(
        Answer(question, value=False, path=name, argument=places[name], origin=lines)
        for (name, question), lines in done.denied.items()
        if name in places
    )
    contract = replace(
        before,
        answers=(*before.answers, *flags),
        clauses=clauses,
        guards=guards,
        apart=apart,
        apart_from_state=tuple(sorted(beside)),
    )
    return facts_of_program(done.facts), contract


def _state_in_memory(program: ExportedProgram) -> dict[str, str]:
    """The names of state by their placeholders, where it lies where inputs may lie too."""
    state_input = program.constants | program.state_dict
    return {
        spec.arg.name: spec.target
        for spec in program.graph_signature.input_specs
        if spec.target is not None
        and isinstance(state_input.get(spec.target), torch.Tensor)
        and state_input[spec.target].layout is torch.strided
    }


def _laid_out(clause: TensorClause, t: TensorType | None, *, is_placed: bool) -> TensorClause:
    """The layout of the example, where the new graph relies on it."""
    if t is None:
        return clause
    if clause.strides is None:
        strides = real_strides(clause.shape) if t.strides is None else t.strides
        clause = replace(clause, strides=strides)
    clause = replace(clause, strides_of_one=True)
    return replace(clause, offset=t.offset) if is_placed else clause


def _shared_memory(program: ExportedProgram) -> list[dict[str, Place]]:
    """State without gradients that lies in the memory of one that is all of it, which is first."""
    found: list[dict[str, Place]] = []
    for group in _in_one_memory(program):
        owner = max(group, key=lambda name: group[name].numel())
        if len(group) > 1 and all(_lies_in(group[owner], each) for each in group.values()):
            names = sorted(group, key=lambda name: name != owner)
            begin = int(group[owner].storage_offset())
            found.append({name: _place(group[name], begin) for name in names})
    return found


def _in_one_memory(program: ExportedProgram) -> Iterator[dict[str, torch.Tensor]]:
    """The state of each memory, by the names of its inputs."""
    state_input = program.constants | program.state_dict
    groups: dict[int, dict[str, torch.Tensor]] = {}
    for spec in program.graph_signature.input_specs:
        tensor = state_input.get(spec.target or "")
        if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and tensor.numel():
            address = storage_key(tensor)
            groups.setdefault(address, {})[spec.arg.name] = tensor
    yield from groups.values()


def _lies_in(owner: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether a tensor is a view of another that has its memory in a row."""
    begin = tensor.storage_offset() - owner.storage_offset()
    return (
        owner.is_contiguous()
        and owner.dtype is tensor.dtype
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
        and begin >= 0
        and begin + reach_of(tensor) <= owner.numel()
    )


def _place(tensor: torch.Tensor, begin: int) -> Place:
    return list(tensor.shape), list(tensor.stride()), int(tensor.storage_offset()) - begin


def _check_state(program: ExportedProgram, done: Decomposed, known: set[str]) -> None:
    """State that is written to shares its memory with no other state, unless that is `known`.

    A parameter is written to once: what is computed of it between two writes has its gradient too,
    and in a graph of values only what is computed after the last one can have it.
    """
    state_input = program.state_dict | program.constants
    targets = {
        spec.arg.name: spec.target
        for spec in program.graph_signature.input_specs
        if spec.target is not None
    }
    memory: dict[int, list[str]] = {}
    for target in targets.values():
        if isinstance(state_input.get(target), torch.Tensor):
            memory.setdefault(storage_key(state_input[target]), []).append(target)
    for name in done.rewritten:
        tensor = state_input.get(targets.get(name) or "")
        if isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad:
            reason = f"it is the second write to the parameter `{targets[name]}`, as gradients go"
            raise problem("not-functional", at=(), op="a write", reason=reason)
    for name in done.writes:
        target = targets.get(name)
        if target is None or name in known or not state_input[target].numel():
            continue
        shared = memory[storage_key(state_input[target])]
        if len(shared) > 1:
            others = [other for other in shared if other != target]
            raise problem("state-shares-memory", at=(), names=[target, *others])


def _signature(before: ExportGraphSignature, done: Decomposed) -> ExportGraphSignature:
    """Writes first, as additional outputs, then what the program returned."""
    inputs = {spec.arg.name: spec for spec in before.input_specs}
    outputs = [_write_spec(inputs[name], value) for name, value in done.writes.items()]
    for spec, value in zip(before.output_specs, done.outputs, strict=True):
        arg = replace(spec.arg)
        if not isinstance(arg, ConstantArgument):
            arg = ConstantArgument("", value)  # what a formula asked may have fixed it
            if isinstance(value, Node):
                arg = replace(spec.arg, name=value.name)
        outputs.append(OutputSpec(spec.kind, arg, spec.target))
    copies = [InputSpec(s.kind, s.arg, s.target, s.persistent) for s in before.input_specs]
    return ExportGraphSignature(copies, outputs)


def _write_spec(spec: InputSpec, value: Node) -> OutputSpec:
    target = spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target
    return OutputSpec(_WRITTEN[spec.kind], TensorArgument(value.name), target)
