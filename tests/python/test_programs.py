"""Interpreted programs do what CPython does: values, exceptions, output, order of effects."""

import pytest

from monograph.bytecode import interpret
from tests.python.comparing import differences, natively
from tests.python.observing import observe
from tests.python.pythons import ask, executable
from tests.python.registry import Program, load

PROGRAMS = load()

# What is not yet as CPython has it, on every version. One that agrees must leave this list.
KNOWN: dict[str, str] = {}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_interpreted_is_native(name, request):
    """A program does the same in the interpreter."""
    if name in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[name]))
    assert differences(PROGRAMS[name]) == []


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_interpreted_is_native_elsewhere(version):
    """All programs do the same in the interpreter on the other versions it knows."""
    if executable(version) is None:
        pytest.skip(f"there is no Python {version} here")
    told = ask(version, "programs")
    assert told["count"] >= 590
    wrong = {name: text for name, text in told["different"].items() if name not in KNOWN}
    assert wrong == {}
    assert set(told["different"]) >= set(KNOWN)


def test_there_are_many():
    """The corpus is found by its registry, in full."""
    assert len(PROGRAMS) >= 590


def wrong_value():
    """Give something else each time."""
    SEEN.append(1)
    return len(SEEN)


def wrong_output():
    """Print something else each time."""
    SEEN.append(1)
    print(len(SEEN))  # noqa: T201


def wrong_error():
    """Raise with another argument each time."""
    SEEN.append(1)
    raise ValueError(len(SEEN))


def wrong_identity():
    """Share a list every other time."""
    SEEN.append(1)
    one = []
    return [one, one if len(SEEN) % 2 else []]


def wrong_argument(box):
    """Change an argument every other time."""
    SEEN.append(1)
    box.extend([5] * (len(SEEN) % 2))


SEEN = []


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (wrong_value, ()),
        (wrong_output, ()),
        (wrong_error, ()),
        (wrong_identity, ()),
        (wrong_argument, ([],)),
    ],
)
def test_a_difference_is_seen(function, arguments):
    """What differs between two runs is reported, whatever it is."""
    SEEN.clear()
    assert differences(Program(function.__name__, function, (arguments,)))


def test_lines_are_observed():
    """The line of an exception is part of what is compared."""
    seen = observe(natively, PROGRAMS["exceptions.uncaught"].function, ())
    assert [line.split(":")[0] for line in seen["raised"]["lines"]] == [
        "uncaught",
        "f",
        "f",
        "f",
        "f",
    ]
    again = observe(interpret, PROGRAMS["exceptions.uncaught"].function, ())
    assert again["raised"]["lines"] == seen["raised"]["lines"]
