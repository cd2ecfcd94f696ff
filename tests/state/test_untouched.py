"""The module, the globals and the generators are as before a capture that succeeds or fails."""

import copy
import threading

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from tests.contract import constants, effects, modes  # noqa: F401  importing registers the probes
from tests.contract.forms import FORMS
from tests.contract.judging import SEED_OF_EXAMPLE, inputs_of, seed_all
from tests.contract.registry import PROBES, Call
from tests.state import attributes, callbacks, surroundings  # noqa: F401  importing registers the programs
from tests.state.description import abstract_tensors, description, differences
from tests.state.harness import comparable, generators, made, world_of
from tests.state.known import ADVANCED, KNOWN
from tests.state.registry import PROGRAMS

BOTH = [form for name, form in FORMS.items() if name in {"plain", "strict"}]
both_forms = pytest.mark.parametrize("form", BOTH, ids=[form.name for form in BOTH])

FAILING = [
    program
    for program in PROGRAMS.values()
    if program.refused and program.name not in ADVANCED | KNOWN.keys()
]
SUCCEEDING = [p for p in PROGRAMS.values() if not p.refused]


@pytest.fixture(autouse=True)
def switches():
    """Turn back what a module leaves turned in eager."""
    yield
    torch.set_grad_enabled(True)


class UsersError(Exception):
    """The user's own exception."""


class Fails(nn.Module):
    """Changes all it can reach, and fails at the step that it is told."""

    def __init__(self, at):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("calls", torch.zeros(()))
        self.seen, self.named = [1], {"a": {"b": [2]}}
        self.at = at

    def forward(self, x):
        steps = [
            lambda: self.norm(self.layer(x)),
            lambda: self.calls.add_(1),
            lambda: setattr(self, "calls", self.calls + 1),
            lambda: self.seen.append(x),
            lambda: self.named["a"]["b"].append(x * 2),
            lambda: setattr(self, "late", x),
            lambda: self.register_buffer("more", x * 3),
            lambda: self.layer.register_forward_hook(lambda *_: None),
            lambda: setattr(self.layer, "bias", None),
            lambda: self.eval(),
            lambda: setattr(self.layer.weight, "tag", x),
            lambda: self.add_module("other", nn.Linear(2, 2)),
            lambda: delattr(self, "seen"),
            lambda: torch.set_grad_enabled(False),
            lambda: torch.manual_seed(1),
        ]
        for n, step in enumerate(steps):
            if n == self.at:
                raise UsersError
            step()
        return x


STEPS = 15


def captured(form, module, args):
    """Capture and let go: the name of what was raised, "" if nothing."""
    try:
        form.export(module, args, {}, None)
    except Exception as error:  # noqa: BLE001  which it is does not matter here
        return type(error).__name__
    return ""


def hold_untouched(form, module, args, outside=lambda: None):
    """Capture; hold that nothing changed; tell what was raised."""
    seed_all(SEED_OF_EXAMPLE)
    kept = copy.deepcopy(args)
    before, world = description(module), [comparable(outside()), *generators()]
    raised = captured(form, module, args)
    assert differences(before, description(module)) == []
    after = [comparable(outside()), *generators()]
    assert repr(world) == repr(after), f"{world} became {after}"
    assert repr(comparable(kept)) == repr(comparable(args))
    return raised


def of_program(program, form):
    """Capture a program with state."""
    world = world_of(program)
    world.begin_anew()
    module, witness = made(program)
    args = program.inputs()
    return hold_untouched(form, module, args, lambda: [witness(), world.stands()])


@both_forms
def test_fifty_that_succeed(form):
    """Programs that are captured, and probes of constants and effects."""
    before = abstract_tensors()
    raised = [of_program(program, form) for program in SUCCEEDING]
    for probe in PROBES.values():
        if probe.row in {"constant", "write"} and not probe.refused:
            args, _ = inputs_of(probe.example, SEED_OF_EXAMPLE)
            raised.append(hold_untouched(form, probe.build(), args))
    assert raised.count("") >= 50
    assert set(abstract_tensors()) - set(before) == set()


THREADED = {"computed_in_a_thread"}
"""What a thread raises, the test runner keeps until the test has ended, with all it holds."""


@both_forms
def test_fifty_that_fail(form):
    """Programs that are refused, and a module that fails at each step of what it changes."""
    before = abstract_tensors()
    raised = [of_program(p, form) for p in FAILING if not (form.is_strict and p.is_branch)]
    raised += [hold_untouched(form, Fails(at), (torch.randn(2, 3),)) for at in range(STEPS + 1)]
    assert "" not in raised
    for probe in PROBES.values():
        if probe.refused and probe.name not in THREADED:
            args, _ = inputs_of(probe.example, SEED_OF_EXAMPLE)
            raised.append(hold_untouched(form, probe.build(), args))
    assert raised.count("UsersError") == STEPS
    # The interpreter captures some of the probes that plain Python must refuse.
    assert len(raised) - raised.count("") >= 50
    assert set(abstract_tensors()) - set(before) == set()


@both_forms
def test_the_module_runs_after_it_was_refused(form):
    """A refused module still does what it did: no tensor of the capture is left in it."""
    for program in FAILING:
        world_of(program).begin_anew()
        module, _ = made(program)
        captured(form, module, program.inputs())
        module(*program.inputs())


def test_the_description_sees_what_changes():
    """Each kind of change is seen."""
    changes = {
        "data": lambda m: m.layer.weight.data.add_(1),
        "version": lambda m: m.calls.add_(0),
        "flag": lambda m: m.layer.weight.requires_grad_(False),
        "gradient": lambda m: setattr(m.layer.weight, "grad", torch.zeros(3, 3)),
        "attribute": lambda m: setattr(m, "at", 7),
        "new attribute": lambda m: setattr(m, "late", 7),
        "list": lambda m: m.seen.append(2),
        "equal list": lambda m: setattr(m, "seen", [1]),
        "deep list": lambda m: m.named["a"]["b"].append(2),
        "hook": lambda m: m.layer.register_forward_hook(lambda *_: None),
        "mode": lambda m: m.norm.eval(),
        "tag": lambda m: setattr(m.layer.weight, "tag", 1),
        "buffer": lambda m: setattr(m, "calls", torch.zeros(())),
        "module": lambda m: setattr(m, "layer", nn.Linear(3, 3)),
        "tree": lambda m: m.add_module("other", nn.Linear(3, 3)),
    }
    for name, change in changes.items():
        module = Fails(0)
        before = description(module)
        assert differences(before, description(module)) == []
        change(module)
        assert differences(before, description(module)) != [], name


def test_a_tensor_of_a_capture_is_found():
    """What keeps one where nobody looks is noticed: an object that only C gives away."""

    class Keeps(nn.Module):
        def forward(self, x):
            threading.current_thread().kept = x * 2
            return x

    before = abstract_tensors()
    captured(FORMS["plain"], Keeps(), inputs_of(Call(lambda: (torch.ones(2),)), 1)[0])
    assert set(abstract_tensors()) - set(before) != set()
    del threading.current_thread().kept
    assert set(abstract_tensors()) - set(before) == set()


def test_a_module_imported_by_forward_keeps_nothing(tmp_path, monkeypatch):
    """`from torch import tensor`, run during a capture, holds on to nothing of it."""
    (tmp_path / "imported_late.py").write_text("from torch import as_tensor, tensor\n")
    monkeypatch.syspath_prepend(tmp_path)

    class ImportsLate(nn.Module):
        def forward(self, x):
            import imported_late  # noqa: PLC0415  the point

            return x + imported_late.tensor([x.shape[0], 1.0, 2.0])

    before = abstract_tensors()
    assert captured(FORMS["plain"], ImportsLate(), (torch.ones(3),)) == ""
    assert set(abstract_tensors()) - set(before) == set()
    late = ImportsLate()
    assert torch.equal(late(torch.ones(3)), torch.tensor([4.0, 2.0, 3.0]))


@both_forms
def test_a_dict_that_is_filled_and_let_go_of_is_empty_again(form):
    """`parametrize.cached()` fills a global dict, and puts a new one in its place."""

    class Symmetric(nn.Module):
        def forward(self, weight):
            return weight.triu() + weight.triu(1).T

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = parametrize.register_parametrization(
                nn.Linear(3, 3), "weight", Symmetric()
            )

        def forward(self, x):
            with parametrize.cached():
                return self.layer(self.layer(x))

    before, module = abstract_tensors(), Cached()
    captured(form, module, (torch.ones(2, 3),))
    assert parametrize._cache == {}
    assert not parametrize._cache_enabled
    assert set(abstract_tensors()) - set(before) == set()
    module(torch.ones(2, 3))
