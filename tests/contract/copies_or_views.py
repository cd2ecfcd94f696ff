"""Copies that are views at a batch of one: let in where nobody can tell, left out where one can."""

import torch
from torch import nn

from tests.contract.registry import probe


def of(*sizes):
    """One tensor."""
    return lambda: (torch.randn(*sizes),)


def batch(dim):
    """The batch varies."""
    return ({0: dim.AUTO},)


ONE = {"agrees": {"one": of(1, 4), "more": of(5, 4)}, "calls": {"none": of(0, 4)}, "shapes": batch}
SEEN = {"calls": {"one": of(1, 4), "more": of(5, 4), "none": of(0, 4)}, "shapes": batch}


def heads(x):
    """Each row three times: of one row, a view."""
    return x[:, None].expand(-1, 3, -1).reshape(-1, 4)


@probe("size", of(2, 4), **ONE)
def heads_computed_with(x):
    """What is computed lies as ever."""
    z = heads(x)
    return z.exp(), z.clone(), z.view(-1) * 2, torch.zeros_like(z)


@probe("size", of(2, 4), **ONE)
def heads_of_a_mask(x):
    """The mask was written to before."""
    mask = torch.zeros(x.shape).masked_fill_(x > 0, -1.0)
    z = mask.view(-1, 1, 4).expand(-1, 3, -1).reshape(-1, 1, 4)
    return torch.bmm(z.transpose(1, 2), z)


@probe("size", of(2, 4), **ONE)
def heads_beside_their_source(x):
    """The source is returned, and what is computed of its copies."""
    y = x * 2
    return heads(y) + 1, y


@probe("layout", of(2, 4), **SEEN)
def heads_returned(x):
    """A view of the input, where there is one row."""
    return heads(x), heads(x).t(), heads(x).detach()


@probe("layout", of(2, 4), **SEEN)
def heads_of_what_is_written_later(x):
    """The write is seen in one row alone."""
    y = x * 2
    z = heads(y)
    y.add_(1)
    return z * 3, y


@probe("layout", of(2, 4), **SEEN)
def columns_of_a_copy_written(x):
    """What is flattened in another order is a copy, unless there is one row."""
    y = x * 2
    z = y.t().reshape(-1)
    z.add_(1)
    return z * 3, y * 1


@probe("layout", of(2, 4), **SEEN)
def columns_of_a_mask_returned(x):
    """Written to before, and returned beside its source."""
    mask = torch.zeros(x.shape).masked_fill_(x > 0, -1.0)
    return mask.t().reshape(-1), mask


@probe("layout", of(2, 4), **SEEN)
def heads_asked_how_they_lie(x):
    """The answer is another one for one row."""
    z = heads(x)
    return z * 2 if z.is_contiguous() else z * 3


@probe("layout", of(2, 4), **SEEN)
def a_row_of_heads_returned(x):
    """The row lies in its source, where there is one."""
    y = x * 2
    return heads(y).select(0, 0), y


def gapped(*sizes):
    """Every other column."""
    return lambda: (torch.randn(sizes[0], 2 * sizes[1])[:, ::2],)


FLATTENED = {
    "calls": {
        "more": gapped(2, 3),
        "wider": gapped(4, 5),
        "one": gapped(1, 1),
        "none": gapped(0, 3),
        "whole": of(4, 3),
    },
    "shapes": lambda dim: ({0: dim.AUTO, 1: dim.AUTO},),
}


@probe("layout", gapped(1, 3), **FLATTENED)
def flattened_and_made_contiguous(x):
    """A view with gaps or a copy, as the sizes have it, and what is surely contiguous."""
    v = x.flatten()
    return v, v.float().contiguous()


@probe("layout", gapped(1, 3), **FLATTENED)
def flattened_and_ravelled(x):
    """The same of views of it."""
    v = x.reshape(-1)
    return v, v[1:].ravel(), v.unsqueeze(1).contiguous().view(1, -1)


def padded(n, k):
    """Keys of some lengths."""
    return lambda: (torch.randn(n, k, 8), torch.randn(n, k + 2, 8), torch.arange(1, n + 1))


@probe(
    "size",
    padded(2, 5),
    agrees={"one": padded(1, 3), "more": padded(4, 6)},
    shapes=lambda dim: ({0: dim.AUTO, 1: dim.AUTO}, {0: dim.AUTO, 1: dim.AUTO}, {0: dim.AUTO}),
)
class AttendsToWhatIsThere(nn.Module):
    """A mask of padded keys is repeated for each head."""

    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, memory, query, lengths):
        """Keys behind their row's length are hidden."""
        hidden = torch.arange(memory.size(1))[None] >= lengths[:, None]
        return self.attend(query, memory, memory, key_padding_mask=hidden)
