"""Messages about our own checks: what we got wrong, or could not confirm.

bug              reason, dump=""                        BugError
invalid-program  node, reason, after=""                 BugError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import BugError

REPORT = "please report this, with the smallest model that shows it"


@message("bug", BugError)
def bug(*, reason: object, dump: object = "") -> Text:
    """Say that something that cannot happen did; `dump` is the file that describes it."""
    attach = f"{REPORT}, and attach {dump}" if str(dump) else REPORT
    return Text(headline=f"a mistake of monograph itself: {reason}", helps=(attach,))


@message("invalid-program", BugError)
def invalid_program(*, node: object, reason: object, after: object = "") -> Text:
    """Say that a node breaks a rule of programs; `after` names the step that made it."""
    step = f" after {after}" if str(after) else ""
    return Text(
        headline=f"the program is not well formed{step}: `{node}` {reason}",
        helps=(REPORT, "if a pass of yours made this graph, the node named is where to look"),
    )
