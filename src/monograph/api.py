"""The entry points of capture: `export`, `draft_export`, and what they are told beforehand."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from monograph.bytecode import hide_from_tracers, show_to_tracers
from monograph.capture import (
    ControlFlow,
    ExportingAnswers,
    Request,
    all_problems,
    capture,
    capture_or_interpret,
    check_custom_op,
    check_declarations,
    drafts,
)
from monograph.diagnostics import ExportError, MonographError, together
from monograph.dims import AdditionalInputs
from monograph.host.trees import pytree
from monograph.keyword_aliases import also_named
from monograph.lazy_imports import deferred
from monograph.logs import EXPORTS, log_program, log_refusal
from monograph.program.export_report import problem_of
from monograph.program.from_capture import program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch

    from monograph.capture import Draft
    from monograph.program import ExportedProgram

agrees_with = deferred("monograph.program.eager_comparison:agrees_with")

_DISAGREES = (
    "told that they are exported, installed packages take another way, and the program does not"
    " agree with the module, or cannot be compared with it on the meta device"
)


@also_named(module="mod")
def export(
    mod: torch.nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    side_effects: Literal["refuse", "ignore"] = "refuse",
    control_flow: ControlFlow = "capture",
    is_exporting: bool | None = None,
) -> ExportedProgram:
    """Capture a module as one graph of ATen operators that vouches for what it accepts.

    `args` and `kwargs` are example inputs: their structure, dtypes and static sizes become the
    contract; only sizes and numbers declared in `dynamic_shapes` may vary, which is nested like the
    inputs, or one line (`"x: batch, seq; mask: batch, seq; seq <= 512"`), or a ShapesCollection, or
    AdditionalInputs, whose inputs the program then accepts too. The module comes back untouched.
    The modules named in `preserve_module_call_signature` keep their call's arguments and result
    when the program is unflattened. `prefer_deferred_runtime_asserts_over_guards` admits relations
    between declared sizes that no `Dim` can spell (`x * y == z`, `x % 4 == 0`): the contract has
    them, and a call that breaks one is refused.

    `strict` interprets the module's Python instruction by instruction, so that writes that outlive
    the call, clocks, random numbers and whatever else a program could not repeat are refused with
    their line, and sizes stay symbolic in `len`, `int`, `max` and their like; `strict=False` runs
    it as plain Python, watched by a profiler, which sees calls and compares what they can write to.
    Where that is refused or fixes sizes that may vary, it is interpreted, if that captures more,
    unless `control_flow` is "refuse".
    `side_effects="ignore"` reports such writes (`program.report.side_effects`)
    instead of refusing them. Where interpreted code branches on data, both ways are recorded, as
    `cond` and `while_loop`; `control_flow="refuse"` refuses such code with its line. Both ways of a
    branch on sizes are recorded where that costs little; else it is taken as the example takes it,
    with a guard. `control_flow="capture_sizes"` records both wherever both can be recorded.

    `is_exporting` is what `torch.compiler.is_exporting()` and `is_compiling()` say to the model:
    False, as in eager code, or True, by which the program computes what the model chooses then.
    None is False, but where that is refused, installed packages hear True, and the program must
    agree with the module on the example and with other masks, for which both are run once. What
    was asked and answered is in `program.report.assumptions`.

    Shapes: any pytree of tensors and constants → any pytree.
    Raises: SpecError (the declaration), ConstraintViolation (it contradicts the code),
        DataDependentError (a question whose answer is in a tensor), UnsupportedError,
        SideEffectError (a write that outlives the call), ExportErrors (several of these: a capture
        that is refused is made once more, and goes on after each refusal to find the next).
    """
    request = Request(
        mod,
        args,
        kwargs,
        dynamic_shapes,
        kept_calls=tuple(preserve_module_call_signature),
        strict=strict,
        ignores_side_effects=side_effects == "ignore",
        control_flow=control_flow,
        exporting=ExportingAnswers(is_exporting is True),
        relations_deferred=prefer_deferred_runtime_asserts_over_guards,
    )
    hide_from_tracers(warns=strict)
    try:
        program = _exported(request, may_tell=is_exporting is None)
    except Exception as error:
        if EXPORTS.level:
            log_refusal(type(mod).__name__, error)
        raise
    finally:
        show_to_tracers()
    if EXPORTS.level:
        _log(program, mod, strict=strict)
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def _log(program: ExportedProgram, module: torch.nn.Module, *, strict: bool) -> None:
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    nodes = [(node.format_node() or "", node.meta.get("frames")) for node in calls]
    guards = len(program.contract.guards)
    log_program(type(module).__name__, nodes, n_guards=guards, strict=strict)


def _exported(request: Request, *, may_tell: bool) -> ExportedProgram:
    """The program; packages are told that they are exported where nothing else helps."""
    captured, told = None, False
    try:
        captured = capture(request) if request.strict else capture_or_interpret(request)
        if request.dynamic_shapes is not None:
            check_declarations(captured.inputs, captured.facts)
        return program_of(captured)
    except Exception as error:
        if may_tell and request.exporting.is_asked_by_packages:
            told = True
            answers = ExportingAnswers(packages=True)
            program = _exported(replace(request, exporting=answers), may_tell=False)
            if agrees_with(program, request.module, request.args, request.kwargs):
                return program
        if not isinstance(error, ExportError):
            raise
        found = error if captured is not None else all_problems(request, error)
        if told:
            found.add_note(_DISAGREES)
        if found is error:
            raise
        raise found.with_traceback(error.__traceback__) from found.__cause__


@also_named(module="mod")
def draft_export(
    mod: torch.nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: Sequence[str] = (),
    strict: bool = True,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    control_flow: ControlFlow = "capture",
    is_exporting: bool = False,
) -> ExportedProgram:
    """Capture a module although `export` would refuse it: a program, and its problems.

    What only data tells is taken from the example inputs: the side of a branch that cannot be
    captured (of each on data with `control_flow="refuse"`), the value of a number, the sizes that
    an operator without a fake kernel returns. The program asserts that while it runs, and raises
    where it does not hold. Where nothing goes past a refusal, the program is that of the example
    alone: it compares its inputs, bit for bit, and returns what the module returned.
    `program.report.problems` lists what `export` would have raised, with what the program assumes
    instead, and whether it checks that; a program that rests on what it cannot check, such as a
    clock, refuses each call, unless `module(check_guards=False)` made what is called.

    Shapes: any pytree of tensors and constants → any pytree.
    Raises: SpecError (the declaration), ExportError and what the module raises, where it does not
        run on the example either, with all that was met before;
        (a call) draft-assumption, draft-unchecked.
    """
    kept = tuple(preserve_module_call_signature)
    request = Request(
        mod,
        args,
        kwargs,
        dynamic_shapes,
        kept_calls=kept,
        strict=strict,
        control_flow=control_flow,
        exporting=ExportingAnswers(is_exporting),
        relations_deferred=prefer_deferred_runtime_asserts_over_guards,
    )
    hide_from_tracers(warns=strict)
    try:
        return _first_draft(drafts(request))
    finally:
        show_to_tracers()


def _first_draft(found: Iterator[Draft]) -> ExportedProgram:
    """The first that makes a program; else what the first was ended by."""
    first = next(found)
    failed: MonographError | None = None
    for each in chain((first,), found):
        if each.captured is None:
            continue
        try:
            program = program_of(each.captured)
        except MonographError as error:
            failed = failed or error
            continue
        program.report = replace(program.report, problems=tuple(map(problem_of, each.problems)))
        return program
    if failed is not None:
        raise failed
    errors = first.errors()
    assert first.ended_by is not None, "a capture ends, or is ended"
    if not errors:
        raise first.ended_by
    raise first.ended(together(errors)) from first.ended_by


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Let a dataclass be an input or an output: its fields are the children, by name.

    The same registration serves torch.export. Use as a function or a class decorator's body.
    """
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


__all__ = [
    "check_custom_op",
    "draft_export",
    "export",
    "register_dataclass",
]
