"""Diagnostics of a whole model: one more run goes on after each refusal and finds all.

Law: what a first, strict attempt is refused for is among the problems. A mistake in the declaration
of sizes is not gone past; it stands alone.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from monograph.capture.captured import RecoveredRefusal
from monograph.capture.example_program import (
    ASSUMED,
    ExampleCall,
    repeating_request,
    watching_request,
)
from monograph.capture.inputs.declarations import broken_declarations
from monograph.capture.interpreted_instead import capture_or_interpret
from monograph.capture.recovery.error_recovery import Problems, cause_of
from monograph.capture.running import capture
from monograph.diagnostics import (
    ExportError,
    MonographError,
    SideEffectError,
    SpecError,
    problem,
    raised_at,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monograph.capture.captured import Capture
    from monograph.capture.tracing import Request


@dataclass(frozen=True, slots=True)
class Draft:
    """How far a capture came that went on: to the end, or to an error that nothing goes past."""

    captured: Capture | None
    problems: tuple[RecoveredRefusal, ...]
    ended_by: Exception | None = None
    is_endless: bool = False

    def errors(self) -> list[MonographError]:
        """Every refusal, in the order in which they were met."""
        errors = [each.error for each in self.problems]
        if isinstance(self.ended_by, MonographError):
            known = {cause_of(each) for each in errors}
            errors += [e for e in self.ended_by.problems if cause_of(e) not in known]
        return errors

    def ended(self, error: MonographError) -> MonographError:
        """The error of all problems, with a note on what ended the list, if that is none."""
        ended_by = self.ended_by
        if ended_by is not None and not isinstance(ended_by, MonographError):
            kind, text = type(ended_by).__name__, str(ended_by).split("\n", 1)[0]
            said = f"then the model raises {kind}: {text}; what comes after it is not listed"
            error.add_note(said)
        return error


def draft(request: Request) -> Draft:
    """Capture, going on after refusals, and compare what was learnt with what was declared."""
    problems = Problems()
    try:
        captured = capture(replace(request, problems=problems))
    except Exception as error:  # noqa: BLE001 - user code may raise anything after a wrong turn
        return Draft(None, problems.found(), error, is_endless=problems.is_endless)
    found = [*captured.problems, *map(RecoveredRefusal, _broken(captured))]
    return Draft(captured, tuple(found))


def drafts(request: Request) -> Iterator[Draft]:
    """Captures that go on, the best first: the last of them holds for the example alone."""
    if not request.strict:
        with suppress(Exception):  # it may be interpreted where plain Python cannot be recorded
            captured = capture_or_interpret(request)
            if not _broken(captured):
                yield Draft(captured, ())
    first = draft(request)
    yield first
    if isinstance(first.ended_by, SpecError) or first.is_endless:
        return
    if request.control_flow != "refuse":
        yield draft(replace(request, control_flow="refuse"))
    try:
        watched = capture(watching_request(request))
        call: ExampleCall = watched.recorder.called  # pyright: ignore[reportAttributeAccessIssue] - of a draft's
        captured = capture(repeating_request(request, call))
    except Exception:  # noqa: BLE001 - it fails without a capture too, or nothing stands for it
        return
    found = [replace(each, assumed=ASSUMED) for each in first.problems]
    found = [each if _is_unchecked(each) else replace(each, is_checked=True) for each in found]
    known = {cause_of(each.error) for each in found}
    rest = [each for each in _refusals(first.ended_by) if cause_of(each) not in known]
    checks = call.is_repeatable
    found += [RecoveredRefusal(e, ASSUMED, is_checked=checks and not _is_unseen(e)) for e in rest]
    unseen = [*watched.problems, *captured.problems]
    found += [e for e in unseen if not e.is_checked and cause_of(e.error) not in known]
    yield Draft(replace(captured, problems=tuple(found)), tuple(found))


def _is_unchecked(found: RecoveredRefusal) -> bool:
    """Whether it is about what no call shows, however alike its inputs are."""
    return not found.is_checked and _is_unseen(found.error)


def _is_unseen(error: MonographError) -> bool:
    return isinstance(error, SideEffectError) or error.diagnostic.name == "outside-read"


def _refusals(error: Exception | None) -> tuple[MonographError, ...]:
    """What ended a capture, as refusals."""
    if error is None:
        return ()
    if isinstance(error, MonographError):
        return error.problems
    return (problem("capture-raises", at=raised_at(error), error=error),)


def all_problems(request: Request, first: ExportError) -> MonographError:
    """What an export is refused for, everything together; `first` is what ended it at once."""
    if isinstance(first, SpecError):
        return first
    found = draft(request)
    errors = found.errors()
    if not errors:
        return first
    causes = {cause_of(each) for each in errors}
    missing = [each for each in first.problems if cause_of(each) not in causes]
    return found.ended(together([*missing, *errors]))


def _broken(captured: Capture) -> list[MonographError]:
    """Declarations that do not hold.

    Ranges are not complained of where a size of 0 or 1 is left out, beside other problems: it may
    be because of those.
    """
    broken = broken_declarations(captured.inputs, captured.facts)
    if captured.problems and captured.exclusions:
        return [each for each in broken if each.diagnostic.name != "dim-range-violated"]
    return broken


__all__ = ["Draft", "all_problems", "drafts"]
