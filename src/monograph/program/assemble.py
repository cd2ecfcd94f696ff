"""Assembly of a verified program from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.integers import Expr, is_symbol
from monograph.program.contract import TensorClause
from monograph.program.export_report import Report
from monograph.program.graph_module import GraphModule
from monograph.program.program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    ValueRange,
    int_oo,
)
from monograph.program.signature import ExportGraphSignature, InputKind, OutputKind, call_names
from monograph.program.verifier import verify

if TYPE_CHECKING:
    import inspect
    from collections.abc import Mapping, Sequence

    import torch

    from monograph.integers import Facts
    from monograph.program.contract import Contract
    from monograph.program.program import Arguments
    from monograph.program.signature import InputSpec, OutputSpec


def build(
    *,
    graph: torch.fx.Graph,
    input_specs: Sequence[InputSpec],
    output_specs: Sequence[OutputSpec],
    state_dict: Mapping[str, Any],
    constants: Mapping[str, Any],
    in_spec: Any,
    out_spec: Any,
    contract: Contract,
    signature: inspect.Signature | None = None,
    submodules: Mapping[str, torch.nn.Module] | None = None,
    mutated_in_place: Mapping[str, str] | None = None,
    range_constraints: Mapping[Any, ValueRange] | None = None,
    example_inputs: Arguments | None = None,
    facts: Facts | None = None,
    report: Report | None = None,
    training: bool = True,
    module_calls: Sequence[ModuleCallEntry] = (),
) -> ExportedProgram:
    """Put a program together and verify it.

    `graph` is complete: placeholders in the order of `input_specs`, calls with their values in
    `meta["val"]`, one output. `in_spec` is the structure of `(args, kwargs)`; `signature` is that
    of the original `forward`, bound; `module_calls` are the modules below the root whose calls are
    to be kept. `range_constraints` defaults to the ranges of the contract, and of what
    the program computes from data.

    Raises: invalid-program.
    """
    module = GraphModule(dict(submodules or {}), graph)
    args_spec, kwargs_spec = in_spec.children()
    names = call_names(signature, args_spec.num_children, kwargs_spec.context or ())
    if range_constraints is None:
        range_constraints = ranges_of(contract, facts)
    user_inputs = [each.arg for each in input_specs if each.kind is InputKind.USER_INPUT]
    user_outputs = [each.arg for each in output_specs if each.kind is OutputKind.USER_OUTPUT]
    arg_names = [*names.positional, *names.keywords]
    root = ModuleCallSignature(user_inputs, user_outputs, in_spec, out_spec, arg_names)
    program = ExportedProgram(
        graph_module=module,
        graph_signature=ExportGraphSignature(
            list(input_specs), list(output_specs), dict(mutated_in_place or {})
        ),
        state_dict=dict(state_dict),
        constants=dict(constants),
        range_constraints=range_constraints,
        in_spec=in_spec,
        out_spec=out_spec,
        example_inputs=example_inputs,
        contract=contract,
        call_names=names,
        facts=facts,
        report=report or Report(),
        training=training,
        module_call_graph=[ModuleCallEntry("", root), *module_calls],
    )
    verify(module, program.graph_signature, program.state_dict, program.constants)
    return program


def ranges_of(contract: Contract, facts: Facts | None) -> dict[Expr, ValueRange]:
    """The ranges of sizes, and of each number that depends on data unless it equals another.

    A size of an input that is computed of others, such as `2*n`, has an entry too.
    """
    found = {symbol: _range(lower, upper) for symbol, lower, upper in contract.ranges}
    if facts is None or not facts.symbols:
        return found
    derived = [
        size
        for clause in contract.clauses
        if isinstance(clause, TensorClause)
        for size in clause.shape
        if isinstance(size, Expr) and not is_symbol(size)
    ]
    free = [each for each in facts.symbols if facts.is_unbacked(each)]
    for size in (*derived, *(each for each in free if facts.simplify(each) is each)):
        found.setdefault(size, _range(*facts.interval(size)))
    return found


def _range(lower: object, upper: object) -> ValueRange:
    return ValueRange(
        lower if isinstance(lower, int) else -int_oo, upper if isinstance(upper, int) else int_oo
    )
