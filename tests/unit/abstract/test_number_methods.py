"""Every method of Python's numbers is in the table of symbolic ones, and does what it says."""

import copy

import pytest
import torch
from torch import nn

import monograph
from monograph.abstract.number_methods import STANDS_FOR, kind_of
from monograph.abstract.symbols import to_sym
from monograph.integers import Facts, ge, relation_text, use

PAIRS = [(owner, name) for owner, number in STANDS_FOR.items() for name in dir(number)]


@pytest.fixture(name="facts")
def in_force():
    """Facts that questions are put to."""
    with use(Facts()) as facts:
        yield facts


@pytest.mark.parametrize(("owner", "name"), PAIRS, ids=lambda each: getattr(each, "__name__", each))
def test_each_method_of_a_number_is_in_the_table(owner, name):
    """What a later Python adds to its numbers is missed here first."""
    assert kind_of(name) is not None, f"nobody says what {name} of a {owner.__name__} is"


@pytest.mark.parametrize(
    ("owner", "name"),
    [pair for pair in PAIRS if kind_of(pair[1]) in {"exact", "fixed"}],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_what_the_table_answers_is_there(owner, name):
    """The class has it, and none has what the number that it stands for has not."""
    assert name in vars(owner)
    assert not hasattr(torch.SymFloat, "__and__")
    assert not hasattr(torch.SymInt, "hex")


def test_exact_methods_guard_nothing(facts):
    """They make expressions of the same symbols."""
    n = to_sym(facts.symbol("n", hint=5))
    made = [n ^ 3, 9 & n, ~n, divmod(n, 3), pow(n, 2, 7), n.real, n.conjugate(), round(n), n << 2]
    assert [str(each.node) for each in made if isinstance(each, torch.SymInt)] != []
    assert facts.guards == []


def test_fixed_methods_guard_the_value(facts):
    """They answer for one number."""
    n = to_sym(facts.symbol("n", hint=5))
    assert (n.bit_length(), f"{n:03d}", 2**n, n.to_bytes(1, "big")) == (3, "005", 32, b"\x05")
    assert [relation_text(guard.relation) for guard in facts.guards] == ["n == 5"]


def test_a_divisor_is_not_zero(facts):
    """Eager code would raise, also where nobody needs the quotient."""
    n = to_sym(facts.symbol("n", hint=5, lower=0))
    _ = 7 // n
    assert [relation_text(guard.relation) for guard in facts.guards] == ["n != 0"]
    with pytest.raises(ZeroDivisionError, match="by zero"):
        _ = 7 % (n - 5)


def test_truths_are_numbers(facts):
    """`&` and `^` of truths are truths; beside a number they are numbers."""
    n = facts.symbol("n", hint=5)
    truth = to_sym(ge(n, 3))
    assert isinstance(truth ^ to_sym(ge(n, 4)), torch.SymBool)
    assert (truth & 6, ~truth, truth + truth) == (0, -2, 2)


def test_copies_are_about_the_same_number(facts):
    """A copy fixes nothing."""
    n = to_sym(facts.symbol("n", hint=5))
    assert copy.deepcopy([n])[0].node is n.node
    assert copy.copy(n).node is n.node
    assert facts.guards == []


def test_numbers_of_torchs_own_are_as_before():
    """They have nothing of ours: what torch does not define is not defined."""
    from torch.fx.experimental.sym_node import DynamicInt  # noqa: PLC0415 - a peer's

    five = DynamicInt(5)
    assert (five ^ 3, divmod(five, 3), five.real, five.bit_length()) == (6, (1, 2), 5, 3)


class Owned(int):
    """A number whose own methods come first where it stands at the right of a plain one."""

    def __radd__(self, other):
        return 100

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return 7

    def __rdivmod__(self, other):
        return 4, 5

    def __rmul__(self, other):
        return NotImplemented

    __hash__ = int.__hash__


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize(
    "asked",
    [
        lambda n: n + Owned(1),
        lambda n: 2 if n == Owned(99) else 3,
        lambda n: n > Owned(1),
        lambda n: divmod(n, Owned(2))[0],
        lambda n: n * Owned(3),
        lambda n: n - Owned(3),
    ],
    ids=["add", "eq", "gt", "divmod", "not implemented", "sub"],
)
def test_numbers_of_a_users_class_are_asked_first(asked, strict):
    """As Python asks the right side first, whose class is a subclass of the left one's."""

    class Asks(nn.Module):
        def forward(self, x):
            return x * asked(x.shape[0])

    shapes = ({0: monograph.Dim.AUTO},)
    program = monograph.export(Asks(), (torch.ones(4),), dynamic_shapes=shapes, strict=strict)
    for n in (2, 4, 5):
        assert torch.equal(program.module()(torch.ones(n)), Asks()(torch.ones(n)))
