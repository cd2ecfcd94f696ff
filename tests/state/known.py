"""Programs that plain capture gets wrong today though it could see them; the list shrinks."""

CONTENT = "what an object on the module holds is not looked at"

KNOWN: dict[str, str] = {
    "OrderChanges": CONTENT,
    "IteratorAdvances": CONTENT,
    "GeneratorAdvances": CONTENT,
    "OwnPythonGenerator": CONTENT,
    "OwnNumpyGenerator": CONTENT,
    "OwnTorchGenerator": CONTENT,
    "NumpyArrayCounts": CONTENT,
    "SlotsCount": CONTENT,
}

ADVANCED = frozenset({"IteratorAdvances", "GeneratorAdvances"})
"""Refused only after the fact: no iterator of Python's can be put back to where it was."""
