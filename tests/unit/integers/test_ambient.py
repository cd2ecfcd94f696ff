"""The questions that rules and user code ask."""

import pytest

from monograph.diagnostics import DataDependentError, MonographError
from monograph.integers import (
    Facts,
    active,
    decide,
    eq,
    fresh,
    ge,
    gt,
    known,
    ne,
    relation_text,
    require,
    simplify,
    use,
)


@pytest.fixture
def facts():
    """Nothing known yet."""
    facts = Facts()
    with use(facts):
        yield facts


def guards(facts):
    """What was recorded, as text."""
    return [relation_text(guard.relation) for guard in facts.guards]


def test_outside_there_is_nothing_to_ask():
    """Without facts in force, only bools are answered."""
    with pytest.raises(LookupError, match="no Facts"):
        active()
    assert known(True) is True
    assert decide(False) is False
    assert simplify(4) == 4
    require(True, "sizes-disagree")


def test_facts_nest(facts):
    """The block before is in force again afterwards."""
    with use(Facts()) as inner:
        assert active() is inner
    assert active() is facts


def test_known_records_nothing(facts):
    """Looking is free."""
    n = facts.symbol("n", hint=3)
    assert known(ge(n, 4)) is None
    assert facts.guards == []


def test_require_proves_records_or_refuses(facts):
    """In this order."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    require(ge(n, 0), "sizes-disagree", left=n, right=0)
    assert guards(facts) == []
    require(eq(n, m), "sizes-disagree", left=n, right=m)
    require(eq(n, m), "sizes-disagree", left=n, right=m)
    assert guards(facts) == ["n == m"]
    assert simplify(m) is n
    for r in (eq(n, 4), eq(n, m + 1), False):
        with pytest.raises(MonographError) as refused:
            require(r, "sizes-disagree", left=n, right=4)
        assert refused.value.diagnostic.name == "sizes-disagree"


def test_require_of_data_becomes_an_assertion(facts):
    """What no example can answer is checked while the program runs."""
    n, u = facts.symbol("n", hint=3), fresh("mask.sum().item()", 0, None)
    require(eq(u, n), "sizes-disagree", left=u, right=n)
    assert facts.guards == []
    assert [relation_text(made.relation) for made in facts.assertions] == ["n == u0"]
    assert known(ge(u, 0)) is True
    with pytest.raises(MonographError):
        require(gt(u, n), "sizes-disagree", left=u, right=n)


def test_decide_takes_the_side_of_the_example(facts):
    """And records that it did, once."""
    n = facts.symbol("n", hint=3)
    assert decide(ge(n, 4)) is False
    assert decide(ge(n, 4)) is False
    assert decide(ne(n, 0)) is True
    assert guards(facts) == ["n <= 3", "n != 0"]


def test_decide_refuses_data(facts):
    """No example may answer for data."""
    u = fresh("mask.sum().item()")
    with pytest.raises(DataDependentError) as refused:
        decide(ge(u, 4))
    assert refused.value.diagnostic.name == "data-dependent-size"
    assert "mask.sum().item() >= 4" in str(refused.value)


def test_fresh_symbols_are_numbered(facts):
    """u0, u1, ... skipping names that are taken."""
    facts.symbol("u1", hint=3)
    made = [fresh("a"), fresh("b"), fresh("c", None, 9)]
    assert [u.name for u in made] == ["u0", "u2", "u3"]
    assert facts.interval(made[2]) == (-float("inf"), 9)
