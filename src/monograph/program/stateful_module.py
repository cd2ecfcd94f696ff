"""The stateful form of a program: its state read by get_attr, checks first, writes written back.

`make_module` gives it to whoever calls the program; a `Gate` checks calls for what runs elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_arg

from monograph.abstract.aliasing import view_steps
from monograph.capture.recording.graph_writer import identifier
from monograph.diagnostics import problem
from monograph.host.flags import region_operators
from monograph.host.fx_nodes import append_node, close_graph
from monograph.host.overloads import aten
from monograph.passes.graph_walks import subgraph_of
from monograph.passes.reaching_values import subgraph_call
from monograph.program.calling.checks import compile_checks
from monograph.program.calling.input_mutation import InputWriteBack
from monograph.program.calling.program_module import (
    CHECKS,
    FROM_FILE,
    MODES,
    CallCode,
    CheckInputs,
    ProgramModule,
)
from monograph.program.calling.subgraph_calls import runnable_args, runnable_child, runnable_target
from monograph.program.contract import state_asked
from monograph.program.graph_module import adopt
from monograph.program.signature import USED_BY_CODE, InputKind, OutputKind
from monograph.program.structure import compile_flatten, structure_clause
from monograph.program.trust_boundary import is_from_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import Graph

    from monograph.program.program import ExportedProgram
    from monograph.program.signature import InputSpec


STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)
MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def check_call(program: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse inputs that the contract does not admit; no operator runs.

    Raises: contract-broken.
    """
    Gate(program).admit(args, kwargs)


class Gate:
    """What a call passes before it reaches a program that runs elsewhere; made once for many."""

    def __init__(self, program: ExportedProgram) -> None:
        contract, self._names, self._in_spec = program.contract, program.call_names, program.in_spec
        self._gather: Callable[..., Any] | None = None
        if self._names.is_plain:
            parameters, arguments = self._names.parameters(), self._names.arguments()
            self._gather = eval(f"lambda {parameters}: ({arguments})")  # noqa: S307  (names only)
        self._flatten = compile_flatten(self._in_spec, self._names)
        self._write_back = (
            None
            if contract.changes is None
            else InputWriteBack(contract.changes, self._names, program.out_spec)
        )
        state = {**program.constants, **program.state_dict}
        self._asked = [state[name] for name in state_asked(contract)]
        self._check = compile_checks(contract)

    def admit(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position and by name as the example had them, after they were checked.

        Raises: contract-broken.
        """
        if self._gather is not None:
            try:
                args, kwargs = self._gather(*args, **kwargs)
            except TypeError:
                clause = structure_clause(self._in_spec, self._names, args, kwargs)
                raise problem("contract-broken", clauses=[clause]) from None
        leaves = self._flatten(args, kwargs)
        if self._write_back is not None:
            self._write_back.find(args, kwargs, leaves)
        self._check([*leaves, *self._asked])
        return args, kwargs


def make_module(
    program: ExportedProgram, *, check: bool = True, kind: type[ProgramModule] = ProgramModule
) -> ProgramModule:
    """Return a module that is called like the original and shares the program's state."""
    names, in_spec, out_spec = program.call_names, program.in_spec, program.out_spec
    graph = stateful_graph(program, check=check)
    graph.set_codegen(CallCode(names, in_spec, out_spec, program.contract))
    children = runnable_children(program)
    if check:
        children[attribute_names(program)[CHECKS]] = CheckInputs(program.contract)
    module = kind(children, graph)
    read: set[str] = set()
    for spec in program.graph_signature.input_specs:
        if spec.kind in STATE and spec.target is not None:
            adopt(module, spec.target, state_of(program, spec), persistent=spec.persistent)
            read.add(spec.target)
    module.meta.update(program.graph_module.meta)
    for name, value in program.state_dict.items():
        # Tied weights and state the graph does not read belong to the state dict all the same.
        if name not in read:
            adopt(module, name, value)
    set_modes(module, program)
    return module


def attribute_names(program: ExportedProgram) -> dict[str, str]:
    """What the checks and the subgraphs are called beside the state, which keeps its names."""
    taken = {name.partition(".")[0] for name in (*program.state_dict, *program.constants)}
    found: dict[str, str] = {}
    for name in (CHECKS, *(name for name, _ in program.graph_module.named_children())):
        free = name
        while free in taken:
            free += "_"
        taken.add(free)
        found[name] = free
    return found


def runnable_children(program: ExportedProgram) -> dict[str, Any]:
    """The subgraphs of a program as they run, under the names they have beside its state."""
    names = attribute_names(program)
    children = program.graph_module.named_children()
    return {names[name]: runnable_child(child) for name, child in children}


def set_modes(module: ProgramModule, program: ExportedProgram) -> None:
    """Give the module the mode of the capture, and what may be changed of it."""
    module.__dict__[MODES] = program.contract.modes
    module.__dict__[FROM_FILE] = is_from_file(program.facts)
    for each in module.modules():
        each.training = program.training


def state_of(program: ExportedProgram, spec: InputSpec) -> Any:
    """The tensor that a placeholder of state stands for."""
    assert spec.target is not None, "state has a target"
    if spec.target in program.state_dict:
        return program.state_dict[spec.target]
    return program.constants[spec.target]


def stateful_graph(program: ExportedProgram, *, check: bool) -> Graph:
    """Copy the graph, with state read by get_attr, checks first and mutations written back."""
    made = _StatefulGraph(program)
    made.put_inputs(state_asked(program.contract) if check else None)
    made.put_calls()
    close_graph(made.graph)
    return made.graph


class _StatefulGraph:
    """Writes the copy; `copies` are the values of the program's graph in it."""

    def __init__(self, program: ExportedProgram) -> None:
        self.source, self.signature = program.graph, program.graph_signature
        self.graph = torch.fx.Graph()
        self.copies: dict[Node, Node] = {}
        self._names = attribute_names(program)
        self._taken = {node.name for node in program.graph.nodes} | USED_BY_CODE
        inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
        self.inputs = [*zip(self.signature.input_specs, inputs, strict=True)]
        self.values: Any = program.graph.output_node().args[0]
        self.parameters = self._written_parameters()

    def _put(self, op: str, name: str, target: Any, args: Any = (), kwargs: Any = None) -> Node:
        return append_node(self.graph, name, op, target, args, kwargs or {})

    def _call(self, name: str, target: Any, args: Any, kwargs: Any = None) -> Node:
        return self._put("call_function", self._free(name), target, args, kwargs)

    def _free(self, name: str) -> str:
        """A node name that is not taken yet, and is from then on."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found

    def _written_parameters(self) -> dict[Node, Node]:
        """The last values of written parameters, unless the former are read after them."""
        holders = {spec.target: at for spec, at in self.inputs if spec.kind is InputKind.PARAMETER}
        found = {
            value: holders[spec.target]
            for spec, value in zip(self.signature.output_specs, self.values, strict=True)
            if spec.kind is OutputKind.PARAMETER_MUTATION and value.op == "call_function"
        }
        if not found:
            return found
        place = {node: at for at, node in enumerate(self.source.nodes)}
        return {
            value: holder
            for value, holder in found.items()
            if all(place[user] <= place[value] for user in holder.users)
        }

    def put_inputs(self, asked: tuple[str, ...] | None) -> None:
        """Placeholders, the call of the checks, and what reads the state: first what they ask."""
        copies = self.copies
        leaves = [node for spec, node in self.inputs if spec.kind not in STATE]
        for node in leaves:
            copies[node] = self._put("placeholder", node.name, node.name)

        def put_checks(*state: Node) -> None:
            given = (*(copies[node] for node in leaves), *state)
            self._put("call_module", self._free(CHECKS), self._names[CHECKS], given)

        if asked is not None and not asked:
            put_checks()
        for spec, node in self.inputs:
            if node not in copies:
                target = spec.target or node.name
                copies[node] = self._put("get_attr", self._free(identifier(target)), target)
        if asked:
            state = {spec.target: copies[node] for spec, node in self.inputs}
            put_checks(*(state[name] for name in asked))
        for node, copied in copies.items():
            copied.meta = dict(node.meta)

    def put_calls(self) -> None:
        """Everything that the graph computes, parameters written back as soon as they are known."""
        copies = self.copies
        for node in self.source.nodes:
            if node.op == "output":
                self._close(node)
            elif node not in copies:
                args = map_arg(runnable_args(node), copies.__getitem__)
                kwargs = map_arg(node.kwargs, copies.__getitem__)
                target: Any = runnable_target(node)
                if node.op == "get_attr":
                    target = self._names.get(target, target)
                copies[node] = self._put(node.op, node.name, target, args, kwargs)
                copies[node].meta = dict(node.meta)
            if node in self.parameters:
                # What is computed of it from here on has the parameter's gradient, as in eager.
                holder = copies[self.parameters[node]]
                self._put_back(holder, copies[node], beneath=True)
                copies[node] = holder

    def _close(self, output: Node) -> None:
        """Write mutated values back to where they belong and return the rest."""
        specs = self.signature.output_specs
        early = {node.name for node in self.parameters}
        holders = {  # an input may be called as a buffer is
            (spec.kind in STATE, spec.target if spec.kind in STATE else spec.arg.name): node
            for spec, node in self.inputs
        }
        written: dict[Node, Node] = {}
        for spec, value in zip(specs, self.values, strict=True):
            is_parameter = spec.kind is OutputKind.PARAMETER_MUTATION
            if spec.kind not in MUTATIONS or (is_parameter and value.name in early):
                continue
            of_input = spec.kind is OutputKind.USER_INPUT_MUTATION
            holder = self.copies[holders[not of_input, spec.target]]
            is_unseen = of_input and _is_unseen(value, spec.target)
            beneath = is_parameter or is_unseen
            made = self._put_back(holder, self.copies[value], beneath=beneath)
            written[value] = holder if is_unseen else made
        returned = [
            self._seen_where_written(value, written)
            for spec, value in zip(specs, self.values, strict=True)
            if spec.kind not in MUTATIONS and spec.kind is not OutputKind.TOKEN
        ]
        self._put("output", output.name, "output", (map_arg(tuple(returned), lambda node: node),))

    def _put_back(self, holder: Node, value: Node, *, beneath: bool) -> Node:
        """Write a value into the tensor that it is the new value of; or beneath its history."""
        if beneath:
            # A leaf that needs a gradient refuses writes; what lies beneath it does not.
            holder = self._call("detach", aten.detach.default, (holder,))
        return self._call("copy_", aten.copy_.default, (holder, value))

    def _seen_where_written(self, value: Any, written: dict[Node, Node]) -> Any:
        """What the program returns: a view of a value that was written back is one of its new home.

        The original returned the input or buffer itself, or a view of it, which joins `written`:
        what is returned in two places stays one tensor.
        """
        if not isinstance(value, Node):
            return value
        steps = view_steps(value) if written else []
        for place, source in enumerate(steps):
            if source in written:
                seen = written[source]
                for step in reversed(steps[:place]):
                    args = (seen, *map_arg(step.args[1:], self.copies.__getitem__))
                    kwargs = map_arg(step.kwargs, self.copies.__getitem__)
                    seen = written[step] = self._call(step.name, step.target, args, kwargs)
                return seen
        return self.copies[value]


def _is_unseen(value: Node, name: str | None) -> bool:
    """Whether an input has another value, and still the history that it came with."""
    source = _history_of(value)
    return source is not value and getattr(source, "name", None) == name


def _history_of(value: Any) -> Any:
    """What a value has the history of: it may be a copy over that, also one made in a region."""
    while isinstance(value, Node):
        call: Any = subgraph_call(value)
        if value.target is aten.copy.default:
            value = value.args[0]
        elif call is None or call.target not in region_operators():
            break
        else:
            place = next(i for i, each in enumerate(call.args) if isinstance(each, Node))
            graph = subgraph_of(call.args[place]).graph
            returned: Any = graph.output_node().args[0]
            inner = _history_of(returned[value.args[1]])
            if getattr(inner, "op", "") != "placeholder":
                break
            inputs = [each for each in graph.nodes if each.op == "placeholder"]
            value = call.args[place + 1 + inputs.index(inner)]
    return value


__all__ = [
    "STATE",
    "Gate",
    "attribute_names",
    "check_call",
    "make_module",
    "runnable_children",
    "set_modes",
    "state_of",
    "stateful_graph",
]
