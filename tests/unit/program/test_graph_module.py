"""The graph module behaves as torch's, and writes its code when it is first needed."""

import copy
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import monograph
from monograph.program.graph_module import GraphModule, adopt


def traced():
    """A torch GraphModule, and ours of the same graph."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    theirs = torch.fx.symbolic_trace(model)
    return theirs, GraphModule(theirs, theirs.graph, "Sequential")


def has_code(module):
    """Whether code was generated."""
    return "_code" in vars(type(module))


@pytest.mark.parametrize(
    "use",
    [
        lambda m: m(torch.ones(2, 3)),
        lambda m: m.forward(torch.ones(2, 3)),
        lambda m: m.code,
        str,
        pickle.dumps,
        lambda m: m.recompile(),
    ],
)
def test_code_comes_with_the_first_use(use):
    """Nothing is generated until the module is called, printed, pickled or recompiled."""
    _, module = traced()
    assert not has_code(module)
    use(module)
    assert has_code(module)


def test_threads_generate_the_same_code():
    """Of one graph, whose names Python does not read; generating it writes to its nodes."""

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("class", torch.ones(2))

        def forward(self, x):
            for _ in range(20):
                x = x + self.get_buffer("class")
            return x

    program, x = monograph.export(Odd(), (torch.ones(2),)), torch.ones(2)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(10):
            module = program.module()
            calls = [module.run, lambda x, m=module: m(x) * (len(m.code) > 0)] * 6
            with ThreadPoolExecutor(8) as pool:
                found = list(pool.map(lambda call: call(x), calls))
            assert all(torch.equal(each, x + 20) for each in found)
    finally:
        sys.setswitchinterval(interval)


def test_it_is_torchs_graph_module():
    """Same results, code, modules and name as torch's own."""
    theirs, ours = traced()
    x = torch.randn(2, 3)
    assert isinstance(ours, torch.fx.GraphModule)
    assert torch.equal(ours(x), theirs(x))
    assert ours.code == theirs.code
    assert str(ours) == str(theirs)
    assert [name for name, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert ours.state_dict().keys() == theirs.state_dict().keys()


def test_assigning_a_graph_replaces_the_code():
    """The next call after `module.graph = ...` runs the new graph."""
    _, module = traced()
    module(torch.ones(2, 3))
    module.graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    assert not has_code(module)
    assert module.graph.owning_module is module
    assert torch.equal(module(torch.ones(2)), torch.full((2,), 2.0))


def test_recompile_follows_edits_in_place():
    """Edits take effect with `recompile`, as with torch's own."""
    module = GraphModule({}, torch.fx.symbolic_trace(lambda x: x.sin()).graph)
    assert torch.equal(module(torch.ones(1)), torch.ones(1).sin())
    (node,) = module.graph.find_nodes(op="call_method", target="sin")
    node.target = "cos"
    module.recompile()
    assert torch.equal(module(torch.ones(1)), torch.ones(1).cos())


def test_copies_are_independent():
    """A deep copy has its own graph, code and state; a shallow one shares them."""
    _, module = traced()
    module.register_buffer("extra", torch.zeros(1), persistent=False)
    module(torch.ones(2, 3))
    deep, shallow = copy.deepcopy(module), copy.copy(module)
    assert deep.graph is not module.graph
    assert deep.graph.owning_module is deep
    assert "extra" not in deep.state_dict()
    deep.graph = torch.fx.symbolic_trace(lambda x: x).graph
    x = torch.randn(2, 3)
    assert deep(x) is x
    assert torch.equal(shallow(x), module(x))


def test_pickling_keeps_what_it_computes():
    """As with torch's own, code and attributes survive; the result is torch's class."""
    _, module = traced()
    x = torch.randn(2, 3)
    assert torch.equal(pickle.loads(pickle.dumps(module))(x), module(x))


def test_instances_do_not_share_code():
    """Each instance has its own generated class."""
    one = GraphModule({}, torch.fx.symbolic_trace(lambda x: x + 1).graph)
    two = GraphModule({}, torch.fx.symbolic_trace(lambda x: x + 2).graph)
    x = torch.zeros(1)
    assert (one(x).item(), two(x).item(), one(x).item()) == (1, 2, 1)


def test_tracebacks_show_generated_lines():
    """An operator's error shows the generated line it came from."""
    module = GraphModule({}, torch.fx.symbolic_trace(lambda x: x.view(7)).graph)
    try:
        module(torch.ones(3))
    except RuntimeError:
        import traceback  # noqa: PLC0415

        assert "x.view(7)" in traceback.format_exc()


def test_making_one_is_cheap():
    """Construction stays far below the cost of code generation."""
    graph = torch.fx.symbolic_trace(lambda x: x).graph
    times = []
    for _ in range(200):
        started = time.perf_counter()
        GraphModule({}, graph)
        times.append(time.perf_counter() - started)
    assert min(times) * 1e6 < 50 * 2


def test_adopt_makes_what_is_between():
    """State is put at its qualified name, as parameter, buffer or plain tensor."""
    module = torch.nn.Module()
    adopt(module, "a.0.weight", torch.nn.Parameter(torch.ones(1)))
    adopt(module, "a.kept", torch.ones(1))
    adopt(module, "a.lost", torch.ones(1), persistent=False)
    adopt(module, "a.plain", torch.ones(1), persistent=None)
    assert [name for name, _ in module.named_parameters()] == ["a.0.weight"]
    assert [name for name, _ in module.named_buffers()] == ["a.kept", "a.lost"]
    assert list(module.state_dict()) == ["a.kept", "a.0.weight"]
    assert torch.equal(module.a.plain, torch.ones(1))


def test_forward_can_be_replaced():
    """As any module's, before and after the code was generated."""
    for module in traced():
        for _ in range(2):
            module.forward = lambda x: x + 1
            assert torch.equal(module(torch.ones(2)), torch.full((2,), 2.0))
            module.forward = lambda x: x + 2
            assert torch.equal(module(torch.ones(2)), torch.full((2,), 3.0))
            assert "linear" in module.code or "_0" in module.code
