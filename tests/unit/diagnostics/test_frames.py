"""Frames: what is kept of a stack, and where a frame is in the source."""

from __future__ import annotations

import contextlib
import functools
import json
import linecache
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
import torch

from monograph.diagnostics import Frame, FrameFilter, Place, frames, place, user_frames

HERE = Path(__file__).name


def compiled(source: str, name: str, **names: object):
    """Compile source whose lines linecache knows, and return one of its functions."""
    file = f"<{name} of a test>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names[name]


def names(frames: tuple[Frame, ...]) -> list[str]:
    """Return the functions of frames."""
    return [frame.code.co_name for frame in frames]


class Probe(torch.nn.Module):
    def __init__(self, look):
        super().__init__()
        self.look = look

    def forward(self, x):
        return self.look()


class Outer(torch.nn.Module):
    def __init__(self, look):
        super().__init__()
        self.layers = torch.nn.Sequential(Probe(look))

    def forward(self, x):
        return self.layers(x)


def captured(look):
    """Run a nested module whose innermost forward looks at the stack."""
    return Outer(look)(None)


def test_walk_keeps_library_frames_and_drops_machinery() -> None:
    """A stack keeps `Sequential.forward`, and loses `Module.__call__`."""
    found = captured(lambda: FrameFilter().walk(sys._getframe(1), captured.__code__))
    assert names(found) == ["forward", "forward", "forward"]
    files = [Path(frame.code.co_filename).name for frame in found]
    assert files == [HERE, "container.py", HERE]


def test_a_second_walk_finds_equal_frames() -> None:
    """What is remembered of code gives the frames that a first look gave."""
    known = FrameFilter()
    walks = []

    def walk(_):
        walks.append(known.walk(sys._getframe(), None)[1:])
        return ""

    for _ in range(2):
        json.dumps(object(), default=walk)
    first, second = walks
    assert first == second
    assert any(known.is_library(frame.code.co_filename) for frame in first)


def test_user_frames_of_a_capture_end_where_it_was_called() -> None:
    """With `stop`, library frames go and the user's stay, innermost first."""
    found = captured(lambda: user_frames(sys._getframe(1), captured.__code__))
    assert names(found) == ["forward", "forward"]
    assert [place(frame).function for frame in found] == ["Probe.forward", "Outer.forward"]


def test_user_frames_elsewhere_are_the_calling_line() -> None:
    """Outside a capture what called the caller is its own business."""
    assert names(user_frames()) == ["test_user_frames_elsewhere_are_the_calling_line"]


def test_user_frames_stop_at_our_own() -> None:
    """The frames between an operation and the capture around it are the user's part."""
    ours = str(Path(sys.modules["monograph.diagnostics"].__file__).parent / "capture.py")
    scope: dict[str, object] = {}
    exec(compile("def capture(model): return model()", ours, "exec"), scope)

    def helper():
        return user_frames()

    def model():
        return helper()

    assert names(scope["capture"](model)) == ["helper", "model"]


def test_machinery_and_library() -> None:
    """Files are told apart by folder: torch, the standard library, ours, and everything else."""
    known = FrameFilter()
    machinery = [
        torch.nn.modules.module.__file__,
        torch._ops.__file__,
        torch.utils._pytree.__file__,
        torch.fx.graph.__file__,
        contextlib.__file__,
        functools.__file__,
        sys.modules["monograph.diagnostics"].__file__,
        "<frozen importlib._bootstrap>",
    ]
    library = [torch.nn.functional.__file__, torch.nn.modules.linear.__file__, traceback.__file__]
    user = [__file__, "model.py", "<string>", "<stdin>", "<eval_with_key>.3"]
    packages = [str(Path(torch.__file__).parent.parent / "transformers" / "model.py")]
    assert all(known.is_machinery(file) and known.is_library(file) for file in machinery)
    assert all(known.is_library(file) and not known.is_machinery(file) for file in library)
    assert not any(known.is_library(file) for file in [*user, *packages])


def test_innermost_user_skips_the_library() -> None:
    """Messages point at files users can edit."""
    known = FrameFilter()
    found = captured(lambda: known.walk(sys._getframe(1), captured.__code__))
    assert names(known.innermost_user(found)) == ["forward", "forward"]


def test_stack_text_is_a_traceback() -> None:
    """The text is what `traceback` prints, outermost first, without carets."""
    known = FrameFilter()
    found, stack = captured(
        lambda: (known.walk(sys._getframe(1)), traceback.extract_stack(sys._getframe(1)))
    )
    kept = [(s.filename, s.lineno, s.name, s.line) for s in stack]
    kept = [entry for entry in kept if not known.is_machinery(entry[0])]
    expected = "".join(traceback.StackSummary.from_list(kept).format())
    assert known.stack_text(found) == expected
    assert known.stack_text(found) == expected


def test_stack_text_without_source() -> None:
    """Code without source is named by its place alone."""
    scope: dict[str, object] = {}
    exec(compile("def f():\n    return g()\n", "gone.py", "exec"), scope)
    frame = FrameFilter().frame(scope["f"].__code__, 2)
    assert FrameFilter().stack_text([frame]) == '  File "gone.py", line 2, in f\n'


def test_frame_of_interpreted_code() -> None:
    """A frame can be made of code that no Python frame runs; lines are as Python counts them."""
    f = compiled("def f(x):\n    y = x\n\n    return y\n", "f")
    known = FrameFilter()
    offsets = {line: start for start, _, line in f.__code__.co_lines()}
    assert [known.frame(f.__code__, offsets[line]).line for line in (1, 2, 4)] == [1, 2, 4]
    assert known.frame(f.__code__, offsets[2]) == known.frame(f.__code__, offsets[2])
    assert known.frame(f.__code__, -1).line == 1
    machinery = contextlib.contextmanager.__code__
    assert known.frame(machinery, 0).code is machinery


def test_place_is_the_shortest_span() -> None:
    """The span is the expression that runs, not its statement."""
    f = compiled("def f(look, x):\n    return (x + look()) * 2\n", "f")
    inner = f(lambda: user_frames(sys._getframe(1), captured.__code__)[:1], ())[0]
    assert text_of(inner) == "look()"
    assert place(inner).file == "<f of a test>"


def text_of(frame: Frame) -> str:
    """Return the source a place spans, on one line."""
    found = place(frame)
    line = linecache.getline(found.file, found.line)
    return line[found.column : found.end_column] if found.end_line == found.line else ""


def test_place_counts_characters() -> None:
    """Code objects count columns in bytes; places count characters."""
    f = compiled('def f(look):\n    return "größe", look()\n', "f")
    _, (inner, *_) = f(lambda: user_frames(sys._getframe(1), captured.__code__))
    assert text_of(inner) == "look()"


def test_place_of_a_place_is_itself() -> None:
    """Places read from a file are resolved already."""
    here = Place("model.py", 3, 3, 0, 4, "f")
    assert place(here) is here


def test_place_without_columns() -> None:
    """Where Python kept no columns, or none for that line, the line alone is known."""
    f = compiled("def f(x):\n    return x\n", "f")
    bare = f.__code__.replace(co_linetable=b"")
    assert place(Frame(bare, 4, 2)).column is None
    assert place(Frame(f.__code__, 10**6, 2)).column is None


def test_diagnostics_import_no_torch() -> None:
    """Importing the folder leaves torch out."""
    source = "import sys, monograph.diagnostics; sys.exit('torch' in sys.modules)"
    package = str(Path(sys.modules["monograph.diagnostics"].__file__).parents[1])
    script = f"import sys, types; m = types.ModuleType('monograph'); m.__path__ = [{package!r}]; "
    script += f"sys.modules['monograph'] = m; {source}"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_is_known_of_frames_is_shared_until_it_is_too_much(monkeypatch):
    """A second capture finds what the first one learnt; code objects are not kept for ever."""
    known = frames.frame_filter()
    assert frames.frame_filter() is known
    known.frame(known.walk.__code__, 0)
    user_frames()
    monkeypatch.setattr(frames, "_MOST_FRAMES", 0)
    assert frames.frame_filter() is not known


def test_a_filter_from_before_torch_was_imported_is_not_used_after(monkeypatch):
    """It would take torch's files for the user's."""
    known = FrameFilter()
    assert known.is_of_use()
    monkeypatch.setattr(known, "_roots", known._roots._replace(torch=None))
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert not known.is_of_use()


TYPED = """
import torch, monograph
class Model(torch.nn.Module):
    def forward(self, x):
        return x.register_hook(print)
monograph.export(Model(), (torch.ones(2, requires_grad=True),))
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python keeps no source of -c before 3.13")
def test_what_is_given_with_c_has_its_lines() -> None:
    """Python keeps what is typed, or given with `-c`, by its code; from 3.14 on not by its name."""
    command = [sys.executable, "-c", TYPED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert " 5 | return x.register_hook(print)" in done.stderr
