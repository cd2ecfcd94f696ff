"""One run of user code: what it returns is its own."""

import pytest
import torch

from monograph import export


class FilledAndReturned(torch.nn.Module):
    """An empty dict, which the garbage collector does not know until it holds something."""

    def forward(self, x):
        """Fill it."""
        found = {}
        found["a"] = x * 2
        return found


@pytest.mark.parametrize("strict", [True, False])
def test_a_container_made_and_filled_in_forward_is_no_outside_object(strict):
    """It is returned, and nobody had it before."""
    run = export(FilledAndReturned(), (torch.ones(2),), strict=strict).module()
    assert torch.equal(run(torch.arange(2.0))["a"], torch.tensor([0.0, 2.0]))
