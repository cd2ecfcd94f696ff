"""The recorder of one segment: a graph of operators, guards, and deferred writes.

The segment runs while it is recorded, so what is here only looks on: it knows which objects come
from outside, which tensors the graph makes, and what was written to.
"""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final
from weakref import ReferenceType

import numpy as np
import torch

from monograph.bytecode.evaluation.frame import Mark
from monograph.host.execution_modes import MODE_SETTERS, MODE_STATE
from monograph.jit.graphs.arrays import (
    array_condition,
    has_arrays,
    has_counted,
    is_array,
    writes_array,
)
from monograph.jit.graphs.branch_graphs import BranchGraphs, NotRecordable
from monograph.jit.graphs.data_numbers import COUNTING, MAKING_MEMORY
from monograph.jit.graphs.expectations import (
    OF_DTYPE,
    OF_INPUT,
    OF_RANK,
    OF_SHAPE,
    assume_shape,
    assume_truth,
    assume_value,
    expect_length,
    expect_metadata,
    expect_rank,
    expect_same,
    expect_shape,
    expect_value,
)
from monograph.jit.graphs.sizes import (
    ARITHMETIC,
    ORDER,
    SYMBOLIC,
    ChosenTensor,
    number_of,
    plain,
    read_of,
    symbolic,
)
from monograph.jit.guard_code import (
    ATOMS,
    CONTAINERS,
    GuardWriter,
    NotGuardable,
    container_of,
    description,
    is_constant,
    is_plain,
    is_python_class,
    sharing,
    storage_of,
)
from monograph.jit.state_recipes import ITERATORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import Node

    from monograph.jit.graphs.operator_observer import Observation

__all__ = ["DONE", "NotRecordable", "SegmentRecorder", "Write"]


DONE: Final = Mark("done")
"""What a watch returns where the instruction has run."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write to an object from outside: `code` writes `values` to `owner`."""

    owner: Any
    code: str
    values: tuple[Any, ...]


_BASE_ARGUMENTS: Final = (
    *(bool, int, float, complex, str, type(None), type(Ellipsis)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)


def is_open(kind: type) -> bool:
    """Whether what objects of a class hold is seen when it is read."""
    return is_python_class(kind) or kind in (FunctionType, MethodType, CellType, partial)


class SegmentRecorder(BranchGraphs):
    """What is known of one segment while it runs."""

    def __init__(self, place: Callable[[], str]) -> None:
        """`place` gives the line of user code that runs now."""
        super().__init__()
        self.guards = GuardWriter(place)
        self.inputs: list[tuple[str, Any]] = []
        """Tensors and numbers that the graph takes, with what gives them."""
        self.writes: list[Write] = []
        self.written: set[tuple[int, str]] = set()
        """Attributes, cells and globals that have another value by now than at the entry."""
        self.sealed: set[int] = set()
        """Containers that hold something else by now, and whose contents are not guarded."""
        self.variables: dict[int, Any] = {}
        """Whose `__dict__` was read as a dict, by the identity of that."""
        self.pending: dict[tuple[int, int], tuple[str, str]] = {}
        """Variables that nobody has read yet: (frame, slot) to (expression, label)."""
        self.numbers: set[tuple[int, int]] = set()
        """Those of them that hold numbers that vary."""
        self.modes: Any = MODE_STATE()
        self.made_functions: set[int] = set()
        self.advanced: dict[int, tuple[Any, int]] = {}
        """Iterators from outside, with how often they were asked."""
        self.tokens: dict[int, tuple[str, bool]] = {}
        """Tokens of context variables that were set, by identity: how the replay calls each, and
        whether the variable had its first value."""
        self.checks: list[tuple[torch.Tensor, bool, Any]] = []
        """Conditions on data that are assumed to be as they were, with the instruction."""
        self.mutates = self.draws = False
        self.sets_modes = self.sets_autocast = self.filters_warnings = False
        self.resumed: list[Any] = []
        """Generators from outside that context managers have run to their ends."""
        self.varies = self.takes_numbers = self.is_symbolic = False
        """Whether sizes are values of the graph, whether numbers that depend on data may be; and
        whether there may be some on stacks, which know their nodes."""
        self.reads_metadata = False
        """Whether the backend compiles for the metadata of the inputs."""
        self.holders: dict[int, Any] = {}
        """Cells and frames of generators that may hold sizes, by identity."""
        self.assumptions: list[tuple[Node, Any, tuple[Any, ...]]] = []
        """What data say, as `expectations`; where it is another, the graph is left."""
        self.ask: Callable[[Any], Any] = lambda _: None
        """What names the place where data are asked, if their answer is assumed."""
        self.risky_at: Any = None
        """Where an operator may raise after others that cannot be taken back."""
        self._last_input: Any = self.graph._root  # noqa: SLF001 - "before the first node"

    @property
    def has_irrevocable(self) -> bool:
        """Whether the graph writes to memory from outside, or draws."""
        return self.mutates or self.draws

    def release(self) -> None:
        """Keep nothing alive any longer: what nobody else holds ends now, as in eager code."""
        self._kept.clear()
        self.writes.clear()
        self.guards.forget()
        self.guards.originals.clear()

    # --- what is looked into ---------------------------------------------------------------

    def touch(self, value: Any, seen: set[int] | None = None) -> None:  # noqa: C901 - a table
        """Something looks into a value. Raises: NotRecordable."""
        kind = type(value)
        seen = set() if seen is None else seen
        if kind in ATOMS or isinstance(value, torch.Tensor) or id(value) in seen:
            return
        seen.add(id(value))
        is_known = self.guards.is_known(value) and id(value) not in self.guards.shared
        if id(value) in self.sealed:
            raise NotRecordable(f"`{self.guards.label(value)}` is read after it was written to")
        if kind in CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            if is_known:
                self._guard_contents(value)
            for item in value.values() if isinstance(value, dict) else value:
                self.touch(item, seen)
        elif isinstance(value, dict | list) and container_of(kind) is not None:
            self._touch_derived(value, seen)
        elif kind in ITERATORS:
            if is_known:
                raise NotRecordable("an iterator from outside is consumed")
            self.touch(value.__reduce__()[1], seen)
        elif kind is ReferenceType:
            return  # calling it is seen
        elif is_known and not (is_constant(value) or is_open(kind) or self.is_array(value)):
            raise NotRecordable(f"what an object of type `{kind.__name__}` holds")

    def _touch_derived(self, value: Any, seen: set[int]) -> None:
        if self.guards.is_known(value):
            self._guard_contents(value)
        base = container_of(type(value))
        for item in base.__iter__(value) if base is list else base.values(value):
            self.touch(item, seen)

    def _guard_contents(self, value: Any) -> None:
        try:
            self.guards.contents(value)
        except NotGuardable as reason:
            raise NotRecordable(str(reason)) from None

    def advance(self, iterator: Any) -> None:
        """An iterator from outside is asked for its next item. Raises: NotRecordable."""
        self.refuse_in_side()
        self._guard_position(iterator)
        _, n = self.advanced[id(iterator)]
        self.advanced[id(iterator)] = (iterator, n + 1)

    def _guard_position(self, iterator: Any) -> None:
        guards = self.guards
        reduced = iterator.__reduce__()
        if id(iterator) not in self.advanced:
            self.advanced[id(iterator)] = (iterator, 0)
            label = f"the state of {guards.label(iterator)}"
            guards.meet(reduced, f"{guards.names[id(iterator)]}.__reduce__()", label)
            self._guard_contents(reduced)
        for item in reduced[1]:
            if type(item) in ITERATORS and guards.is_known(item):
                self._guard_position(item)
            else:
                self.touch(item)

    def has_tensors(self, value: Any, depth: int = 0) -> bool:
        """Whether a value is or holds a tensor, or an array."""
        if isinstance(value, torch.Tensor) or self.is_array(value):
            return True
        if type(value) in CONTAINERS or isinstance(value, tuple):
            items = value.values() if isinstance(value, dict) else value
            return depth < 8 and any(self.has_tensors(item, depth + 1) for item in items)
        if type(value) in ITERATORS:
            return self.has_tensors(value.__reduce__()[1], depth + 1)
        return False

    # --- tensors ----------------------------------------------------------------------------

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array that may be one of the graph."""
        return self.takes_numbers and is_array(value)

    def has_arrays(self, *values: Any) -> bool:
        """Whether arrays are among values, or in lists and tuples of them."""
        return self.takes_numbers and has_arrays(values)

    def node_of(self, tensor: Any) -> Node:
        """The node that gives a tensor or an array. Raises: NotRecordable."""
        if self.filters_warnings:
            raise NotRecordable("an operator after a change of the filters of warnings")
        node = self.nodes.get(id(tensor)) or self._given.get(id(tensor))
        if node is not None:
            return self._lifted_of(tensor, node)
        if not self.guards.is_known(tensor):
            raise NotRecordable("a tensor of unknown origin")
        if not isinstance(tensor, torch.Tensor):
            name = self.guards.names[id(tensor)]
            fails = array_condition(name, tensor, self.guards.constant)
            self.guards.check(fails, self.guards.label(tensor), "an array of that kind", name)
            return self.lifted(self._given_node(name, tensor))
        if not is_plain(tensor):
            raise NotRecordable(f"a `{type(tensor).__name__}` that is no plain dense tensor")
        name = self.guards.read_by_operator(tensor)
        node = self._given_node(name, tensor)
        self._storages.add(storage_of(tensor))
        return self._lifted_of(tensor, node)

    def _lifted_of(self, tensor: Any, node: Node) -> Node:
        if self.side is not None and node.graph is not self.graph:
            if not isinstance(tensor, torch.Tensor):
                self.refuse_in_side()
            self.side.storages.add(storage_of(tensor))
        return self.lifted(node)

    def _given_node(self, name: str, value: Any) -> Node:
        node = self._given[id(value)] = self.nodes[id(value)] = self._input(name, value)
        return node

    def _input(self, name: str, value: Any) -> Node:
        with self._last_input.graph.inserting_after(self._last_input):
            self._last_input = self._last_input.graph.placeholder(f"input_{len(self.inputs)}")
        self.inputs.append((name, value))
        return self._last_input

    def metadata(self, tensor: torch.Tensor, name: str = "") -> None:
        """Python asks for the shape or dtype of a tensor, by a name. Raises: NotRecordable."""
        node = self.node_of(tensor)
        if id(tensor) in self.tainted:
            shape = tuple(tensor.shape)
            self.assume(node, assume_shape, shape, "the shape of a tensor depends on data")
            self.tainted.discard(id(tensor))
            self.expect(node, expect_shape, shape)
        if self.varies and name in OF_RANK:
            self.rely_on_rank(tensor)
        elif self.varies and name in OF_INPUT | OF_DTYPE and self.guards.is_known(tensor):
            name = "dtype" if name in OF_DTYPE else name
            value = getattr(tensor, name)
            read = f"{self.guards.names[id(tensor)]}.{name}"
            about = f"{self.guards.label(tensor)}.{name}"
            self.guards.check(f"{read} != {self.guards.constant(value)}", about, value, read)
        elif name in OF_SHAPE or self.guards.is_known(tensor):
            self.rely_on_shape(tensor)
        elif name in OF_INPUT | OF_DTYPE:
            name = "dtype" if name in OF_DTYPE else name
            self.expect(node, expect_metadata, name, getattr(plain(tensor), name))
        else:
            facts = description(plain(tensor))
            self.expect(node, expect_metadata, "all", tuple(facts.values()))

    def rely_on_shape(self, tensor: torch.Tensor) -> None:
        """What happens next depends on the shape. Raises: NotRecordable."""
        node = self.node_of(tensor)
        if self.guards.is_known(tensor):
            self.guards.tensor(tensor)
        else:
            self.expect(node, expect_shape, tuple(tensor.shape))

    # --- sizes ------------------------------------------------------------------------------

    def has_sizes(self, tensor: torch.Tensor) -> bool:
        """Whether the sizes of a tensor are values of the graph."""
        if id(tensor) in self.tainted:
            return self.takes_numbers and id(tensor) in self.counted
        return self.varies

    def size(self, tensor: torch.Tensor, dim: int) -> Any:
        """The size of a dimension, as a value of the graph. Raises: NotRecordable, IndexError."""
        node, value = self.node_of(tensor), tensor.shape[dim]
        self.rely_on_rank(tensor)
        is_given = self.guards.is_known(tensor)
        read = f"{self.guards.names[id(tensor)]}.shape[{dim}]" if is_given else ""
        size = self.graph.call_method("size", (node, dim))
        if id(tensor) in self.tainted:
            return self.unbacked_number(value, size)
        return symbolic(value, size, read)

    def shape(self, tensor: torch.Tensor) -> torch.Size:
        """All sizes of a tensor, as values of the graph. Raises: NotRecordable."""
        self.rely_on_rank(tensor)
        return torch.Size([self.size(tensor, dim) for dim in range(tensor.dim())])

    def numel(self, tensor: torch.Tensor) -> Any:
        """The number of elements, as a value of the graph. Raises: NotRecordable."""
        node, value = self.node_of(tensor), tensor.numel()
        is_given = self.guards.is_known(tensor)
        made = self.graph.call_method("numel", (node,))
        if id(tensor) in self.tainted:
            return self.unbacked_number(value, made)
        read = f"{self.guards.names[id(tensor)]}.numel()" if is_given else ""
        return symbolic(value, made, read)

    def number(self, value: Any, read: str, label: str) -> Any:
        """A number from outside that varies, as an input of the graph."""
        kind = type(value).__name__
        self.guards.check(f"type({read}) is not {kind}", f"type({label})", type(value), read)
        return symbolic(value, self._input(read, value), read)

    def settle_numbers(self) -> None:
        """All numbers that the graph takes are what they are in this call."""
        for read, value in self.inputs:
            if not isinstance(value, torch.Tensor):
                self._guard_number(read, "a number", value)

    def _guard_number(self, read: str, about: str, value: Any) -> None:
        fails = f"{read} != {value!r}"
        if type(value) is float:  # 0.0 == -0.0, and nan is nothing
            fails = f"repr({read}) != {repr(value)!r}"
        self.guards.check(fails, about, value, read)
        self.guards.note_atom(value, read)

    @property
    def tensors(self) -> list[tuple[str, torch.Tensor]]:
        """The inputs that are tensors."""
        return [each for each in self.inputs if isinstance(each[1], torch.Tensor)]

    def rely_on_rank(self, tensor: torch.Tensor) -> None:
        """What happens next depends on the number of dimensions. Raises: NotRecordable."""
        node, rank = self.node_of(tensor), tensor.dim()
        if self.guards.is_known(tensor):
            name = self.guards.names[id(tensor)]
            about = f"{self.guards.label(tensor)}.ndim"
            self.guards.check(f"{name}.ndim != {rank}", about, rank, f"{name}.ndim")
        else:
            self.expect(node, expect_rank, rank)

    def settle(self, size: Any) -> Any:
        """A number must be what it is, from here on. Raises: NotRecordable, if data tell it."""
        value = number_of(size)
        if type(size) is ChosenTensor:
            self.assume(size.node, assume_truth, size.answer, "which tensor a branch has left")
            return value
        if size.is_data:
            self.assume(size.node, assume_value, value, "what a number is, which depends on data")
            return value
        if size.read:
            about = "a size" if size.read.count("[") != 1 else size.read.partition(".")[2]
            self._guard_number(size.read, about or "a number", value)
        else:
            self.expect(size.node, expect_value, value)
        return value

    def compute(self, symbol: str, left: Any, right: Any) -> Any:
        """An operator of two numbers, one of which is symbolic."""
        function = ARITHMETIC[symbol]
        value = function(plain(left), plain(right))
        one, two = read_of(left), read_of(right)
        node = self.graph.call_function(function, (self.argument(left), self.argument(right)))
        read = self.guards.computed(f"{one} {symbol} {two}") if one and two else ""
        return (
            self.unbacked_number(value, node)
            if _is_data(left, right)
            else symbolic(value, node, read)
        )

    def unbacked_number(self, value: Any, node: Node) -> Any:
        """A number that a node gives, another one in each call. Raises: NotRecordable."""
        if type(value) not in (int, float):
            raise NotRecordable(f"a result of type `{type(value).__name__}`")
        self.is_symbolic = True
        self.unbacked.add(node)
        return symbolic(value, node, "", is_data=True)

    def apply(self, function: Any, args: list[Any]) -> Any:
        """A function of numbers, the first of which depends on data. Raises: NotRecordable."""
        node = self.graph.call_function(function, tuple(self.argument(args)))
        return self.unbacked_number(function(*plain(tuple(args))), node)

    def decide(self, symbol: str, left: Any, right: Any) -> bool:
        """Compare two numbers, one of which is symbolic, and rely on what comes out."""
        if symbol in ("==", "!=") and _are_one(left, right):
            return symbol == "=="
        value = ORDER[symbol](plain(left), plain(right))
        one, two = read_of(left), read_of(right)
        if _is_data(left, right):
            args = (self.argument(left), self.argument(right))
            node = self.graph.call_function(ORDER[symbol], args)
            self.assume(node, assume_value, value, "a branch on data")
        elif one and two:
            text = f"({one} {symbol} {two})"
            self.guards.check(f"{text} is not {value}", text, value, text)
        else:
            args = (self.argument(left), self.argument(right))
            node = self.graph.call_function(ORDER[symbol], args)
            self.expect(node, expect_value, value)
        return value

    def assume(self, node: Node, function: Any, value: Any, reason: str) -> None:
        """Data have been asked, and their answer is assumed. Raises: NotRecordable, if it is not.

        Not behind what cannot be taken back, since a replay with another answer is left.
        """
        is_assumed = self.takes_numbers and not self.has_irrevocable and self.side is None
        at = self.ask(value) if is_assumed else None
        if at is None:
            raise NotRecordable(reason)
        self.assumptions.append((node, function, (value, at)))

    def expected(self, *, is_exact: bool) -> list[Node]:
        """Write what is assumed and expected into the graph, as calls behind the nodes.

        Where all metadata of the inputs are guarded, only data can be otherwise.
        """
        made: list[Node] = []
        expectations = [] if is_exact else self.expectations
        for node, function, args in (*expectations, *self.assumptions):
            with node.graph.inserting_after(node):
                made.append(node.graph.call_function(function, (node, *args)))
        return made

    def expect(self, node: Node, function: Any, *args: Any) -> None:
        """Python was told something of what a node gives, which is checked behind it."""
        found = (node, function, args)
        if found not in self.expectations:
            self.expectations.append(found)

    def argument(self, value: Any) -> Any:
        """What stands for a value in a node. Raises: NotRecordable."""
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        kind = type(value)
        if kind in SYMBOLIC:
            return self.lifted(value.node)
        if kind in _BASE_ARGUMENTS:
            return value
        if kind in (list, tuple, torch.Size):
            self.touch(value)
            made = [self.argument(item) for item in value]
            return made if kind is list else tuple(made)
        if kind is slice:
            return slice(*(self.argument(each) for each in (value.start, value.stop, value.step)))
        if kind is dict and all(type(key) is str for key in value):
            self.touch(value)
            return {key: self.argument(item) for key, item in value.items()}
        if self.is_array(value):
            return self.node_of(value)
        if isinstance(value, np.dtype) or (isinstance(value, type) and is_constant(value)):
            return value
        raise NotRecordable(f"an argument of type `{kind.__name__}`")

    def record(self, kind: str, target: Any, arguments: Any, result: Any, seen: Observation) -> Any:
        """Write a call that was made into the graph; what it gave. Raises: NotRecordable."""
        node = self.graph.create_node(kind, target, *arguments)
        self.n_calls += 1
        tainted = seen.is_tainted or self.depends_on_shapes(node, target)
        if seen.is_of_arrays:
            tainted |= has_counted(target, seen.arguments)
            if writes_array(target, seen.arguments):
                self.mutates = self.is_exact = True
                for at in self.shown.values():
                    self.risky_at = self.risky_at or at
        self.sets_modes |= target in MODE_SETTERS
        self.draws |= seen.draws
        written = {storage_of(each) for each in seen.written}
        self.mutates |= not written.isdisjoint(self._storages)
        is_new = target in MAKING_MEMORY and "out" not in arguments[1]
        if is_new and isinstance(result, torch.Tensor):
            self._own_storages.add(storage_of(result))
        self.is_exact |= not written <= self._own_storages or seen.draws or seen.may_draw
        self.is_exact |= seen.is_empty and any(word in str(target) for word in _DRAWING)
        shown = set(self.shown) if written and self.chosen else written.intersection(self.shown)
        for storage in shown:  # a tensor that a branch has left may be in any memory
            self.risky_at = self.risky_at or self.shown[storage]
        if type(result) in (int, float) and self.takes_numbers:
            return self.unbacked_number(result, node)
        if seen.is_tainted and target in COUNTING:
            self.counted.add(id(result))
        self._result(result, node, is_tainted=tainted)
        return result

    def _result(self, result: Any, node: Node, *, is_tainted: bool) -> None:
        if result is None:
            return
        self.keep(result)
        if isinstance(result, torch.Tensor) and result.is_nested:
            raise NotRecordable("a nested tensor")
        if isinstance(result, torch.Tensor) or self.is_array(result):
            if self.guards.is_known(result) or id(result) in self.nodes:
                self.expect(node, expect_same, self.node_of(result))
            if not self.guards.is_known(result):
                self.nodes[id(result)] = node
            if is_tainted:
                self.nodes.setdefault(id(result), node)
                self.tainted.add(id(result))
            return
        if not isinstance(result, list | tuple):
            raise NotRecordable(f"a result of type `{type(result).__name__}`")
        self.expect(node, expect_length, len(result))
        for index, item in enumerate(result):
            part = self.graph.call_function(operator.getitem, (node, index))
            self._result(item, part, is_tainted=is_tainted)

    def guard_aliases(self) -> None:
        """Guard that what is written to is none of the other objects of its type that were met."""
        owners = {id(each.owner): each.owner for each in self.writes}
        owners.update((key, iterator) for key, (iterator, n) in self.advanced.items() if n)
        for owner in owners.values():
            self.guards.check_distinct(owner)
        if self.mutates and len(self.tensors) > 1:
            pattern = sharing([tensor for _, tensor in self.tensors])
            names = ", ".join(name for name, _ in self.tensors)
            function, expected = self.guards.constant(sharing), self.guards.constant(pattern)
            fails = f"{function}(({names})) != {expected}"
            self.guards.check(fails, "which inputs share memory", pattern)

    # --- writes -----------------------------------------------------------------------------

    def will_change(self, owner: Any) -> None:
        """A container from outside is about to be changed."""
        if self.guards.is_known(owner):
            self.keep_original(owner)

    def keep_original(self, owner: Any) -> None:
        """Keep what a container held at the entry. Raises: NotRecordable, in sides."""
        self.refuse_in_side()
        self.keep(owner)
        self.guards.originals.setdefault(id(owner), copy.copy(owner))

    def write(self, owner: Any, code: str, *values: Any) -> None:
        """Defer a write to an object from outside to the end. Raises: NotRecordable, in sides."""
        self.refuse_in_side()
        self.keep((owner, values))
        self.writes.append(Write(owner, code, values))


def _are_one(left: Any, right: Any) -> bool:
    """Whether two numbers are what `id` says of one tensor."""
    if type(left) not in SYMBOLIC or type(right) not in SYMBOLIC or left.node.target is not id:
        return False
    return right.node.target is id and left.node.args == right.node.args


def _is_data(*values: Any) -> bool:
    return any(type(each) in SYMBOLIC and each.is_data for each in values)


_DRAWING: Final = ("drop", "rrelu", "attention", "rand", "normal", "bernoulli", "nomial", "gumbel")
"""Parts of the names of functions that draw nothing for tensors without elements."""
