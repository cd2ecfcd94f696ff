"""Messages of drafts: what one takes from its example, and what it cannot check.

draft-assumption  assumed, now=""           ContractError
draft-unchecked   assumed                   ContractError
capture-raises    error: BaseException      UnsupportedError
"""

from __future__ import annotations

from traceback import format_exception_only

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import ContractError, UnsupportedError
from monograph.diagnostics.wording import offer

_REPORT = "mend what `program.report.problems` lists, and export the model"


@message("draft-assumption", ContractError)
def draft_assumption(*, assumed: str, now: str = "") -> Text:
    """Say that a call breaks what a draft took from its example.

    `assumed` is a clause: "`n > 5` is True"; `now` says what the numbers in it are in this call.
    """
    return Text(
        headline=f"this draft assumes that {assumed}, which does not hold{now and f': {now}'}",
        label="assumed here",
        notes=("it held for the example inputs; others may go another way",),
        helps=(_REPORT,),
    )


@message("draft-unchecked", ContractError)
def draft_unchecked(*, assumed: str) -> Text:
    """Say that a draft repeats what no call can check; `assumed` is what `export` says of it."""
    return Text(
        headline=f"this draft cannot vouch for its result: {assumed}",
        label="not checked",
        helps=(_REPORT, offer("or run the draft as it is", "program.module(check_guards=False)")),
    )


@message("capture-raises", UnsupportedError)
def capture_raises(*, error: BaseException) -> Text:
    """Say that user code raises while it is captured, and not when it runs."""
    words = "".join(format_exception_only(error)).strip().split("\n", 1)[0]
    return Text(
        headline=f"this raises while the model is captured, and not when it runs: {words}",
        label="raises",
        notes=("tensors have no values there, and sizes and numbers read from them are symbols",),
    )
