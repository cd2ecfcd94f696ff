"""Calls that go wrong today, with the mechanism that is missing; the list shrinks.

`KNOWN` holds a call of a probe, in every form, and `OF_FORMS` in one: a call listed here that
agrees, or is refused, fails the tests until it is taken off.
"""

VERSIONS = "`.data` is detached: autograd sees a write to it, and refuses to go back"

KNOWN: dict[tuple[str, str], str] = {
    ("DataWritten", "example"): VERSIONS,
    ("DataWritten", "again"): VERSIONS,
}


SHARED = "the example gives one tensor twice, which no graph without writes stands for"
RESHAPED = "a tensor that changes its shape in place is refused when a program is made functional"

REFUSED_IN: dict[str, dict[str, str]] = {
    "loaded": {"an_int_without_end": "archive-cannot-hold"},
}
"""Programs that one form alone refuses by name, for good: files have no room for such an int."""

OF_FORMS: dict[str, dict[tuple[str, str], str]] = {
    "decomposed": {
        ("one_tensor_written", "example"): SHARED,
        ("metadata_of_an_input_changed", "export"): RESHAPED,
        ("an_input_resized", "export"): RESHAPED,
        ("set_to_another", "export"): RESHAPED,
    },
}
"""What is missing in one form alone; `export` stands for making the program and the form."""
