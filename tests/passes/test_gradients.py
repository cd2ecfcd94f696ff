"""What is lowered is differentiated as eager is: through writes, views and what is returned.

Each program is given tensors that were computed from leaves, so that it may write to them; compared
are the gradients of the leaves and parameters, of everything that has one at the end.
"""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils import _pytree as pytree

import monograph
from tests.contract.registry import module_of
from tests.passes.mutations import INPUTS, PROGRAMS
from tests.seeding import reseed

FORMS = {
    "functional": lambda program: program.run_decompositions({}),
    "core": lambda program: program.run_decompositions(),
}


NO_WAY_BACK = {
    "a_list_in_place": "PyTorch's list operators keep what they are given for the way back",
    "a_view_of_another_dtype_written": "autograd does not see the write",
    "written_without_gradients": "autograd does not see the write",
}
"""Programs whose lowered form raises when it is differentiated, where eager does not."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_as_eager(name, form):
    """The gradients of a weighted sum of all results and all written inputs agree."""
    reseed(0)
    module = module_of(name, PROGRAMS[name])()
    program = monograph.export(copy.deepcopy(module), INPUTS[name](), strict=False)
    lowered = FORMS[form](program).module()
    inputs = INPUTS[name]()
    try:
        expected = gradients(module, inputs)
    except RuntimeError:
        return  # what eager cannot differentiate, a graph without writes may
    if name in NO_WAY_BACK:
        with pytest.raises(RuntimeError, match=r"derivative|modified by an inplace"):
            gradients(lowered, inputs)
        return
    assert_close(gradients(lowered, inputs), expected)


class LaidOut(nn.Module):
    """Formulas that lay their result out as an argument lies."""

    def forward(self, x, y):
        return y.lerp(x, 0.5), x.T.index_fill(0, torch.tensor([1]), 0.0)


class FilledTwice(nn.Module):
    """A place that an index names twice."""

    def forward(self, x, y):
        index = torch.tensor([1, 1, 2])
        filled = x.index_fill(1, index, y.sum()), y.T.index_fill(-2, index, x.mean())
        return *filled, x.sum().index_fill(0, torch.tensor([0, 0]), y[0, 0])


AT_ITS_EDGES = {
    "celu": nn.functional.celu,
    "celu, wide": lambda x: nn.functional.celu(x, 3.0),
    "cross entropy of probabilities": lambda x: nn.functional.binary_cross_entropy(
        x.clamp(0, 1), (x.detach() > 0).to(x.dtype)
    ),
    "drawn anew": lambda x: x.clone().normal_() * 0 + x,
    "mish": nn.functional.mish,
    "sinc": lambda x: torch.sinc(x) * 2,
    "softplus": lambda x: nn.functional.softplus(x) * 2,
    "softplus, steep": lambda x: nn.functional.softplus(x, 2.0, 3.0),
    "std": lambda x: torch.std(x, -1, correction=0),
    "xlogy": lambda x: torch.xlogy(x, x.detach().abs() + 2) + torch.xlogy(x * 0, x.detach()) * 2,
    "std and mean": lambda x: torch.std_mean(x, -1, keepdim=True),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", AT_ITS_EDGES)
def test_gradients_where_a_formula_does_not_hold(name, dtype):
    """At zero, for large values, and for what is constant: no NaN where eager has none."""
    module = module_of(name, AT_ITS_EDGES[name])()
    values = [[0.0, 100, -100, 800], [1, 1, 1, 1], [0, 0, 0, 0], [0.5, 3, -3, -800]]
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    lowered = monograph.export(module, (x,)).run_decompositions().module()
    found = []
    for each in (module, lowered):
        results = pytree.tree_leaves(each(x))
        total = torch.stack([result.sum() for result in results]).sum()
        found.append((results, *torch.autograd.grad(total, x)))
    assert_close(*found, check_stride=True)


class Attention(nn.Module):
    """Attention of a sequence to itself."""

    def forward(self, x, mask):
        return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_are_masked_as_a_whole_have_a_gradient(form):
    """It is zero, as the row is, and no NaN reaches the rest."""
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    mask[1] = False
    x = torch.randn(1, 2, 4, 5, requires_grad=True)
    lowered = FORMS[form](monograph.export(Attention(), (x, mask))).module()
    found = []
    for module in (Attention(), lowered):
        (gradient,) = torch.autograd.grad(module(x, mask).square().sum(), x)
        found.append(gradient)
    assert_close(*found)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "module", [LaidOut(), FilledTwice()], ids=lambda module: type(module).__name__
)
def test_gradients_of_other_layouts(module, form):
    """Exported with a transposed argument, which all formulas see."""
    inputs = torch.randn(4, 3).T, torch.randn(3, 4)
    lowered = FORMS[form](monograph.export(module, inputs)).module()
    assert_close(gradients(lowered, inputs), gradients(module, inputs))
    assert [y.stride() for y in lowered(*inputs)] == [y.stride() for y in module(*inputs)]


def gradients(module: nn.Module, inputs):
    """Gradients of the leaves and of the parameters, in order; zeros where there is no way."""
    leaves = [each.clone().requires_grad_(each.is_floating_point()) for each in inputs]
    given = [leaf * 1 for leaf in leaves]
    reseed(1)
    returned = module(*given)
    reseed(2)
    total = torch.zeros((), requires_grad=True)
    for each in pytree.tree_leaves((returned, given)):
        if isinstance(each, torch.Tensor) and each.requires_grad:
            followed = each.abs() if each.is_complex() else each
            total = total + (followed * torch.rand(followed.shape)).sum()
    sources = [*leaves, *module.parameters()]
    sources = [each for each in sources if each.requires_grad]
    if not sources:
        return ()
    return torch.autograd.grad(total, sources, allow_unused=True, materialize_grads=True)


def _written_by_a_side(x, condition):
    y = x * 2
    with torch.no_grad():
        row = y.view(-1)
    if condition.sum() > 0:
        row.mul_(3)
    return y.sum() + row.sum()


def _parts_of_what_a_side_writes(x, condition):
    y = x * 2
    with torch.no_grad():
        first, second = y.view(-1).split(6)
    if condition.sum() > 0:
        y.mul_(3)
    return first * second


def _made_before_its_history(x, condition):
    y = torch.zeros(3, 4)
    with torch.no_grad():
        row = y.view(-1)
    y.add_(x)
    return row * condition.sum(), y


UNSEEN = [_written_by_a_side, _parts_of_what_a_side_writes, _made_before_its_history]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forward", UNSEEN)
@pytest.mark.parametrize("strict", [False, True])
def test_views_that_autograd_saw_nobody_take(forward, form, strict):
    """They have no history, and eager code reads none once their memory is written to."""
    module = type("Module", (nn.Module,), {"forward": staticmethod(forward)})()
    leaf, condition = torch.randn(3, 4), torch.ones(2)
    followed = leaf.clone().requires_grad_()
    program = monograph.export(module, (followed, condition), strict=strict)
    with pytest.raises(monograph.MonographError) as caught:
        FORMS[form](program)
    assert caught.value.diagnostic.name == "not-functional"
    lowered = FORMS[form](monograph.export(module, (leaf, condition), strict=strict)).module()
    for each in (condition, -condition):
        assert_close(lowered(leaf, each), module(leaf, each))
        with pytest.raises(monograph.ContractError):
            lowered(followed, each)


@pytest.mark.parametrize("form", FORMS)
def test_views_that_autograd_saw_nobody_take_and_nobody_writes_to(form):
    """They are constants to it."""

    class Before(nn.Module):
        def forward(self, x):
            y = x * 1
            y.mul_(2)
            with torch.no_grad():
                row = y.view(-1)
            return row * x.view(-1), row + 1

    inputs = (torch.randn(3, 4),)
    lowered = FORMS[form](monograph.export(Before(), inputs)).module()
    assert_close(gradients(lowered, inputs), gradients(Before(), inputs))
    leaf = torch.randn(3, 4, requires_grad=True)
    assert [y.requires_grad for y in lowered(leaf)] == [y.requires_grad for y in Before()(leaf)]


def _copied_by_its_layout(x):
    with torch.no_grad():
        tail = x[-1:]
    tail.reshape(-1).contiguous().add_(2)
    return tail, x * 2


def _never_written(x):
    with torch.no_grad():
        same = x.view(x.shape)
        same.reshape(-1).contiguous().add_(2)
    return same, same.reshape(-1)


class _Below(nn.Module):
    """The view is taken in a module below."""

    def __init__(self, below):
        super().__init__()
        self.below = below

    def forward(self, x):
        tail, other = self.below(x)
        return other + 1, tail


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forward", [_copied_by_its_layout, _never_written])
@pytest.mark.parametrize("below", [False, True])
def test_returned_views_that_autograd_saw_nobody_take(forward, form, below):
    """They need no gradients although their memory, of strided rows, looks written to."""
    module = type("Module", (nn.Module,), {"forward": staticmethod(forward)})()
    module = _Below(module) if below else module
    leaf = torch.randn(2, 6)[:, ::2].requires_grad_()
    program = FORMS[form](monograph.export(module, (leaf,)))
    expected = module(leaf)
    for run in (program.module(), monograph.unflatten(program)):
        made = run(leaf)
        assert_close(made, expected)
        flags = [(y.requires_grad, y.is_leaf, y._base is None) for y in made]
        assert flags == [(y.requires_grad, y.is_leaf, y._base is None) for y in expected]


def _cache(self, x, y):
    with torch.no_grad():
        self.cache[1:3] = y
        part = self.cache[:3]
    return part, x * 2


def _rows(self, x, y):
    with torch.no_grad():
        x.mul_(2)
        rows = x.split(1)
    return rows, y


def _turned(self, x, y):
    with torch.no_grad():
        x.add_(1)
        turned = x.t()
    return turned, turned + y.t()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("forward", [_cache, _rows, _turned])
@pytest.mark.parametrize("grad", [False, True])
def test_views_of_what_was_written_where_autograd_does_not_look(forward, form, grad):
    """They are of the input or buffer, and need no gradients, whoever else does."""

    class Module(nn.Module):
        """Has a buffer."""

        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(4, 4))

    Module.forward = forward

    def given():
        torch.manual_seed(0)
        return torch.randn(2, 4), torch.randn(2, 4, requires_grad=grad)

    program = FORMS[form](monograph.export(Module(), given()))
    runs = []
    for module in (Module(), program.module()):
        x, y = given()
        made = [*pytree.tree_leaves(module(x, y))]
        memory = {"x": x, "cache": dict(module.named_buffers())["cache"]}
        runs.append((made, memory))
    (expected, theirs), (made, ours) = runs
    assert_close(made, expected)
    assert_close(ours, theirs)
    for one, other in zip(made, expected, strict=True):
        assert (one.requires_grad, one.stride()) == (other.requires_grad, other.stride())
        for name in ours:
            lies = [
                each.untyped_storage().data_ptr() == of[name].untyped_storage().data_ptr()
                for each, of in ((one, ours), (other, theirs))
            ]
            assert lies[0] is lies[1], name


@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_second_gradients_of_normalisations(norm):
    """Means and deviations depend on the input on the way back, too."""

    def loss(x):
        made = (
            nn.functional.layer_norm(x, (3,))
            if norm == "layer"
            else nn.functional.batch_norm(x, None, None, training=True)
        )
        return made.pow(3).sum()

    module = module_of("gradient", torch.func.grad(loss))()
    x, weight = torch.randn(4, 3), torch.randn(4, 3)
    program = monograph.export(module, (torch.randn(4, 3),))
    found = []
    for each in (module, program.module(), program.run_decompositions().module()):
        given = x.clone().requires_grad_()
        found += torch.autograd.grad((each(given) * weight).sum(), given)
    for each in found[1:]:
        torch.testing.assert_close(each, found[0], rtol=1e-3, atol=1e-4)
