"""What one form of a program refuses by name, where the others agree with eager.

Nothing is known to be wrong. An entry whose form no longer refuses fails the tests until it is
taken off.
"""

from monograph.host.versions import assigned_numbers_fill

NUMBERS_FILL = assigned_numbers_fill()

EXPORTS_REFUSED: dict[str, dict[str, str]] = {
    "decomposed": {
        "metadata_of_an_input_changed": "not-functional",
        "an_input_resized": "not-functional",
        "set_to_another": "not-functional",
        "sizes_after_resize": "not-functional",
        "sizes_of_another": "not-functional",
        "sizes_of_one_given_twice": "not-functional",
        "DataWritten": "not-functional",
        "DataOfAResultWritten": "not-functional",
        "WrittenBesideData": "not-functional",
        "leaf_written_beneath": "not-functional",
        "leaf_written_as_ints": "not-functional",
        "turned_beside_another": "not-functional",
        "written_where_whole": "not-functional",
        "such_a_view_is_written_to": "not-functional",
        "storage_taken_over": "not-functional",
        "memory_of_varying_size_taken_over": "not-functional",
        "TakenOver": "not-functional",
        "detached_by_two_names": "not-functional",
        "a_leaf_written_to": "not-functional",
        "detached_by_another_name": "not-functional",
        "resized_by_another_name": "not-functional",
        "views_of_what_becomes_a_leaf": "not-functional",
        **({"number_written_as_it_was_repeated": "write-through-view"} if NUMBERS_FILL else {}),
    },
    "exported again": {"powers_of_negative_numbers": "dim-specialised"},
    "strict": {"tensor_of_an_array_written": "memory-exposed"},
    "loaded": {
        "an_int_without_end": "archive-cannot-hold",
        "functions_by_name": "archive-cannot-hold",
        "modules_spaces": "archive-cannot-hold",
        "tensors_spaces": "archive-cannot-hold",
    },
}
"""Programs, by form: no graph without writes reshapes the caller's tensor or overwrites what
autograd keeps, and files have no room for such an int, nor for functions, nor for names with a line
break in them. A number that is whole in every call is a float where it is computed again."""

_LAYOUTS = ("cut", "every other", "repeated", "transposed")

CALLS_REFUSED: dict[str, dict[tuple[str, str], str]] = {
    "decomposed": dict.fromkeys(
        [
            ("one_tensor_written", "example"),
            *[("split_within_a_try", how) for how in _LAYOUTS],
            *[("rows_asked_of_none_and_of_one", f"none, {how}") for how in ("cut", "transposed")],
            ("rows_asked_of_none_and_of_one", "one of many"),
            ("written_in_place_and_asked", "cut"),
        ],
        "contract-broken",
    ),
}
"""Calls, by form: without writes, one argument does not see what is written to another; and what
copies or not as its argument lies does so as for the example.
"""
