"""What recording an operator needs to know beyond its rule."""

import pytest
import torch
from torch import nn

import monograph


@pytest.mark.parametrize(
    ("model", "mutated"),
    [
        (nn.BatchNorm1d(3).train(), {"running_mean", "running_var", "num_batches_tracked"}),
        (nn.BatchNorm1d(3).eval(), set()),
        (nn.BatchNorm1d(3, track_running_stats=False).train(), set()),
        (nn.InstanceNorm1d(3, track_running_stats=True).train(), {"running_mean", "running_var"}),
    ],
)
def test_running_statistics_are_known_to_be_written(model, mutated):
    """Normalisation in training writes its statistics, which no schema declares."""
    program = monograph.export(model, (torch.randn(4, 3, 5),))
    assert set(program.graph_signature.mutated_in_place.values()) >= mutated
    if not mutated:
        assert not program.graph_signature.mutated_in_place


def test_an_unused_normalisation_still_updates_its_statistics():
    """Its result is not used, but what it writes is seen by the next call."""

    class Watch(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            self.norm(x)
            return x + 1

    model = Watch().train()
    run = monograph.export(model, (torch.randn(4, 3),)).module()
    x = torch.randn(4, 3)
    before = model.norm.running_mean.clone()
    run(x)
    moved = model.norm.running_mean.clone()
    model.norm.running_mean.copy_(before)
    model(x)
    torch.testing.assert_close(moved, model.norm.running_mean)
