"""Messages over the corpora: short, at the user's line, and with edits that are Python."""

import ast
from pathlib import Path

import pytest

from monograph import MonographError, draft_export, export
from tests.programs import (  # noqa: F401  importing registers the programs
    constants,
    data_dependent,
    mutation,
    seeds,
    structures,
)
from tests.programs.harness import (
    SEED_OF_CALL,
    SEED_OF_EXAMPLE,
    build,
    inputs_at,
    run,
    same,
    start_anew,
)
from tests.programs.registry import PROGRAMS

REFUSED = {name: each for name, each in PROGRAMS.items() if each.refused}


def test_there_are_many():
    """The law is held over a corpus worth the name."""
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("name", REFUSED)
def test_each_problem_is_short_and_names_a_line(name):
    """At most 25 lines each, the user's line among them; edits give Python that compiles."""
    program = REFUSED[name]
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    with pytest.raises(MonographError) as caught:
        export(build(program), args, kwargs, control_flow="refuse")
    for problem in caught.value.problems:
        assert len(str(problem).split("\n")) <= 25, str(problem)
        diagnostic = problem.diagnostic
        if not program.placeless:
            assert diagnostic.at, str(problem)
            assert "  --> " in str(problem)
        for edit in diagnostic.edits:
            ast.parse(edit.applied(Path(edit.file).read_text(encoding="utf-8")))


def drafted(program):
    """Give the draft of a program; None if it comes to no end."""
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    try:
        return draft_export(build(program), args, kwargs, control_flow="refuse")
    except Exception:  # noqa: BLE001 - what nothing goes past
        return None


@pytest.mark.parametrize("name", REFUSED)
def test_a_draft_is_right_or_raises(name):
    """It computes what eager does for the example; for other values too, or raises.

    Only what its report says it cannot check may make it differ.
    """
    program = REFUSED[name]
    draft = drafted(program)
    if draft is None:
        return
    assert draft.report.problems
    if not all(problem.is_checked for problem in draft.report.problems):
        return
    for seed in (SEED_OF_EXAMPLE, SEED_OF_CALL, SEED_OF_CALL + 1, SEED_OF_CALL + 2):
        module, reference = draft.module(), build(program)
        start_anew(module, reference)
        given = inputs_at(program, program.sizes, seed)
        actual, expected = run(module, given), run(reference, given)
        if isinstance(actual, Exception):
            assert seed != SEED_OF_EXAMPLE or isinstance(expected, Exception), actual
            continue
        assert not isinstance(expected, Exception), expected
        same(expected[0], actual[0], f"the result for seed {seed}")
        same(expected[1], actual[1], f"the inputs for seed {seed}")


def test_most_refused_programs_have_a_draft():
    """Three of four come to their end."""
    count = sum(drafted(program) is not None for program in REFUSED.values())
    assert count >= len(REFUSED) * 3 // 4, f"{count} of {len(REFUSED)}"
