"""What random programs may differ in, as section 8 of DESIGN.md says: by verdict, and by source."""

import re

from tests.drawn.running import Drawn, Verdict

KNOWN = {
    # Operators whose result nobody uses go, also where they would have raised.
    r"eager raises (RuntimeError|IndexError|ValueError)": r".",
    # Autograd refuses eager code for how it writes; lowered, none writes.
    r"gradients: raises became": r"_\(|\] = |\] [+*-]= | [+*]= |out=|inplace",
    # What a tensor is enlarged by is whatever was in memory.
    r"values": r"\.resize_\(",
    # Plain capture does not see `is`.
    r"^plain.*\('(bool|int)',": r" is (?!None|not None)|\bis \w",
    # A checkpoint computes again what is overwritten.
    r"gradients: some became raises": r"checkpoint|^ *self\.b ",
}


def is_known(program: Drawn, verdict: Verdict) -> bool:
    """Whether the program has the line that explains its verdict."""
    return any(
        re.search(why, str(verdict)) and re.search(line, program.source, re.MULTILINE)
        for why, line in KNOWN.items()
    )
