"""Fake inputs: examples become abstract tensors, their dynamic sizes backed symbols.

Every leaf of `(args, kwargs)` gets a placeholder, in order, also those that are no tensors: their
values are part of the contract.
"""

from __future__ import annotations

import enum
import re
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.layout import is_dense, stride_order, strides_in_order
from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import TensorType, type_of, unusual_layout
from monograph.capture.inputs.mutation_spec import objects_among, steps_text
from monograph.diagnostics import MonographError, problem, together
from monograph.dims import (
    Arguments,
    Declared,
    DeclaredNumber,
    DerivedDim,
    Dim,
    DimHint,
    Specification,
    bound_arguments,
    read_specification,
    unwrapped,
)
from monograph.host.dispatch import has_own_dispatch, has_own_functions
from monograph.host.trees import CyclicTreeError, Visits, flatten, leaf_paths
from monograph.integers import Expr, Real, ge, le, parse_relation, terms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from torch.fx.node import Node

    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.run_options import RunOptions
    from monograph.integers import Facts, Int, Interval

STAND_IN = 5
"""The hint of a dimension whose example is 0 or 1.

An example of 1 must not choose the special side of a question (broadcasting, squeezing,
contiguity). One number for all such dimensions, because sizes of 1 often mean the same thing.
"""

CONSTANTS = (
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    type(...),
    slice,
    range,
    frozenset,
    enum.Enum,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    torch.Size,
)


@dataclass(frozen=True, slots=True)
class DynamicSize:
    """One declared size: where it is, what was declared, and the symbol it became.

    An int that differs between calls is one too, without an axis.
    """

    path: str
    axis: int | None
    entry: Dim | DerivedDim | DimHint
    symbol: Expr
    size: Int

    @property
    def where(self) -> str:
        """As users write it: `x.shape[0]`, `n`."""
        return _where(self.path, self.axis)

    @property
    def may_be_fixed(self) -> bool:
        """Whether nobody insists on it: it is `Dim.AUTO`."""
        return isinstance(self.entry, DimHint) and self.entry.mode == "AUTO"


@dataclass(frozen=True, slots=True)
class InputLeaf:
    """One leaf of the example inputs: `x[0]`, its value, its type if it is a tensor.

    `number` is what an int or a float that differs between calls became.
    """

    path: str
    name: str
    value: Any
    tensor_type: TensorType | None
    number: Int | Real | None = None


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
    examples: dict[Expr, int]
    """The value of each symbol in the example, which a hint stands in for where it is 0 or 1."""
    stated: dict[Expr, Int]
    """What the declared relations alone say that a symbol is, where they say it."""
    allowed: dict[Expr, Interval]
    """The range of each named symbol as declared, relations included."""
    insisted: frozenset[str]
    """Paths of floats that are declared `Dim.DYNAMIC`: they must not turn out constant."""
    declaration: Any
    """What was declared, by argument; one line of text as it was given."""
    arguments: Arguments
    """The example inputs by name, which the declaration mirrors."""
    options: RunOptions
    """How the sizes were read."""


def read_inputs(
    module: torch.nn.Module,
    args: Any,
    kwargs: Any,
    dynamic_shapes: Any,
    facts: Facts,
    options: RunOptions,
) -> Inputs:
    """Bind the examples to `forward`, flatten them, and make symbols for dynamic sizes.

    `options` says which sizes take the example's value as their hint even where that is 0 or 1 (the
    others take `STAND_IN` then), and which are no symbols this time, but numbers.

    Raises: args-not-a-tuple, forward-rejects-inputs, unsupported-input, and every spec-* name.
    """
    if not isinstance(args, tuple | list):
        raise problem("args-not-a-tuple", given=args)
    args, kwargs = tuple(args), dict(kwargs or {})
    if hasattr(dynamic_shapes, "dynamic_shapes"):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
        args, kwargs = unwrapped((args, kwargs))
    arguments = bound_arguments(module, args, kwargs)
    flat, spec = flattened((args, kwargs), arguments.by_name)
    visits = Visits()
    names = _paths(arguments.by_name, len(flat), visits)
    _check_leaves(flat, names)
    if visits.paths:
        _check_not_held(module, visits)
        _check_apart(arguments.by_name)
    specification = Specification()
    if dynamic_shapes is not None or visits.paths:
        specification = read_specification(dynamic_shapes or {}, arguments)
    declared = {each.leaf: each for each in specification.declared}
    numbers = {each.leaf: each for each in specification.numbers}
    counted = options.counted
    if visits.paths:
        counted |= _kept_sizes(specification, flat, names, visits.paths)
    makers = _Symbols(facts, options, specification.relations)
    leaves: list[InputLeaf] = []
    for i, (value, path) in enumerate(zip(flat, names, strict=True)):
        tensor_type, number = None, None
        if isinstance(value, torch.Tensor):
            tensor_type = makers.abstract_type(type_of(value), path, declared.get(i))
        elif i in numbers:
            number = makers.number(value, numbers[i])
        elif path in counted:
            number = makers.number(value, DeclaredNumber(i, path, Dim.AUTO))
        leaves.append(InputLeaf(path, _placeholder_name(path), value, tensor_type, number))
    return Inputs(
        args=args,
        kwargs=kwargs,
        spec=spec,
        leaves=tuple(leaves),
        dynamic=tuple(makers.dynamic),
        names=makers.names,
        examples=makers.examples,
        stated=makers.state_relations(),
        allowed={symbol: facts.range_of(symbol) for symbol in makers.by_name.values()},
        insisted=frozenset(
            each.path
            for each in specification.numbers
            if isinstance(each.entry, DimHint) and each.entry.mode == "DYNAMIC"
        ),
        declaration=dynamic_shapes,
        arguments=arguments,
        options=options,
    )


def flattened(tree: Any, roots: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The leaves and the structure of a tree, whose parts people know by these names.

    Raises: cyclic-container.
    """
    try:
        return flatten(tree)
    except CyclicTreeError:
        pass
    for name, value in roots.items():
        try:
            flatten(value)
        except CyclicTreeError as error:
            path, holder = f"{name}{error.path}", f"{name}{error.holder}"
            refusal = problem("cyclic-container", path=path, holder=holder, type=error.kind)
            raise refusal from None
    raise AssertionError("a cycle is in one of the parts")


def _paths(arguments: Mapping[str, Any], count: int, visits: Visits) -> list[str]:
    paths = [path for name, value in arguments.items() for path in leaf_paths(name, value, visits)]
    if len(paths) != count:
        return [f"input_{i}" for i in range(count)]
    return paths


def _kept_sizes(
    specification: Specification, flat: list[Any], paths: list[str], objects: AbstractSet[str]
) -> frozenset[str]:
    """The paths of ints that objects keep beside tensors whose sizes vary, and that are such sizes.

    A cache that notes its `batch_size` does. What forward makes of them is guarded.
    """
    sizes: dict[str, set[int]] = {}
    for each in specification.declared:
        owner = each.path.rpartition(".")[0]
        if owner in objects:
            shape = zip(each.entries, flat[each.leaf].shape, strict=True)
            sizes.setdefault(owner, set()).update([n for entry, n in shape if entry is not None])
    return frozenset(
        path
        for path, value in zip(paths, flat, strict=True)
        if type(value) is int and value in sizes.get(path.rpartition(".")[0], ())
    )


def _placeholder_name(path: str) -> str:
    """`x`, `y_0` for `y[0]`, `batch_mask` for `batch['mask']`."""
    if path.isidentifier():
        return path
    return re.sub(r"\W", "_", path.replace("]", "").replace("'", "")).rstrip("_")


def _check_not_held(module: torch.nn.Module, visits: Visits) -> None:
    """An object among the inputs is another one than those that the module holds.

    Raises: outside-read.
    """
    for path, each in module.named_modules():
        for (root, steps), owner in objects_among((), vars(each)):
            if visits.has_met(owner):
                name = ".".join(filter(None, ("self", path, str(root)))) + steps_text(steps)
                because = "an object that is among the inputs, too"
                raise problem("outside-read", what=name, because=because)


def _check_apart(arguments: Mapping[str, Any]) -> None:
    """A list or a dict in an object is there once: what is written to it is seen once.

    Raises: unsupported-input.
    """
    seen: dict[int, tuple[Any, str]] = {}
    for (root, steps), owner in objects_among((), arguments):
        if type(owner) in _BUILTIN and any(how == "attribute" for how, _ in steps):
            path = f"{root}{steps_text(steps)}"
            keys = root, *[key for _, key in steps]  # a dict may have its items as attributes
            other, first = seen.setdefault(id(owner), (keys, path))
            if other != keys:
                what = f"{type(owner).__name__} that is at {first}, too"
                raise problem("unsupported-input", path=path, type=what)


_BUILTIN: Final = frozenset({list, dict, deque, OrderedDict, defaultdict})


def _check_leaves(flat: list[Any], paths: list[str]) -> None:
    problems = [
        refusal
        for value, path in zip(flat, paths, strict=True)
        if (refusal := _refusal(value, path)) is not None
    ]
    if problems:
        raise together(problems)


def _refusal(value: Any, path: str) -> MonographError | None:
    """Why a leaf cannot be an input, if so."""
    if isinstance(value, torch.Tensor):
        own = has_own_dispatch(value) or has_own_functions(value)
        if not own and not isinstance(value, AbstractTensor):
            layout = unusual_layout(value)
            if layout is None:
                return None
            return problem("unsupported-layout", what=f"the input `{path}`", layout=layout)
    elif isinstance(value, CONSTANTS):
        return None
    return problem("unsupported-input", path=path, type=type(value))


class _Symbols:
    """Makes the symbols of dynamic sizes: one per named Dim, one per anonymous dimension."""

    def __init__(self, facts: Facts, options: RunOptions, relations: tuple[str, ...] = ()) -> None:
        self.facts = facts
        self.options = options
        self.relations = relations
        self.examples: dict[Expr, int] = {}
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

    def number(self, example: float, declared: DeclaredNumber) -> Int | Real:
        """What an int or a float that differs between calls becomes."""
        entry, path = declared.entry, declared.path
        if isinstance(example, int):
            return self._size(entry, example, path, None)
        real = self.facts.float_input(f"s{len(self.names)}", hint=example, source=path)
        (symbol,) = real.symbols
        self.names[symbol] = path
        self.examples[symbol] = self.facts.hints[symbol]
        if entry.min is not None:
            self.facts.guard(ge(real, entry.min))
        if entry.max is not None:
            self.facts.guard(le(real, entry.max))
        return real

    def state_relations(self) -> dict[Expr, Int]:
        """Assume what was declared of several sizes, to be checked when the program is called."""
        for relation in self.relations:
            self.facts.guard(parse_relation(relation, {**self.by_name, **self.options.fixed}))
        found = {symbol: self.facts.simplify(symbol) for symbol in self.by_name.values()}
        return {symbol: size for symbol, size in found.items() if size is not symbol}

    def _size(
        self, entry: Dim | DerivedDim | DimHint, example: Any, path: str, axis: int | None
    ) -> Int:
        where = _where(path, axis)
        fixed = self.options.fixed.get(where if isinstance(entry, DimHint) else root_name(entry))
        if fixed is not None:
            return _derived(entry, fixed)
        if isinstance(entry, DimHint):
            # A size is never negative; an int may be.
            lower = entry.min if axis is None else entry.min or 0
            name, may_differ = f"s{len(self.names)}", axis is not None
            symbol = self._new(name, example, lower, entry.max, where, may_differ=may_differ)
            self.names[symbol] = where
            size: Int = symbol
        else:
            root = entry if isinstance(entry, Dim) else entry.root
            hint = example
            if isinstance(entry, DerivedDim):
                hint = (example - entry.offset) // entry.coefficient
            symbol = self.by_name.get(root.__name__)
            if symbol is None:
                name, may_differ = root.__name__, axis is not None
                symbol = self._new(name, hint, root.min, root.max, where, may_differ=may_differ)
                self.by_name[root.__name__] = symbol
                self.names[symbol] = root.__name__
            size = _derived(entry, symbol)
        self.dynamic.append(DynamicSize(path, axis, entry, symbol, size))
        return size

    def _new(
        self,
        name: str,
        example: int,
        lower: int | None,
        upper: int | None,
        source: str,
        *,
        may_differ: bool,
    ) -> Expr:
        """`may_differ` says that a stand-in may be the hint: of a size, not of an int."""
        hint = example
        may_differ = (
            may_differ and source not in self.options.literal and not self._is_related(name)
        )
        if may_differ and 0 <= example <= 1:
            hint = _stand_in(example, lower or 0, upper)
        symbol = self.facts.symbol(name, hint=hint, lower=lower, upper=upper, source=source)
        self.examples[symbol] = example
        return symbol

    def _is_related(self, name: str) -> bool:
        """Whether a declared relation is about it: then hints are to satisfy that."""
        return any(re.search(rf"\b{name}\b", relation) for relation in self.relations)


def root_name(entry: Dim | DerivedDim) -> str:
    """The name of the Dim that a size is, or is derived from."""
    return (entry if isinstance(entry, Dim) else entry.root).__name__


def _derived(entry: Dim | DerivedDim | DimHint, size: Int) -> Int:
    if isinstance(entry, DerivedDim):
        return size * entry.coefficient + entry.offset
    return size


def _where(path: str, axis: int | None) -> str:
    return path if axis is None else f"{path}.shape[{axis}]"


def _stand_in(example: int, lower: int, upper: int | None) -> int:
    """A size in the range that is neither 0 nor 1, if there is one."""
    wanted = max(STAND_IN, lower)
    if upper is None or wanted <= upper:
        return wanted
    return upper if upper > 1 else example


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
        if leaf.number is not None:
            node.meta["val"] = to_sym(leaf.number)
            values.append(node.meta["val"])
            bind_number(leaf.number, node, writer)
            continue
        if leaf.tensor_type is None:
            node.meta["val"] = leaf.value
            values.append(leaf.value)
            continue
        tensor = make_tensor(leaf.tensor_type, node, recorder)
        node.meta["val"] = tensor
        writer.stands_for(tensor)
        bind_sizes(leaf.tensor_type, node, writer)
        values.append(tensor)
    return values, tuple(nodes)


def may_be_fixed(inputs: Inputs) -> frozenset[Expr]:
    """The sizes that may turn out constant: everything about them was left to the capture."""
    if not inputs.dynamic:
        return frozenset()
    insisted = {size.symbol for size in inputs.dynamic if not size.may_be_fixed}
    return frozenset(size.symbol for size in inputs.dynamic if size.symbol not in insisted)


def bind_sizes(t: TensorType, node: Node, writer: GraphWriter) -> None:
    """The symbols in the sizes of an input are read off it."""
    for dim, size in enumerate(t.shape):
        if isinstance(size, Expr):
            bind_size(size, node, dim, writer)


def bind_size(size: Expr, node: Node, dim: int | None, writer: GraphWriter) -> None:
    """The symbol of a size is read off this dimension; `size` is linear in it."""
    parts = {atoms: coefficient for coefficient, atoms in terms(size)}
    offset = parts.pop((), 0)
    (((symbol,), coefficient),) = parts.items()
    writer.source(symbol, node, dim, coefficient, offset)


def bind_number(number: Int | Real, node: Node, writer: GraphWriter) -> None:
    """The symbol of an input that is a number is that input."""
    if isinstance(number, Real):
        writer.bind(number, node)
    elif isinstance(number, Expr):
        bind_size(number, node, None, writer)
