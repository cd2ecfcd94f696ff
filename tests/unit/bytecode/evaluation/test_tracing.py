"""What is interpreted tells trace functions what CPython would tell them."""

import sys
import warnings
from types import FrameType, SimpleNamespace

import pytest

from monograph.bytecode import hidden_from_tracers, interpret
from monograph.bytecode.evaluation import tracing


def helper(k):
    """Return, or raise."""
    if k == 2:
        raise ValueError
    return k


def numbers(n):
    """Yield, line by line."""
    for k in range(n):
        yield k * 1


def fails():
    """Raise over several lines, through a `finally`."""
    try:
        raise KeyError(
            "x"
        )  # fmt: skip
    finally:
        last = 1  # noqa: F841  (a line)


def program(n):
    """Do a bit of everything."""
    total = 0
    for k in range(n):
        try:
            if k == 1:
                continue
            total += helper(k)
        except ValueError:
            pass
        finally:
            total += 1
    while True:
        total += sum(numbers(2))
        if total > 12:
            break
    try:
        fails()
    except KeyError:
        total += 1
    return [
        total + k
        for k in range(2)
    ]  # fmt: skip


def recorded(run):
    """The events of this file's functions while something runs, with lines, callers, variables."""
    told = []

    def tracer(frame, event, argument):
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name == "<lambda>":
            return None
        back = frame.f_back.f_code.co_name
        if event == "exception":
            argument = argument[0]
        # When a call begins, variables of enclosing functions may be there or not.
        variables = {**frame.f_locals, ".0": None} if event != "call" else None
        told.append((event, frame.f_lineno, frame.f_code.co_name, back, argument, variables))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        run()
        still = sys.gettrace()
    finally:
        sys.settrace(before)
    assert still is tracer
    return told


def test_events_are_those_of_a_native_run():
    """Calls, lines, exceptions and returns, with their lines, variables and callers."""
    native, told = recorded(lambda: program(3)), recorded(lambda: interpret(program, 3))
    assert len(told) > 100
    assert told == native


def test_nothing_of_the_interpreter_is_told():
    """While code is interpreted, no frame of this package is shown, nor is any a caller."""
    files = set()

    def tracer(frame, event, argument):
        del event, argument
        files.add(frame.f_code.co_filename)
        while frame is not None:
            files.add(frame.f_code.co_filename)
            frame = frame.f_back
        return tracer

    with hidden_from_tracers():
        tracing.set_trace_function(tracer)
        interpret(program, 2)
        tracing.set_trace_function(None)
    assert __file__ in files
    assert {file for file in files if "monograph/bytecode" in file} == set()


def test_steps_are_as_they_were_afterwards():
    """Who is traced no longer pays for it no longer."""
    recorded(lambda: interpret(program, 2))
    assert tracing.TRACED.count == 0
    assert tracing._INSTRUMENTED == {}


def test_what_a_trace_function_raises_ends_the_program_and_the_tracing():
    """As in CPython: it is raised at the line, and nobody is traced from there on."""

    def tracer(frame, event, argument):
        del argument
        if frame.f_code.co_name == "helper" and event == "line":
            raise OSError
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with pytest.raises(OSError):
            interpret(program, 3)
        assert sys.gettrace() is None
    finally:
        sys.settrace(before)


def test_a_trace_function_changes_variables():
    """What it writes to `f_locals`, the program finds, in cells too."""

    def doubled(n):
        shared = n

        def inner():
            return shared

        n = n + 0
        return n, inner()

    def tracer(frame, event, argument):
        del argument
        if event == "line" and frame.f_code.co_name == "doubled" and "inner" in frame.f_locals:
            frame.f_locals.update(n=10, shared=20)
            return None
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert interpret(doubled, 1) == (10, 20)
    finally:
        sys.settrace(before)


def test_the_program_traces_itself():
    """`sys.settrace` in interpreted code holds from the next call on."""
    seen = []

    def traced():
        def tracer(frame, event, argument):
            del argument
            seen.append((event, frame.f_code.co_name))
            return tracer

        sys.settrace(tracer)
        same = sys.gettrace() is tracer
        helper(1)
        sys.settrace(None)
        helper(1)
        return same

    assert interpret(traced)
    assert [each for each in seen if each[0] in ("call", "return")] == [
        ("call", "helper"),
        ("return", "helper"),
    ]


def test_tools_in_c_are_given_native_frames():
    """A trace function that takes CPython's frames alone hears of the lines all the same."""
    lines = []

    class OfC:
        """As coverage.py's tracer in C."""

        def note(self, frame, event, argument):
            del argument
            lines.append((event, frame.f_lineno, frame.f_code.co_filename))
            assert type(frame) is FrameType

    note = OfC().note

    def tracer(frame, event, argument):
        note(frame, event, argument)
        return tracer

    told = recorded(lambda: interpret(helper, 1))
    expected = [each[:2] for each in told]
    tracing._NATIVE_FRAMES_ONLY.add(type(tracer))
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        interpret(helper, 1)
    finally:
        sys.settrace(before)
        tracing._NATIVE_FRAMES_ONLY.discard(type(tracer))
    assert [(event, line) for event, line, file in lines if file == __file__][-4:] == expected


def test_who_cannot_be_told_is_told_why_once(monkeypatch):
    """Tools that hear of native code alone see no line, and people learn that in one sentence."""
    names = {0: None, 1: "coverage"}
    fake = SimpleNamespace(DEBUGGER_ID=0, COVERAGE_ID=1, get_tool=names.get)
    monkeypatch.setattr(tracing, "_MONITORING", fake)
    monkeypatch.setattr(tracing, "_WARNED", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            with hidden_from_tracers():
                pass
    assert len(caught) == 1
    assert "coverage sees no lines" in str(caught[0].message)
