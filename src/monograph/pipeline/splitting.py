"""Splitting a program into stages: programs over parts of its graph, and the edges between them."""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_arg

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.queries.query_kinds import asks_tensor
from monograph.diagnostics import problem
from monograph.host.fx_nodes import append_node, close_graph
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten
from monograph.host.trees import flatten, unflatten
from monograph.integers import Expr, Facts, is_symbol, solution_order, symbols
from monograph.pipeline.cuts import cuts_of
from monograph.program import (
    ConstantArgument,
    Contract,
    InputKind,
    InputSpec,
    NumberClause,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorClause,
    ValueClause,
    build,
    type_text,
)
from monograph.program.stateful_module import Gate, state_of
from monograph.program.structure import compile_flatten
from monograph.program.verifier import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.program import ExportedProgram, InputClause
    from monograph.program.signature import ArgumentSpec


@dataclass(frozen=True, slots=True)
class Edge:
    """A value that one stage makes and another takes, by its name, with its type as text."""

    name: str
    source: int
    target: int
    type: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A program as stages. It is called as the program's module is, and runs them in sequence.

    A stage takes and gives values by name: its `graph_signature.user_inputs` are names of inputs
    of the whole program or of edges, its `user_outputs` names of edges or results.
    """

    program: ExportedProgram
    stages: tuple[ExportedProgram, ...]
    edges: tuple[Edge, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Check the call as the program does, and run the stages one after the other.

        Raises: contract-broken.
        """
        values = self.inputs(*args, **kwargs)
        for stage in self.stages:
            names = stage.graph_signature.user_inputs
            made = stage.module()(*[values[name] for name in names])
            values.update(zip(stage.graph_signature.user_outputs, made, strict=True))
        return self.result(values)

    def inputs(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """The inputs of a call by their names, checked.

        Raises: contract-broken.
        """
        program = self.program
        args, kwargs = Gate(program).admit(args, kwargs)
        leaves = compile_flatten(program.in_spec, program.call_names)(args, kwargs)
        names = [spec.arg.name for spec in _given(program)]
        return dict(zip(names, leaves, strict=True))

    def result(self, values: Mapping[Any, Any]) -> Any:
        """The result of the program, of the values that the stages made."""
        outputs = self.program.graph_signature.output_specs
        specs = [each.arg for each in outputs if each.kind is OutputKind.USER_OUTPUT]
        known = {**state_by_node(self.program), **values}
        leaves = [
            each.value if isinstance(each, ConstantArgument) else known[each.name] for each in specs
        ]
        return unflatten(leaves, self.program.out_spec)

    def __repr__(self) -> str:
        sizes = [sum(p.numel() for p in stage.parameters()) for stage in self.stages]
        shown = ", ".join([f"{size:,}" for size in sizes])
        return (
            f"<Pipeline of {len(sizes)} stages, with {shown} parameters, {len(self.edges)} edges>"
        )


def split(
    program: ExportedProgram, parts: int, by: str = "modules", balance: str = "parameters"
) -> Pipeline:
    """Return a program as `parts` stages, cut between modules and balanced by `balance`.

    `by` is "modules". `balance` is "parameters", "flops" (at the example's sizes) or "time"
    (measured on the example inputs, which the program must have). Weights are shared, not copied;
    one that several stages read is in each. A buffer or input that is written to is in one alone.

    Raises: not-split.
    """
    if by != "modules" or balance not in {"parameters", "flops", "time"} or parts < 1:
        raise ValueError(
            'by is "modules", balance is "parameters", "flops" or "time", parts at least 1;'
            f" not {by}, {balance}, {parts}"
        )
    if balance == "time" and program.example_inputs is None:
        raise problem("not-split", reason="it has no example inputs to measure time with")
    if program.contract.changes is not None:
        raise problem("not-split", reason="it changes objects of its caller's, beside tensors")
    pieces = cuts_of(program, parts, balance)
    if not pieces:
        raise problem(
            "not-split", reason=f"there are not {parts - 1} places between its modules to cut it"
        )
    made = {node: number for number, nodes in enumerate(pieces) for node in nodes}
    needed = [_needed(nodes) for nodes in pieces]
    sizes = [_recomputed(program, each) for each in needed]
    for number, names in enumerate(needed):
        names.update(_missing_symbols(program, names, made, number))
    stages = [
        _stage(
            program,
            sizes[number],
            nodes,
            needed[number],
            _results(program, nodes, number, needed, made),
        )
        for number, nodes in enumerate(pieces)
    ]
    edges = [
        Edge(node.name, made[node], number, type_text(node.meta["val"]))
        for number, names in enumerate(needed)
        for node in names
        if node in made
    ]
    return Pipeline(program, tuple(stages), tuple(edges))


def state_by_node(program: ExportedProgram) -> dict[str, Any]:
    """The state of a program by the names of its placeholders: it may return some of it."""
    specs = program.graph_signature.input_specs
    return {spec.arg.name: state_of(program, spec) for spec in specs if spec.target is not None}


def _given(program: ExportedProgram) -> list[InputSpec]:
    specs = program.graph_signature.input_specs
    return [spec for spec in specs if spec.kind is InputKind.USER_INPUT]


def _needed(nodes: Sequence[Node]) -> dict[Node, None]:
    """What a stage takes, state included, in the order it is first used."""
    inside = set(nodes)
    found = [each for node in nodes for each in node.all_input_nodes if each not in inside]
    return {each: None for each in found if each.op != "get_attr"}


def _recomputed(program: ExportedProgram, needed: dict[Node, None]) -> dict[Node, Any]:
    """Take the sizes that a stage can compute from what it takes out of what it takes.

    Each with how: a number, or a tensor and one of its dimensions; None copies the arithmetic.
    """
    facts, state = program.facts or Facts(), _state_names(program)
    shown: dict[Any, tuple[Node, int]] = {}
    for node in needed:
        value = node.meta["val"]
        if isinstance(value, AbstractTensor) and node.name not in state:
            for dim, size in enumerate(value.tensor_type.shape):
                shown.setdefault(facts.simplify(size), (node, dim))
    ways: dict[Node, Any] = {}

    def follow(node: Node) -> bool:
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.SymInt | int):
            return False
        number = facts.simplify(to_python(value))
        ways[node] = number if isinstance(number, int) else shown.get(number)
        is_arithmetic = not isinstance(node.target, OpOverload) and node.target != operator.getitem
        return ways[node] is not None or (is_arithmetic and all(map(follow, node.all_input_nodes)))

    found: dict[Node, Any] = {}
    for node in [*needed]:
        ways = {}
        if follow(node):
            found.update(reversed(ways.items()))
            del needed[node]
    return found


def _state_names(program: ExportedProgram) -> set[str]:
    specs = program.graph_signature.input_specs
    return {spec.arg.name for spec in specs if spec.kind is not InputKind.USER_INPUT}


def _results(
    program: ExportedProgram,
    nodes: Sequence[Node],
    number: int,
    needed: Sequence[Mapping[Node, None]],
    made: Mapping[Node, int],
) -> list[tuple[OutputSpec, Node]]:
    """What a stage gives: new values of state and inputs, results, and what later stages take."""
    specs = program.graph_signature.output_specs
    values: Any = program.graph.output_node().args[0]
    found: list[tuple[OutputSpec, Node]] = []
    given: dict[Node, None] = {}
    for spec, value in zip(specs, values, strict=True):
        if (
            isinstance(value, Node)
            and made.get(value, 0 if value.op == "placeholder" else -1) == number
        ):
            if spec.kind is not OutputKind.USER_OUTPUT:
                found.append((replace(spec), value))
            elif value.op != "placeholder":
                given[value] = None
    for node in nodes:
        if any(node in each for each in needed[number + 1 :]):
            given[node] = None
    kind = OutputKind.USER_OUTPUT
    return [*found, *[(OutputSpec(kind, _argument(node), None), node) for node in given]]


def _stage(
    program: ExportedProgram,
    sizes: Mapping[Node, Any],
    nodes: Sequence[Node],
    needed: Mapping[Node, None],
    results: Sequence[tuple[OutputSpec, Node]],
) -> ExportedProgram:
    signature = program.graph_signature
    specs = {spec.arg.name: spec for spec in signature.input_specs}
    wanted = {*needed, *[node for _, node in results if node.op == "placeholder"]}
    wanted |= _holders(program, results)
    held = {name for name, spec in specs.items() if spec.kind is not InputKind.USER_INPUT}
    inputs = [n for n in program.graph.nodes if n in wanted and n.name in held]
    state = len(inputs)
    inputs += [n for n in program.graph.nodes if n in wanted and n not in inputs]
    graph = torch.fx.Graph()
    copies: dict[Node, Any] = {}
    for node in inputs:
        copies[node] = append_node(graph, node.name, "placeholder", node.name, (), {})
    children: dict[str, Any] = {}
    for node, way in sizes.items():
        if isinstance(way, int):
            copies[node] = way
        elif way is not None:
            size = aten.sym_size.int, (copies[way[0]], way[1])
            copies[node] = append_node(graph, node.name, "call_function", *size, {})
    for node in [*[each for each in sizes if each not in copies], *nodes]:
        for each in node.all_input_nodes:
            if each.op == "get_attr" and each not in copies:
                copies[each] = append_node(graph, each.name, "get_attr", each.target, (), {})
                children[str(each.target)] = program.graph_module.get_submodule(str(each.target))
        args, kwargs = (map_arg(part, copies.__getitem__) for part in (node.args, node.kwargs))
        copies[node] = append_node(graph, node.name, node.op, node.target, args, kwargs)
    for node, copy in copies.items():
        if isinstance(copy, Node):
            copy.meta = dict(node.meta)
    outputs = tuple(copies[node] for _, node in results)
    append_node(graph, "output", "output", "output", (outputs,), {})
    graph.output_node().meta["val"] = tuple(node.meta["val"] for _, node in results)
    close_graph(graph)
    input_specs = [replace(specs[node.name]) for node in inputs[:state]]
    input_specs += [_spec(node, specs) for node in inputs[state:]]
    targets = {str(spec.target) for spec in input_specs}
    names = {node.name for node in inputs}
    user = [node.name for node in inputs[state:]]
    n_results = sum(spec.kind is OutputKind.USER_OUTPUT for spec, _ in results)
    in_spec = flatten((tuple(range(len(user))), {}))[1]
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return build(
        graph=graph,
        input_specs=input_specs,
        output_specs=[spec for spec, _ in results],
        state_dict={k: v for k, v in program.state_dict.items() if k in targets},
        constants={k: v for k, v in program.constants.items() if k in targets},
        in_spec=in_spec,
        out_spec=flatten(tuple(range(n_results)))[1],
        contract=_contract(program, inputs[state:], in_spec, targets),
        signature=inspect.Signature([inspect.Parameter(name, kinds) for name in user]),
        submodules=children,
        mutated_in_place={k: v for k, v in signature.mutated_in_place.items() if k in names},
        facts=program.facts,
        training=program.training,
    )


def _holders(program: ExportedProgram, results: Sequence[tuple[OutputSpec, Node]]) -> set[Node]:
    """The inputs that a stage gives new values to."""
    written = {spec.target for spec, _ in results if spec.kind is not OutputKind.USER_OUTPUT}
    specs = program.graph_signature.input_specs
    names = {spec.arg.name for spec in specs if (spec.target or spec.arg.name) in written}
    return {n for n in program.graph.nodes if n.op == "placeholder" and n.name in names}


def _spec(node: Node, specs: Mapping[str, InputSpec]) -> InputSpec:
    if node.name in specs:
        return replace(specs[node.name])
    return InputSpec(InputKind.USER_INPUT, _argument(node), None)


def _argument(node: Node) -> ArgumentSpec:
    """What a value is in signatures."""
    value = node.meta["val"]
    kind = next((kind for kind, held in KINDS.items() if isinstance(value, held)), SymIntArgument)
    return kind(node.name)


# --- the contract of a stage ---------------------------------------------------------------------


def _contract(
    program: ExportedProgram, inputs: Sequence[Node], in_spec: Any, state: set[str]
) -> Contract:
    """What of the whole program's contract a stage can check, and the types of the edges."""
    whole, facts = program.contract, program.facts or Facts()
    given = [spec.arg.name for spec in _given(program)]
    places = {given.index(n.name): at for at, n in enumerate(inputs) if n.name in given}
    clauses = tuple(
        [
            whole.clauses[given.index(node.name)] if node.name in given else _clause(node, facts)
            for node in inputs
        ]
    )
    solved = {symbol for symbol, *_ in solution_order([*_sizes(clauses)])}
    answers = tuple(
        [
            replace(each, argument=places[each.argument]) if each.argument is not None else each
            for each in whole.answers
            if (
                each.argument in places
                if each.argument is not None
                else not asks_tensor(each) or each.path in state
            )
        ]
    )
    ranges = [
        (s, *_ends(facts, s)) for s in facts.symbols if s in solved and s not in facts.float_inputs
    ]
    return Contract(
        in_spec=in_spec,
        clauses=clauses,
        guards=[each for each in whole.guards if each.relation.symbols <= solved],
        ranges=tuple([each for each in ranges if facts.simplify(each[0]) is each[0]]),
        names={
            symbol: whole.names.get(symbol, symbol.name)
            for symbol in facts.symbols
            if symbol in solved
        },
        apart=tuple(
            [(places[a], places[b]) for a, b in whole.apart if a in places and b in places]
        ),
        apart_from_state=tuple(
            [
                (places[a], name)
                for a, name in whole.apart_from_state
                if a in places and name in state
            ]
        ),
        dtype_asked=whole.dtype_asked,
        modes=whole.modes,
        answers=answers,
    )


def _ends(facts: Facts, symbol: Expr) -> tuple[int | None, int | None]:
    lower, upper = [end if isinstance(end, int) else None for end in facts.range_of(symbol)]
    return lower, upper


def _clause(node: Node, facts: Facts) -> InputClause:
    """The type of an edge. Operators were recorded for this layout."""
    value = node.meta["val"]
    if not isinstance(value, AbstractTensor):
        number = to_python(value)
        if isinstance(number, int):
            return ValueClause(node.name, number)
        return NumberClause(node.name, facts.simplify(number))
    kind = value.tensor_type
    shape = tuple([facts.simplify(size) for size in kind.shape])
    strides = tuple([facts.simplify(step) for step in kind.stride()])
    place = node.name, kind.dtype, kind.device.type, shape
    return TensorClause(*place, strides=strides, strides_of_one=False)


def _sizes(clauses: Sequence[InputClause]) -> list[Any]:
    """What the inputs show of symbols."""
    found: list[Any] = []
    for clause in clauses:
        if isinstance(clause, TensorClause):
            found += clause.shape
        elif isinstance(clause, NumberClause):
            found.append(clause.value)
    return found


def _missing_symbols(
    program: ExportedProgram, needed: Mapping[Node, None], made: Mapping[Node, int], number: int
) -> dict[Node, None]:
    """What a stage takes only to know sizes: numbers from stages before, or inputs that show them.

    Raises: not-split.
    """
    facts = program.facts or Facts()
    given = [spec.arg.name for spec in _given(program)]

    def clause(node: Node) -> InputClause:
        if node.name in given:
            return program.contract.clauses[given.index(node.name)]
        return _clause(node, facts)

    state = _state_names(program)
    clauses = [clause(each) for each in needed if each.name not in state]
    shown = _sizes(clauses)
    wanted = {s for each in shown for s in symbols(each)}
    strides = [c.strides or () for c in clauses if isinstance(c, TensorClause)]
    wanted |= {s for each in strides for step in each for s in symbols(step)}
    wanted -= {symbol for symbol, *_ in solution_order(shown)}
    found: dict[Node, None] = {}
    for symbol in sorted(wanted, key=str):
        source = next(
            (
                n
                for n in program.graph.nodes
                if _shows(n, symbol, facts, state) and made.get(n, -1) < number
            ),
            None,
        )
        if source is None:
            raise problem("not-split", reason=f"no stage can tell the next what {symbol} is")
        found[source] = None
    return found


def _shows(node: Node, symbol: Expr, facts: Facts, state: set[str]) -> bool:
    """Whether a value tells a size: it is the number, or an input of the program with that size."""
    value = node.meta.get("val")
    if isinstance(value, torch.SymInt):
        return facts.simplify(to_python(value)) is symbol
    if node.op != "placeholder" or node.name in state or not isinstance(value, AbstractTensor):
        return False
    return any(
        is_symbol(size) and size is symbol for size in map(facts.simplify, value.tensor_type.shape)
    )


__all__ = ["Edge", "Pipeline", "split"]
