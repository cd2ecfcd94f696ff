"""Failures are reduced to scripts that run, and fail in the same way."""

import subprocess
import sys
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph
from tests.jit import broken_backends

X = torch.linspace(-2, 2, 24).view(4, 6)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = F.relu(self.norm(self.one(x)))
        for _ in range(4):
            y = y * 0.5 + torch.tanh(y)
        z = F.softmax(self.two(y), -1)
        return z, torch.exp(z * 3), y


def run_script(script, tmp_path):
    """Run a script by itself; its status and what it says at its end."""
    file = tmp_path / "repro.py"
    file.write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def nodes(script):
    """How many operators the script's graph has."""
    return script.count("graph.call_")


@pytest.mark.parametrize(
    ("backend", "size", "says"),
    [
        (broken_backends.no_tanh, 1, "NotImplementedError: tanh is not supported"),
        (broken_backends.fails_at_run_time, 2, "RuntimeError: kernel of"),
    ],
)
def test_a_failing_backend(backend, size, says, tmp_path):
    """The operators that it fails with, and no others."""
    torch.manual_seed(0)
    script = monograph.minify(Net(), (X,), backend=backend)
    assert nodes(script) == size
    status, said = run_script(script, tmp_path)
    assert status == 1
    assert says in said


def test_differing_numbers(tmp_path):
    """The operator that is computed wrongly, with inputs for which it is."""
    torch.manual_seed(0)
    script = monograph.minify(Net(), (X,), backend=broken_backends.wrong_numbers, accuracy=True)
    assert nodes(script) == 1
    assert "torch.exp" in script
    status, said = run_script(script, tmp_path)
    assert status == 1
    assert "AssertionError" in said


@pytest.mark.parametrize(
    ("backend", "operator", "says"),
    [
        (broken_backends.fails_in_backward, "torch.tanh", "no backward kernel of tanh"),
        (broken_backends.wrong_gradients, "torch.exp", "AssertionError"),
    ],
)
def test_a_backward_pass(backend, operator, says, tmp_path):
    """What fails, or is computed wrongly, in the backward pass alone."""
    torch.manual_seed(0)
    script = monograph.minify(Net(), (X,), backend=backend, accuracy=True)
    assert nodes(script) == 1
    assert operator in script
    status, said = run_script(script, tmp_path)
    assert status == 1
    assert says in said
    with torch.no_grad(), pytest.raises(monograph.SpecError):
        monograph.minify(Net(), (X,), backend=backend, accuracy=True)


def test_versions_are_at_the_head():
    """Of the system, Python, PyTorch and us, below the failure."""
    lines = monograph.minify(Net(), (X,), backend=broken_backends.no_tanh).splitlines()
    assert lines[0] == "# NotImplementedError: tanh is not supported"
    assert "Python 3." in lines[1]
    assert f"PyTorch {torch.__version__}" in lines[2]


GAIN = 3


def helper(x):
    """Something the function calls."""
    return x * GAIN


def breaking(x, n):
    """It breaks a graph in the middle."""
    total = 0
    for i in range(n):
        total = total + helper(x) * i
    y = total.relu()
    if n > 1:
        time.sleep(0)
        y = y + 1
    return y.sum(), total


def test_a_failing_capture(tmp_path):
    """Of a function that is not one graph, the statement that breaks it."""
    script = monograph.minify(breaking, (X, 3))
    assert "sleep" in script
    assert "relu" not in script
    status, said = run_script(script, tmp_path)
    assert status == 1
    assert "graph-break" in said
    assert "time.sleep(0)" in said


class Scaled(nn.Module):
    """A module that breaks a graph in a method of its own, which depends on a parameter."""

    power = 2

    @property
    def bound(self):
        return self.limit * self.power

    def __init__(self, n):
        super().__init__()
        self.line, self.gain = nn.Linear(n, n), nn.Parameter(torch.full((n,), 2.0))
        self.limit, self.register = 0.5, {"unused": 1}

    def bounded(self, x):
        total = x.abs().sum()
        if total > self.bound:
            x = x / total
            self.is_bounded = True
        return helper(x)

    def forward(self, x):
        y = self.line(x).relu()
        y = self.bounded(y * self.gain)
        return torch.tanh(y) + 1


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(6, 6), Scaled(6), nn.Linear(6, 2)

    def forward(self, x):
        z = self.two(self.one(x)) * 2
        return self.three(z).softmax(-1)


def test_a_failing_capture_of_a_module(tmp_path):
    """Of the innermost module that fails, what is left is a class that reads as the user's."""
    torch.manual_seed(0)
    model = Outer().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    script = monograph.minify(model, (X,))
    assert "class Scaled(torch.nn.Module):" in script
    for kept in ("if total > self.bound:", "return self.limit * self.power", "self.power = 2"):
        assert kept in script
    for gone in ("Outer", "tanh", "softmax", "register", "helper"):
        assert gone not in script
    status, said = run_script(script, tmp_path)
    assert status == 1
    assert "graph-break" in said
    assert "a branch on data" in said
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_random_numbers_go_on_as_before():
    """What is run to reduce is seeded; the caller's generator is not."""
    module = Net()
    before = torch.get_rng_state()
    monograph.minify(module, (X,), backend=broken_backends.no_tanh)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_works_is_told():
    """There is nothing to reduce."""
    with pytest.raises(monograph.SpecError) as caught:
        monograph.minify(Net(), (X,))
    assert caught.value.diagnostic.name == "nothing-fails"


def test_inputs_are_made_small():
    """Sizes that do not matter are one, values zero or one."""
    script = monograph.minify(Net(), (X,), backend=broken_backends.no_tanh)
    assert "s((1, 1), dtype=torch.float32)," in script
