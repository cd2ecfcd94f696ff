"""Graphs of unflattened modules, from the tree of calls and regions.

A module called several times has one graph per way it was called: calls that do the same share one.
"""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_aggregate, map_arg

from monograph.abstract.symbols import to_python
from monograph.diagnostics import problem
from monograph.host.fx_nodes import append_node, close_graph
from monograph.host.trees import unflatten
from monograph.program.fresh_names import Names
from monograph.program.graph_module import GraphModule
from monograph.program.signature import USED_BY_CODE, CallNames
from monograph.program.unflattening.module_calls import (
    ModuleCallCode,
    call,
    call_as_user,
    check_constant,
    results_of,
)
from monograph.program.unflattening.scope_tree import Interface, ModuleRef, name_below

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from monograph.program.program import ModuleCallSignature
    from monograph.program.unflattening.scope_tree import Scope, Tree

BUILTIN = (tuple, list, dict)


@dataclass(slots=True)
class Holder:
    """A module of the result while it is made: its graphs, what hangs below it, what is taken."""

    graphs: list[tuple[Any, torch.fx.Graph]] = field(
        default_factory=list[tuple[Any, torch.fx.Graph]]
    )
    children: dict[str, Any] = field(default_factory=dict[str, Any])
    forms: dict[Any, str] = field(default_factory=dict[Any, str])
    taken: set[str] = field(default_factory=set[str])
    later: dict[int, str] = field(default_factory=dict[int, str])
    """The graphs after the first that are called as modules of their own: what follows the `@`."""


class Graphs:
    """Makes the graphs of all modules of one program."""

    def __init__(
        self, tree: Tree, interfaces: Mapping[str, Interface], state: Collection[str]
    ) -> None:
        self.tree = tree
        self.state = state
        self.interfaces = interfaces
        self.holders: dict[str, Holder] = {}

    def holder(self, path: str) -> Holder:
        """The module at a path."""
        found = self.holders.get(path)
        if found is None:
            paths = itertools.chain(self.state, *self.tree.state.values(), self.tree.modules)
            below = (name_below(path, (name,)) for name in paths if name)
            taken = {name.split(".")[0] for name in below if name}
            found = self.holders[path] = Holder(taken=taken)
        return found

    def add_program(self) -> torch.fx.Graph:
        """Make the graph of the root, and those of everything below it."""
        writer = _ModuleGraphWriter(self, self.tree.root, self.holder(""))
        writer.write_items()
        return writer.close(map_arg(self.tree.results, writer.put))

    def add_call(self, scope: Scope) -> tuple[int, Interface, tuple[Any, ...]]:
        """Make the graph of a call, unless there is one like it.

        Gives its number, what it takes and returns, and what it takes besides arguments.
        """
        interface = self.interfaces.get(scope.key)
        if interface is None:
            interface = Interface(tuple(scope.inputs), tuple(scope.outputs))
        captured = _captured(scope, interface)
        holder = self.holder(scope.path)
        writer = _ModuleGraphWriter(self, scope, holder)
        for value in captured:
            writer.take(value)
        for value, name in zip(interface.leaves, _leaf_names(interface), strict=True):
            node = writer.take(value, name)
            if not isinstance(value, Node | ModuleRef):
                args = (node, value, f"an argument of {scope.key}")
                writer.node("call_function", "check", check_constant, args)
        writer.write_items()
        results = [writer.put(value) for value in interface.results]
        graph = writer.close(_result(results, interface.signature))
        if interface.signature is not None:
            graph.set_codegen(_code(interface.signature, len(captured)))
        form = (_form(graph), len(captured), _structures(interface.signature))
        for number, (known, _) in enumerate(holder.graphs):
            if known == form:
                return number, interface, captured
        holder.graphs.append((form, graph))
        return len(holder.graphs) - 1, interface, captured


def _captured(scope: Scope, interface: Interface) -> tuple[Any, ...]:
    """What comes in and is no argument, and cannot be read off one."""
    if interface.signature is None:
        return ()
    for value in scope.outputs:
        if not any(value is each for each in interface.results):
            reason = f"`{value.name}`, which it computes, is used outside and is no result of it"
            raise problem("module-call-lost", path=scope.key, reason=reason)
    leaves = interface.leaves
    return tuple(
        value
        for value in scope.inputs
        if not any(value is each for each in leaves) and not _is_shown(value, leaves)
    )


class _ModuleGraphWriter:
    """Writes the graph of one scope."""

    def __init__(self, graphs: Graphs, scope: Scope, holder: Holder) -> None:
        self.graphs = graphs
        self.tree = graphs.tree
        self.scope = scope
        self.holder = holder
        self.graph = torch.fx.Graph()
        self.made: dict[Any, Node] = {}
        self.names = Names({*USED_BY_CODE, "built_result", "captured"})

    # --- nodes -------------------------------------------------------------------------------

    def node(self, op: str, name: str, target: Any, args: Any = (), kwargs: Any = None) -> Node:
        """A node under a name like this one."""
        free = self.names.fresh(name)
        target = free if op == "placeholder" else target
        return append_node(self.graph, free, op, target, args, kwargs or {})

    def take(self, value: Any, name: str = "") -> Node:
        """An input for a value."""
        name = name or (value.path if isinstance(value, ModuleRef) else value.name)
        node = self.node("placeholder", name, name)
        if isinstance(value, Node):
            node.meta = dict(value.meta)
        elif not isinstance(value, ModuleRef):
            node.meta = {"val": value}
        if isinstance(value, Node | ModuleRef):
            self.made.setdefault(value, node)
        return node

    def put(self, value: Any) -> Any:
        """What stands for a value here: the node that has it, or the constant it is."""
        if isinstance(value, Node):
            value = self.tree.value(value)
        if not isinstance(value, Node | ModuleRef):
            return value
        found = self.made.get(value)
        if found is None:
            found = self.made[value] = self._fetch(value)
        return found

    def _fetch(self, value: Node | ModuleRef) -> Node:
        """A value that this module owns, or that its inputs show."""
        if isinstance(value, ModuleRef):
            target = name_below(self.scope.path, self.tree.modules[value.path])
            assert target, "a module is owned by the modules around it"
            return self.node("get_attr", target, target)
        if value in self.tree.state:
            target = name_below(self.scope.path, self.tree.state[value])
            assert target, "state is owned by the modules around it"
            node = self.node("get_attr", target, target)
        elif value in self.tree.subgraphs:
            name = self.adopt(str(value.target), self.tree.subgraphs[value])
            node = self.node("get_attr", name, name)
        else:
            node = self._number(value)
        node.meta = dict(value.meta)
        return node

    def _number(self, value: Node) -> Node:
        """Read a number off the inputs again; `_is_shown` says that this can be done."""
        shown = _shown(value, [each for each in self.made if isinstance(each, Node)])
        if shown is not None:
            source, dim = shown
            args = (self.made[source], dim)
            return self.node("call_function", value.name, torch.ops.aten.sym_size.int, args)
        args = map_arg(value.args, self.put)
        return self.node("call_function", value.name, value.target, args)

    def adopt(self, name: str, child: Any) -> str:
        """Hang a subgraph below this module; gives the name it got."""
        children = self.holder.children
        free = name
        for number in itertools.count(1):
            if free not in self.holder.taken and children.get(free, child) is child:
                break
            free = f"{name}_{number}"
        children[free] = child
        return free

    # --- items -------------------------------------------------------------------------------

    def write_items(self) -> None:
        """Write what the scope does, in order."""
        for item in self.scope.items:
            if isinstance(item, Node):
                self._write_node(item)
            elif item.region is None:
                self._write_call(item)
            else:
                self._write_region(item)

    def _write_node(self, item: Node) -> None:
        args = map_arg(item.args, self.put)
        kwargs = map_arg(item.kwargs, self.put)
        node = self.node(item.op, item.name, item.target, args, kwargs)
        node.meta = dict(item.meta)
        if item not in self.tree.same:
            self.made[item] = node

    def _write_region(self, inner: Scope) -> None:
        assert inner.region is not None, "a region is entered by a node"
        body = Holder()
        writer = _ModuleGraphWriter(self.graphs, inner, body)
        for value in inner.inputs:
            writer.take(value)
        writer.write_items()
        results = tuple(writer.put(value) for value in inner.outputs)
        graph = writer.close(results)
        form = (_form(graph), _hanging(body))
        name = self.holder.forms.get(form)
        if name is None:
            name = self.holder.forms[form] = self.adopt("region", GraphModule(body.children, graph))
        attribute = self.node("get_attr", name, name)
        outer = inner.region
        settings = outer.args[: _body_position(outer, self.tree)]
        args = (*settings, attribute, *[self.put(value) for value in inner.inputs])
        entered = self.node("call_function", outer.name, outer.target, args)
        entered.meta = dict(outer.meta)
        self._take_apart(entered, tuple(inner.outputs))

    def _take_apart(self, node: Node, values: Iterable[Any]) -> None:
        for index, value in enumerate(values):
            if not isinstance(value, Node) or value in self.made:
                continue
            item = self.node("call_function", value.name, operator.getitem, (node, index))
            item.meta = dict(value.meta)
            self.made[value] = item

    def _write_call(self, inner: Scope) -> None:
        number, interface, outside = self.graphs.add_call(inner)
        signature, names = interface.signature, self.tree.modules[inner.path]
        owner = None if self.scope.region else name_below(self.scope.path, names)
        leaves = [self.put(value) for value in interface.leaves]
        captured = tuple(self.put(value) for value in outside)
        name = inner.key
        is_plain = owner is not None and number == 0 and not captured
        if number and owner is not None and signature is None:
            later = self.graphs.holder(inner.path).later
            suffix = later.setdefault(number, inner.key.partition("@")[2] or str(number))
            node = self.node("call_module", name, f"{owner}@{suffix}", tuple(leaves))
        elif is_plain and signature is None:
            node = self.node("call_module", name, owner, tuple(leaves))
        elif is_plain and signature is not None and _is_builtin(signature.in_spec):
            args, kwargs = unflatten(leaves, signature.in_spec)
            node = self.node("call_module", name, owner, args, kwargs)
        else:
            head = (self.put(ModuleRef(inner.path)), number, captured)
            if signature is None:
                node = self.node("call_function", name, call, (*head, *leaves))
            else:
                spec = self._structure(signature.in_spec)
                args = (*head, spec, *leaves)
                node = self.node("call_function", name, call_as_user, args)
        self._take_results(node, interface, inner)

    def _structure(self, spec: Any) -> Node:
        """A structure as a value, which a graph can only read."""
        form = ("structure", str(spec))
        name = self.holder.forms.get(form)
        if name is None:
            name = self.holder.forms[form] = self.adopt("_structure", spec)
        return self.node("get_attr", name, name)

    def _take_results(self, node: Node, interface: Interface, inner: Scope) -> None:
        results = interface.results
        if interface.signature is None:
            if len(results) > 1:
                self._take_apart(node, results)
                return
        elif not interface.signature.out_spec.is_leaf():
            spec = self._structure(interface.signature.out_spec)
            args = (node, spec, inner.key)
            parts = self.node("call_function", f"{node.name}_leaves", results_of, args)
            self._take_apart(parts, results)
            return
        for value in results:
            if isinstance(value, Node):
                node.meta = dict(value.meta)
                self.made.setdefault(value, node)

    def close(self, results: Any) -> torch.fx.Graph:
        """End the graph."""
        self.node("output", "output", "output", (results,))
        close_graph(self.graph)
        return self.graph


def _result(results: Sequence[Any], signature: ModuleCallSignature | None) -> Any:
    if signature is None and len(results) < 2:
        return results[0] if results else None
    return tuple(results)


def _leaf_names(interface: Interface) -> Iterable[str]:
    """A name for each flat argument: its parameter's where that is one value, else the value's."""
    if interface.signature is None:
        return [""] * len(interface.leaves)
    args_spec, kwargs_spec = interface.signature.in_spec.children()
    specs = [*args_spec.children(), *kwargs_spec.children()]
    names = interface.signature.forward_arg_names or [f"arg_{i}" for i in range(len(specs))]
    return [name for name, spec in zip(names, specs, strict=True) for _ in range(spec.num_leaves)]


def _code(signature: ModuleCallSignature, n_captured: int) -> ModuleCallCode:
    args_spec, kwargs_spec = signature.in_spec.children()
    count = args_spec.num_children
    names = signature.forward_arg_names or [f"arg_{index}" for index in range(count)]
    keywords = tuple(kwargs_spec.context or ())
    call_names = CallNames(tuple(names[:count]), 0, keywords)
    return ModuleCallCode(call_names, signature.in_spec, signature.out_spec, n_captured)


def _is_builtin(spec: Any) -> bool:
    """Whether a graph can spell the structure."""
    return spec.is_leaf() or (
        spec.type in BUILTIN and all(_is_builtin(child) for child in spec.children())
    )


def _body_position(region: Node, tree: Tree) -> int:
    return next(i for i, arg in enumerate(region.args) if arg in tree.subgraphs)


# ------------------------------------------------------------------------------------------- form
def _form(graph: torch.fx.Graph) -> Any:
    """What two graphs that do the same have in common: everything but the names of their nodes."""
    place = {node: index for index, node in enumerate(graph.nodes)}

    def spelt(value: Any) -> Any:
        return f"%{place[value]}" if isinstance(value, Node) else repr(value)

    return tuple(
        (
            node.op,
            "" if node.op == "placeholder" else node.target,
            str(map_aggregate(node.args, spelt)),
            str(map_aggregate(node.kwargs, spelt)),
        )
        for node in graph.nodes
    )


def _structures(signature: ModuleCallSignature | None) -> str:
    if signature is None:
        return ""
    return f"{signature.in_spec} {signature.out_spec} {signature.forward_arg_names}"


def _hanging(holder: Holder) -> Any:
    """What hangs below a region: regions by what they do, anything else by what it is."""
    alike = {name: form for form, name in holder.forms.items()}
    return tuple((name, alike.get(name, id(child))) for name, child in holder.children.items())


# ------------------------------------------------------------------------------- numbers of inputs
def _is_shown(value: Any, leaves: Sequence[Any]) -> bool:
    """Whether a number can be read off the flat arguments of a call."""
    if not isinstance(value, Node) or value.op != "call_function":
        return False
    number = value.meta.get("val")
    if not isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool):
        return False
    if _shown(value, leaves) is not None:
        return True
    inputs = value.all_input_nodes
    return (
        bool(inputs)
        and all(
            any(each is leaf for leaf in leaves) or _is_shown(each, leaves)
            for each in inputs
            if not isinstance(each.meta.get("val"), torch.Tensor)
        )
        and not any(isinstance(each.meta.get("val"), torch.Tensor) for each in inputs)
    )


def _shown(value: Node, leaves: Sequence[Any]) -> tuple[Node, int] | None:
    """The tensor and its dimension that have this size."""
    number = value.meta.get("val")
    if not isinstance(number, torch.SymInt):
        return None
    wanted = to_python(number)
    for leaf in leaves:
        tensor = leaf.meta.get("val") if isinstance(leaf, Node) else None
        if isinstance(tensor, torch.Tensor):
            for dim, size in enumerate(tensor.shape):
                if isinstance(size, torch.SymInt) and to_python(size) is wanted:
                    return leaf, dim
    return None


__all__ = ["Graphs", "Holder"]
