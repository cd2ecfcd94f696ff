"""The scope tree of a flat graph: calls and regions, and which values cross their borders.

A scope is a call of a module, or a region of `no_grad` or `autocast`; the root is the program.
Laws: every node of the flat graph is an item of exactly one scope, and reading the tree depth first
gives the order of the flat graph. A value made in one scope and used in another is an output of
every scope it leaves and an input of every scope it enters.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node, map_arg
from torch.nn import Module

from monograph.abstract.aliasing import overwritten
from monograph.capture.recording.scopes import STACK_ROOT
from monograph.program.calling.subgraph_calls import REGIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch.fx import GraphModule

    from monograph.program.program import ModuleCallSignature

Chain = tuple[tuple[str, str], ...]
"""The module calls around a node, outermost first: (key of the call, path of the module)."""


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module as a value: it reaches a call through scopes that do not own it."""

    path: str


@dataclass(slots=True, eq=False)
class Scope:
    """A call of a module, or a region inside one; `region` is the node that enters it."""

    parent: Scope | None
    chain: Chain
    region: Node | None = None
    items: list[Node | Scope] = field(default_factory=list["Node | Scope"])
    inputs: dict[Any, None] = field(default_factory=dict[Any, None])
    outputs: dict[Node, None] = field(default_factory=dict["Node", None])

    @property
    def key(self) -> str:
        """The call's key: `blocks.0`, `blocks.0@1` for its second call, "" for the program."""
        return self.chain[-1][0] if self.chain else ""

    @property
    def path(self) -> str:
        """The path of the module whose call it is, or lies in."""
        return self.chain[-1][1] if self.chain else ""


@dataclass(frozen=True, slots=True)
class Interface:
    """The values that a call takes and returns, in order: nodes, or constants."""

    leaves: tuple[Any, ...]
    results: tuple[Any, ...]
    signature: ModuleCallSignature | None = None


@dataclass(slots=True)
class Tree:
    """The root scope, and what the names of the flat graph stand for in it."""

    root: Scope
    state: dict[Node, tuple[str, ...]]
    """Every node that reads state: all names of that state, the one it is read by first."""
    same: dict[Node, Any] = field(default_factory=dict["Node", Any])
    """Nodes that are another node's value: inputs and results of regions, in-place operators."""
    home: dict[Node, Scope] = field(default_factory=dict["Node", Scope])
    by_name: dict[str, Node] = field(default_factory=dict[str, "Node"])
    subgraphs: dict[Node, Module] = field(default_factory=dict["Node", Module])
    """Nodes that read a subgraph which some operator takes, other than those of regions."""
    modules: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """All paths of each called module, the one that its calls carry first."""
    results: Any = ()

    def value(self, node: Node) -> Any:
        """The node that makes the value, or the constant it is."""
        found: Any = node
        while isinstance(found, Node) and found in self.same:
            found = self.same[found]
        return found


def read_tree(module: GraphModule, state: Mapping[Node, tuple[str, ...]]) -> Tree:
    """Read the tree of a flat graph whose state is read by the nodes of `state`."""
    tree = Tree(Scope(None, ()), dict(state))
    _read(tree, tree.root, module, module.graph.nodes)
    for scope in scopes_of(tree.root):
        tree.modules.setdefault(scope.path, (scope.path,))
    return tree


def connect(tree: Tree, interfaces: Mapping[str, Interface]) -> None:
    """Let every value flow from where it is made to where it is used.

    `interfaces` say what the calls of these keys take and return, used or not.
    """
    for scope in scopes_of(tree.root):
        for item in scope.items:
            if isinstance(item, Node):
                for used in _used(item.args, item.kwargs):
                    _let_flow(tree, tree.value(used), scope)
                continue
            if item.region is not None:
                continue
            _let_module_in(tree, item, scope)
            interface = interfaces.get(item.key)
            if interface is not None:
                for value in interface.leaves:
                    _let_flow(tree, value, scope)
                for value in interface.results:
                    _let_flow(tree, value, item)
    for used in _used(tree.results):
        _let_flow(tree, tree.value(used), tree.root)


def uses_of_state(tree: Tree) -> Iterator[tuple[Node, Scope]]:
    """Give each use of a node that reads state, and the scope that uses it."""
    for scope in scopes_of(tree.root):
        for item in scope.items:
            if isinstance(item, Node):
                for used in map(tree.value, _used(item.args, item.kwargs)):
                    if used in tree.state:
                        yield used, scope
    for used in map(tree.value, _used(tree.results)):
        if used in tree.state:
            yield used, tree.root


def scopes_of(scope: Scope) -> Iterator[Scope]:
    """Give a scope and all below it, outer before inner, in order."""
    yield scope
    for item in scope.items:
        if isinstance(item, Scope):
            yield from scopes_of(item)


def scopes_to(scope: Scope | None) -> list[Scope]:
    """Give the scopes from the root to this one."""
    found: list[Scope] = []
    while scope is not None:
        found.append(scope)
        scope = scope.parent
    return found[::-1]


def name_below(path: str, names: Iterable[str]) -> str | None:
    """Give the first of the names that lies below a path, without the path."""
    if not path:
        return next(iter(names), None)
    found = (name for name in names if name.startswith(f"{path}."))
    name = next(found, None)
    return None if name is None else name[len(path) + 1 :]


# ---------------------------------------------------------------------------------------- reading
def _read(tree: Tree, base: Scope, owner: Module, nodes: Iterable[Node]) -> None:
    body = list(nodes)
    chains = _chains(body, base.chain)
    for node, chain in zip(body, chains, strict=True):
        if node.op == "output":
            tree.results = node.args[0]
        elif node.op == "get_attr" and node not in tree.state:
            tree.subgraphs[node] = getattr(owner, str(node.target))
        elif node in tree.same:
            pass
        elif _is_region(node):
            _read_region(tree, _scope_at(base, chain), node)
        elif node in tree.state or (node.op == "placeholder" and base.region is not None):
            tree.by_name.setdefault(node.name, node)
        else:
            _add(tree, _scope_at(base, chain), node)


def _add(tree: Tree, scope: Scope, node: Node) -> None:
    tree.by_name.setdefault(node.name, node)
    tree.home[node] = scope
    scope.items.append(node)
    written = overwritten(node)
    if written is not None:
        tree.same[node] = written


def _is_region(node: Node) -> bool:
    """Whether a node enters a region, and all that is done with its result is taking it apart."""
    if node.op != "call_function" or node.target not in REGIONS:
        return False
    return all(
        user.target is operator.getitem and isinstance(user.args[1], int) for user in node.users
    )


def _read_region(tree: Tree, around: Scope, node: Node) -> None:
    position = next(i for i, arg in enumerate(node.args) if arg in tree.subgraphs)
    body: Any = tree.subgraphs[node.args[position]]  # pyright: ignore[reportArgumentType]
    scope = Scope(around, around.chain, node)
    around.items.append(scope)
    inputs = [each for each in body.graph.nodes if each.op == "placeholder"]
    for given, inside in zip(node.args[position + 1 :], inputs, strict=True):
        tree.same[inside] = given
    before, tree.results = tree.results, ()
    _read(tree, scope, body, body.graph.nodes)
    results, tree.results = tree.results, before
    for user in node.users:
        tree.same[user] = results[user.args[1]]
        tree.by_name.setdefault(user.name, user)


def _chains(body: Sequence[Node], outer: Chain) -> list[Chain]:
    """The calls around each node. What belongs to no line stands where its neighbours both are."""
    found: list[Chain | None] = [_chain(node, outer) for node in body]
    following: Chain = outer
    after: list[Chain] = []
    for chain in reversed(found):
        following = following if chain is None else chain
        after.append(following)
    chains: list[Chain] = []
    previous = outer
    for chain, following in zip(found, reversed(after), strict=True):
        previous = shared_chain(previous, following) if chain is None else chain
        chains.append(previous)
    return chains


def _chain(node: Node, outer: Chain) -> Chain | None:
    stack = node.meta.get("nn_module_stack")
    if node.op in {"placeholder", "get_attr", "output"} or stack is None:
        return None if node.op != "output" else outer
    named = ((key.removeprefix(STACK_ROOT), path) for key, (path, _) in stack.items() if path)
    chain = tuple((key, path) for key, path in named if not key.startswith("unreg"))
    return chain if chain[: len(outer)] == outer else outer


def shared_chain(one: Chain, other: Chain) -> Chain:
    """The calls that two chains have in common."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]


def _scope_at(base: Scope, chain: Chain) -> Scope:
    """The scope of a chain of calls below `base`: the one that is open there, or a new one."""
    scope = base
    for length in range(len(base.chain) + 1, len(chain) + 1):
        last = scope.items[-1] if scope.items else None
        if not (isinstance(last, Scope) and last.region is None and last.chain == chain[:length]):
            last = Scope(scope, chain[:length])
            scope.items.append(last)
        scope = last
    return scope


# ------------------------------------------------------------------------------------------- flow
def _used(*trees: Any) -> Iterator[Node]:
    found: list[Node] = []
    map_arg(trees, found.append)
    yield from found


def _let_flow(tree: Tree, value: Any, user: Scope) -> None:
    """Let a value in where it is used, and out of where it is made."""
    if not isinstance(value, Node) or value in tree.subgraphs:
        return
    to_user = scopes_to(user)
    names = tree.state.get(value)
    if names is not None:
        owners = [i for i, scope in enumerate(to_user) if owns(scope, names)]
        for scope in to_user[owners[-1] + 1 :]:
            scope.inputs[value] = None
        return
    from_maker = scopes_to(tree.home[value])
    common = 0
    while common < min(len(to_user), len(from_maker)) and to_user[common] is from_maker[common]:
        common += 1
    for scope in to_user[common:]:
        scope.inputs[value] = None
    for scope in from_maker[common:]:
        scope.outputs[value] = None


def owns(scope: Scope, names: Iterable[str]) -> bool:
    """Whether a scope is a call of a module that holds the state, or the module, of these names."""
    return scope.region is None and name_below(scope.path, names) is not None


def _let_module_in(tree: Tree, call: Scope, caller: Scope) -> None:
    to_caller = scopes_to(caller)
    names = tree.modules[call.path]
    owners = [i for i, scope in enumerate(to_caller) if owns(scope, names)]
    for scope in to_caller[owners[-1] + 1 :]:
        scope.inputs[ModuleRef(call.path)] = None
