"""Source of assertions for a contract, one line a condition."""

from __future__ import annotations

import ast
import inspect
import json
import math
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.queries.query_kinds import Answer, asks_tensor, code_of
from monograph.integers import python_source, relation_source
from monograph.program.calling.checks import solution_plan
from monograph.program.calling.memory_overlap import FUNCTIONS
from monograph.program.contract import (
    Contract,
    FloatClause,
    NumberClause,
    TensorClause,
    ValueClause,
    pairs_apart,
    state_asked,
    where,
)
from monograph.program.python_source.layout import INDENT, WIDTH, one_line
from monograph.program.python_source.values import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from monograph.integers import Expr, Int

_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bit_and": "operator.and_",
        "bit_or": "operator.or_",
        "bit_xor": "operator.xor",
        "lshift": "operator.lshift",
        "pow": "pow",
        "rshift": "operator.rshift",
    }
)
"""Functions that relations call, where Python has them under another name than `math`."""


def check_lines(
    contract: Contract,
    leaves: Sequence[str],
    symbol_names: Mapping[Expr, str],
    class_name: Callable[[type], str],
) -> list[str]:
    """The body of a function that refuses what the contract does not admit.

    `leaves` are the variables that hold the flat inputs; `class_name` says how a class is called.
    """
    names = dict(symbol_names)
    lines: list[str] = []
    for clause, leaf in zip(contract.clauses, leaves, strict=True):
        lines += _input_lines(clause, leaf, class_name)
    clauses = zip(contract.clauses, leaves, strict=True)
    tensors = [leaf for clause, leaf in clauses if isinstance(clause, TensorClause)]
    if tensors:
        given = tuple_of(tensors)
        lines.append(f"assert not torch.overrides.has_torch_function({given})")
    plan = solution_plan(contract)
    where_shown = dict(_shown(contract, leaves))
    for step in plan.steps:
        name, shown = names[step.symbol], where_shown[step.equation.code]
        if step.equation.expected is step.symbol:
            if name != shown:
                lines.append(f"{name} = {shown}")
            continue
        offset = f" - ({python_source(step.offset, names)})" if step.offset != 0 else ""
        difference = _spelt(f"{shown}{offset}")
        lines.append(f"{name}, rest = divmod({difference}, {step.coefficient})")
        lines.append("assert rest == 0")
    for equation in plan.left:
        expected = _number(equation.expected, names)
        lines.append(f"assert {where_shown[equation.code]} == {expected}")
    lines += _layout_lines(contract, leaves, names)
    lines += _apart_lines(contract, leaves)
    lines += _range_lines(contract, names)
    for guard in contract.guards:
        place = where(guard.origin)
        note = f"  # {place}" if place else ""
        lines.append(f"assert {_spelt(relation_source(guard.relation, names))}{note}")
    lines += _answer_lines(contract, leaves)
    return [part for line in lines for part in _fitted(line)]


def tuple_of(names: Sequence[str]) -> str:
    """A tuple in one line."""
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _answer_lines(contract: Contract, leaves: Sequence[str]) -> Iterator[str]:
    """What user code was told must be said again; parameters are looked up in `state`."""
    for answer in contract.answers:
        if asks_tensor(answer) and answer.argument is None:
            leaf = f"state[{answer.path!r}]"
        else:
            leaf = "" if answer.argument is None else leaves[answer.argument]
        place = where(answer.origin)
        for condition in _conditions(answer, leaf):
            yield f"assert {condition}{f'  # {place}' if place else ''}"


def _conditions(answer: Answer, leaf: str) -> Iterator[str]:
    value, code = answer.value, code_of(answer, leaf)
    if answer.question == "autocast":
        kind = json.dumps(answer.path)
        code = f"torch.is_autocast_enabled({kind})"
        yield f"not {code}" if value is None else code
        code = f"torch.get_autocast_dtype({kind})"
    if isinstance(value, bool):
        yield code if value else f"not {code}"
    elif isinstance(value, torch.dtype):
        yield f"{code} is {value}"
    elif value is not None:
        yield f"{code} == {one_line(constant(value)[0])}"


def _fitted(line: str) -> list[str]:
    """An assertion, in brackets where it is too long; its comment says whose line it is."""
    code, mark, note = line.partition("  # ")
    if len(INDENT) + len(line) <= WIDTH or not code.startswith("assert "):
        return [INDENT + line]
    condition = code.removeprefix("assert ")
    return [f"{INDENT}assert (", f"{INDENT}{INDENT}{condition}", f"{INDENT}){mark}{note}"]


def _input_lines(clause: Any, leaf: str, class_name: Callable[[type], str]) -> Iterator[str]:
    match clause:
        case TensorClause(_, dtype, device_type, shape, layout):
            yield f"assert isinstance({leaf}, torch.Tensor)"
            yield f"assert {leaf}.dtype is {dtype}"
            yield f"assert {leaf}.device.type == {json.dumps(device_type)}"
            if layout is not torch.strided:
                yield f"assert {leaf}.layout is {layout}"
            if all(isinstance(size, int) for size in shape):
                sizes = ", ".join(map(str, shape))
                comma = "," if len(shape) == 1 else ""
                yield f"assert {leaf}.shape == ({sizes}{comma})"
            else:
                yield f"assert {leaf}.dim() == {len(shape)}"
        case NumberClause():
            yield f"assert type({leaf}) is int"
        case FloatClause():
            yield f"assert type({leaf}) is float"
        case ValueClause(_, value):
            yield from _value_lines(leaf, value, class_name)
        case _:
            pass


def _value_lines(leaf: str, value: Any, class_name: Callable[[type], str]) -> Iterator[str]:
    if isinstance(value, Enum):
        yield f"assert {leaf} is {class_name(type(value))}.{value.name}"
        return
    if value is None or isinstance(value, bool | torch.dtype | torch.layout | torch.memory_format):
        yield f"assert {leaf} is {value!r}"
        return
    yield f"assert type({leaf}) is {_type_name(value)}"
    if isinstance(value, float) and math.isnan(value):
        yield f"assert math.isnan({leaf})"
        return
    yield f"assert {leaf} == {one_line(constant(value)[0])}"
    yield from _sign_of_zero(leaf, value)
    if isinstance(value, complex):
        yield from _sign_of_zero(f"{leaf}.real", value.real)
        yield from _sign_of_zero(f"{leaf}.imag", value.imag)


def _sign_of_zero(leaf: str, value: Any) -> Iterator[str]:
    if isinstance(value, float) and not value:
        yield f"assert math.copysign(1, {leaf}) == {math.copysign(1, value):.0f}"


def _type_name(value: Any) -> str:
    return "torch.device" if isinstance(value, torch.device) else type(value).__name__


def _shown(contract: Contract, leaves: Sequence[str]) -> Iterator[tuple[str, str]]:
    """How the text spells what `checks.equations` names."""
    for index, (clause, leaf) in enumerate(zip(contract.clauses, leaves, strict=True)):
        if isinstance(clause, TensorClause):
            for dim in range(len(clause.shape)):
                yield f"d{index}_{dim}", f"{leaf}.shape[{dim}]"
        else:
            yield f"l{index}", leaf


def _layout_lines(
    contract: Contract, leaves: Sequence[str], names: Mapping[Expr, str]
) -> Iterator[str]:
    for clause, leaf in zip(contract.clauses, leaves, strict=True):
        if not isinstance(clause, TensorClause):
            continue
        if clause.strides is not None:
            comma = "," if len(clause.strides) == 1 else ""
            steps = f"({', '.join([_number(step, names) for step in clause.strides])}{comma})"
            if clause.strides_of_one:
                yield f"assert {leaf}.stride() == {steps}"
            else:
                dims = f"zip({leaf}.shape, {leaf}.stride(), {steps})"
                each = f"size == 1 or step == wanted for size, step, wanted in {dims}"
                yield f"assert not {leaf}.numel() or all({each})"
        if clause.offset is not None:
            yield f"assert {leaf}.storage_offset() == {_number(clause.offset, names)}"


def _apart_lines(contract: Contract, leaves: Sequence[str]) -> Iterator[str]:
    leaves = [*leaves, *(f"state[{name!r}]" for name in state_asked(contract))]
    for one, other in pairs_apart(contract):
        names = leaves[one] if one == other else f"{leaves[one]}, {leaves[other]}"
        yield f"assert not {'is_folded' if one == other else 'overlap'}({names})"


def functions_of_checks(contract: Contract) -> list[str]:
    """The functions that the assertions call, as they are written here."""
    if not pairs_apart(contract):
        return []
    return [inspect.getsource(each).rstrip() for each in FUNCTIONS]


def _range_lines(contract: Contract, names: Mapping[Expr, str]) -> Iterator[str]:
    for symbol, lower, upper in contract.ranges:
        name = names.get(symbol)
        if name is None:
            continue
        if lower is not None and upper is not None:
            yield f"assert {lower} <= {name} <= {upper}"
        elif upper is not None:
            yield f"assert {name} <= {upper}"
        elif lower:
            yield f"assert {name} >= {lower}"


def _number(size: Int, names: Mapping[Expr, str]) -> str:
    return _spelt(python_source(size, names))


def _spelt(text: str) -> str:
    """Formatted as formatters do, and with functions under the names that they have in Python."""
    tree = ast.parse(text, mode="eval")
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            name = each.func.id
            each.func.id = _NAMES.get(name, f"math.{name}" if hasattr(math, name) else name)
    return ast.unparse(tree).replace(" ** ", "**")


__all__ = ["check_lines", "functions_of_checks"]
