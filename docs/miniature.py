"""Symbolic tracing in one file: `monograph` in miniature, to be read from top to bottom.

A module is run once on abstract tensors. What comes out is a graph of ATen operators that works for
sizes unlike the example's, and a contract: what a call must satisfy for the graph to be right.
Five parts follow, as in the package: integers, facts, the abstract tensor, rules, the recorder.
The package differs where it must be complete: it records below autograd in `__torch_dispatch__`,
dresses its integers as `torch.SymInt`, interprets bytecode, and captures control flow on data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import fx, nn
from torch.fx.node import map_aggregate

aten = torch.ops.aten


class RefusedError(Exception):
    """A program, or a call, that cannot be vouched for; it says where and why."""


# --- 1. Integers ---------------------------------------------------------------------------------
#
# A size is a polynomial in symbols with integer coefficients, kept in normal form: sorted monomials
# without zeros. Two expressions are equal for all values of their symbols iff their normal forms
# are the same, so `a * (b + 1) - a == a * b` needs no solver.

Monomial = tuple[str, ...]
"""Symbols that are multiplied, sorted; () is the constant one."""


@dataclass(frozen=True)
class Int:
    """A polynomial: `((monomial, coefficient), ...)`, sorted, no coefficient zero."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Int | int) -> Int:
        return polynomial((*self.terms, *as_int(other).terms))

    def __mul__(self, other: Int | int) -> Int:
        return polynomial(
            (tuple(sorted(m + n)), a * b) for m, a in self.terms for n, b in as_int(other).terms
        )

    def __sub__(self, other: Int | int) -> Int:
        return self + as_int(other) * -1

    __radd__, __rmul__ = __add__, __mul__

    # User code that compares sizes asks for a decision: the one place that looks at the example.
    def __eq__(self, other: object) -> bool:
        return decide("==", self - other)  # type: ignore[operator]

    def __gt__(self, other: Int | int) -> bool:
        return decide(">=", self - other - 1)

    def __repr__(self) -> str:
        factors = [[*([str(a)] if a != 1 or not m else []), *m] for m, a in reversed(self.terms)]
        return " + ".join("*".join(each) for each in factors) or "0"

    def value(self, values: dict[str, Any]) -> Any:
        """The number it is, given its symbols' values; or the node, given nodes."""
        return sum(a * prod(values[s] for s in m) for m, a in self.terms)


def polynomial(terms: Iterable[tuple[Monomial, int]]) -> Int:
    """The normal form of a sum of terms."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return Int(tuple(sorted((m, a) for m, a in total.items() if a)))


def as_int(n: Int | int | str) -> Int:
    """A number, or a symbol's name, as a polynomial."""
    if isinstance(n, str):
        return polynomial([((n,), 1)])
    return n if isinstance(n, Int) else polynomial([((), n)])


# --- 2. Facts ------------------------------------------------------------------------------------
#
# What is known of the symbols. Rules have two verbs. `known` looks: True, False, or None for "it
# depends". `require` proves a relation, or makes it a guard, or refuses; it never reads the example
# to choose a side. Choosing a side for the user is `decide`, which user code's comparisons call.


@dataclass(frozen=True)
class Relation:
    """`n == 0`, `n != 0` or `n >= 0`, of the polynomial with these terms."""

    sign: str
    terms: tuple[tuple[Monomial, int], ...]

    def holds(self, values: dict[str, int]) -> bool:
        """Whether it is true of these sizes."""
        n = Int(self.terms).value(values)
        return {"==": n == 0, "!=": n != 0, ">=": n >= 0}[self.sign]

    def negated(self) -> Relation:
        """What is true where this is not; of integers, `not n >= 0` is `-n - 1 >= 0`."""
        if self.sign == ">=":
            return Relation(">=", (Int(self.terms) * -1 - 1).terms)
        return Relation("!=" if self.sign == "==" else "==", self.terms)

    def __repr__(self) -> str:
        return f"{Int(self.terms)!r} {self.sign} 0"


@dataclass
class Facts:
    """Symbols, which are at least 0, with their values in the example; guards with their lines."""

    example: dict[str, int] = field(default_factory=dict)
    guards: dict[Relation, str] = field(default_factory=dict)

    def known(self, relation: Relation) -> bool | None:
        """Whether a relation is true of all sizes, of none, or None."""
        if relation in self.guards or relation.negated() in self.guards:
            return relation in self.guards
        constant = dict(relation.terms).get((), 0)
        coefficients = [a for m, a in relation.terms if m]
        if not coefficients:
            return relation.holds({})
        if relation.sign == ">=" and min(coefficients) > 0 and constant >= 0:
            return True
        if min(coefficients) > 0 < constant or max(coefficients) < 0 > constant:
            return relation.sign == "!="
        return None

    def require(self, relation: Relation, why: str) -> None:
        """What a rule needs: proved, made a guard with the user's line, or refused."""
        answer = self.known(relation)
        if answer is False or (answer is None and not relation.holds(self.example)):
            raise RefusedError(f"{why}: {relation}{user_line()}")
        if answer is None:
            self.guards[relation] = user_line()


CAPTURES: list[Recorder] = []  # the one under way is the last


def decide(sign: str, n: Int) -> bool:
    """What user code asks: known, or as in the example, which becomes a guard."""
    facts, relation = CAPTURES[-1].facts, Relation(sign, n.terms)
    answer = facts.known(relation)
    if answer is None:
        answer = relation.holds(facts.example)
        facts.guards[relation if answer else relation.negated()] = user_line()
    return answer


def same(a: Int | int, b: Int | int, why: str) -> None:
    """Two sizes must be equal."""
    CAPTURES[-1].facts.require(Relation("==", (as_int(a) - b).terms), why)


def is_one(n: Int | int) -> bool:
    """Whether a size is known to be 1. A size that may be 1 is not: that it differs is a guard."""
    facts, relation = CAPTURES[-1].facts, Relation("==", (as_int(n) - 1).terms)
    if facts.known(relation) is None:
        facts.require(relation.negated(), "a size that broadcasts only where it is 1")
    return bool(facts.known(relation))


def user_line() -> str:
    """Where user code stands: the nearest frame outside of this file's machinery and torch."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].startswith(("torch", __name__)):
        frame = frame.f_back
    return f"  ({frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"


# --- 3. The abstract tensor ----------------------------------------------------------------------
#
# Sizes, a dtype, and the node of the graph that makes it. Torch hands every function that is given
# one to `__torch_function__`, and that hands it to the recorder.

Shape = tuple[Int | int, ...]


@dataclass(frozen=True, eq=False)
class TensorType:
    """All that a rule may know of a tensor."""

    shape: Shape
    dtype: torch.dtype


@dataclass(frozen=True, eq=False)
class AbstractTensor(TensorType):
    """What user code sees in the place of a tensor."""

    node: fx.Node

    def __bool__(self) -> bool:
        raise RefusedError(f"which branch is taken depends on data{user_line()}")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return CAPTURES[-1].call(func.__name__, args, kwargs or {})

    def __getattr__(self, name: str) -> Callable[..., AbstractTensor]:
        return lambda *args, **kwargs: CAPTURES[-1].call(name, (self, *args), kwargs)

    def reshape(self, *sizes: Int | int) -> AbstractTensor:
        """As `torch.Tensor.reshape`; the operator takes a list."""
        return CAPTURES[-1].call("reshape", (self, list(sizes)), {})

    def __add__(self, other: Any) -> AbstractTensor:
        return CAPTURES[-1].call("add", (self, other), {})

    def __mul__(self, other: Any) -> AbstractTensor:
        return CAPTURES[-1].call("mul", (self, other), {})


# --- 4. Rules ------------------------------------------------------------------------------------
#
# One pure function per operator, from argument types to the result's type, with its law in the
# docstring. A rule sees neither data nor graph, so it cannot specialise in silence.

RULES: dict[str, tuple[Any, Callable[..., TensorType]]] = {}


def rule(**overloads: Any) -> Callable[[Callable[..., TensorType]], Callable[..., TensorType]]:
    """Register one law for the operators that follow it."""

    def register(law: Callable[..., TensorType]) -> Callable[..., TensorType]:
        RULES.update((name, (overload, law)) for name, overload in overloads.items())
        return law

    return register


def broadcast(a: Shape, b: Shape) -> Shape:
    """[*a], [*b] -> sizes from the right: equal, or one of them is 1."""
    if len(a) < len(b):
        return broadcast(b, a)
    n_outer = len(a) - len(b)
    return (*a[:n_outer], *map(broadcast_size, a[n_outer:], b))


def broadcast_size(m: Int | int, n: Int | int) -> Int | int:
    """m, n -> the other where one is 1; otherwise they must be equal."""
    if as_int(m).terms == as_int(n).terms or is_one(n):
        return m
    if not is_one(m):
        same(m, n, "sizes disagree")
    return n


@rule(linear=aten.linear.default)
def linear(x: TensorType, weight: TensorType, bias: TensorType | None = None) -> TensorType:
    """[*b, k], [n, k], [n]? -> [*b, n]."""
    same(x.shape[-1], weight.shape[1], "sizes disagree")
    return TensorType((*x.shape[:-1], weight.shape[0]), x.dtype)


@rule(matmul=aten.matmul.default)
def matmul(x: TensorType, y: TensorType) -> TensorType:
    """[*a, m, k], [*b, k, n] -> [*broadcast(a, b), m, n]."""
    same(x.shape[-1], y.shape[-2], "sizes disagree")
    return TensorType((*broadcast(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), x.dtype)


@rule(add=aten.add.Tensor, mul=aten.mul.Tensor)
def elementwise(x: TensorType, other: Any) -> TensorType:
    """[*a], [*b] -> [*broadcast(a, b)]."""
    return TensorType(broadcast(x.shape, getattr(other, "shape", ())), x.dtype)


@rule(relu=aten.relu.default, softmax=aten.softmax.int)
def like(x: TensorType, **options: Any) -> TensorType:
    """[*a] -> [*a]."""
    return x


@rule(transpose=aten.transpose.int)
def transpose(x: TensorType, dim0: int, dim1: int) -> TensorType:
    """[.., a, .., b, ..] -> [.., b, .., a, ..]."""
    sizes = list(x.shape)
    sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    return TensorType(tuple(sizes), x.dtype)


@rule(reshape=aten.reshape.default)
def reshape(x: TensorType, sizes: list[Int | int]) -> TensorType:
    """[*a] -> [*sizes], of as many elements."""
    same(prod(x.shape, start=as_int(1)), prod(sizes, start=as_int(1)), "as many elements")
    return TensorType(tuple(sizes), x.dtype)


@rule(cat=aten.cat.default)
def cat(tensors: Sequence[TensorType], dim: int = 0) -> TensorType:
    """[[*a, n_i, *b], ...] -> [*a, sum of n_i, *b]."""
    first, *others = tensors
    before, after = first.shape[:dim], first.shape[dim:][1:]
    for other in others:
        for m, n in zip((*before, *after), other.shape[:dim] + other.shape[dim:][1:], strict=True):
            same(m, n, "sizes disagree")
    return TensorType((*before, sum(each.shape[dim] for each in tensors), *after), first.dtype)


@rule(sum=aten.sum.dim_IntList)
def reduced(x: TensorType, dims: list[int]) -> TensorType:
    """[.., n, ..] -> [.., ..]."""
    gone = [dim % len(x.shape) for dim in dims]
    return TensorType(tuple(n for i, n in enumerate(x.shape) if i not in gone), x.dtype)


# --- 5. The recorder, and the program it leaves --------------------------------------------------


class Recorder:
    """Receives each operator call, asks its rule for the result's type, and appends a node."""

    def __init__(self, module: nn.Module) -> None:
        self.graph, self.facts = fx.Graph(), Facts()
        self.names = {id(t): name for name, t in module.state_dict(keep_vars=True).items()}
        self.sources: dict[str, tuple[fx.Node, int]] = {}

    def call(self, name: str, args: Any, kwargs: dict[str, Any]) -> AbstractTensor:
        """Record one operator and return what user code sees."""
        if name not in RULES:
            raise RefusedError(f"no rule for `{name}`{user_line()}")
        overload, law = RULES[name]
        result = law(*args, **kwargs)
        node = self.graph.call_function(overload, map_aggregate(args, self.node_of), kwargs)
        return AbstractTensor(result.shape, result.dtype, node)

    def node_of(self, arg: Any) -> Any:
        """An argument as the graph sees it; the module's own tensors are lifted."""
        if isinstance(arg, AbstractTensor):
            return arg.node
        if isinstance(arg, torch.Tensor):
            return self.graph.get_attr(self.names[id(arg)])
        return self.number(arg) if isinstance(arg, Int) else arg

    def number(self, n: Int) -> Any:
        """Nodes that compute a size when the program runs."""
        call, size = self.graph.call_function, aten.sym_size.int
        total = n.value({s: fx.Proxy(call(size, where)) for s, where in self.sources.items()})
        return total.node if isinstance(total, fx.Proxy) else total


@dataclass(frozen=True)
class Program:
    """A graph, and the contract of its callers."""

    graph: fx.GraphModule
    inputs: tuple[TensorType, ...]
    facts: Facts

    def __call__(self, *args: torch.Tensor) -> torch.Tensor:
        """Run. A call is accepted iff ranks, dtypes and fixed sizes agree and every guard holds.

        Raises: RefusedError, before any operator runs.
        """
        values: dict[str, int] = {}
        for arg, expected in zip(args, self.inputs, strict=True):
            if arg.dtype != expected.dtype or arg.dim() != len(expected.shape):
                raise RefusedError(f"expected {expected}")
            for size, n in zip(arg.shape, expected.shape, strict=True):
                name = n.terms[0][0][0] if isinstance(n, Int) else None
                if size != (values.setdefault(name, size) if name else n):
                    raise RefusedError(f"a size of {size} where the program has {n}")
        for relation, line in self.facts.guards.items():
            if not relation.holds(values):
                raise RefusedError(f"{relation} does not hold for {values}{line}")
        return self.graph(*args)


def export(
    module: nn.Module, args: tuple[torch.Tensor, ...], dynamic: Sequence[dict[int, str]]
) -> Program:
    """Run a module once on abstract tensors; `dynamic` names sizes, one dict per input."""
    recorder, inputs = Recorder(module), list[AbstractTensor]()
    for i, (arg, names) in enumerate(zip(args, dynamic, strict=True)):
        node = recorder.graph.placeholder(f"x{i}")
        sizes: list[Int | int] = list(arg.shape)
        for dim, name in names.items():
            sizes[dim] = as_int(name)
            recorder.facts.example.setdefault(name, arg.shape[dim])
            recorder.sources.setdefault(name, (node, dim))
        inputs.append(AbstractTensor(tuple(sizes), arg.dtype, node))
    CAPTURES.append(recorder)
    try:
        recorder.graph.output(module(*inputs).node)
    finally:
        CAPTURES.pop()
    recorder.graph.eliminate_dead_code()
    return Program(fx.GraphModule(module, recorder.graph), tuple(inputs), recorder.facts)
