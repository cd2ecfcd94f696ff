"""The graph builder of passes: nodes with their types, their provenance, and their regions.

Arguments are nodes, constants, and numbers as expressions (`Expr`, `Real`, `Relation`), which are
written when a node needs them; what a node returns is inferred by the rules of its operator, unless
it is known already.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import storage_source
from monograph.abstract.flags import described as flag
from monograph.abstract.symbols import as_stated, to_python, to_sym
from monograph.abstract.tensor import (
    AbstractTensor,
    SymbolicTensor,
    make_tensor,
    with_requires_grad,
)
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.graph_writer import GraphWriter
from monograph.capture.recording.operators import OPERATORS, is_unused
from monograph.diagnostics import frame_filter, problem
from monograph.host.fx_nodes import append_node, remove_node
from monograph.integers import Expr, Real, Relation, eq, is_symbol
from monograph.rules.fallback import Memo

if TYPE_CHECKING:
    from monograph.abstract.layout import LayoutQuestion
    from monograph.capture.recording.lifting import Subgraph
    from monograph.capture.recording.scopes import ModeRegion
    from monograph.diagnostics import Frame
    from monograph.host.operator_types import OpOverload
    from monograph.integers import Facts

NUMBERS = (Expr, Real, Relation)


class NoRecorder:
    """What stands for a recorder behind the tensors in `meta["val"]` of a finished graph."""

    tells_users = False

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse whatever an abstract tensor asks of a recorder."""
        raise problem("leaked-tensor", op=name)

    def layout_asked(self, _tensor: AbstractTensor, _question: LayoutQuestion) -> None:
        """Let a reader of a finished graph look at strides."""

    def dtype_asked(self, _tensor: AbstractTensor) -> None:
        """Let a reader of a finished graph look at dtypes."""

    def text_asked(self, _tensor: AbstractTensor) -> None:
        """Let a reader of a finished graph read."""

    def asked(self, tensor: AbstractTensor, question: str) -> bool:
        """Let a reader of a finished graph look at flags."""
        return flag(tensor, question)


class GraphBuilder:
    """One graph in the making."""

    def __init__(self, facts: Facts, writer: GraphWriter | None = None) -> None:
        self.facts = facts
        self.writer = writer or GraphWriter()
        self.recording: Any = NoRecorder(facts)
        self.provenance: dict[str, Any] = {}
        """What the nodes written now have in their `meta`, beside their value."""
        self.state: tuple[ModeRegion, ...] = ()
        """The regions around the nodes written now, outermost first."""
        self.states: dict[Node, Any] = {}
        self.children: dict[str, Subgraph] = {}
        """What operators of the graph call, by the names it is read by."""
        self._fallback = Memo()

    # --- nodes -------------------------------------------------------------------------------

    def placeholder(self, name: str, val: Any) -> Node:
        """An input; the name must be new."""
        node = append_node(self.writer.graph, name, "placeholder", name, (), {})
        self.writer.names.add(name)
        node.meta["val"] = val  # filled, for `Node.__setattr__` costs as much as all of this
        return node

    def emit(self, target: Any, base: str, args: Any, kwargs: dict[str, Any], val: Any) -> Node:
        """A call that returns `val`."""
        writer = self.writer
        args = tuple([self.written(arg) for arg in args])
        if kwargs:
            kwargs = {name: self.written(arg) for name, arg in kwargs.items()}
        node = append_node(
            writer.graph, writer.new_name(base), "call_function", target, args, kwargs
        )
        meta = node.meta
        meta.update(self.provenance)
        meta["val"] = val
        if self.state:
            self.states[node] = self.state
        return node

    def written(self, arg: Any) -> Any:
        """An argument as a node takes it."""
        cls = type(arg)
        if cls is Node or cls is int:
            return arg
        if isinstance(arg, list | tuple):
            return [self.written(item) for item in arg]
        if isinstance(arg, NUMBERS):
            return self.writer.number(arg)
        return arg

    def call(self, overload: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call an operator as it is; the results, one node each, nested as it returns them."""
        op = OPERATORS.of(overload)
        types = [argument_type(arg) for arg in args]
        keywords = {name: argument_type(arg) for name, arg in kwargs.items()}
        result = self.inferred(overload, types, keywords)
        if op.answers_now:
            return result
        val = self.described(result)
        node = self.emit(overload, op.base_name, args, kwargs, val)
        return self.results(node, val)

    def call_for_first(self, overload: OpOverload, args: Any) -> Node:
        """Call an operator with several results, of which nobody looks at any but the first."""
        op = OPERATORS.of(overload)
        result = self.inferred(overload, [argument_type(arg) for arg in args], {})
        val = self.described(result)
        node = self.emit(overload, op.base_name, args, {}, val)
        return self.emit(operator.getitem, "getitem", (node, 0), {}, val[0])

    def inferred(self, overload: OpOverload, types: Any, keywords: dict[str, Any]) -> Any:
        """The types of an operator's results."""
        op = OPERATORS.of(overload)
        rule = op.rule
        if rule is None and op.returned_arguments == op.mutated == op.argument_names[:1]:
            return types[0]  # in place
        if rule is None:
            return self._fallback.infer(overload, types, keywords)
        return rule(*types, **keywords)

    def results(self, node: Node, val: Any) -> Any:
        """The nodes of an operator's results: itself, or what is taken from a list of them."""
        if isinstance(val, list | tuple):
            return [
                None
                if each is None
                else self.emit(operator.getitem, "getitem", (node, i), {}, each)
                for i, each in enumerate(val)
            ]
        self.bind(node, val)
        return None if val is None else node

    def bind(self, node: Node, val: Any) -> None:
        """Numbers that are born with a value are read off it."""
        if not self.facts.has_unbacked:
            return
        number = as_stated(val)
        if isinstance(number, NUMBERS):
            self.writer.bind(number, node)
            bit = next(iter(number.symbols)) if isinstance(number, Relation) else None
            if bit is not None and number is eq(bit, 1):
                self.writer.bind(bit, node)  # a truth that was read out of data
        elif isinstance(val, SymbolicTensor):
            for dim, size in enumerate(val.tensor_type.shape):
                if isinstance(size, Expr) and self.facts.is_unbacked(size) and is_symbol(size):
                    self.writer.source(size, node, dim, 1, 0)

    def described(self, result: Any) -> Any:
        """What `meta["val"]` holds for a result's type."""
        return described(result, self.facts, self.recording)

    def described_anew(self, val: Any) -> Any:
        """The same description, which holds on to nothing that it was made by."""
        if isinstance(val, AbstractTensor):
            return make_tensor(val.tensor_type, None, self.recording)
        if isinstance(val, list | tuple):
            return tuple([self.described_anew(each) for each in val])
        return val

    def lines(self) -> tuple[Frame, ...]:
        """The user's lines that the nodes written now come from, innermost first."""
        return frame_filter().innermost_user(self.provenance.get("frames", ()))

    def drop_unused(self) -> None:
        """Remove nodes without users that have no effect, and the mark where the body begins."""
        if self.writer.body_begin is not None:
            remove_node(self.writer.body_begin)
            self.writer.body_begin = None
        for node in reversed(self.writer.graph.nodes):
            if is_unused(node):
                remove_node(node)
                self.states.pop(node, None)


def described(result: Any, facts: Facts, recording: Any = None) -> Any:
    """What `meta["val"]` holds for the result of a rule."""
    if isinstance(result, TensorType):
        recording = recording or NoRecorder(facts)
        return make_tensor(result, None, recording)
    if isinstance(result, list | tuple):
        return tuple([described(each, facts, recording) for each in result])
    return to_sym(result, facts)


def argument_type(arg: Any) -> Any:
    """An argument as rules see it."""
    cls = type(arg)
    if cls is Node:
        val = arg.meta["val"]
        return val.tensor_type if isinstance(val, AbstractTensor) else to_python(val)
    if isinstance(arg, list | tuple):
        return [argument_type(item) for item in arg]
    return arg


def type_in_training(value: Any) -> Any:
    """An argument as rules see it, in need of a gradient if it is a parameter or a view of one."""
    given = argument_type(value)
    if not is_tensor(value):
        return given
    owner = storage_source(value)
    return with_requires_grad(given, owner.op == "placeholder" and tensor_type(owner).requires_grad)


def tensor_type(node: Node) -> TensorType:
    """The type of the tensor a node makes."""
    return node.meta["val"].tensor_type


def is_tensor(value: Any) -> bool:
    """Whether a value is a node that makes a tensor."""
    return value.__class__ is Node and isinstance(value.meta["val"], torch.Tensor)


def same_layout(a: TensorType, b: TensorType) -> bool:
    """Whether operators cannot tell two types apart; `requires_grad` is no matter."""
    return (
        a.shape == b.shape
        and a.dtype is b.dtype
        and (a.strides == b.strides or a.stride() == b.stride())
        and a.offset == b.offset
    )
