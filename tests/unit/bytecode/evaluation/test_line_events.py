"""Line events: instructions of one line, jumps backwards, and what the decoder drops."""

from monograph.bytecode.evaluation.line_events import Lines
from monograph.bytecode.linking import link


def counted(n):
    """Count down."""
    while n:
        try:
            n -= 1
        finally:
            pass
    return n


def test_a_call_begins_with_its_first_line():
    """The line of `def` is told by the call."""
    code = counted.__code__
    lines = Lines(code, link(code))
    assert list(lines.between(-1, 0)) == [code.co_firstlineno + 2]


def test_lines_without_instructions_are_told():
    """`try` and `pass` do nothing, and are lines."""
    code = counted.__code__
    body = link(code)
    lines = Lines(code, body)
    begun = [
        line - code.co_firstlineno
        for index in range(1, len(body.names))
        for line in lines.between(index - 1, index)
    ]
    assert {3, 4, 6, 7} <= set(begun)
