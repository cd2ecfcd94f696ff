"""Row `mode`: gradients that forward takes, changes or keeps, and code that is run by others."""

import functools
import warnings

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m

without = functools.partial(Call, under=torch.no_grad)


def leaf():
    """Give a matrix that requires gradients."""
    return (m(4, 3).requires_grad_(),)


def plain():
    """Give a matrix that does not."""
    return (m(4, 3),)


WAYS = {
    "leaf": leaf,
    "leaf without": without(leaf),
    "plain": plain,
    "plain without": without(plain),
    "inference": Call(plain, under=torch.inference_mode),
}


class Sevenfold(torch.autograd.Function):
    """A square whose backward is another."""

    @staticmethod
    def forward(ctx, x):
        """Keep x."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        """Give seven times too much."""
        return grad * ctx.saved_tensors[0] * 14


class Rounded(torch.autograd.Function):
    """Rounding with the gradient of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale=2.0):
        """Keep nothing."""
        return (x * scale).round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep the scale."""
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        """Pass it through."""
        return grad * ctx.scale, None


class AsksWhoNeedsIt(torch.autograd.Function):
    """What it computes depends on who requires gradients."""

    @staticmethod
    def forward(ctx, x, y):
        """Ask the context."""
        return x * 2 if ctx.needs_input_grad[1] else x * 3 + y

    @staticmethod
    def backward(ctx, grad):
        """Give something."""
        return grad, grad


class Doubled(torch.autograd.Function):
    """A write in place."""

    @staticmethod
    def forward(ctx, x):
        """Say what is written to."""
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        """Give twice too much."""
        return grad * 4


class Linear(nn.Module):
    """A layer that all have."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)


def others(*names):
    """The ways beside those that must agree."""
    return {name: way for name, way in WAYS.items() if name not in names}


OTHERS = others("plain", "plain without")


@probe("mode", plain, agrees={"plain without": without(plain)}, calls=OTHERS)
def function_of_an_input(x):
    """A backward of its own, of the input alone."""
    return Sevenfold.apply(x), x + 1


@probe("mode", without(leaf), agrees={"plain": plain}, calls=OTHERS)
def function_exported_without(x):
    """Exported under no_grad, of an input that requires gradients."""
    return Sevenfold.apply(x + 1) * x


@probe("mode", plain, agrees={"leaf": leaf, "leaf without": without(leaf)})
def function_of_what_is_detached(x):
    """Nothing goes back through it anyway."""
    return Sevenfold.apply(x.detach()) * x


@probe("mode", plain, agrees={"leaf": leaf, "leaf without": without(leaf)})
def function_in_no_grad(x):
    """Within a region without gradients."""
    with torch.no_grad():
        y = Sevenfold.apply(x)
    return y * x


@probe("mode", plain, calls=OTHERS)
def function_in_enable_grad(x):
    """Within a region with gradients, whatever surrounds it."""
    with torch.enable_grad():
        return Sevenfold.apply(x) * 2


@probe("mode", without(plain), calls={"plain": plain, **OTHERS})
class FunctionOfParameters(Linear):
    """Behind parameters, which require gradients."""

    def forward(self, x):
        return Rounded.apply(self.inner(x), 3.0)


def freeze(module):
    """Let nothing require gradients."""
    module.requires_grad_(False)


@probe("mode", without(plain), agrees={"frozen": Call(plain, before=freeze)})
class FunctionOfFrozen(Linear):
    """Parameters that are frozen after the export."""

    def forward(self, x):
        return Rounded.apply(self.inner(x)), self.inner.weight.sum()


@probe("mode", plain, calls=WAYS)
def function_with_a_default(x):
    """An argument that the function itself gives."""
    return Rounded.apply(x) + Rounded.apply(x, 5.0)


@probe("mode", plain, calls=WAYS)
def function_of_a_list(x):
    """A tensor in a closure, of which a function is told nothing."""

    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, given):
            return given * x

        @staticmethod
        def backward(ctx, grad):
            return grad

    return Inside.apply(x.detach() + 1) + Inside.apply(torch.ones(3))


@probe(
    "mode",
    lambda: (v(), v()),
    calls={
        "second": lambda: (v(), v().requires_grad_()),
        "second without": without(lambda: (v(), v().requires_grad_())),
        "first without": without(lambda: (v().requires_grad_(), v())),
        "without": without(lambda: (v(), v())),
    },
)
def needs_input_grad_asked(x, y):
    """What is computed depends on what autograd would need."""
    return AsksWhoNeedsIt.apply(x, y)


@probe("mode", plain, calls=WAYS)
def function_that_writes(x):
    """It writes to its input."""
    y = x + 1
    z = Doubled.apply(y)
    return y, z


@probe("mode", plain, calls=WAYS)
def function_under_a_transform(x):
    """`torch.func` goes through its backward."""
    return torch.func.grad(lambda t: (Rounded.apply(t) * t).sum())(x)


@probe("mode", leaf, calls=WAYS)
class Checkpointed(Linear):
    """A reentrant checkpoint."""

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=True) * 2


@probe("mode", plain, calls=WAYS)
class CheckpointedOfNothing(Linear):
    """A reentrant checkpoint of what requires no gradients has none for its parameters."""

    def forward(self, x):
        return checkpoint(lambda t: self.inner(t).relu(), x, use_reentrant=True)


@probe("mode", leaf, calls=WAYS)
class CheckpointedAnew(Linear):
    """A checkpoint that is not reentrant."""

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False) * 2


@probe("mode", leaf, calls=WAYS)
class CheckpointedInSequence(Linear):
    """Checkpoints one after another."""

    def forward(self, x):
        return checkpoint_sequential([self.inner, self.inner], 2, x, use_reentrant=True)


@probe("mode", leaf, calls=WAYS, refused=("gradient-in-forward",))
class CheckpointedIdentity(Linear):
    """A checkpoint that gives back what it is given, and something that needs no gradient."""

    def forward(self, x):
        return checkpoint(lambda t: (t, torch.ones(3)), x, use_reentrant=True)


@probe("mode", plain, calls=WAYS)
def saved_otherwise(x):
    """What autograd saves is changed."""
    with saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        return (x * x).sin()


class WrittenThroughAView(nn.Module):
    """An attribute is a view of a buffer: what is written through either is followed in both."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(4, 3))
        self.rows = self.b[1:3]
        self.apart = self.b[3:].detach()

    def forward(self, x):
        self.rows.add_(x[1:3])
        self.b.mul_(x)
        return self.b * 1, self.rows * 2, self.apart * 3


probe("mode", leaf, agrees={"without": without(leaf)}, calls=others("without"))(WrittenThroughAView)


class Sharper(TorchDispatchMode):
    """A mode that computes otherwise, beneath autograd."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        return made * 2 if func is torch.ops.aten.sin.default else made


@probe("mode", plain, calls=WAYS)
def computed_in_a_mode(x):
    """Autograd goes back through what was called, and not through what the mode made of it."""
    with Sharper():
        y = (x * x).sin()
    return y + x.sin()


@probe("mode", leaf, agrees={"without": without(leaf)}, calls=others("without"))
def saved_elsewhere(x):
    """What autograd saves is moved."""
    with save_on_cpu():
        return (x * x).sin()


@probe("mode", without(plain), calls=WAYS)
class HookedBackward(Linear):
    """A hook on the way back through a module."""

    def __init__(self):
        super().__init__()
        self.inner.register_full_backward_hook(lambda *_: (torch.full((4, 3), 7.0),))

    def forward(self, x):
        return self.inner(x)


@probe("mode", leaf, calls=WAYS, refused=("gradient-in-forward",))
def hook_on_a_tensor(x):
    """A hook that changes a gradient."""
    y = x * 2
    y.register_hook(lambda grad: grad * 5)
    return y


@probe("mode", leaf, calls=WAYS, refused=("gradient-in-forward",))
def hook_on_an_input(x):
    """A hook on the input itself."""
    if x.requires_grad:
        x.register_hook(lambda grad: grad * 5)
    return x * 2


@probe("mode", leaf, calls=WAYS, refused=("gradient-in-forward",))
def gradient_kept(x):
    """A gradient that is kept on what is returned."""
    y = x * 2
    y.retain_grad()
    return y, y + 1


@probe("mode", plain, calls=WAYS, refused=("gradient-in-forward",))
def gradient_taken(x):
    """A gradient that is taken in forward."""
    y = x.detach().requires_grad_()
    return torch.autograd.grad((y**2).sum(), y)[0]


@probe("mode", plain, calls=WAYS, refused=("gradient-in-forward",))
def backward_called(x):
    """A backward in forward."""
    y = x.detach().requires_grad_()
    (y**2).sum().backward()
    return y.grad


@probe("mode", plain, calls=WAYS, refused=("gradient-in-forward",))
def gradient_tried(x):
    """A gradient, or something else where there is none."""
    try:
        return torch.autograd.grad(x.sum(), x)[0]
    except RuntimeError:
        return x * 3


@probe("mode", plain, agrees={name: way for name, way in WAYS.items() if name != "inference"})
def transforms(x):
    """Transforms of functions."""
    square = lambda t: (t * t * x).sum()  # noqa: E731  as users write it
    _, back = torch.func.vjp(square, x)
    return (
        torch.func.grad(square)(x),
        torch.func.vmap(lambda row: row * row.sum())(x),
        torch.func.jacrev(lambda t: t.sin())(x[0]),
        torch.func.jacfwd(lambda t: t.sin())(x[0]),
        torch.func.jvp(square, (x,), (x,))[1],
        back(torch.ones(()))[0],
    )


@probe("mode", plain, agrees={"leaf": leaf, "leaf without": without(leaf)})
class FunctionalCall(Linear):
    """A module called with other parameters."""

    def forward(self, x):
        doubled = {name: p * 2 for name, p in self.inner.named_parameters()}
        return torch.func.functional_call(self.inner, doubled, (x,))


@torch.compile(backend="eager")
def compiled(x):
    """Compiled, and so with guards of its own."""
    return x * 2 if x.shape[0] > 2 else x * 3


def branching(x):
    """To be scripted: its branch is TorchScript's then."""
    if x.size(0) > 2:
        return x * 2
    return x * 3


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    scripted = torch.jit.script(branching)
    traced = torch.jit.trace(lambda x: x.reshape(x.shape[0] * 3) * x.shape[0], torch.ones(4, 3))


SIZES = {"two": lambda: (m(2, 3),), "five": lambda: (m(5, 3),), "one": lambda: (m(1, 3),)}


def rows(dim):
    """The first size varies."""
    return {"x": {0: dim.AUTO}}


@probe("assumption", plain, agrees={"leaf": leaf}, calls=SIZES, shapes=rows)
def compiled_function(x):
    """A function that was compiled."""
    return compiled(x) + 1


@probe("assumption", plain, agrees={"leaf": leaf}, calls=SIZES, shapes=rows)
def scripted_function(x):
    """A function that was scripted."""
    return scripted(x) + 1


@probe("assumption", plain, agrees={"leaf": leaf}, calls=SIZES, shapes=rows)
def traced_function(x):
    """A function that was traced."""
    return traced(x) + 1


@probe("assumption", plain, agrees={"leaf": leaf, "five": lambda: (m(5, 3),)}, shapes=rows)
class CompiledModule(nn.Module):
    """A submodule that was compiled."""

    def __init__(self):
        super().__init__()
        self.inner = torch.compile(nn.Linear(3, 3), backend="eager")

    def forward(self, x):
        return self.inner(x) * 2


BOTH = {
    "second": lambda: (v(), v().requires_grad_()),
    "first": lambda: (v().requires_grad_(), v()),
    "without": without(lambda: (v(), v().requires_grad_())),
}


def both():
    """Give two vectors, the second of which requires gradients."""
    return v(), v().requires_grad_()


@probe("layout", both, calls=BOTH | {"neither": lambda: (v(), v())})
def base_written_through_a_view(x, w):
    """A write to a view makes its base require gradients."""
    z = torch.zeros(3)
    z[0] = w.sum()
    return x * 2 if (z * 2).requires_grad else x * 3


@probe("layout", both, calls=BOTH | {"neither": lambda: (v(), v())})
def view_of_what_is_written(x, w):
    """A write to the base makes its views require gradients."""
    z = torch.zeros(3)
    y = z[1:]
    z.add_(w)
    return x * 2 if y.requires_grad else x * 3


@probe("layout", both, calls=BOTH | {"neither": lambda: (v(), v())})
def view_beside_what_is_written(x, w):
    """A write to one view makes another require gradients, and what is detached does not."""
    z = torch.zeros(3)
    y, others = z[1:], (z[:1], z.detach(), z.view(3))
    y.add_(w[1:])
    return [x * 2 if other.requires_grad else x * 3 for other in others]


@probe("layout", both, calls=BOTH | {"neither": lambda: (v(), v())})
def view_in_no_grad(x, w):
    """A view requires gradients where its base does, in any mode."""
    with torch.no_grad():
        y, z = w[1:], w * 1
    return x * 2 if y.requires_grad else x * 3, x * 5 if z.requires_grad else x


@probe(
    "mode",
    lambda: (v(), v()),
    calls={"leaf": both, "leaf without": without(both)},
    agrees={"without": without(lambda: (v(), v()))},
)
def written_where_gradients_are_followed(x, w):
    """PyTorch lets nobody write to a leaf there, whatever the caller's mode is."""
    with torch.no_grad():
        x.detach().add_(1)
        with torch.enable_grad():
            w.add_(1)
    return w, x * 2


@probe(
    "data",
    lambda: (v(),),
    agrees={"the other": lambda: (-v().abs() - 1,), "one": lambda: (v().abs() + 1,)},
    refused=("data-dependent-branch",),
)
def written_beneath_a_leaf(x):
    """A side writes to the memory of a leaf that forward made, which autograd does not see."""
    leaf = (x * 2).detach().requires_grad_()
    before = leaf * 3
    if x.sum() > 0:
        leaf.detach().mul_(2)
    else:
        leaf.detach()[0] = 7
    return leaf, before, leaf * 2


def row():
    """A vector that autograd does not follow."""
    return (v(),)


@probe("mode", row, calls={"followed": lambda: (v().requires_grad_(),), "without": without(row)})
def factories_begin_histories(x):
    """C++ sets the flag on what a factory made when nobody is told of it."""
    made = [
        torch.ones(3, requires_grad=True),
        torch.zeros_like(x, requires_grad=True),
        torch.linspace(0, 1, 3, requires_grad=True),
        torch.asarray([1.0, 2.0, 3.0], requires_grad=True),
        torch.full((3,), 2.0, requires_grad=False),
        x.new_ones(3, requires_grad=True),
    ]
    return [each * x for each in made], [each.requires_grad for each in made], made


@probe(
    "mode",
    row,
    calls={"less": lambda: (-v().abs(),), "more": lambda: (v().abs(),)},
    refused=("data-dependent-branch",),
)
def factories_on_both_sides(x):
    """The last that a side does."""
    y = torch.ones(3, requires_grad=True)
    if x.sum() > 0:
        y = torch.zeros(3, requires_grad=True)
    return y * 2, y


@probe(
    "mode",
    row,
    calls={"less": lambda: (-v().abs(),), "more": lambda: (v().abs(),)},
    refused=("data-dependent-branch", "branch-decides"),
)
def factory_on_one_side(x):
    """Whether autograd follows is decided by data."""
    y = torch.ones(3)
    if x.sum() > 0:
        y = torch.zeros(3, requires_grad=True)
    return y * 2, y


@probe(
    "mode",
    lambda: (-v().abs(),),
    calls={"less": lambda: (-v().abs(),), "more": lambda: (v().abs(),)},
    refused=("data-dependent-branch",),
)
def factory_of_a_side_that_raises(x):
    """What it made last is nobody's."""
    if x.sum() > 0:
        torch.ones(3, requires_grad=True)
        raise ValueError("positive")
    return x * 3


@probe("mode", row, calls={"without": without(row)})
def factory_without_gradients(x):
    """It begins one all the same; what is computed of it there does not follow."""
    with torch.no_grad():
        y = torch.rand(3, requires_grad=True) * 0 + 1
        z = torch.ones(3, requires_grad=True)
    return y * x, z, z * x


def followed():
    """A vector that autograd follows, and one that says how often."""
    return v().requires_grad_(), torch.tensor([1.0, 0.0, 2.0])


FOLLOWED = {
    "never": lambda: (v().requires_grad_(), torch.zeros(3)),
    "twice": lambda: (v().requires_grad_(), torch.tensor([0.0, 3.0, 3.0])),
    "less": lambda: (-v().abs().requires_grad_(), -torch.ones(3)),
    "without": lambda: (v(), torch.ones(3)),
}


@probe("mode", followed, calls=FOLLOWED, refused=("data-dependent-branch",))
def gathered_in_a_branch(x, n):
    """What was made like a tensor with gradients is none itself until it is written to."""
    x = x * 2
    total = torch.zeros_like(x)
    if n.sum() > 0:
        total.add_(x * n)
    return total * 2, total


@probe("mode", followed, calls=FOLLOWED, refused=("data-dependent-branch", "data-dependent-size"))
def gathered_in_a_loop(x, n):
    """Experts of a mixture gather so."""
    x = x * 2
    total = torch.zeros_like(x)
    for place in n.nonzero():
        if n[place[0]] == 2:
            continue
        total.index_add_(0, place, x[place] * 3)
    return total


@probe("mode", followed, calls=FOLLOWED, refused=("data-dependent-branch",))
def gathered_before_and_in_a_branch(x, n):
    """A history of before the branch goes on in it."""
    x = x * 2
    total = torch.empty_like(x)
    total[0] = x[1] * 3
    total[1:] = 1
    if n.sum() > 0:
        total.add_(x * n)
    else:
        total.mul_(x)
    return total


@probe("mode", followed, calls=FOLLOWED)
def asked_of_what_is_new(x, n):
    """Factories begin no history, whatever they take their sizes from."""
    made = [x.new_zeros(3), x.new_ones(3), x.new_full((3,), 2.0), torch.full_like(x, 3.0)]
    return [n * (5 if each.requires_grad else 1) for each in made]


@probe("mode", followed, calls=FOLLOWED, refused=("data-dependent-branch",))
def taken_out_and_gathered(x, n):
    """A tensor that was taken out of autograd, and one that shares its memory."""
    x = x * 2
    total = x.detach().clone()
    beside = total.detach()
    if n.sum() > 0:
        total.add_(x * n)
    return total, beside


@probe("mode", plain, calls=WAYS)
def loss_in_chunks(x):
    """PyTorch tells an operator what requires gradients, which it then computes in forward."""
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=2, allow_retain_graph=True)
    weight, target = torch.linspace(-1, 1, 15).reshape(5, 3), torch.tensor([0, 1, 2, 0])
    return nn.functional.linear_cross_entropy(x, weight, target, options=options)
