"""The table: a dictionary of formulas, changed by its owner, with functions of users in it."""

import io
from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import monograph
from monograph.diagnostics import MonographError
from tests.programs.texts import Texted
from tests.seeding import reseed

aten = torch.ops.aten


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return nn.functional.silu(self.linear(x))


def operators(program):
    """Every operator called."""
    return [
        node.target
        for module in program.graph_module.modules()
        for node in module.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
    ]


def exported(module=None, n=5):
    """Export with a batch that varies."""
    reseed(0)
    shapes = {"x": {0: monograph.Dim("batch")}}
    return monograph.export(module or Head(), (torch.randn(n, 4),), dynamic_shapes=shapes)


def agree(program, lowered, *sizes):
    """Hold that both programs give the same."""
    for n in sizes:
        x = torch.randn(n, 4)
        torch.testing.assert_close(lowered.module()(x), program.module()(x))


def test_an_operator_that_was_removed_stays_whole():
    """`pop` keeps the operator, and all others are lowered."""
    program, table = exported(), monograph.default_decompositions()
    table.pop(aten.linear.default)
    lowered = program.run_decompositions(table)
    assert aten.linear.default in operators(lowered)
    assert aten.silu.default not in operators(lowered)
    assert set(lowered.exceptions) == {"aten.linear.default"}
    agree(program, lowered, 1, 3)


def test_a_function_of_the_user_is_traced_with_symbolic_sizes():
    """It sees a SymInt where the size varies, and what it makes is lowered on."""
    seen = []

    def silu(x):
        seen.append(x.shape[0])
        return x * torch.sigmoid(x).reshape(x.shape[0], -1)

    table = monograph.default_decompositions()
    table[aten.silu.default] = silu
    program = exported()
    lowered = program.run_decompositions(table)
    assert isinstance(seen[0], torch.SymInt)
    assert lowered.exceptions == {}
    assert aten.reshape.default not in operators(lowered)
    agree(program, lowered, 1, 2, 7)


def test_a_function_is_run_once_for_equal_calls():
    """Three calls of the same operator on the same types run its formula once."""
    runs = []

    def silu(x):
        runs.append(x)
        return x * torch.sigmoid(x)

    class Thrice(nn.Module):
        def forward(self, x):
            for _ in range(3):
                x = nn.functional.silu(x)
            return x

    table = {aten.silu.default: silu}
    lowered = exported(Thrice()).run_decompositions(table)
    assert len(runs) == 1
    assert operators(lowered).count(aten.sigmoid.default) == 3


def test_a_changed_table_forgets_what_it_made():
    """After a change the next program is lowered by the new formula."""
    program, table = exported(), monograph.default_decompositions()
    before = program.run_decompositions(table)
    table[aten.silu.default] = lambda x: x / (1 + torch.exp(-x))
    after = program.run_decompositions(table)
    assert aten.exp.default in operators(after)
    assert aten.exp.default not in operators(before)
    agree(program, after, 2)


def test_a_formula_that_fixes_a_size_leaves_the_operator():
    """`int(size)` in a formula would make the size a constant; the operator is kept, and why."""

    def silu(x):
        return torch.cat([row * torch.sigmoid(row) for row in x.split([1] * int(x.shape[0]))])

    table = monograph.default_decompositions()
    table[aten.silu.default] = silu
    program = exported()
    lowered = program.run_decompositions(table)
    assert "alone" in lowered.exceptions["aten.silu.default"]
    agree(program, lowered, 2, 6)


def test_a_formula_that_is_not_applied_is_told_of_core_operators_too():
    """`NotImplemented` keeps the operator, which is in the dialect all the same."""
    table = monograph.default_decompositions()
    table[aten.addmm.default] = lambda *_args, **_options: NotImplemented
    program = exported()
    lowered = program.run_decompositions(table)
    assert "does not cover" in lowered.exceptions["aten.addmm.default"]
    agree(program, lowered, 2, 6)


def raises(x):
    """Fail."""
    raise ArithmeticError("no such thing")


def doubles(x):
    """Another dtype."""
    return (x * torch.sigmoid(x)).double()


def sums(x):
    """Another shape."""
    return x.sum(1)


def returns_two(x):
    """Another number of values."""
    return x * torch.sigmoid(x), x


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        (raises, "no such thing"),
        (doubles, "a tensor float64[batch, 3] on cpu, and not a tensor float32[batch, 3]"),
        (sums, "a tensor float32[batch] on cpu, and not a tensor float32[batch, 3]"),
        (returns_two, "2 values, and not 1"),
    ],
)
def test_a_formula_that_fails_is_refused(formula, why):
    """It raises, or returns something else: said at the model's line, with the function's place."""
    program, table = exported(), monograph.default_decompositions()
    table[aten.silu.default] = formula
    with pytest.raises(MonographError) as caught:
        program.run_decompositions(table)
    found = caught.value.diagnostic
    assert found.name == "formula-fails"
    assert why in found.headline
    assert found.at[0].code is Head.forward.__code__
    assert f"{formula.__name__}` ({__file__}" in found.notes[0]


def test_the_table_is_a_dictionary():
    """Membership, iteration, length and removal as dictionaries have them."""
    table = monograph.default_decompositions()
    assert aten.linear.default in table
    assert aten.addmm.default not in table
    listed = list(table)
    assert aten.linear.default in listed
    assert len(listed) == len(table) > 400
    del table[aten.linear.default]
    assert len(table) == len(listed) - 1
    with pytest.raises(KeyError):
        del table[aten.linear.default]
    assert aten.linear.default in monograph.default_decompositions()
    assert aten.linear.default not in table.copy()


def test_inputs_that_share_memory_are_refused_where_one_is_written():
    """The lowered program cannot see a write through the other input, so it refuses the call."""

    class Write(nn.Module):
        def forward(self, x, y):
            x.add_(1)
            return x + y

    program = monograph.export(Write(), (torch.ones(4), torch.ones(4)))
    module = program.run_decompositions({}).module()
    base = torch.arange(8.0)
    assert torch.equal(module(base[:4], base[4:]), torch.arange(4.0) + 1 + torch.arange(4.0, 8.0))
    with pytest.raises(MonographError) as caught:
        module(base[:4], base[2:6])
    assert caught.value.diagnostic.name == "contract-broken"
    same = torch.ones(4)
    with pytest.raises(MonographError):
        module(same, same)


class Accumulates(nn.Module):
    """A buffer is written to, and read together with what it is given."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.total.add_(1)
        return x * self.weight + self.total


class WritesItsInput(Accumulates):
    """The input is written to before a parameter is read."""

    def forward(self, x):
        x.add_(1)
        return x * self.weight


@pytest.mark.parametrize("form", ["lowered", "loaded", "text", "unflattened"])
@pytest.mark.parametrize(("kind", "state"), [(Accumulates, "total"), (WritesItsInput, "weight")])
def test_inputs_that_share_memory_with_state_are_refused(kind, state, form):
    """Where the module would see the write, its lowered program refuses; other calls agree."""
    module = kind()
    twin = kind()
    lowered = monograph.export(module, (torch.ones(4),)).run_decompositions()
    if form == "loaded":
        file = io.BytesIO()
        monograph.save(lowered, file)
        file.seek(0)
        lowered = monograph.load(file)
    if form == "text":
        called = Texted(lowered).module()
    else:
        called = monograph.unflatten(lowered) if form == "unflattened" else lowered.module()
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(called(torch.ones(4)), twin(torch.ones(4)))
        held = dict([*called.named_parameters(), *called.named_buffers()])[state]
        for shared in (held, held.detach(), held.view(2, 2).view(4)):
            with pytest.raises(MonographError) as caught:
                called(shared)
            assert caught.value.diagnostic.name == "contract-broken"
            assert form == "text" or f"`{state}`" in str(caught.value)
        apart = held.detach().clone()
        torch.testing.assert_close(called(apart.clone()), twin(apart))


def test_provenance_is_kept():
    """Every call says the user's line, the module, and the node it comes from."""
    lowered = exported().run_decompositions()
    for node in lowered.graph.nodes:
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            assert "stack_trace" in node.meta or node.target is aten.sym_size.int
            if node.target is aten.addmm.default:
                assert list(node.meta["nn_module_stack"])[-1] == "L__self__linear"
                assert node.meta["from_node"][-1].name == "linear"


NOT_IN_OURS = {
    "aten.binary_cross_entropy.default": "gradients would differ",
    "aten.detach.default": "gradients would differ",
    "aten.multilabel_margin_loss_forward.default": "values would differ",
    "aten.rrelu.default": "gradients would differ",
}


def test_labels_that_end_early_are_lowered_as_eager_counts_them():
    """What stands after the first -1 is no label."""

    class Loss(nn.Module):
        def forward(self, x, labels):
            return F.multilabel_margin_loss(x, labels)

    given = torch.randn(2, 4), torch.tensor([[3, 0, -1, 1], [-1, 2, 2, 2]])
    lowered = monograph.export(Loss(), given).run_decompositions().module()
    torch.testing.assert_close(lowered(*given), Loss()(*given))


def test_the_table_has_what_pytorchs_has():
    """Each of its operators that computes a tensor; iteration and look-up agree."""
    theirs = {each for each in torch.export.default_decompositions() if each.namespace == "aten"}
    ours = monograph.default_decompositions()
    listed = set(ours)
    questions = {each for each in theirs if "::sym_" in each.name()}
    assert {str(each) for each in theirs - questions - listed} == set(NOT_IN_OURS)
    assert all(each in ours for each in listed)
    kept = {aten.upsample_nearest2d.vec, aten.upsample_bilinear2d.vec}
    assert not kept & (theirs | listed)
    assert questions
    assert not any(each in ours for each in questions)


def parts(x):
    """Three parts, by heads; each lies in the whole."""
    return [each.unflatten(2, (4, 8)) for each in x.split(32, 2)]


ARRANGED = {
    "slices": lambda x: [each.transpose(1, 2) for each in parts(x)],
    "slices by steps": lambda x: [each.permute(1, 2, 0, 3) for each in parts(x)],
    "by heads": lambda x: [each.transpose(1, 2).contiguous() for each in parts(x)],
    "by steps": lambda x: [(2 * each).permute(1, 2, 0, 3) for each in parts(x)],
    "by batches": lambda x: [(2 * each).transpose(1, 2) for each in parts(x)],
    "by widths": lambda x: [(2 * each).permute(1, 3, 0, 2).transpose(1, 3) for each in parts(x)],
}
"""Queries, keys and values as models make them, of three parts in a row."""


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("how", ARRANGED)
def test_lowered_attention_lies_as_the_kernels(how, dynamic):
    """In the order that the query has in memory, also where that is part of something larger."""

    class Attends(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(*ARRANGED[how](x))

    x, other = torch.randn(5, 6, 96), torch.randn(3, 7, 96)
    shapes = {"x": {0: monograph.Dim("a", min=2), 1: monograph.Dim("b", min=2)}}
    program = monograph.export(Attends(), (x,), dynamic_shapes=shapes if dynamic else None)
    lowered = program.run_decompositions().module()
    for each in [x, other] if dynamic else [x]:
        found, expected = lowered(each), Attends()(each)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()


class Pools(nn.Module):
    """Composite operators that are core all the same."""

    def forward(self, x):
        pool = nn.functional
        return (
            *(pool.adaptive_avg_pool1d(x, 1), pool.adaptive_avg_pool1d(x, 3)),
            *(pool.avg_pool1d(x, 2), pool.adaptive_avg_pool1d(x[0], 2), x.var(dim=1), x.var(dim=2)),
        )


@pytest.mark.parametrize("how", ["static", "dynamic"])
def test_core_operators_that_are_composite_are_lowered(how):
    """As PyTorch lowers them, to other core operators."""
    x = torch.randn(2, 5, 12)
    shapes = {"x": {0: monograph.Dim.AUTO, 2: monograph.Dim.AUTO}} if how == "dynamic" else None
    lowered = monograph.export(Pools(), (x,), dynamic_shapes=shapes).run_decompositions()
    assert not lowered.exceptions
    called = Counter(map(str, operators(lowered)))
    assert not called.keys() & {
        *("aten.adaptive_avg_pool1d.default", "aten.avg_pool1d.default", "aten.var.dim")
    }
    if how == "static":
        theirs = torch.export.export(Pools(), (x,)).run_decompositions()
        assert called == Counter(map(str, operators(theirs)))
    for given in [x, torch.randn(3, 5, 17)] if how == "dynamic" else [x]:
        torch.testing.assert_close(lowered.module()(given), Pools()(given))


def test_custom_operators_that_write_work_on_copies():
    """An operator of the user's that writes has no form without; the verifier names it."""
    with torch.library._scoped_library("lowering_test", "DEF") as library:
        library.define("bump(Tensor(a!) x, float by) -> ()")
        library.impl("bump", lambda x, by: (x.add_(by), None)[1], "CPU")
        library.impl("bump", lambda x, by: None, "Meta")

        class Bump(nn.Module):
            def forward(self, x):
                torch.ops.lowering_test.bump(x[0], 2.0)
                return x * 2

        program = monograph.export(Bump(), (torch.zeros(3, 2),))
        lowered = program.run_decompositions()
        assert set(lowered.exceptions) == {"lowering_test.bump.default"}
        x = torch.zeros(3, 2)
        result = lowered.module()(x)
        assert x[0].tolist() == [2.0, 2.0]
        assert x[1:].sum() == 0
        assert torch.equal(result, x * 2)


def test_items_of_a_result_stay_in_its_region():
    """A list made under autocast is taken apart there: a region returns tensors, and is one."""

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            one, other = x.reshape(x.shape[0], -1, 2).unbind(-1)
            return torch.stack((-other, one), -1)

    module = type("Model", (nn.Module,), {"forward": forward})()
    program = monograph.export(module, (torch.randn(3, 4),), dynamic_shapes="x: n, 4")
    lowered = program.run_decompositions({})
    regions = [node for node in lowered.graph.nodes if "autocast" in str(node.target)]
    assert len(regions) == 1
    file, x = io.BytesIO(), torch.randn(5, 4)
    monograph.save(lowered, file)
    file.seek(0)
    for each in (lowered, monograph.load(file)):
        torch.testing.assert_close(each.module()(x), module(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_root_mean_squares_are_lowered_at_any_size(dtype):
    """The same operators at fixed and at varying sizes, and eager's values."""
    module = nn.RMSNorm((3, 8)).to(dtype)
    x = torch.randn(5, 3, 8).to(dtype)
    fixed = monograph.export(module, (x,)).run_decompositions()
    varying = monograph.export(module, (x,), dynamic_shapes="x: n, 3, 8").run_decompositions()
    assert not varying.exceptions
    assert operators(varying) == operators(fixed)
    for n in (0, 1, 7):
        given = torch.randn(n, 3, 8).to(dtype)
        torch.testing.assert_close(varying.module()(given), module(given))


def test_outputs_keep_their_names():
    """Whatever computes them, and whatever else took a name of theirs on the way."""

    def forward(self, x):
        y = self.norm(self.linear(x)) + 1
        with torch.no_grad():
            z = self.norm(y * 3)
        return {"y": y, "list": [self.linear(x), z + 1], "again": y, "x": x, "z": z}

    module = type("Model", (nn.Module,), {"forward": forward})()
    module.linear, module.norm = nn.Linear(3, 3), nn.LayerNorm(3)
    program = monograph.export(module, (torch.randn(2, 3),), dynamic_shapes="x: n, 3")
    for lowered in (program.run_decompositions({}), program.run_decompositions()):
        assert lowered.graph_signature.user_outputs == program.graph_signature.user_outputs
        lowered.graph.lint()
        x = torch.randn(4, 3)
        torch.testing.assert_close(lowered.module()(x), module(x))


def test_composite_operators_of_users_are_listed():
    """What is in the table is among what it lists, as torch.export's is."""
    library = torch.library.Library("listed", "FRAGMENT")
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", torch.sin, "CompositeImplicitAutograd")
    operator, table = torch.ops.listed.sine.default, monograph.default_decompositions()
    assert operator in table
    assert operator in list(table)
    del table[operator]
    assert operator not in list(table)
    assert all(each in table for each in list(table)[::7])
