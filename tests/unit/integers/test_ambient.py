"""The questions that rules and user code ask."""

import pytest

from monograph.diagnostics import DataDependentError, MonographError
from monograph.integers import (
    Facts,
    active,
    choose,
    decide,
    eq,
    fixed,
    fresh,
    ge,
    gt,
    known,
    le,
    ne,
    prove,
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


def test_choose_takes_the_first_case_of_the_example(facts):
    """All relations of a case become guards, those that are proved do not."""
    n, m = facts.symbol("n", hint=5), facts.symbol("m", hint=1)
    assert choose(eq(n, m), (gt(n, 4), ge(m, 0)), eq(m, 1)) == 1
    assert [relation_text(guard.relation) for guard in facts.guards] == ["n >= 5"]


def test_choose_leaves_open_what_no_case_is(facts):
    """Neither a case that the example is not in, nor one that data decides, is recorded."""
    n, u = facts.symbol("n", hint=5), facts.symbol("u", hint=None)
    assert choose(eq(n, 4), eq(u, 4)) is None
    assert not facts.guards
    assert not facts.assertions


def test_fixed_numbers_rest_on_what_is_stated(facts):
    """The example's number under the caller's guard, the only possible one, or a refusal."""
    n, u = facts.symbol("n", hint=5), facts.symbol("u", hint=None, lower=2, upper=2)
    stated = []
    assert fixed(n, stated.append, lambda _: KeyError()) == 5
    assert fixed(u, stated.append, lambda _: KeyError()) == 2
    assert stated == [5, 2]
    with pytest.raises(KeyError):
        fixed(facts.symbol("v", hint=None), stated.append, lambda _: KeyError())


def test_fresh_symbols_are_numbered(facts):
    """u0, u1, ... skipping names that are taken."""
    facts.symbol("u1", hint=3)
    made = [fresh("a"), fresh("b"), fresh("c", None, 9)]
    assert [u.name for u in made] == ["u0", "u2", "u3"]
    assert facts.interval(made[2]) == (-float("inf"), 9)


def test_copies_of_facts_make_symbols_of_their_own(facts):
    """One after the other, over the same symbols."""
    n = facts.symbol("n", hint=3)
    made = []
    for copied in (facts.copy(), facts.copy()):
        with use(copied):
            made.append(fresh("a") + n)
    assert str(made) == "[n + u0, n + u1]"


def test_prove_tries_harder_and_records_nothing(facts):
    """As `require` and `decide` do before they refuse or record."""
    u = fresh("mask.sum().item()")
    assert prove(True) is True
    facts.assume(le(u * u - 3 * u, 10))
    assert known(le(u, 5)) is None
    assert prove(le(u, 5)) is True
    assert decide(ge(u, 6)) is False
    assert facts.assertions == []


def test_contradictory_checks_are_refused(facts):
    """While the program is captured, not when it runs."""
    n, u = facts.symbol("n", hint=8, lower=6), fresh("mask.sum().item()")
    require(gt(n * u, 40), "sizes-disagree", left=n * u, right=40)
    require(le(u, 9), "sizes-disagree", left=u, right=9)
    for r in (eq(u, 0), eq(n * u, 40), ge(u, 10)):
        with pytest.raises(MonographError):
            require(r, "sizes-disagree", left=u, right=0)
    assert len(facts.assertions) == 2
