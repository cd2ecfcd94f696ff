"""Programs that plain capture gets wrong today though it could see them; the list shrinks."""

ARGUMENT = "a container among the inputs is changed, and the caller does not see it"
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
    "argument_list_grows": ARGUMENT,
    "argument_dict_filled": ARGUMENT,
    "argument_list_sorted": ARGUMENT,
    "inner_argument_replaced": ARGUMENT,
}

ADVANCED = frozenset({"IteratorAdvances", "GeneratorAdvances"})
"""Refused only after the fact: no iterator of Python's can be put back to where it was."""
