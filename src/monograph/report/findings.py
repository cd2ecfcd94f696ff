"""Findings of an export as plain data, which every form of a report is made from.

Law: a finding holds no code, no tensor and no symbol: texts, numbers, and places in files.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from monograph.diagnostics import Diagnostic, Edit, MonographError, Place, place
from monograph.program import ExportedProgram, Problem, Report, type_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monograph.diagnostics import Spot

Level = Literal["error", "warning", "note"]
Source: TypeAlias = MonographError | ExportedProgram | Report
AROUND = 2
"""Lines of source shown before and after the one in question."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place with its source: the lines around it, and the number of the first of them."""

    place: Place
    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """A fact that contributed, and where, if that is known."""

    label: str
    at: Excerpt | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an export found out.

    `at` are the user's lines, innermost first. `values` are the types of what the first of them
    computes, where a program is there to tell. `assumed` and `is_checked` are those of a draft.
    `edits` are those of the helps that can be applied as they stand. `times` is how many calls of
    the line in one run were found so. `see` names the page of the message and its ExportDB case.
    """

    name: str
    level: Level
    headline: str
    at: tuple[Excerpt, ...] = ()
    label: str = ""
    because: tuple[Related, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    times: int = 1
    assumed: str = ""
    is_checked: bool = False
    values: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    see: str = ""

    @property
    def where(self) -> str:
        """The innermost line, as `model.py:12`; "" if unknown."""
        return f"{self.at[0].place.file}:{self.at[0].place.line}" if self.at else ""


def findings(source: Source) -> tuple[Finding, ...]:
    """Everything there is to say, problems first, in the order in which they were met.

    Raises: TypeError (the source is none).
    """
    if isinstance(source, MonographError):
        return tuple([_of_diagnostic(each.diagnostic) for each in source.problems])
    if isinstance(source, ExportedProgram):
        values = _values(source)
        return tuple(_of_report(source.report, values))
    if isinstance(source, Report):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        return tuple(_of_report(source, {}))
    raise TypeError(f"a report is made of an error or a program, not of a {type(source).__name__}")


def _of_report(report: Report, values: dict[tuple[str, int], list[str]]) -> Iterator[Finding]:
    for problem in report.problems:
        yield _of_problem(problem, values)
    for each in report.specializations:
        said = f"`{each.path}` is {each.value} in every call, although it was left to be found out"
        yield Finding("specialised", "warning", said, _excerpts(each.at))
    for each in report.side_effects:
        yield Finding("side-effect", "warning", each.what, _excerpts(each.at))
    for each in report.left_out:
        said = f"`{each.path}` of {each.value} is left out: there the module {each.what}"
        yield Finding("left-out", "note", said, _excerpts(each.at))
    for each in report.native_islands:
        said = f"`{each.function}` ran without being seen: {each.reason}"
        yield Finding("ran-unseen", "note", said)
    for each in report.assumptions:
        said = f"`{each.name}` is {each.value!r} in every call"
        yield Finding("value-kept", "note", said, _excerpts(each.at))


def _of_problem(problem: Problem, values: dict[tuple[str, int], list[str]]) -> Finding:
    first = place(problem.at[0]) if problem.at else None
    here = [] if first is None else values.get((first.file, first.line), [])
    return _of_diagnostic(
        problem.diagnostic, problem.assumed, tuple(here), is_checked=problem.is_checked
    )


def _of_diagnostic(
    diagnostic: Diagnostic,
    assumed: str = "",
    values: tuple[str, ...] = (),
    *,
    is_checked: bool = False,
) -> Finding:
    return Finding(
        name=diagnostic.name,
        level="error",
        headline=diagnostic.headline,
        at=_excerpts(diagnostic.at),
        label=diagnostic.label,
        because=tuple(
            [Related(c.label, next(iter(_excerpts(c.at[:1])), None)) for c in diagnostic.causes]
        ),
        notes=diagnostic.notes,
        helps=diagnostic.helps,
        times=diagnostic.times,
        assumed=assumed,
        is_checked=is_checked,
        values=values,
        edits=diagnostic.edits,
        see=diagnostic.see,
    )


def _excerpts(spots: Iterable[Spot]) -> tuple[Excerpt, ...]:
    return tuple([_excerpt(place(spot)) for spot in spots])


def _excerpt(where: Place) -> Excerpt:
    linecache.checkcache(where.file)
    source = linecache.getlines(where.file)
    first = max(where.line - AROUND, 1)
    last = min(where.end_line + AROUND, len(source))
    return Excerpt(where, first, tuple([line.rstrip("\n") for line in source[first - 1 : last]]))


def _values(program: ExportedProgram) -> dict[tuple[str, int], list[str]]:
    """The types of what each line of the user's computes."""
    found: dict[tuple[str, int], list[str]] = {}
    for node in program.graph.nodes:
        frames: Any = node.meta.get("frames")
        if frames:
            where = place(frames[0])
            text = type_text(node.meta.get("val"))
            if text:
                found.setdefault((where.file, where.line), []).append(f"{node.name}: {text}")
    return found


__all__ = ["Excerpt", "Finding", "Level", "Related", "Source", "findings"]
