"""Exceptions carry the user's lines and CPython's contexts, and keep nothing alive longer."""

import contextlib
import gc
import subprocess
import sys
import textwrap
import traceback
import weakref

import pytest

from monograph.bytecode import interpret

INLINED = sys.version_info >= (3, 12)
"""Whether comprehensions have no frames of their own."""


def is_true_without_collections(program):
    """Whether it returns True natively and interpreted, while nobody collects garbage."""
    gc.disable()
    try:
        return program() and interpret(program)
    finally:
        gc.enable()


def raising(n):
    """Raise three frames down."""

    def inner(n):
        return [1 // k for k in range(n)]

    return inner(n)


def test_the_traceback_shows_the_users_lines_and_columns():
    """Files, names, lines and the marked columns are those of a native run."""
    shown = []
    for run in (raising, lambda n: interpret(raising, n)):
        with pytest.raises(ZeroDivisionError) as caught:
            run(2)
        entries = traceback.extract_tb(caught.value.__traceback__)
        shown.append(
            [
                (e.name, e.lineno, e.colno, e.end_colno)
                for e in entries
                if e.name in ("raising", "inner", "<listcomp>")
            ]
        )
    assert shown[0] == shown[1]
    assert len(shown[0]) == (2 if INLINED else 3)


def test_no_frame_of_ours_is_shown():
    """Between the caller and the raising line stands only the user's code."""
    with pytest.raises(ZeroDivisionError) as caught:
        interpret(raising, 2)
    files = {e.filename for e in traceback.extract_tb(caught.value.__traceback__)}
    assert {file for file in files if "bytecode/loop" in file or "opcodes" in file} == set()


def test_what_is_handled_is_known_to_native_code():
    """`sys.exc_info` and implicit contexts are right in interpreted code and in C it calls."""

    def program():
        try:
            raise KeyError("first")  # noqa: TRY301  (handled here on purpose)
        except KeyError:
            kinds = [sys.exc_info()[0]]
            try:
                int("x")
            except ValueError as error:
                kinds.append(type(error.__context__))
            kinds.append(sys.exc_info()[0])
        return [*kinds, sys.exc_info()[0]]

    assert interpret(program) == program() == [KeyError, KeyError, KeyError, None]


def test_handled_exceptions_keep_nothing_alive():
    """When an exception was handled, what its frames held is gone at once."""

    class Thing:
        pass

    def program():
        thing = Thing()
        watched = weakref.ref(thing)

        def fail():
            held = thing  # noqa: F821  (deleted below, after the call)
            raise ValueError(held)

        try:  # noqa: SIM105  (handled by the instructions under test)
            fail()
        except ValueError:
            pass
        del thing
        return watched() is None

    assert is_true_without_collections(program)


def test_a_generator_that_ended_keeps_no_frame_alive():
    """The variables of whoever ran it to its end go with their frame, as natively."""

    class Thing:
        """Something that can be watched."""

    def ran_out():
        thing = Thing()
        (first,) = (thing for _ in range(1))
        return weakref.ref(first)

    def program():
        return ran_out()() is None

    assert is_true_without_collections(program)


def test_dropped_generators_end_quietly():
    """A generator that is dropped at a yield runs its finally, while something else is raised."""
    ended = []

    def program():
        def numbers():
            try:
                yield 1
                yield 2
            finally:
                ended.append("finally")

        def fail():
            generator = numbers()
            next(generator)
            raise LookupError

        try:
            fail()
        except LookupError as error:
            return type(error)

    assert interpret(program) is LookupError
    gc.collect()  # when it is dropped is not promised: a traceback may keep its frame for a while
    assert ended == ["finally"]


def test_profilers_are_not_told_of_frames_that_only_tracebacks_show():
    """CPython crashes if they look at the variables of a generator that never starts."""
    told = []

    def tell(frame, event, argument):
        del argument
        if frame.f_code.co_filename == __file__ and event == "call":
            told.append(frame.f_code.co_name)

    def fails():
        raise LookupError

    profile = sys.getprofile()
    sys.setprofile(tell)
    try:
        with contextlib.suppress(LookupError):
            interpret(fails)
    finally:
        sys.setprofile(profile)
    assert "fails" not in told


def test_the_traceback_shows_the_variables():
    """Debuggers that look at an exception afterwards find what the frames held."""

    def program(limit):
        total = limit * 2
        return [total // k for k in range(limit)]

    with pytest.raises(ZeroDivisionError) as caught:
        interpret(program, 3)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    if INLINED:
        assert frames[-1].f_locals == {"limit": 3, "total": 6, "k": 0}
    else:
        assert frames[-2].f_locals == {"limit": 3, "total": 6}
        assert frames[-1].f_locals["k"] == 0


IN_PYTHON = pytest.param(
    "profile",
    marks=pytest.mark.skipif(
        sys.version_info[:2] == (3, 12),
        reason="`profile`, as it is of Python 3.12, cannot import PyTorch",
    ),
)


@pytest.mark.parametrize("profiler", ["cProfile", IN_PYTHON])
def test_profilers_outlive_exceptions(tmp_path, profiler):
    """A profiler written in C cannot be put aside; it must not be told of frames that never ran."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            from monograph.bytecode import interpret

            def failing(k):
                raise LookupError(k)

            def program():
                for k in range(100):
                    try:
                        failing(k)
                    except LookupError as error:
                        last = error
                return last.__traceback__.tb_next.tb_frame.f_locals

            print(interpret(program))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", profiler, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{'k': 99}")
