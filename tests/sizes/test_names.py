"""Messages call a size by where it is seen; how symbols are called inside never reaches users."""

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph
from monograph import Dim

REFUSED = {
    "view": lambda x, y: x.view(5, -1),
    "matmul": lambda x, y: x @ y.t(),
    "matmul_reversed": lambda x, y: y @ x,
    "pool": lambda x, y: F.avg_pool1d(x[None], 9),
    "unfold": lambda x, y: x.unfold(0, 7, 1),
    "index": lambda x, y: x[5],
    "new": lambda x, y: torch.zeros(x.shape[0] - 5),
    "broadcast": lambda x, y: x + y,
    "cat": lambda x, y: torch.cat([x, y.unsqueeze(0)]),
    "check": lambda x, y: torch._check(x.shape[0] > y.shape[0] * 2),
    "expand": lambda x, y: x.expand(7, x.shape[1]),
    "split": lambda x, y: x.split([1, 1]),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "reshape": lambda x, y: x.reshape(x.shape[0] + 2, -1),
    "conv": lambda x, y: F.conv1d(x[None], y[None]),
    "einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "as_strided": lambda x, y: x.narrow(0, 2, x.shape[0]),
    "linear": lambda x, y: F.linear(x, y[:, :2]),
    "norm": lambda x, y: F.layer_norm(x, [y.shape[0]]),
    "raise": lambda x, y: (_ for _ in ()).throw(ValueError(f"of {x.shape[0] + 1} and {y.shape}")),
}


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim.DYNAMIC])
@pytest.mark.parametrize("forward", REFUSED.values(), ids=REFUSED)
def test_messages_say_where_a_size_is_seen(forward, dim):
    """Whichever rule refuses, and whatever the module says itself."""
    module = type("Refused", (nn.Module,), {"forward": staticmethod(forward)})()
    declared = tuple({0: dim, 1: dim} for _ in range(2))
    with pytest.raises(Exception, match=r".") as refused:
        monograph.export(module, (torch.randn(3, 4), torch.randn(5, 6)), dynamic_shapes=declared)
    assert not re.search(r"\bs\d+\b", str(refused.value)), str(refused.value)
    if isinstance(refused.value, monograph.BugError):
        raise refused.value
