"""The command that applies what diagnostics offer: `monograph fix model.py:make`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from monograph.cli.output import (
    MISSING,
    RIGHT,
    WRONG,
    colored_diff,
    complain,
    is_quiet,
    progress,
    say,
    verb,
)
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.autofix import Fixed, Proposal

_fix = deferred("monograph.autofix:fix")


@verb
def fix(
    place: str,
    *,
    ask: Callable[[str], bool],
    dynamic: str | None = None,
    strict: bool = True,
    yes: bool = False,
    assume: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Show the edits that help, apply those that are accepted, and export again, until it exports.

    `ask` is what decides, unless `yes` does; `assume` lets `yes` decide edits that state something
    of all inputs, too. As JSON, nothing is asked.
    """
    if as_json:
        return _as_json(place, dynamic, strict=strict, assume=assume, write=yes and not dry_run)

    def accept(proposal: Proposal) -> bool:
        where = f" at {proposal.where.rpartition('/')[2]}" if proposal.where else ""
        say(f"{proposal.name}{where}: {proposal.title}")
        say(colored_diff(proposal.diff, sys.stdout))
        if proposal.narrows:
            say("note: this states something of all inputs; others are refused then")
        if yes or dry_run:
            taken = assume or not proposal.narrows
            if not taken:
                say("left out; --assume accepts what states something of all inputs")
            return taken
        return ask("apply this?")

    with progress() as told:
        found = _fix(
            place, accept=accept, dynamic=dynamic, strict=strict, write=not dry_run, watch=told
        )
    return _told(found, place, dry_run=dry_run)


def _told(found: Fixed, place: str, *, dry_run: bool) -> int:
    """Say what a search came to; give the exit status."""
    for note in () if is_quiet() else found.notes:
        say(f"note: {note}")
    if not found.exports:
        complain(found.message)
        if not found.missing:
            complain(f"{place} does not export; nothing more is offered")
    elif found.verified:
        say(f"verified beside the model as it was: {found.verified}")
    if found.exports:
        option = f' --dynamic "{found.dynamic}"' if found.dynamic else ""
        said = "would export" if dry_run and found.changes else "exports"
        say(f"{place} {said} with{option}" if option else f"{place} {said}")
    say(_written(found.written, dry_run=dry_run))
    return RIGHT if found.exports else MISSING if found.missing else WRONG


def _as_json(place: str, dynamic: str | None, *, strict: bool, assume: bool, write: bool) -> int:
    def accept(proposal: Proposal) -> bool:
        return assume or not proposal.narrows

    found = _fix(place, accept=accept, dynamic=dynamic, strict=strict, write=write)
    say(json.dumps(asdict(found), indent=1))
    return RIGHT if found.exports else MISSING if found.missing else WRONG


def _written(files: list[str], *, dry_run: bool) -> str:
    if dry_run:
        return "no file was changed: this was a dry run"
    return f"changed: {', '.join(files)}" if files else "no file was changed"


__all__ = ["fix"]
