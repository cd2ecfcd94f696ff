"""A rehearsal runs what an answer needs and nothing else, and leaves no trace."""

import torch

from monograph import draft_export
from monograph.capture.recovery import concrete_execution


class Parts(torch.nn.Module):
    def forward(self, x):
        big = (x @ x).exp()
        small = x[0]
        return big if small.sum() > 0 else -big


def test_only_the_part_that_is_asked_for_runs(monkeypatch):
    """The product is not computed in order to decide what the first row decides."""
    ran = []
    original = concrete_execution.Rehearsal._run

    def run(self, node, values):
        ran.append(node.name)
        return original(self, node, values)

    monkeypatch.setattr(concrete_execution.Rehearsal, "_run", run)
    draft_export(Parts(), (torch.ones(3, 3),))
    assert "matmul" not in ran
    assert "exp" not in ran
    assert len(ran) == len(set(ran))


def test_random_numbers_are_drawn_aside():
    """The generator of the process is where it was."""

    class Drops(torch.nn.Module):
        def forward(self, x):
            y = torch.nn.functional.dropout(x)
            return y if y.sum() >= 0 else -y

    before = torch.get_rng_state()
    draft_export(Drops(), (torch.ones(3),))
    assert torch.equal(torch.get_rng_state(), before)


def test_examples_that_are_written_to_stay_as_they_were():
    """A model that writes to its input is rehearsed on a copy."""

    class Writes(torch.nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2 if x.sum() > 0 else x

    x = torch.ones(3)
    program = draft_export(Writes(), (x,))
    assert torch.equal(x, torch.ones(3))
    mine, theirs = torch.ones(3), torch.ones(3)
    assert torch.equal(program.module()(mine), Writes()(theirs))
    assert torch.equal(mine, theirs)
