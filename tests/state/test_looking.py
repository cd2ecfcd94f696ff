"""Digests of outside objects: to read what an object holds runs no code of its class."""

import pytest
import torch

import monograph

RAN: list[str] = []


class HalfMade:
    """`__init__` has not run: whoever asks for an attribute asks for ever."""

    __slots__ = ("targets",)

    def __getattr__(self, name):
        return self.targets[name]


class Lazy:
    """Becomes another class as soon as somebody asks for its class, as lazy objects do."""

    @property
    def __class__(self):
        RAN.append("__class__")
        return dict


class Watchful:
    """Counts what it is asked for."""

    def __init__(self):
        self.total = 2.0

    def __getattribute__(self, name):
        RAN.append(name)
        return object.__getattribute__(self, name)


class Slotted:
    """Has a place for what `__getattr__` makes."""

    __slots__ = ("made",)

    def __getattr__(self, name):
        RAN.append(name)
        raise RuntimeError(name)


class Held(torch.nn.Module):
    """Gives objects to a function of the user's."""

    def __init__(self, *objects):
        super().__init__()
        self.objects = list(objects)

    def forward(self, x):
        """As many as there are objects."""
        return x + counted(*self.objects)


def counted(first, *others):
    """How many objects there are."""
    return 1 + len(others)


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("kind", [HalfMade, Lazy, Watchful, Slotted])
def test_looking_runs_no_code(kind, strict):
    """The program is right, and no method of the class was called for it."""
    module = Held(kind(), [kind()], {"a": kind()})
    RAN.clear()
    program = monograph.export(module, (torch.ones(2),), strict=strict)
    assert RAN == []
    assert torch.equal(program.module()(torch.zeros(2)), torch.full((2,), 3.0))


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize(
    "show",
    [repr, str, format, lambda t: torch.Tensor.__repr__(t), lambda t: f"{t:}", lambda t: f"{t}"],
    ids=["repr", "str", "format", "unbound", "formatted", "in a text"],
)
@pytest.mark.parametrize("of", ["input", "parameter", "held"])
def test_a_text_refused_leaves_gradients_on(show, of, strict):
    """Also while somebody keeps the error, and its traceback."""

    class Shown(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))
            self.held = [self.weight]

        def forward(self, x):
            shown = show({"input": x, "parameter": self.weight, "held": self.held[0]}[of])
            return x * len(shown)

    with pytest.raises(monograph.MonographError) as kept:
        monograph.export(Shown(), (torch.ones(2),), strict=strict)
    assert kept.value.diagnostic.name == "value-read"
    assert (torch.ones(2, requires_grad=True) * 2).requires_grad
