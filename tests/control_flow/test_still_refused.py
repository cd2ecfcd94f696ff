"""What DESIGN.md says would have to exist, for each program of the corpora that is refused."""

from pathlib import Path

import pytest

from tests.control_flow import aliases, branching, heap, looped, unmodified

DESIGN = " ".join((Path(__file__).parents[2] / "DESIGN.md").read_text().split())
CORPORA = {each.__name__ for each in (aliases, branching, heap, unmodified)}
BRANCHES = {
    "results whose structure depends on data": {
        *("filtered", "filtered_into_a_dict", "list_of_either", "list_that_was_there"),
        *("lists_that_are_one", "list_through_a_loop"),
    },
    "aliases by path": {"by_two_branches"},
    "what may be a tensor of the module": {
        *("AsksWhichOfTwoTables", "WritesToTheTable", "asks_where_it_begins"),
    },
    "attributes of tensors as values of both sides": {
        *("names_what_it_writes_to", "names_for_the_caller"),
    },
    "loops that carry a size of their own": {"list_that_grows", "shape_that_grows"},
    "which of several objects a number from data chose": {"large_number_is"},
    "handlers in copies of frames": {"caught_around"},
    "results whose type depends on data": {"dtype_by_branch"},
}
LOOPS = {
    "results and calls whose structure depends on sizes": {
        *("handed_over", "taken_apart", "returned", "shapes_differ"),
    },
    "items as memory of their own": {"replaced", "item_written", "appended_and_written"},
    "views by a number that only the run knows, as results": {"returned_row", "last_of_rows"},
    "rows that are views of what rounds change": {"rows_written", "rows_and_written"},
    "a condition around the loop": {
        *("begun_and_written", "carried_and_written", "grown_and_written", "written_after"),
    },
    "loops that carry a size of their own": {"doubled"},
    "a `return` of another shape than what comes after the loop": {"returns_inside"},
    "a round that raises in any case": {"raises"},
}


@pytest.mark.parametrize("phrase", [*BRANCHES, *LOOPS])
def test_design_says_so(phrase):
    """In the words of its last section."""
    assert phrase in DESIGN


def test_every_refused_program_has_a_line():
    """And no line is for one that is captured."""
    refused = set()
    for each in branching.PROGRAMS.values():
        made = each.make()
        what = made.function if isinstance(made, branching.Function) else type(made)
        if each.refused and what.__module__ in CORPORA:
            refused.add(each.name)
    assert refused == set().union(*BRANCHES.values())
    loops = {each.name for each in looped.PROGRAMS.values() if each.refused}
    assert loops == set().union(*LOOPS.values())
