"""The search for edits: each one that is offered is tried; those that help are proposed, and kept.

Law: a file is written only after its diff was accepted, the export with it went further than
without, and the module with it gives at the example inputs what it gave before.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.autofix.attempts import Attempt, AttemptRequest, attempt
from monograph.autofix.edited_sources import is_users, read, shown, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.autofix.attempts import OfferedRefusal
    from monograph.autofix.edited_sources import SourceFile
    from monograph.diagnostics import Edit

TRIALS = 60
"""Edits that are tried in one search."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit that helps: a diff of a file, or another `--dynamic`.

    `narrows` says that it states something which other inputs may not fulfil.
    """

    name: str
    headline: str
    where: str
    title: str
    diff: str
    narrows: bool = False


@dataclass(slots=True)
class Fixed:
    """What a search came to.

    `changes` were accepted; `written` are the files that were; `dynamic` is what to give as
    `--dynamic` from now on. `notes` say what was offered and not made, and why. `verified` is what
    comparing the program with the module as it was before says; "" where there was nothing to.
    """

    exports: bool
    message: str = ""
    changes: list[Proposal] = field(default_factory=list[Proposal])
    written: list[str] = field(default_factory=list[str])
    dynamic: str | None = None
    notes: list[str] = field(default_factory=list[str])
    verified: str = ""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class _CandidateEdit:
    """A change to try: an edit of a file, or another declaration on the command line."""

    problem: OfferedRefusal
    edit: Edit | None = None

    @property
    def narrows(self) -> bool:
        return self.edit is not None and self.edit.narrows

    @property
    def key(self) -> object:
        return self.problem.key, self.edit or self.problem.dynamic


def fix(
    place: str,
    *,
    accept: Callable[[Proposal], bool],
    dynamic: str | None = None,
    strict: bool = True,
    write: bool = True,
    watch: Callable[[str], None] = lambda _: None,
) -> Fixed:
    """Export what a place names; apply what its refusals offer, as accepted; repeat.

    `place` is a script that exports, `file.py:factory` or `package.module:factory`. User code runs
    once for each edit that is tried, in processes of its own. `watch` is told what is being tried.

    Raises: OSError, where a file cannot be written, or is not any more what was read.
    """
    return _EditSearch(AttemptRequest(place, dynamic, strict), accept, watch).run(write=write)


class _EditSearch:
    """The edits that were accepted so far, and what the export came to with them."""

    def __init__(
        self,
        request: AttemptRequest,
        accept: Callable[[Proposal], bool],
        watch: Callable[[str], None],
    ) -> None:
        self._request, self._accept, self._watch = request, accept, watch
        file = Path(request.place.partition(":")[0])
        folder = file.resolve().parent if file.suffix == ".py" else Path.cwd()
        self._roots = (Path.cwd().resolve(), folder)
        self._files: dict[str, SourceFile] = {}
        self._edited: dict[str, str] = {}
        self._tried: set[object] = set()
        self._found = Fixed(exports=False, dynamic=request.dynamic)

    def run(self, *, write: bool) -> Fixed:
        """Search until the export succeeds, or nothing more is offered."""
        found = self._found
        original = self._request
        self._watch(f"exporting {original.place}")
        with tempfile.TemporaryDirectory(prefix="monograph-fix-") as folder:
            program = str(Path(folder, "program.pt2"))
            self._request = replace(original, save=program)
            now = attempt(self._request)
            self._request = replace(self._request, before=now.eager)
            while now.ending == "refused":
                further = self._further(now)
                if further is None:
                    break
                now = further
            found.exports, found.message = now.ending == "exported", now.message
            found.missing = now.ending == "missing"
            if found.exports and found.changes and not self._is_right(original, program):
                found.exports = False
                found.message = f"the edits change what the model gives: {found.verified}"
                return found
        if write:
            write_all([(self._files[file], text) for file, text in self._edited.items()])
            found.written += [shown(Path(file)) for file in self._edited]
        return found

    def _further(self, now: Attempt) -> Attempt | None:
        """What the export comes to with one edit more; None where none helps or is accepted."""
        for candidate in sorted(_candidates(now), key=lambda each: each.narrows):
            if candidate.key in self._tried or len(self._tried) >= TRIALS:
                continue
            self._tried.add(candidate.key)
            request = self._with(candidate)
            if request is None:
                continue
            after = self._helped(candidate, request)
            if after is not None and self._accept(self._proposed(candidate, request)):
                self._found.changes.append(self._proposed(candidate, request))
                self._request, self._edited = request, dict(request.edited)
                self._found.dynamic = request.dynamic
                return after
        return None

    def _with(self, candidate: _CandidateEdit) -> AttemptRequest | None:
        edit = candidate.edit
        if edit is None:
            return replace(self._request, dynamic=candidate.problem.dynamic)
        file = str(Path(edit.file).resolve())
        if not is_users(file, self._roots):
            self._found.notes.append(
                f"{candidate.problem.name}: {edit.file} is not of this project, and is left alone"
            )
            return None
        if file not in self._files:
            self._files[file] = read(file)
        text = edit.applied(self._edited.get(file, self._files[file].text))
        return replace(self._request, edited={**self._edited, file: text})

    def _helped(self, candidate: _CandidateEdit, request: AttemptRequest) -> Attempt | None:
        """What the export comes to with a change, if that goes further and stays right."""
        title = candidate.edit.title if candidate.edit else request.dynamic
        self._watch(f"{candidate.problem.name}: trying to {title}")
        after = attempt(request)
        why = after.unlike
        if not why and after.ending == "exported":
            return after
        if not why and after.ending == "refused":
            if candidate.problem.key not in {each.key for each in after.problems}:
                return after  # what comes after it in the call may be refused only now
            why = "it is still refused"
        why = why or after.message
        self._found.notes.append(f"{candidate.problem.name}: tried to {title}, taken back: {why}")
        return None

    def _proposed(self, candidate: _CandidateEdit, request: AttemptRequest) -> Proposal:
        problem, edit = candidate.problem, candidate.edit
        if edit is None:
            lines = [f'- --dynamic "{self._request.dynamic}"', f'+ --dynamic "{request.dynamic}"']
            title, diff = "declare the sizes that the model takes", "\n".join(lines)
        else:
            file = str(Path(edit.file).resolve())
            before = self._edited.get(file, self._files[file].text)
            title, diff = edit.title, self._files[file].diff(before, request.edited[file])
        return Proposal(
            problem.name, problem.headline, problem.where, title, diff, candidate.narrows
        )

    def _is_right(self, original: AttemptRequest, program: str) -> bool:
        """Whether the program does what the module did before any edit."""
        self._watch("comparing with the module as it was")
        before = {file: source.text for file, source in self._files.items()}
        narrowed = any(each.narrows for each in self._found.changes)
        if None in (self._request.before or ()):
            self._found.verified = "the module raised before, at its own example inputs"
            return True
        request = replace(original, edited=before, verify=program, may_raise=narrowed)
        found = attempt(request)
        self._found.verified = found.message
        return found.right


def _candidates(now: Attempt) -> Iterator[_CandidateEdit]:
    for problem in now.problems:
        yield from [_CandidateEdit(problem, edit) for edit in problem.edits]
        if problem.dynamic:
            yield _CandidateEdit(problem)


__all__ = ["Fixed", "Proposal", "fix"]
