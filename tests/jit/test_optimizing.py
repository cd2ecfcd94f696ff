"""The ways in: decorator, call and block; backends; the cache; `nopython`."""

import copy
import gc
import pickle
import threading
import typing
import warnings
import weakref

import pytest
import torch
from torch import nn

import monograph
from monograph import optimize


def some_fun(x):
    """Some function that the block of a test names."""
    return torch.sin(x) + 1


class Compiler:
    """A backend that counts the graphs it is given, and the calls of what it returns."""

    def __init__(self):
        self.graphs, self.n_calls = [], 0

    def __call__(self, graph, inputs):
        """Compile nothing."""
        self.graphs.append((graph, inputs))

        def run(*args):
            self.n_calls += 1
            return graph.forward(*args)

        return run


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)

    def forward(self, x):
        return self.line(x).relu()


X = torch.linspace(-1, 1, 12).view(3, 4)


def test_a_block_optimizes_the_functions_it_names():
    """As the document writes it; outside of it, the function is what it was."""
    compiler, code = Compiler(), some_fun.__code__
    with optimize(compiler):
        results = [some_fun(X) for _ in range(3)]
    assert some_fun.__code__ is code
    assert len(compiler.graphs) == 1
    assert compiler.n_calls == 2
    assert all(torch.equal(each, torch.sin(X) + 1) for each in results)


def test_a_block_optimizes_modules_and_closures():
    """Modules by their call; a function with cells keeps them."""
    compiler, my_model, gain = Compiler(), Line(), 3

    def scaled(x):
        return x * gain

    expected = my_model(X), scaled(X)
    with optimize(compiler):
        for _ in range(2):
            found = my_model(X), scaled(X)
            assert all(map(torch.equal, found, expected))
    assert len(compiler.graphs) == 2
    assert compiler.n_calls == 2


def test_a_decorator_keeps_names_and_binds_methods():
    """The result is called as the function is, also as a method."""

    class Scale:
        by = 3

        @optimize()
        def apply(self, x):
            """Scale."""
            return x * self.by

    assert Scale.apply.__name__ == "apply"
    assert Scale.apply.__doc__ == "Scale."
    scale = Scale()
    assert torch.equal(scale.apply(X), X * 3)
    assert torch.equal(optimize()(scale.apply)(X), X * 3)


def test_a_module_shares_everything_with_its_optimized_form():
    """State, copies, pickles, attributes that are set, and training."""
    model = Line()
    fast = optimize()(model)
    assert isinstance(fast, Line)
    assert list(fast.state_dict()) == list(model.state_dict())
    fast.eval()
    assert not model.training
    assert torch.equal(fast(X), model(X))
    assert torch.equal(copy.deepcopy(fast)(X), model(X))
    assert torch.equal(torch.nn.Sequential(fast, nn.ReLU())(X), model(X))


def test_an_optimized_module_is_pickled_as_the_module(tmp_path):
    """Who loads it needs nothing of ours."""
    fast = optimize()(nn.Linear(4, 2))
    assert type(pickle.loads(pickle.dumps(fast))) is nn.Linear
    torch.save(fast.state_dict(), tmp_path / "state.pt")


@pytest.mark.parametrize("backend", ["eager", "monograph", "aot_eager"])
def test_backends_by_name_with_gradients(backend):
    """Ours and torch's: values and gradients are those of eager code."""
    model = Line()
    fast = optimize(backend)(model)
    for _ in range(3):
        model.zero_grad()
        model(X).sum().backward()
        expected = [each.grad.clone() for each in model.parameters()]
        model.zero_grad()
        fast(X).sum().backward()
        found = [each.grad for each in model.parameters()]
        assert all(torch.allclose(one, two) for one, two in zip(found, expected, strict=True))


@pytest.mark.parametrize("backend", ["eager", "monograph", "aot_eager"])
def test_a_mode_that_a_function_leaves_set(backend):
    """Whatever becomes of the calls that set it in what the backend compiles."""

    def f(x, is_on):
        y = x * 2
        torch.set_grad_enabled(is_on)
        return y.requires_grad, (x * 3).requires_grad

    fast, x = optimize(backend)(f), X.clone().requires_grad_()
    for is_on in (True, False, False, True, False, True):
        with torch.enable_grad():
            found = fast(x, is_on), torch.is_grad_enabled()
        assert found == ((True, is_on), is_on)


def test_an_unknown_backend_is_refused():
    """With the nearest name."""
    with pytest.raises(monograph.SpecError) as caught:
        optimize("eagre")
    assert caught.value.diagnostic.name == "backend-unknown"


def test_nopython_raises_at_the_first_break():
    """With the user's line; a function without breaks runs."""

    @optimize(nopython=True)
    def f(x):
        try:
            return x + x.sum().tolist()
        except Exception:  # noqa: BLE001 - it must not be swallowed here
            return x

    with pytest.raises(monograph.UnsupportedError) as caught:
        f(X)
    assert caught.value.diagnostic.name == "graph-break"
    assert "x.sum().tolist()" in str(caught.value)
    assert torch.equal(optimize(nopython=True)(some_fun)(X), some_fun(X))


def test_the_limit_warns_once_and_runs_eager():
    """The warning names function, line and guard."""
    f = optimize(cache_size_limit=2)(lambda x, n: x * n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [f(X, n * 1j) for n in range(5)]
    assert all(torch.equal(each, X * (n * 1j)) for n, each in enumerate(found))
    assert len(caught) == 1
    assert "n was 1j, is 2j" in str(caught[0].message)
    assert __file__ in str(caught[0].message)


def test_entries_and_reset():
    """Each entry has guards and hits; after a reset, there is none."""
    optimizer = optimize()
    f = optimizer(some_fun)
    for _ in range(3):
        f(X)
    (entry,) = optimizer.entries
    assert entry.hits == 2
    assert entry.n_operators == 2
    assert any("x" in guard.about for guard in entry.guards)
    optimizer.reset()
    assert not optimizer.entries
    assert torch.equal(f(X), some_fun(X))


def test_nested_optimized_functions_are_one_graph():
    """What is optimized by itself is inlined where it is called."""
    compiler = Compiler()
    inner = optimize("eager")(some_fun)
    layer = optimize("eager")(Line())
    outer = optimize(compiler)(lambda x: inner(layer(x)) * 2)
    expected = some_fun(layer(X)) * 2
    for _ in range(3):
        assert torch.equal(outer(X), expected)
    assert len(compiler.graphs) == 1


def test_modes_and_transforms_call_the_function():
    """Under modes of functions and transforms nothing is compiled."""
    optimizer = optimize()
    f = optimizer(some_fun)
    assert torch.equal(torch.func.vmap(f)(X), some_fun(X))
    assert torch.equal(torch.func.grad(lambda x: f(x).sum())(X), torch.cos(X))
    with torch.device("meta"):
        f(X)
    assert not optimizer.entries


def test_export_of_an_optimized_module():
    """It is exported as the module."""
    model = Line()
    program = monograph.export(optimize()(model), (X,))
    assert torch.equal(program.module()(X), model(X))


def test_garbage_frees_graphs():
    """A function that nobody holds takes its graphs with it."""
    compiler = Compiler()

    def make():
        f = optimize(compiler)(lambda x: x * 2)
        f(X)
        f(X)
        return weakref.ref(f)

    gone = make()
    compiler.graphs.clear()
    gc.collect()
    assert gone() is None


def test_threads():
    """Many threads call one function, with sizes of their own."""
    f = optimize(cache_size_limit=64)(lambda x: (x * 2).sum(0) + x.shape[0])
    failed = []

    def work(n):
        for _ in range(20):
            x = torch.ones(n, 4)
            if not torch.equal(f(x), x.sum(0) * 2 + n):
                failed.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed


def test_a_broken_backend_is_told():
    """What a backend raises is raised."""

    def broken(graph, inputs):
        raise ZeroDivisionError("compiler")

    with pytest.raises(ZeroDivisionError):
        optimize(broken)(some_fun)(X)


def test_inference_and_no_grad_around():
    """Modes around are guards, not constants."""
    model = Line()
    fast = optimize()(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert fast(X).requires_grad
            with torch.no_grad():
                assert not fast(X).requires_grad
            with torch.inference_mode():
                assert fast(X).is_inference()


def test_base_classes_are_not_told_of_the_class_of_an_optimized_module():
    """A registry of subclasses, and one that reads their annotations, as models have."""
    seen = []

    class Base(nn.Module):
        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)
            seen.append(typing.get_type_hints(cls))

    class Sub(Base):
        config: int

        def forward(self, x):
            return x * 2

    assert torch.equal(optimize()(Sub())(X), X * 2)
    assert len(seen) == 1
    typing.get_type_hints(type(optimize()(Sub())))
