"""What changes between calls, and no argument shows: parameters, modules, classes, globals."""

import builtins
import copy
import gc
import sys
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from monograph.jit import optimize
from monograph.jit.version_tags import TagList, tags_are_trusted
from tests.jit.running import plain, quiet

CHANGES = {}
SCALE = 2.0


def change(function):
    """One that is made to a net between two calls; it may return what takes it back."""
    CHANGES[function.__name__] = function
    return function


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.line = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.0)
        self.gain = 1.5
        self.stages = [1, 2]

    def forward(self, x):
        batch, width = x.shape
        y = self.drop(self.line(self.norm(x)))
        if self.training:
            y = y + round(self.gain)
        for stage in self.stages:
            y = y + stage
        return x + (y * self.gain * SCALE).view(batch, 2, width // 2).reshape(batch, width)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(4, 1)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        out = self.head(x + self.shift)
        return out, out.dtype, out.requires_grad, out.shape[0]


@change
def a_parameter_is_replaced(net):
    net.head.weight = nn.Parameter(torch.full((1, 4), 3.0))


@change
def a_parameter_is_replaced_by_an_equal_one(net):
    net.head.bias = nn.Parameter(net.head.bias.detach().clone(), requires_grad=False)


@change
def a_parameter_is_written_into_the_table(net):
    net.blocks[1].line._parameters["bias"] = nn.Parameter(torch.full((4,), 3.0))


@change
def a_parameter_is_removed(net):
    net.head.bias = None


@change
def data_of_another_dtype(net):
    net.double()


@change
def data_of_one_parameter_of_another_dtype(net):
    net.head.weight.data = net.head.weight.data.double()


@change
def data_of_another_shape(net):
    net.head.weight.data = torch.ones(2, 4)
    net.head.bias.data = torch.ones(2)


@change
def data_of_other_strides(net):
    net.blocks[0].line.weight.data = net.blocks[0].line.weight.data.t()


@change
def data_without_elements(net):
    net.head.weight.data = torch.ones(0, 4)
    net.head.bias.data = torch.ones(0)


@change
def gradients_are_switched_off(net):
    net.requires_grad_(False)


@change
def one_gradient_is_switched_off(net):
    net.head.weight.requires_grad_(False)


@change
def a_parameter_changes_its_class(net):
    class Doubled(nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                out = func(*args, **(kwargs or {}))
            return out * 2 if func is F.linear else out

    net.head.weight.__class__ = Doubled


@change
def tensors_are_swapped(net):
    torch.utils.swap_tensors(net.head.weight, nn.Parameter(torch.ones(3, 4)))
    net.head.bias = None


@change
def a_hook(net):
    return net.blocks[2].line.register_forward_hook(lambda module, args, out: out * 3).remove


@change
def a_hook_before(net):
    return net.blocks[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,)).remove


@change
def a_hook_of_all_modules(net):
    def doubled(module, args, out):
        return out * 2 if isinstance(module, nn.Linear) else None

    return nn.modules.module.register_module_forward_hook(doubled).remove


@change
def a_hook_in_a_new_table(net):
    net.head._forward_hooks = copy.copy(net.head._forward_hooks)
    return net.head.register_forward_hook(lambda module, args, out: out - 1).remove


@change
def evaluation(net):
    net.eval()


@change
def evaluation_of_one(net):
    net.blocks[1].training = False


@change
def dropout(net):
    net.blocks[1].drop.p = 1.0


@change
def forward_of_an_object(net):
    net.blocks[1].line.forward = lambda x: x - 7


@change
def forward_written_into_the_dict(net):
    net.blocks[1].__dict__["forward"] = lambda x: x - 7


@change
def forward_of_a_class(net):
    before = Block.forward
    Block.forward = lambda self, x: before(self, x) * 2
    return lambda: setattr(Block, "forward", before)


@change
def forward_of_a_class_of_torch(net):
    before = nn.Linear.forward
    nn.Linear.forward = lambda self, x: before(self, x) * 2
    return lambda: setattr(nn.Linear, "forward", before)


@change
def forward_has_other_code(net):
    def forward(self, x):
        return x - 1

    before = Block.forward.__code__
    Block.forward.__code__ = forward.__code__
    return lambda: setattr(Block.forward, "__code__", before)


@change
def call_of_all_modules(net):
    before = nn.Module._call_impl
    nn.Module._call_impl = lambda self, *args: before(self, *args)
    nn.LayerNorm.__call__ = lambda self, x: x * 9

    def restore():
        nn.Module._call_impl = before
        del nn.LayerNorm.__call__

    return restore


@change
def an_attribute_of_a_class_shadows(net):
    nn.Linear.weight = torch.ones(4, 4)
    net.head = nn.Identity()
    return lambda: delattr(nn.Linear, "weight")


@change
def an_attribute_of_an_object_shadows(net):
    net.blocks[0].line.__dict__["weight"] = torch.ones(4, 4)


@change
def another_class(net):
    class Tripled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 3

    net.blocks[0].line.__class__ = Tripled


@change
def another_base(net):
    class Mixed:
        def forward(self, x):
            return x * 5

    class Own(nn.Identity):
        pass

    net.blocks[0].norm.__class__ = Own
    Own.__bases__ = (Mixed, nn.Identity)


@change
def another_dict(net):
    block = net.blocks[1]
    block.__dict__ = {**block.__dict__, "gain": 11.0}


@change
def another_table(net):
    line = net.blocks[1].line
    line._parameters = dict(line._parameters, bias=None)


@change
def a_number(net):
    net.blocks[2].gain = 4.0


@change
def a_number_of_another_type(net):
    net.blocks[2].gain = 2


@change
def a_list(net):
    net.blocks[2].stages.append(5)


@change
def a_list_in_place(net):
    net.blocks[2].stages[0] = 9


@change
def eps(net):
    net.blocks[0].norm.eps = 0.5


@change
def a_global(net):
    global SCALE
    SCALE = 3.0

    def restore():
        global SCALE
        SCALE = 2.0

    return restore


@change
def a_function_of_torch(net):
    before = F.layer_norm
    F.layer_norm = lambda x, *args: before(x, *args) + 1
    return lambda: setattr(F, "layer_norm", before)


@change
def a_builtin(net):
    before = builtins.round
    builtins.round = lambda number: before(number) + 1
    return lambda: setattr(builtins, "round", before)


@change
def modules_are_appended(net):
    net.blocks.append(Block())


@change
def modules_change_places(net):
    net.blocks[0].line, net.blocks[1].line = net.blocks[1].line, net.blocks[0].line


@change
def modules_in_another_order(net):
    table = net.blocks._modules
    net.blocks[0].gain = 5.0
    table["0"], table["2"] = table["2"], table["0"]


@change
def a_module_is_replaced(net):
    net.blocks[1].norm = nn.Identity()


@change
def a_module_that_counts(net):
    net.blocks[1].calls = 0
    net.register_forward_hook(lambda module, args, out: None)


@change
def a_parametrization(net):
    parametrizations.weight_norm(net.head)


@change
def another_parametrization(net):
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    parametrize.register_parametrization(net.blocks[0].line, "weight", Symmetric())


@change
def a_buffer(net):
    net.shift = torch.full((4,), 5.0)


@change
def no_gradients(net):
    torch.set_grad_enabled(False)
    return lambda: torch.set_grad_enabled(True)


@change
def another_default_dtype(net):
    torch.set_default_dtype(torch.float64)
    return lambda: torch.set_default_dtype(torch.float32)


@change
def defaults_of_a_function(net):
    before = F.layer_norm.__defaults__
    F.layer_norm.__defaults__ = (None, None, 0.5)
    net.blocks[0].norm.forward = lambda x: F.layer_norm(x, (4,))
    return lambda: setattr(F.layer_norm, "__defaults__", before)


@change
def weights_are_tied(net):
    net.blocks[0].line.weight = net.blocks[1].line.weight


def call(function, net, x):
    """What a call gives or raises, with its gradients."""
    net.zero_grad()
    try:
        result = function(x)
        if result[0].requires_grad:
            result[0].sum().backward()
    except Exception as error:
        return plain(error)
    return plain([result, [each.grad for each in net.parameters()]])


def run(wrap, make_change, n_inputs):
    """Calls before a change, behind it, and after it was taken back, if it was."""
    torch.manual_seed(3)
    net = Net()
    wrapped = wrap(net)
    inputs = [torch.randn(2 + n, 4) for n in range(n_inputs)]
    seen = [call(wrapped, net, x) for x in inputs for _ in range(3)]
    restore = make_change(net)
    try:
        seen += [call(wrapped, net, x) for _ in range(2) for x in inputs]
        seen += [call(wrapped, net, x.double()) for x in inputs]
    finally:
        if restore is not None:
            restore()
    return seen + [call(wrapped, net, x) for _ in range(2) for x in inputs]


def whole(graph, inputs):
    """A backend that reads metadata."""
    del inputs
    return graph.forward


@pytest.mark.parametrize("backend", ["eager", whole])
@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name, backend):
    """As in eager code, whatever was compiled before."""
    for n_inputs in (1, 2):
        expected = run(lambda net: net, CHANGES[name], n_inputs)
        found = quiet(run, optimize(backend), CHANGES[name], n_inputs)
        assert str(found) == str(expected)  # as texts, in which NaN is NaN


def test_tags_tell_of_every_change():
    """On this version of Python they are where they are thought to be."""
    assert tags_are_trusted() is (sys.version_info < (3, 13))
    if not tags_are_trusted():
        pytest.skip("that dicts have a version is of Python 3.12")
    net, other = nn.Linear(2, 2), nn.Linear(2, 2)
    tags = TagList()
    assert tags.instance(net)
    assert tags.table(net.__dict__)
    assert tags.kind(nn.Linear)
    assert tags.function(nn.Linear.forward)
    assert tags.are_given()
    assert len(tags.words()) == 8
    del other


def test_replaced_parameters_are_freed():
    """Entries hold no parameters."""
    net = Net()
    fast = optimize()(net)
    for _ in range(3):
        fast(torch.ones(2, 4))
    old = weakref.ref(net.head.weight)
    net.head.weight = nn.Parameter(torch.ones(1, 4))
    gc.collect()
    assert old() is None


def test_expectations_are_met_in_the_middle():
    """A shape that Python asked in the middle is another one: nothing has happened by then."""
    seen = []

    def f(x, w):
        y = F.linear(x, w)
        seen.append(1)
        return y * y.shape[1]

    fast = optimize()(f)
    x, w = torch.ones(2, 4), nn.Parameter(torch.ones(3, 4))
    assert fast(x, w).sum() == fast(x, w).sum() == f(x, w).sum()
    w.data = torch.ones(5, 4)
    del seen[:]
    assert torch.equal(fast(x, w), f(x, w))
    assert len(seen) == 2


def test_an_item_of_a_dict_is_guarded_and_not_what_else_it_holds():
    """Lists in a dict grow from call to call without other guards; another list is seen."""
    x = torch.arange(3.0)
    table = {"notes": [], "rows": [1.0]}

    def noted(x):
        table["notes"].append(len(table["rows"]))
        return x * table["rows"][0]

    fast = optimize("eager")(noted)
    for _ in range(12):
        assert torch.equal(fast(x), x)
    assert table["notes"] == [1] * 12
    assert len(fast.entries) == 1
    table["rows"] = [2.0, 3.0]
    assert torch.equal(fast(x), x * 2)
    del table["notes"]
    with pytest.raises(KeyError):
        fast(x)
    table["notes"] = ()
    with pytest.raises(AttributeError):
        fast(x)
