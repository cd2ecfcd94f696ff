"""What a listener is told."""

import pytest

from monograph.integers import (
    INFINITY,
    Contradiction,
    Facts,
    Interval,
    Narrowed,
    Replaced,
    Stated,
    SymbolMade,
    eq,
    fresh,
    ge,
    lt,
    require,
    use,
)


def listened():
    """Facts with a list of all that happens to them."""
    facts, events = Facts(), []
    facts.locate = lambda: "model.py:3"
    facts.listener = events.append
    return facts, events


def test_nobody_listens_at_first():
    """Silence is the default."""
    assert Facts().listener is None


def test_symbols_are_announced():
    """With hint, source, range and place; unbacked ones too."""
    facts, events = listened()
    n = facts.symbol("n", hint=3, lower=1, source="x.shape[0]")
    with use(facts):
        u = fresh("mask.sum().item()", 0, 9)
    assert events == [
        SymbolMade(n, 3, "x.shape[0]", Interval(1, INFINITY), "model.py:3"),
        SymbolMade(u, None, "mask.sum().item()", Interval(0, 9), "model.py:3"),
    ]


def test_a_statement_comes_before_its_consequences():
    """The relation, then replacements, then ranges."""
    facts, events = listened()
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=6)
    events.clear()
    facts.guard(ge(n, 2))
    assert events == [
        Stated(ge(n, 2), "guard", "model.py:3"),
        Narrowed(n, Interval(0, INFINITY), Interval(2, INFINITY), "model.py:3"),
    ]
    events.clear()
    facts.assume(eq(m, 2 * n), "spec")
    assert events == [
        Stated(eq(m, 2 * n), "fact", "spec"),
        Replaced(m, 2 * n, "spec"),
        Narrowed(m, Interval(0, INFINITY), Interval(4, INFINITY), "spec"),
    ]


def test_assertions_and_contradictions():
    """What contradicts is still told; a bool is not."""
    facts, events = listened()
    with use(facts):
        u = fresh("count", 0, None)
        events.clear()
        require(ge(u, 2), "sizes-disagree", left=u, right=2)
    assert [type(event) for event in events] == [Stated, Narrowed]
    assert events[0].standing == "assertion"
    events.clear()
    facts.assume(True)
    with pytest.raises(Contradiction):
        facts.assume(lt(u, 1))
    assert events == [Stated(lt(u, 1), "fact", None)]


def test_listening_changes_nothing():
    """The same facts either way."""
    loud, _ = listened()
    results = []
    for facts in (loud, Facts()):
        n, m = facts.symbol("n", hint=4), facts.symbol("m", hint=4)
        facts.guard(eq(n, m))
        facts.guard(ge(n, 3))
        results.append((str(facts.replacements), facts.interval(m), str(facts.guards[0].relation)))
    assert results[0] == results[1]
