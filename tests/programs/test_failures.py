"""What capture and calls refuse, and that nothing is left behind when they do."""

import gc
import threading
import weakref

import numpy as np
import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, export
from monograph.diagnostics import ContractError, MonographError
from tests.models.harness import assert_unchanged, snapshot
from tests.programs.harness import process_state


def module_of(function):
    """Make a module of a function."""
    return type("Model", (nn.Module,), {"forward": staticmethod(function)})()


class UsersError(Exception):
    """The user's own exception."""


class Stateful(nn.Module):
    """Fails after it changed everything it can reach."""

    def __init__(self, error):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("n", torch.zeros(()))
        self.history = [1]
        self.named = {"a": {"b": [2]}}
        self.error = error

    def forward(self, x):
        y = self.norm(self.layer(x))
        self.n.add_(1)
        self.n = self.n + 1
        self.history.append(y)
        self.named["a"]["b"].append(y)
        self.named["c"] = y
        self.late = y
        self.layer.weight.tag = 1
        self.eval()
        self.register_buffer("m", y)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            torch.set_grad_enabled(False)
            if y.shape[0] > 2:
                raise self.error
        return y


@pytest.mark.parametrize(
    "error", [UsersError("no"), KeyError("k"), RuntimeError("r"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_an_exception_of_user_code_passes_through(error, dynamic):
    """Its type is kept; module, patches, modes and flags are as they were."""
    module = Stateful(error)
    before, state = snapshot(module), process_state()
    shapes = {"x": {0: Dim.AUTO}} if dynamic else None
    with pytest.raises(type(error)) as caught:
        export(module, (torch.randn(4, 3),), dynamic_shapes=shapes)
    assert caught.value is error
    assert_unchanged(before, snapshot(module))
    assert str(state) == str(process_state())
    assert module.history == [1]
    assert module.named == {"a": {"b": [2]}}
    assert not vars(module.layer.weight)
    assert gc.isenabled()
    assert module.training
    # The module still runs.
    with pytest.raises(type(error)):
        module(torch.randn(4, 3))


def test_gc_stays_off_where_it_was_off():
    """Capture turns the collector on again only if it was on."""
    gc.disable()
    try:
        export(module_of(lambda x: x + 1), (torch.ones(2),))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_leaked_tensor_is_refused_by_name():
    """A tensor kept beyond its capture has no values, in eager and in another capture."""
    kept = threading.kept = []

    def keep(x):
        threading.kept.append(x * 2)  # where no capture of plain Python looks
        return x

    export(module_of(keep), (torch.ones(2),), strict=False)
    for use in (
        lambda: kept[0] + 1,
        lambda: kept[0].sum().item(),
        lambda: torch.ones(2) + kept[0],
        lambda: export(module_of(lambda x: x + kept[0]), (torch.ones(2),)),
        lambda: bool(kept[0][0]),
    ):
        with pytest.raises(MonographError) as caught:
            use()
        assert caught.value.diagnostic.name == "leaked-tensor"
    assert "Abstract" in repr(kept[0])


def test_a_leaked_size_answers_nothing_new():
    """A size kept beyond its capture is refused where its value would matter."""
    kept = threading.kept = []

    def keep(x):
        threading.kept.append(x.shape[0])
        return x

    export(module_of(keep), (torch.ones(4),), dynamic_shapes={"x": {0: Dim.AUTO}}, strict=False)
    for use in (lambda: int(kept[0]), lambda: kept[0] > 3, lambda: range(kept[0])):
        with pytest.raises(MonographError) as caught:
            bool(use())
        assert caught.value.diagnostic.name == "leaked-tensor"


def test_capture_inside_capture_is_refused():
    """`export` within forward."""

    def nested(x):
        export(module_of(lambda y: y * 2), (torch.ones(2),))
        return x

    with pytest.raises(MonographError) as caught:
        export(module_of(nested), (torch.ones(2),))
    assert caught.value.diagnostic.name == "capture-inside-capture"
    export(module_of(lambda x: x), (torch.ones(2),))


def test_a_program_inside_a_capture_is_captured():
    """A program's module is a module like any other."""
    inner = export(module_of(lambda x: x * 2), (torch.ones(3),)).module()
    outer = export(module_of(lambda x: inner(x) + 1), (torch.ones(3),)).module()
    assert torch.equal(outer(torch.arange(3.0)), torch.arange(3.0) * 2 + 1)


def test_threads_capture_one_after_the_other():
    """Captures of several threads wait for each other, and models run meanwhile."""
    errors = []
    layer = nn.Linear(3, 3)

    def work(i):
        try:
            for _ in range(5):
                program = export(nn.Linear(3, 3), (torch.randn(i + 2, 3),))
                program.module()(torch.randn(i + 2, 3))
                layer(torch.randn(2, 3))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_model_may_run_in_another_thread_during_capture():
    """What another thread computes has no part in the capture."""
    begin, done, end = threading.Event(), threading.Event(), threading.Event()
    other = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    results = []

    def work():
        begin.wait(10)
        results.append(other(torch.ones(2, 3)))
        results.append(torch.tensor([1.0, 2.0]) * 2)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            done.set()
            end.wait(10)

    def forward(x):
        begin.set()
        assert done.wait(10)
        return x @ x

    thread = threading.Thread(target=work)
    thread.start()
    program = export(module_of(forward), (torch.ones(2, 2),))
    end.set()
    thread.join()
    operators = [node.target for node in program.graph.nodes if node.op == "call_function"]
    assert operators == [torch.ops.aten.matmul.default]
    assert torch.equal(results[0], other(torch.ones(2, 3)))


# ---------------------------------------------------------------------------------- at the call
@pytest.mark.parametrize(
    ("given", "other"),
    [
        (3, 4), (3, 3.0), (1, True), (2.5, 2.6), (True, False), ("mean", "sum"), (None, 1),
        (1, None), (float("inf"), 1.0), (1 + 2j, 1 + 3j), (torch.float32, torch.float64),
        ("a", b"a"), (slice(1), slice(2)), (range(2), range(3)),
    ],
)  # fmt: skip
def test_another_constant_is_refused(given, other):
    """An input that is no tensor has the value of the example."""
    module = export(module_of(lambda x, c: x * 2), (torch.ones(2), given)).module()
    module(torch.ones(2), given)
    with pytest.raises(ContractError) as caught:
        module(torch.ones(2), other)
    assert "`c`" in str(caught.value) or "c " in str(caught.value)


def test_nan_is_the_same_constant():
    """NaN matches NaN; zero does not match minus zero."""
    module = export(module_of(lambda x, c: x * c), (torch.ones(2), float("nan"))).module()
    assert module(torch.ones(2), float("nan")).isnan().all()
    module = export(module_of(lambda x, c: x * c), (torch.ones(2), 0.0)).module()
    with pytest.raises(ContractError):
        module(torch.ones(2), -0.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m(x),
        lambda m, x: m(x, {"a": x}),
        lambda m, x: m(x, {"b": x, "a": x}),
        lambda m, x: m(x, {"a": x, "b": x, "c": x}),
        lambda m, x: m(x, [x, x]),
        lambda m, x: m(x.double(), {"a": x, "b": x}),
        lambda m, x: m(x[None], {"a": x, "b": x}),
        lambda m, x: m(x[:1], {"a": x, "b": x}),
        lambda m, x: m(None, {"a": x, "b": x}),
        lambda m, x: m(x.tolist(), {"a": x, "b": x}),
        lambda m, x: m(x, {"a": x, "b": x}, x),
        lambda m, x: m(x, d={"a": x, "b": x}, e=1),
        lambda m, x: m(x, {"a": x, "b": None}),
        lambda m, x: m(x.to_sparse(), {"a": x, "b": x}),
    ],
)
def test_another_structure_is_refused(call):
    """Number, names, order of keys, rank, dtype and size are those of the example."""
    x = torch.ones(3)
    module = export(module_of(lambda x, d: [x, *d.values()]), (x, {"a": x, "b": x})).module()
    module(x, {"a": x, "b": x})
    with pytest.raises(ContractError):
        call(module, x)


# ------------------------------------------------------------------------------------ named dims
def refused(name, function, args, shapes):
    """Hold that the export is refused by this name, at a line of this file."""
    with pytest.raises(MonographError) as caught:
        export(module_of(function), args, dynamic_shapes=shapes)
    assert caught.value.diagnostic.name == name, str(caught.value)
    assert "test_failures.py" in str(caught.value)
    return str(caught.value)


X = (torch.randn(4, 6),)


def test_a_range_that_the_code_contradicts():
    """The line that asks is named, and the range it needs."""
    text = refused(
        "dim-range-violated",
        lambda x: x * 2 if x.shape[0] < 10 else [].pop(),
        X,
        {"x": {0: Dim("batch", max=64)}},
    )
    assert "x * 2 if x.shape[0] < 10" in text
    assert "batch" in text


def test_a_dynamic_size_that_turns_out_fixed():
    """`Dim.DYNAMIC` and named sizes must not become constants."""
    for dim in (Dim.DYNAMIC, Dim("n")):
        text = refused("dim-specialised", lambda x: x.view(4, 2, 3), X, {"x": {0: dim}})
        assert "x.view(4, 2, 3)" in text


def test_sizes_that_turn_out_equal():
    """Two names for one size."""
    text = refused(
        "dims-must-be-equal",
        lambda x, y: x + y,
        (torch.ones(4), torch.ones(4)),
        {"x": {0: Dim("a")}, "y": {0: Dim("b")}},
    )
    assert "x + y" in text


def test_a_relation_that_was_not_declared():
    """One size turns out to be twice the other."""
    text = refused(
        "relation-not-declared",
        lambda x, y: torch.cat([x, x]) + y,
        (torch.ones(4), torch.ones(8)),
        {"x": {0: Dim("a")}, "y": {0: Dim("b")}},
    )
    assert "2*a" in text or "b // 2" in text or "b/2" in text


def test_ranges_are_enforced_at_the_call():
    """Below, above, and between."""
    shapes = {"x": {0: Dim("batch", min=2, max=8)}}
    module = export(module_of(lambda x: x * 2), X, dynamic_shapes=shapes).module()
    for n in (2, 5, 8):
        module(torch.ones(n, 6))
    for n in (0, 1, 9):
        with pytest.raises(ContractError) as caught:
            module(torch.ones(n, 6))
        assert "2" in str(caught.value) or "8" in str(caught.value)


@pytest.mark.parametrize(
    ("derived", "size"),
    [(lambda d: 2 * d, 8), (lambda d: d + 1, 5), (lambda d: d - 1, 3), (lambda d: 3 * d + 2, 14)],
)
def test_derived_sizes_are_enforced_at_the_call(derived, size):
    """A size derived from another follows it."""
    d = Dim("d", min=2, max=32)
    shapes = {"x": {0: d}, "y": {0: derived(d)}}
    args = (torch.ones(4), torch.ones(size))
    module = export(module_of(lambda x, y: x.sum() + y), args, dynamic_shapes=shapes).module()
    later = derived(d).fn(7)
    module(torch.ones(7), torch.ones(later))
    for wrong in (later + 1, later - 1):
        with pytest.raises(ContractError):
            module(torch.ones(7), torch.ones(wrong))


def test_equal_names_are_equal_sizes():
    """One Dim for two inputs."""
    d = Dim("d")
    shapes = {"x": {0: d}, "y": {0: d}}
    module = export(
        module_of(lambda x, y: x + y), (torch.ones(4), torch.ones(4)), dynamic_shapes=shapes
    ).module()
    module(torch.ones(7), torch.ones(7))
    with pytest.raises(ContractError):
        module(torch.ones(7), torch.ones(6))


def test_a_guard_names_the_users_line():
    """A call on the other side of a branch is refused with the line that asked."""
    module = export(
        module_of(lambda x: x * 2 if x.shape[0] > 3 else [].pop()),
        X,
        dynamic_shapes={"x": {0: Dim.AUTO}},
    ).module()
    with pytest.raises(ContractError) as caught:
        module(torch.ones(2, 6))
    assert "test_failures.py" in str(caught.value)
    assert "x.shape[0] > 3" in str(caught.value)


def test_every_refusal_has_a_line_of_the_user():
    """Fifteen refusals; each names this file, none is a mistake of ours."""
    cases = {
        "data-dependent-branch": lambda x: x if x.sum() > 0 else -x,
        "value-read": lambda x: x + float(np.median(x.numpy())),
        "data-dependent-size": lambda x: x if x.argmax().item() > 2 else -x,
        "specialized-value": lambda x: [x, -x, x, x, x, x][x[0].argmax().item()],
        "sizes-disagree": lambda x: x + torch.ones(5),
        "view-impossible": lambda x: x.view(5, 5),
        "dimension-out-of-range": lambda x: x.sum(7),
        "mutated-constant": lambda x: X[0].add_(1),
    }
    for name, function in cases.items():
        with pytest.raises(MonographError) as caught:
            export(module_of(function), (torch.randn(4, 6),), control_flow="refuse")
        assert caught.value.diagnostic.name == name, str(caught.value)
        assert "test_failures.py" in str(caught.value), str(caught.value)


def test_a_part_that_is_a_weak_reference_is_refused():
    """It says that it is of the module's class, and no table of modules can hold it."""
    module = nn.Sequential(nn.Linear(4, 4))
    module.other = weakref.proxy(module[0])
    with pytest.raises(MonographError, match="was given a `CallableProxyType`"):
        export(module, (torch.ones(2, 4),))


def test_not_a_module_and_wrong_arguments():
    """Mistakes in the call of `export` itself."""
    for name, args in {
        "not-a-module": (lambda x: x, X),
        "args-not-a-tuple": (nn.Linear(6, 2), X[0]),
        "forward-rejects-inputs": (nn.Linear(6, 2), (X[0], X[0])),
    }.items():
        with pytest.raises(MonographError) as caught:
            export(*args)
        assert caught.value.diagnostic.name == name
    assert monograph.export is export
