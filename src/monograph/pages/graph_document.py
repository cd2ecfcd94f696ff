"""The JSON document of a program: nodes, regions, edges, types, lines, guards, contract, weights.

It is what the graph page shows, and knows no HTML. Nodes and regions refer to each other by number.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.source_paths import SourcePaths
from monograph.diagnostics import place
from monograph.host.operator_types import OpOverload
from monograph.integers import relation_text
from monograph.pages.operator_documentation import documentation
from monograph.pages.region_tree import RegionTree
from monograph.pages.size_expressions import SizeTable
from monograph.passes.graph_walks import subgraph_of
from monograph.program.contract import spots, tables
from monograph.program.printing import FRAME, dtype_text
from monograph.program.signature import InputKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch.fx import Graph, Node

    from monograph.program import ExportedProgram

_BODIES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "cond": ("branch", ("if true", "if false")),
    "while_loop": ("loop", ("condition", "body")),
    "scan": ("loop", ("body",)),
    "map_impl": ("loop", ("body",)),
    "associative_scan": ("loop", ("combine",)),
}
"""What control-flow operators are, and what their subgraphs are called, by the operator's name."""
_ASIDE: Final = frozenset({"weight", "size"})
"""Kinds of nodes that are shown beside their users, where a reader asks for them."""
_LONGEST: Final = 2000
"""So many characters of a node's arguments."""


def graph_document(program: ExportedProgram, *, title: str = "") -> dict[str, Any]:
    """Return what a page shows of a program: numbers, texts, lists and dicts alone.

    Shapes: sizes are numbers, or keys of `expressions`.
    Units: elements; bytes where the name says so.
    """
    with program._boundary("shown"):  # noqa: SLF001 - the program's own trust boundary
        return _DocumentWriter(program, title).document()


class _DocumentWriter:
    """Collects the tables of one document while it walks over the graph and its subgraphs."""

    def __init__(self, program: ExportedProgram, title: str) -> None:
        self.program, self.title = program, title
        self.sizes = SizeTable(program)
        self.paths = SourcePaths("relative")
        self.nodes: list[dict[str, Any]] = []
        self.operators: dict[Any, int] = {}
        self.places: dict[str, int] = {}
        self.frames: list[list[dict[str, Any]]] = []
        self.tree = RegionTree(title or "program", "")
        self.numbers: dict[Node, int] = {}
        self.state = {
            spec.arg.name: (spec.target or "", spec.kind.name.lower())
            for spec in program.graph_signature.input_specs
            if spec.kind is not InputKind.USER_INPUT
        }

    def document(self) -> dict[str, Any]:
        """Everything."""
        self.walk(self.program.graph, 0, {}, 0)
        self.tree.cut_into_sections([node["name"] for node in self.nodes])
        self.place_beside_users()
        return {
            "title": self.title,
            "summary": self.summary(),
            "nodes": self.nodes,
            "regions": [[e.label, e.kind, e.parent, e.detail] for e in self.tree.regions],
            "operators": [documentation(target) for target in self.operators],
            "places": self.frames,
            "guards": self.guards(),
            "contract": [[title, rows] for title, rows in tables(self.program.contract) if rows],
            "report": str(self.program.report),
            "weights": self.weights(),
            "symbols": self.sizes.symbols,
            "expressions": self.sizes.expressions,
        }

    # --- the graph -------------------------------------------------------------------------------

    def walk(
        self, graph: Graph, region: int, given: Mapping[Node, list[int]], depth: int
    ) -> list[int]:
        """Add the nodes of a graph to a region; give those that its outputs are.

        `given` are the operands behind the placeholders of a subgraph, and `depth` says how many
        module calls are around it.
        """
        results: list[int] = []
        for node in graph.nodes:
            if node.op == "get_attr" and isinstance(_attribute(node), torch.fx.GraphModule):
                continue
            if node.op == "output" and region:
                results = [self.numbers[each] for each in node.all_input_nodes]
                continue
            stack = list((node.meta.get("nn_module_stack") or {}).items())
            is_input = node.op == "placeholder"  # of a module's call, where that made its value
            inside = region if is_input else self.tree.enter(region, stack[depth:])
            bodies = [each for each in node.all_input_nodes if each.op == "get_attr"]
            bodies = [each for each in bodies if isinstance(_attribute(each), torch.fx.GraphModule)]
            inputs = given.get(node)
            if bodies:
                inside, inputs = self.control_flow(node, bodies, inside, len(stack))
            self.add(node, inside, inputs)
        return results

    def control_flow(
        self, node: Node, bodies: Sequence[Node], region: int, depth: int
    ) -> tuple[int, list[int]]:
        """Add the subgraphs that a node calls as regions; give the node's region and its inputs.

        Operands are inputs of the bodies where each placeholder has one, else of the node itself.
        """
        operator = _name_of(node.target)
        kind, words = _BODIES.get(operator, ("body", ()))
        outer = self.tree.add(node.name, "operator", region, operator)
        operands = _flat(node.args[1 + max(map(node.args.index, bodies)) :])
        results: list[int] = []
        routed: set[Node] = set()
        for body, word in itertools.zip_longest(bodies, words[: len(bodies)]):
            graph = _attribute(body).graph
            inputs = [each for each in graph.nodes if each.op == "placeholder"]
            fits = len(inputs) == len(operands)
            routed |= {each for each in operands if fits and isinstance(each, torch.fx.Node)}
            behind = {
                inner: [self.numbers[each]] if fits and isinstance(each, torch.fx.Node) else []
                for inner, each in itertools.zip_longest(inputs, operands if fits else ())
            }
            inner_region = self.tree.add(word or str(body.target), kind, outer)
            results += self.walk(graph, inner_region, behind, depth)
        direct = [e for e in node.all_input_nodes if e not in routed and e not in bodies]
        return outer, [*(self.numbers[each] for each in direct), *results]

    def add(self, node: Node, region: int, inputs: list[int] | None) -> None:
        """Add one node."""
        number = self.numbers[node] = len(self.nodes)
        value = node.meta.get("val")
        if inputs is None:
            inputs = [self.numbers[each] for each in node.all_input_nodes]
        self.nodes.append(
            {
                "name": node.name,
                "kind": self.kind(node, value),
                "operator": self.operators.setdefault(node.target, len(self.operators))
                if node.op == "call_function"
                else -1,
                "region": region,
                "inputs": list(dict.fromkeys(inputs)),
                "types": self.sizes.types(value),
                "arguments": _arguments(node),
                "place": self.place(node.stack_trace),
            }
        )
        if self.nodes[-1]["kind"] not in _ASIDE:
            self.tree.put(number, region)

    def kind(self, node: Node, value: Any) -> str:
        """What a node is: input, weight, output, size or call."""
        if node.name in self.state and node.op == "placeholder":
            return "weight" if node.graph is self.program.graph else "input"
        if node.op == "get_attr":
            return "weight"
        is_number = isinstance(value, torch.SymInt | torch.SymBool | torch.SymFloat)
        derived = not isinstance(node.target, OpOverload) or "sym_" in str(node.target)
        if node.op == "call_function" and is_number and derived:
            return "size"
        return {"placeholder": "input", "output": "output"}.get(node.op, "call")

    def place_beside_users(self) -> None:
        """Place weights and sizes where they are first used; they are shown there if at all."""
        first: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            for each in node["inputs"]:
                first.setdefault(each, number)
        for number in reversed(range(len(self.nodes))):
            if number not in self.tree.region_of:
                user = first.get(number)
                region = 0 if user is None else self.tree.region_of[user]
                self.tree.region_of[number] = region
            self.nodes[number]["region"] = self.tree.region_of[number]

    def place(self, trace: str | None) -> int:
        """The number of a stack trace among `places`, -1 for none; frames are innermost first."""
        if not trace:
            return -1
        found = self.places.get(trace)
        if found is None:
            found = self.places[trace] = len(self.frames)
            self.frames.append(list(_frames(self.paths.trace(trace)))[::-1])
        return found

    def summary(self) -> str:
        """How large the program is, its subgraphs included."""
        n_calls = sum(node["kind"] == "call" for node in self.nodes)
        n_parameters = sum(each.numel() for each in self.program.parameters())
        return f"{n_calls:,} operators, {n_parameters:,} parameters"

    # --- beside the graph ------------------------------------------------------------------------

    def guards(self) -> list[dict[str, Any]]:
        """What the inputs must satisfy beyond ranges, with the lines that asked."""
        names = self.program.contract.names
        return [
            {
                "text": relation_text(guard.relation, names),
                "tree": self.sizes.tree(guard.relation),
                "symbols": self.sizes.symbols_of(guard.relation),
                "places": [
                    [self.paths.name(at.file), at.line, at.function]
                    for at in map(place, spots(guard.origin))
                ],
            }
            for guard in self.program.contract.guards
        ]

    def weights(self) -> list[dict[str, Any]]:
        """Parameters, buffers and constants, with the nodes that read them."""
        held: dict[str, Any] = {**self.program.constants, **self.program.state_dict}
        of_names = {
            node["name"]: i for i, node in enumerate(self.nodes) if node["kind"] == "weight"
        }
        found: list[dict[str, Any]] = []
        for name, (target, kind) in self.state.items():
            value = held.get(target)
            if isinstance(value, torch.Tensor):
                sizes = ", ".join(str(size) for size in value.shape)
                text = f"{dtype_text(value.dtype)}[{sizes}]"
                n_bytes = value.numel() * value.dtype.itemsize
                node = of_names.get(name, -1)
                row = {"name": target, "kind": kind, "type": text, "bytes": n_bytes, "node": node}
                found.append(row)
        return found


def _attribute(node: Node) -> Any:
    """What a get_attr node reads; None where it is no module."""
    try:
        return subgraph_of(node)
    except AttributeError:
        return None


def _name_of(target: Any) -> str:
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [found for each in value for found in _flat(each)]
    return [value]


def _arguments(node: Node) -> list[list[str]]:
    """Arguments as a call has them, each with the name of its parameter where there is one."""
    if node.op != "call_function":
        return []
    target = node.target
    names = [e.name for e in target._schema.arguments] if isinstance(target, OpOverload) else []
    rows = [[name or "", _text(each)] for name, each in itertools.zip_longest(names, node.args)][
        : len(node.args)
    ]
    return [*rows, *([name, _text(each)] for name, each in node.kwargs.items())]


def _text(value: Any) -> str:
    shown = dtype_text(value) if isinstance(value, torch.dtype) else str(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]} …"


def _frames(trace: str) -> Iterator[dict[str, Any]]:
    """The frames of a traceback's text, outermost first."""
    for head, code in itertools.pairwise([*trace.split("\n"), ""]):
        found = FRAME.match(head.strip())
        if found:
            inside = "" if FRAME.match(code.strip()) else code.strip()
            yield {"file": found[1], "line": int(found[2]), "function": found[3], "code": inside}


__all__ = ["graph_document"]
