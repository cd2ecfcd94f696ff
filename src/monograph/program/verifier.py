"""The IR verifier: rules every program obeys, checked each time one is built.

    nodes       are placeholders, calls of operators, get_attr of subgraphs, and one output
    names       are unique, and a value is made before it is used
    values      every call says what it returns, in `node.meta["val"]`
    signature   lists the placeholders and outputs in order; its state exists; kinds fit values

One pass over the nodes and little else where nothing is wrong: every export waits for it.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.host.fx_nodes import inputs_of
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.program.printing import type_text
from monograph.program.signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch.fx import Graph, Node

    from monograph.diagnostics import MonographError
    from monograph.program.signature import ExportGraphSignature

FUNCTIONS: frozenset[Any] = frozenset(
    {
        operator.abs,
        operator.add,
        operator.and_,
        operator.eq,
        operator.floordiv,
        operator.ge,
        operator.getitem,
        operator.gt,
        operator.invert,
        operator.le,
        operator.lshift,
        operator.lt,
        operator.mod,
        operator.mul,
        operator.ne,
        operator.neg,
        operator.not_,
        operator.or_,
        operator.pos,
        operator.pow,
        operator.rshift,
        operator.sub,
        operator.truediv,
        operator.xor,
        *(function for function in vars(math).values() if callable(function)),
        round,
        torch.sym_float,
        torch.sym_int,
        torch.sym_ite,
        torch.sym_max,
        torch.sym_min,
        torch.sym_not,
        torch.sym_sqrt,
        torch.sym_sum,
    }
)
"""Plain functions a graph may call: arithmetic of sizes, and taking results apart."""

# Types fit kinds of argument like this; a constant fits any.
KINDS: dict[type[Any], type[Any]] = {
    TensorArgument: torch.Tensor,
    SymIntArgument: torch.SymInt,
    SymFloatArgument: torch.SymFloat,
    SymBoolArgument: torch.SymBool,
}

# Tuples: an Enum hashes in Python.
STATE = (InputKind.PARAMETER, InputKind.BUFFER)
HELD = (InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)
STATE_WRITES = (OutputKind.PARAMETER_MUTATION, OutputKind.BUFFER_MUTATION)


def verify(
    module: torch.fx.GraphModule,
    signature: ExportGraphSignature,
    state_dict: Mapping[str, Any],
    constants: Mapping[str, Any],
) -> None:
    """Check a program.

    Raises: invalid-program.
    """
    _verify_graph(module, is_root=True)
    for node, reason in _signature_faults(module.graph, signature, state_dict, constants):
        raise _invalid(module, node, reason)


def verify_state(
    module: torch.fx.GraphModule,
    signature: ExportGraphSignature,
    state: Mapping[str, Any],
) -> None:
    """Check that the state is what the graph was made for: parameters, and their types.

    Raises: invalid-program.
    """
    inputs = (node for node in module.graph.nodes if node.op == "placeholder")
    for spec, node in zip(signature.input_specs, inputs, strict=True):
        held: Any = state.get(spec.target or "")
        val = node.meta.get("val")
        if spec.kind is InputKind.PARAMETER and not isinstance(held, torch.nn.Parameter):
            raise _invalid(module, node, f"stands for `{spec.target}`, which is no parameter now")
        if spec.kind not in STATE or not isinstance(val, torch.Tensor):
            continue
        if (held.dtype, tuple(held.shape)) != (val.dtype, tuple(val.shape)):
            reason = f"stands for `{spec.target}`, which is {type_text(held)} now"
            raise _invalid(module, node, reason)


def _verify_graph(module: torch.fx.GraphModule, *, is_root: bool) -> None:
    graph = module.graph
    names: set[str] = set()
    made: set[Node] = set()
    last = ""
    for node in graph.nodes:
        op = node.op
        if op == "call_function":
            reason = _call_fault(node)
        else:
            reason = "" if op in _NEED_NO_LOOK else _other_fault(module, node, is_root)
        if reason or last == "output" or not made.issuperset(inputs_of(node)):
            raise _invalid(module, node, reason or _order_fault(last))
        if node.name in names:
            raise _invalid(module, node, "has a name that an earlier node has")
        names.add(node.name)
        made.add(node)
        last = op
    if last != "output":
        raise _invalid(module, "graph", "has no output")
    for child in module.children():
        if isinstance(child, torch.fx.GraphModule):
            _verify_graph(child, is_root=False)


_NEED_NO_LOOK = frozenset({"placeholder", "output"})


def _invalid(module: torch.fx.GraphModule, node: object, reason: str) -> MonographError:
    return problem("invalid-program", at=(), graph=module.graph, node=node, reason=reason)


def _order_fault(last: str) -> str:
    if last == "output":
        return "comes after the output"
    return "uses a value that is made later, or in another graph"


def _other_fault(module: torch.fx.GraphModule, node: Node, is_root: bool) -> str:  # noqa: FBT001
    if node.op == "get_attr":
        return _attribute_fault(_attribute(module, str(node.target)), is_root=is_root)
    return f"is a {node.op}, which programs do not have"


def _call_fault(node: Node) -> str:
    target: Any = node.target
    if not isinstance(target, OpOverload | HigherOrderOperator) and target not in FUNCTIONS:
        named = getattr(target, "__name__", target)
        return f"calls {named}, which is neither an operator nor arithmetic of sizes"
    return "" if "val" in node.meta else "does not say what it returns"


def _attribute(module: torch.fx.GraphModule, target: str) -> Any:
    value: Any = module
    for part in target.split("."):
        value = getattr(value, part, None)
    return value


def _attribute_fault(value: object, *, is_root: bool) -> str:
    """Only subgraphs are attributes of a program; a subgraph may hold tensors of its own."""
    if isinstance(value, torch.fx.GraphModule):
        return ""
    if value is None:
        return "names an attribute that does not exist"
    if is_root or not isinstance(value, torch.Tensor):
        return f"reads a {type(value).__name__}, where programs read subgraphs only"
    return ""


# -------------------------------------------------------------------------------------- signature
Fault = tuple[object, str]


def _signature_faults(
    graph: Graph,
    signature: ExportGraphSignature,
    state_dict: Mapping[str, Any],
    constants: Mapping[str, Any],
) -> Iterator[Fault]:
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    yield from _input_faults(inputs, signature, state_dict, constants)
    output = next(iter(reversed(graph.nodes)))
    yield from _output_faults(output, signature)
    names = {node.name for node in inputs}
    for name in signature.mutated_in_place:
        if name not in names:
            yield name, "is said to be mutated in place, and is no input"


def _input_faults(
    inputs: list[Node],
    signature: ExportGraphSignature,
    state_dict: Mapping[str, Any],
    constants: Mapping[str, Any],
) -> Iterator[Fault]:
    specs = signature.input_specs
    if len(inputs) != len(specs):
        yield "graph", f"has {len(inputs)} inputs, and the signature {len(specs)}"
        return
    for node, spec in zip(inputs, specs, strict=True):
        if node.name != spec.arg.name:
            yield node, f"is called `{spec.arg.name}` in the signature"
        if spec.kind in STATE and spec.target not in state_dict and spec.target not in constants:
            yield node, f"stands for `{spec.target}`, which is not in the state"
        if spec.kind in HELD and spec.target not in constants:
            yield node, f"stands for `{spec.target}`, which is not among the constants"
        if spec.kind is InputKind.USER_INPUT and spec.target is not None:
            yield node, "is a user input, and has a target"
        reason = _kind_fault(spec.arg, node)
        if reason:
            yield node, reason


def _output_faults(output: Node, signature: ExportGraphSignature) -> Iterator[Fault]:
    specs = signature.output_specs
    known = {*signature.parameters, *signature.buffers}
    values: Any = output.args[0]
    if not isinstance(values, tuple | list) or len(values) != len(specs):
        yield output, f"does not return the {len(specs)} values of the signature"
        return
    for value, spec in zip(values, specs, strict=True):
        if isinstance(spec.arg, ConstantArgument):
            if isinstance(value, torch.fx.Node) and value.name != spec.arg.name:
                yield output, f"returns {value} where the signature has a constant"
            continue
        if getattr(value, "name", None) != spec.arg.name:
            yield output, f"returns `{value}` where the signature has `{spec.arg.name}`"
            continue
        if spec.kind in STATE_WRITES and spec.target not in known:
            yield value, f"is written to `{spec.target}`, which is not in the signature"
        reason = _kind_fault(spec.arg, value)
        if reason:
            yield value, reason


def _kind_fault(arg: object, node: Node) -> str:
    expected, value = KINDS.get(type(arg)), node.meta.get("val")
    if expected is None or isinstance(value, expected):
        return ""
    # A symbolic number may have become a constant since.
    if expected is not torch.Tensor and isinstance(value, int | float):
        return ""
    return f"is a {type(value).__name__}, where the signature has a {expected.__name__}"
