"""A program as Python: what it looks like, that formatters leave it alone, and that it runs."""

import collections
import enum
import linecache
import subprocess
import sys

import pytest
import torch
from torch import nn

from monograph import Dim, UnsupportedError, export
from monograph.program.python_source.module_text import operator_name

aten = torch.ops.aten
Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024


class Mode(enum.Enum):
    """A constant that is no literal."""

    SUM = 1


class Model(nn.Module):
    """One of everything that has a shape of its own in the text."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x, pair, /, flag=None, *, mode, options):
        self.steps += 1
        rows = x.shape[0]
        left, right = x.reshape(rows // 2, -1).chunk(2, dim=1)
        with torch.no_grad():
            scale = pair.left.abs().amax() + 1
        y = self.lin(x) * scale + torch.tensor([1.0, float("inf"), -2.0])
        return {"y": y, "n": rows * 2, "mode": mode.name}, Pair(left, (right, options["k"]))


def arguments(n=6):
    """Draw a call."""
    args = (torch.randn(n, 4), Pair(torch.randn(2), [torch.ones(1), 3]))
    return args, {"mode": Mode.SUM, "options": {"k": 2.5, "unused": None}}


@pytest.fixture
def program():
    """The model, exported with one size open."""
    args, kwargs = arguments()
    shapes = {"x": {0: Dim("rows")}, "pair": None, "mode": None, "options": None}
    return export(Model(), args, kwargs, dynamic_shapes=shapes)


def run(program):
    """Execute the text, and give its namespace."""
    namespace = {}
    exec(program.to_python(), namespace)
    return namespace


def state(program):
    """Give what `forward` takes first."""
    return {**program.state_dict, **program.constants}


def test_the_text_runs_as_the_model(program):
    """At another size it returns the same structure and values, and writes to the same buffer."""
    args, kwargs = arguments(10)
    before = program.state_dict["steps"].clone()
    expected, pair = program.module()(*args, **kwargs)
    found, other = run(program)["forward"](state(program), *args, **kwargs)
    torch.testing.assert_close(found["y"], expected["y"])
    assert (found["n"], found["mode"]) == (20, "SUM")
    assert type(other) is Pair
    torch.testing.assert_close(other.right[0], pair.right[0])
    assert program.state_dict["steps"] == before + 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda args, kwargs: ((args[0][:1], args[1]), kwargs), "too few rows"),
        (lambda args, kwargs: ((args[0].double(), args[1]), kwargs), "another dtype"),
        (lambda args, kwargs: ((args[0][:, :2], args[1]), kwargs), "another static size"),
        (lambda args, kwargs: (args, {**kwargs, "mode": 1}), "another constant"),
        (lambda args, kwargs: (args, {**kwargs, "options": {"k": 2.5}}), "a key less"),
        (lambda args, kwargs: ((args[0], (*args[1],)), kwargs), "another container"),
    ],
)
def test_the_text_refuses_what_the_program_refuses(program, change, what):
    """The contract stands in the text as assertions."""
    args, kwargs = change(*arguments())
    with pytest.raises(AssertionError):
        run(program)["forward"](state(program), *args, **kwargs)


def test_formatters_leave_the_text_alone(program):
    """Ruff, with its defaults, changes nothing."""
    text = program.to_python()
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert done.stdout == text
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=E,F", "-"]
    subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def test_the_text_reads_well(program):
    """User lines are comments, sizes are arithmetic, regions are blocks, state is read by name."""
    text = program.to_python()
    assert '#     y = self.lin(x) * scale + torch.tensor([1.0, float("inf"), -2.0])' in text
    assert "    rows = x.shape[0]\n" in text
    assert "[rows // 2, -1]" in text or "rows // 2" in text
    assert "    with torch.set_grad_enabled(False):\n" in text
    assert 'aten.linear(x, state["lin.weight"], state["lin.bias"])' in text
    assert "def forward(state, x, pair, /, flag" not in text, "flag was not given"
    assert "chunk_0, chunk_1 = aten.chunk(" in text or "split" in text


def test_the_text_steps_in_a_debugger(program, tmp_path):
    """Saved and run, a tracer sees the lines of the file one after the other."""
    file = tmp_path / "program.py"
    file.write_text(program.to_python())
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    seen = []

    def trace(frame, event, _arg):
        if frame.f_code.co_filename != str(file):
            return None
        if event == "line" and frame.f_code.co_name == "forward":
            seen.append(linecache.getline(str(file), frame.f_lineno).strip())
        return trace

    args, kwargs = arguments()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        namespace["forward"](state(program), *args, **kwargs)
    finally:
        sys.settrace(before)
    assert any(line.startswith("linear = aten.linear(") for line in seen)
    assert any(line.startswith("with torch.set_grad_enabled") for line in seen)


def test_names_of_users_and_of_the_text_do_not_meet():
    """Parameters may be called as what the text uses."""

    class Awkward(nn.Module):
        def forward(self, state, aten, check_inputs, math):
            return state + aten * check_inputs - math["torch"]

    args = (torch.ones(2), torch.ones(2), torch.ones(2), {"torch": torch.ones(2)})
    program = export(Awkward(), args)
    found = run(program)["forward"](state(program), *args)
    torch.testing.assert_close(found, torch.ones(2))


def test_lowered_programs_write_what_they_return():
    """The text writes state and inputs back, and returns what was written to."""

    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x, y):
            self.mean.mul_(0.5).add_(x.mean(0))
            y.add_(1)
            return self.mean, y

    program = export(Running(), (torch.ones(2, 3), torch.ones(3))).run_decompositions({})
    held, y = {**program.constants, "mean": torch.zeros(3)}, torch.ones(3)
    mean, returned = run(program)["forward"](held, torch.ones(2, 3), y)
    assert mean is held["mean"]
    assert returned is y
    torch.testing.assert_close((mean, y), (torch.ones(3), torch.full((3,), 2.0)))
    with pytest.raises(AssertionError):
        run(program)["forward"](held, torch.ones(3).expand(2, 3)[:0], y.view(3)[:2])


def test_a_class_that_cannot_be_imported_is_refused():
    """The text could not name it."""
    local = collections.namedtuple("Local", "one")  # noqa: PYI024

    class Returns(nn.Module):
        def forward(self, x):
            return local(x)

    with pytest.raises(UnsupportedError, match="program-not-spelt"):
        export(Returns(), (torch.ones(2),)).to_python()


def test_operators_are_named_so_that_no_other_is_meant():
    """The overload is left out only where the others write to `out=`."""
    assert operator_name(aten.linear.default) == "aten.linear"
    assert operator_name(aten.add.Tensor) == "aten.add.Tensor"
    assert operator_name(aten.view.default) == "aten.view.default"
