"""Sizes and numbers as user code and PyTorch's C++ see them: `torch.SymInt` over our expressions.

PyTorch accepts any Python object with the methods of its SymNode. `SymbolNode` is ours: it holds an
`Expr`, a `Real` or a `Relation`, and answers with the current facts. Arithmetic makes new nodes;
only `guard_*` and `bool` choose a side, and they do it in one place, `decide`.
"""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.arithmetic import SymbolicNumber, Value, result_type
from monograph.diagnostics import MonographError, problem
from monograph.integers import (
    Expr,
    Real,
    Relation,
    active,
    call,
    decide,
    eq,
    ge,
    gt,
    in_force,
    known,
    lt,
    ne,
    plain_value,
    relation_text,
    require,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from monograph.integers import Facts


_SHOWN: Final[ContextVar[bool | None]] = ContextVar("monograph_shown", default=None)
"""Whether texts are for people now, with names (True) or with the example's numbers (False)."""


@contextmanager
def showing(*, names: bool = False) -> Generator[None]:
    """Texts that are made inside are for people, and decide nothing: no number is fixed.

    Numbers are the example's; with `names`, what they are called, as where the program says them.
    """
    before = _SHOWN.set(names)
    try:
        yield
    finally:
        _SHOWN.reset(before)


def is_shown() -> bool:
    """Whether texts are for people now."""
    return _SHOWN.get() is not None


def to_sym(value: Any, facts: Facts | None = None) -> Any:
    """A number for user code: constants as they are, expressions as SymInt, SymFloat, SymBool.

    `facts` are those the expression belongs to; None means the ones in force.
    """
    if isinstance(value, int | float):
        return value
    if isinstance(value, Expr):
        return torch.SymInt(SymbolNode(value, int, facts or active()))
    if isinstance(value, Relation):
        return torch.SymBool(SymbolNode(value, bool, facts or active()))
    if isinstance(value, Real):
        return torch.SymFloat(SymbolNode(value, float, facts or active()))
    return value


def to_python(number: Any) -> Any:
    """The expression behind a symbolic number; anything else as it is."""
    if issubclass(type(number), torch.SymInt | torch.SymFloat | torch.SymBool):
        node = number.node
        if isinstance(node, SymbolNode):
            return node.settled()
        constant = node.maybe_as_int() if isinstance(number, torch.SymInt) else None
        if constant is not None:
            return constant
        raise problem("leaked-tensor", op=str(number))
    return number


def as_stated(number: Any) -> Any:
    """As `to_python`, without what was learnt since: what a node of the graph computes."""
    is_symbolic = isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool)
    node = number.node if is_symbolic else None
    return node.value if isinstance(node, SymbolNode) else to_python(number)


class SymbolNode(SymbolicNumber):
    """The object behind one SymInt, SymFloat or SymBool."""

    __slots__ = ("facts",)

    def __init__(self, value: Value, pytype: type, facts: Facts) -> None:
        self.value = value
        self.pytype = pytype
        self.facts = facts

    def beside(self, value: Value, pytype: type | None = None) -> SymbolNode:
        """A node for another value of the same capture."""
        return SymbolNode(value, pytype or result_type(value), self.facts)

    def settled(self) -> Value:
        """The value with everything learnt since substituted."""
        value = self.value
        return self.facts.simplify(value) if isinstance(value, Expr) else value

    # --- what kind of number -----------------------------------------------------------------

    def is_int(self) -> bool:
        """Behind a SymInt."""
        return self.pytype is int

    def is_float(self) -> bool:
        """Behind a SymFloat."""
        return self.pytype is float

    def is_bool(self) -> bool:
        """Behind a SymBool."""
        return self.pytype is bool

    def is_nested_int(self) -> bool:
        """Never: ragged sizes have nodes of their own."""
        return False

    def is_symbolic(self) -> bool:
        """Whether the value is open."""
        return not isinstance(self.settled(), int | float)

    def is_constant(self) -> bool:
        """Whether the value is a plain number."""
        return not self.is_symbolic()

    def maybe_as_int(self) -> int | None:
        """The integer, where it is one."""
        value = self.settled()
        return value if isinstance(value, int) and self.pytype is int else None

    def maybe_as_float(self) -> float | None:
        """The float, where it is one."""
        return self.value if isinstance(self.value, float) else None

    def maybe_as_bool(self) -> bool | None:
        """The truth, where it is known."""
        return self._known(self.value) if self._is_truth() else None

    def _known(self, relation: Any) -> bool | None:
        return relation if isinstance(relation, bool) else self.facts.known(relation)

    def _decide(self, relation: Any) -> bool:
        """Choose a side for user code; after the capture only what is known can be answered."""
        if _SHOWN.get() is not None and isinstance(relation, Relation):
            return bool(self.facts.hint_of_relation(relation))
        if in_force(self.facts):
            return decide(relation)
        answer = self._known(relation)
        if answer is None:
            raise problem("leaked-tensor", op=f"the question {relation}")
        return answer

    def _is_truth(self) -> bool:
        return isinstance(self.value, bool | Relation)

    def nested_int(self) -> None:
        """Never."""
        return

    # --- making neighbours -------------------------------------------------------------------

    def wrap_int(self, number: int) -> SymbolNode:
        """A constant beside this node."""
        return self.beside(number, int)

    def wrap_float(self, number: float) -> SymbolNode:
        """A constant beside this node."""
        return self.beside(number, float)

    def wrap_bool(self, truth: bool) -> SymbolNode:
        """A constant beside this node."""
        return self.beside(truth, bool)

    def clone(self) -> SymbolNode:
        """Nodes never change, so this one."""
        return self

    def __deepcopy__(self, memo: object) -> SymbolNode:
        """Itself: a number's copy is about the same facts."""
        return self

    # --- text --------------------------------------------------------------------------------

    def __str__(self) -> str:
        value = self.settled()
        return relation_text(value) if isinstance(value, Relation) else text(value)

    def str(self) -> str:
        """The number's text for user code, which fixes it: a text may decide what is looked up."""
        if _SHOWN.get() is not None:
            return str(self.shown())
        return repr(self.evaluate()) if in_force(self.facts) else self.__str__()

    def shown(self) -> Any:
        """What people are shown: the example's number, or what it is called; see `showing`."""
        example = None if _SHOWN.get() else self.hint
        if example is not None:
            return example
        value = self.settled()
        names = {s: self.facts.source_of(s) or s.name for s in self.facts.symbols}
        if isinstance(value, Relation):
            return relation_text(value, names)
        return text(value, names) if isinstance(value, Expr | Real) else value

    _graph_repr = str

    def __repr__(self) -> str:
        return f"SymbolNode({self.settled()})"

    # --- hints: what the example inputs gave ------------------------------------------------

    @property
    def hint(self) -> Any:
        """The value in the example, None where it is data-dependent."""
        return _hint(self.facts, self.value)

    _hint = hint

    def has_hint(self) -> bool:
        """Whether the example says it."""
        return self.hint is not None

    def require_hint(self, fallback: Any = None) -> Any:
        """The hint, or the fallback."""
        hint = self.hint
        return fallback if hint is None else hint

    @property
    def expr(self) -> Any:
        """What torch calls the expression; ours, not sympy's."""
        return self.settled()

    _expr = expr

    @property
    def shape_env(self) -> ShapeQuestions:
        """The questions torch's Python meta kernels ask of a shape environment."""
        return ShapeQuestions()

    # --- questions ---------------------------------------------------------------------------

    def bool_(self) -> bool:
        """`bool(x)`: in user code this is a branch."""
        overlook = self.facts.overlook
        if overlook is not None and in_force(self.facts):
            # Who asked Python's `__bool__` for it.
            answer = overlook(self._question(), self.value, sys._getframe(1).f_back)
            if answer is not None:
                return answer
        return self.guard_bool("", 0)

    def _question(self) -> Any:
        value = self.settled()
        return value if isinstance(value, bool | Relation) else _differs_from_zero(value)

    def int_(self) -> int:
        """`int(x)`: the value becomes a constant of the program."""
        return self.guard_int("", 0)

    def guard_bool(self, file: str, line: int) -> bool:  # noqa: ARG002 - torch's signature
        """Choose the side the example takes, and remember it."""
        return self._decide(self._question())

    def guard_int(self, file: str, line: int) -> int:
        """Fix the value to the example's, and remember it."""
        value = self.settled()
        if isinstance(value, int):
            return value
        if _SHOWN.get() is not None:
            return int(self.shown())
        if isinstance(value, Relation):
            return int(self._decide(value))
        if isinstance(value, float | Real):
            return int(self.guard_float(file, line))
        hint = _hint(self.facts, value)
        if hint is None:
            exact = _only_value(value, self.facts)
            if exact is not None:
                return exact
            return int(self._ask("int"))
        self._fix(value, hint, "int")
        return hint

    def _fix(self, value: Expr | Real, hint: float, kind: str) -> None:
        """It is the example's from here on. Raises: specialized-value, in a branch for others."""
        if not self._decide(eq(value, hint)):
            names = {s: self.facts.source_of(s) or s.name for s in value.symbols}
            raise problem("specialized-value", kind=kind, size=text(value, names))

    def _ask(self, kind: str) -> float:
        """What the value is for the example, if that is asked; else refused."""
        value = self.settled()
        said: dict[str, Any] = {
            "size": self._unknown(),
            "plainly": self.facts.runs_plainly,
            "truncated": isinstance(value, Expr) and value.name == "trunc",
        }

        def refuse(example: float | None) -> MonographError:
            return problem("specialized-value", kind=kind, example=example, **said)

        if isinstance(value, Expr | Real):
            return plain_value(value, refuse)
        raise refuse(None)

    def _unknown(self) -> str:
        """What it depends on, by where that comes from: `x.sum().item()`."""
        symbols = getattr(self.settled(), "symbols", ())
        unknown = [s for s in self.facts.symbols if s in symbols and self.facts.is_unbacked(s)]
        return ", ".join(self.facts.source_of(s) or s.name for s in unknown)

    def guard_float(self, file: str, line: int) -> float:  # noqa: ARG002
        """Fix the value to the example's, and remember what it rests on."""
        value = self.settled()
        if isinstance(value, int | float):
            return float(value)
        if _SHOWN.get() is not None:
            return float(self.shown())
        hint = _hint(self.facts, value)
        if hint is None:
            return self._ask("float")
        if isinstance(value, Real) and not self.facts.float_inputs.isdisjoint(value.symbols):
            return self._fix_float(value, hint)
        for symbol in sorted(value.symbols, key=str):
            self._fix(symbol, self.facts.hints[symbol], "float")
        return float(hint)

    def _fix_float(self, value: Real, hint: float) -> float:
        """Fix what depends on a float that callers give; a zero with its sign, and never NaN."""
        if math.isnan(hint):
            raise problem("specialized-value", kind="float", size=str(value))
        self._fix(value, hint, "float")
        if not hint:
            # atan2(0.0, -1.0) is pi, and atan2(-0.0, -1.0) is -pi.
            self._decide(gt(call("atan2", value, -1.0), 0.0))
        return float(hint)

    def guard_size_oblivious(self, file: str, line: int) -> bool:
        """As `guard_or_false`: the general answer where nobody can say."""
        return self.guard_or_false(file, line)

    def guard_or_false(self, file: str, line: int) -> bool:
        """What is known, else what the example says; data-dependent values give False."""
        return self._guard_or(file, line, otherwise=False)

    def guard_or_true(self, file: str, line: int) -> bool:
        """What is known, else what the example says; data-dependent values give True."""
        return self._guard_or(file, line, otherwise=True)

    def _guard_or(self, file: str, line: int, *, otherwise: bool) -> bool:
        answer = self.maybe_as_bool()
        if answer is not None:
            return answer
        general = self.facts.prefers_general or self.hint is None
        return otherwise if general else self.guard_bool(file, line)

    def statically_known_true(self, file: str, line: int) -> bool:  # noqa: ARG002
        """Whether it holds for certain; never records."""
        return self.maybe_as_bool() is True

    def expect_true(self, file: str, line: int) -> bool:  # noqa: ARG002
        """`torch._check`: true from here on, verified when the program runs."""
        if not isinstance(self.value, bool | Relation):
            return True
        names = {s: self.facts.source_of(s) or s.name for s in self.facts.symbols}
        condition = relation_text(self.value, names)  # pyright: ignore[reportArgumentType] - a truth
        require(self.value, "check-fails", condition=condition)
        return True

    def expect_size(self, file: str, line: int) -> bool:
        """Expected not to be negative."""
        return self.beside(ge(self.value, 0), bool).expect_true(file, line)

    def fix(self, value: Any) -> Any:
        """A plain number in place of a value of the same capture, by guarding."""
        return value if isinstance(value, int | float) else self.beside(value).evaluate()

    def evaluate(self, *_: Any, **__: Any) -> Any:
        """A concrete value, by guarding."""
        guard = {int: self.guard_int, float: self.guard_float, bool: self.guard_bool}
        return guard[self.pytype]("", 0)

    # --- layout questions over lists of nodes -------------------------------------------------

    def is_contiguous(self, sizes: Sequence[Any], strides: Sequence[Any]) -> SymbolNode:
        """Row-major with these sizes and strides, in general."""
        return self.beside(_in_order(sizes, strides, range(len(sizes))[::-1]), bool)

    def is_channels_last_contiguous_2d(self, sizes: Sequence[Any], strides: Any) -> SymbolNode:
        """Channels last, in general."""
        return self.beside(len(sizes) == 4 and _in_order(sizes, strides, (1, 3, 2, 0)), bool)

    def is_channels_last_contiguous_3d(self, sizes: Sequence[Any], strides: Any) -> SymbolNode:
        """Channels last, in general."""
        return self.beside(len(sizes) == 5 and _in_order(sizes, strides, (1, 4, 3, 2, 0)), bool)

    def is_channels_last_strides_2d(self, sizes: Sequence[Any], strides: Any) -> SymbolNode:
        """Strides in the channels-last order, in general."""
        return self.is_channels_last_contiguous_2d(sizes, strides)

    def is_channels_last_strides_3d(self, sizes: Sequence[Any], strides: Any) -> SymbolNode:
        """Strides in the channels-last order, in general."""
        return self.is_channels_last_contiguous_3d(sizes, strides)

    def is_non_overlapping_and_dense(self, sizes: Sequence[Any], strides: Any) -> SymbolNode:
        """Some order of the dimensions makes it dense."""
        return self.beside(_in_order(sizes, strides, _by_stride(strides)), bool)

    def is_non_overlapping_and_dense_indicator(self, sizes: Any, strides: Any) -> SymbolNode:
        """The same as 0 or 1."""
        return self.beside(int(bool(self.is_non_overlapping_and_dense(sizes, strides).value)), int)


def _hint(facts: Facts, value: Any) -> Any:
    """The value at the example's sizes, None where it depends on data."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, Relation):
        return facts.hint_of_relation(value)
    if isinstance(value, Real):
        is_unbacked = any(facts.hint_of(symbol) is None for symbol in value.symbols)
        return None if is_unbacked else value.evaluate(facts.hints)
    return facts.hint_of(value)


def _differs_from_zero(value: Any) -> Any:
    return value != 0 if isinstance(value, int | float) else ne(value, 0)


def _only_value(value: Expr, facts: Facts) -> int | None:
    interval = facts.interval(value)
    return int(interval.lower) if interval.lower == interval.upper else None


def _in_order(sizes: Sequence[Any], strides: Sequence[Any], order: Sequence[int]) -> bool:
    step: Any = 1
    for dim in order:
        size, stride = sizes[dim].settled(), strides[dim].settled()
        if known(eq(size, 1)) is True:
            continue
        if known(eq(stride, step)) is not True:
            return False
        step = step * size
    return True


def _by_stride(strides: Sequence[Any]) -> list[int]:
    order: list[int] = []
    for dim in range(len(strides) - 1, -1, -1):
        at = len(order)
        while at and known(lt(strides[dim].settled(), strides[order[at - 1]].settled())) is True:
            at -= 1
        order.insert(at, dim)
    return order


class ShapeQuestions:
    """The part of torch's ShapeEnv that its meta kernels and `_refs` consult."""

    __slots__ = ()

    def evaluate_sym_node(
        self, node: SymbolNode, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> Any:
        """Decide, or fall back where the value is data-dependent."""
        if size_oblivious:
            return node.guard_size_oblivious("", 0)
        if fallback_value is None:
            return node.evaluate()
        return node.guard_or_true("", 0) if fallback_value else node.guard_or_false("", 0)

    def _maybe_evaluate_static(self, expr: Any, **_: Any) -> bool | None:
        return known(expr) if isinstance(expr, bool | Relation) else None

    def is_unbacked_symint(self, symbol: Any) -> bool:
        """Whether a symbol has no hint."""
        return isinstance(symbol, Expr) and active().hint_of(symbol) is None

    def has_hint(self, expr: Any) -> bool:
        """Whether the example gives a value."""
        return active().hint_of(expr) is not None


__all__ = ["ShapeQuestions", "SymbolNode", "Value", "as_stated", "to_python", "to_sym"]
