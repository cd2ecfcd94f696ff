"""`pdb` in the code of a model that is exported: a dialogue through a terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import textwrap
import time

import pytest

from tests.repo.sources import ROOT

MODEL = """
import torch
import monograph
{imports}

class Model(torch.nn.Module):
    def scaled(self, x):
        y = x + 1
        return y * 2

    def forward(self, x):
        n = x.shape[0]
        {stop}
        z = self.scaled(x)
        return z.view(n, 4).sum(1)

model = Model()
program = monograph.export(model, (torch.zeros(3, 4),), dynamic_shapes="x: batch, 4"{options})
given = torch.arange(20.0).view(5, 4)
{finally_}
print("GUARDS", [str(each) for each in program.guards])
print("EQUAL", torch.equal(program.module()(given), (given * 2 + 2).sum(1)))
"""


class Terminal:
    """A script that runs in a pseudo-terminal, and what somebody types there."""

    def __init__(self, tmp_path, *command, **parts):
        parts = {"imports": "", "options": "", "finally_": "", "stop": "breakpoint()"} | parts
        self.file = tmp_path / "script.py"
        self.file.write_text(MODEL.format(**parts))
        self._ours, theirs = pty.openpty()
        self._run = subprocess.Popen(
            [sys.executable, *command, str(self.file)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            close_fds=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb", "HOME": "/"},
        )
        os.close(theirs)

    def until(self, what, *, limit=120.0):
        """What is shown until some text."""
        shown, end = "", time.monotonic() + limit
        while not re.search(what, shown):
            assert time.monotonic() < end, f"no {what!r} in {shown}"
            if not select.select([self._ours], [], [], 1)[0]:
                continue
            try:
                read = os.read(self._ours, 4096)
            except OSError:  # how Linux says that nobody has the other end open
                read = b""
            assert read, f"no {what!r} in {shown}"
            shown += read.decode().replace("\r\n", "\n")
        return shown

    def says(self, command):
        """What the debugger answers to a command."""
        os.write(self._ours, f"{command}\n".encode())
        return self.until(r"\(Pdb\) $").removeprefix(f"{command}\n").removesuffix("(Pdb) ").strip()

    def close(self, command, what):
        """The last command, and what is shown until some text after it."""
        os.write(self._ours, f"{command}\n".encode())
        shown = self.until(what)
        self._run.wait(60)
        os.close(self._ours)
        return shown

    def stops(self):
        """The first line after the call that stops; from Python 3.13 on it stops at the call."""
        line = line_of(self.until(r"\(Pdb\) $").removesuffix("(Pdb) "))
        if sys.version_info >= (3, 13) and re.search(r"breakpoint|set_trace", line):
            line = line_of(self.says("n"))
        return line


def line_of(text):
    """The line that the debugger says it stands at."""
    return text.rpartition("-> ")[2].strip()


def test_a_dialogue_reads_steps_and_continues(tmp_path):
    """Variables and sizes are shown by name, lines one after the other, and all is in order."""
    terminal = Terminal(tmp_path)
    assert terminal.stops() == "z = self.scaled(x)"
    assert terminal.says("p x.shape") == "torch.Size([batch, 4])"
    assert terminal.says("p n, n > 3") == "(batch, batch >= 4)"
    assert "float32[batch, 4]" in terminal.says("p x")
    assert "float32[batch, 4]" in terminal.says("p (x * x)")
    assert "->" in terminal.says("l")
    where = terminal.says("w")
    assert re.findall(r"(\w+\.py)\(\d+\)(\S+)\(\)", where) == [
        ("script.py", "<module>"),
        ("script.py", "forward"),
    ]
    assert "--Call--" in terminal.says("s")
    assert line_of(terminal.says("s")) == "y = x + 1"
    assert line_of(terminal.says("n")) == "return y * 2"
    assert "float32[batch, 4]" in terminal.says("p y")
    assert line_of(terminal.says("u")) == "z = self.scaled(x)"
    assert line_of(terminal.says("d")) == "return y * 2"
    assert "--Return--" in terminal.says("n")
    assert line_of(terminal.says("n")) == "return z.view(n, 4).sum(1)"
    assert "--Return--" in terminal.says("n")
    assert line_of(terminal.says("n")) == "given = torch.arange(20.0).view(5, 4)"
    shown = terminal.close("c", "EQUAL (True|False)")
    assert "GUARDS []" in shown
    assert "EQUAL True" in shown


@pytest.mark.parametrize(
    "parts",
    [
        {"stop": "pdb.set_trace()", "imports": "import pdb"},
        {"stop": "import pdb; pdb.set_trace()"},
        {"stop": "debugger.set_trace()", "imports": "import pdb; debugger = pdb.Pdb()"},
        {"options": ", strict=False"},
    ],
    ids=["set_trace", "imported", "object", "plain"],
)
def test_other_ways_to_stop(tmp_path, parts):
    """A call of `pdb`, and code that runs natively, stop there too and decide nothing."""
    terminal = Terminal(tmp_path, **parts)
    assert terminal.stops() == "z = self.scaled(x)"
    assert terminal.says("p n, x.shape") == "(batch, torch.Size([batch, 4]))"
    assert line_of(terminal.says("n")) == "return z.view(n, 4).sum(1)"
    assert "EQUAL True" in terminal.close("c", "EQUAL (True|False)")


def test_breakpoints_that_are_set_from_outside(tmp_path):
    """`python -m pdb` stops at a line of the model."""
    terminal = Terminal(tmp_path, "-m", "pdb", stop="pass")
    terminal.until(r"\(Pdb\) $")
    assert "Breakpoint 1" in terminal.says("b 9")
    assert line_of(terminal.says("c")) == "return y * 2"
    assert terminal.says("p y.shape") == "torch.Size([batch, 4])"
    assert "--Return--" in terminal.says("r")
    assert "EQUAL True" in terminal.says("c")
    terminal.close("q", r"q\n")


def test_what_a_debugger_changes_the_program_has(tmp_path):
    """A variable that is given another value at the prompt has it from there on."""
    terminal = Terminal(tmp_path)
    terminal.until(r"\(Pdb\) $")
    terminal.says("!x = x + 1")
    assert "EQUAL False" in terminal.close("c", "EQUAL (True|False)")


QUITS = """
import bdb
try:
    monograph.export(model, (torch.zeros(3, 4).double(),))
except (bdb.BdbQuit, SystemExit):  # from Python 3.14 on it asks, and ends the process
    print("QUIT", vars(model).keys() == vars(Model()).keys(), __import__("sys").gettrace())
"""


def test_quitting_reaches_the_caller(tmp_path):
    """`q` ends the export with what the debugger raises; everything is put back."""
    terminal = Terminal(
        tmp_path, stop="breakpoint() if x.dtype is torch.float64 else 0", finally_=QUITS
    )
    terminal.until(r"\(Pdb\) $")
    shown = terminal.close("q\ny" if sys.version_info >= (3, 14) else "q", "EQUAL (True|False)")
    assert "QUIT True None" in shown
    assert "EQUAL True" in shown


@pytest.mark.parametrize("hook", ["0", "script_hook.stop"])
def test_the_hook_of_the_environment_is_asked(tmp_path, hook):
    """PYTHONBREAKPOINT says what `breakpoint()` calls, in exported code too."""
    (tmp_path / "script_hook.py").write_text(
        textwrap.dedent(
            """
            import sys
            def stop():
                print("STOPPED", sys._getframe(0).f_code.co_name)
            """
        )
    )
    script = tmp_path / "script.py"
    parts = {"imports": "", "options": "", "finally_": "", "stop": "breakpoint()"}
    script.write_text(MODEL.format(**parts))
    path = os.pathsep.join([str(ROOT / "src"), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONBREAKPOINT": hook},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("STOPPED stop" in done.stdout) is (hook != "0")
    assert "EQUAL True" in done.stdout
