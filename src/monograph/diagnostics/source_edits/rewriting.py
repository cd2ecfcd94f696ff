"""Questions that only data answers, rewritten: as `torch.where`, or with what is known said before.

Law: each edit keeps what the statement means wherever the program accepts its inputs. The first
kind computes both sides, or is a `torch.cond` (see `conditionals`); the others state the answer,
which the program then asserts.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph.diagnostics.source_edits.calls import asks_inside, edit_of_asking_call
from monograph.diagnostics.source_edits.conditionals import as_cond
from monograph.diagnostics.source_edits.edits import Edit
from monograph.diagnostics.source_edits.questioned_source import find_question, free_name

if TYPE_CHECKING:
    from monograph.diagnostics.frames import Place
    from monograph.diagnostics.source_edits.questioned_source import QuestionedSource

__all__ = [
    "asks_inside_at",
    "condition_at",
    "edits_of_branch",
    "edits_of_comparison",
    "edits_of_number",
]

_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
_BOTH = "to choose between values, compute both"
_ALWAYS = "if it always holds, say so"
_NEVER = "if it never holds, say so"
_NUMBERS = frozenset({"int", "float", "bool"})
_NO_TENSORS = ast.Tuple | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.JoinedStr | ast.Lambda
_WIDTH = 96

Arm = dict[str, ast.expr]
"""What one side of a branch assigns, by name; or returns, under no name."""


def condition_at(where: Place) -> str:
    """The expression that a place asks about, in the user's words; "" where nothing tells."""
    question = find_question(where)
    return "" if question is None else ast.unparse(question.asked)


def asks_inside_at(where: Place) -> bool:
    """Whether what a place asks for is the truth of other values than its own."""
    question = find_question(where)
    return question is not None and asks_inside(question.asked)


def edits_of_branch(where: Place, *, is_number: bool) -> tuple[Edit, ...]:
    """Other ways to write a branch on the truth of a tensor, or of a number read out of one."""
    question = find_question(where)
    if question is None:
        return ()
    if asks_inside(question.asked):
        return _compact(edit_of_asking_call(question))
    text = ast.unparse(question.asked)
    condition = _as_tensor(question.asked)
    if is_number and isinstance(question.asked, ast.Name):
        never = f"torch._check(torch.sym_not({text}))"
        return _compact(
            as_cond(question, text),
            _inserted(
                question, f"{_ALWAYS} before this line", f"torch._check({text})", answer=True
            ),
            _inserted(question, f"{_NEVER} before this line", never, answer=False),
        )
    if condition is None:
        return ()
    number = text if is_number else f"{_in_brackets(condition)}.item()"
    return _compact(
        _as_where(question, condition) or as_cond(question, condition),
        _stated(question, number, answer=True),
        _stated(question, number, answer=False),
    )


def edits_of_comparison(where: Place) -> tuple[Edit, ...]:
    """Lines that answer a comparison of numbers read out of tensors."""
    question = find_question(where)
    if question is None or not isinstance(question.asked, ast.Compare):
        return ()
    asked = question.asked
    if asks_inside(asked) or any(map(asks_inside, _expressions_in(asked))):
        return ()
    if type(asked.ops[0]) not in _OPPOSITES or asked.ops[1:]:
        return ()
    text = ast.unparse(asked)
    if any(isinstance(each, ast.Call) for each in ast.walk(asked)):
        condition = _as_tensor(asked)
        return _compact(
            None
            if condition in {None, text}
            else _as_where(question, str(condition)) or as_cond(question, str(condition)),
            _stated(question, text, answer=True),
            _stated(question, text, answer=False),
        )
    opposite = f"torch.sym_not({text})"  # of floats, another sign would be another question
    return _compact(
        as_cond(question, text),
        _inserted(question, f"{_ALWAYS} before this line", f"torch._check({text})", answer=True),
        _inserted(
            question, f"{_NEVER} before this line", f"torch._check({opposite})", answer=False
        ),
    )


def edits_of_number(
    where: Place, value: float, *, is_tensor: bool, truncated: bool = False
) -> tuple[Edit, ...]:
    """Lines that say that a plain integer is always the example's: of a float, nothing follows.

    `is_tensor` says that what is turned into a number is a tensor, not a number read before;
    `truncated` that it holds a float.
    """
    question = find_question(where)
    number = None if question is None else _number_in(question.asked)
    if question is None or number is None:
        return ()
    outer = question.inside[-1] if question.inside else None
    if is_tensor and isinstance(outer, ast.Compare):
        compared = replace(question, asked=outer, inside=question.inside[:-1])
        condition = _as_tensor(outer)
        return () if condition is None else _compact(_as_where(compared, condition))
    is_converted = _called(question.asked) in _NUMBERS
    if isinstance(value, float) or (truncated and is_converted and not is_tensor):
        return ()
    title = f"if it is always {value}, say so"
    text = ast.unparse(number)
    calls = any(isinstance(each, ast.Call) for each in ast.walk(number))
    if not is_tensor and not calls:
        check = f"torch._check({text} == {value})"
        return _compact(_inserted(question, f"{title} before this line", check))
    tensor, replaced = number, number
    if is_tensor and is_converted:
        replaced = question.asked
        text = f"{_in_brackets(_tensor_text(tensor))}{'.long()' * truncated}.item()"
    name = free_name(question, "count")
    again = question.rewritten(replaced, name)
    lines = (f"{name} = {text}", f"torch._check({name} == {value})")
    return _compact(_replaced(question, title, lines, again))


def _expressions_in(node: ast.expr) -> list[ast.expr]:
    return [each for each in ast.walk(node) if isinstance(each, ast.expr)]


def _compact(*edits: Edit | None) -> tuple[Edit, ...]:
    return tuple([each for each in edits if each is not None])


def _number_in(asked: ast.expr) -> ast.expr | None:
    """What `range(n)`, `int(x)` and `items[n]` turn into a plain number; None where unclear."""
    if isinstance(asked, ast.Subscript):
        return None if isinstance(asked.slice, ast.Tuple | ast.Slice) else asked.slice
    if not isinstance(asked, ast.Call) or asked.keywords:
        return None
    if _called(asked) not in {"range", *_NUMBERS}:
        return None
    varying = [each for each in asked.args if not isinstance(each, ast.Constant)]
    return varying[0] if len(varying) == 1 else None


def _called(node: ast.expr) -> str:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if is_call else ""  # pyright: ignore[reportAttributeAccessIssue] - so it is


# --- conditions as tensors ---------------------------------------------------------------------


def _as_tensor(asked: ast.expr) -> str | None:
    """A condition as a tensor of truths; None where it is none."""
    if isinstance(asked, ast.Compare):
        if type(asked.ops[0]) not in _OPPOSITES or asked.ops[1:]:
            return None
        sides = _tensor_text(asked.left), _tensor_text(asked.comparators[0])
        sign = ast.unparse(asked)[len(ast.unparse(asked.left)) :].split()[0]
        return f"{sides[0]} {sign} {sides[1]}"
    if isinstance(asked, ast.Call):
        return _call_as_tensor(asked)
    if isinstance(asked, ast.Name | ast.Attribute | ast.Subscript):
        return f"{ast.unparse(asked)} != 0"
    return None


def _call_as_tensor(call: ast.Call) -> str | None:
    inner = _read_from(call)
    if inner is not None:
        return _as_tensor(inner)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else _called(call)
    args = [ast.unparse(each) for each in (*call.args, *call.keywords)]
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) != "torch":
        args.insert(0, ast.unparse(call.func.value))
    if name == "equal" and len(args) == 2:
        return f"({args[0]} == {args[1]}).all()"
    if name == "allclose":
        return f"torch.isclose({', '.join(args)}).all()"
    text = ast.unparse(call)
    return text if name in {"any", "all"} else f"{text} != 0"


def _read_from(node: ast.expr) -> ast.expr | None:
    """What `bool(x)`, `float(x)` or `x.item()` reads a number from."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if _called(node) in _NUMBERS and len(node.args) == 1:
        return node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        return node.func.value
    return None


def _tensor_text(node: ast.expr) -> str:
    inner = _read_from(node)
    return ast.unparse(node) if inner is None else _tensor_text(inner)


def _in_brackets(text: str) -> str:
    tree = ast.parse(text, mode="eval").body
    whole = isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return text if whole else f"({text})"


# --- edits -------------------------------------------------------------------------------------


def _inserted(
    question: QuestionedSource, title: str, line: str, *, answer: bool | None = None
) -> Edit:
    first = question.statement.lineno
    return Edit(title, question.file, first, first - 1, (f"{question.indent}{line}",), answer)


def _replaced(
    question: QuestionedSource,
    title: str,
    before: tuple[str, ...],
    again: str | None,
    answer: bool | None = None,  # noqa: FBT001 - as in Edit
) -> Edit | None:
    """New lines before the statement, and its first line anew."""
    if again is None or len(again) > _WIDTH or any(len(each) > _WIDTH for each in before):
        return None
    first = question.statement.lineno
    lines = (*[f"{question.indent}{each}" for each in before], again)
    return Edit(title, question.file, first, first, lines, answer)


def _stated(question: QuestionedSource, number: str, *, answer: bool) -> Edit | None:
    """The answer in a variable of its own, which is said to be true, or not."""
    if not question.is_always_evaluated:
        return None
    name = free_name(question, "holds")
    said = name if answer else f"torch.sym_not({name})"
    before = (f"{name} = {number}", f"torch._check({said})")
    again = question.rewritten(question.asked, name)
    return _replaced(question, _ALWAYS if answer else _NEVER, before, again, answer)


# --- torch.where -------------------------------------------------------------------------------


def _as_where(question: QuestionedSource, condition: str) -> Edit | None:
    """The branch as `torch.where`, both sides computed."""
    whole, is_negated = question.asked, False
    outer = question.inside[-1] if question.inside else question.statement
    if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
        whole, is_negated = outer, True
        outer = question.inside[-2] if len(question.inside) > 1 else question.statement
    if isinstance(outer, ast.IfExp) and outer.test is whole:
        arms = (outer.body, outer.orelse)
        instead = _where(condition, *(arms[::-1] if is_negated else arms))
        again = None if instead is None else question.rewritten(outer, instead)
        return _replaced(question, _BOTH, (), again)
    if isinstance(outer, ast.If) and outer.test is whole:
        return _if_as_where(question, outer, condition, is_negated=is_negated)
    return None


def _if_as_where(
    question: QuestionedSource, branch: ast.If, condition: str, *, is_negated: bool
) -> Edit | None:
    then, otherwise, last = _arm(branch.body), _arm(branch.orelse), branch.end_lineno
    if then is not None and "" in then and not branch.orelse and question.after:
        otherwise, last = _arm(list(question.after[:1])), question.after[0].end_lineno
    if then is None or otherwise is None or last is None:
        return None
    if is_negated:
        then, otherwise = otherwise, then
    lines = _merged(question, condition, then, otherwise)
    if lines is None or any(len(each) > _WIDTH for each in lines):
        return None
    indented = tuple([f"{question.indent}{each}" for each in lines])
    return Edit(_BOTH, question.file, branch.lineno, last, indented)


def _arm(block: list[ast.stmt]) -> Arm | None:
    """What a block assigns to plain names, or returns; None if it does anything else."""
    arm: Arm = {}
    for each in block:
        if isinstance(each, ast.Return) and each.value is not None and len(block) == 1:
            return {"": each.value}
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                new = value
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                new = ast.BinOp(ast.Name(name, ast.Load()), op, value)
            case _:
                return None
        if name in arm:
            return None
        arm[name] = new
    return arm


def _merged(
    question: QuestionedSource, condition: str, then: Arm, otherwise: Arm
) -> tuple[str, ...] | None:
    """The lines that compute both arms; None where one needs what another line changes."""
    names = list({**then, **otherwise})
    if ("" in names and names != [""]) or len(names) > 3 or not names:
        return None
    lines: list[str] = []
    if len(names) > 1 or _is_pair(then, otherwise):
        holds = free_name(question, "holds")
        lines, condition = [f"{holds} = {condition}"], holds
    for name in names:
        if name and not (name in then and name in otherwise) and name not in question.assigned:
            return None
        sides = [arm.get(name, ast.Name(name, ast.Load())) for arm in (then, otherwise)]
        if any(_names_in(side) & (set(names) - {name}) for side in sides):
            return None
        value = _where(condition, *sides)
        if value is None:
            return None
        lines.append(f"{name} = {value}" if name else f"return {value}")
    return tuple(lines)


def _is_pair(then: Arm, otherwise: Arm) -> bool:
    return isinstance(then.get(""), ast.Tuple) and isinstance(otherwise.get(""), ast.Tuple)


def _where(condition: str, then: ast.expr, otherwise: ast.expr) -> str | None:
    if isinstance(then, ast.Tuple) and isinstance(otherwise, ast.Tuple):
        if len(then.elts) != len(otherwise.elts):
            return None
        pairs = zip(then.elts, otherwise.elts, strict=True)
        each = [_where(condition, *pair) for pair in pairs]
        return None if None in each else ", ".join(map(str, each))
    if not (_may_be_tensor(then) and _may_be_tensor(otherwise)):
        return None
    return f"torch.where({condition}, {ast.unparse(then)}, {ast.unparse(otherwise)})"


def _may_be_tensor(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in {int, float}
    return not isinstance(node, _NO_TENSORS)


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
