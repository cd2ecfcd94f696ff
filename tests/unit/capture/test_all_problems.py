"""One call shows everything a model is refused for; a model that exports pays nothing for it."""

import functools
import random

import numpy as np
import pytest
import torch

from monograph import (
    ConstraintViolation,
    DataDependentError,
    Dim,
    ExportErrors,
    SideEffectError,
)
from monograph import draft_export as draft_with_branches
from monograph import export as export_with_branches
from monograph.capture.recovery.error_recovery import Continuing

export = functools.partial(export_with_branches, control_flow="refuse")
draft_export = functools.partial(draft_with_branches, control_flow="refuse")
"""So that a branch is a problem among others."""

BOTH = pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
X = torch.arange(1.0, 4.0)


def names(error):
    """Give the name of every problem of an error."""
    return [problem.diagnostic.name for problem in error.problems]


def lines(error):
    """Give the source line of every problem, as far as it is known."""
    return [problem.diagnostic.at[0].line for problem in error.problems if problem.diagnostic.at]


class Several(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        n = x.max().item()
        if n > 3:
            x = x - n
        return x + np.median(x.numpy())


@BOTH
def test_each_problem_is_listed_once_with_its_line(strict):
    """Two branches and a read: three problems, in the order of the code, all of one class."""
    with pytest.raises(DataDependentError) as caught:
        export(Several(), (X,), strict=strict)
    assert isinstance(caught.value, ExportErrors)
    assert names(caught.value) == ["data-dependent-branch", "data-dependent-size", "value-read"]
    first = Several.forward.__code__.co_firstlineno
    assert lines(caught.value) == [first + 1, first + 4, first + 6]
    assert str(caught.value).startswith("error: 3 problems found")


def test_one_problem_is_its_own_error():
    """A single problem is raised as it was first met, with its own class."""

    class One(torch.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(DataDependentError) as caught:
        export(One(), (X,))
    assert not isinstance(caught.value, ExportErrors)


def test_a_line_in_several_layers_is_one_entry():
    """The same line of the same code counts once, and says how often it was met."""

    class Layer(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    with pytest.raises(DataDependentError) as caught:
        export(torch.nn.Sequential(*[Layer() for _ in range(5)]), (X,))
    assert names(caught.value) == ["data-dependent-branch"]
    (only,) = caught.value.problems
    assert only.diagnostic.times == 5
    assert "this line is refused 5 times" in str(only)


def test_effects_reads_and_branches_are_found_together():
    """What only the end of a run shows stands beside what the middle shows."""
    kept = []

    class Mixed(torch.nn.Module):
        def forward(self, x):
            kept.append(1)
            noise = random.random()
            return x * noise if x.sum() > 0 else x

    before = random.getstate()
    with pytest.raises(ExportErrors) as caught:
        export(Mixed(), (X,))
    assert sorted(names(caught.value)) == [
        "data-dependent-branch",
        "outside-read",
        "write-outlives-call",
    ]
    assert kept == []
    assert random.getstate() == before


def test_constraints_are_found_beside_other_problems():
    """A broken declaration is listed with the branch that comes before it."""

    class Fixed(torch.nn.Module):
        def forward(self, x, y):
            x = x + 1 if y.sum() > 0 else x
            return x + torch.ones(6, 1)

    with pytest.raises(ExportErrors) as caught:
        export(
            Fixed(), (torch.ones(6, 2), X), dynamic_shapes={"x": {0: Dim("n", min=2)}, "y": None}
        )
    assert sorted(names(caught.value)) == ["data-dependent-branch", "dim-specialised"]
    assert not isinstance(caught.value, ConstraintViolation)


def test_what_eager_refuses_too_ends_the_list():
    """Sizes that disagree for the example too end the run, and are raised with the rest."""

    class Wrong(torch.nn.Module):
        def forward(self, x):
            x = x + 1 if x.sum() > 0 else x
            return x + torch.ones(7)

    with pytest.raises(ExportErrors) as caught:
        export(Wrong(), (X,))
    assert names(caught.value) == ["data-dependent-branch", "sizes-disagree"]


def test_where_the_list_ends_is_said():
    """An exception of the model's own ends the run; a note on the error says so."""

    class Raises(torch.nn.Module):
        def forward(self, x):
            x = x + 1 if x.sum() > 0 else x
            if x.shape[0] == 3:
                raise KeyError("three")
            return x

    with pytest.raises(DataDependentError) as caught:
        export(Raises(), (X,))
    (note,) = caught.value.__notes__
    assert note == "then the model raises KeyError: 'three'; what comes after it is not listed"


def test_several_writes_are_a_side_effect_error():
    """A group of one class is of that class."""
    one, two = [], {}

    class Writes(torch.nn.Module):
        def forward(self, x):
            one.append(2)
            two["n"] = 1
            return x + 1

    with pytest.raises(SideEffectError) as caught:
        export(Writes(), (X,))
    assert names(caught.value) == ["write-outlives-call"] * 2
    assert (one, two) == ([], {})


def test_success_captures_once(monkeypatch):
    """A model that exports is captured once, without the machinery of going on."""
    seen = []
    original = Continuing.__init__
    monkeypatch.setattr(
        Continuing, "__init__", lambda *args, **facts: seen.append(1) or original(*args, **facts)
    )
    export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    assert seen == []
    with pytest.raises(ExportErrors):
        export(Several(), (X,))
    assert seen == [1]


def test_the_module_comes_back_untouched():
    """After a run that goes on, buffers and parameters are the objects and values they were."""

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x):
            self.n.add_(x)
            if self.n.sum() > 0:
                x = x + self.n
            self.n = torch.zeros(3)
            return x

    model = Counts()
    buffer = model.n
    with pytest.raises(ExportErrors) as caught:
        export(model, (torch.ones(2),))
    assert names(caught.value) == ["data-dependent-branch", "buffer-reshaped"]
    assert model.n is buffer
    assert torch.equal(buffer, torch.zeros(2))


def test_where_the_list_of_a_draft_ends_is_said():
    """A draft that comes to no end raises what it met, and says what ended it."""

    class Raises(torch.nn.Module):
        def forward(self, x):
            x = x + float(np.median(x.numpy()))
            raise KeyError("after")

    with pytest.raises(DataDependentError) as caught:
        draft_export(Raises(), (X,))
    (note,) = caught.value.__notes__
    assert note == "then the model raises KeyError: 'after'; what comes after it is not listed"
