"""CPython's own tests, with every test method interpreted.

`unittest` runs them as always; only the call of a test method goes through the interpreter, so
what the method calls is interpreted as well. A test that fails is tried natively afterwards: one
that fails there too says nothing about us. Doctests are left out, since they compare text.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import signal
import sys
import unittest
import warnings
from typing import TYPE_CHECKING, Any

from monograph.bytecode import Hooks, Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["run"]

SECONDS = 30


class TooLongError(BaseException):
    """A test that takes too long; no test catches it."""


class InterpretedResult(unittest.TestResult):
    """What came out, by the name of the test."""

    def __init__(self) -> None:
        """Start with nothing."""
        super().__init__()
        self.reasons: dict[str, str] = {}
        self.ran: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Give the test its time."""
        super().startTest(test)
        self.ran.append(name_of(test))
        signal.alarm(SECONDS)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Stop the clock."""
        signal.alarm(0)
        super().stopTest(test)

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Remember an error."""
        super().addError(test, err)
        self.fail(test, err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        """Remember a failure."""
        super().addFailure(test, err)
        self.fail(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:  # noqa: N802
        """Remember a failing part under its test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.fail(test, err)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """Remember a success that CPython does not have."""
        super().addUnexpectedSuccess(test)
        self.reasons[name_of(test)] = "unexpected success"

    def fail(self, test: unittest.TestCase, err: Any) -> None:
        """Keep the first reason."""
        text = f"{err[0].__name__}: {str(err[1])[:300]}"
        self.reasons.setdefault(name_of(test), text)


def name_of(test: unittest.TestCase) -> str:
    """Name a test within its module: `Class.method`."""
    return ".".join(test.id().split(".")[-2:])


def cases(suite: Any) -> Iterator[unittest.TestCase]:
    """Give the tests of a suite, without doctests."""
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from cases(one)
        elif not isinstance(one, doctest.DocTestCase):
            yield one


class Counting(Hooks):
    """Counts the functions that are interpreted, so that nobody mistakes native for interpreted."""

    entered = 0

    def enters(self, function: Any) -> bool:
        """Interpret everything."""
        del function
        Counting.entered += 1
        return True


def interpreted(case: unittest.TestCase, method: Callable[[], Any]) -> None:
    """Call a test method as `unittest` does, but interpreted."""
    del case
    if Interpreter(Counting()).call(method) is not None:
        warnings.warn("a test returned something", DeprecationWarning, stacklevel=2)


def too_long(*_: object) -> None:
    """End a test."""
    raise TooLongError


def suite_of(module: Any, keep: Callable[[str], bool]) -> unittest.TestSuite:
    """Load the tests of a module anew."""
    found = unittest.defaultTestLoader.loadTestsFromModule(module)
    return unittest.TestSuite(case for case in cases(found) if keep(name_of(case)))


def run(name: str, *excluded: str) -> dict[str, Any]:
    """Run `test.<name>` interpreted, without the tests that are excluded."""
    module = importlib.import_module(f"test.{name}")
    signal.signal(signal.SIGALRM, too_long)
    result = InterpretedResult()
    native = InterpretedResult()
    call = unittest.TestCase._callTestMethod
    quiet = (contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()))
    with quiet[0], quiet[1]:
        unittest.TestCase._callTestMethod = interpreted
        suite_of(module, lambda one: one not in excluded).run(result)
        unittest.TestCase._callTestMethod = call
        suite_of(module, result.reasons.__contains__).run(native)
    return {
        "python": list(sys.version_info[:2]),
        "entered": Counting.entered,
        "ran": len(result.ran),
        "skipped": len(result.skipped),
        "failed": {k: v for k, v in result.reasons.items() if k not in native.reasons},
        "failed natively": sorted(native.reasons),
    }
