"""The document about troubleshooting, paragraph by paragraph: a test for each of its headings."""

import json
import re
import time
import warnings

import numpy as np
import pytest
import torch

import monograph
from monograph import CompilationProfiler, mark_dynamic, optimize
from tests.jit import broken_backends

X = torch.linspace(-1, 1, 12).view(3, 4)


class Compiler:
    """A backend that keeps the graphs."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph, inputs):
        """Compile nothing."""
        self.graphs.append(graph)
        return graph.forward


def some_fun(x):
    """Some function of the user."""
    return torch.cos(x) + torch.sin(x)


def other_fun(x, n):
    """Another one, which depends on a number."""
    return x * n


class TestTroubleshooting:
    """Diagnose an issue, and find out whether a change to the model works around it."""

    def test_diagnosis_leads_to_a_change_that_works(self):
        """What is told of a break is enough to move it out."""

        def model(x):
            scale = x.abs().max().tolist()
            return x / scale

        found = monograph.explain(model, X)
        assert [reason for reason, _, _ in found.breaks] == ["`Tensor.tolist`"]
        changed = monograph.explain(lambda x: x / x.abs().max(), X)
        assert changed.graph_break_count == 0


class TestFileAnIssue:
    """A minimal script, a description, the expected behaviour, and versions."""

    def test_the_four_things_are_in_one_script(self):
        """The failure and the versions are at the head of what `minify` writes."""
        script = monograph.minify(
            lambda x: torch.tanh(x.relu()), (X,), backend=broken_backends.no_tanh
        )
        description, system, packages = script.splitlines()[:3]
        assert "tanh is not supported" in description
        assert "Python" in system
        assert torch.__version__ in packages
        assert script.count("graph.call_") == 1
        numbers = monograph.minify(
            lambda x: torch.exp(x + 2),
            (X,),
            backend=broken_backends.wrong_numbers,
            accuracy=True,
        )
        assert "expected = module(*made())" in numbers


class TestGraphBreaks:
    """All operations of a function go into one graph, or the rest of it runs between graphs."""

    def test_a_block_compiles_all_operations_into_one_graph(self):
        """As in the document: `with optimize(...): some_fun(x)`."""
        compiler = Compiler()
        with optimize(compiler):
            assert torch.equal(some_fun(X), torch.cos(X) + torch.sin(X))
        (graph,) = compiler.graphs
        assert sum(node.op.startswith("call_") for node in graph.graph.nodes) == 3

    def test_c_extensions_other_than_torch_are_insurmountable(self):
        """NumPy and the like run between graphs, each time, and see what eager code shows them."""
        seen = []

        @optimize()
        def f(x):
            y = (x * 2).numpy()
            seen.append(float(np.add.reduce(y, axis=None)))
            return torch.from_numpy(y) + 1

        for n in (1, 2, 3):
            assert torch.equal(f(X * n), X * n * 2 + 1)
        assert len(seen) == 3


class TestIdentifyingTheCauseOfAGraphBreak:
    """An aggregate list from the profiler; an error at the first one from `nopython`."""

    def test_the_profiler_aggregates_reasons(self):
        """Each reason with its place, and how often."""
        profiler = CompilationProfiler()

        @optimize(profiler)
        def f(x):
            for _ in range(3):
                x = x + 1
                time.sleep(0)
            return x * x.sum().item()

        f(X)
        rows = profiler.report().splitlines()
        assert any("time" in row and row.endswith("| 3") for row in rows)
        assert any("`Tensor.item`" in row and row.endswith("| 1") for row in rows)

    def test_nopython_gives_the_stack(self):
        """The user's frames, from the break outwards."""

        def inner(x):
            return x.tolist()

        def outer(x):
            return inner(x * 2)

        with pytest.raises(monograph.UnsupportedError) as caught:
            optimize(nopython=True)(outer)(X)
        text = str(caught.value)
        assert "x.tolist()" in text
        assert re.search(r"test_document.py:\d+ in outer", text)


class TestExcessiveRecompilation:
    """Guards on locals and globals; the limit; bounded dynamism."""

    def test_guards_are_assumptions_about_locals_and_globals(self):
        """They can be read, each with its line."""
        optimizer = optimize()
        optimizer(other_fun)(X, 2)
        (entry,) = optimizer.entries
        assert {"type(x)", "n", "other_fun"} <= {
            each.about.partition(".")[0] for each in entry.guards
        }
        line = other_fun.__code__.co_firstlineno + 2
        assert any(guard.place == f"{__file__}:{line}" for guard in entry.guards)

    def test_a_failing_guard_compiles_again_up_to_the_limit(self):
        """Then one warning says which guard it was, and the function runs in eager code."""
        f = optimize(cache_size_limit=3)(other_fun)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for n in range(2, 8):
                assert torch.equal(f(X, n * 1j), X * (n * 1j))
        (warning,) = caught
        assert "cache_size_limit" in str(warning.message)
        assert "n was" in str(warning.message)

    def test_a_limit_that_is_high_enough_caches_each_variation(self):
        """Bounded dynamism: each of ten numbers is compiled once."""
        compiler = Compiler()
        optimizer = optimize(compiler, cache_size_limit=10)
        f = optimizer(other_fun)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for n in [*range(2, 12), *range(2, 12)]:
                assert torch.equal(f(X, n), X * n)
        assert len(compiler.graphs) == 10

    def test_sizes_vary_and_ranks_do_not(self):
        """Batch sizes share a graph from the second one on; another rank is compiled for."""
        optimizer = optimize()
        f = optimizer(lambda x: (x * x.shape[0]).sum(-1))
        for n in (3, 1, 2, 7, 5, 3):
            assert torch.equal(f(torch.ones(n, 2)), torch.full((n,), 2.0 * n))
        assert len(optimizer.entries) == 2
        for _ in range(2):
            assert torch.equal(f(torch.ones(4)), torch.tensor(16.0))
        assert len(optimizer.entries) == 3

    def test_buckets_bound_the_number_of_compilations(self):
        """Sizes padded to a few are compiled for these few."""
        compiler = Compiler()
        f = optimize(compiler)(lambda x: torch.softmax(x, 0))
        for n in (1, 2, 3, 5, 6, 7):
            bucket = 4 if n <= 4 else 8
            padded = torch.full((bucket, 2), float("-inf"))
            padded[:n] = 1.0
            assert torch.allclose(f(padded)[:n], torch.full((n, 2), 1 / n))
        assert len(compiler.graphs) == 2


class TestRecompilationProfiler:
    """Guard failures and breaks, in the worst case."""

    def test_as_in_the_document(self):
        """`prof = CompilationProfiler()`, a block, and its report."""
        my_model = torch.nn.Linear(4, 2)
        prof = CompilationProfiler()
        with optimize(prof):
            my_model(X)
            my_model(X.double().float()[:2])
        report = prof.report()
        assert "No graph breaks." in report
        assert "Num Recompiles" in report

    def test_it_ignores_the_limit_and_behaves_as_if_it_were_one(self):
        """What alternates is compiled again each time, and nothing falls back to eager code."""
        profiler = CompilationProfiler()
        f = optimize(profiler, cache_size_limit=100)(other_fun)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for n in (1, 2) * 5:
                assert torch.equal(f(X, n), X * n)
        (failures,) = profiler.recompilations.values()
        assert len(failures) == 9

    def test_failing_guards_are_listed_separately(self):
        """Each instance with the value that it saw."""
        profiler = CompilationProfiler()
        f = optimize(profiler)(other_fun)
        for n in (1, 2, 3):
            f(X, n)
        f(X.double(), 3)
        report = profiler.report()
        for line in ("n was 1, is 2", "n was 2, is 3", "x.dtype was torch.float32"):
            assert line in report

    def test_it_accumulates_over_the_run(self):
        """As many iterations as it takes to meet the trouble."""
        profiler = CompilationProfiler()
        f = optimize(profiler)(other_fun)
        for n in range(5):
            f(X, n)
        before = profiler.report()
        f(X, 17)
        assert "is 17" not in before
        assert "is 17" in profiler.report()

    def test_it_is_json_and_a_page(self):
        """The same tables for tools, and for who is sent them."""
        profiler = CompilationProfiler()
        f = optimize(profiler)(lambda x, n: x * n + time.time_ns() * 0)
        f(X, 1)
        f(X, 2)
        data = json.loads(profiler.to_json())
        assert data["breaks"][0]["count"] >= 1
        assert data["recompilations"][0]["about"] == "n"
        page = profiler.to_html()
        assert page.startswith("<!doctype html>")
        assert "Graph Break Reason" in page
        assert "&lt;lambda&gt;" in page
        assert not re.search(r"(src|href)=.?https?:", page)
        other = monograph.explain(other_fun, X, 2)
        assert json.loads(other.to_json())["segments"][0]["operators"]
        assert "other_fun" in other.to_html()


class TestNopythonMode:
    """An exception at the first break, in place of falling back to Python."""

    def test_it_raises_at_the_first_break_only(self):
        """Nothing behind it has run."""
        ran = []

        def f(x):
            y = x * x.max().tolist()
            ran.append(1)
            return y

        with pytest.raises(monograph.UnsupportedError) as caught:
            optimize(nopython=True)(f)(X)
        assert not ran
        assert caught.value.diagnostic.name == "graph-break"
        assert torch.equal(optimize()(f)(X), X)


class TestDebugMode:
    """Verbose information about each compiled graph, and what it guards on."""

    def test_each_graph_is_shown_with_its_guards(self, capsys):
        """On standard error."""
        f = optimize(debug=True)(other_fun)
        f(X, 2)
        f(X, 3)
        shown = capsys.readouterr().err
        assert shown.count("other_fun: compiled") == 2
        assert "def replay(s):" in shown
        assert "mul" in shown


# --- six reasons, and the advice for each ---------------------------------------------------------

GAIN = 1


class Box:
    """An object with a number."""

    def __init__(self, scale):
        self.scale = scale


def six_reasons(x, n, box):
    """It depends on all that can change."""
    y = x * n
    z = y + GAIN
    return z * box.scale


def profile(calls, function=six_reasons):
    """The profiler's report over calls: functions that change something, and call."""
    profiler = CompilationProfiler()
    f = optimize(profiler)(function)
    for call in calls:
        call(f)
    return profiler


def set_gain(value):
    """Rebind the global."""
    global GAIN  # noqa: PLW0603 - what users do
    GAIN = value


def test_six_reasons_with_lines():
    """A size, a dtype, a number, a global, an attribute and a mode, each with its line."""
    set_gain(1)
    box, x = Box(1.0), X[:2]

    def in_inference_mode(f):
        with torch.inference_mode():
            f(x.double(), 3, box)

    profiler = profile(
        [
            lambda f: f(X, 2, box),
            lambda f: f(x, 2, box),
            lambda f: f(x.double(), 2, box),
            lambda f: f(x.double(), 3, box),
            lambda f: (set_gain(2), f(x.double(), 3, box)),
            lambda f: (setattr(box, "scale", 2.0), f(x.double(), 3, box)),
            in_inference_mode,
        ]
    )
    (failures,) = profiler.recompilations.values()
    first = six_reasons.__code__.co_firstlineno
    lines = {
        "x.shape": first + 2,
        "x.dtype": first + 2,
        "n": first + 2,
        "GAIN": first + 3,
        "box.scale": first + 4,
        "the modes of PyTorch": first,
    }
    assert {each.about: each.place for each in failures} == {
        about: f"{__file__}:{line}" for about, line in lines.items()
    }
    set_gain(1)


FOLLOWED = None


def as_advised(x, n, gain, scale):
    """What was kept in the function comes as tensors, sizes are marked, dtypes are the same."""
    x = x.clone().float()
    mark_dynamic(x, 0)
    return FOLLOWED(x, *map(torch.as_tensor, (float(n), float(gain), float(scale))))


def of_tensors(x, n, gain, scale):
    """The function after the advice was followed."""
    return (x * n + gain) * scale


def inside(mode, call, *args):
    """Call under a mode."""
    with mode():
        call(*args)


GIVEN = {
    "x.shape": (
        lambda f: [f(x, 2, 1, 1) for x in (X, X[:2], X[:1])],
        "`monograph.mark_dynamic(x, 0)`",
    ),
    "x.dtype": (lambda f: [f(x, 2, 1, 1) for x in (X, X.double())], "make the dtype of `x`"),
    "n": (lambda f: [f(X, n, 1, 1) for n in (2, 3)], "keep `n` out of the function, or pass it"),
    "GAIN": (lambda f: [f(X, 2, gain, 1) for gain in (1, 2)], "keep `GAIN` out of the function"),
    "box.scale": (lambda f: [f(X, 2, 1, s) for s in (1, 2)], "keep `box.scale` out of the"),
    "the modes of PyTorch": (
        lambda f: [inside(mode, f, X, 2, 1, 1) for mode in (torch.no_grad, torch.enable_grad)],
        "call it under one grad mode",
    ),
}


@pytest.mark.parametrize("about", GIVEN)
def test_following_the_advice_removes_the_reason(about):
    """Each of the six is named alone, with its advice; as it has it, nothing compiles again."""
    global FOLLOWED  # noqa: PLW0603 - what is optimized
    calls, advice = GIVEN[about]

    def before(f):
        calls(lambda x, n, gain, scale: (set_gain(gain), f(x, n, Box(scale))))

    profiler = profile([before])
    (failures,) = profiler.recompilations.values()
    assert {each.about for each in failures} == {about}
    assert advice in profiler.report().partition("What to do:")[2]
    profiler = CompilationProfiler()
    FOLLOWED = optimize(profiler)(of_tensors)
    one_mode = torch.no_grad if about == "the modes of PyTorch" else torch.enable_grad
    calls(lambda *args: inside(one_mode, as_advised, *args))
    assert profiler.n_graphs == 1
    assert not profiler.recompilations
    set_gain(1)


def test_raising_the_limit_as_advised_keeps_it_compiled():
    """The limit that the report names is enough."""
    profiler = profile([lambda f: [f(X, n, Box(1.0)) for n in range(9)]])
    limit = int(re.search(r"raise cache_size_limit to (\d+)", profiler.report()).group(1))
    f = optimize(cache_size_limit=limit)(six_reasons)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in [*range(9), *range(9)]:
            f(X, n, Box(1.0))
