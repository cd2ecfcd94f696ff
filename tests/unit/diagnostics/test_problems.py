"""`problem`: from a name and facts to an exception."""

from __future__ import annotations

from monograph.diagnostics import (
    BugError,
    Cause,
    Clause,
    ConstraintViolation,
    Frame,
    Place,
    UnsupportedError,
    asked_from,
    place,
    problem,
    user_frames,
)

HERE = Place("model.py", 3, 3, 0, 4, "f")


def test_it_has_the_class_of_its_name() -> None:
    """The catalogue says which exception a name is."""
    assert isinstance(problem("unsupported-output", path="out", type="Result"), UnsupportedError)
    assert isinstance(problem("sizes-disagree", left=1, right=2), ConstraintViolation)


def test_without_a_place_it_is_the_users_line() -> None:
    """By default a problem is where the user's code is now."""
    error = problem("dimension-out-of-range", dim=3, rank=2)
    assert place(error.diagnostic.at[0]).function == "test_without_a_place_it_is_the_users_line"


def test_places_are_one_or_several_or_none() -> None:
    """`at` takes a frame, a place, or a chain of them; an empty one is nowhere."""
    facts = {"dim": 3, "rank": 2}
    (frame,) = user_frames()
    assert problem("dimension-out-of-range", at=frame, **facts).diagnostic.at == (frame,)
    assert problem("dimension-out-of-range", at=HERE, **facts).diagnostic.at == (HERE,)
    assert problem("dimension-out-of-range", at=[HERE, HERE], **facts).diagnostic.at == (HERE, HERE)
    assert problem("dimension-out-of-range", at=(), **facts).diagnostic.at == ()


def test_the_source_under_the_caret_is_quoted() -> None:
    """A template that asks for it receives the text of the expression that runs."""
    error = problem("data-dependent-branch", at=user_frames())
    assert "`user_frames()`" in error.diagnostic.headline


def test_graph_and_causes_are_carried() -> None:
    """What is not printed is carried too."""
    cause = Cause((HERE,), "because")
    graph = object()
    error = problem("sizes-disagree", causes=[cause], graph=graph, left=1, right=2)
    assert error.diagnostic.causes == (cause,)
    assert error.diagnostic.graph is graph


def test_an_unknown_name_is_our_mistake() -> None:
    """It names the nearest, and keeps the facts."""
    error = problem("sizes-disagre", left=1, right=2)
    assert isinstance(error, BugError)
    assert error.diagnostic.headline.endswith("the nearest is `sizes-disagree`")
    assert "left = 1" in str(error)
    assert isinstance(problem("?"), BugError)


def test_facts_that_do_not_fit_are_our_mistake() -> None:
    """A missing or an extra fact is a bug, not a crash inside an error."""
    assert "missing" in str(problem("sizes-disagree", left=1))
    assert "unexpected" in str(problem("sizes-disagree", left=1, right=2, middle=3))


def test_a_contract_lists_its_clauses() -> None:
    """The causes of a clause may be text, a place, several, or absent."""
    clauses = [
        Clause("a", 1, 2, (HERE, HERE)),
        Clause("b", 1, 2, HERE),
        Clause("c", 1, 2, "model.py:3"),
        Clause("d", 1, 2),
    ]
    found = problem("contract-broken", at=(), clauses=clauses).diagnostic
    assert found.headline == "`a` expected 1, got 2, and 3 more differences"
    assert [cause.label for cause in found.causes] == [
        "this line needs it",
        "`b` expected 1, got 2",
        "`c` expected 1, got 2 (model.py:3)",
        "`d` expected 1, got 2",
    ]


def test_what_was_asked_earlier_is_refused_there():
    """Not where the question is looked at again."""
    frames = (Frame((lambda: None).__code__, 0, 7),)
    with asked_from(frames):
        assert problem("sizes-disagree", left=2, right=3).diagnostic.at == frames
        assert problem("sizes-disagree", at=(), left=2, right=3).diagnostic.at == ()
    assert problem("sizes-disagree", left=2, right=3).diagnostic.at != frames
