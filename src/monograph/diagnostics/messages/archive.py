"""Messages about files: what cannot be read as a program, and what cannot be written as one.

archive-damaged            member, reason     ArchiveError
archive-invalid            member, reason     ArchiveError
archive-unsafe             member, reason     ArchiveError
archive-run-failed         what, reason       ArchiveError
archive-newer              member, reason     ArchiveError
archive-unknown-operator   member, reason     ArchiveError
archive-unknown-type       member, reason     ArchiveError
archive-no-model           model, models      ArchiveError
archive-cannot-hold        reason             ArchiveError
weights-do-not-fit         reason             ArchiveError
archive-unlike-module      found
wrong-after-saving         output, difference BugError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import ArchiveError, BugError
from monograph.diagnostics.messages.internal import REPORT
from monograph.diagnostics.wording import listed, offer, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


@message("archive-damaged", ArchiveError)
def archive_damaged(*, member: object, reason: object) -> Text:
    """Say that the bytes of a file are not those that were written."""
    return Text(
        headline=f"the file is damaged: {_where(member)}: {reason}",
        helps=("copy or download the file again, and compare its size with the original's",),
    )


@message("archive-invalid", ArchiveError)
def archive_invalid(*, member: object, reason: object) -> Text:
    """Say that a file's content makes no program."""
    return Text(
        headline=f"the file holds no program that can be read: {_where(member)}: {reason}",
        notes=("nothing of it was run",),
    )


@message("archive-unsafe", ArchiveError)
def archive_unsafe(*, member: object, reason: object) -> Text:
    """Say that a file asks for what no file may have done."""
    return Text(
        headline=f"the file is not safe to read: {_where(member)}: {reason}",
        notes=("nothing of it was run, imported or written",),
        helps=("if you trust whoever made it, ask for the file saved without pickled parts",),
    )


@message("archive-run-failed", ArchiveError)
def archive_run_failed(*, what: object, reason: object) -> Text:
    """Say that a program from a file fails when it is used, as nobody but its file vouches for."""
    return Text(
        headline=f"the program of the file fails when it is {what}: {reason}",
        helps=("if the inputs are good ones, ask whoever made the file to export it anew",),
    )


@message("archive-newer", ArchiveError)
def archive_newer(*, member: object, reason: object) -> Text:
    """Say that a file is of a version that came after this reader."""
    return Text(
        headline=f"the file is of a version that is not known here: {_where(member)}: {reason}",
        helps=("read it with the version of monograph or PyTorch that wrote it, or a later one",),
    )


@message("archive-unknown-operator", ArchiveError)
def archive_unknown_operator(*, member: object, reason: object) -> Text:
    """Say that a program calls an operator which nobody has registered; `reason` is its name."""
    return Text(
        headline=f"the program calls `{reason}`, which is not registered in this process",
        notes=(f"it is called in {_where(member)}",),
        helps=("import the package that registers the operator before you load the file",),
    )


@message("archive-unknown-type", ArchiveError)
def archive_unknown_type(*, member: object, reason: object) -> Text:
    """Say that inputs or outputs are of a class which nobody has registered."""
    return Text(
        headline=f"the class `{reason}` is not registered under a name that files can use",
        notes=(f"it is needed by {_where(member)}",),
        helps=(
            offer(
                "register it before you save and before you load",
                "monograph.register_dataclass(..., serialized_type_name=...)",
            ),
        ),
    )


@message("archive-no-model", ArchiveError)
def archive_no_model(*, model: object, models: Sequence[str]) -> Text:
    """Say that a file has no program of this name, and which it has."""
    found = f"it holds {listed(models)}" if models else "it holds none"
    return Text(
        headline=f"the file has no program called {quoted(model)}: {found}",
        helps=tuple(offer("name it", f'load(..., model="{name}")') for name in models[:3]),
    )


@message("archive-cannot-hold", ArchiveError)
def archive_cannot_hold(*, reason: object) -> Text:
    """Say what of a program no file can hold."""
    return Text(
        headline=f"the program cannot be saved: {reason}",
        notes=("nothing was written",),
    )


@message("weights-do-not-fit", ArchiveError)
def weights_do_not_fit(*, reason: object) -> Text:
    """Say why tensors cannot be those of a program."""
    return Text(
        headline=f"these tensors are not the program's: {reason}",
        notes=("the program was captured for tensors of its own names, shapes and dtypes",),
    )


@message("archive-unlike-module", ArchiveError)
def archive_unlike_module(*, found: str) -> Text:
    """Say that a program that is saved differs from the module that is given beside it."""
    summary, *differences = found.split("\n")
    return Text(
        headline=f"the program is not what the module does: {summary}",
        notes=(*[each.strip() for each in differences[:4]], "no file was written"),
        helps=(
            "give the module that was exported, with the weights it had then",
            offer("or save it without the comparison", "save(program, file)"),
        ),
    )


@message("wrong-after-saving", BugError)
def wrong_after_saving(*, output: object, difference: object) -> Text:
    """Say that a program read back gives other results than the one saved."""
    return Text(
        headline=f"the program read back from the file differs in {output}: {difference}",
        notes=("both were run on the example inputs; the file was not replaced",),
        helps=(REPORT,),
    )


def _where(member: object) -> str:
    return str(member) if " " in str(member) else f"`{member}`"
