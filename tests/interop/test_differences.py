"""Programs that differ from torch.export: each is argued in docs/migrating.md, in these words.

A row is the smallest program of its class, what it raises here, and words of the page. What agrees
with torch.export is held where its feature is tested.
"""

from pathlib import Path

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim, MonographError, draft_export, export, unflatten

PAGE = " ".join((Path(__file__).parents[2] / "docs/migrating.md").read_text().split())
X = torch.ones(2)


@torch.library.custom_op("differences::halves", mutates_args=())
def halves(a: torch.Tensor) -> torch.Tensor:
    """Its fake kernel promises another dtype."""
    return a.half()


@torch.library.custom_op("differences::doubled", mutates_args=())
def doubled(a: torch.Tensor) -> torch.Tensor:
    """Its fake kernel says that it returns its argument."""
    return a * 2


halves.register_fake(torch.empty_like)
doubled.register_fake(lambda a: a)
LIBRARY = torch.library.Library("differences_views", "FRAGMENT")
LIBRARY.define("first(Tensor a) -> Tensor")
LIBRARY.impl("first", lambda a: a[:1], "CPU")
torch.library.register_fake(
    "differences_views::first", lambda a: a.new_empty(1), lib=LIBRARY, allow_override=True
)


class Model(nn.Module):
    """A module with this forward."""

    def __init__(self, forward):
        super().__init__()
        self.run, self.n, self.kept = forward, 0, torch.ones(2, requires_grad=True)

    def forward(self, *args):
        """Run it."""
        return self.run(self, *args)


def hooked(_, x):
    """A function of the gradient."""
    y = x * 2
    y.register_hook(lambda g: g)
    return y


def counting(self, x):
    """An attribute is changed."""
    self.n = self.n + 1
    return x + self.n


def mode_left(_, x):
    """The mode stays set."""
    torch._C._set_grad_enabled(not torch.is_grad_enabled())
    return x + 1


def stacked(_, x, i):
    """A loop's carried values of all rounds."""
    return torch.ops.higher_order.while_loop_stack_output(
        lambda i, _: i < 3, lambda i, x: (i + 1, x.sin()), (i, x), ()
    )


class Buffered(nn.Module):
    """Writes to its buffer."""

    def __init__(self):
        super().__init__()
        self.buf = nn.Buffer(torch.ones(1))

    def forward(self, x):
        """Write, and read."""
        self.buf.add_(1)
        return x + self.buf


class Picks(nn.Module):
    """Uses one argument."""

    def forward(self, x, _unused):
        """Read one."""
        return x + 1


class Outer(nn.Module):
    """Calls another."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        """Call it."""
        return self.inner(x, x * 3) if isinstance(self.inner, Picks) else self.inner(x) * 2


def without_dead_code():
    """Dead code goes before it is unflattened."""
    program = export(Outer(Picks()), (X,), preserve_module_call_signature=("inner",))
    program.graph.eliminate_dead_code()
    return unflatten(program)


def lowered_with_writes():
    """Lowered before it is unflattened."""
    program = export(Outer(Buffered()), (X,), preserve_module_call_signature=("inner",))
    return unflatten(program.run_decompositions({}))


def other_formula():
    """A formula with another shape."""
    table = monograph.default_decompositions()
    table[torch.ops.aten.linear.default] = lambda x, w, _b: x + w.sum()
    return export(nn.Linear(2, 1), (X,)).run_decompositions(table)


def sized(*args):
    """Another size than the example took the branch for."""

    def chosen(_, x):
        return torch.sym_ite(x.shape[0] == 5, x.shape[0], x.shape[1])

    program = export(Model(chosen), (torch.ones(4, 5),), dynamic_shapes=(({0: Dim("a")},),))
    return program.module()(*args)


def asks(_, x):
    """Another way for exporters."""
    return x + 1 if torch.compiler.is_exporting() else x - 1


RAISES = [
    (lambda: unflatten(export(nn.Dropout().eval(), (X,))).train(), "`unflatten(ep).train()`"),
    (lambda: export(Model(lambda _, x: halves(x) + 1), (X,)).module()(X), "the call raises"),
    (
        lambda: export(Model(lambda _, x: torch.ops.differences_views.first(x)), (X,)).module()(X),
        "a view its schema does not promise",
    ),
    (lambda: export(Model(counting), (X,)), "`attribute-changed`"),
    (lambda: export(Model(lambda _, x: x + len(str(x))), (X,)), "a text of a tensor that goes"),
    (lambda: export(Model(hooked), (X.requires_grad_(False),)), "`register_hook` in forward"),
    (lambda: export(Model(mode_left), (X,)), "it would outlive the call"),
    (lambda: export(Model(stacked), (X, torch.tensor(0))), "while_loop_stack_output"),
    (lambda: export(Model(lambda _, x: x @ x), (torch.eye(2).to_sparse(),)), "refused as inputs"),
    (without_dead_code, "whose unused argument dead-code elimination took"),
    (lowered_with_writes, "`unflatten` of lowered programs"),
    (other_formula, "`formula-fails`"),
    (lambda: export(Picks(), (X,)), "`TypeError` of example inputs"),
    (lambda: export(Picks(), (X, X)).module()(X), "`ValueError` of another structure"),
    (lambda: sized(torch.ones(5, 5)), "`torch.sym_ite` of sizes"),
    (
        lambda: export(Model(lambda _, d: [*d.values()]), ({"a": X, "b": X},)).module()(
            {"b": X, "a": X}
        ),
        "keys and their order are part of the contract",
    ),
    (
        lambda: export(Model(lambda _, x: x.tolist()), (X.int(),)).module()(X.long()),
        "dtypes are always checked",
    ),
]


def test_another_structure_is_a_value_error():
    """It is caught as what torch.export raises."""
    with pytest.raises(ValueError, match="contract-broken"):
        export(Picks(), (X, X)).module()(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "words"), RAISES, ids=[words for _, words in RAISES])
def test_what_is_refused_is_argued(program, words):
    """It is refused, and the page says so."""
    assert words in PAGE
    with torch.enable_grad(), pytest.raises((MonographError, RuntimeError)):
        program()


class Named(nn.Module):
    """An input is named as a parameter's placeholder would be; two names of a tensor and module."""

    def __init__(self):
        super().__init__()
        self.param, self.first, self.kept = nn.Parameter(X.clone()), nn.ReLU(), X.clone()
        self.second, self.again = self.first, self.kept

    def forward(self, p_param, x):
        """Use all."""
        return self.second(self.first(p_param * x + self.param)) + self.kept + self.again


def test_what_is_named_otherwise_is_argued():
    """Names, texts and entries."""
    program = export(Named(), (X, X))
    for words in (
        "and the input of that name gets the number".replace("the input", "an input"),
        "one for each tensor, under its first name",
        "also `_guards_fn`, which checks the call",
        "one, under its first name",
        "`Dim.AUTO`, which is code",
        "keeps it, as in eager code",
        "`AbstractTensor(TensorType(torch.float32[2], cpu))`",
        "the schema is believed, not that",
        "by `ep.validate()`, and by what reads them",
        "`script-object`",
    ):
        assert words in PAGE
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert {"p_param", "p_param_1", "x"} <= set(names)
    assert names.index("p_param") < names.index("p_param_1")
    assert list(program.constants) == ["kept"]
    modules = [name for name, _ in unflatten(program).named_modules(remove_duplicate=False)]
    assert "_guards_fn" in modules
    assert "second" not in modules
    assert repr(Dim.AUTO) == "Dim.AUTO"
    assert str(next(iter(program.graph.nodes)).meta["val"]).startswith("AbstractTensor(TensorType(")
    assert export(Model(lambda self, x: x + self.kept), (X,)).module()(X).requires_grad
    assert "`torch.compiler.is_exporting()` in forward" in PAGE
    torch.testing.assert_close(export(Model(asks), (X,)).module()(X), X - 1)
    draft = draft_export(Model(lambda _, x: doubled(x) + 1), (X,))
    assert not draft.report.problems
    torch.testing.assert_close(draft.module()(X), X * 2 + 1)


class Normalised(nn.Module):
    """Trains; gradients do not flow through the half of it; reads a number."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x, i):
        """Normalise twice."""
        with torch.no_grad():
            y = x * 2
        return self.norm(self.norm(x + y)) + i.item()


def test_graphs_that_differ_are_argued():
    """Metadata, calls, regions and copies."""
    program = export(Normalised(), (torch.randn(3, 2), torch.tensor(2)))
    (item,) = [node for node in program.graph.nodes if node.name == "item"]
    assert 'node.meta["unbacked_bindings"]' in PAGE
    assert "unbacked_bindings" not in item.meta
    assert item.meta["val"].node.expr in program.range_constraints
    assert "each call: `a`, `a@1`" in PAGE
    assert [each.fqn for each in program.module_call_graph] == ["", "norm", "norm@1"]
    lowered = program.run_decompositions()
    assert "gradients are those of eager code" in PAGE
    assert "wrap_with_set_grad_enabled" in str(lowered.graph)
    assert "copies of them, which the backward pass may keep" in PAGE
    assert "aten.clone" in str(lowered.graph)
    x = torch.randn(3, 2, requires_grad=True)
    (lowered.module()(x, torch.tensor(2)) ** 2).sum().backward()
    negative = export(nn.ReLU(), (torch.ones(3, 2),), dynamic_shapes=({-2: Dim("n")},))
    assert negative.module()(input=torch.ones(5, 2)).shape == (5, 2)
    assert '`{-1: Dim("n")}`' in PAGE


class Twice(nn.Module):
    """Calls a module with several graphs."""

    def __init__(self):
        super().__init__()
        self.a = Scaled()

    def forward(self, x):
        """Two ways."""
        return self.a(x, sine=True) + self.a(x, sine=False)


class Scaled(nn.Module):
    """Has state, and two ways."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(X.detach().clone())

    def forward(self, x, *, sine):
        """One of them."""
        return (x * self.w).sin() if sine else (x * self.w).cos()


def test_later_calls_read_the_state_of_the_first():
    """The state dict is the module's, as the page says."""
    assert "`state_dict` has the module's names alone" in PAGE
    module = Twice()
    made = unflatten(export(module, (X,)))
    assert list(made.state_dict()) == ["a.w"]
    assert made.get_submodule("a@1").w is made.a.w
    torch.testing.assert_close(made(X), module(X))
