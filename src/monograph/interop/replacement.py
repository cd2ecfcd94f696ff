"""Replacement of torch.export's entry points for one thread: other people's tools capture here.

The functions keep their identity and get another body, so that whoever imported them by name before
calls it too (decision 0037). Threads that are not inside `as_torch_export` run torch's own body.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.archive import unsaid
from monograph.diagnostics import MonographError, problem
from monograph.host.higher_order import COND
from monograph.interop.torch_export import report, unchecked
from monograph.lazy_imports import deferred
from monograph.passes.graph_walks import calls, subgraph_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from monograph.program import ExportedProgram
    from monograph.program.export_report import Report

DRAFT: Final = "draft_export"
EXPORTERS: Final = ("export", DRAFT, "export_for_training")
_export: Final = deferred("monograph.api:export")
_draft_export: Final = deferred("monograph.api:draft_export")
FAILURES: Final = {
    "fake-kernel-disagrees": "MISMATCHED_FAKE_KERNEL",
    "unsupported-operator": "MISSING_FAKE_KERNEL",
}
"""What torch's report calls some problems of a draft; all others depend on data, for it."""


class _Fallbacks(threading.local):
    """`fallback` of each `with` that this thread is inside; empty while torch captures."""

    fallbacks: tuple[bool, ...] = ()


_HERE: Final = _Fallbacks()
_LOCK: Final = threading.Lock()
_ORIGINALS: Final[dict[str, FunctionType]] = {}
"""Torch's own bodies by name, once others were in their place."""
_REPLACED: Final[list[tuple[FunctionType, FunctionType]]] = []
_SAID: Final[set[str]] = set()
"""What torch's programs do not check, of those made here: each is logged once in a process."""
_inside: Final[list[int]] = []
"""The threads that are inside, as often as they are."""


@contextmanager
def as_torch_export(*, fallback: bool = False) -> Generator[None]:
    """Capture here what this thread has torch.export capture, in unmodified code of others.

    Inside of the `with`, `torch.export.export`, `draft_export` and `export_for_training` (where
    torch has it) take what they always take and return ExportedPrograms of torch's, made of
    programs captured here. Other threads are not concerned. What is refused raises its diagnostic;
    with `fallback`, a UserWarning says what was refused and where, and torch captures.

    Raises: not-handed-over, where somebody else replaced a function of torch.export; (a call) what
        `export`, `draft_export` and `ExportedProgram.to_torch` raise.
    """
    with _LOCK:
        if not _inside:
            _replace()
        _inside.append(threading.get_ident())
    before = _HERE.fallbacks
    _HERE.fallbacks = (*before, fallback)
    try:
        yield
    finally:
        _HERE.fallbacks = before
        with _LOCK:
            _inside.remove(threading.get_ident())
            if not _inside:
                _restore()


def _functions() -> Iterator[tuple[str, FunctionType]]:
    for name in EXPORTERS:
        function = getattr(torch.export, name, None)
        if function is None:
            continue
        if not isinstance(function, FunctionType) or function.__module__ != "torch.export":
            reason = f"`torch.export.{name}` was replaced by `{function!r}`"
            raise problem("not-handed-over", system="torch.export", reason=reason)
        yield name, function


def _body(*args: Any, _call: Callable[..., Any], **kwargs: Any) -> Any:
    return _call(args, kwargs)


def _replace() -> None:
    """Give each function the other body; its name in the default that only this body reads."""
    for name, function in [*_functions()]:
        kept = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
        kept.__kwdefaults__ = function.__kwdefaults__
        _ORIGINALS[name] = kept
        _REPLACED.append((function, kept))
        function.__dict__["__signature__"] = inspect.signature(function)
        function.__kwdefaults__ = {**(kept.__kwdefaults__ or {}), "_call": partial(call, name)}
        function.__code__ = _body.__code__


def _restore() -> None:
    while _REPLACED:
        function, kept = _REPLACED.pop()
        function.__code__ = kept.__code__
        function.__kwdefaults__ = kept.__kwdefaults__
        function.__dict__.pop("__signature__", None)


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.export.ExportedProgram:
    """Capture here for a thread that is inside, and with torch for every other."""
    original = _ORIGINALS[name]
    fallbacks = _HERE.fallbacks
    if not fallbacks:
        return original(*args, **kwargs)
    given = inspect.signature(original).bind(*args, **kwargs)
    given.apply_defaults()
    try:
        return _captured(name == DRAFT, given.arguments)
    except MonographError as error:
        if not fallbacks[-1]:
            raise
        text = f"torch.export captures what monograph refused: {error}"
        warnings.warn(text, stacklevel=3)
    _HERE.fallbacks = ()
    try:
        return original(*args, **kwargs)
    finally:
        _HERE.fallbacks = fallbacks


def _captured(is_draft: bool, given: Mapping[str, Any]) -> torch.export.ExportedProgram:  # noqa: FBT001  (one of two callers)
    module, args, kwargs = given["mod"], given["args"], given["kwargs"]
    shapes = given["dynamic_shapes"]
    is_computed = isinstance(shapes, torch.export.ShapesCollection | torch.export.AdditionalInputs)
    exported = partial(
        _draft_export if is_draft else _export,
        module,
        args,
        kwargs,
        dynamic_shapes=shapes.dynamic_shapes(module, args, kwargs) if is_computed else shapes,
        strict=given["strict"],
        preserve_module_call_signature=given["preserve_module_call_signature"],
    )
    program: ExportedProgram = exported()
    if any(_sides_differ(node) for node in calls(program.graph_module)):
        # The way of the example, with a guard, as torch.export has it, of code that was interpreted
        # as this was. Where that is no way, what torch cannot lower is still a program that runs.
        with suppress(MonographError):
            program = exported(strict=True, control_flow="refuse")
    theirs = unchecked(program)
    conditions = [each for each in unsaid(program) if each not in _SAID]
    _SAID.update(conditions)
    report("a program of torch.export", conditions)
    if is_draft:
        vars(theirs)["_report"] = _report_of(program.report)
    if isinstance(shapes, torch.export.AdditionalInputs):
        shapes.verify(theirs)
    return theirs


def _sides_differ(node: Node) -> bool:
    """Whether it branches on sizes, and its sides give sizes that torch lowers as unknown ones."""
    if node.target is not COND or not isinstance(node.args[0], Node):
        return False
    if isinstance(node.args[0].meta["val"], torch.Tensor):
        return False
    made = [subgraph_of(side).graph.output_node().meta["val"] for side in node.args[1:3]]
    return any(a.shape != b.shape for a, b in zip(*made, strict=True))


def _report_of(report: Report) -> Any:
    """A report of torch's class, for tools that ask whether a draft was successful."""
    from torch.export._draft_export import DraftExportReport, FailureReport, FailureType

    class Failure(FailureReport):
        def print(self, str_to_filename: dict[int, str]) -> str:
            del str_to_filename
            return self.data["text"]

    failures: list[FailureReport] = []
    for each in report.problems:
        kind = FailureType[FAILURES.get(each.name, "DATA_DEPENDENT_ERROR")]
        failures.append(Failure(kind, {"text": f"{each} ({each.place})", "problem": each}))
    return DraftExportReport(failures, {}, {}, {})


__all__ = ["as_torch_export", "call"]
