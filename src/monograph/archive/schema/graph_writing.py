"""Serialisation of graphs: nodes in order, their arguments by name, each value's type.

What takes a result apart (`getitem`) is not written: a node lists the names of its results. A
subgraph is written where it is used, as an argument.
"""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass, field
from functools import cache
from keyword import iskeyword
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import type_of
from monograph.archive.errors import Refused
from monograph.archive.schema.arguments import ArgumentWriter
from monograph.archive.schema.enums import operator_name
from monograph.archive.schema.values import plain_value
from monograph.archive.source_paths import SourcePaths
from monograph.capture.recording.guard_sources import with_file
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.integers import Expr, Real, Relation
from monograph.program.calling.assertions import ASSERT_SCALAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.fx import GraphModule
    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.archive.schema.values import Json, ValueWriter

POSITIONAL, KEYWORD = 1, 2
CONSTANTS = (int, float, bool, str, type(None))


@dataclass(slots=True)
class SidecarValues:
    """What a graph's JSON has no place for, by the path of the graph and the name of the node.

    `values` are relations that mention what the file's types have replaced; `items` is where nodes
    that take a result apart come from, where that is not where the result was made. `paths` says
    how lines of source are named.
    """

    paths: SourcePaths = field(default_factory=SourcePaths)
    values: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    items: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Any]])


class GraphSerializer:
    """Writes one graph; subgraphs get writers of their own, as their names are theirs alone.

    `inputs` are the types of placeholders that are not those the graph ends with: an input may be
    given other sizes in place.
    """

    def __init__(
        self,
        module: GraphModule,
        values: ValueWriter,
        beside: SidecarValues,
        inputs: Mapping[str, TensorType],
        path: str = "",
    ) -> None:
        self.module = module
        self.values = values
        self.beside = beside
        self.inputs = inputs
        self.path = path
        self.tensor_values: dict[str, Json] = {}
        self.numbers: dict[str, dict[str, Json]] = {"int": {}, "float": {}, "bool": {}}
        self.references: dict[Node, Json] = {}
        self.truths: dict[Node, Any] = {}
        self.arguments = ArgumentWriter(self.reference)

    def graph(self) -> Json:
        """The whole graph.

        Raises: Refused.
        """
        inputs: list[Json] = []
        nodes: list[Json] = []
        outputs: list[Json] = []
        is_single = False
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                inputs.append(self._placeholder(node))
            elif node.op == "call_function":
                if node not in self.references:
                    nodes.append(self._call(node))
            elif node.op == "output":
                returned: Any = node.args[0]
                is_single = not isinstance(returned, tuple | list)
                given = (returned,) if is_single else returned
                outputs = [self.arguments.write(value) for value in given]
        return {
            "inputs": inputs,
            "outputs": outputs,
            "nodes": nodes,
            "tensor_values": self.tensor_values,
            "sym_int_values": self.numbers["int"],
            "sym_bool_values": self.numbers["bool"],
            "is_single_tensor_return": is_single,
            "custom_obj_values": {},
            "sym_float_values": self.numbers["float"],
        }

    def reference(self, node: Node) -> Json:
        """A node as an argument of another.

        Raises: Refused.
        """
        found = self.references.get(node)
        if found is not None:
            return found
        if node.op == "get_attr":
            child = getattr(self.module, str(node.target), None)
            if isinstance(child, torch.fx.GraphModule):
                return {
                    "as_graph": {
                        "name": str(node.target),
                        "graph": self._child(str(node.target), child).graph(),
                    }
                }
        raise Refused(f"`{node}` is used as a value, and a file can name it only as a graph")

    def _child(self, name: str, child: GraphModule) -> GraphSerializer:
        path = f"{self.path}.{name}" if self.path else name
        return GraphSerializer(child, self.values, self.beside, {}, path)

    def _placeholder(self, node: Node) -> Json:
        value = node.meta.get("val")
        if node.name in self.inputs:
            written: Json = {"as_tensor": {"name": node.name}}
            self.tensor_values[node.name] = self.values.tensor(self.inputs[node.name])
            self.references[node] = written
            return written
        if isinstance(value, torch.Tensor):
            return self._value(node.name, value, node)
        settled = plain_value(value)
        is_symbolic = isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)
        if is_symbolic or isinstance(settled, Expr | Real | Relation):
            return self._value(node.name, settled, node)
        written = self.arguments.write(value) if type(value) in CONSTANTS else NOTHING
        self.references[node] = written
        return written

    def _value(self, name: str, value: Any, node: Node | None) -> Json:
        """Enter the type of a value under its name; returns how it is referred to."""
        if value is None:
            return NOTHING
        if isinstance(value, torch.Tensor):
            type_ = value.tensor_type if isinstance(value, AbstractTensor) else type_of(value)
            self.tensor_values[name] = self.values.tensor(type_)
            written: Json = {"as_tensor": {"name": name}}
        else:
            settled = plain_value(value)
            kind = _kind(settled)
            write = {
                "int": self.values.sym_int,
                "float": self.values.sym_float,
                "bool": self.values.sym_bool,
            }[kind]
            told = self._as_told(node) if kind == "bool" and node is not None else settled
            self.numbers[kind][name] = write(told)
            if kind == "bool":
                self._note_relation(name, settled, told)
            written = {f"as_sym_{kind}": {"as_name": name}}
        if node is not None:
            self.references[node] = written
        return written

    def _as_told(self, node: Node) -> Any:
        """The truth of a comparison, of its arguments as the file types them.

        A region may know more than the program does (`k == 4` after it checked that), and types
        its values by it: no reader could bind a symbol that only its comparisons have.
        """
        value = node.meta["val"]
        if self.path and any(user.target is ASSERT_SCALAR for user in node.users):
            value = True  # Readers would solve for its symbols, which are bound outside.
        elif node.op == "call_function" and type(node.target) is BuiltinFunctionType:
            value = node.target(*[self._told_truth(each) for each in node.args])
        self.truths[node] = value
        return plain_value(value)

    def _told_truth(self, value: Any) -> Any:
        if not isinstance(value, torch.fx.Node):
            return value
        return self.truths.get(value, value.meta["val"])

    def _note_relation(self, name: str, relation: Any, told: Any) -> None:
        """Keep a relation that the file says with other symbols."""
        if self.values.in_file(told) is not relation:
            shown = self.values.expressions.write(relation)
            self.beside.values.setdefault(self.path, {})[name] = shown

    def _note_item(self, item: Node, producer: Node) -> None:
        """Keep where a node comes from that is made anew when the file is read."""
        if item.meta.get("stack_trace") != producer.meta.get("stack_trace"):
            self.beside.items.setdefault(self.path, {})[item.name] = self._metadata(item)

    def _metadata(self, node: Node) -> dict[str, str]:
        return metadata(node, self.beside.paths)

    def _call(self, node: Node) -> Json:
        target: Any = node.target
        is_higher = isinstance(target, HigherOrderOperator)
        if isinstance(target, OpOverload):
            inputs = self._schema_inputs(node, target)
        elif is_higher:
            inputs = [_named("", self.arguments.write(arg), POSITIONAL) for arg in node.args]
            inputs += [
                _named(name, self.arguments.write(arg), KEYWORD)
                for name, arg in node.kwargs.items()
            ]
        elif node.kwargs:
            raise Refused(f"`{node}` gives arithmetic of sizes keyword arguments")
        else:
            inputs = [
                _named("abcdefgh"[min(i, 7)], self.arguments.write(arg), POSITIONAL)
                for i, arg in enumerate(node.args)
            ]
        return {
            "target": operator_name(target),
            "inputs": inputs,
            "outputs": self._outputs(node),
            "metadata": self._metadata(node),
            "is_hop_single_tensor_return": (
                isinstance(node.meta.get("val"), torch.Tensor) if is_higher else None
            ),
            "name": node.name,
        }

    def _schema_inputs(self, node: Node, target: OpOverload) -> list[Json]:
        args, kwargs = node.args, node.kwargs
        written: list[Json] = []
        for index, (name, is_keyword, element, default) in enumerate(_parameters(target)):
            if name in kwargs:
                argument = self.arguments.write(self._told(name, kwargs[name]), element)
                written.append(_named(name, argument, KEYWORD))
            elif not is_keyword and index < len(args):
                argument = self.arguments.write(self._told(name, args[index]), element)
                written.append(_named(name, argument, POSITIONAL))
            elif iskeyword(name) and index == len(written):
                # Stock looks for `from` also where it was left out, and reads it by position alone.
                written.append(_named(name, self.arguments.write(default), POSITIONAL))
        return written

    def _told(self, name: str, value: Any) -> Any:
        """An argument; of an assertion's message, the file that it points to as files have it."""
        is_message = name == "assert_msg" and isinstance(value, str)
        return with_file(value, self.beside.paths.name) if is_message else value

    def _outputs(self, node: Node) -> list[Json]:
        if "val" not in node.meta:
            raise Refused(f"`{node}` does not say what it returns")
        value = node.meta["val"]
        target: Any = node.target
        if isinstance(target, OpOverload) and not schema_of(target).returns:
            self.references[node] = NOTHING
            return []
        if not isinstance(value, tuple | list):
            return [self._value(node.name, value, node)]
        if not value and not isinstance(target, OpOverload):
            # Readers elsewhere give a call without results no value, and then miss it.
            return [NOTHING]
        users = _items(node)
        for items in users.values():
            self._note_item(items[0], node)
        if isinstance(target, OpOverload) and len(schema_of(target).returns) == 1:
            return [self._several(node, list(value), users)]
        return [self._one_of(node, i, each, users.get(i, [])) for i, each in enumerate(value)]

    def _one_of(self, node: Node, index: int, value: Any, items: list[Node]) -> Json:
        """One of the results of an operator with several, which may be a list itself."""
        if not isinstance(value, list | tuple):
            return self._item(f"{node.name}_unused_{index}", value, items)
        for item in items:
            self.references[item] = NOTHING
        return self._nested(node, index, list(value), items)

    def _nested(self, node: Node, index: int, values: list[Any], items: list[Node]) -> Json:
        users = _items(items[0]) if items else {}
        written = [
            self._item(f"{node.name}_unused_{index}_{i}", value, users.get(i, []))
            for i, value in enumerate(values)
        ]
        return _tensors(written)

    def _several(self, node: Node, values: list[Any], users: dict[int, list[Node]]) -> Json:
        written = [
            self._item(f"{node.name}_unused_{i}", value, users.get(i, []))
            for i, value in enumerate(values)
        ]
        return _tensors(written)

    def _item(self, unused: str, value: Any, items: list[Node]) -> Json:
        """One of several results, under the name of the node that takes it."""
        name = items[0].name if items else unused
        written = self._value(name, value, None)
        for item in items:
            self.references[item] = written
        return written


NOTHING: Json = {"as_none": True}


def _named(name: str, argument: Json, kind: int) -> Json:
    return {"name": name, "arg": argument, "kind": kind}


def _tensors(written: list[Json]) -> Json:
    if any("as_tensor" not in each for each in written):
        raise Refused("an operator returns a list of what are no tensors")
    return {"as_tensors": [each["as_tensor"] for each in written]}


def _kind(value: Any) -> str:
    if isinstance(value, bool | Relation):
        return "bool"
    if isinstance(value, float | Real):
        return "float"
    if isinstance(value, int | Expr):
        return "int"
    raise Refused(f"a node returns a {type(value).__name__}, which no file can hold")


def _items(node: Node) -> dict[int, list[Node]]:
    """Which nodes take which of a node's results."""
    found: dict[int, list[Node]] = {}
    for user in node.users:
        if user.target is operator.getitem:
            index: Any = user.args[1]
            found.setdefault(index, []).append(user)
    return found


@cache
def _parameters(target: OpOverload) -> tuple[tuple[str, bool, str, Any], ...]:
    """Name, whether it is keyword-only, what a list of it holds, and default, of each parameter."""
    return tuple(
        (each.name, each.kwarg_only, _element(str(each.type)), each.default_value)
        for each in schema_of(target).arguments
    )


def _element(kind: str) -> str:
    for name in ("Tensor", "int", "float", "bool", "str"):
        if f"[{name}]" in kind or f"[Optional[{name}]]" in kind:
            return name
    return "Tensor"


def metadata(node: Node, paths: SourcePaths) -> dict[str, str]:
    """Where a node comes from: all values are strings."""
    found: dict[str, str] = {}
    meta = node.meta
    trace = paths.trace(meta.get("stack_trace") or "")
    if trace:
        found["stack_trace"] = trace
    stack = meta.get("nn_module_stack")
    if stack:
        found["nn_module_stack"] = ";".join(
            [
                f"{escaped(key)},{escaped(path)},{_type_name(kind)}"
                for key, (path, kind) in stack.items()
            ]
        )
    if meta.get("torch_fn"):
        found["torch_fn"] = ";".join(meta["torch_fn"])
    if meta.get("custom"):
        found["custom"] = json.dumps(meta["custom"], sort_keys=True)
    return found


def escaped(name: str) -> str:
    """A module's name between commas and semicolons; `unescaped` is the way back."""
    if not SEPARATORS.intersection(name):
        return name
    return name.replace("%", "%25").replace(",", "%2C").replace(";", "%3B")


def unescaped(name: str) -> str:
    """A module's name as `escaped` wrote it.

    >>> unescaped(escaped("a,b;%2C"))
    'a,b;%2C'
    """
    return name.replace("%3B", ";").replace("%2C", ",").replace("%25", "%")


SEPARATORS: Final = frozenset(",;%")


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


__all__ = ["GraphSerializer", "SidecarValues", "escaped", "metadata", "unescaped"]
