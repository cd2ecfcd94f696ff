"""What random programs may differ in, as section 8 of DESIGN.md says: by verdict, and by source."""

import re

from tests.drawn.running import Drawn, Verdict

WRITES = r"_\(|\] = |\] [+*-]= | [+*]= |out=|inplace"
KNOWN = {
    # Autograd refuses eager code for how it writes; lowered, none writes.
    r"decomposed.*eager raises RuntimeError: Output \d+ of \w+ is a view": WRITES,
    r"decomposed.*eager raises RuntimeError: a view of a leaf": WRITES,
    r"decomposed.*eager raises RuntimeError: A view was created in": WRITES,
    r"decomposed.*eager raises RuntimeError: a leaf Variable .* operation\.$": WRITES,
    r"decomposed.*eager raises RuntimeError: \w+\(\): functions with out=": r"out=",
    r"decomposed.*gradients: raises became": WRITES,
    # It refuses so in the program, too, where eager code catches what it raises.
    r"internal error: RuntimeError: \w+\(\): functions with out=": r"(?s)except.*out=|out=.*except",
    # A lowered `//` has the derivative of the division that it is, 0, where PyTorch has none.
    r"decomposed.*gradients: backward is refused became some": r"//",
    # A lowered deviation has no derivative where it is 0.
    r"decomposed.*gradients: values: .* became .*nan": r"\.std\(",
    # A merged copy in rows has its values written out.
    r"strides', [2-9, ]+\), .*True\)\) became .*strides'[1-9, ]+\), .*False\)": (
        r"(?s)\.imag.*^ *(?:if|while|for) "
    ),
    # Plain capture does not see `is`.
    r"^plain.*(\('(bool|int)',|values)": r" is (?!None|not None)|\bis \w",
    # A checkpoint computes again what is overwritten, a buffer that is replaced is written to, and
    # `.data` counts writes.
    r"gradients: (some|backward is refused) became raises": (
        r"checkpoint|\bself\.b \+?= |^ *self\.b\.data =|\.data\b"
    ),
    # Autograd refuses to go back through a checkpoint of a tensor whose memory is written to, and
    # through rounds that write to what an earlier one keeps for it: a loop writes to copies.
    r"gradients: raises became some": rf"(?s)checkpoint|^ *(?:for|while) .*(?:{WRITES})",
    # What lies in a buffer that one side replaces is a copy also where the other side is taken.
    r"\('Tensor', \('memory', .* became \('Tensor', \('memory', ": (
        r"(?s)^ *(?:if|for|while) .*\bself\.b = "
    ),
    # What every call puts where nothing was is a cache: a program does not fill it.
    r"outside: \('tuple', 2, None\) became \(\)": r"^ *GX\.t = ",
    # Inputs in one memory: an item is copied, where eager code expands it first, which is not seen.
    r"some elements of the input tensor and the written-to": r"\] = ",
    # What one side or one round writes to is written to in any case.
    r"gradients: some became raise[s]": rf"(?s)^ *(?:(?:el)?if|for|while) .*(?:{WRITES})",
}


def is_known(program: Drawn, verdict: Verdict) -> bool:
    """Whether the program has the line that explains its verdict."""
    return any(
        re.search(why, str(verdict)) and re.search(line, program.source, re.MULTILINE)
        for why, line in KNOWN.items()
    )
