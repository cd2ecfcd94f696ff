"""Messages about our own checks: what we got wrong, or could not confirm.

bug              reason, dump=""                        BugError
invalid-program  node, reason, after=""                 BugError
wrong-on-replay  output, difference                     ExportError
"""

from __future__ import annotations

from monograph.diagnostics.catalogue import message
from monograph.diagnostics.diagnostic import Text
from monograph.diagnostics.errors import BugError, ExportError
from monograph.diagnostics.wording import offer

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


@message("wrong-on-replay", ExportError)
def wrong_on_replay(*, output: object, difference: object) -> Text:
    """Say that the program and the module gave different results for the example inputs."""
    return Text(
        headline=f"the program and the module differ in {output}: {difference}",
        notes=("the program was run once on the example inputs, and is not returned",),
        helps=(
            offer("if the module is random, as with dropout, export it otherwise", "model.eval()"),
            "if the module keeps state between calls, keep that state in buffers",
        ),
    )
