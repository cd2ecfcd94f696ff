"""Example inputs become abstract ones: flattened, checked, their dynamic sizes made symbols.

Every leaf of `(args, kwargs)` gets a placeholder, in order, also those that are no tensors: their
values are part of the contract.
"""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from monograph.abstract.layout import is_dense, stride_order, strides_in_order
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import TensorType, type_of
from monograph.diagnostics import problem, together
from monograph.dims import Declared, DerivedDim, Dim, DimHint, read_specification
from monograph.host.dispatch import has_own_dispatch
from monograph.integers import Expr, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch.fx.node import Node

    from monograph.capture.graph_writer import GraphWriter
    from monograph.capture.recorder import Recorder
    from monograph.integers import Facts, Int

_CONSTANTS = (int, float, bool, str, type(None), complex, torch.dtype, torch.device)


@dataclass(frozen=True, slots=True)
class DynamicSize:
    """One declared dimension: where it is, what was declared, and the symbol it became."""

    path: str
    axis: int
    entry: Dim | DerivedDim | DimHint
    symbol: Expr
    size: Int


@dataclass(frozen=True, slots=True)
class InputLeaf:
    """One leaf of the example inputs: `x[0]`, its value, its type if it is a tensor."""

    path: str
    name: str
    value: Any
    tensor_type: TensorType | None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The example inputs of one capture, flattened."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    spec: Any
    leaves: tuple[InputLeaf, ...]
    dynamic: tuple[DynamicSize, ...]
    names: dict[Expr, str]
    """How each symbol is called: `batch`, or where it comes from: `x.shape[0]`."""


def read_inputs(
    module: torch.nn.Module,
    args: Any,
    kwargs: Any,
    dynamic_shapes: Any,
    facts: Facts,
) -> Inputs:
    """Bind the examples to `forward`, flatten them, and make symbols for dynamic sizes.

    Raises: args-not-a-tuple, forward-rejects-inputs, unsupported-input, and every spec-* name.
    """
    if not isinstance(args, tuple | list):
        raise problem("args-not-a-tuple", given=args)
    args, kwargs = tuple(args), dict(kwargs or {})
    arguments = bind(module, args, kwargs)
    if hasattr(dynamic_shapes, "dynamic_shapes"):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
    declared = {
        each.leaf: each for each in read_specification(dynamic_shapes, arguments)
    }
    flat, spec = pytree.tree_flatten((args, kwargs))
    paths = _paths(arguments, len(flat))
    _check_leaves(flat, paths)
    makers = _Symbols(facts)
    leaves: list[InputLeaf] = []
    for i, (value, path) in enumerate(zip(flat, paths, strict=True)):
        tensor_type = None
        if isinstance(value, torch.Tensor):
            tensor_type = makers.abstract_type(type_of(value), path, declared.get(i))
        leaves.append(InputLeaf(path, _placeholder_name(path), value, tensor_type))
    return Inputs(
        args, kwargs, spec, tuple(leaves), tuple(makers.dynamic), makers.names
    )


def bind(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The example inputs by name, in the order in which `(args, kwargs)` is flattened.

    Extra positional arguments are one entry under the name of `*args`; keyword arguments that
    `forward` gathers in `**kwargs` keep their own names.

    Raises: forward-rejects-inputs.
    """
    try:
        signature = inspect.signature(module.forward)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError) as error:
        given = ", ".join([type(a).__name__ for a in args] + [f"{k}=" for k in kwargs])
        raise problem(
            "forward-rejects-inputs",
            signature=f"forward{_signature_text(module)}",
            given=f"({given})",
            reason=str(error),
        ) from None
    by_name: dict[str, Any] = {}
    rest = len(args)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if rest > 0:
                by_name[name] = args[len(args) - rest :]
            break
        if parameter.kind is parameter.KEYWORD_ONLY or rest == 0:
            break
        by_name[name] = bound.arguments[name]
        rest -= 1
    by_name.update(kwargs)
    return by_name


def _signature_text(module: torch.nn.Module) -> str:
    try:
        return str(inspect.signature(module.forward))
    except (TypeError, ValueError):
        return "(...)"


def _paths(arguments: Mapping[str, Any], count: int) -> list[str]:
    paths = [
        name + pytree.keystr(path)
        for name, value in arguments.items()
        for path, _ in pytree.tree_flatten_with_path(value)[0]
    ]
    if len(paths) != count:
        return [f"input_{i}" for i in range(count)]
    return paths


def _placeholder_name(path: str) -> str:
    """`x`, `y_0` for `y[0]`, `batch_mask` for `batch['mask']`."""
    return "".join(c if c.isalnum() else "_" for c in path.replace("]", "").replace("'", "")).rstrip("_")


def _check_leaves(flat: list[Any], paths: list[str]) -> None:
    problems = [
        problem("unsupported-input", path=path, type=type(value))
        for value, path in zip(flat, paths, strict=True)
        if not _is_supported(value)
    ]
    if problems:
        raise together(problems)


def _is_supported(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        own = has_own_dispatch(value) or isinstance(value, AbstractTensor)
        return not own and value.layout == torch.strided
    return isinstance(value, _CONSTANTS) or not hasattr(value, "__dict__") or isinstance(value, enum.Enum)


class _Symbols:
    """Makes the symbols of dynamic sizes: one per named Dim, one per anonymous dimension."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.by_name: dict[str, Expr] = {}
        self.dynamic: list[DynamicSize] = []
        self.names: dict[Expr, str] = {}

    def abstract_type(self, t: TensorType, path: str, declared: Declared | None) -> TensorType:
        """The example's type with symbols for its dynamic sizes."""
        if declared is None:
            return t
        shape: list[Int] = list(t.shape)
        for axis, entry in enumerate(declared.entries):
            if entry is not None:
                shape[axis] = self._size(entry, t.shape[axis], path, axis)
        strides = _symbolic_strides(t, tuple(shape))
        return TensorType(tuple(shape), t.dtype, t.device, strides, t.offset, t.requires_grad)

    def _size(self, entry: Dim | DerivedDim | DimHint, example: Any, path: str, axis: int) -> Int:
        where = f"{path}.shape[{axis}]"
        if isinstance(entry, DimHint):
            symbol = self._new(f"s{len(self.names)}", example, entry.min or 0, entry.max, where)
            self.names[symbol] = where
            size: Int = symbol
        else:
            root = entry if isinstance(entry, Dim) else entry.root
            hint = example
            if isinstance(entry, DerivedDim):
                hint = (example - entry.offset) // entry.coefficient
            symbol = self.by_name.get(root.__name__)
            if symbol is None:
                symbol = self._new(root.__name__, hint, root.min, root.max, where)
                self.by_name[root.__name__] = symbol
                self.names[symbol] = root.__name__
            size = symbol
            if isinstance(entry, DerivedDim):
                size = symbol * entry.coefficient + entry.offset
        self.dynamic.append(DynamicSize(path, axis, entry, symbol, size))
        return size

    def _new(self, name: str, hint: int, lower: int, upper: int | None, source: str) -> Expr:
        return self.facts.symbol(name, hint=hint, lower=lower, upper=upper, source=source)


def _symbolic_strides(t: TensorType, shape: tuple[Int, ...]) -> tuple[Int, ...] | None:
    """Strides that follow the symbolic sizes in the example's order of dimensions."""
    if t.strides is None:
        return None
    return strides_in_order(shape, stride_order(t)) if is_dense(t) else t.strides


def write_inputs(
    inputs: Inputs, writer: GraphWriter, recorder: Recorder
) -> tuple[list[Any], tuple[Node, ...]]:
    """Placeholders for every leaf; returns the leaves user code gets, and the placeholders."""
    values: list[Any] = []
    nodes: list[Node] = []
    for leaf in inputs.leaves:
        node = writer.placeholder(leaf.name)
        nodes.append(node)
        if writer.inputs_begin is None:
            writer.inputs_begin = node
        if leaf.tensor_type is None:
            node.meta["val"] = leaf.value
            values.append(leaf.value)
            continue
        tensor = make_tensor(leaf.tensor_type, node, recorder)
        node.meta["val"] = tensor
        writer.stands_for(tensor)
        _bind_sizes(leaf, node, writer)
        values.append(tensor)
    return values, tuple(nodes)


def _bind_sizes(leaf: InputLeaf, node: Node, writer: GraphWriter) -> None:
    assert leaf.tensor_type is not None, "only tensors have sizes"
    for dim, size in enumerate(leaf.tensor_type.shape):
        if isinstance(size, Expr):
            parts = dict((atoms, coefficient) for coefficient, atoms in terms(size))
            offset = parts.pop((), 0)
            (((symbol,), coefficient),) = parts.items()
            writer.source(symbol, node, dim, coefficient, offset)
