"""What is missing, by the program that shows it.

Plain Python has no hook on `int(t)`, `len(x)` or `max(m, n)`: these programs are refused there, and
the interpreter captures them all. The list shrinks.
"""

BEYOND_PLAIN = frozenset(
    {
        "GraphPooling",
        "Positions",
        "TopKOfData",
        "arange_of_int",
        "comprehension",
        "comprehension_of_slices",
        "counts_by_scatter",
        "float_of_a_tensor",
        "float_of_an_item",
        "float_returned",
        "histogram",
        "index_signed_int",
        "int_of_a_float_tensor",
        "int_of_a_tensor",
        "int_returned",
        "loop_over_values",
        "mapped",
        "masked_sum",
        "max_in_python",
        "min_in_python",
        "narrow_window",
        "packed_by_mask",
        "rows_padded_back",
        "slice_by_int",
        "sort_and_cut",
        "split_padded",
        "split_with_sizes",
        "table_up_to_the_greatest",
        "topk_of_int",
        "tril_of_count",
        "unique_mean_by_group",
        "unique_number",
        "varying_rows_of_rest",
        "window_of_ints",
        "zeros_of_int",
    }
)

CALLED_BY_C = frozenset({"mapped"})
"""What asks for the number is not in the source, so the message does not say that strict helps."""
