"""Row `layout`: how tensors lie in memory and what they say of themselves."""

import torch
from torch import nn

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


def transposed():
    """Give a matrix of the same sizes in the other order."""
    return (m(4, 3).T,)


def gapped():
    """Give a matrix that leaves out every other column."""
    return (m(3, 8)[:, ::2],)


def offset():
    """Give a matrix that begins within its storage."""
    return (torch.randn(13)[1:].view(3, 4),)


def repeated():
    """Give a matrix whose rows are one."""
    return (v(4).expand(3, 4),)


def column():
    """Give a matrix whose columns are one."""
    return (v(3)[:, None].expand(3, 4),)


MATRICES = {
    "transposed": transposed,
    "gapped": gapped,
    "offset": offset,
    "repeated": repeated,
    "column": column,
}


def images(memory_format=torch.contiguous_format):
    """How to make images that lie in a memory format."""
    return lambda: (m(2, 3, 4, 4).contiguous(memory_format=memory_format),)


IMAGES = {
    "channels last": images(torch.channels_last),
    "transposed": lambda: (m(2, 3, 4, 4).mT.contiguous().mT,),
    "cut": lambda: (m(2, 3, 4, 8)[..., :4],),
}


@probe("layout", lambda: (m(),), calls=MATRICES)
def contiguity_asked(x):
    """A branch on contiguity."""
    return x * 2 if x.is_contiguous() else x * 3


@probe("layout", transposed, calls={**MATRICES, "contiguous": lambda: (m(),)})
def contiguity_denied(x):
    """The example is not contiguous."""
    return x * 2 if not x.is_contiguous() else x * 3


@probe("layout", lambda: (m(),), calls=MATRICES)
def strides_asked(x):
    """Arithmetic on strides."""
    return x * x.stride(0) + x.stride()[1]


@probe("layout", lambda: (m(),), calls=MATRICES)
def offset_asked(x):
    """Arithmetic on the offset in the storage."""
    return x + x.storage_offset()


@probe("layout", lambda: (m(),), calls=MATRICES)
def viewed(x):
    """`view` fails where `reshape` copies."""
    return x.view(-1) * 2


@probe("layout", lambda: (m(),), calls=MATRICES)
def reshaped(x):
    """`reshape` gives a view or a copy."""
    return x.reshape(-1)


@probe("layout", lambda: (m(),), calls=MATRICES)
def written_through_reshape(x):
    """A write reaches the input only through a view."""
    x.reshape(-1).add_(1)
    return x * 2


@probe("layout", lambda: (m(),), calls=MATRICES)
def written_through_contiguous(x):
    """`contiguous` of a contiguous tensor is the tensor."""
    x.contiguous().mul_(2)
    return x + 1


@probe("layout", lambda: (m(),), calls=MATRICES)
def contiguous_returned(x):
    """The input itself, or a copy of it."""
    return x.contiguous()


@probe("layout", lambda: (m(),), calls=MATRICES)
def flattened_and_returned(x):
    """A view, or a copy."""
    return x.flatten(), x.ravel(), x.clone()


@probe("layout", lambda: (m(),), calls=MATRICES)
def like_the_input(x):
    """New tensors lie as the input lies."""
    return torch.empty_like(x).fill_(1), torch.zeros_like(x), x + 1, x.clone()


@probe("layout", lambda: (m(),), calls=MATRICES)
def strided_directly(x):
    """`as_strided` sees the memory and not the sizes."""
    return x.as_strided((3,), (1,))


@probe("layout", lambda: (m(),), calls=MATRICES)
def columns_written(x):
    """Writes through two views of one tensor."""
    x.t()[0].add_(1)
    x[:, 1].mul_(2)
    return x.sum(0)


@probe("layout", lambda: (m(),), calls=MATRICES)
def values_alone(x):
    """Nothing asks for a layout: every layout gives the values, laid as eager lays them."""
    return x.softmax(-1) + x.sum(0), x.mT @ x


@probe("layout", images(), calls=IMAGES)
def memory_format_asked(x):
    """A branch on channels-last."""
    if x.is_contiguous(memory_format=torch.channels_last):
        return x * 2
    return x * 3


@probe("layout", images(torch.channels_last), calls={**IMAGES, "contiguous": images()})
def channels_last_example(x):
    """The example lies channels-last."""
    return torch.nn.functional.conv2d(x, torch.ones(2, 3, 3, 3)), x.relu()


@probe("layout", images(), calls=IMAGES)
class Convolution(nn.Module):
    """The result of a convolution lies as its input lies."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = self.conv(x)
        return y, nn.functional.interpolate(y, scale_factor=2.0)


@probe("layout", images(), calls=IMAGES)
def preserved_format(x):
    """`to` and `clone` preserve a format, `contiguous` does not."""
    return x.to(torch.float64), x.clone(memory_format=torch.preserve_format), x.contiguous()


@probe(
    "layout",
    lambda: (v(),),
    agrees={"plain": lambda: (v(),)},
    calls={
        "with gradient": lambda: (v().requires_grad_(),),
        "computed": lambda: (v().requires_grad_() * 1,),
        "a parameter": lambda: (nn.Parameter(v()),),
    },
)
def requires_grad_asked(x):
    """A branch on requires_grad."""
    return x * 2 if x.requires_grad else x * 3


@probe(
    "layout",
    lambda: (v().requires_grad_(),),
    calls={
        "without": lambda: (v(),),
        "computed": lambda: (v().requires_grad_() * 1,),
        "under no_grad": Call(lambda: (v().requires_grad_(),), under=torch.no_grad),
    },
)
def requires_grad_of_the_example(x):
    """The example requires gradients."""
    y = x * 2
    return y * 3 if y.requires_grad else y * 5


@probe(
    "layout",
    lambda: (v(),),
    calls={
        "leaf": lambda: (v().requires_grad_(),),
        "computed": lambda: (v().requires_grad_() * 1,),
    },
)
def leaf_asked(x):
    """A branch on is_leaf."""
    return x * 2 if x.is_leaf else x * 3


@probe(
    "layout",
    lambda: (v(),),
    calls={"computed": lambda: (v().requires_grad_() * 1,)},
)
def grad_fn_asked(x):
    """A branch on grad_fn, and on a gradient that has been stored."""
    scale = 2 if x.grad_fn is None else 3
    return x * scale * (5 if x.is_leaf and x.grad is None else 7)


@probe(
    "layout",
    lambda: (v(),),
    calls={
        "with gradient": lambda: (v().requires_grad_(),),
        "computed": lambda: (v().requires_grad_() * 1,),
    },
)
def gradients_follow(x):
    """Nothing asks: gradients go where eager's go."""
    return x * 2, x.detach() * 3, (x * 2).sum()


@probe(
    "layout",
    lambda: (v(),),
    calls={
        "leaf": lambda: (v().requires_grad_(),),
        "computed": lambda: (v().requires_grad_() * 1,),
    },
)
def written_in_place(x):
    """A leaf that requires gradients refuses to be written to."""
    x.add_(1)
    return x * 2


@probe(
    "layout",
    lambda: (v(),),
    calls={
        "leaf": lambda: (v().requires_grad_(),),
        "computed": lambda: (v().requires_grad_() * 1,),
    },
    refused=("write-outlives-call",),
)
def requires_grad_set(x):
    """The caller's tensor requires gradients afterwards."""
    x.requires_grad_()
    return x * 2


@probe(
    "layout",
    lambda: (torch.randn(3, dtype=torch.complex64),),
    agrees={"same": lambda: (torch.randn(3, dtype=torch.complex64),)},
    calls={
        "conjugate": lambda: (torch.randn(3, dtype=torch.complex64).conj(),),
        "resolved": lambda: (torch.randn(3, dtype=torch.complex64).conj().resolve_conj(),),
    },
)
def conj_asked(z):
    """A branch on the conjugate bit."""
    return z * 2 if z.is_conj() else z * 3


@probe(
    "layout",
    lambda: (torch.randn(3, dtype=torch.complex64),),
    calls={"conjugate": lambda: (torch.randn(3, dtype=torch.complex64).conj(),)},
)
def conj_returned(z):
    """Views of a conjugate are conjugates; a physical one is not."""
    return z.conj(), z.resolve_conj(), z[1:], torch.view_as_real(z.resolve_conj())


@probe(
    "layout",
    lambda: (torch.randn(3, dtype=torch.complex64),),
    calls={"conjugate": lambda: (torch.randn(3, dtype=torch.complex64).conj(),)},
)
def conj_written(z):
    """A write to a conjugate is a write to what it shows."""
    z.mul_(1j)
    return z.imag + 1


@probe(
    "layout",
    lambda: (v(),),
    calls={
        "negative": lambda: (torch.randn(3, dtype=torch.complex64).conj().imag,),
        "strided": lambda: (torch.randn(3, dtype=torch.complex64).imag,),
    },
)
def neg_asked(x):
    """A branch on the negative bit."""
    return x * 2 if x.is_neg() else x * 3


@probe(
    "layout",
    lambda: (v(), m()),
    agrees={"same": lambda: (v(), m())},
    calls={
        "other asked": lambda: (v(), m(4, 3).T),
        "not asked": lambda: (torch.randn(6)[::2], m()),
    },
)
def one_of_two_asked(x, y):
    """Only the second input is asked for its layout."""
    return x * 2, y * (2 if y.is_contiguous() else 3)


@probe("layout", lambda: (m(),), calls=MATRICES)
def derived_asked(x):
    """A tensor computed from the input is asked; its strides follow the input's."""
    y = (x + 1).t()
    return y * 2 if y.is_contiguous() else y * 3


@probe(
    "layout",
    lambda: (m(3, 1),),
    calls={
        "odd stride": lambda: (torch.randn(30).as_strided((3, 1), (1, 7)),),
        "transposed": lambda: (m(1, 3).T,),
    },
)
def strides_of_a_size_of_one(x):
    """The stride of a size of 1 means nothing and is asked all the same."""
    return x * x.stride(1)


@probe(
    "layout",
    lambda: (m(4, 4),),
    agrees={"larger": lambda: (m(6, 4),)},
    calls={
        "transposed": lambda: (m(4, 6).T,),
        "gapped": lambda: (m(6, 8)[:, ::2],),
        "one row": lambda: (m(1, 4),),
        "one row of many": lambda: (m(4, 4)[::4],),
    },
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def viewed_at_any_size(x):
    """`view` at sizes that vary."""
    return x.view(-1, 2), x.is_contiguous()


@probe("layout", lambda: (m(),), calls=MATRICES, refused=("memory-exposed",))
def address_and_storage(x):
    """How large the storage is."""
    return x * x.untyped_storage().nbytes()


@probe("layout", lambda: (m(),), calls=MATRICES)
def view_tried(x):
    """An operator that raises for some layouts, and is caught."""
    try:
        return x.view(-1) * 2
    except RuntimeError:
        return x.reshape(-1) * 3


def tokens():
    """Numbers of tokens, contiguous."""
    return (torch.arange(12).reshape(2, 6),)


TOKENS = {
    "cut": lambda: (torch.arange(24).reshape(2, 12)[:, :6],),
    "last": lambda: (torch.arange(12).reshape(2, 6)[:, -1:],),
    "one last": lambda: (torch.arange(12).reshape(1, 12)[:, -1:],),
    "every other": lambda: (torch.arange(24).reshape(2, 12)[:, ::2],),
    "transposed": lambda: (torch.arange(12).reshape(6, 2).T,),
    "repeated": lambda: (torch.arange(6).expand(3, 6),),
    "of one": lambda: (torch.zeros((), dtype=torch.int64).expand(2, 3),),
}


def any_sizes(dim):
    """Two dimensions that differ between calls, and may be 1 where they are named."""
    return {"ids": {0: dim("rows", min=1, max=9), 1: dim("columns", min=1, max=20)}}


@probe("layout", tokens, agrees=TOKENS, shapes=any_sizes)
class Decoder(nn.Module):
    """As language models do within a `try`: a view of tokens, attention, a view of its result."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 8)
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, ids):
        try:
            return self.attended(ids.view(-1, ids.shape[-1]))
        except TypeError as error:
            message = "no tokens"
            raise TypeError(message) from error

    def attended(self, ids):
        """One layer."""
        states = self.table(ids) + torch.arange(ids.shape[1])[:, None]
        heads = (each.view(*ids.shape, 2, 4) for each in self.qkv(states).split(8, -1))
        query, key, value = (each.transpose(1, 2) for each in heads)
        weights = (query @ key.mT).softmax(-1)
        found = (weights @ value).transpose(1, 2).contiguous()
        return self.norm(found.view(-1, 8)).view(*ids.shape, 8)


@probe("layout", tokens, agrees=TOKENS, shapes=any_sizes)
class Experts(nn.Module):
    """Tokens sorted by the expert that they go to, viewed within a `try`."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 8)
        self.gate = nn.Linear(8, 3)

    def forward(self, ids):
        states = self.table(ids).reshape(-1, 8)
        weights, chosen = self.gate(states).softmax(-1).topk(2)
        order = chosen.view(-1).argsort(stable=True)
        try:
            routed = states[order // 2] * weights.view(-1)[order].view(-1, 1)
            back = torch.empty_like(order)
            back[order] = torch.arange(order.shape[0])
            return routed[back].view(-1, 2, 8).sum(1).view(*ids.shape, 8)
        except RuntimeError:
            return states


@probe(
    "layout",
    lambda: (m(4, 6),),
    agrees={
        "cut": lambda: (m(4, 9)[:, :6],),
        "every other": lambda: (m(8, 12)[::2, ::2],),
        "transposed": lambda: (m(6, 4).T,),
        "repeated": lambda: (v(6).expand(4, 6),),
    },
)
def split_within_a_try(x):
    """A view that merges nothing exists for any layout, and what copies makes rows."""
    try:
        y = x.view(2, 2, 1, 6).view(2, 2, 2, 3)
        return y, (x * 2).contiguous().view(-1), x.sum(-1).view(2, 2)
    except RuntimeError:
        return x * 2


@probe(
    "layout",
    lambda: (m(4, 6),),
    agrees={
        "none": lambda: (m(0, 6),),
        "none, transposed": lambda: (m(6, 0).T,),
        "none, cut": lambda: (m(4, 12)[4:, ::2],),
        "one": lambda: (m(1, 6),),
        "one of many": lambda: (m(8, 6)[::8],),
    },
    calls={"cut": lambda: (m(4, 9)[:, :6],), "one, cut": lambda: (m(1, 12)[:, ::2],)},
    shapes=lambda dim: {"x": {0: dim("n", min=0, max=9)}},
)
def rows_asked_of_none_and_of_one(x):
    """Strides where there are no elements, or one, are nobody's business."""
    try:
        y = x.view(x.shape[0] * 6)
    except RuntimeError:
        y = x.sum(-1)
    return y * 2 if x.is_contiguous() else y * 3


@probe(
    "layout",
    images(),
    calls={
        **IMAGES,
        "none": lambda: (m(0, 3, 4, 4),),
        "none, channels last": lambda: (
            torch.empty(0, 3, 4, 4, memory_format=torch.channels_last),
        ),
        "one": lambda: (m(1, 3, 4, 4),),
        "one, odd": lambda: (torch.randn(99).as_strided((1, 3, 4, 4), (1, 16, 4, 1)),),
    },
    shapes=lambda dim: {"x": {0: dim("n", min=0, max=9)}},
)
def format_asked_of_none(x):
    """Without elements a tensor is contiguous however it lies, and yet of one format or another."""
    y = x.contiguous()
    scale = 2 if y.is_contiguous(memory_format=torch.channels_last) else 3
    return y * scale, (x + 1).stride(1)


@probe(
    "layout",
    lambda: (m(),),
    calls={
        "no rows": lambda: (m(0, 4),),
        "no columns": lambda: (m(3, 0),),
        "no columns, transposed": lambda: (m(0, 3).T,),
        "nothing": lambda: (m(0, 0),),
        "one": lambda: (m(1, 1),),
    },
    shapes=lambda dim: {"x": {0: dim("n", min=0, max=9), 1: dim("m", min=0, max=9)}},
)
def format_asked_without_columns(x):
    """A stride counts an empty dimension as one: rows without columns have no format."""
    return x * 2 if x[None, None].is_contiguous(memory_format=torch.channels_last) else x.t()


@probe(
    "layout",
    lambda: (m(), m(4, 3)),
    agrees={"both": lambda: (m(4, 3).T, m(3, 4).T), "cut": lambda: (m(3, 8)[:, ::2], m(8, 3)[::2])},
)
def strides_of_what_is_made_in_rows(x, y):
    """Products, reductions, copies and what sizes alone decide."""
    made = [x @ y, x.softmax(0), torch.cat([x, y.T]), x.amax(0, keepdim=True), x.sum(0)]
    made += [x.argmax(1), x.repeat(2, 1), x.clone(memory_format=torch.contiguous_format)]
    steps = [step for each in made for step in each.stride()]
    return sum(step * place for place, step in enumerate(steps)), made


@probe(
    "layout",
    lambda: (m(), m()),
    calls={
        "first": lambda: (m(4, 3).T, m()),
        "second": lambda: (m(), m(4, 3).T),
        "both": lambda: (m(4, 3).T, m(4, 3).T),
        "cut": lambda: (m(3, 8)[:, ::2], m(3, 8)[:, ::2]),
    },
)
def strides_of_what_follows(x, y):
    """Elementwise operators, copies, sorts and picks follow what they are given."""
    made = [x * y, x.clone(), x.sort(0)[0], x[torch.arange(3)], torch.where(y > 0, x, y)]
    made += [x.clone().add_(y), torch.zeros_like(y), x.flip(0), x.T, x.double()]
    steps = [step for each in made for step in each.stride()]
    return sum(step * place for place, step in enumerate(steps)), made


@probe(
    "layout",
    lambda: (m(2, 3), m(2, 3)),
    agrees={"cut": lambda: (m(2, 6)[:, ::2], m(2, 3))},
    calls={"other": lambda: (m(2, 3), m(3, 2).T)},
)
def written_in_place_and_asked(x, y):
    """What is written in place lies as before, whatever is written."""
    made = torch.zeros(2, 3)
    made.copy_(x)
    made.add_(x)
    made[0] = x[1]
    kept = (y * 1).mul_(x)
    return made * (2 if made.is_contiguous() else 3), kept * (2 if kept.is_contiguous() else 5)


@probe("layout", lambda: (m(),), calls=MATRICES)
class GradientInForward(nn.Module):
    """The gradient of a product of matrices lies as they do."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return torch.func.grad(lambda t: self.inner(t).sin().sum())(x)


@probe("layout", lambda: (m(), m(4, 4)), calls={"turned": lambda: (m(4, 3).T, m(4, 4).T)})
def gradient_of_a_product(x, y):
    """Of both."""
    return torch.func.grad(lambda t: (t @ y).sin().sum())(x), torch.func.vjp(lambda t: x @ t, y)[1](
        x @ y
    )[0]
