"""What is logged, where, and when nothing is."""

import logging
import sys

import pytest
import torch

import monograph
from monograph.diagnostics import Frame
from monograph.integers import Facts, eq, ge, le
from monograph.logs import configure_from_environment, listener_for, set_logs

AUTO = monograph.Dim.AUTO


@pytest.fixture(autouse=True)
def _silent_again():
    yield
    set_logs()
    logging.getLogger("monograph").setLevel(logging.NOTSET)


def frames():
    """The two innermost frames here and of the caller, as the recorder locates them."""
    found = []
    frame = sys._getframe()
    for _ in range(2):
        found.append(Frame(frame.f_code, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def told(capsys, here=None):
    """Facts that a few things happened to; what was logged."""
    facts = Facts()
    facts.listener = listener_for(facts)
    s0 = facts.symbol("s0", hint=8, source="x.shape[0]")
    s1 = facts.symbol("s1", hint=4, source="x.shape[1]")
    u0 = facts.symbol("u0", hint=None)
    facts.assume(le(s1, 64), "spec")
    spot = frames() if here is None else here
    facts.locate = lambda: spot
    facts.guard(eq(s0, 2 * s1))
    facts.assert_at_run(ge(u0, 2))
    return capsys.readouterr().err


def test_silence_is_the_default(capsys):
    """Nobody listens, so nothing is made; a root logger at DEBUG is no wish to hear it."""
    assert listener_for(Facts()) is None
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.DEBUG)
    try:
        assert listener_for(Facts()) is None
    finally:
        root.setLevel(before)
    assert told(capsys) == ""


def test_every_line(capsys):
    """One line an event, by input path with the symbol beside it, and the user's line."""
    set_logs(dynamic=True)
    lines = told(capsys).splitlines()
    at = f"  at {__file__}:"
    assert [line.partition("  at ")[0].removeprefix("monograph.dynamic: ") for line in lines] == [
        "symbol x.shape[0] (s0): 8 in the example, in 0 …",
        "symbol x.shape[1] (s1): 4 in the example, in 0 …",
        "symbol u0: unknown, in 0 …",
        "fact x.shape[1] (s1) <= 64",
        "range x.shape[1] (s1): 0 … becomes 0 … 64",
        "guard x.shape[0] (s0) == 2*x.shape[1] (s1)",
        "equal x.shape[0] (s0): 2*x.shape[1] (s1)",
        "range x.shape[0] (s0): 0 … becomes 0 … 128",
        "assertion u0 >= 2",
        "range u0: 0 … becomes 2 …",
    ]
    assert [at in line for line in lines] == [False] * 5 + [True] * 5


def test_levels(capsys):
    """INFO leaves facts and ranges away; above it there is nothing to say."""
    set_logs(dynamic=logging.INFO)
    assert {line.split()[1] for line in told(capsys).splitlines()} == {
        "assertion",
        "equal",
        "guard",
        "symbol",
    }
    set_logs(dynamic=logging.WARNING)
    assert told(capsys) == ""
    set_logs(dynamic=False)
    assert told(capsys) == ""


@pytest.mark.parametrize(
    "guard",
    [
        "s0 == 2*s1",
        "s0==2 * s1",
        "x.shape[0] == 2*x.shape[1]",
        "x.shape[0] (s0) == 2*x.shape[1] (s1)",
        "2*s1 == s0",
        "Eq(s0, 2*s1)",
        "Eq(2*x.shape[1], x.shape[0])",
    ],
)
def test_the_stack_of_one_guard(capsys, guard):
    """Only that guard, with the user's calls, outermost first."""
    set_logs(guard=guard)
    first, *stack = told(capsys).splitlines()
    assert first.startswith("monograph.dynamic: guard x.shape[0] (s0) == 2*x.shape[1] (s1)  at ")
    assert [line.split(" in ")[-1] for line in stack if "File" in line] == ["told", "frames"]
    assert "spot = frames()" in "\n".join(stack)
    set_logs(guard="s0 == 3*s1")
    assert told(capsys) == ""
    set_logs()
    assert capsys.readouterr().err == (
        "monograph.dynamic: no guard is `s0 == 3*s1`; of 3 made, the nearest is `s0==2*s1`\n"
    )


def test_both(capsys):
    """All lines, and the stack at the one."""
    set_logs(dynamic=logging.INFO, guard="s0 == 2*s1")
    shown = told(capsys)
    assert shown.count("monograph.dynamic: ") == 6
    assert shown.count("File") == 2


def test_a_guard_without_a_known_place(capsys):
    """The line alone."""
    set_logs(guard="s0 == 2*s1")
    assert told(capsys, ()).splitlines() == [
        "monograph.dynamic: guard x.shape[0] (s0) == 2*x.shape[1] (s1)"
    ]


def test_the_last_call_counts(capsys):
    """Handlers do not pile up."""
    set_logs(dynamic=True)
    set_logs(dynamic=True)
    assert told(capsys).count("assertion u0 >= 2") == 1
    assert logging.getLogger("monograph.dynamic").propagate is False
    set_logs()
    assert logging.getLogger("monograph.dynamic").propagate is True


def test_standard_configuration_works_too(capsys, caplog):
    """A level on the logger, or on its parent, is enough."""
    with caplog.at_level(logging.INFO, "monograph"):
        assert told(capsys) == ""
    assert "guard x.shape[0] (s0) == 2*x.shape[1] (s1)" in caplog.messages[3]


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("", 0),
        ("dynamic", 6),
        ("+dynamic", 10),
        ("-dynamic", 0),
        ("export, +dynamic", 10),
        ("symbol:s0", 1),
        ('symbol:"x.shape[1]"', 1),
        ('guard:"Eq(s0, 2*s1)"', 1),
        ("guard:Eq(s0, 2*s1)", 1),
        ("guard:Eq(s0, (2*(s1))),export", 0),
        ("symbol:s0,guard:Eq(2*s1, s0),+export", 2),
        ("all", 6),
        ("+all", 10),
        ("+dynamic,-all", 0),
        ("+dynamic,", 10),
        ('guard:"s0 == 2*s1"', 1),
        ("guard:s0 == 2*s1", 1),
        ('+dynamic, guard:"min(s0, s1) == 4"', 10),
        ('guard:"min(s0, s1) == 4",dynamic', 6),
    ],
)
def test_the_environment(capsys, value, lines):
    """The same choices by name, separated by commas."""
    configure_from_environment({"MONOGRAPH_LOGS": value})
    assert told(capsys).count("monograph.dynamic: ") == lines
    set_logs()
    capsys.readouterr()
    configure_from_environment({})
    assert told(capsys) == ""


@pytest.mark.parametrize(
    "value",
    ["dynamik", "*dynamic", "+guard:a", "symbol", "dynamic:3", "guard", '"', "dynamic;guard", "("],
)
def test_an_unknown_name_is_warned_about(capsys, value):
    """Nothing is logged, nothing breaks; what is known of others is done."""
    with pytest.warns(UserWarning, match="it may name `dynamic`") as said:
        configure_from_environment({"MONOGRAPH_LOGS": value})
    assert repr(value.partition(";")[0])[1:-1] in str(said[0].message)
    assert told(capsys) == ""
    with pytest.warns(UserWarning, match="it may name `dynamic`"):
        configure_from_environment({"MONOGRAPH_LOGS": f"+dynamic,{value}"})
    assert told(capsys).count("monograph.dynamic: ") == 10


def test_a_filter_is_told_that_nothing_was_made(capsys):
    """Where a program has no guard at all."""
    set_logs(guard="s0 == s1", symbol="s0")
    set_logs()
    assert capsys.readouterr().err == (
        "monograph.dynamic: no guard is `s0 == s1`; none was made\n"
        "monograph.dynamic: no symbol is `s0`; none was made\n"
    )


def test_the_stack_of_one_symbol(capsys):
    """A filter that found its symbol says nothing more; one that did not says which there are."""
    set_logs(symbol="s1")
    (line,) = told(capsys).splitlines()
    assert line.startswith("monograph.dynamic: symbol x.shape[1] (s1): 4 in the example")
    set_logs(symbol="s7")
    assert told(capsys) == ""
    set_logs()
    assert "no symbol is `s7`; of 3 made, the nearest is" in capsys.readouterr().err


class Sum(torch.nn.Module):
    """Needs equal sizes."""

    def forward(self, x, y):
        if x.shape[0] > 2:
            return x + y
        return x


def test_the_operator_that_asked_is_named(capsys):
    """User code has none."""
    set_logs(dynamic=logging.INFO)
    monograph.export(Sum(), (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: AUTO}, {0: AUTO}))
    guards = [line for line in capsys.readouterr().err.splitlines() if ": guard " in line]
    assert any("  for aten.add.Tensor  at " in line for line in guards)
    assert any("  for " not in line for line in guards)


def test_programs_and_their_operators(capsys):
    """One line a program; each operator with its line where that is asked."""
    example = (torch.ones(3), torch.ones(3))
    set_logs(export=logging.INFO)
    monograph.export(Sum(), example)
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "monograph.export: Sum: 1 operators, 0 guards (strict)"
    set_logs(export=True)
    monograph.export(Sum(), example)
    _, *lines = capsys.readouterr().err.splitlines()
    assert any("torch.ops.aten.add.Tensor" in line and "test_logs.py:" in line for line in lines)


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_refused_exports(capsys, level):
    """One line, by name; where operators are listed the whole message, with the user's line."""

    class Identity(torch.nn.Module):
        def forward(self, x):
            return x + id(x)

    monograph.set_logs(export=level)
    with pytest.raises(monograph.MonographError):
        monograph.export(Identity(), (torch.ones(2),))
    first, *rest = capsys.readouterr().err.splitlines()
    assert "Identity: not exported: UnsupportedError: error[outside-read]" in first
    assert bool(rest) == (level == logging.DEBUG)
