"""From a finished capture to a program: regions, signature, state, contract.

Read by: `api.export`. Everything a program is made of is named here once.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.queries.query_kinds import UNCHECKED, Answer
from monograph.capture.recording.mode_regions import build_subgraphs
from monograph.host.fx_nodes import close_graph
from monograph.integers import (
    SIZE_LIMIT,
    Expr,
    Guard,
    Real,
    Relation,
    ge,
    le,
    needed_guards,
)
from monograph.program.assemble import build
from monograph.program.contract import (
    Contract,
    FloatClause,
    FoundLater,
    ModesClause,
    NumberClause,
    TensorClause,
    ValueClause,
    real_strides,
)
from monograph.program.export_report import Report, report_of
from monograph.program.graph_module import GraphModule
from monograph.program.program import ModuleCallEntry, ModuleCallSignature
from monograph.program.signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    call_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.abstract.layout import LayoutQuestion
    from monograph.capture import Capture
    from monograph.capture.inputs.example_inputs import InputLeaf
    from monograph.capture.recording.module_calls import Leaf, RecordedCall
    from monograph.diagnostics import Frame
    from monograph.integers import Interval
    from monograph.program.contract import InputClause, SymbolRange
    from monograph.program.program import ExportedProgram
    from monograph.program.signature import ArgumentSpec


def program_of(captured: Capture) -> ExportedProgram:
    """The verified program of a capture.

    Raises: invalid-program.
    """
    inputs, state, writer = captured.inputs, captured.state, captured.recorder.writer
    children, states = captured.recorder.children, captured.recorder.scopes.states
    submodules = None
    if children or states:
        submodules = build_subgraphs(writer.graph, children, states, GraphModule, writer.new_name)
    close_graph(writer.graph, writer.names)
    persistent = {path: real for path, real, is_persistent in state.all_state if is_persistent}
    rest = {path: real for path, real, is_persistent in state.all_state if not is_persistent}
    return build(
        graph=writer.graph,
        input_specs=_input_specs(captured),
        output_specs=_output_specs(captured),
        state_dict=persistent,
        constants={**rest, **writer.constants},
        in_spec=inputs.spec,
        out_spec=captured.outputs.spec,
        contract=contract_of(captured),
        signature=inspect.signature(state.root.forward),
        submodules=submodules,
        mutated_in_place=_mutations(captured),
        example_inputs=(inputs.args, inputs.kwargs),
        facts=captured.facts,
        report=_report(captured),
        training=state.root.training,
        module_calls=list(_module_calls(captured)),
    )


def _report(captured: Capture) -> Report | None:
    """What the export found out, if it can have found anything."""
    inputs, observed = captured.inputs, captured.observed
    if inputs.declaration is None and not observed.is_anything:
        return None
    return report_of(inputs, captured.facts, captured.exclusions, observed)


def _module_calls(captured: Capture) -> Iterator[ModuleCallEntry]:
    """Every call of a module below the root, with its signature where that was to be kept."""
    for key, count in captured.recorder.scopes.calls.items():
        if not key or key.startswith("unregistered_"):
            continue
        for number in range(count):
            name = f"{key}@{number}" if number else key
            call = captured.calls.found.get(name)
            yield ModuleCallEntry(name, None if call is None else _call_signature(call))


def _call_signature(call: RecordedCall) -> ModuleCallSignature:
    args_spec, kwargs_spec = call.in_spec.children()
    names = call_names(call.signature, args_spec.num_children, kwargs_spec.context or ())
    return ModuleCallSignature(
        [_call_argument(leaf) for leaf in call.inputs],
        [_call_argument(leaf) for leaf in call.outputs],
        call.in_spec,
        call.out_spec,
        [*names.positional, *names.keywords],
    )


def _call_argument(leaf: Leaf) -> ArgumentSpec:
    return _output_argument(leaf.value, leaf.node)


def _input_specs(captured: Capture) -> list[InputSpec]:
    specs: list[InputSpec] = []
    for t in captured.state.tensors:
        kind = InputKind.PARAMETER if t.is_parameter else InputKind.BUFFER
        persistent = None if t.is_parameter else t.persistent
        specs.append(InputSpec(kind, TensorArgument(t.node.name), t.target, persistent))
    writer = captured.recorder.writer
    for node, target in zip(writer.constant_of, writer.constants, strict=True):
        specs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), target))
    for leaf, node in zip(captured.inputs.leaves, captured.input_nodes, strict=True):
        specs.append(InputSpec(InputKind.USER_INPUT, _input_argument(leaf, node.name), None))
    return specs


def _input_argument(leaf: InputLeaf, name: str) -> ArgumentSpec:
    if leaf.tensor_type is not None:
        return TensorArgument(name)
    if leaf.number is None:
        return ConstantArgument(name, leaf.value)
    return (SymFloatArgument if isinstance(leaf.number, Real) else SymIntArgument)(name)


def _output_specs(captured: Capture) -> list[OutputSpec]:
    """What the output node returns, which regions may have renamed since user code returned."""
    returned: Any = captured.recorder.writer.graph.output_node().args[0]
    return [
        OutputSpec(OutputKind.USER_OUTPUT, _output_argument(leaf.value, node), None)
        for leaf, node in zip(captured.outputs.leaves, returned, strict=True)
    ]


def _output_argument(value: Any, node: Any) -> Any:
    if not isinstance(node, Node):
        return ConstantArgument("", to_python(value))
    if isinstance(value, AbstractTensor):
        return TensorArgument(node.name)
    number = to_python(value)
    if isinstance(number, Relation):
        return SymBoolArgument(node.name)
    return (SymFloatArgument if isinstance(number, Real) else SymIntArgument)(node.name)


def _mutations(captured: Capture) -> dict[str, str]:
    """Which placeholders the graph writes to, and what they stand for."""
    if not captured.recorder.mutated:
        return {}
    targets = {t.node.name: t.target for t in captured.state.tensors}
    writer = captured.recorder.writer
    targets |= {n.name: t for n, t in zip(writer.constant_of, writer.constants, strict=True)}
    for leaf, node in zip(captured.inputs.leaves, captured.input_nodes, strict=True):
        targets[node.name] = leaf.path
    return {name: targets[name] for name in captured.recorder.mutated if name in targets}


def contract_of(captured: Capture) -> Contract:
    """What callers must satisfy: the examples' structure and types, ranges, and every guard."""
    facts, modes = captured.facts, captured.recorder.module_modes
    ranges: list[SymbolRange] = [
        (symbol, *_ends(facts.range_of(symbol)))
        for symbol in captured.inputs.names
        if facts.simplify(symbol) is symbol and symbol not in facts.float_inputs
    ]
    return Contract(
        in_spec=captured.inputs.spec,
        clauses=tuple(
            _clause(leaf, _layouts_asked(captured, place))
            for place, leaf in enumerate(captured.inputs.leaves)
        ),
        guards=FoundLater(partial(_guards, captured)),
        ranges=tuple(ranges),
        names=captured.inputs.names,
        apart=_apart(captured),
        apart_from_state=_apart_from_state(captured),
        dtype_asked=captured.recorder.asks_dtype,
        modes=ModesClause(tuple(modes.found.items()), modes.only_sets_flags),
        changes=captured.changes,
        inference_results=captured.inference_results,
        answers=(*captured.recorder.answers_noted.answers.values(), *_unchecked(captured)),
    )


def _unchecked(captured: Capture) -> Iterator[Answer]:
    """What a draft repeats that no call can check."""
    for found in captured.problems:
        if not found.is_checked and found.is_seen_in_results:
            diagnostic = found.error.diagnostic
            yield Answer(UNCHECKED, True, diagnostic.headline, None, diagnostic.at)


def _apart(captured: Capture) -> tuple[tuple[int, int], ...]:
    """Inputs that branches and loops write to, or that are given other sizes, are no other's."""
    tensors = [i for i, leaf in enumerate(captured.inputs.leaves) if leaf.tensor_type is not None]
    noted = captured.recorder.answers_noted
    pairs = {(min(i, j), max(i, j)) for i in noted.apart for j in tensors if i != j}
    for one, other in noted.pairs_apart:
        if isinstance(other, int):
            pairs.add((min(one, other), max(one, other)))
    return tuple(sorted(pairs))


def _apart_from_state(captured: Capture) -> tuple[tuple[int, str], ...]:
    """Inputs keep what they hold where forward replaces a buffer, whose memory a program reuses."""
    replaced = captured.recorder.replaced_buffers
    asked = captured.recorder.answers_noted.pairs_apart
    if not replaced and not asked:
        return ()
    tensors = [i for i, leaf in enumerate(captured.inputs.leaves) if leaf.tensor_type is not None]
    pairs = {(place, name): None for place in tensors for name in replaced}
    pairs |= {(one, other): None for one, other in sorted(asked, key=str) if isinstance(other, str)}
    return tuple(pairs)


def _guards(captured: Capture) -> list[Guard]:
    needed = needed_guards(captured.facts)
    return [*needed, *_size_limits(captured), *_limits_of_sums(captured)]


def _size_limits(captured: Capture) -> list[Guard]:
    """Sizes that some float is exact for only because they are no larger than any tensor's."""
    limits = [le(symbol, SIZE_LIMIT) for symbol in captured.facts.sizes_leaned_on]
    return [Guard(limit, None) for limit in limits if isinstance(limit, Relation)]


def _ends(span: Interval) -> tuple[int | None, int | None]:
    lower, upper = [end if isinstance(end, int) else None for end in span]
    return lower, upper


def _limits_of_sums(captured: Capture) -> list[Guard]:
    """Ranges of what equals an expression of several symbols, which theirs do not ensure."""
    facts, limits = captured.facts, list[Guard]()
    for symbol in captured.inputs.names:
        learnt = facts.simplify(symbol)
        if isinstance(learnt, Expr) and len(learnt.symbols) > 1:
            lower, upper = _ends(facts.range_of(symbol))
            wanted = [] if lower is None else [ge(symbol, lower)]
            wanted += [] if upper is None else [le(symbol, upper)]
            limits += [Guard(each, None) for each in wanted if isinstance(each, Relation)]
    return limits


def _layouts_asked(captured: Capture, place: int) -> dict[LayoutQuestion, tuple[Frame, ...]]:
    asked = captured.recorder.layouts_asked
    return {question: frames for (at, question), frames in asked.items() if at == place}


def _clause(leaf: InputLeaf, asked: dict[LayoutQuestion, tuple[Frame, ...]]) -> InputClause:
    t = leaf.tensor_type
    if isinstance(leaf.number, Real):
        (symbol,) = leaf.number.symbols
        return FloatClause(leaf.path, symbol)
    if leaf.number is not None:
        return NumberClause(leaf.path, leaf.number)
    if t is None:
        return ValueClause(leaf.path, leaf.value)
    strides = real_strides(t.shape) if t.strides is None else t.strides
    return TensorClause(
        *(leaf.path, t.dtype, t.device.type, t.shape),
        strides=strides if asked.keys() & {"form", "strides"} else None,
        offset=t.offset if "offset" in asked else None,
        strides_of_one="strides" in asked,
        layout_origin=next(iter(asked.values()), None),
    )
