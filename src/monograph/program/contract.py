"""The input contract, as data: a clause per flat input, ranges, relations with origins.

Law: a call is accepted iff its structure is `in_spec`, every clause holds, every symbol solved from
the sizes lies in its range, and every relation holds. `compile_checks` writes the function that
decides this; the data here is what it is written from, what is printed, and what is saved.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard

import torch

from monograph.capture.queries.query_kinds import UNCHECKED, Answer, asks_tensor, code_of
from monograph.diagnostics import Frame, Place, place
from monograph.integers import Expr, is_symbol, maximum, relation_text
from monograph.integers import text as expr_text
from monograph.lazy_imports import deferred
from monograph.program.printing import dtype_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from monograph.capture.inputs.mutation_spec import Changes
    from monograph.diagnostics import Spot
    from monograph.integers import Guard, Int


@dataclass(frozen=True, slots=True)
class TensorClause:
    """The input is a tensor of this dtype, on this kind of device, with these sizes.

    `strides` and `offset` are given where user code asked for a layout, in `layout_origin`; None
    accepts any. Whether strides matter, too, of dimensions of size 1 and where there are no
    elements, says `strides_of_one`: they do as numbers.
    """

    path: str
    dtype: torch.dtype
    device_type: str
    shape: tuple[Int, ...]
    layout: torch.layout = torch.strided
    strides: tuple[Int, ...] | None = None
    offset: Int | None = None
    strides_of_one: bool = True
    layout_origin: object = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NumberClause:
    """The input is an integer that differs between calls; `value` is the symbol it determines."""

    path: str
    value: Int


@dataclass(frozen=True, slots=True)
class FloatClause:
    """The input is a float that differs between calls; `symbol` stands for it in relations."""

    path: str
    symbol: Expr


@dataclass(frozen=True, slots=True)
class ValueClause:
    """The input has this type and value, and no other: NaN matches NaN, -0.0 does not match 0.0."""

    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class ModesClause:
    """The `training` flags that user code read, with what they said, by the modules' paths.

    `only_sets_flags` tells whether `train()` and `eval()` of the module do no more than PyTorch's.
    """

    asked: tuple[tuple[str, bool], ...]
    only_sets_flags: bool = True

    def allows(self, mode: bool) -> bool:  # noqa: FBT001  (as `train` has it)
        """Whether the module computes the same after `train(mode)`."""
        return self.only_sets_flags and all(value == mode for _, value in self.asked)


InputClause = TensorClause | NumberClause | FloatClause | ValueClause


_contract_html = deferred("monograph.program.html:contract_html")

SymbolRange = tuple[Expr, int | None, int | None]
"""A symbol with the least and the greatest value it may have; an end of None is open."""


class FoundLater(Sequence[Any]):
    """A sequence that is worked out when somebody first looks at it.

    Why: dropping the guards that others imply costs a third of a capture with many of them, and
    most programs are transformed or saved before they are called.
    """

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Iterable[Any]]) -> None:
        self._find = find
        self._found: tuple[Any, ...] | None = None

    def _all(self) -> tuple[Any, ...]:
        if self._found is None:
            self._found = tuple(self._find())
        return self._found

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


@dataclass(frozen=True, slots=True)
class Contract:
    """Everything a caller must satisfy.

    `in_spec` is the structure of `(args, kwargs)`; clauses are in the order of its leaves. A guard
    is a relation with its origin: the user's lines that asked, innermost first, or None. `names`
    says how a symbol is called in messages: `batch`, or where it comes from: `x.shape[0]`. The
    two inputs of each pair of places in `apart` share no memory: one is written to before the other
    is read. No two elements of an input paired with itself do. `apart_from_state` pairs inputs with
    parameters and buffers alike. `dtype_asked` says where user code asked a tensor for its dtype,
    which fixes it: None where none did, True where nobody knows. What
    `modes` says holds for `train()` and `eval()`; None where nobody knows. `changes` says what a
    call does to the objects it is given; they hold before what it says they do. `answers` are what
    user code was told when it asked for modes of the process, and for flags of tensors. The results
    at the places in `inference_results` are inference tensors.
    """

    in_spec: Any
    clauses: tuple[InputClause, ...]
    guards: Sequence[Guard] = ()
    ranges: tuple[SymbolRange, ...] = ()
    names: Mapping[Expr, str] = field(default_factory=lambda: MappingProxyType({}))
    apart: tuple[tuple[int, int], ...] = ()
    apart_from_state: tuple[tuple[int, str], ...] = ()
    dtype_asked: object = True
    modes: ModesClause | None = None
    changes: Changes | None = None
    answers: tuple[Answer, ...] = ()
    inference_results: tuple[int, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{title}\n{_table(rows)}" for title, rows in tables(self) if rows)

    def __repr__(self) -> str:
        inputs, ranges, *others = tables(self)
        parts = [": ".join(row[:2]) for row in (*inputs[1], *ranges[1])]
        parts += [f"{len(rows)} {title}" for title, rows in others if rows]
        return f"<Contract {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        return _contract_html(self)


def tables(contract: Contract) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the contract as titled rows of text: inputs, ranges, relations, answers."""
    names = contract.names
    return [
        ("inputs", [_input_row(clause, names) for clause in contract.clauses]),
        (
            "ranges",
            [
                (expr_text(symbol, names), range_text(lower, upper))
                for symbol, lower, upper in contract.ranges
            ],
        ),
        (
            "relations",
            [(relation_text(each.relation, names), where(each.origin)) for each in contract.guards],
        ),
        (
            "modes and flags",
            [
                (question_text(each), answer_text(each.value), where(each.origin))
                for each in contract.answers
            ],
        ),
    ]


def question_text(answer: Answer) -> str:
    """Return what was asked, as code that asks it: `x.requires_grad`."""
    if answer.question == "autocast":
        return f"torch.autocast on {answer.path}"
    if answer.question == UNCHECKED:
        return f"what a draft cannot check ({answer.path})"
    code = code_of(answer, answer.path)
    return code[1:-1] if code.startswith("(") else code


def answer_text(value: object) -> str:
    """Return an answer as people read it."""
    return "off" if value is None else dtype_text(value) if _is_dtype(value) else str(value)


def _is_dtype(value: object) -> TypeGuard[torch.dtype]:
    return isinstance(value, torch.dtype)


def state_asked(contract: Contract) -> tuple[str, ...]:
    """Return the parameters and buffers that the checks look at, by name, each once."""
    found = [e.path for e in contract.answers if asks_tensor(e) and e.argument is None]
    return tuple(dict.fromkeys([*found, *(name for _, name in contract.apart_from_state)]))


def pairs_apart(contract: Contract) -> tuple[tuple[int, int], ...]:
    """Return the pairs that share no memory, by their places: inputs, then `state_asked`."""
    state, begin = state_asked(contract), len(contract.clauses)
    found = ((i, begin + state.index(name)) for i, name in contract.apart_from_state)
    return (*contract.apart, *found)


def shape_text(shape: Iterable[Int], names: Mapping[Expr, str]) -> str:
    """Return sizes as `[batch, 4]`."""
    return f"[{', '.join(expr_text(size, names) for size in shape)}]"


def range_text(lower: int | None, upper: int | None) -> str:
    """Return a range as people read it.

    >>> range_text(2, None), range_text(1, 8), range_text(None, 8)
    ('2 …', '1 … 8', '… 8')
    """
    return f"{'' if lower is None else lower} … {'' if upper is None else upper}".strip()


def where(origin: object) -> str:
    """Return `model.py:31` of a guard's innermost line, "" if it has none."""
    for spot in spots(origin):
        found = place(spot)
        return f"{os.path.basename(found.file)}:{found.line}"  # noqa: PTH119  (a name, not a path)
    return ""


def spots(origin: object) -> tuple[Spot, ...]:
    """Return a guard's lines, innermost first, whatever form its origin has."""
    if isinstance(origin, Frame | Place):
        return (origin,)
    return origin if isinstance(origin, tuple) else ()


def real_strides(shape: Sequence[Int]) -> tuple[Int, ...]:
    """What a contiguous tensor answers: a size of 0 counts as 1."""
    strides: list[Int] = []
    step: Int = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * maximum(size, 1)
    return tuple(reversed(strides))


def example_sizes(contract: Contract, leaves: Iterable[Any]) -> dict[Expr, int]:
    """The value of each symbol that is the size of an input, for flat inputs."""
    found: dict[Expr, int] = {}
    for clause, leaf in zip(contract.clauses, leaves, strict=False):
        for size, value in zip(sizes_of(clause), _values(clause, leaf), strict=False):
            if is_symbol(size) and not isinstance(size, int):
                found.setdefault(size, value)
    return found


def sizes_of(clause: object) -> tuple[Int, ...]:
    """The sizes that a clause declares of an input; a number counts as one."""
    match clause:
        case TensorClause():
            return clause.shape
        case NumberClause():
            return (clause.value,)
        case _:
            return ()


def _values(clause: object, leaf: Any) -> tuple[int, ...]:
    if isinstance(clause, NumberClause):
        return (leaf,) if isinstance(leaf, int) else ()
    return tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else ()


def _input_row(clause: InputClause, names: Mapping[Expr, str]) -> tuple[str, ...]:
    match clause:
        case TensorClause(path, dtype, device_type, shape, _, strides):
            row = (path, f"{dtype_text(dtype)}{shape_text(shape, names)}", device_type)
            return row if strides is None else (*row, f"strides {shape_text(strides, names)}")
        case NumberClause(path, value):
            return (path, "int", expr_text(value, names))
        case FloatClause(path, symbol):
            return (path, "float", expr_text(symbol, names))
        case ValueClause(path, value):
            return (path, "always", repr(value))


def _table(rows: list[tuple[str, ...]]) -> str:
    widest = max(map(len, rows))
    rows = [(*row, *[""] * (widest - len(row))) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"    {line}".rstrip() for line in lines)


__all__ = [
    "Answer",
    "Contract",
    "FloatClause",
    "FoundLater",
    "InputClause",
    "ModesClause",
    "NumberClause",
    "SymbolRange",
    "TensorClause",
    "ValueClause",
    "answer_text",
    "example_sizes",
    "pairs_apart",
    "question_text",
    "range_text",
    "real_strides",
    "shape_text",
    "sizes_of",
    "spots",
    "state_asked",
    "tables",
    "where",
]
