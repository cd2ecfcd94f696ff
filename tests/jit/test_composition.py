"""Optimized modules within what PyTorch puts around modules: each as around the module itself."""

import copy
import gc
import threading
import weakref

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.testing import assert_close

import monograph
from monograph.jit import optimize
from tests.jit.running import plain
from tests.seeding import reseed

X = torch.linspace(-1, 1, 12).view(3, 4)


class Net(nn.Module):
    """A module with a break in the middle, a buffer that it writes to, and a child."""

    def __init__(self):
        super().__init__()
        reseed(1)
        self.line = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        y = self.norm(self.line(x))
        self.calls += 1
        if y.sum() > 100:
            y = y / 2
        return y.relu() * self.calls


class Backend:
    """A backend that keeps weak references to the graphs it compiled."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, _inputs):
        """Run the graph as it is."""
        self.graphs.append(weakref.ref(graph))
        return graph.forward


def pair():
    """A module, and the optimized form of another one that is equal."""
    return Net(), optimize()(Net())


def assert_same(one, two):
    """The state, gradients and mode of two modules are equal."""
    assert_close(dict(one.state_dict()), dict(two.state_dict()), rtol=0, atol=0)
    for p, q in zip(one.parameters(), two.parameters(), strict=True):
        assert (p.grad is None) == (q.grad is None)
        assert p.grad is None or torch.equal(p.grad, q.grad)


def test_a_copy_is_a_module_of_its_own():
    """What one is trained to does not reach the other, and both are optimized."""
    model, fast = pair()
    fast(X)
    other = copy.deepcopy(fast)
    with torch.no_grad():
        other.line.weight.zero_()
    model(X)
    for _ in range(3):
        assert_close(fast(X), model(X), rtol=0, atol=0)
        assert torch.count_nonzero(other.line.weight) == 0
        other(X)
    assert fast.calls == 4
    assert other.calls == 4
    assert_same(model, fast)


def test_state_is_loaded_between_calls():
    """Also with `assign`, which puts other parameters in the place of those that were guarded."""
    model, fast = pair()
    state = {name: value * 2 for name, value in Net().state_dict().items()}
    for assign in (False, True, False):
        for each in (model, fast):
            each.load_state_dict(copy.deepcopy(state), assign=assign)
        for _ in range(2):
            assert_close(fast(X), model(X), rtol=0, atol=0)
    assert_same(model, fast)


def test_hooks_of_all_kinds():
    """Added and removed between calls, of the module, of a child, of a gradient and of all."""
    seen = {}

    def note(which, name):
        return lambda *_: seen[which].append(name)

    def hooks(which, each):
        yield each.register_forward_pre_hook(note(which, "before"))
        yield each.line.register_forward_hook(lambda _m, _i, out: out * 2)
        yield each.register_full_backward_hook(note(which, "backward"))
        yield each.line.weight.register_hook(lambda grad: grad * 3)
        yield each.register_forward_hook(note(which, "behind"), always_call=True)

    x = X.clone().requires_grad_()
    for which, each in enumerate(pair()):
        seen[which] = []
        each(x).sum().backward()
        for handle in [*hooks(which, each)]:
            for _ in range(2):
                each(x).sum().backward()
            seen[which].append(each.line.weight.grad.clone())
            handle.remove()
            seen[which].append(each(x).detach())
    assert plain(seen[0]) == plain(seen[1])


@pytest.mark.parametrize("backend", ["eager", "monograph"])
def test_modes_around(backend):
    """The same module in turn under autocast, without gradients, and as it is."""
    model, fast = Net(), optimize(backend)(Net())
    modes = [
        *(torch.no_grad, torch.enable_grad, torch.inference_mode),
        *(lambda: torch.autocast("cpu", torch.bfloat16), lambda: torch.autocast("cpu")),
        lambda: torch.autocast("cpu", enabled=False),
    ]
    for mode in modes * 2:
        with mode():
            expected, found = model(X), fast(X)
        assert_close(found, expected)
        assert found.requires_grad == expected.requires_grad
        assert found.is_inference() == expected.is_inference()


def test_training_with_gradients_scaled_and_accumulated():
    """Steps of an optimizer, with two backward passes each, give the same parameters."""
    model, fast = pair()
    for each in (model, fast):
        optimizer = torch.optim.AdamW(each.parameters(), 0.1)
        for n in range(6):
            each(X * (n + 1)).square().mean().backward()
            if n % 2:
                optimizer.step()
                optimizer.zero_grad()
    assert_same(model, fast)


@pytest.fixture
def process_group(tmp_path):
    """A group of this process alone."""
    where = f"file://{tmp_path / 'group'}"
    torch.distributed.init_process_group("gloo", init_method=where, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("is_outside", [False, True])
def test_distributed_data_parallel(process_group, is_outside):
    """Around an optimized module, and optimized itself: gradients as without us."""
    nets = Net(), Net()
    model = DistributedDataParallel(nets[0])
    if is_outside:
        fast = optimize()(DistributedDataParallel(nets[1]))
    else:
        fast = DistributedDataParallel(optimize()(nets[1]))
    for n in range(3):
        for each in (model, fast):
            each(X + n).square().sum().backward()
        assert_same(*nets)


def test_optimized_within_optimized():
    """By other backends and limits: the outer one captures; by itself, the inner one does."""
    inner, outer = Backend(), Backend()
    child = optimize(inner)(Net())
    both = optimize(outer)(lambda x: child(x) + 1)
    model = Net()
    for _ in range(3):
        assert_close(both(X), model(X) + 1, rtol=0, atol=0)
    assert outer.graphs
    assert not inner.graphs
    assert_close(child(X), model(X), rtol=0, atol=0)
    assert inner.graphs


@pytest.mark.parametrize("strict", [True, False])
def test_export_of_a_module_with_an_optimized_part(strict):
    """The program is that of the module, sizes vary, and nothing is compiled for it."""
    backend = Backend()
    model = nn.Sequential(nn.Linear(4, 4), optimize(backend)(nn.Linear(4, 2)), nn.Tanh())
    program = monograph.export(
        model, (X,), dynamic_shapes=({0: monograph.Dim.AUTO},), strict=strict
    )
    assert not backend.graphs
    for n in (1, 3, 7):
        x = torch.ones(n, 4)
        assert_close(program.module()(x), model(x))


def test_threads_share_a_module():
    """Each with sizes and modes of its own, while others record."""
    reseed(1)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    fast, failed = optimize(cache_size_limit=64)(model), []

    def work(n):
        x = torch.full((n, 4), float(n))
        for k in range(10):
            with torch.set_grad_enabled(k % 2 == 0):
                found, expected = fast(x), model(x)
            if not torch.equal(found, expected) or found.requires_grad != (k % 2 == 0):
                failed.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_module_that_is_garbage_frees_its_graphs(is_kept):
    """Its parameters, too; an optimizer that is kept lets go of them by `reset`."""
    backend = Backend()
    optimizer = optimize(backend)

    def use(optimizer):
        fast = optimizer(Net())
        for _ in range(3):
            fast(X)
        return weakref.ref(fast.line.weight)

    weight = use(optimizer if is_kept else optimize(backend))
    optimizer.reset()
    gc.collect()
    assert weight() is None
    assert backend.graphs
    assert all(each() is None for each in backend.graphs)
    assert not optimizer.entries
