"""The graph writer: names, placeholders, and nodes for numbers that depend on sizes.

Order of a finished graph: placeholders (parameters, buffers, constants, user inputs), then the
*prologue* (sizes of inputs and arithmetic on them, which therefore dominate everything), then what
user code did. A number is written once; what depends on data stands where it was first needed.
"""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.graph import Graph
from torch.fx.node import Node

from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import type_of, unusual_layout
from monograph.diagnostics import problem
from monograph.host.dispatch import has_own_dispatch, has_own_functions, is_fake
from monograph.host.fx_nodes import append_node, detached_node, put_before
from monograph.integers import (
    Expr,
    Real,
    Relation,
    active,
    all_of,
    any_of,
    fresh,
    is_symbol,
    maximum,
    minimum,
    substitute_real,
    substitute_relation,
    symbols,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from monograph.abstract.tensor import Recording
    from monograph.abstract.tensor_type import TensorType

_TAKEN: Final = frozenset({*dir(builtins), *keyword.kwlist, "torch", "device", "inf", "nan"})
_NOT_A_NAME: Final = re.compile(r"[^0-9a-zA-Z_]+")

_DIVIDING: Final = (operator.floordiv, operator.mod, operator.truediv)
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "abs": operator.abs,
        "add": operator.add,
        "bit_and": operator.and_,
        "bit_or": operator.or_,
        "bit_xor": operator.xor,
        "ceil": math.ceil,
        "float": torch.sym_float,
        "floor": math.floor,
        "floordiv": operator.floordiv,
        "lshift": operator.lshift,
        "max": torch.sym_max,
        "min": torch.sym_min,
        "mod": operator.mod,
        "mul": operator.mul,
        "neg": operator.neg,
        "pow": operator.pow,
        "ratio": operator.truediv,
        "round": round,
        "rshift": operator.rshift,
        "sqrt": torch.sym_sqrt,
        "sub": operator.sub,
        "truediv": operator.truediv,
        "trunc": math.trunc,
    }
)
"""What computes a node of an expression at run time; other names are functions of `math`."""


@dataclass(slots=True)
class Page:
    """One graph that is written, and the numbers that can be used in it: who computes them.

    `readings` are the numbers that were read out of tensors, by place and version of its memory.
    """

    graph: Graph
    numbers: dict[Any, Any]
    sources: dict[Expr, tuple[Node, int | None, int, int]]
    readings: dict[tuple[Any, int], Expr | Real | Relation]


def identifier(text: str) -> str:
    """A Python identifier that reads like `text`."""
    name = _NOT_A_NAME.sub("_", text)
    return f"_{name}" if not name or name[0].isdigit() else name


class GraphWriter:
    """Owns the graph of one capture until it is closed."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._numbers: dict[Any, Any] = {}
        self._floats_of: set[Expr] = set()
        """Symbols that stand for a float that a node computes."""
        self._sources: dict[Expr, tuple[Node, int | None, int, int]] = {}
        self._readings: dict[tuple[Any, int], Expr | Real | Relation] = {}
        self._tensors: dict[int, AbstractTensor] = {}
        self._simplifying = True
        self._kept_alive: list[torch.Tensor] = []
        self._attribute_names: Callable[[torch.Tensor], str | None] = lambda _: None
        self._names_of_state: Collection[str] = ()
        self.constants: dict[str, torch.Tensor] = {}
        self.constant_of: dict[Node, torch.Tensor] = {}
        self.met: dict[int, torch.Tensor] = {}
        """Tensors met other than as parameters and buffers, which may be or lie in such ones."""
        self.buffer_of: dict[Node, torch.Tensor] = {}
        self.placeholder_of: dict[int, Node] = {}
        self._prologue: set[Node] = set()
        """Numbers that inputs determine."""
        self.inputs_begin: Node | None = None
        self.body_begin: Node | None = None

    # --- names -------------------------------------------------------------------------------

    def new_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`, ... where that is taken."""
        count = self._counts.get(base)
        if count is None:
            count = 0
            if base not in self.names and base not in _TAKEN:
                self._counts[base] = 0
                self.names.add(base)
                return base
        while True:
            count += 1
            name = f"{base}_{count}"
            if name not in self.names:
                self._counts[base] = count
                self.names.add(name)
                return name

    # --- subgraphs ---------------------------------------------------------------------------

    def inner_page(self) -> Page:
        """A new graph inside of the one that is written now, whose numbers can be used in it."""
        return Page(Graph(), {**self._numbers}, {**self._sources}, {**self._readings})

    def turn_to(self, page: Page) -> Page:
        """Write on another page from now on; gives the one that was written on."""
        left = Page(self.graph, self._numbers, self._sources, self._readings)
        self.graph, self._numbers, self._sources = page.graph, page.numbers, page.sources
        self._readings = page.readings
        if self._prologue:
            for number, node in left.numbers.items():
                if node in self._prologue:
                    self._numbers.setdefault(number, node)
        return left

    # --- placeholders ------------------------------------------------------------------------

    def placeholder(self, name: str, before: Node | None = None) -> Node:
        """An input of the graph; `name` is made unique."""
        unique = self.new_name(identifier(name))
        if before is None:
            return append_node(self.graph, unique, "placeholder", unique, (), {})
        node = detached_node(before.graph, unique, "placeholder", unique, (), {})
        put_before(before, node)
        return node

    def begin_body(self) -> None:
        """All known placeholders stand; what follows is the prologue and user code."""
        self.body_begin = append_node(self.graph, "body_begin", "call_function", _nothing, (), {})

    def source(
        self, symbol: Expr, node: Node, dim: int | None, coefficient: int, offset: int
    ) -> None:
        """Where a symbol's value is read: `size(node, dim) == coefficient * symbol + offset`."""
        self._sources.setdefault(symbol, (node, dim, coefficient, offset))

    def size_source(self, size: Expr, node: Node, dim: int) -> None:
        """A tensor is born with this size: what it makes of one new symbol can be taken back."""
        if is_symbol(size):
            self.source(size, node, dim, 1, 0)
            return
        (coefficient, atoms), *rest = terms(size)
        offset = rest[0][0] if rest and not rest[0][1] else 0
        is_linear = len(atoms) == 1 and is_symbol(atoms[0]) and len(rest) == bool(offset)
        if is_linear and coefficient > 0 and atoms[0] not in self._numbers:
            self.source(atoms[0], node, dim, coefficient, offset)

    # --- real tensors ------------------------------------------------------------------------

    def know(self, real: torch.Tensor, abstract: AbstractTensor) -> None:
        """A real tensor of the module is represented by this abstract one."""
        self._tensors[id(real)] = abstract
        abstract.identity = id(real)
        self._kept_alive.append(real)
        self.stands_for(abstract)

    def known(self, real: torch.Tensor) -> AbstractTensor:
        """The abstract tensor that represents it."""
        return self._tensors[id(real)]

    def represented(self, value: Any) -> Any:
        """The abstract tensor that represents a value, or the value itself."""
        return self._tensors.get(id(value), value)

    def stands_for(self, abstract: AbstractTensor) -> None:
        """This tensor's node is a placeholder: writes to its storage are writes to that input."""
        assert abstract.node is not None, "inputs have nodes"
        self.placeholder_of[id(abstract)] = abstract.node

    def name_attributes_by(
        self, find: Callable[[torch.Tensor], str | None], state: Collection[str]
    ) -> None:
        """How to find the attribute path of a tensor that turns up as a constant.

        `state` are the names that parameters and buffers have.
        """
        self._attribute_names = find
        self._names_of_state = state

    def lift(self, real: torch.Tensor, recorder: Recording) -> AbstractTensor:
        """The abstract tensor for a real one met in user code: known state, or a new constant.

        Raises: unsupported-subclass, unsupported-layout.
        """
        self.met[id(real)] = real
        found = self._tensors.get(id(real))
        if found is not None:
            return found
        layout = unusual_layout(real)
        if has_own_dispatch(real) and (layout is None or not layout.startswith("sparse")):
            raise problem("unsupported-subclass", type=type(real).__qualname__)
        if layout is not None:
            raise problem("unsupported-layout", what="a tensor that is met here", layout=layout)
        if has_own_functions(real) and not is_fake(real):
            raise problem("unsupported-subclass", type=type(real).__qualname__)
        view = recorder.memory_behind(real)
        if view is not None:
            return view
        target = self._attribute_names(real)
        if not target or target in self._names_of_state or target in self.constants:
            target = self._lifted_name()
        return self._new_constant(real, target, recorder)

    def lift_literal(self, real: torch.Tensor, recorder: Recording) -> AbstractTensor:
        """The constant for a tensor that `torch.tensor(...)` just made."""
        return self._new_constant(real, self._lifted_name(), recorder)

    def _lifted_name(self) -> str:
        number = len(self.constants)
        while (name := f"lifted_tensor_{number}") in self._names_of_state or name in self.constants:
            number += 1
        return name

    def _new_constant(self, real: torch.Tensor, target: str, recorder: Recording) -> AbstractTensor:
        node = self.placeholder(f"c_{target}", before=self.inputs_begin or self.body_begin)
        abstract = make_tensor(type_of(real), node, recorder)
        node.meta["val"] = abstract
        self.constants[target] = real
        self.constant_of[node] = real
        self.know(real, abstract)
        return abstract

    def attribute_of(self, node: Node) -> str:
        """How forward calls a constant, "" where it is no attribute."""
        target = list(self.constants)[list(self.constant_of).index(node)]
        return "" if target.startswith("lifted_tensor_") else f"self.{target}"

    def forget_constant(self, node: Node) -> None:
        """Nothing uses this constant."""
        targets = list(self.constants)
        del self.constants[targets[list(self.constant_of).index(node)]]
        del self.constant_of[node]

    # --- numbers -----------------------------------------------------------------------------

    def bind(self, number: Expr | Real | Relation, node: Node) -> None:
        """`node` computes this number at run time."""
        self._numbers.setdefault(number, node)
        if isinstance(number, Real):
            self._floats_of |= number.symbols

    def read_before(self, reading: tuple[Any, int]) -> Expr | Real | Relation | None:
        """The number that was read out of this very place, as long as nobody wrote to it."""
        return self._readings.get(reading)

    def note_reading(self, reading: tuple[Any, int], number: Expr | Real | Relation) -> None:
        """The number of a tensor is known from here on."""
        self._readings[reading] = number

    def can_compute(self, value: Expr | Real | Relation) -> bool:
        """Whether everything that a number or relation is about has been computed."""
        made = self._numbers, self._sources, self._floats_of
        return all(any(symbol in kind for kind in made) for symbol in value.symbols)

    def keep_rounded(self, number: Expr) -> None:
        """Compute here what a float that only data tells is rounded to, whoever uses it."""
        if active().hint_of(number) is None and self.can_compute(number):
            self.number(number)

    def keep_sizes(self, t: TensorType) -> None:
        """Read sizes off a tensor here, before its shape changes (`unsqueeze_`)."""
        for symbol in {each for size in t.shape for each in symbols(size)}:
            node, dim, *_ = self._sources.get(symbol, (None, None))
            if dim is not None and not self._is_early((node,)):
                self.number(symbol)

    def shortened(self, number: Expr | Real) -> Expr | Real:
        """A new symbol for a number out of data, which is computed here."""
        node = self.number(number) if self.can_compute(number) else None
        if not isinstance(node, Node):
            return number
        if isinstance(number, Real):
            made: Expr | Real = Real("unbacked", (fresh("what data decides", None, None),))
        else:
            bounds = active().interval(number)
            ends = (end if isinstance(end, int) else None for end in (bounds.lower, bounds.upper))
            made = fresh("what data decides", *ends)
        self.bind(made, node)
        node.meta["val"] = to_sym(made)
        return made

    def as_stated(self, value: Expr | Real | Relation) -> Any:
        """A node that computes a relation, or a size, whatever was learnt of it meanwhile."""
        self._simplifying = False
        try:
            return self.number(value)
        finally:
            self._simplifying = True

    def number(self, value: Any) -> Any:
        """A node that computes a size expression; constants stay constants."""
        if self._simplifying:
            # Before it is looked up: what a side of a branch knows holds nowhere else.
            value = _simplified(value)
        if not isinstance(value, Expr | Real | Relation):
            return value
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = self._write_number(value)
        return found

    def operand(self, value: Any) -> Any:
        """As `number`, for whoever tells 1 from True: a truth read out of data is its bit."""
        found = self.number(value)
        if not isinstance(value, Expr) or not isinstance(found, Node):
            return found
        is_truth = isinstance(found.meta.get("val"), torch.SymBool)
        return self._emit("pos", operator.pos, (found,), value) if is_truth else found

    def _write_number(self, value: Expr | Real | Relation) -> Any:
        if isinstance(value, Relation):
            return self._write_relation(value)
        if isinstance(value, Real):
            if value.kind == "unbacked":
                return self._write_symbol(*value.symbols)
            return self._function(value.kind, value.args, value)
        if is_symbol(value):
            return self._write_symbol(value)
        if value.kind == "sum":
            return self._write_sum(value)
        return self._function(value.name or value.kind, value.args, value)

    def _write_symbol(self, symbol: Expr) -> Any:
        source = self._sources.get(symbol)
        if source is None:
            if symbol in active().outside:
                return active().outside[symbol]()
            if active().is_unbacked(symbol):
                raise problem("branch-value-outside")
            raise problem("bug", reason=f"nothing in the graph computes the size {symbol}")
        node, dim, coefficient, offset = source
        if dim is not None:
            node = self._emit("sym_size_int", torch.ops.aten.sym_size.int, (node, dim), symbol)
        if offset:
            node = self._emit("sub", operator.sub, (node, offset), symbol)
        if coefficient != 1:
            node = self._emit("floordiv", operator.floordiv, (node, coefficient), symbol)
        return node

    def _write_sum(self, value: Expr) -> Any:
        summed: Any = None
        partial: Any = 0
        for coefficient, atoms in terms(value):
            term, written = self._write_term(coefficient, atoms)
            negative = coefficient < 0 and summed is not None
            if summed is None:
                summed, partial = written, term
                continue
            partial = partial + term
            if negative:
                positive = self._write_term(-coefficient, atoms)[1]
                summed = self._remember("sub", operator.sub, (summed, positive), partial)
            else:
                summed = self._remember("add", operator.add, (summed, written), partial)
        return summed

    def _write_term(self, coefficient: int, atoms: tuple[Expr, ...]) -> tuple[Any, Any]:
        """(the expression, the node or constant) of coefficient * product of atoms."""
        if not atoms:
            return coefficient, coefficient
        partial: Any = atoms[0]
        written = self.number(atoms[0])
        for atom in atoms[1:]:
            partial = partial * atom
            written = self._numbers.get(partial) or self._emit(
                "mul", operator.mul, (written, self.number(atom)), partial
            )
        if coefficient == 1:
            return partial, written
        partial = partial * coefficient
        if coefficient == -1:
            return partial, self._remember("neg", operator.neg, (written,), partial)
        return partial, self._remember("mul", operator.mul, (written, coefficient), partial)

    def _remember(self, base: str, function: Any, args: tuple[Any, ...], value: Any) -> Any:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = self._emit(base, function, args, value)
        return found

    def _function(self, name: str, args: tuple[Any, ...], value: Any) -> Any:
        function = _FUNCTIONS.get(name) or getattr(math, name)
        operands = [self.number(arg) for arg in args]
        if name in {"max", "min"} and isinstance(value, Expr):
            choose = maximum if name == "max" else minimum
            return self._fold(name, function, choose, args, operands)
        if name == "pow" and not isinstance(x := operands[0], Node) and math.copysign(1, x) < 0:
            # The code of a graph has no brackets, and `-2.0 ** n` is -(2.0 ** n).
            operands[0] = self._emit("neg", operator.neg, (-x,), x)
        return self._emit(name, function, tuple(operands), value)

    def _fold(
        self, base: str, function: Any, join: Any, parts: Sequence[Any], operands: Sequence[Any]
    ) -> Any:
        """A function of two, applied to several: each node stands for what it computes."""
        partial, result = parts[0], operands[0]
        for part, operand in zip(parts[1:], operands[1:], strict=True):
            partial = join(partial, part)
            result = self._emit(base, function, (result, operand), partial)
        return result

    def _write_relation(self, relation: Relation) -> Any:
        if relation.kind in {"and", "or"}:
            function = operator.and_ if relation.kind == "and" else operator.or_
            join = all_of if relation.kind == "and" else any_of
            operands = [self.number(part) for part in relation.args]
            return self._fold(relation.kind, function, join, relation.args, operands)
        if relation.kind == "opaque":
            compare = getattr(operator, relation.name)
            sides = tuple(self.number(side) for side in relation.sides)
            result = self._emit(relation.name, compare, sides, relation)
            if relation.expected:
                return result
            return self._emit("not", torch.sym_not, (result,), relation)
        left, right = _two_sides(relation.expr)
        compare = getattr(operator, relation.kind)
        sides = (self.number(left), self.number(right))
        return self._emit(relation.kind, compare, sides, relation)

    def _emit(self, base: str, function: Any, args: tuple[Any, ...], value: Any) -> Node:
        """A number's node: in the prologue if inputs determine it, else where we are.

        A branch that is not taken divides by no 0.
        """
        name, facts = self.new_name(base), active()
        may_fail = function in _DIVIDING and active().within_branch and isinstance(args[1], Node)
        if self.body_begin is not None and self._is_early(args) and not may_fail:
            node = detached_node(self.body_begin.graph, name, "call_function", function, args, {})
            put_before(self.body_begin, node)
            self._prologue.add(node)
            while facts.outer is not None:  # what a branch learns of it does not hold there
                facts = facts.outer
        else:
            node = append_node(self.graph, name, "call_function", function, args, {})
        node.meta["val"] = to_sym(value, facts)
        return node

    def is_of_prologue(self, node: Node) -> bool:
        """Whether it computes a number before user code begins."""
        return node in self._prologue

    def _is_early(self, args: tuple[Any, ...]) -> bool:
        """Whether all operands are known before user code begins."""
        root = None if self.body_begin is None else self.body_begin.graph
        return all(
            not isinstance(arg, Node)
            or (arg.op == "placeholder" and arg.graph is root)
            or arg in self._prologue
            for arg in args
        )


def _simplified(value: Any) -> Any:
    """A number or truth with what is known here put for its symbols."""
    if isinstance(value, Expr):
        return active().simplify(value)
    if not isinstance(value, Real | Relation):
        return value
    found = ((symbol, active().simplify(symbol)) for symbol in value.symbols)
    known = {symbol: simpler for symbol, simpler in found if simpler is not symbol}
    if not known:
        return value
    if isinstance(value, Real):
        return substitute_real(value, known)
    return substitute_relation(value, known)


def _nothing() -> None:
    """Marks where user code begins; removed when the graph is closed."""


def _two_sides(e: Expr) -> tuple[Any, Any]:
    """`e` as left - right, both with positive coefficients, so that it reads as people write it."""
    left: Any = 0
    right: Any = 0
    for coefficient, atoms in terms(e):
        term: Any = abs(coefficient)
        for atom in atoms:
            term = atom * term
        if coefficient > 0:
            left = left + term
        else:
            right = right + term
    return left, right
