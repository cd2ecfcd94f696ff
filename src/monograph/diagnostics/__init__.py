"""What a message is, its catalogue, and how it is rendered.

Whoever refuses something calls `problem(name, at=frames, **facts)` and raises what comes back.
The facts of each name are the keyword parameters of its template; the family files list them:
archive, branches, contract, data, drafts, generation, inputs, internal, interop, language,
lowering, operators, programs, sizes, spec, state.
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import Entry, entries, find_entry, message
from monograph.diagnostics.diagnostic import Cause, Diagnostic, Spot, Text
from monograph.diagnostics.errors import (
    ArchiveError,
    BugError,
    ConstraintViolation,
    ConstraintViolations,
    ContractError,
    DataDependentError,
    ExportError,
    ExportErrors,
    HandOverError,
    MonographError,
    SideEffectError,
    SpecError,
    SpecErrors,
    UnsupportedError,
    also_caught_as,
    noted,
    notes_so_far,
    together,
    withdraw,
)
from monograph.diagnostics.explanations import explain, page_names
from monograph.diagnostics.frames import (
    Frame,
    FrameFilter,
    Place,
    frame_filter,
    identity,
    is_stand_in,
    place,
    raised_at,
    user_frames,
)
from monograph.diagnostics.messages.contract import Clause
from monograph.diagnostics.problems import asked_from, problem
from monograph.diagnostics.rendering import render, render_all, snippet
from monograph.diagnostics.repair import Repair
from monograph.diagnostics.source_edits.edits import Edit
from monograph.diagnostics.spelling import nearest
from monograph.diagnostics.wording import is_code, named

__all__ = [
    "ArchiveError",
    "BugError",
    "Cause",
    "Clause",
    "ConstraintViolation",
    "ConstraintViolations",
    "ContractError",
    "DataDependentError",
    "Diagnostic",
    "Edit",
    "Entry",
    "ExportError",
    "ExportErrors",
    "Frame",
    "FrameFilter",
    "HandOverError",
    "MonographError",
    "Place",
    "Repair",
    "SideEffectError",
    "SpecError",
    "SpecErrors",
    "Spot",
    "Text",
    "UnsupportedError",
    "also_caught_as",
    "asked_from",
    "entries",
    "explain",
    "find_entry",
    "frame_filter",
    "identity",
    "is_code",
    "is_stand_in",
    "message",
    "named",
    "nearest",
    "noted",
    "notes_so_far",
    "page_names",
    "place",
    "problem",
    "raised_at",
    "render",
    "render_all",
    "snippet",
    "together",
    "user_frames",
    "withdraw",
]
