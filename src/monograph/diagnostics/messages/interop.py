"""Messages about other systems: what they do not take over, what we do not, and what is missing.

not-handed-over            system, reason, instead      HandOverError
not-taken-over             reason                       HandOverError
wrong-after-handing-over   system, output, difference   BugError
extra-not-installed        extra, packages              HandOverError
backend-unknown            name, names, near=""         SpecError
nothing-fails              n                            SpecError
nothing-to-verify-against                               HandOverError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import BugError, HandOverError, SpecError
from monograph.diagnostics.wording import listed, offer

if TYPE_CHECKING:
    from collections.abc import Sequence


@message("not-handed-over", HandOverError)
def not_handed_over(*, system: object, reason: object, instead: str | None = None) -> Text:
    """Say that another system cannot take a program over; `instead` is what is called for it."""
    helps = () if instead is None else (offer("call this in its place", instead),)
    return Text(
        headline=f"{system} does not take this program: {reason}",
        helps=helps,
        notes=("the program itself is as it was: `program.module()` runs it",),
    )


@message("not-taken-over", HandOverError)
def not_taken_over(*, reason: object) -> Text:
    """Say that a program of torch.export cannot be one of ours."""
    return Text(
        headline=f"the program of torch.export cannot be taken over: {reason}",
        helps=(offer("export the module itself", "monograph.export(...)"),),
    )


@message("wrong-after-handing-over", BugError)
def wrong_after_handing_over(*, system: object, output: object, difference: object) -> Text:
    """Say that what another system made of a program gives other results."""
    return Text(
        headline=f"what {system} made of the program differs in {output}: {difference}",
        notes=("both were called on the example inputs, twice; nothing was written",),
        helps=(offer("keep what was made all the same, with the argument", "verify = False"),),
    )


@message("nothing-to-verify-against", HandOverError)
def nothing_to_verify_against() -> Text:
    """Say that nobody knows what a program is to give."""
    return Text(
        headline="there is nothing to compare the program with",
        notes=("the file holds no evidence of a verification",),
        helps=(
            offer("give the module", "found = monograph.verify(program, module)"),
            offer(
                "keep what it gives in the file, where the module is",
                "monograph.save(program, file, extra_files=found.extra_files)",
            ),
        ),
    )


@message("extra-not-installed", HandOverError)
def extra_not_installed(*, extra: object, packages: Sequence[str]) -> Text:
    """Say which packages a hand-over needs, and how to get them."""
    one = len(packages) == 1
    return Text(
        headline=f"this needs {listed(packages)}, which {'is' if one else 'are'} not installed",
        helps=(f"pip install 'monograph[{extra}]'",),
    )


@message("backend-unknown", SpecError)
def backend_unknown(*, name: object, names: object, near: str = "") -> Text:
    """Say that no backend has a name; `near` is the one that was meant perhaps."""
    return Text(
        headline=f"there is no backend named {name!r}",
        notes=(f"there are {names}",),
        helps=(offer("the nearest is", f'monograph.optimize("{near}")'),) if near else (),
    )


@message("nothing-fails", SpecError)
def nothing_fails(*, n: object) -> Text:
    """Say that there is no failure to reduce in `n` graphs."""
    return Text(
        headline=f"nothing fails: there is no failure to reduce in {n} graphs",
        notes=("each graph of the call was compiled and run by itself",),
        helps=(
            "pass the backend and the arguments with which it fails",
            "or ask for accuracy, where the numbers are wrong",
        ),
    )
