"""Writes and layouts: programs whose effects are easily lost where a graph may not write."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.effects import Weighted
from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m

LAYOUTS = {
    "transposed": lambda: (m(4, 4).T,),
    "gapped": lambda: (m(4, 8)[:, ::2],),
    "contiguous": lambda: (m(4, 4),),
}


@probe("write", lambda: (v(4),), agrees={"again": lambda: (v(4),)})
def idle_dropout_written(x):
    """Dropout that is off gives back its argument, which is written to."""
    y = F.dropout(x, 0.5, training=False)
    y.add_(2)
    return x * 1


@probe("overlap", lambda: (v(4),), agrees={"again": lambda: (v(4),)})
def idle_dropout_returned(x):
    """The input comes back, as itself and seen anew."""
    y = F.dropout(x, 0.5, training=False)
    return y, F.dropout(y.view(2, 2), 0.0)


@probe("write", lambda: (v(4),), agrees={"again": Call(lambda: (v(4),), times=2)})
class Overwritten(Weighted):
    """What has a history is overwritten by what has none: the gradient is zero, not missing."""

    def forward(self, x):
        y = self.w * x
        y.copy_(x)
        z = self.w * 2
        z.zero_()
        return y, z + x


@probe("write", lambda: (v(4),), agrees={"again": lambda: (v(4),)})
class OverwrittenByAnother(Weighted):
    """Both have a history, of different weights."""

    def __init__(self):
        super().__init__()
        self.u = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.w * x
        y.copy_(self.u * 2)
        return y


@probe("write", lambda: (v(4),), agrees={"again": lambda: (v(4),)})
class InputScaled(Weighted):
    """Autograd keeps what the caller's memory held, and the write takes it away."""

    def forward(self, x):
        x.mul_(self.w)
        return x + 1


@probe("overlap", lambda: (m(4, 4),), calls=LAYOUTS)
def flattened(x):
    """A view for one layout and a copy for another, both returned."""
    y = x.reshape(-1)
    return y, x.reshape(-1).view(2, 8), y + 1


@probe("overlap", lambda: (m(4, 4).T,), calls=LAYOUTS)
def flattened_transposed(x):
    """As above, a copy at the example."""
    y = x.reshape(-1)
    return y, x.contiguous(), y + 1


@probe("layout", lambda: (m(4, 8)[:, ::2],), calls=LAYOUTS)
def gaps_written(x):
    """What is computed from written memory lies as that memory does."""
    x[0] = 7
    return x * 2


@probe("overlap", lambda: (m(4, 4),), agrees={"again": lambda: (m(4, 4),)})
def view_of_the_written_twice(x):
    """One view of a written input, returned in two places."""
    y = x[2:]
    x.view(-1)[0].fill_(2)
    return y, [y, x], y.expand(2, -1, -1)


@probe("type", lambda: (v(4),), agrees={"again": lambda: (v(4),)})
def parts_of_a_conjugate(x):
    """Real and imaginary part of what lies in memory as its conjugate."""
    z = torch.complex(x, x * 2).conj()
    return z.imag + 1, z.real, z.conj().imag * 2


@probe("type", lambda: (torch.complex(v(4), v(4)),), agrees={
    "conjugate": lambda: (torch.complex(v(4), v(4)).conj(),),
    "again": lambda: (torch.complex(v(4), v(4)),),
})  # fmt: skip
def parts_of_an_input(z):
    """As above, where the caller decides."""
    return z.imag * 2, z.real.sum()


@probe("mode", lambda: (m(3, 4),), agrees={"again": lambda: (m(3, 4),)})
class ReadWithoutGradients(Weighted):
    """A view of what was written is read where autograd does not look, and then where it does."""

    def forward(self, x):
        h = self.w * x
        column = h[:, 1]
        h.add_(1)
        with torch.no_grad():
            scale = column * 2
        return column * scale, column


@probe("overlap", lambda: (m(3, 3),), agrees={"again": lambda: (m(3, 3),)})
def read_without_gradients(x):
    """As above: the view comes back, of the input."""
    column = x[:, 1]
    x[0] = 7
    with torch.no_grad():
        twice = column * 2
    return column, twice


class Buffered(nn.Module):
    """A buffer that forward replaces."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(6.0).view(2, 3))


@probe("write", lambda: (v(3),), agrees={"thrice": Call(lambda: (v(3),), times=3)})
class CopiesOfTheReplaced(Buffered):
    """Some of what comes back views the old buffer, some is a copy of it."""

    def forward(self, x):
        old, turned = self.b[1:], self.b.t()
        found = turned.contiguous(), self.b.double(), turned.reshape(-1), self.b.reshape(3, 2)
        self.b = self.b * 2 + x
        return old, found, old.contiguous(), self.b.expand(2, -1, -1).double()


def needing_gradients():
    """A leaf that needs gradients: visible writes to it are refused."""
    return (m(3, 4).requires_grad_(),)


@probe("write", lambda: (m(3, 4),), agrees={"a leaf": needing_gradients})
def written_beneath_its_history(x):
    """A write that autograd does not see goes to any tensor, which stays what it was."""
    x.detach().add_(1)
    return x, -x.detach()


def beginning_later():
    """A tensor that begins in the middle of its memory."""
    return (torch.randn(9)[1:].view(2, 4),)


@probe("layout", lambda: (m(2, 4),), calls={"later": beginning_later, "again": lambda: (m(2, 4),)})
def written_at_a_place_in_memory(x):
    """The place is counted from where the memory begins, not the tensor."""
    y = x.as_strided((2,), (1,), 1)
    y.add_(1)
    return y, x * 2


@probe("layout", beginning_later, calls={"first": lambda: (m(2, 4),), "again": beginning_later})
def written_from_a_row_on(x):
    """As above, counted from where a row begins."""
    y = x[1:].as_strided((2,), (1,))
    y.add_(1)
    return y, x * 2


@probe("layout", beginning_later, calls={"first": lambda: (m(2, 4),), "again": beginning_later})
def read_where_a_row_was_written(x):
    """What is read after a write is at the same place of a copy, which begins elsewhere."""
    x.add_(1)
    y = x[1:].as_strided((2,), (1,))
    y.mul_(2)
    z = x.as_strided((2, 2), (1, 2), 3)
    z.add_(1)
    return y, y * 3, z, x * 2


@probe("write", lambda: (v(4),), calls={"with gradients": lambda: (v(4).requires_grad_(),)})
def strided_without_history(x):
    """Memory is walked through from what autograd does not follow."""
    y = x * 2
    z = y.detach().add_(1).as_strided((2,), (1,))
    return y, z


@probe(
    "data", lambda: (m(3, 4),), agrees={"again": lambda: (m(3, 4),), "all": lambda: (m(3, 4) + 9,)}
)
def used_before_the_write(x):
    """Whether it is a copy depends on data, and nobody looks at it after the next write."""
    y = x * 1
    z = y.narrow(-1, 0, (x.sum(0) > 0).nonzero().shape[0]).contiguous()
    w = z.transpose(0, 1) * 2
    y.add_(1)
    return w, y


@probe("layout", lambda: (m(4, 4),), calls={"transposed": lambda: (m(4, 4).T,)})
def windows_written_at_a_layout(x):
    """Windows are written to by place, and what they are of lies as it did."""
    y = x.relu()
    y.unfold(-1, 2, 3).neg_()
    return y


@probe("mode", lambda: (torch.rand(3, 2),), calls={"more": lambda: (torch.rand(5, 2),)},
       shapes=lambda dim: ({0: dim.AUTO},))  # fmt: skip
def rows_of_an_inference_tensor(x):
    """Rows are inference tensors, too, also the last one of a loop."""
    with torch.inference_mode():
        made = x.tanh()
    for row in made:
        last = row
    return last


@probe("outside", lambda: (torch.rand(3, 40, dtype=torch.float64),))
def drawn_for_doubles(x):
    """Doubles are drawn with more random bits, also where nothing is followed."""
    return torch.bernoulli((x > 0.5).to(x.dtype) * 0.7), torch.rand(2)


FOLLOWED = Call(lambda: (v(4).requires_grad_(),), under=torch.no_grad)


@probe("mode", lambda: (v(4),), agrees={"followed": FOLLOWED})
def idle_dropout_before_gradients(x):
    """It is no operator that autograd could miss: its argument's history goes on."""
    y = F.dropout(x, 0.5, training=False)
    with torch.enable_grad():
        return F.dropout(y * 2, 0.0)
