"""Unflattening: a program as modules that call each other, as the original did.

Every module of the original that is called is a module again, under its own name, holding its own
state; each can be called, looked at and exchanged. The contract stays: the whole is checked as
`program.module()` is.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.host.fx_modules import hold_apart, owner_of
from monograph.keyword_aliases import also_named
from monograph.program.calling.program_module import CHECKS, CallCode, CheckInputs
from monograph.program.graph_module import GraphModule, adopt
from monograph.program.signature import ConstantArgument, InputKind
from monograph.program.stateful_module import (
    STATE,
    attribute_names,
    runnable_children,
    set_modes,
    state_of,
    stateful_graph,
)
from monograph.program.trust_boundary import boundary
from monograph.program.unflattening.flat_args import adapt_calls
from monograph.program.unflattening.module_calls import (
    LaterCall,
    UnflattenedCall,
    UnflattenedCalls,
    UnflattenedModule,
)
from monograph.program.unflattening.module_graphs import Graphs
from monograph.program.unflattening.scope_tree import (
    Interface,
    connect,
    read_tree,
    scopes_of,
    shared_chain,
    uses_of_state,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from torch.fx.node import Node

    from monograph.program.program import ExportedProgram
    from monograph.program.signature import ArgumentSpec, InputSpec
    from monograph.program.unflattening.flat_args import FlatArgsAdapter
    from monograph.program.unflattening.scope_tree import Chain, Tree


@also_named(program="module")
def unflatten(
    module: ExportedProgram,
    flat_args_adapter: FlatArgsAdapter | None = None,
    *,
    check: bool = True,
) -> UnflattenedModule:
    """Return the program as a hierarchy of modules, named as in the original.

    A module takes the values that its call used, in the order of their first use, and returns those
    that were used after it; one that was named in `preserve_module_call_signature` takes and
    returns what the original did. Exchanging a module exchanges all of its calls, but for those
    whose graph differs from the first's: they are modules `name@1`, `name@2`, unless the module was
    named there.

    Its state is its own: a copy of the program's, in which what was shared is shared.

    `flat_args_adapter` makes the flat inputs of a call whose structure is not the program's.

    Raises: module-call-lost; (a call) contract-broken.
    """
    with boundary(module.facts, len(module.graph.nodes), "unflattened"):
        made = _unflattened(_with_own_state(module), check=check)
    described = {
        "graph_signature": module.graph_signature,
        "module_call_graph": module.module_call_graph,
        "range_constraints": module.range_constraints,
        "flat_args_adapter": flat_args_adapter,
    }
    made.__dict__["_described"] = lambda: described
    if flat_args_adapter is not None:
        adapt_calls(made, flat_args_adapter, module.in_spec)
    return made


def _with_own_state(program: ExportedProgram) -> ExportedProgram:
    """The program with copies of its tensors, but for constants that have an autograd history."""
    memo: dict[int, Any] = {}

    def own(held: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _copied(value, memo) for name, value in held.items()}

    return replace(program, state_dict=own(program.state_dict), constants=own(program.constants))


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A copy. Parameters that share memory go on sharing it, where `deepcopy` copies each alone."""
    if not getattr(value, "is_leaf", False):
        return value
    if type(value) is torch.nn.Parameter and id(value) not in memo:
        data = copy.deepcopy(value.data, memo)
        memo[id(value)] = torch.nn.Parameter(data, value.requires_grad)
    return copy.deepcopy(value, memo)


def _unflattened(program: ExportedProgram, *, check: bool) -> UnflattenedModule:
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind in STATE]
    tree, readers = _read(program, specs, check=check)
    interfaces = dict(_interfaces(tree, program))
    connect(tree, interfaces)
    graphs = Graphs(tree, interfaces, {*program.state_dict, *program.constants})
    graph = graphs.add_program()
    code = CallCode(program.call_names, program.in_spec, program.out_spec, program.contract)
    graph.set_codegen(code)
    children = graphs.holder("").children
    if check:
        children[attribute_names(program)[CHECKS]] = CheckInputs(program.contract)
    module = UnflattenedModule(children, graph, "UnflattenedModule")
    _hang_modules(module, graphs, program)
    for spec, node in zip(specs, readers, strict=True):
        _hang_state(module, program, spec, tree.state[node])
    for name, value in program.state_dict.items():
        if name not in module.state_dict(keep_vars=True):
            adopt(module, name, value)
    module.meta.update(program.graph_module.meta)
    set_modes(module, program)
    return module


# ---------------------------------------------------------------------------------------- reading
def _read(
    program: ExportedProgram, specs: Sequence[InputSpec], *, check: bool
) -> tuple[Tree, list[Node]]:
    """The tree of a program, and the nodes that read its state."""
    graph = stateful_graph(program, check=check)
    children = runnable_children(program)
    attributes = [node for node in graph.nodes if node.op == "get_attr"]
    readers = attributes[: len(specs)]
    names = [_names(program, spec) for spec in specs]
    tree = read_tree(GraphModule(children, graph), dict(zip(readers, names, strict=True)))
    for spec, node in zip(specs, readers, strict=True):
        tree.by_name[spec.arg.name] = node
    _place_literals(tree, dict(zip(readers, specs, strict=True)))
    for path in list(tree.modules):
        tree.modules[path] = (path, *_aliases(path, names, tree.modules.keys()))
    return tree, readers


def _names(program: ExportedProgram, spec: InputSpec) -> tuple[str, ...]:
    """All names of the tensor that a placeholder stands for, its own first."""
    value = state_of(program, spec)
    held = {**program.constants, **program.state_dict}
    target = str(spec.target)
    return (target, *(name for name, each in held.items() if each is value and name != target))


def _place_literals(tree: Tree, specs: dict[Node, InputSpec]) -> None:
    """A tensor that forward writes as a literal belongs to the module whose forward that is."""
    chains: dict[Node, Chain] = {}
    for node, scope in uses_of_state(tree):
        chains[node] = shared_chain(chains.get(node, scope.chain), scope.chain)
    for node, chain in chains.items():
        target = str(specs[node].target)
        if specs[node].kind is InputKind.CONSTANT_TENSOR and target.startswith("lifted_tensor_"):
            path = chain[-1][1] if chain else ""
            tree.state[node] = (f"{path}.{target}" if path else target,)


def _aliases(path: str, state: list[tuple[str, ...]], called: Collection[str]) -> Iterator[str]:
    """Other paths of a module: those where all of its state is found again."""
    found: set[str] | None = None
    for names in state:
        own = next((name for name in names if name.startswith(f"{path}.")), None)
        if own is None:
            continue
        ending = own[len(path) :]
        others = {name.removesuffix(ending) for name in names if name.endswith(ending)}
        found = others if found is None else found & others
    for other in sorted(found or ()):
        if (
            other != path
            and other
            and not any(f"{each}.".startswith(f"{other}.") for each in called)
        ):
            yield other


def _interfaces(tree: Tree, program: ExportedProgram) -> Iterator[tuple[str, Interface]]:
    """How the calls are made whose signature was to be kept.

    Raises: module-call-lost.
    """
    keys = [scope.key for scope in scopes_of(tree.root) if scope.region is None]
    for entry in program.module_call_graph:
        signature = entry.signature
        if not entry.fqn or signature is None or entry.fqn not in keys:
            continue
        if keys.count(entry.fqn) > 1:
            reason = "its operators do not stand together any more"
            raise problem("module-call-lost", path=entry.fqn, reason=reason)
        leaves = tuple(_value(tree, arg, entry.fqn) for arg in signature.inputs)
        results = tuple(_value(tree, arg, entry.fqn) for arg in signature.outputs)
        yield entry.fqn, Interface(leaves, results, signature)


def _value(tree: Tree, arg: ArgumentSpec, path: str) -> Any:
    """The value that an argument of a signature names."""
    if isinstance(arg, ConstantArgument):
        return arg.value
    node = tree.by_name.get(arg.name)
    if node is None:
        reason = f"`{arg.name}`, which it takes or returns, is computed nowhere any more"
        raise problem("module-call-lost", path=path, reason=reason)
    return tree.value(node)


# ---------------------------------------------------------------------------------------- hanging
def _hang_modules(module: UnflattenedModule, graphs: Graphs, program: ExportedProgram) -> None:
    """Put each module where it was, parents first, in the order of the original's state."""
    order = {name: place for place, name in enumerate(program.state_dict)}

    def place(path: str) -> tuple[int, int]:
        inside = (at for name, at in order.items() if name.startswith(f"{path}."))
        return min(inside, default=len(order)), path.count(".")

    made: dict[str, UnflattenedCall] = {}
    for path in sorted(filter(None, graphs.holders), key=place):
        holder = graphs.holders[path]
        (_, first), *others = holder.graphs
        kind = UnflattenedCalls if len(others) > len(holder.later) else UnflattenedCall
        made[path] = kind(holder.children, first, "ModuleCall")
        made[path].others = tuple(_later_call(made[path], graph) for _, graph in others)
        adopt(module, path, made[path])
    for path, called in made.items():
        names = graphs.tree.modules[path]
        for alias in names[1:]:
            adopt(module, alias, called)
        for (number, suffix), name in itertools.product(graphs.holders[path].later.items(), names):
            adopt(module, f"{name}@{suffix}", called.others[number - 1])


def _later_call(module: UnflattenedCall, graph: torch.fx.Graph) -> LaterCall:
    made = LaterCall({}, graph, "ModuleCall")
    made.__dict__["_of"] = (module,)
    return made


def _hang_state(
    module: UnflattenedModule, program: ExportedProgram, spec: InputSpec, names: tuple[str, ...]
) -> None:
    """Put a tensor under each of its names."""
    value = state_of(program, spec)
    if spec.kind is InputKind.CONSTANT_TENSOR:
        # Also a Parameter, which is none of the module's.
        hold_apart(*owner_of(module, names[0]), value)
        return
    for name in names:
        persistent = True if name in program.state_dict else spec.persistent
        adopt(module, name, value, persistent=persistent)
