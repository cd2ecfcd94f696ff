"""What functions under `lru_cache` keep: beside eager for three calls, or refused."""

import functools

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError

SCALE = [1.0]


class Bag:
    """It holds what is put into it."""

    def __init__(self, n):
        self.n = n


WAYS = {
    "strict": {"strict": True},
    "plain": {"strict": False},
    "plain alone": {"strict": False, "control_flow": "refuse"},
}


@functools.lru_cache(maxsize=4)
def row(n):
    """A tensor."""
    return torch.arange(float(n))


class OnBothSides(nn.Module):
    """What one side has made is made anew on the other."""

    def forward(self, x):
        if x.sum() > 0:
            return x * row(3)
        return x + row(3)


class InRounds(nn.Module):
    """What a round has made is made anew after the loop."""

    def forward(self, x):
        while x.sum() < 20:
            x = x + row(3)
        return x * row(3)


class MadeOnASide(nn.Module):
    """Of one that forgets what it knows where the side ends."""

    def forward(self, x):
        if x.sum() > 0:

            @functools.lru_cache
            def more(n):
                return n + 1

            return x * more(1) * more(1)
        return x


class FilledOnASide(nn.Module):
    """Whether the call after the sides is remembered, data tell."""

    def forward(self, x):
        calls = []

        @functools.lru_cache
        def noted(n):
            calls.append(n)
            return n

        if x.sum() > 0:
            x = x * noted(2)
        return x * noted(2) + len(calls)


@pytest.mark.parametrize("kind", [OnBothSides, InRounds, MadeOnASide])
@pytest.mark.parametrize("sign", [1, -1])
def test_calls_within_regions(kind, sign):
    """As in eager code, whichever side the example takes."""
    program = monograph.export(kind(), (sign * torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), kind()(x))


@pytest.mark.parametrize("sign", [1, -1])
def test_what_one_side_fills_is_refused(sign):
    """The cache of a function that forward made before."""
    with pytest.raises(MonographError) as refused:
        monograph.export(FilledOnASide(), (sign * torch.ones(3),))
    assert refused.value.diagnostic.name == "branch-side-effect"


@functools.cache
def pair(n):
    """A list."""
    return [float(n), torch.ones(n)]


@functools.cache
def bag(n):
    """An object."""
    return Bag(n)


@functools.cache
def drawn(n):
    """Random numbers, the same ever after."""
    return torch.rand(n)


@functools.cache
def twice(x):
    """By identity."""
    return x * 2


@functools.cache
def numbers(n):
    """An iterator, which is used up."""
    return iter(range(n))


@functools.lru_cache(maxsize=2, typed=True)
def scaled(n, *, k=2):
    """Of a number that changes."""
    return torch.full((k,), SCALE[0] * n)


FUNCTIONS = (row, pair, bag, drawn, twice, numbers, scaled)


def written(x):
    """To what it keeps."""
    a = row(4)
    a += 1
    return x + a


def view_written(x):
    """To a view of it."""
    row(4)[1:].mul_(2)
    return x + row(4)


def turned(x):
    """What it keeps is seen otherwise."""
    return x + row(4).unsqueeze_(0).sum(0)


def appended(x):
    """To a list."""
    pair(4).append(1)
    return x * len(pair(4))


def replaced(x):
    """An item."""
    a = pair(4)
    a[1] = a[1] * 2
    return x + a[1]


def attribute_set(x):
    """An attribute of an object."""
    y = x * (3 if hasattr(bag(1), "k") else 2)
    bag(1).k = 1
    return y


def drawn_once(x):
    """Drawn once for all calls."""
    return x[:, :2] + drawn(2)


def by_an_input(x):
    """The same input may come again, with other values."""
    return twice(x) + 1


def advanced(x):
    """An iterator."""
    return x * next(numbers(4))


def of_numbers(x):
    """It depends on what it is given."""
    return x + row(x.shape[1]) + row(4), pair(4)[0] * x, scaled(1, k=4)


def of_sizes(x):
    """It depends on a size that may vary."""
    return x + row(x.shape[0])[:, None]


def of_what_was_made(x):
    """No other call has that."""
    return twice(x + 1) + 1


class OfAnAttribute(nn.Module):
    """It depends on what forward sets."""

    def __init__(self):
        super().__init__()
        self.n = 0

    @functools.lru_cache  # noqa: B019  as users do
    def row(self):
        """Keep the first."""
        return torch.arange(float(self.n))

    def forward(self, x):
        self.n = x.shape[0]
        return x * self.row().sum()


REFUSED = (
    *(written, view_written, turned, appended, replaced, attribute_set, drawn_once, by_an_input),
    advanced,
)
CAPTURED = (of_numbers, of_sizes, of_what_was_made)


def begin(forward, *, warm):
    """A module; what is kept is of a call before this one, or there is nothing."""
    for each in FUNCTIONS:
        each.cache_clear()
    SCALE[0] = 1.0
    torch.manual_seed(0)
    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    if warm:
        module(torch.ones(3, 4))
    SCALE[0] = 7.0
    return module


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("forward", REFUSED)
def test_what_the_next_call_finds_otherwise_is_refused(forward, way, warm):
    """A program computes anew what the next call finds as this one left it."""
    try:
        program = monograph.export(begin(forward, warm=warm), (torch.ones(3, 4),), **WAYS[way])
    except MonographError as error:
        assert error.diagnostic.name in {"write-outlives-call", "mutated-constant"}  # noqa: PT017
        return
    assert warm, "what is kept of this run is for others"
    run = program.module()
    actual = [run(torch.ones(3, 4) * n) for n in range(3)]
    eager = begin(forward, warm=warm)
    assert all(torch.equal(a, eager(torch.ones(3, 4) * n)) for n, a in enumerate(actual))


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("shapes", [None, "x: n, 4"], ids=["fixed", "varying"])
@pytest.mark.parametrize("way", ["strict", "plain"])
@pytest.mark.parametrize("forward", CAPTURED)
def test_what_every_call_would_keep_is_captured(forward, way, shapes, warm):
    """Made of what the function is given alone; what it kept before the export is taken."""
    if warm and forward is of_sizes and shapes:
        pytest.skip("kept for one size")
    given = (torch.ones(3, 4),)
    program = monograph.export(begin(forward, warm=warm), given, dynamic_shapes=shapes, **WAYS[way])
    run, sizes = program.module(), (3, 5) if shapes and forward is not of_sizes else (3,)
    actual = [run(torch.ones(n, 4)) for n in sizes]
    eager = begin(forward, warm=warm)
    for n, found in zip(sizes, actual, strict=True):
        torch.testing.assert_close(found, eager(torch.ones(n, 4)))


def test_what_depends_on_an_attribute_that_forward_sets_is_refused():
    """The first size stays."""
    with pytest.raises(MonographError) as caught:
        monograph.export(OfAnAttribute(), (torch.ones(3, 4),), dynamic_shapes="x: n, 4")
    assert "what `lru_cache` keeps of `row`" in str(caught.value)


def test_the_caches_of_the_user_are_left_as_they_were():
    """With nothing of the run in them, and all that was there before."""
    for way in WAYS.values():
        module = begin(of_numbers, warm=True)
        kept, n = row(4), row.cache_info().currsize
        monograph.export(module, (torch.ones(3, 4),), **way)
        assert row(4) is kept
        assert row.cache_info().currsize == n
