"""What a lowered graph may lose unnoticed: leaves, shared memory, draws, strides."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import Call, probe
from tests.contract.tensor_types import m


def between(dim, **ranges):
    """Sizes of the only input, with their ranges from 0."""
    return ({int(at[1:]): dim(at, min=0, max=top) for at, top in ranges.items()},)


def two_sizes(dim):
    """Both sizes vary, from 0 on."""
    return between(dim, d0=9, d1=9)


def of(*sizes):
    """Calls with other sizes."""
    return {f"{size}": (lambda size=size: (m(*size),)) for size in sizes}


def needing():
    """The caller's tensor needs gradients."""
    return (m(3, 4).requires_grad_(),)


LAID = {
    "plain": lambda: (m(4, 4),),
    "transposed": lambda: (m(4, 4).T,),
    "gapped": lambda: (m(4, 8)[:, ::2],),
    "row of many": lambda: (m(1, 4).expand(4, 4),),
}
IMAGES = {
    "plain": lambda: (m(2, 4, 3, 3),),
    "channels last": lambda: (m(2, 4, 3, 3).to(memory_format=torch.channels_last),),
    "one channel": lambda: (m(2, 1, 3, 3),),
    "turned": lambda: (m(2, 4, 3, 3).transpose(2, 3),),
}
AGAIN = {"again": lambda: (m(3, 4),), "a leaf": needing}


# --- memory that is shared at some sizes -------------------------------------------------------
@probe("overlap", LAID["gapped"], calls=LAID)
def views_of_a_copy_of_what_is_written(x):
    """They lie in the one copy, which is as long as the input; the new value of that is another."""
    x.add_(1)
    z = x.contiguous()
    return z.diagonal(), z.t(), z[1:], x[0]


@probe("overlap", lambda: (m(4, 4),), shapes=two_sizes, calls=of((5, 3), (3, 5), (0, 4), (2, 2)))
def narrowed_to_what_there_is(x):
    """All of it where the number of rows is at most that of columns."""
    return x.narrow(0, 0, min(x.shape[0], x.shape[1])).contiguous()


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((1, 4), (3, 1), (1, 1), (0, 2)))
def expanded_by_its_size(x):
    """A copy, unless there was but one row."""
    return x[:1].expand(x.shape[0], -1).contiguous()


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((4, 6), (5, 3), (1, 4), (0, 2)))
def flattened_behind_the_first(x):
    """A view where the number of rows is even: nothing is left out then."""
    return x[:, x.shape[0] % 2 :].ravel()


@probe("overlap", lambda: (m(3, 4).T,), shapes=two_sizes, calls=of((4, 1), (1, 4), (0, 3)))
def reshaped_to_itself(x):
    """A view for sizes of one, however it lies."""
    return x.reshape(x.shape[1], x.shape[0])


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((2, 3), (4, 1), (0, 0)))
def converted_to_its_own(x):
    """Nothing to convert: the input itself, and a slice of it."""
    return x.to(torch.float32), x[x.shape[0] // 4 :].to("cpu").float()


@probe("overlap", lambda: (m(2, 3, 4),), shapes=lambda d: between(d, d0=9, d1=9),
       calls=of((1, 3, 4), (2, 1, 4), (1, 1, 4), (0, 3, 4)))  # fmt: skip
def turned_and_flattened(x):
    """A copy, but for sizes of one."""
    return x.transpose(0, 1).flatten(0, 1)


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((1, 4), (4, 1), (0, 1)))
def squeezed_where_one(x):
    """One column of as many as there are."""
    return x[:, -1:].squeeze(1).contiguous()


@probe("overlap", lambda: (m(6),), shapes=lambda d: between(d, d0=9), calls=of((2,), (3,), (7,)))
def windows_unfolded(x):
    """Windows that overlap, unless there is one."""
    return x.unfold(0, 2, 1).contiguous()


@probe("overlap", lambda: (m(3, 2, 4),), shapes=lambda d: between(d, d0=9, d1=9),
       calls=of((1, 2, 4), (3, 1, 4), (0, 2, 4)))  # fmt: skip
def moved_dims(x):
    """As transposed."""
    y = x.movedim(0, 1)
    return y.contiguous(), y.reshape(-1, 4)


@probe("overlap", lambda: (m(5, 4),), shapes=two_sizes, calls=of((2, 4), (3, 1), (6, 2)))
def first_chunk_whole(x):
    """The first of two chunks is all of it where there is one row."""
    return x.chunk(2)[0].contiguous(), x.chunk(2, 1)[0].contiguous()


@probe("overlap", IMAGES["plain"], calls=IMAGES, shapes=lambda d: between(d, d0=4, d1=4, d2=4))
def of_a_memory_format(x):
    """A copy in channels-last, unless it lies so; with one channel it lies in both."""
    return x.contiguous(memory_format=torch.channels_last)


@probe("overlap", IMAGES["channels last"], calls=IMAGES)
def back_from_a_memory_format(x):
    """Two conversions, of which one gives back its argument."""
    y = x.to(memory_format=torch.channels_last)
    return y, y.contiguous(), x.to(memory_format=torch.preserve_format)


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((5, 2), (1, 3), (0, 3)))
def all_but_some(x):
    """The step of a slice that depends on a size: all of it where that is one."""
    return x[:: 1 + x.shape[0] % 2].contiguous()


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((5, 2), (4, 4), (6, 1), (2, 0)))
def written_where_whole(x):
    """What may be the input is written to."""
    y = x[:, x.shape[0] % 3 :].contiguous()
    y.add_(1)
    return y * 2


@probe("overlap", lambda: (m(3, 4),), shapes=two_sizes, calls=of((5, 2), (6, 4), (2, 0), (4, 3)))
def two_results_of_one_memory(x):
    """Fresh, and one a slice of the other that may be all of it."""
    y = x * 2
    return y, y[:, x.shape[0] % 3 :].contiguous()


@probe("overlap", IMAGES["plain"], calls=IMAGES)
def shuffled_in_one_group(x):
    """New memory also where nothing changes its place."""
    return F.channel_shuffle(x, 1)


@probe("overlap", lambda: (m(2, 4, 3, 3),), shapes=lambda d: between(d, d0=4, d2=4, d3=4),
       calls=of((1, 4, 2, 2), (0, 4, 3, 3), (2, 4, 1, 1)))  # fmt: skip
def pixels_by_one(x):
    """As above, of other operators."""
    return F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), x.roll(0, 0), x.rot90(0, (2, 3))


@probe("overlap", lambda: (m(3, 4),), calls={**of(), "again": lambda: (m(3, 4),)})
def nothing_to_pad_or_repeat(x):
    """Operators that copy although nothing is to be done."""
    return F.pad(x, (0, 0)), x.repeat(1, 1), x.flip(()), torch.cat([x]), x.tile((1,)), x.roll(0)


# --- leaves ----------------------------------------------------------------------------------
@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def leaf_between(x):
    """A history that begins inside, and one of the input that does not."""
    leaf = (x * 2).detach().requires_grad_()
    return leaf.exp(), leaf, x.detach() + 1


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def parameter_made(x):
    """A parameter of the call's own."""
    weight = nn.Parameter(torch.ones(4, 4))
    return x @ weight, weight * 1


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def flag_of_a_view(x):
    """What was computed before has no history."""
    y = torch.zeros(3)
    z = y + 1
    y.requires_grad = True
    return z, y + x[:, 0].detach()


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def leaf_written_beneath(x):
    """A leaf gets other data where autograd does not look."""
    y = x.detach().clone().requires_grad_()
    with torch.no_grad():
        y.mul_(2)
    return y * 3


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def leaf_that_nothing_is_dropped_of(x):
    """In place, and nothing is written: autograd does not refuse it."""
    y = x.detach().clone().requires_grad_()
    F.dropout(y, 0.0, inplace=True)
    return F.alpha_dropout(y, 0.5, False, inplace=True) * 3


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def detached_in_place(x):
    """The history ends, under the same name."""
    y = x * 2
    z = y + 1
    y.detach_()
    return y * 3, z


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def factories_of_leaves(x):
    """Made with their flag."""
    y = torch.tensor([1.0, 2], requires_grad=True)
    return y * 1, x.new_zeros(2, requires_grad=True), x.new_full((4,), 2, requires_grad=True) * x


@probe("mode", lambda: (m(3, 4),), calls=AGAIN)
def leaf_without_gradients(x):
    """The flag is set inside `no_grad`, and counts outside."""
    with torch.no_grad():
        y = (x * 2).requires_grad_()
        z = y * 2
    return z, y * 2


@probe("layout", lambda: (m(3, 4),), calls=AGAIN)
def flag_taken_back(x):
    """A leaf, and then none."""
    y = x.detach().clone().requires_grad_()
    z = y * 2
    y.requires_grad_(False)
    return y * 2, z


# --- draws -----------------------------------------------------------------------------------
@probe("outside", lambda: (m(3, 4),), calls=AGAIN)
def everything_dropped(x):
    """Nothing is drawn where all is dropped, by either name."""
    return F.dropout(x, 1.0), F.dropout1d(x, 1.0), F.alpha_dropout(x, 1.0, True), torch.rand(3)


@probe("outside", lambda: (m(3, 4),), shapes=two_sizes, calls=of((0, 4), (2, 0), (5, 5)))
def drawn_of_nothing(x):
    """Without elements nothing is drawn, and the input comes back."""
    return F.dropout(x, 0.5), torch.rand(3)


@probe("outside", lambda: (m(3, 4),), calls=AGAIN)
def drawn_for_nobody(x):
    """What nobody uses was drawn all the same."""
    torch.rand_like(x)
    F.dropout(x, 0.3)
    with torch.no_grad():
        torch.randn(2, 2).bernoulli_(0.5)
    x.detach().clone().uniform_()
    return torch.rand(2)


@probe("outside", lambda: (m(3, 4),), calls=AGAIN)
def certain_draws(x):
    """Probabilities of zero and one are drawn for."""
    y = x.detach().clone()
    return y.bernoulli_(0.0), torch.bernoulli(torch.ones(3)), torch.bernoulli(y, 1.0), torch.rand(2)


@probe("outside", lambda: (m(3, 4),), calls=AGAIN)
def in_and_out_of_training(x):
    """Idle operators of drawing kinds, and busy ones."""
    y = F.rrelu(x, training=False), F.dropout(x, 0.5, training=False), F.dropout(x, 0.0)
    z = F.rrelu(x, training=True), F.feature_alpha_dropout(x, 0.2, True), F.dropout1d(x, 0.4)
    return y, z, torch.randperm(5), torch.multinomial(x.detach().abs() + 1, 2), torch.normal(x, 1.0)


@probe("mode", lambda: (m(3, 4),), calls=AGAIN)
def drawn_in_regions(x):
    """Before, inside and after regions."""
    a = torch.rand(2)
    with torch.no_grad():
        b = F.dropout(x, 0.5)
    with torch.autocast("cpu", torch.bfloat16):
        c = F.dropout(x @ x.T, 1.0) + torch.rand(3, 3)
    return a, b, c, torch.randn(2)


@probe("outside", lambda: (m(1, 2, 3, 4),), calls={"again": lambda: (m(1, 2, 3, 4),)})
def attention_that_drops(x):
    """Some, everything, nothing."""
    attend = F.scaled_dot_product_attention
    return [attend(x, x, x, dropout_p=p) for p in (0.3, 0.0)], torch.rand(2)


@probe("outside", lambda: (m(5, 2, 3),), calls={"again": lambda: (m(5, 2, 3),)})
class DropsBetweenLayers(nn.Module):
    """A recurrent network in training, whose dropout drops all, some or nothing."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.GRU(3, 3, 2, dropout=p) for p in (0.0, 0.4, 1.0))

    def forward(self, x):
        return [layer(x)[0] for layer in self.layers], torch.rand(2)


@probe("outside", lambda: (m(4, 3),), calls={
    "thrice": Call(lambda: (m(4, 3),), times=3)})  # fmt: skip
class NormalisedAndDropped(nn.Module):
    """Statistics are updated between two draws."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(1.0)

    def forward(self, x):
        return self.norm(F.dropout(x, 0.5)) + self.drop(self.norm(x)), torch.rand(2)


# --- strides ---------------------------------------------------------------------------------
@probe("layout", LAID["plain"], calls=LAID)
def products_put_where_told(x):
    """What is given as `out` lies as the input does."""
    y = torch.mm(x, x, out=torch.empty_like(x))
    return y, torch.bmm(x[None], x[None], out=torch.empty_like(x[None]))


@probe("layout", LAID["transposed"], calls=LAID)
def sums_put_where_told(x):
    """As above, of operators that follow their arguments."""
    y = torch.add(x, 1, out=torch.empty(4, 4))
    z = torch.cumsum(x, 0, out=torch.empty_like(x))
    return y, z, torch.cat([x, x], out=torch.empty(8, 4).T.contiguous().T), torch.sin(x, out=y)


@probe("layout", LAID["plain"], calls=LAID)
def written_views_of_turned(x):
    """Writes through views of what lies as the input."""
    y = x.clone()
    y.t()[0].mul_(2)
    z = torch.zeros_like(x)
    z[1:].copy_(x[:-1])
    return y, z, y.diagonal(), z.view_as(z)


@probe("layout", IMAGES["plain"], calls=IMAGES)
def images_computed(x):
    """Operators that lay out their results after their input's format."""
    y = F.batch_norm(x, None, None, training=True)
    return y, F.interpolate(x, scale_factor=2), F.max_pool2d(x, 1), F.adaptive_avg_pool2d(x, 1), -x


@probe("layout", IMAGES["channels last"], calls=IMAGES)
def images_put_in_place(x):
    """As above, in place and into views."""
    y = x.clone()
    y[:, 0].sub_(1)
    y.relu_()
    return y, F.group_norm(y, 1), y.flatten(1), F.pad(y, (1, 1))


@probe("layout", LAID["plain"], calls=LAID)
def made_like_others(x):
    """Fresh tensors that lie as an argument."""
    y = torch.where(x > 0, x, 0)
    kinds = torch.zeros_like(x), torch.full_like(x, 2), x.new_zeros(4, 4), torch.rand_like(x)
    return y, kinds, x.double(), x.clamp_min(0), F.hardtanh(x), x.softmax(-1), x.cumsum(-1)


@probe("layout", LAID["transposed"], calls=LAID)
def leaking_in_place(x):
    """The random slope's operator writes rows, in place or not."""
    y = F.rrelu(x, training=True)
    z = F.rrelu(x.clone(), training=True, inplace=True)
    return y, z, F.rrelu(x), y * 2


@probe("layout", lambda: (m(4, 4), m(4, 4)), calls={
    name: (lambda given=given: (m(4, 4), *given())) for name, given in LAID.items()})  # fmt: skip
def drawn_where_it_lies(x, y):
    """Numbers are drawn in the order of memory."""
    z = y.clone().bernoulli_(0.5)
    return F.alpha_dropout(y, 0.5, True), z, F.rrelu(y, training=True), x * z


# --- identity --------------------------------------------------------------------------------
@probe("memory", lambda: (m(3, 4), m(3, 4)), calls={
    "again": lambda: (m(3, 4), m(3, 4)), "leaves": lambda: (*needing(), *needing()),
    "computed": lambda: (needing()[0] * 2, needing()[0] * 2)})  # fmt: skip
def input_detached_in_place(x, y):
    """What is returned is the input itself."""
    y.detach_()
    return y, x + y


@probe("memory", lambda: (m(3, 4),), calls=AGAIN)
def written_and_detached(x):
    """Another memory's history ends, and the input's after a write."""
    x.add_(1).detach_()
    y = x * 2
    z = y.detach_()
    return y, z, x


@probe("memory", lambda: (m(3, 4),), calls={
    **AGAIN, "computed": lambda: (needing()[0] * 2,)})  # fmt: skip
def one_of_several_results_detached_in_place(x):
    """What an operator gives beside others has a history to end."""
    largest = (x * 2).max(-1, keepdim=True).values
    largest.detach_()
    spread, mean = torch.std_mean(x * x, 1)
    mean.detach_()
    return x - largest, largest, spread, mean


# --- writes to copies of regions -------------------------------------------------------------
@probe("write", lambda: (m(3, 4), m(3, 4)), calls={
    "again": lambda: (m(3, 4), m(3, 4)), "never": lambda: (-m(3, 4).abs(), m(3, 4))},
    refused=("specialized-value",))  # fmt: skip
class NormalisedInALoop(nn.Module):
    """Statistics that a loop carries are updated without gradients."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x, y):
        v1 = y
        for _ in range(int((x > 0).sum().clamp(0, 3))):
            with torch.no_grad():
                v1 = self.norm(y)
        return v1


@probe("write", lambda: (m(3, 4),), calls=AGAIN)
class NormalisedByCopies(nn.Module):
    """A copy made outside is written to inside."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        mean = self.norm.running_mean.clone()
        var = self.norm.running_var.clone()
        with torch.no_grad():
            y = F.batch_norm(x, mean, var, training=True)
        return y + mean, var
