"""Which handlers drop an exception."""

import dis

import pytest

from monograph.bytecode.analysis.exception_handlers import is_tried


def ends(x):
    """Raises again."""
    try:
        x.asked()
    finally:
        x.other()


def returns(x):
    """Drops it."""
    try:
        x.asked()
    finally:
        return 3  # noqa: B012


def goes_on(x):
    """Drops it, in a loop."""
    for _ in range(3):
        try:
            x.asked()
        finally:
            continue  # noqa: B012


def catches(x):
    """Drops one kind."""
    try:
        x.asked()
    except TypeError:
        return 2


def raises_another(x):
    """Hands it on as another."""
    try:
        x.asked()
    except TypeError as error:
        raise ValueError from error


def raises_again_sometimes(x):
    """Drops it in one case."""
    try:
        x.asked()
    except TypeError:
        if x:
            raise
    return 2


def goes_on_after_another(x):
    """What is raised within is dropped, and so is the first."""
    try:
        x.asked()
    except TypeError:
        try:
            raise ValueError  # noqa: TRY301 - what nothing goes on after
        except ValueError:
            x.other()


def raises_after_another(x):
    """What is raised within is dropped, and the first raised again."""
    try:
        x.asked()
    except TypeError:
        try:
            x.other()
        except ValueError:
            x.other()
        raise


def ends_within_a_catch(x):
    """Raises again, to a handler."""
    try:
        try:
            x.asked()
        finally:
            x.other()
    except TypeError:
        return 3


def asks_in_a_handler(x):
    """Nothing is around the handler."""
    try:
        x.other()
    except TypeError:
        x.asked()


def in_a_context(x):
    """What `__exit__` says is not looked at."""
    with x:
        x.asked()


@pytest.mark.parametrize(
    ("function", "caught"),
    [
        (ends, False),
        (returns, True),
        (goes_on, True),
        (catches, True),
        (raises_another, False),
        (raises_again_sometimes, True),
        (goes_on_after_another, True),
        (raises_after_another, False),
        (ends_within_a_catch, True),
        (asks_in_a_handler, False),
        (in_a_context, False),
    ],
)
def test_a_handler_catches_if_a_way_through_it_drops_the_exception(function, caught):
    """Others hand it on to those around them."""
    at = next(each.offset for each in dis.get_instructions(function) if each.argval == "asked")
    assert is_tried(function.__code__, at) is caught
