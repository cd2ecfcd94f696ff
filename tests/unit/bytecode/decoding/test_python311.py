"""Bytecode of CPython 3.11 becomes canonical instructions that keep their places."""

import contextlib
import sys
from pathlib import Path

import pytest

from monograph.bytecode.decoding import RUNNING, decode
from monograph.bytecode.instructions import CANONICAL, JUMPS

pytestmark = pytest.mark.skipif(RUNNING != (3, 11), reason="reads bytecode of Python 3.11")


def names(function):
    """Give the names of a function's instructions."""
    return [instruction.name for instruction in decode(function.__code__).body]


def test_calls_keep_their_keywords_and_their_null():
    """Keyword names belong to the call, and a global that is called has a NULL below it."""

    def called(f):
        return sorted(f, reverse=True)

    body = decode(called.__code__).body
    assert [i.name for i in body[:2]] == ["PUSH_NULL", "LOAD_GLOBAL"]
    assert body[-2][:2] == ("CALL", (2, ("reverse",)))


def test_jumps_go_to_instructions():
    """Every target is the index of an instruction, also behind a long prefix."""
    source = "def f(x):\n while x:\n" + "  x = x - 1\n" * 300 + " return 7\n"
    scope = {}
    exec(source, scope)
    body = decode(scope["f"].__code__).body
    targets = [i.argument for i in body if i.name in JUMPS]
    assert len(targets) == 2
    assert body[targets[0]].name == "LOAD_CONST"
    assert body[targets[1]].name == "LOAD_FAST"


def test_a_generator_starts_with_an_empty_stack():
    """Nothing of the start of a generator is left to run, and `yield from` knows where it ends."""

    def generator(inner):
        yield 1
        yield from inner

    body = decode(generator.__code__).body
    assert body[0].name == "LOAD_CONST"
    plain, delegating = [i for i in body if i.name == "YIELD_VALUE"]
    assert plain.argument is None
    send = next(i for i in body if i.name == "SEND")
    assert delegating.argument == send.argument


def test_handlers_cover_what_the_table_says():
    """An exception inside `with` finds the manager's exit, one after it finds nothing."""

    def within(manager):
        with manager:
            manager.work()
        return 1

    decoded = decode(within.__code__)
    covered = [h is not None for h in decoded.handlers]
    work = next(n for n, i in enumerate(decoded.body) if i.name == "LOAD_METHOD")
    assert covered[work]
    assert decoded.body[decoded.handlers[work].target].name == "PUSH_EXC_INFO"
    assert not covered[-1]


@pytest.mark.parametrize("module", ["contextlib", "dataclasses", "enum", "functools", "typing"])
def test_the_standard_library_is_canonical(module):
    """Each instruction is canonical and stands where `co_positions` has an entry for it."""
    __import__(module)
    source = Path(sys.modules[module].__file__).read_text(encoding="utf-8")
    todo = [compile(source, module, "exec")]
    while todo:
        code = todo.pop()
        decoded = decode(code)
        n_units = len(list(code.co_positions()))
        assert {i.name for i in decoded.body} <= set(CANONICAL)
        assert all(i.offset // 2 < n_units for i in decoded.body)
        with contextlib.suppress(TypeError):
            todo += [const for const in code.co_consts if isinstance(const, type(code))]
