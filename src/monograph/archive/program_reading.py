"""Deserialisation of a program: the published schema and tensors become a verified one.

Law: a program saved here has the contract it was saved with; one of torch.export has the conditions
that it states. Every tensor is as the graph says, and the program is verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.archive.budget import Budget
from monograph.archive.errors import Refused, reading
from monograph.archive.schema.graph_reading import GraphDeserializer
from monograph.archive.schema.json_fields import listed, mapping, text
from monograph.archive.schema.signatures import read_argument, read_signature
from monograph.archive.schema.structures import read_structure
from monograph.archive.schema.values import ValueReader, plain_value
from monograph.archive.sidecar import restore_frames, restore_values
from monograph.archive.torch_export_files import (
    contract_of_torch,
    names_of_torch,
    symbols_of_torch,
    written_inputs,
)
from monograph.archive.versions import check_schema
from monograph.diagnostics import MonographError
from monograph.host.trees import has_objects, unflatten
from monograph.integers import Interval, Relation, declared_interval, use
from monograph.program import (
    ConstantArgument,
    ExportedProgram,
    InputKind,
    ModuleCallEntry,
    ModuleCallSignature,
    Report,
    SymBoolArgument,
    SymIntArgument,
    ValueClause,
    ranges_of,
)
from monograph.program.calling.assertions import ASSERT_SCALAR
from monograph.program.calling.checks import solution_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.archive.schema.symbols import SymbolReader
    from monograph.archive.schema.values import Json
    from monograph.archive.sidecar import Sidecar
    from monograph.integers import Facts
    from monograph.program import Contract, ExportGraphSignature, GraphModule


@dataclass(frozen=True, slots=True)
class _Declared:
    """What is known of a program beside its graph, whoever saved it."""

    symbols: SymbolReader
    contract: Contract
    call_names: Any
    report: Report
    training: bool
    dialect: str
    mutated_in_place: dict[str, str] | None


def assembled(
    written: Json,
    side: Sidecar | None,
    state: dict[str, torch.Tensor],
    constants: dict[str, torch.Tensor],
    examples: Any,
    budget: Budget,
) -> ExportedProgram:
    """The program of a schema, of our own record beside it if there is one, and of its tensors.

    Raises: Refused.
    """
    parts = mapping(written["graph_module"])
    signature = read_signature(parts["signature"])
    calls = _module_calls(parts["module_call_graph"])
    symbols = symbols_of_torch(written, budget) if side is None else side.symbols
    root = _root(calls)
    values = ValueReader(symbols.facts, symbols.expressions)
    if examples is not None and has_objects(root.in_spec):
        examples = _structured(examples, root.in_spec)
    names = [each.arg.name for each in signature.input_specs]
    with use(symbols.facts):  # what a file leaves out of a wrapped operator is inferred
        module = GraphDeserializer(parts["graph"], values, {}).module(names)
    _settle_truths(signature, calls, module)
    known = _foreign(written, module, signature, root, symbols) if side is None else _ours(side)
    _check_state(module, signature, state, constants)
    _settle_constants(signature, module, known.contract)
    _fill_root(root, signature)
    signature.mutated_in_place = (
        written_inputs(module, signature)
        if known.mutated_in_place is None
        else known.mutated_in_place
    )
    if side is not None:
        restore_frames(module, side)
        restore_values(module, side)
    program = ExportedProgram(
        graph_module=module,
        graph_signature=signature,
        state_dict=state,
        constants=constants,
        range_constraints=ranges_of(known.contract, symbols.facts),
        in_spec=root.in_spec,
        out_spec=root.out_spec,
        example_inputs=examples,
        contract=known.contract,
        call_names=known.call_names,
        facts=symbols.facts,
        report=known.report,
        training=known.training,
        module_call_graph=calls,
        dialect=known.dialect,
    )
    _validated(program)
    return program


def _structured(examples: Any, in_spec: Any) -> Any:
    """Example inputs that hold objects: in files they are leaves."""
    leaves, _ = examples
    if len(leaves) != in_spec.num_leaves:
        raise Refused("its examples are not as many as its inputs")
    try:
        return unflatten(leaves, in_spec)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:  # of matrices
        raise Refused(f"its examples are no inputs: {error}"[:300]) from None


def program_of_schema(
    written: Json,
    state: dict[str, torch.Tensor],
    constants: dict[str, torch.Tensor],
    examples: Any,
) -> ExportedProgram:
    """The program of a schema that another system made in this process, and of its tensors.

    Raises: archive-invalid, archive-newer, archive-unknown-operator, archive-unknown-type.
    """
    with reading("the program"):
        check_schema(mapping(written["schema_version"]))
        return assembled(written, None, state, constants, examples, Budget())


def _validated(program: ExportedProgram) -> None:
    try:
        program.validate_graph()
        solution_plan(program.contract)
    except MonographError as error:
        raise Refused(error.diagnostic.headline) from None
    spec, names = program.in_spec, program.call_names
    if spec.num_leaves != len(program.contract.clauses):
        raise Refused("its structure has not as many inputs as its contract")
    args, kwargs = spec.children()
    if args.num_children != len(names.positional) or kwargs.num_children != len(names.keywords):
        raise Refused("its arguments have not as many names as its structure")
    n_inputs = sum(s.kind is InputKind.USER_INPUT for s in program.graph_signature.input_specs)
    if n_inputs != len(program.contract.clauses):
        raise Refused("its graph has not as many inputs as its contract")


def _module_calls(entries: Any) -> list[ModuleCallEntry]:
    found: list[ModuleCallEntry] = []
    for each in listed(entries):
        entry = mapping(each)
        call = entry.get("signature")
        found.append(
            ModuleCallEntry(text(entry["fqn"]), None if call is None else _call(mapping(call)))
        )
    return found


def _call(call: Json) -> ModuleCallSignature:
    names = call.get("forward_arg_names")
    return ModuleCallSignature(
        [read_argument(each) for each in listed(call["inputs"])],
        [read_argument(each) for each in listed(call["outputs"])],
        read_structure(call["in_spec"]),
        read_structure(call["out_spec"]),
        None if names is None else [text(each) for each in listed(names)],
    )


def _root(calls: list[ModuleCallEntry]) -> ModuleCallSignature:
    if not calls or calls[0].fqn or calls[0].signature is None:
        raise Refused("it does not say how the program is called")
    return calls[0].signature


def _settle_truths(
    signature: ExportGraphSignature, calls: list[ModuleCallEntry], module: GraphModule
) -> None:
    """Truths among results: signatures of files call them integers, and the graph what they are."""
    kinds = torch.SymBool | bool
    truths = {n.name for n in module.graph.nodes if isinstance(n.meta.get("val"), kinds)}

    def settled(arg: Any) -> Any:
        is_truth = isinstance(arg, SymIntArgument) and arg.name in truths
        return SymBoolArgument(arg.name) if is_truth else arg

    for spec in signature.output_specs if truths else ():
        spec.arg = settled(spec.arg)
    for each in [entry.signature for entry in calls if entry.signature and truths]:
        each.inputs, each.outputs = (
            [settled(arg) for arg in args] for args in (each.inputs, each.outputs)
        )


def _fill_root(root: ModuleCallSignature, signature: ExportGraphSignature) -> None:
    root.inputs = [s.arg for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    root.outputs = [s.arg for s in signature.output_specs if s.kind.name == "USER_OUTPUT"]


def _ours(side: Sidecar) -> _Declared:
    return _Declared(
        symbols=side.symbols,
        contract=side.contract,
        call_names=side.call_names,
        report=side.report,
        training=side.training,
        dialect=side.dialect,
        mutated_in_place=side.mutated_in_place,
    )


def _foreign(
    written: Json,
    module: GraphModule,
    signature: ExportGraphSignature,
    root: ModuleCallSignature,
    symbols: SymbolReader,
) -> _Declared:
    names = names_of_torch(root)
    verifiers = listed(written.get("verifiers", []))
    contract = contract_of_torch(written, module, signature, root.in_spec, names, symbols)
    _assume_truths(module, symbols.facts)
    return _Declared(
        symbols=symbols,
        contract=contract,
        call_names=names,
        report=Report(),
        training=True,
        dialect="TRAINING" if "TRAINING" in verifiers else "ATEN",
        mutated_in_place=None,
    )


def _assume_truths(module: GraphModule, facts: Facts) -> None:
    """Know the truths of the data that the graph asserts: torch's reader solves for these too."""
    for node in module.graph.find_nodes(op="call_function", target=ASSERT_SCALAR):
        asserted: Any = node.args[0]
        relation = plain_value(asserted.meta["val"]) if isinstance(asserted, Node) else None
        if not isinstance(relation, Relation) or relation.kind != "eq":
            continue
        symbols = tuple(relation.symbols)
        is_truth = len(symbols) == 1 and declared_interval(symbols[0]) == Interval(0, 1)
        if is_truth and facts.prove(relation) is None:
            facts.assume(relation)


def _check_state(
    module: GraphModule,
    signature: ExportGraphSignature,
    state: Mapping[str, torch.Tensor],
    constants: Mapping[str, torch.Tensor],
) -> None:
    """Hold that every tensor is as the graph says it is."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(inputs) != len(signature.input_specs):
        raise Refused("its signature has not as many inputs as its graph")
    for node, spec in zip(inputs, signature.input_specs, strict=True):
        if spec.target is None:
            continue
        tensor = state.get(spec.target, constants.get(spec.target))
        if tensor is None:
            raise Refused(f"the tensor {spec.target!r} is not in the file")
        expected: Any = node.meta["val"].tensor_type
        if tuple(tensor.shape) != expected.shape or tensor.dtype != expected.dtype:
            raise Refused(f"the tensor {spec.target!r} is not of the type the graph says")


def _settle_constants(
    signature: ExportGraphSignature, module: GraphModule, contract: Contract
) -> None:
    """Give constant inputs the value of the contract, which can say more than the format can."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    pairs = zip(inputs, signature.input_specs, strict=True)
    user = [(node, spec) for node, spec in pairs if spec.kind is InputKind.USER_INPUT]
    for (node, spec), clause in zip(user, contract.clauses, strict=False):
        if isinstance(spec.arg, ConstantArgument) and isinstance(clause, ValueClause):
            spec.arg.value = node.meta["val"] = clause.value


__all__ = ["assembled", "program_of_schema"]
