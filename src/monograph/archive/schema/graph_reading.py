"""Deserialisation of graphs: names become nodes, each made before it is used.

Law: a value has one name and one maker; a call gives its operator no argument the operator does not
have, and as many results as it returns. Nodes that take results apart, which the file leaves out,
are made anew; those of results that nothing uses are not.
"""

from __future__ import annotations

import inspect
import json
import operator
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.tensor import make_tensor
from monograph.archive.errors import Refused
from monograph.archive.schema.arguments import ArgumentReader
from monograph.archive.schema.enums import find_operator
from monograph.archive.schema.graph_writing import unescaped
from monograph.archive.schema.json_fields import (
    boolean,
    identifier,
    integer,
    listed,
    mapping,
    one_line,
    only_key,
    text,
)
from monograph.host.dispatch import schema_of
from monograph.host.fx_nodes import append_node, close_graph
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.passes.graph_builder import GraphBuilder, argument_type, same_layout
from monograph.program import GraphModule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch.fx.node import Node

    from monograph.archive.schema.values import Json, ValueReader

KINDS = ("int", "float", "bool")
DEEPEST = 64
LARGEST_DEGREE = 256
_OF_FLOATS = frozenset({operator.add, operator.mul, operator.neg, operator.sub})
"""What gives a float wherever it is given one; `trunc` gives an integer of many digits."""
PLACEHOLDER_CONSTANTS = ("as_int", "as_float", "as_bool", "as_none", "as_string")


@dataclass(slots=True)
class _Copy:
    """What a wrapped operator gives for a tensor that it writes to."""

    meta: dict[str, Any]
    base: Any
    name: str
    value: Any
    written: Node | None = None
    """The copy, or the copy of a view that `scatter` puts back."""
    scatter: Any = None
    parts: list[Any] = field(default_factory=list[Any])


class GraphDeserializer:
    """Reads one graph; a subgraph gets a reader of its own, as its names are its alone."""

    def __init__(
        self, written: Json, values: ValueReader, operators: dict[str, Any], depth: int = 0
    ) -> None:
        if depth > DEEPEST:
            raise Refused(f"it has subgraphs inside of subgraphs, more than {DEEPEST} deep")
        self.written = mapping(written)
        self.values = values
        self.operators = operators
        self.depth = depth
        self.graph = torch.fx.Graph()
        self.nodes: dict[str, Node] = {}
        self.names: set[str] = set()
        self.later: dict[str, tuple[Node, int, Any]] = {}
        self.children: dict[str, GraphModule] = {}
        self.sources: dict[str, Json] = {}
        self.degrees: dict[Node, int] = {}
        self.arguments = ArgumentReader(self.node, self._subgraph)
        self.tensors = mapping(self.written["tensor_values"])
        self.numbers = {kind: mapping(self.written.get(f"sym_{kind}_values", {})) for kind in KINDS}

    def module(self, input_names: Sequence[str | None] | None = None) -> GraphModule:
        """The graph as a module; `input_names` are those of constant inputs.

        Raises: Refused.
        """
        inputs = listed(self.written["inputs"])
        for index, argument in enumerate(inputs):
            name = None if input_names is None else input_names[index]
            self._placeholder(argument, name or f"arg{index}")
        for call in listed(self.written["nodes"]):
            self._call(mapping(call))
        self._output()
        close_graph(self.graph)
        return GraphModule(self.children, self.graph)

    # --- values ------------------------------------------------------------------------------

    def node(self, name: str) -> Node:
        """The node that makes a value.

        Raises: Refused.
        """
        found = self.nodes.get(name)
        if found is not None:
            return found
        if name in self.later:
            call, index, value = self.later.pop(name)
            return self._item(name, call, index, value)
        raise Refused(f"{name[:80]!r} is used and not made before")

    def _append(self, name: str, op: str, target: Any, args: Any = (), kwargs: Any = None) -> Node:
        if name in self.names:
            raise Refused(f"two values are called {name!r}")
        self.names.add(identifier(name))
        return append_node(self.graph, name, op, target, args, kwargs or {})

    def _free(self, name: str) -> str:
        found, number = name, 0
        while found in self.names or found in self.tensors:
            number += 1
            found = f"{name}_{number}"
        return found

    def _typed(self, output: Json, node: Node | None) -> tuple[str, Any]:
        """The name and the value of a result."""
        tag, inner = only_key(output)
        if tag == "as_tensor":
            name = text(mapping(inner)["name"])
            if name not in self.tensors:
                raise Refused(f"the tensor {name[:80]!r} has no type")
            return name, self.values.tensor(self.tensors[name], node)
        for kind in KINDS:
            if tag == f"as_sym_{kind}":
                _, name = only_key(inner)
                found = self.numbers[kind].get(text(name))
                if found is None:
                    raise Refused(f"the number {name[:80]!r} has no type")
                return name, self.values.number(kind, found)
        raise Refused(f"a result is {tag[:40]!r}")

    # --- inputs and outputs ------------------------------------------------------------------

    def _placeholder(self, argument: Any, name: str) -> None:
        tag, inner = only_key(argument)
        if tag in PLACEHOLDER_CONSTANTS:
            node = self._append(identifier(name), "placeholder", name)
            node.meta["val"] = self.arguments.read(argument)
            return
        if tag == "as_custom_obj":
            kind = mapping(inner).get("class_fqn")
            raise Refused(f"it takes an object of {kind!r}, which only pickle can read", UNSAFE)
        name, value = self._typed(argument, None)
        node = self._append(name, "placeholder", name)
        self._bind(name, node, value)

    def _bind(self, name: str, node: Node, value: Any) -> None:
        node.meta["val"] = value
        if isinstance(value, torch.Tensor):
            value.node = node  # pyright: ignore[reportAttributeAccessIssue]  # an abstract tensor
        self.nodes[name] = node

    def _output(self) -> None:
        returned = [self.arguments.read(each) for each in listed(self.written["outputs"])]
        is_single = boolean(self.written.get("is_single_tensor_return", False))
        if is_single and (len(returned) != 1 or not isinstance(returned[0], torch.fx.Node)):
            raise Refused("it returns one tensor, and not one is listed")
        result: Any = returned[0] if is_single else tuple(returned)
        node = append_node(self.graph, self._free("output"), "output", "output", (result,), {})
        shown = [
            each.meta.get("val") if isinstance(each, torch.fx.Node) else each for each in returned
        ]
        node.meta["val"] = shown[0] if is_single else tuple(shown)

    # --- calls -------------------------------------------------------------------------------

    def _call(self, call: Json) -> None:
        name = text(call["target"])
        if name == AUTO_FUNCTIONALIZED:
            self._functionalized(call)
            return
        target = self.operators.get(name)
        if target is None:
            target = self.operators[name] = find_operator(name)
        if isinstance(target, OpOverload):
            args, kwargs = self._schema_arguments(target, listed(call["inputs"]))
        else:
            args, kwargs = self._positional(listed(call["inputs"]))
        outputs = listed(call["outputs"])
        single = _single(target, outputs, call.get("is_hop_single_tensor_return"))
        value: Any = None
        if single is None or only_key(single)[0] == "as_none":
            label = self._free(text(call.get("name") or "call"))
        else:
            label, value = self._typed(single, None)
        node = self._append(label, "call_function", target, args, kwargs)
        if not isinstance(target, OpOverload | HigherOrderOperator):
            self._check_arithmetic(node)
        node.meta.update(node_metadata(mapping(call.get("metadata", {}))))
        if single is not None:
            self._bind(label, node, value)
        elif not outputs and isinstance(target, OpOverload):
            node.meta["val"] = None
        else:
            self._results(node, target, outputs)

    def _functionalized(self, call: Json) -> None:
        """An operator that writes, as torch wraps it: it writes to copies, which are results too.

        Raises: Refused.
        """
        given = {text(mapping(each)["name"]): each["arg"] for each in listed(call["inputs"])}
        name = text(mapping(given.pop(""))["as_operator"])
        target = find_operator(name)
        if not isinstance(target, OpOverload):
            raise Refused(f"it wraps {name[:80]}, which has no schema")
        n_results, outputs = len(schema_of(target).returns), listed(call["outputs"])
        bases = listed(mapping(given.pop("_all_bases"))["as_tensors"])
        meta = node_metadata(mapping(call.get("metadata", {})))
        copies = [
            _Copy(meta, self.arguments.read({"as_tensor": base}), *self._typed(output, None))
            for base, output in zip(bases, outputs[max(n_results, 1) :], strict=True)
        ]
        for each in aliasing_of(target).written:
            length = given.pop(f"_{each}_length", None)
            if length is None:
                given[each] = self._written(f"_{each}", given, copies)
            elif only_key(length)[0] == "as_none":
                given[each] = length
            else:
                places = range(integer(length["as_int"], 0, len(given)))
                parts = [self._written(f"_{each}_{i}", given, copies) for i in places]
                given[each] = {"as_tensors": [mapping(part)["as_tensor"] for part in parts]}
        inputs = [{"name": key, "arg": arg} for key, arg in given.items()]
        results = {"name": name.split(".")[-2], "outputs": outputs[:n_results]}
        self._call({**call, "target": name, "inputs": inputs, **results})
        for copy in copies:
            if copy.scatter is not None:
                arguments = (copy.base, copy.written, *copy.parts)
                self._made(copy, copy.name, copy.scatter, arguments, copy.value)

    def _written(self, prefix: str, given: Json, copies: list[_Copy]) -> Json:
        """What a wrapped operator writes to: a copy of a tensor, or of a view of it."""
        index = given.pop(f"{prefix}_base_index")
        if only_key(index)[0] == "as_none":
            return index
        copy = copies[integer(index["as_int"], 0, len(copies) - 1)]
        given.pop(f"{prefix}_alias", None)
        if copy.written is not None:
            raise Refused("it wraps an operator that writes to a tensor by two arguments")
        for view, (scatter, fields) in SCATTERS.items():
            parts = [given.pop(f"{prefix}_{each}", None) for each in fields]
            if None not in parts:
                copy.scatter, copy.parts = scatter, [self.arguments.read(each) for each in parts]
                viewed = self._made(copy, self._free("view"), view, (copy.base, *copy.parts))
                copy.written = self._made(copy, self._free("copy"), CLONE, (viewed,))
        if copy.written is None:
            copy.written = self._made(copy, copy.name, CLONE, (copy.base,), copy.value)
        return {"as_tensor": {"name": copy.written.name}}

    def _made(
        self, copy: _Copy, name: str, target: Any, args: tuple[Any, ...], value: Any = None
    ) -> Node:
        """A call that the file leaves out, of a tensor: as `value` says, or as it is inferred."""
        node = self._append(name, "call_function", target, args)
        node.meta.update(copy.meta)
        types = [argument_type(each) for each in args]
        inferred: Any = GraphBuilder(self.values.facts).inferred(target, types, {})
        if value is None:
            value = make_tensor(inferred, None, self.values.recorder)
        if not same_layout(value.tensor_type, inferred):
            raise Refused(f"{name[:80]!r} is a copy that keeps gaps in memory")
        self._bind(name, node, value)
        return node

    def _check_arithmetic(self, node: Node) -> None:
        """Hold that a function has its arguments, and that products of products stay small.

        Each of them could have twice as many digits as the one before; floats have no more.
        """
        function: Any = node.target
        inspect.signature(function).bind(*node.args, **node.kwargs)
        degrees = [self._degree(each) for each in node.args]
        grown = sum(degrees) if node.target is operator.mul else max(degrees, default=1)
        is_float = node.target is operator.truediv or (node.target in _OF_FLOATS and 0 in degrees)
        self.degrees[node] = 0 if is_float else max(grown, 1)
        if self.degrees[node] > LARGEST_DEGREE:
            raise Refused("it multiplies sizes with themselves too often")

    def _degree(self, value: object) -> int:
        if isinstance(value, list | tuple):
            return max(map(self._degree, value), default=1)
        if isinstance(value, torch.fx.Node):
            return self.degrees.get(value, 1)
        return 0 if isinstance(value, float) else 1

    def _schema_arguments(
        self, target: OpOverload, inputs: list[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given: dict[str, tuple[Any, Any]] = {}
        for each in inputs:
            entry = mapping(each)
            name = text(entry["name"])
            if name in given:
                raise Refused(f"{target} is given `{name}` twice")
            given[name] = (self.arguments.read(entry["arg"]), entry.get("kind"))
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        kinds = _kinds(target)
        tensors = [value for name, (value, _) in given.items() if kinds.get(name) == "Tensor"]
        if tensors and not any(isinstance(each, torch.fx.Node) for each in tensors):
            raise Refused(f"{target} is given no tensor")
        for index, parameter in enumerate(schema_of(target).arguments):
            has_default = parameter.has_default_value()
            if parameter.name not in given:
                if not has_default:
                    raise Refused(f"{target} is not given `{parameter.name}`")
                continue
            value, kind = given.pop(parameter.name)
            if not _fits(value, kinds[parameter.name]):
                raise Refused(f"{target} is given no {kinds[parameter.name]} as `{parameter.name}`")
            is_positional = kind == 1 or (kind is None and not has_default)
            if is_positional and not parameter.kwarg_only and len(args) == index:
                args.append(value)
            else:
                kwargs[parameter.name] = value
        if given:
            raise Refused(f"{target} has no parameter {next(iter(given))[:80]!r}")
        return tuple(args), kwargs

    def _positional(self, inputs: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for each in inputs:
            entry = mapping(each)
            name, value = text(entry["name"]), self.arguments.read(entry["arg"])
            if entry.get("kind") == 2 and name:
                kwargs[identifier(name)] = value
            else:
                args.append(value)
        return tuple(args), kwargs

    def _subgraph(self, argument: Json) -> Node:
        name = identifier(argument["name"])
        source = argument["graph"]
        if name in self.sources:
            if self.sources[name] != source:
                raise Refused(f"two subgraphs are called {name!r}")
            return self.nodes[f"graph {name}"]
        if name.startswith("__") or hasattr(torch.fx.GraphModule, name):
            raise Refused(f"{name!r} is no name a subgraph may have", UNSAFE)
        reader = GraphDeserializer(source, self.values, self.operators, self.depth + 1)
        self.children[name] = reader.module()
        self.sources[name] = source
        node = append_node(self.graph, self._free(name), "get_attr", name, (), {})
        self.names.add(node.name)
        self.nodes[f"graph {name}"] = node
        return node

    # --- several results ---------------------------------------------------------------------

    def _results(self, node: Node, target: Any, outputs: list[Any]) -> None:
        tag, inner = only_key(outputs[0]) if len(outputs) == 1 else ("", None)
        if tag == "as_tensors" and isinstance(target, OpOverload):
            node.meta["val"] = [
                self._result(node, index, {"as_tensor": each}, "")
                for index, each in enumerate(listed(inner))
            ]
            return
        if tag == "as_none" and not isinstance(target, OpOverload):
            node.meta["val"] = ()
            return
        node.meta["val"] = tuple(
            [self._result(node, index, each, "") for index, each in enumerate(outputs)]
        )

    def _result(self, node: Node, index: int, output: Any, within: str) -> Any:
        tag, inner = only_key(output)
        if tag == "as_none":
            return None
        if tag == "as_tensors":
            return self._list_result(node, index, listed(inner))
        name, value = self._typed(output, None)
        if name in self.nodes or name in self.later:
            raise Refused(f"two values are called {name!r}")
        if name == f"{node.name}_unused_{within}{index}":
            self.later[identifier(name)] = (node, index, value)
        else:
            self._item(name, node, index, value)
        return value

    def _list_result(self, node: Node, index: int, inner: list[Any]) -> list[Any]:
        """A list among several results: one node takes it, others take it apart."""
        label = self._free(f"{node.name}_{index}")
        holder = self._append(label, "call_function", operator.getitem, (node, index))
        values = [
            self._result(holder, i, {"as_tensor": each}, f"{index}_")
            for i, each in enumerate(inner)
        ]
        holder.meta["val"] = values
        return values

    def _item(self, name: str, call: Node, index: int, value: Any) -> Node:
        node = self._append(name, "call_function", operator.getitem, (call, index))
        for key in ("stack_trace", "nn_module_stack"):
            if key in call.meta:
                node.meta[key] = call.meta[key]
        self._bind(name, node, value)
        return node


UNSAFE = "archive-unsafe"
AUTO_FUNCTIONALIZED = "torch.ops.higher_order.auto_functionalized_v2"
CLONE = torch.ops.aten.clone.default
SCATTERS: Final[Mapping[Any, tuple[Any, tuple[str, ...]]]] = {
    torch.ops.aten.slice.Tensor: (
        torch.ops.aten.slice_scatter.default,
        ("slice_dim", "slice_start", "slice_end"),
    ),
    torch.ops.aten.as_strided.default: (
        torch.ops.aten.as_strided_scatter.default,
        ("size", "stride", "storage_offset"),
    ),
}
"""Views that a wrapped operator writes to: what puts one back, and the names of its arguments."""
NUMBERS: Final = (int, float, complex, torch.fx.Node)
SCHEMA_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "Device": (torch.device, str),
    "Layout": (torch.layout,),
    "MemoryFormat": (torch.memory_format,),
    "ScalarType": (torch.dtype,),
    "Tensor": NUMBERS,
    "bool": (int, torch.fx.Node),
    "float": (int, float, torch.fx.Node),
    "int": (int, torch.fx.Node),
    "number": NUMBERS,
    "str": (str,),
}
"""What an argument of each type of schemas may be; numbers stand for tensors without sizes."""
OF: Final = re.compile(r"(Optional|List)\[(.+)\]")


def _fits(value: Any, kind: str) -> bool:
    """Whether an argument is of a type: a number for a constant of torch indexes tables in C."""
    outer = OF.fullmatch(kind)
    if outer is None:
        return isinstance(value, SCHEMA_TYPES.get(kind, object))
    if outer[1] == "Optional":
        return value is None or _fits(value, outer[2])
    if isinstance(value, list | tuple):
        return all(_fits(each, outer[2]) for each in value)
    return outer[2] in {"int", "float"} and _fits(value, outer[2])


@cache
def _kinds(target: OpOverload) -> Mapping[str, str]:
    """The type of each parameter, as schemas spell it."""
    return {each.name: str(each.real_type) for each in schema_of(target).arguments}


def node_metadata(written: Json) -> Json:
    """Where a node comes from.

    Raises: Refused.
    """
    found: dict[str, Any] = {}
    if "stack_trace" in written:
        lines = text(written["stack_trace"]).split("\n")
        found["stack_trace"] = "\n".join(map(one_line, lines))
    stack = written.get("nn_module_stack")
    if stack:
        entries = one_line(text(stack)).split(";")
        found["nn_module_stack"] = dict(_stack_entry(each) for each in entries)
    if written.get("torch_fn"):
        found["torch_fn"] = tuple(text(written["torch_fn"]).split(";"))
    if written.get("custom"):
        found["custom"] = json.loads(text(written["custom"]))
    return found


def _stack_entry(entry: str) -> tuple[str, tuple[str, str]]:
    key, path, kind = [*entry.split(",", 2), "", ""][:3]
    return unescaped(key), (unescaped(path), kind)


def _single(target: Any, outputs: list[Any], is_single_tensor: Any) -> Json | None:
    """The only result where a call returns it bare; None where it returns none or several.

    Raises: Refused (there are not as many results as the operator returns).
    """
    if isinstance(target, OpOverload):
        returns = schema_of(target).returns
        if len(returns) != len(outputs):
            raise Refused(f"{target} returns {len(returns)} values, and {len(outputs)} are listed")
        is_bare = len(returns) == 1 and only_key(outputs[0])[0] != "as_tensors"
        return outputs[0] if is_bare else None
    if len(outputs) != 1:
        return None
    if isinstance(target, HigherOrderOperator) and is_single_tensor is False:
        return None
    return outputs[0]


__all__ = ["GraphDeserializer", "node_metadata"]
