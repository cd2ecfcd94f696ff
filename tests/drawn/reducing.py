"""The smallest program that still fails as one does: statements, results, calls are taken away."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.drawn.calls import Inputs
from tests.drawn.running import INTERNAL, WRONG, Drawn, TooLong, Verdict, verdicts, within

HEAD = "def forward():\n"
LIMIT = 5.0


def kind_of(verdict: Verdict) -> tuple[str, str, bool]:
    """What two faults have in common that are one: the form, the kind, the first words."""
    words = re.sub(r"\d+|0x\w+|'[^']*'", "#", verdict.why)[:24]
    return verdict.form, verdict.kind + words, verdict.call < 0


def reduced(program: Drawn, fault: Verdict) -> Drawn:
    """Take away what the fault does not need."""
    wanted = kind_of(fault)

    def fails(candidate: Drawn) -> bool:
        return any(
            kind_of(each) == wanted
            for each in verdicts(candidate, [fault.form])
            if each.kind in (WRONG, INTERNAL)
        )

    if fault.call >= 0:
        program = replace_if(program, fails, calls=[program.calls[fault.call]])
    for _ in range(4):
        before = program.source, program.calls
        program = shorter(program, fails)
        program = simpler(program, fails)
        if (program.source, program.calls) == before:
            break
    return program


def replace_if(program: Drawn, fails: Callable[[Drawn], bool], **changes: object) -> Drawn:
    """The changed program where it runs and fails, else the program."""
    try:
        with within(LIMIT):
            changed = replace(program, **changes)
            _, module = changed.made()
            args, kwargs = changed.example.make()
            module(*args, **kwargs)
            return changed if fails(changed) else program
    except (Exception, TooLong):  # noqa: BLE001 - it is no program any more
        return program


def simpler(program: Drawn, fails: Callable[[Drawn], bool]) -> Drawn:
    """The example and the calls as they are by default, where that fails as well."""
    plain = Inputs()
    program = replace_if(program, fails, dynamic=False)
    for name in Inputs.__slots__:
        if name in {"parameters", "seed"}:
            continue
        value = getattr(plain, name)
        both = [replace(each, **{name: value}) for each in (program.example, *program.calls)]
        program = replace_if(program, fails, example=both[0], calls=both[1:])
        program = replace_if(
            program, fails, calls=[replace(each, **{name: value}) for each in program.calls]
        )
    named = tuple(each for each in program.example.parameters if each in "xy")
    fewer = [replace(e, parameters=named, by_name=()) for e in (program.example, *program.calls)]
    return replace_if(program, fails, example=fewer[0], calls=fewer[1:])


def shorter(program: Drawn, fails: Callable[[Drawn], bool]) -> Drawn:
    """Without what can be left out, one thing after the other."""
    at = 0
    while True:
        tree = ast.parse(HEAD + "\n".join(f"    {line}" for line in program.body))
        edits = [*edits_of(tree.body[0])]
        if at >= len(edits):
            return program
        edits[at]()
        lines = ast.unparse(ast.fix_missing_locations(tree)).split("\n")[1:]
        changed = replace_if(program, fails, body=[line[4:] for line in lines])
        if changed is program:
            at += 1
        program = changed


def edits_of(tree: ast.AST) -> Iterator[Callable[[], object]]:
    """What can be taken away: a statement, a block around its statements, a part of a value."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from edits_of_block(block, keeps_one=name == "body")
        match node:
            case ast.Return(value=ast.Tuple(elts=[only])):
                yield partial(setattr, node, "value", only)
            case ast.Return(value=ast.Tuple(elts=parts)):
                yield from (partial(parts.pop, at) for at in range(len(parts)))
            case ast.Dict(keys=keys, values=values):
                yield from (partial(without, at, keys, values) for at in range(len(keys)))
            case ast.Assign(value=ast.BinOp() | ast.Call() | ast.Attribute() | ast.Subscript()):
                inner = ast.iter_child_nodes(node.value)
                parts = [each for each in inner if isinstance(each, ast.expr)]
                yield from (partial(setattr, node, "value", each) for each in parts)


def edits_of_block(block: list[ast.stmt], *, keeps_one: bool) -> Iterator[Callable[[], object]]:
    """One statement less, or the statements inside of one in its place."""
    for at, statement in enumerate(block):
        if len(block) > 1 or not keeps_one:
            yield partial(block.pop, at)
        inner = [*getattr(statement, "body", []), *getattr(statement, "orelse", [])]
        if inner and not isinstance(statement, ast.FunctionDef):
            yield partial(block.__setitem__, slice(at, at + 1), inner)


def without(at: int, *lists: list[object]) -> None:
    """Take away one of several lists each."""
    for each in lists:
        each.pop(at)
