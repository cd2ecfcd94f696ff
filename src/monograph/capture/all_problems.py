"""Diagnostics of a whole model: one more run goes on after each refusal and finds all.

Law: what a first, strict attempt is refused for is among the problems. A mistake in the declaration
of sizes is not gone past; it stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from monograph.capture.captured import RecoveredRefusal
from monograph.capture.inputs.declarations import broken_declarations
from monograph.capture.recovery.error_recovery import Problems, cause_of
from monograph.capture.running import capture
from monograph.diagnostics import ExportError, MonographError, SpecError, together

if TYPE_CHECKING:
    from monograph.capture.captured import Capture
    from monograph.capture.tracing import Request


@dataclass(frozen=True, slots=True)
class Draft:
    """How far a capture came that went on: to the end, or to an error that nothing goes past."""

    captured: Capture | None
    problems: tuple[RecoveredRefusal, ...]
    ended_by: Exception | None = None

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
        return Draft(None, problems.found(), error)
    found = [*captured.problems, *map(RecoveredRefusal, _broken(captured))]
    return Draft(captured, tuple(found))


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


__all__ = ["Draft", "all_problems", "draft"]
