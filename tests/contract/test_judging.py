"""The judge can say no: a program that is wrong in one way is found wrong, and by what."""

import copy

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import problem
from tests.contract.forms import Form
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, judged
from tests.contract.registry import Call, Probe
from tests.seeding import reseed


def two():
    """Give a matrix and a list of one."""
    return (torch.randn(3, 4), [torch.randn(3)])


class Honest(nn.Module):
    """Does something of everything that is compared."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, xs):
        self.calls.add_(1)
        xs[0].add_(1)
        return {"y": self.layer(x), "x": x, "z": 0.0 * xs[0], "n": 0.0}


def honest():
    """An instance with the same weights every time."""
    reseed(3)
    return Honest()


def altered(change):
    """A module that does what `Honest` does, and then something else."""

    class Altered(Honest):
        def forward(self, x, xs):
            return change(self, super().forward(x, xs), x, xs)

    return Altered()


def result_changed(key, function):
    """How to change one result."""
    return lambda _, result, x, xs: {**result, key: function(result[key])}


def effect(function):
    """How to do something on the side."""

    def change(module, result, x, xs):
        with torch.no_grad():
            function(module, x, xs)
        return result

    return change


WRONGS = {
    "a value": (result_changed("y", lambda y: y * 1.5), "the result"),
    "a dtype": (result_changed("y", torch.Tensor.double), "the result"),
    "a shape": (result_changed("y", lambda y: y[:, None]), "the result"),
    "strides": (result_changed("y", lambda y: y.t().contiguous().t()), "the result"),
    "the sign of a zero": (result_changed("z", lambda z: z.abs().neg()), "signs"),
    "the sign of a float": (result_changed("n", lambda n: -n), "signs"),
    "the type of a number": (result_changed("n", int), "the result"),
    "the order of keys": (lambda _, r, x, xs: dict(reversed(r.items())), "the result"),
    "a copy for an input": (result_changed("x", torch.clone), "aliasing"),
    "a view for an input": (result_changed("x", lambda x: x.view(3, 4)), "aliasing"),
    "a gradient cut": (result_changed("y", torch.detach), "flags"),
    "a gradient halved": (result_changed("y", lambda y: y / 2 + y.detach() / 2), "gradients"),
    "an input written": (effect(lambda m, x, xs: x.add_(1)), "the result"),
    "a hidden input written": (effect(lambda m, x, xs: xs[0].add_(1)), "the inputs"),
    "a list that grows": (effect(lambda m, x, xs: xs.append(1)), "the inputs"),
    "a buffer written": (effect(lambda m, x, xs: m.calls.add_(1)), "buffers"),
    "gradients left off": (
        lambda m, result, x, xs: (torch.set_grad_enabled(False), result)[1],
        "grad mode",
    ),
    "a number drawn": (effect(lambda m, x, xs: torch.rand(1)), "random"),
}


def form_of(program, refusals=(monograph.MonographError,)):
    """An exporter that always answers with this program."""
    return Form("made up", lambda *_: program, monograph.Dim, lambda p: p, refusals)


def probe_of(build=honest, call=None):
    """A probe with one call."""
    first = call or Call(two)
    return Probe("honest", "structure", build, first, {"example": first})


def verdict_on(program, probe=None):
    """What is said of this program beside the honest module."""
    probe = probe or probe_of()
    made, _ = exported(probe, form_of(program))
    return judged(probe, made, form_of(program), probe.calls["example"])


@pytest.mark.parametrize("name", WRONGS)
def test_one_difference_is_found(name):
    """Each kind of difference is found, and named."""
    change, where = WRONGS[name]
    verdict = verdict_on(altered(change))
    assert verdict.kind == WRONG, str(verdict)
    assert verdict.why.startswith(where), str(verdict)


def test_no_difference_is_none():
    """A copy of the module agrees, also when it is called three times."""
    assert verdict_on(copy.deepcopy(honest())).kind == AGREES
    assert verdict_on(honest(), probe_of(call=Call(two, times=3))).kind == AGREES


def test_a_difference_in_the_second_call_is_found():
    """What the first call leaves behind shows in the second."""

    def change(module, result, x, xs):
        module.late = getattr(module, "late", 0) + 1
        return {**result, "n": 0.0 if module.late < 2 else 1.0}

    assert verdict_on(altered(change)).kind == AGREES
    verdict = verdict_on(altered(change), probe_of(call=Call(two, times=2)))
    assert verdict.kind == WRONG
    assert verdict.why.startswith("call 2")


def test_an_input_kept_is_found():
    """The caller writes to its inputs afterwards; a program that kept a copy does not see it."""

    class Keeping(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.keep = keep
            self.last = None

        def forward(self, x):
            y = x if self.last is None else x - self.last
            self.last = self.keep(x)
            return y

    probe = probe_of(lambda: Keeping(lambda x: x), Call(lambda: (torch.randn(3),), times=2))
    assert verdict_on(Keeping(lambda x: x), probe).kind == AGREES
    assert verdict_on(Keeping(torch.clone), probe).kind == WRONG


def test_eager_raises():
    """A program that answers where eager raises is wrong; one that raises too agrees."""

    def fails(module, result, x, xs):
        raise ValueError

    probe = probe_of(lambda: altered(fails))
    assert verdict_on(honest(), probe).kind == WRONG
    agreed = verdict_on(altered(fails), probe)
    assert agreed.kind == AGREES
    assert agreed.raised


def test_a_program_that_raises():
    """A diagnostic is a refusal by its name; our own bug, or anything else, is a failure."""

    def refuses(module, result, x, xs):
        raise problem("program-called")

    def breaks(module, result, x, xs):
        raise problem("bug", reason="made up")

    def fails(module, result, x, xs):
        raise RuntimeError

    refused = verdict_on(altered(refuses))
    assert (refused.kind, refused.why) == (REFUSED, "program-called")
    assert verdict_on(altered(breaks)).kind == FAILS
    assert verdict_on(altered(fails)).kind == FAILS
    assert (
        judged(probe_of(), altered(fails), form_of(None, (Exception,)), Call(two)).kind == REFUSED
    )


def test_an_export_that_raises():
    """A refusal to export is told from a failure of it."""

    def of(error):
        def export(*_):
            raise error

        return Form("made up", export, monograph.Dim, lambda p: p)

    program, verdict = exported(probe_of(), of(problem("program-called")))
    assert program is None
    assert verdict.kind == REFUSED
    assert exported(probe_of(), of(RuntimeError("no")))[1].kind == FAILS
