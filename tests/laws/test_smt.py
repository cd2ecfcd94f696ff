"""The second opinion, against brute force and against the fast engine."""

import random

import pytest

from monograph.integers import Facts, Relation, holds, negate, relation_text
from monograph.integers.decision.satisfiability import are_contradictory
from monograph.integers.decision.smt import smt_answer
from tests.laws.test_integers import World, _assumed, on_exprs, on_ints, relation_of, world


def drawn(rng: random.Random, here: World) -> tuple[str, Relation] | None:
    """A question that is neither always true nor always false: its source and itself."""
    source = relation_of(rng, here.names, rng.choice([1, 2, 2, 3]))
    try:
        r = on_exprs(source, here.by_name)
    except ZeroDivisionError:
        return None
    return (source, r) if isinstance(r, Relation) else None


def falsify_second_opinion(seed: int, questions: int = 10) -> tuple[int, int]:
    """Look for a wrong second opinion; returns (questions asked, questions answered).

    Half of the worlds have no hints, so that there is nothing to begin examples with.
    """
    rng = random.Random(seed)
    here = world(rng)
    kept = _assumed(rng, here)
    hints = here.facts.hints if rng.random() < 0.5 else {}
    answered = asked = 0
    for source, r in filter(None, (drawn(rng, here) for _ in range(questions))):
        asked += 1
        quick = here.facts.known(r)
        answer = smt_answer(here.facts.knowledge, hints, r)
        if answer is None:
            continue
        answered += 1
        assert quick in {answer, None}, (source, quick, answer)
        truth = on_ints(source, here.names)
        for values in kept:
            assert truth(*values) in {answer, None}, (source, answer, values, _stated(here.facts))
    return asked, answered


def _stated(facts: Facts) -> list[str]:
    return [relation_text(guard.relation) for guard in facts.stated]


def falsify_contradictions(seed: int, questions: int = 6) -> int:
    """Look for values that satisfy what is called contradictory; returns the questions asked."""
    rng = random.Random(seed)
    here = world(rng)
    asked = 0
    for _, r in filter(None, (drawn(rng, here) for _ in range(questions))):
        for side in (r, negate(r)):
            asked += 1
            if isinstance(side, Relation) and are_contradictory(here.facts.knowledge, [side]):
                for env in here.envs():
                    try:
                        assert not holds(side, env), (side, env)
                    except ZeroDivisionError:
                        continue
    return asked


@pytest.mark.parametrize("block", range(2))
def test_the_second_opinion_is_never_wrong(block: int) -> None:
    """It holds for all values that satisfy the assumptions, and the fast engine agrees."""
    answered = sum(falsify_second_opinion(seed)[1] for seed in range(block * 25, block * 25 + 25))
    assert answered > 30, "too few answers to mean anything"


def test_contradictory_is_never_wrong() -> None:
    """No values satisfy what was called contradictory."""
    assert sum(falsify_contradictions(seed) for seed in range(20)) > 100


@pytest.mark.slow
@pytest.mark.laws
@pytest.mark.parametrize("block", range(10))
def test_the_second_opinion_is_never_wrong_at_length(block: int) -> None:
    """More than 10,000 questions."""
    first = 1000 + block * 130
    asked = sum(falsify_second_opinion(seed)[0] for seed in range(first, first + 130))
    assert asked > 1000


@pytest.mark.slow
@pytest.mark.laws
@pytest.mark.parametrize("block", range(4))
def test_contradictory_is_never_wrong_at_length(block: int) -> None:
    """Nothing is filtered by examples here: z3 answers every question."""
    first = 1000 + block * 100
    assert sum(falsify_contradictions(seed) for seed in range(first, first + 100)) > 800
