"""Guard code: from a contract to one plain function that checks a call's flat inputs.

Law: the function returns None iff `broken_clauses` finds nothing. Its fast path is straight-line
code over the inputs; whatever goes wrong there, be it a comparison or an attribute that an input
does not have, leads to the slow path, which looks again and names everything that differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.queries.query_kinds import (
    NEEDED,
    UNCHECKED,
    asks_tensor,
    code_of,
    names_of_questions,
)
from monograph.diagnostics import Clause, problem
from monograph.host.calling import kept_out_of_dynamo
from monograph.host.dispatch import is_plain_tensor
from monograph.integers import (
    evaluate,
    evaluate_namespace,
    holds,
    python_source,
    relation_source,
    relation_text,
    solution_order,
    symbols,
)
from monograph.integers import text as expr_text
from monograph.program.calling.layouts import broken_layouts
from monograph.program.calling.memory_overlap import is_folded, lies, meets, overlap
from monograph.program.contract import (
    Contract,
    FloatClause,
    NumberClause,
    TensorClause,
    ValueClause,
    answer_text,
    pairs_apart,
    question_text,
    spots,
    state_asked,
)
from monograph.program.printing import type_text
from monograph.program.structure import with_article

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from monograph.integers import Expr, Guard, Int

GUARDED_BY_DYNAMO = frozenset(
    {
        *("autocast_cache", "default_dtype", "deterministic", "grad_mode"),
        *("has_no_grad", "is_parameter", "needed", "needed_inside", "requires_grad"),
        *("followed", "followed_inside"),
    }
)
"""Questions that code compiled by Dynamo (2.13) asks again, as it does whether autocast is on.

It answers others once and for all, or refuses them.
"""
CHECK_ERRORS = "(AttributeError, TypeError, ValueError, ArithmeticError, RuntimeError)"
DEVICE_FLAGS = {"cpu": "is_cpu", "cuda": "is_cuda", "meta": "is_meta"}


@dataclass(frozen=True, slots=True)
class Equation:
    """A number an input shows must equal an expression: `spot` is where, as code and for people."""

    code: str
    path: str
    expected: Int


@dataclass(frozen=True, slots=True)
class SolutionStep:
    """symbol = (what `equation` shows - offset) / coefficient; offset has symbols known before."""

    symbol: Expr
    equation: Equation
    coefficient: int
    offset: Int


@dataclass(frozen=True, slots=True)
class SolutionPlan:
    """How all symbols follow from the inputs, and which equations are left to compare."""

    steps: tuple[SolutionStep, ...]
    left: tuple[Equation, ...]


def compile_checks(contract: Contract) -> Callable[[Sequence[Any]], None]:
    """Make the function that takes the flat inputs, and the state that was asked, or refuses.

    It returns None; the state is `state_asked(contract)`, in that order.

    Raises (the function): contract-broken.
    """
    constants: dict[str, Any] = {}
    lines, condition = check_code(contract, constants)
    body = "\n        ".join(lines)
    source = (
        "def check(leaves):\n"
        "    try:\n"
        f"        {body or 'pass'}\n"
        f"        if (\n            {condition}\n        ):\n"
        "            return\n"
        f"    except {CHECK_ERRORS}:\n"
        "        pass\n"
        "    explain(leaves)\n"
    )

    @kept_out_of_dynamo("this call does not fit the program: uncompiled, it says how")
    def explain(leaves: Sequence[Any]) -> None:
        unchecked = [each for each in contract.answers if each.question == UNCHECKED]
        clauses = list(broken_clauses(contract, solution_plan(contract), leaves))
        if clauses:
            helps = [*_declarations(contract, leaves), *_without_gradient(contract, clauses)]
            helps += dict.fromkeys(each.edit for each in clauses if each.edit)
            raise problem("contract-broken", clauses=clauses, helps=helps)
        for each in unchecked:
            raise problem("draft-unchecked", at=spots(each.origin), assumed=each.path)

    namespace = {**constants, "explain": explain}
    exec(compile(source, f"{__file__}, generated", "exec"), namespace)  # noqa: S102  (written above)
    return namespace["check"]


def check_code(contract: Contract, constants: dict[str, Any]) -> tuple[list[str], str]:
    """Lines that take `leaves` apart, and the condition under which the call is accepted.

    The names that both use join `constants`; they may raise `CHECK_ERRORS`.
    """
    constants |= {"Tensor": torch.Tensor, "plain": is_plain_tensor}
    constants |= {"lies": lies, "same": same_value, **names_of_questions(), **evaluate_namespace()}
    plan = solution_plan(contract)
    names = {step.symbol: _symbol_name(step) for step in plan.steps}
    lines = [_unpacking(contract), *_size_lines(contract), *_step_lines(plan, names)]
    conditions = [
        *_input_conditions(contract, constants),
        *(f"{each.code} == ({python_source(each.expected, names)})" for each in plan.left),
        *_layout_conditions(contract, names),
        *_apart_conditions(contract, constants),
        *_range_conditions(contract, names),
        *(f"({relation_source(guard.relation, names)})" for guard in contract.guards),
        *_answer_conditions(contract, constants),
    ]
    return [line for line in lines if line], "\n            and ".join(conditions) or "True"


def same_value(expected: object, got: object) -> bool:
    """Whether two constants are the same to a program: type, value, sign of zero; NaN is NaN.

    >>> same_value(0.0, -0.0), same_value(math.nan, math.nan), same_value(1, True)
    (False, True, False)
    """
    if expected is got:
        return True
    if type(expected) is not type(got):
        return False
    if isinstance(expected, float) and isinstance(got, float):
        return _same_float(expected, got)
    if isinstance(expected, complex) and isinstance(got, complex):
        return _same_float(expected.real, got.real) and _same_float(expected.imag, got.imag)
    return bool(expected == got)


def _same_float(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


# ---------------------------------------------------------------------------------------- solving
def equations(contract: Contract) -> Iterator[Equation]:
    """Yield what the inputs show: each dynamic size, each integer that differs between calls."""
    for index, clause in enumerate(contract.clauses):
        if isinstance(clause, TensorClause) and not _is_static(clause):
            for dim, size in enumerate(clause.shape):
                yield Equation(f"d{index}_{dim}", f"{clause.path}.size()[{dim}]", size)
        elif isinstance(clause, NumberClause):
            yield Equation(f"l{index}", clause.path, clause.value)
        elif isinstance(clause, FloatClause):
            yield Equation(f"l{index}", clause.path, clause.symbol)


def solution_plan(contract: Contract) -> SolutionPlan:
    """Say how each symbol follows from one equation, and which equations that leaves.

    Raises: bug, where the inputs do not determine a symbol of a size or a relation.
    """
    shown = list(equations(contract))
    steps = tuple(
        SolutionStep(symbol, shown[index], coefficient, offset)
        for symbol, index, coefficient, offset in solution_order([e.expected for e in shown])
    )
    solved = {step.symbol for step in steps}
    used = {step.equation.code for step in steps}
    for equation in shown:
        if not symbols(equation.expected) <= solved:
            text = expr_text(equation.expected, contract.names)
            raise problem("bug", reason=f"the size {text} does not determine its symbols")
    for guard in contract.guards:
        if not guard.relation.symbols <= solved:
            text = relation_text(guard.relation, contract.names)
            raise problem("bug", reason=f"the inputs do not determine the symbols of {text}")
    return SolutionPlan(steps, tuple(each for each in shown if each.code not in used))


# ------------------------------------------------------------------------------------------- code
def _is_static(clause: TensorClause) -> bool:
    return all(isinstance(size, int) for size in clause.shape)


def _unpacking(contract: Contract) -> str:
    count = len(contract.clauses) + len(state_asked(contract))
    names = "".join(f"l{index}, " for index in range(count))
    return f"{names}= leaves" if names else ""


def _size_lines(contract: Contract) -> Iterator[str]:
    for index, clause in enumerate(contract.clauses):
        if isinstance(clause, TensorClause) and not _is_static(clause):
            sizes = "".join(f"d{index}_{dim}, " for dim in range(len(clause.shape)))
            yield f"{sizes}= l{index}.shape"


def _symbol_name(step: SolutionStep) -> str:
    is_itself = step.equation.expected is step.symbol
    return step.equation.code if is_itself else f"{step.equation.code}_solved"


def _step_lines(plan: SolutionPlan, names: Mapping[Expr, str]) -> Iterator[str]:
    for step in plan.steps:
        name = names[step.symbol]
        if name == step.equation.code:
            continue
        difference = f"{step.equation.code} - ({python_source(step.offset, names)})"
        yield f"{name}, remainder = divmod({difference}, {step.coefficient})"
        yield "if remainder: raise ValueError"


def _input_conditions(contract: Contract, constants: dict[str, Any]) -> Iterator[str]:
    for index, clause in enumerate(contract.clauses):
        name = f"l{index}"
        match clause:
            case TensorClause():
                yield from _tensor_conditions(name, clause, constants)
            case NumberClause():
                yield f"type({name}) is int"
            case FloatClause():
                yield f"type({name}) is float"
            case ValueClause():
                yield _value_condition(name, clause.value, constants)


def _tensor_conditions(name: str, clause: TensorClause, constants: dict[str, Any]) -> Iterator[str]:
    flag = DEVICE_FLAGS.get(clause.device_type)
    yield f"({name}.__class__ is Tensor or plain({name}))"
    yield f"{name}.dtype is {_constant(clause.dtype, constants)}"
    yield f"{name}.{flag}" if flag else f"{name}.device.type == {clause.device_type!r}"
    yield f"{name}.layout is {_constant(clause.layout, constants)}"
    if _is_static(clause):
        yield f"{name}.shape == {clause.shape!r}"


def _layout_conditions(contract: Contract, names: Mapping[Expr, str]) -> Iterator[str]:
    for index, clause in enumerate(contract.clauses):
        if not isinstance(clause, TensorClause):
            continue
        if clause.strides is not None:
            steps = f"({''.join(f'{python_source(step, names)}, ' for step in clause.strides)})"
            others = "" if clause.strides_of_one else f" or lies(l{index}, {steps})"
            yield f"(l{index}.stride() == {steps}{others})"
        if clause.offset is not None:
            yield f"l{index}.storage_offset() == {python_source(clause.offset, names)}"


def _apart_conditions(contract: Contract, constants: dict[str, Any]) -> Iterator[str]:
    pairs = tuple(pair for pair in pairs_apart(contract) if pair[0] != pair[1])
    if pairs:
        involved = tuple(sorted({place for pair in pairs for place in pair}))
        constants |= {"meets": meets, "involved": involved, "pairs": pairs}
        yield "not meets(leaves, involved, pairs)"
    constants["is_folded"] = is_folded
    yield from (f"not is_folded(l{one})" for one, other in contract.apart if one == other)


def _broken_apart(contract: Contract, leaves: Sequence[Any]) -> Iterator[Clause]:
    paths = [*(clause.path for clause in contract.clauses), *state_asked(contract)]
    for one, other in pairs_apart(contract):
        pair = leaves[one], leaves[other]
        if any(getattr(leaf, "layout", None) is not torch.strided for leaf in pair):
            continue  # another clause says so
        path, beside = paths[one], paths[other]
        if one == other:
            if is_folded(leaves[one]):
                words = "elements with memory of their own: they are written to"
                yield Clause(path, words, f"strides {leaves[one].stride()}")
        elif overlap(*pair):
            words = f"memory apart from `{beside}`: one is written to before the other is read"
            yield Clause(path, words, "memory that both reach")


@kept_out_of_dynamo("compiled code would not ask again what the program asks at each call")
def _is_run() -> bool:
    return True


def _answer_conditions(contract: Contract, constants: dict[str, Any]) -> Iterator[str]:
    needed: list[str] = []
    lasting = {each.question for each in contract.answers if each.value is not None}
    lasting |= {each.question for each in contract.answers} - {"autocast"}
    if lasting - GUARDED_BY_DYNAMO:
        constants["is_run"] = _is_run
        yield "is_run()"
    for answer, variable in zip(contract.answers, _variables(contract, "l{}"), strict=True):
        if answer.question == "needed":
            needed.append(f"{variable}.requires_grad")
            continue
        yield _value_condition(code_of(answer, variable, quick=True), answer.value, constants)

    if needed:
        # The mode decides for all of them, and most calls are made without gradients.
        yield f"not (torch.is_grad_enabled() and ({' or '.join(needed)}))"


def _variables(contract: Contract, name: str) -> list[str]:
    """The variables that hold the tensors that were asked; "" for the surroundings."""
    begin, state = len(contract.clauses), state_asked(contract)
    found: list[str] = []
    for answer in contract.answers:
        place = answer.argument
        if place is None and asks_tensor(answer):
            place = begin + state.index(answer.path)
        found.append("" if place is None else name.format(place))
    return found


def _value_condition(name: str, value: object, constants: dict[str, Any]) -> str:
    if value is None or isinstance(value, bool):
        return f"{name} is {value!r}"
    if type(value) is int or type(value) is str:
        return f"type({name}) is {type(value).__name__} and {name} == {value!r}"
    if type(value) is float and math.isfinite(value) and value:
        return f"type({name}) is float and {name} == {value!r}"
    return f"same({_constant(value, constants)}, {name})"


def _constant(value: object, constants: dict[str, Any]) -> str:
    found = (name for name, each in constants.items() if each is value)
    name = next(found, None) or f"c{len(constants)}"
    constants[name] = value
    return name


def _range_conditions(contract: Contract, names: Mapping[Expr, str]) -> Iterator[str]:
    for symbol, lower, upper in contract.ranges:
        name = names.get(symbol)
        if name is None:
            continue
        if lower is not None:
            yield f"{name} >= {lower}"
        if upper is not None:
            yield f"{name} <= {upper}"


# ---------------------------------------------------------------------------------------- reasons
def broken_clauses(
    contract: Contract, plan: SolutionPlan, leaves: Sequence[Any]
) -> Iterator[Clause]:
    """Yield everything in which a call differs from the contract, inputs first."""
    asked = leaves[len(contract.clauses) :]
    leaves = leaves[: len(contract.clauses)]
    if len(leaves) + len(asked) != len(contract.clauses) + len(state_asked(contract)):
        yield Clause("forward", f"{len(contract.clauses)} flat inputs", str(len(leaves)))
        return
    seen: dict[str, Any] = {}
    for index, (clause, leaf) in enumerate(zip(contract.clauses, leaves, strict=True)):
        match clause:
            case TensorClause():
                yield from _broken_tensor(index, clause, leaf, contract, seen)
            case NumberClause():
                if isinstance(leaf, int | torch.SymInt) and not isinstance(leaf, bool):
                    seen[f"l{index}"] = leaf
                else:
                    yield Clause(clause.path, "an int", _shown(leaf))
            case FloatClause():
                if isinstance(leaf, float | torch.SymFloat):
                    seen[f"l{index}"] = leaf
                else:
                    yield Clause(clause.path, "a float", _shown(leaf))
            case ValueClause():
                if not same_value(clause.value, leaf):
                    yield Clause(clause.path, _shown(clause.value), _shown(leaf))
    yield from _broken_relations(contract, plan, seen, leaves)
    yield from _broken_apart(contract, (*leaves, *asked))
    yield from _broken_answers(contract, (*leaves, *asked))


def _broken_answers(contract: Contract, given: Sequence[Any]) -> Iterator[Clause]:
    """Ask again what user code asked."""
    names = {**names_of_questions(), "given": given}
    said: set[Any] = set()
    for answer, variable in zip(contract.answers, _variables(contract, "given[{}]"), strict=True):
        if answer.question == UNCHECKED:
            continue
        try:
            got = eval(code_of(answer, variable), names)  # noqa: S307  (code of the table)
        except (AttributeError, RuntimeError):
            continue  # it is no tensor, which has been said
        if not same_value(answer.value, got):
            if answer.question in NEEDED:
                # One line of the user's is about many parameters: one of them says it.
                if answer.origin in said:
                    continue
                said.add(answer.origin)
            words = answer_text(answer.value), answer_text(got)
            yield Clause(question_text(answer), *words, spots(answer.origin))


def _broken_tensor(
    index: int, clause: TensorClause, leaf: object, contract: Contract, seen: dict[str, int]
) -> Iterator[Clause]:
    """Compare one tensor with its clause; its sizes are put into `seen` under their code names."""
    path = clause.path
    if not isinstance(leaf, torch.Tensor):
        sizes = ", ".join(expr_text(size, contract.names) for size in clause.shape)
        yield Clause(path, f"a tensor of shape [{sizes}]", _shown(leaf))
        return
    if not is_plain_tensor(leaf):
        yield Clause(f"type({path})", "torch.Tensor", type(leaf).__qualname__)
    if leaf.dtype is not clause.dtype:
        yield Clause(f"{path}.dtype", clause.dtype, leaf.dtype)
    if leaf.device.type != clause.device_type:
        yield Clause(f"{path}.device.type", clause.device_type, leaf.device.type)
    if leaf.layout is not clause.layout:
        yield Clause(f"{path}.layout", clause.layout, leaf.layout)
    if leaf.dim() != len(clause.shape):
        yield Clause(f"{path}.dim()", len(clause.shape), leaf.dim())
        return
    is_static = _is_static(clause)
    for dim, (expected, size) in enumerate(zip(clause.shape, leaf.shape, strict=True)):
        if not is_static:
            seen[f"d{index}_{dim}"] = size
        elif size != expected:
            yield Clause(f"{path}.size()[{dim}]", expected, size)


def _declarations(contract: Contract, leaves: Sequence[Any]) -> Iterator[str]:
    """How to export with the sizes that differ here, where the export fixed them."""
    found: dict[str, str] = {}
    for clause, leaf in zip(contract.clauses, leaves, strict=False):
        if not isinstance(clause, TensorClause) or not isinstance(leaf, torch.Tensor):
            continue
        if not clause.path.isidentifier() or leaf.dim() != len(clause.shape):
            continue
        sizes = zip(clause.shape, leaf.shape, strict=True)
        dims = [d for d, (size, got) in enumerate(sizes) if isinstance(size, int) and size != got]
        if dims:
            found[clause.path] = ", ".join(f"{dim}: Dim.AUTO" for dim in dims)
    if found:
        inner = ", ".join(f'"{path}": {{{dims}}}' for path, dims in found.items())
        yield f"if sizes differ between calls, declare them: dynamic_shapes = {{{inner}}}"


def _without_gradient(contract: Contract, clauses: Sequence[Clause]) -> Iterator[str]:
    """How to call what has another gradient than its operators."""
    asked = {question_text(each) for each in contract.answers if each.question in NEEDED}
    if any(clause.path in asked for clause in clauses):
        yield (
            "the line has a backward of its own, which a program has not;"
            " call the program while gradients are off: torch.set_grad_enabled(False)"
        )
        yield (
            "to train it, make the line call an operator"
            " of torch.library.custom_op, with a formula by its register_autograd"
        )


def _broken_relations(
    contract: Contract, plan: SolutionPlan, seen: Mapping[str, int], leaves: Sequence[Any]
) -> Iterator[Clause]:
    """Solve for the symbols as far as the inputs allow; compare what can be compared."""
    env: dict[Expr, int] = {}
    origin: dict[Expr, str] = {}
    for step in plan.steps:
        equation = step.equation
        if equation.code not in seen or not symbols(step.offset) <= env.keys():
            continue
        if equation.expected is step.symbol:
            env[step.symbol] = seen[equation.code]
            origin[step.symbol] = equation.path
            continue
        difference = seen[equation.code] - evaluate(step.offset, env)
        if difference % step.coefficient:
            expected = expr_text(equation.expected, contract.names)
            yield Clause(equation.path, expected, seen[equation.code])
            continue
        env[step.symbol] = difference // step.coefficient
        origin[step.symbol] = equation.path
    for equation in plan.left:
        if equation.code not in seen or not symbols(equation.expected) <= env.keys():
            continue
        value = _value(equation.expected, env)
        if value != seen[equation.code]:
            words = expr_text(equation.expected, contract.names)
            is_plain = value is None or isinstance(equation.expected, int)
            expected = words if is_plain else f"{words} = {value}"
            yield Clause(equation.path, expected, seen[equation.code])
    broken = [
        guard
        for guard in contract.guards
        if guard.relation.symbols <= env.keys() and not holds(guard.relation, env)
    ]
    # A range holds what guards taught, too: where one of these is broken, it says so with its line.
    bounds = [g.relation.symbols for g in broken if g.relation.kind == "ge"]
    said = {symbol for found in bounds if len(found) == 1 for symbol in found}
    yield from _outside_ranges(contract, {s: n for s, n in env.items() if s not in said}, origin)
    yield from (_broken_guard(contract, guard, env) for guard in broken)
    yield from broken_layouts(contract, env, leaves)


def _outside_ranges(
    contract: Contract, env: Mapping[Expr, int], origin: Mapping[Expr, str]
) -> Iterator[Clause]:
    for symbol, lower, upper in contract.ranges:
        if symbol not in env:
            continue
        value = env[symbol]
        if lower is not None and value < lower:
            yield Clause(origin[symbol], f"at least {lower}", value)
        elif upper is not None and value > upper:
            yield Clause(origin[symbol], f"at most {upper}", value)


def _value(e: Int, env: Mapping[Expr, int]) -> int | None:
    try:
        return evaluate(e, env)
    except (ArithmeticError, ValueError):
        return None


def _broken_guard(contract: Contract, guard: Guard, env: Mapping[Expr, int]) -> Clause:
    values = {expr_text(symbol, contract.names): env[symbol] for symbol in guard.relation.symbols}
    got = ", ".join(f"{name} = {values[name]}" for name in sorted(values))
    relation = relation_text(guard.relation, contract.names)
    return Clause(relation, "to hold", got, spots(guard.origin))


def _shown(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor {type_text(value)}"
    text = repr(value)
    return text if len(text) <= 60 else with_article(type(value).__name__)
