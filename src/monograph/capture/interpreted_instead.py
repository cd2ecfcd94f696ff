"""The fallback of plain capture: user code is interpreted where running it plainly is not enough.

Python runs one way of a branch and hands C the numbers that it asks for. Where such a run is
refused, or leaves sizes out that may vary, an interpreted one may record what it could not. So it
may where C was given a symbolic number, took it for none, and nothing says so but its TypeError.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from monograph.capture.inputs.declarations import broken_declarations
from monograph.capture.running import capture
from monograph.diagnostics import BugError, ExportError, SpecError, problem, raised_at
from monograph.integers import holds

if TYPE_CHECKING:
    from monograph.capture.captured import Capture
    from monograph.capture.tracing import Request
    from monograph.integers import Relation

_SIZES: Final = range(2, 34)


def capture_or_interpret(request: Request) -> Capture:
    """As `capture`; plain code is interpreted where that alone captures it, or for more sizes.

    Raises: what the run that was asked for is refused for; capture-failed; bug, of either run.
    """
    may_interpret = not request.strict and request.control_flow != "refuse"
    try:
        first = capture(request)
    except SpecError:
        raise
    except (ExportError, TypeError) as error:
        is_told = isinstance(error, ExportError)
        again = _interpreted(request) if may_interpret or not (is_told or request.strict) else None
        if again is None:
            raise
        if may_interpret and not broken_declarations(again.inputs, again.facts):
            return again
        if is_told:
            raise
        raise problem("capture-failed", at=raised_at(error), error=f"TypeError: {error}") from error
    if not may_interpret or not _leaves_out(first):
        return first
    again = _interpreted(request)
    return first if again is None or _narrow(again) >= _narrow(first) else again


def _interpreted(request: Request) -> Capture | None:
    try:
        return capture(replace(request, strict=True))
    except BugError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, the plain run says what to say
        return None


def _leaves_out(captured: Capture) -> bool:
    """Whether a guard leaves out more than a size of 0 or 1, or two sizes that differ."""
    return any(_is_narrow(guard.relation) for guard in captured.facts.guards)


def _is_narrow(guard: Relation) -> bool:
    if len(guard.symbols) > 1:
        return guard.kind != "eq"
    (size,) = guard.symbols
    return not all(holds(guard, {size: n}) for n in _SIZES)


def _narrow(captured: Capture) -> tuple[int, int, int, int]:
    """How many sizes may not be what was declared, are fixed, follow others, and are asked."""
    inputs, facts = captured.inputs, captured.facts
    fixed = sum(isinstance(facts.simplify(size.symbol), int) for size in inputs.dynamic)
    equalities = [guard.relation for guard in facts.guards if guard.relation.kind == "eq"]
    tied = sum(len(each.symbols) > 1 or _is_narrow(each) for each in equalities)
    return len(broken_declarations(inputs, facts)), fixed, tied, len(facts.guards)


__all__ = ["capture_or_interpret"]
