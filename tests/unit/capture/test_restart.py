"""Recording again, for a reason."""

import pytest

from monograph.capture.restart import Restart, restarted


def test_it_records_until_nothing_asks_again():
    """Each restart is prepared for, and the last recording is the result."""
    carried = []

    def record():
        if len(carried) < 2:
            raise Restart("carry", len(carried))
        return carried

    def prepare(restart):
        carried.append(restart.cause)
        return restart.reason == "carry"

    assert restarted(record, prepare) == [0, 1]


def test_who_records_around_takes_what_is_none_of_its_business():
    """A reason that nobody prepares for goes on outwards."""

    def record():
        raise Restart("copy")

    with pytest.raises(Restart, match="copy"):
        restarted(record, lambda restart: restart.reason == "carry")


def test_user_code_does_not_catch_it():
    """`except Exception` lets it pass."""
    assert not issubclass(Restart, Exception)
