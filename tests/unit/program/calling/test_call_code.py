"""A call runs one function in place of `forward`, with the same results, wherever nobody looks."""

import copy
import weakref

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, stateless
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import monograph
from monograph import Dim
from monograph.diagnostics import ContractError
from monograph.host.fx_modules import holder_of
from tests.seeding import reseed


class Net(nn.Module):
    """State at several depths, a buffer that is written to, and a nested result."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, v_x, others, *, scale=1.0):
        self.count.add_(1)
        y = self.body(v_x * scale).view(-1, 2, 2)
        return {"y": y, "more": [y.sum(1), (others[0] + y.sum(),)]}


@pytest.fixture
def module():
    """The module of a program with a varying batch."""
    reseed(0)
    shapes = {"v_x": {0: Dim("batch", min=1, max=64)}, "others": [None], "scale": None}
    args = (torch.randn(3, 4), [torch.randn(2)])
    return monograph.export(Net(), args, {"scale": 2.0}, dynamic_shapes=shapes).module()


def call(module, n=5):
    """A call with other sizes than the example's."""
    reseed(n)
    return module(torch.randn(n, 4), [torch.randn(2)], scale=2.0)


def by_forward(module, n=5):
    """The same call, by the code of torch.fx: a mode that sees functions is on."""

    class Looking(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Looking():
        return call(module, n)


def equal(one, other):
    """Whether results are equal, with their structure."""
    torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert type(one) is type(other)


def no_forward(module):
    """Make a call of `forward` an error."""
    module.materialize()

    def refuse(*_args, **_kwargs):
        raise AssertionError("forward was called")

    type(module).forward = refuse


def test_results_state_and_gradients_are_those_of_forward(module):
    """Including what is written to a buffer, once per call."""
    expected = by_forward(module)
    no_forward(module)
    got = call(module)
    equal(got, expected)
    assert module.count.item() == 2
    got["y"].sum().backward()
    assert module.body.get_submodule("0").weight.grad is not None


def test_calls_outside_the_contract_are_refused(module):
    """By `forward`, before anything was written."""
    call(module)
    for args in ((torch.randn(65, 4), [torch.randn(2)]), (torch.randn(3, 4), (torch.randn(2),))):
        with pytest.raises(ContractError):
            module(*args, scale=2.0)
    with pytest.raises(ContractError):
        module(torch.randn(3, 4), [torch.randn(2)], scale=3.0)
    with pytest.raises(ContractError):
        module(torch.randn(3, 4))
    assert module.count.item() == 1


def test_state_is_read_at_each_call(module):
    """A layer, a parameter or a buffer may be another one from call to call."""
    call(module)
    with torch.no_grad():
        other = copy.deepcopy(module.body)
        for each in other.parameters():
            each.mul_(2)
    module.body = other
    equal(call(module), by_forward(module))
    own = module.body.get_submodule("0")
    own.weight = nn.Parameter(torch.ones(8, 4))
    equal(call(module), by_forward(module))
    state = {name: torch.zeros_like(each) for name, each in module.named_parameters()}
    result = stateless._functional_call(
        module, state, (torch.ones(2, 4), [torch.ones(2)]), {"scale": 2.0}
    )
    assert not result["y"].any()


def test_parametrized_state_leaves_the_call_to_forward(module):
    """What is no entry of `_parameters` is what `forward` finds under the name."""
    call(module)
    parametrizations.weight_norm(module.body.get_submodule("0"))
    equal(call(module), by_forward(module))
    with torch.no_grad():
        for each in module.parameters():
            each.add_(1)
    equal(call(module), by_forward(module))


def test_hooks_an_own_forward_and_compilation_are_kept(module):
    """Whoever asks for `forward` to be called gets it."""
    seen = []
    call(module)
    handle = module.register_forward_hook(lambda *_: seen.append("hook"))
    call(module)
    handle.remove()
    module.forward = lambda *_args, **_kwargs: "own"
    assert call(module) == "own"
    del module.__dict__["forward"]
    module.compile(backend="eager")
    equal(call(module), by_forward(module))
    assert seen == ["hook"]


def test_copies_have_code_of_their_own(module):
    """A copy of a module that was called reads its own state."""
    call(module)
    copied = copy.deepcopy(module)
    with torch.no_grad():
        for each in copied.parameters():
            each.zero_()
    call(copied)
    assert not call(copied)["y"].any()
    assert call(module)["y"].any()


def test_a_call_needs_no_code_of_torch_fx(module):
    """That is generated for whoever asks for it."""
    call(module)
    assert module._needs_recompile()
    assert "relu" in module.code
    assert not module._needs_recompile()


def test_edited_graphs_run(module):
    """Nodes of other kinds than a program's are run by `forward`; others in the function."""
    call(module)
    for node in [*module.graph.nodes]:
        if node.target is torch.ops.aten.relu.default:
            node.target = torch.ops.aten.sigmoid.default
    module.recompile()
    equal(call(module), by_forward(module))
    (view,) = [node for node in module.graph.nodes if node.target is torch.ops.aten.view.default]
    with module.graph.inserting_after(view):
        negated = module.graph.call_method("neg", (view,))
    view.replace_all_uses_with(negated, lambda user: user is not negated)
    before = call(module)["y"]
    module.recompile()
    equal(call(module)["y"], -before)


def test_tracers_see_the_operators(module):
    """`torch.fx.symbolic_trace` records what `forward` calls, also where nothing is checked."""
    call(module)
    unchecked = monograph.export(nn.ReLU(), (torch.randn(3),)).module(check=False)
    unchecked(torch.randn(3))
    for each in (module, unchecked):
        targets = [node.target for node in torch.fx.symbolic_trace(each).graph.nodes]
        assert torch.ops.aten.relu.default in targets


def test_values_are_let_go_of_behind_their_last_use():
    """In a chain, an operator's result lives until the next operator has run."""
    module = monograph.export(
        nn.Sequential(*[nn.Sigmoid() for _ in range(9)]), (torch.ones(3),)
    ).module()
    module(torch.ones(3))
    no_forward(module)
    made, alive = [], []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            alive.append(sum(each() is not None for each in made))
            result = func(*args, **(kwargs or {}))
            made.append(weakref.ref(result))
            return result

    x = torch.ones(3)
    with torch.no_grad(), Watch():
        module(x)
    assert len(alive) == 9
    assert max(alive) == 1


def test_constants_are_read_where_they_lie():
    """A plain attribute is read from its dictionary, anew in each call; a property is asked."""

    class Shifted(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, 2.0])

    made = monograph.export(Shifted(), (torch.ones(3, 2),)).module()
    (name,) = (node.target for node in made.graph.nodes if node.op == "get_attr")
    assert holder_of(made, name) == "__dict__"
    assert holder_of(made, "code") is holder_of(made, "missing") is None
    x = torch.zeros(3, 2)
    assert torch.equal(made(x), x + torch.tensor([1.0, 2.0]))
    setattr(made, name, torch.ones(2))
    assert torch.equal(made(x), x + 1)
