"""A program as a module: called like the original, holding its state under the original names.

The graph of `program.module()` reads its state through get_attr nodes instead of taking it as
inputs, writes mutated state back with copy_, and begins with the contract's checks: no operator
runs on inputs the program cannot vouch for. Argument structure is checked by the signature and the
first line of the generated `forward`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

from monograph.diagnostics import problem
from monograph.host.calling import PyTreeCodeGen, PyTreeInfo, kept_out_of_dynamo
from monograph.host.fx_modules import codegen
from monograph.host.fx_nodes import append_node, close_graph
from monograph.passes import seen_through
from monograph.program.calling.checks import compile_checks
from monograph.program.calling.input_mutation import InputObjects, InputWriteBack
from monograph.program.calling.subgraph_calls import runnable_args, runnable_child, runnable_target
from monograph.program.contract import state_asked
from monograph.program.graph_module import GraphModule, adopt
from monograph.program.signature import InputKind, OutputKind
from monograph.program.structure import CallNames, compile_flatten, structure_clause

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx import Graph, Node

    from monograph.capture.inputs.mutation_spec import Changes
    from monograph.program.contract import Contract, ModesClause
    from monograph.program.program import ExportedProgram
    from monograph.program.signature import InputSpec

CHECKS = "_guards_fn"
MODES = "_modes"

STATE = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)
MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


class CheckInputs(torch.nn.Module):
    """Checks the flat inputs, and the state that user code asked, against the contract.

    Its code is generated at the first call.
    """

    # torch.fx: not to be removed although nothing uses its result.
    _is_impure = True

    def __init__(self, contract: Contract) -> None:
        super().__init__()
        self.contract = contract
        self.check: Callable[[tuple[Any, ...]], None] | None = None

    @kept_out_of_dynamo
    def forward(self, *leaves: Any) -> None:
        """Return None, or refuse.

        Raises: contract-broken.
        """
        if self.check is None:
            self.check = compile_checks(self.contract)
        self.check(leaves)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "check": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> CheckInputs:
        # A contract never changes, so copies share it.
        return CheckInputs(self.contract)


class CallCode(PyTreeCodeGen):
    """Generates `forward` with the original's parameters and structured inputs and outputs."""

    def __init__(
        self, names: CallNames, in_spec: Any, out_spec: Any, changes: Changes | None = None
    ) -> None:
        """`changes` are made to the objects that callers pass in."""
        orig_args = [*names.positional, *names.keywords]
        super().__init__(PyTreeInfo(orig_args, in_spec, out_spec))
        self.names = names
        self.flat_inputs = compile_flatten(in_spec, names)
        self.keeper = None if changes is None else InputWriteBack(changes, names, out_spec)

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,  # noqa: ARG002  (torch's signature)
    ) -> str:
        """Write the signature and the line that takes the arguments apart."""
        names = self.names
        parameters, arguments = (
            (names.parameters(), names.arguments())
            if names.is_plain
            else ("*args, **kwargs", "args, kwargs")
        )
        head = f"def forward({', '.join(filter(None, ['self', parameters]))})"
        leaves = "".join(f"{each.split(':')[0].strip()}, " for each in free_vars)
        targets = f"{leaves}= " if leaves else ""
        head = f"{head}{maybe_return_annotation}:\n    "
        if self.keeper is None:
            return f"{head}{targets}flat_inputs({arguments})"
        return f"{head}found_objects = found_inputs({arguments})\n    {targets}found_objects.leaves"

    def generate_output(self, *args: Any, **kwargs: Any) -> str:
        """Write the line that builds the result, and gives callers' objects what they hold now."""
        text = super().generate_output(*args, **kwargs)
        if self.keeper is None:
            return text
        text = text.replace("return pytree.tree_unflatten(", "return kept_result(found_objects, ")
        return text.replace(", self._out_spec)", ")")

    def process_outputs(self, out: Any) -> Any:
        """What an interpreter of the graph returns.

        Raises: NotImplementedError, where callers' objects are to be changed: it has none.
        """
        if self.keeper is not None:
            raise NotImplementedError("this program changes its arguments: call it as a module")
        return super().process_outputs(out)

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Bind in the generated code what it calls."""
        bound: list[tuple[str, Any]] = [("flat_inputs", self.flat_inputs)]
        keeper = self.keeper
        if keeper is not None:

            def found_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> InputObjects:
                return keeper.find(args, kwargs, self.flat_inputs(args, kwargs))

            bound += [("found_inputs", found_inputs), ("kept_result", keeper.finish)]
        return [*super().additional_globals(), *bound]

    def __deepcopy__(self, memo: dict[int, Any]) -> CallCode:
        # Nothing in it changes, and the structures may hold types that cannot be copied.
        return self


class ProgramModule(GraphModule):
    """What `program.module()` returns. Its mode is that of the capture.

    Its parameters may be trained, frozen, and loaded; their types are part of the graph.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises: contract-broken.
        """
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            # Arguments that do not fit the signature fail in the call itself; anything else that
            # raises TypeError does so in an operator, after they were bound.
            code = codegen(self.graph)
            if isinstance(code, CallCode) and not _fits(self.forward, args, kwargs):
                spec = code.pytree_info.in_spec
                clause = structure_clause(spec, code.names, args, kwargs)
                raise problem("contract-broken", clauses=[clause]) from None
            raise

    def train(self, mode: bool = True) -> ProgramModule:  # noqa: FBT001, FBT002  (torch's signature)
        """Set the flags, where the original would compute the same after it.

        Raises: mode-is-fixed.
        """
        modes: ModesClause | None = self.__dict__.get(MODES)
        if mode != self.training if modes is None else not modes.allows(mode):
            raise problem("mode-is-fixed", call="train()" if mode else "eval()")
        for each in self.modules():
            each.training = mode
        return self

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> ProgramModule:  # noqa: FBT001, FBT002
        """Refuse what `to`, `half`, `cuda` and relatives do, unless nothing would change.

        Raises: state-converted.
        """
        for name, tensor in (*self.named_parameters(), *self.named_buffers()):
            with torch.no_grad():
                _check_kept(name, tensor, fn(tensor))
        return super()._apply(fn, recurse)  # pyright: ignore[reportReturnType]  (torch says Module)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any, **options: Any
    ) -> None:
        """Refuse to take over tensors of other types, as `load_state_dict(assign=True)` may.

        Raises: state-converted.
        """
        if local_metadata.get("assign_to_params_buffers", False):
            for name, tensor in (*self.named_parameters(), *self.named_buffers()):
                given = state_dict.get(prefix + name)
                if isinstance(given, torch.Tensor):
                    _check_kept(name, tensor, given)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest, **options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled.

        Raises: program-pickled.
        """
        raise problem("program-pickled", what="the module of an ExportedProgram")


def _check_kept(name: str, before: torch.Tensor, after: torch.Tensor) -> None:
    """Hold that state stays of the type that the graph was made for.

    Raises: state-converted.
    """
    for what in ("dtype", "device", "layout", "shape"):
        if getattr(before, what) != getattr(after, what):
            words = f"`{name}` would change its {what} to {getattr(after, what)}"
            raise problem("state-converted", what=words)
    if before.layout is torch.strided and before.stride() != after.stride():
        raise problem("state-converted", what=f"`{name}` would lie otherwise in memory")


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
        self._keeper = (
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
        if self._keeper is not None:
            self._keeper.find(args, kwargs, leaves)
        self._check([*leaves, *self._asked])
        return args, kwargs


def _fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def make_module(program: ExportedProgram, *, check: bool = True) -> ProgramModule:
    """Return a module that is called like the original and shares the program's state."""
    names, in_spec, out_spec = program.call_names, program.in_spec, program.out_spec
    graph = stateful_graph(program, check=check)
    graph.set_codegen(CallCode(names, in_spec, out_spec, program.contract.changes))
    children: dict[str, Any] = {
        name: runnable_child(child) for name, child in program.graph_module.named_children()
    }
    if check:
        children[CHECKS] = CheckInputs(program.contract)
    module = ProgramModule(children, graph)
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


def set_modes(module: ProgramModule, program: ExportedProgram) -> None:
    """Give the module the mode of the capture, and what may be changed of it."""
    module.__dict__[MODES] = program.contract.modes
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
    graph = torch.fx.Graph()
    taken = {node.name for node in program.graph.nodes}
    copies: dict[Node, Node] = {}

    def put(op: str, name: str, target: Any, args: Any = (), kwargs: Any = None) -> Node:
        return append_node(graph, name, op, target, args, kwargs or {})

    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    _put_inputs(put, inputs, copies, program, taken, check=check)
    for node, copied in copies.items():
        copied.meta = dict(node.meta)
    _put_calls(put, inputs, copies, program, taken)
    close_graph(graph)
    return graph


def _put_calls(
    put: Callable[..., Node],
    inputs: list[Node],
    copies: dict[Node, Node],
    program: ExportedProgram,
    taken: set[str],
) -> None:
    """Everything that the graph computes, parameters written back as soon as they are known."""
    parameters = _written_parameters(program, inputs)
    for node in program.graph.nodes:
        if node.op == "output":
            _close(put, node, inputs, copies, program, taken)
        elif node not in copies:
            args = map_arg(runnable_args(node), copies.__getitem__)
            kwargs = map_arg(node.kwargs, copies.__getitem__)
            copies[node] = put(node.op, node.name, runnable_target(node), args, kwargs)
            copies[node].meta = dict(node.meta)
        if node in parameters:
            # What is computed of it from here on has the parameter's gradient, as in eager.
            holder = copies[parameters[node]]
            _put_back(put, holder, copies[node], taken, beneath=True)
            copies[node] = holder


def _put_inputs(
    put: Callable[..., Node],
    inputs: list[Node],
    copies: dict[Node, Node],
    program: ExportedProgram,
    taken: set[str],
    *,
    check: bool,
) -> None:
    """Placeholders, the call of the checks, and what reads the state: before it what it checks."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    leaves = [node for node in inputs if specs[node.name].kind not in STATE]
    for node in leaves:
        copies[node] = put("placeholder", node.name, node.name)
    asked = state_asked(program.contract) if check else ()

    def put_checks(*state: Node) -> None:
        given = (*(copies[node] for node in leaves), *state)
        put("call_module", _free(CHECKS, taken), CHECKS, given)

    if check and not asked:
        put_checks()
    for node in inputs:
        if node not in copies:
            target = specs[node.name].target or node.name
            copies[node] = put("get_attr", _free(target.replace(".", "_"), taken), target)
    if asked:
        state = {specs[node.name].target: copies[node] for node in inputs}
        put_checks(*(state[name] for name in asked))


def _close(
    put: Callable[..., Node],
    output: Node,
    inputs: list[Node],
    copies: dict[Node, Node],
    program: ExportedProgram,
    taken: set[str],
) -> None:
    """Write mutated values back to where they belong and return the rest."""
    signature = program.graph_signature
    specs = signature.output_specs
    early = {node.name for node in _written_parameters(program, inputs)}
    holders = {  # an input may be called as a buffer is
        (spec.kind in STATE, spec.target if spec.kind in STATE else spec.arg.name): copies[node]
        for spec, node in zip(signature.input_specs, inputs, strict=True)
    }
    values: Any = output.args[0]
    written: dict[Node, Node] = {}
    for spec, value in zip(specs, values, strict=True):
        if spec.kind in MUTATIONS and not (
            spec.kind is OutputKind.PARAMETER_MUTATION and value.name in early
        ):
            is_parameter = spec.kind is OutputKind.PARAMETER_MUTATION
            of_input = spec.kind is OutputKind.USER_INPUT_MUTATION
            holder, new = holders[not of_input, spec.target], copies[value]
            is_unseen = of_input and _is_unseen(value, spec.target)
            beneath = is_parameter or is_unseen
            written[value] = _put_back(put, holder, new, taken, beneath=beneath)
            if is_unseen:
                written[value] = holder
    returned = [
        _seen_where_written(put, value, written, copies, taken)
        for spec, value in zip(specs, values, strict=True)
        if spec.kind not in MUTATIONS and spec.kind is not OutputKind.TOKEN
    ]
    put("output", output.name, "output", (map_arg(tuple(returned), lambda node: node),))


def _put_back(
    put: Callable[..., Node], holder: Node, value: Node, taken: set[str], *, beneath: bool
) -> Node:
    """Write a value into the tensor that it is the new value of; or beneath its history."""
    if beneath:
        # A leaf that needs a gradient refuses writes; what lies beneath it does not.
        detach = torch.ops.aten.detach.default
        holder = put("call_function", _free("detach", taken), detach, (holder,))
    copy = torch.ops.aten.copy_.default
    return put("call_function", _free("copy_", taken), copy, (holder, value))


def _is_unseen(value: Node, name: str | None) -> bool:
    """Whether an input has another value, and still the history that it came with."""
    source: Any = value
    while isinstance(source, torch.fx.Node) and source.target is torch.ops.aten.copy.default:
        source = source.args[0]
    return source is not value and getattr(source, "name", None) == name


def _written_parameters(program: ExportedProgram, inputs: list[Node]) -> dict[Node, Node]:
    """The last values of parameters that are written to, unless the former are read after them."""
    signature = program.graph_signature
    specs = zip(signature.input_specs, inputs, strict=True)
    holders = {spec.target: node for spec, node in specs if spec.kind is InputKind.PARAMETER}
    values: Any = program.graph.output_node().args[0]
    found = {
        value: holders[spec.target]
        for spec, value in zip(signature.output_specs, values, strict=True)
        if spec.kind is OutputKind.PARAMETER_MUTATION and value.op == "call_function"
    }
    if not found:
        return found
    place = {node: at for at, node in enumerate(program.graph.nodes)}
    return {
        value: holder
        for value, holder in found.items()
        if all(place[user] <= place[value] for user in holder.users)
    }


def _seen_where_written(
    put: Callable[..., Node],
    value: Any,
    written: dict[Node, Node],
    copies: Mapping[Node, Node],
    taken: set[str],
) -> Any:
    """What the program returns: a view of a value that was written back is one of its new home.

    The original returned the input or buffer itself, or a view of it, which joins `written`: what
    is returned in two places stays one tensor.
    """
    if not isinstance(value, torch.fx.Node):
        return value
    steps = seen_through(value) if written else []
    for place, source in enumerate(steps):
        if source in written:
            seen = written[source]
            for step in reversed(steps[:place]):
                args = (seen, *map_arg(step.args[1:], copies.__getitem__))
                kwargs = map_arg(step.kwargs, copies.__getitem__)
                seen = put("call_function", _free(step.name, taken), step.target, args, kwargs)
                written[step] = seen
            return seen
    return copies[value]


def _free(name: str, taken: set[str]) -> str:
    """Return a node name that is not taken yet, and take it."""
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found
