"""What each rewrite does to a program, and what it must leave alone."""

import pytest
import torch
from torch import nn

import monograph
from monograph import BugError, ContractError, Dim, MonographError, export, passes, unflatten
from monograph.host.flags import region_operators
from monograph.passes.rewrites.registry import REWRITES
from tests.seeding import reseed

aten = torch.ops.aten
DYNAMIC = {"x": {0: Dim.AUTO}}


def program_of(function, *args, dynamic=True, **state):
    """Export a function of `self` and tensors."""
    module = type("Model", (nn.Module,), {"forward": function})()
    for name, value in state.items():
        is_parameter = isinstance(value, nn.Parameter | nn.Module)
        (setattr if is_parameter else module.register_buffer.__func__)(module, name, value)
    shapes = {"x": {0: Dim.AUTO}} if dynamic and len(args) == 1 else None
    return export(module.eval(), args, dynamic_shapes=shapes)


def count(program, *targets):
    """Count the calls of some operators, regions included."""
    return sum(
        node.target in targets
        for _, module in passes.graph_walks.graph_modules(program.graph_module)
        for node in module.graph.nodes
    )


def check(program, rewritten, *args):
    """Hold that both answer alike."""
    reseed(1)
    expected = program.module()(*args)
    reseed(1)
    torch.testing.assert_close(rewritten.module()(*args), expected)


def test_rewrites_are_named_as_their_files():
    """Each is found under its name, in the file of that name, and says what it does."""
    for name, each in REWRITES.items():
        assert getattr(passes, name) is each
        assert each.__doc__, name


def test_dead_code_leaves_effects():
    """What is unused goes; writes, draws and assertions stay, in regions too."""

    def forward(self, x):
        self.seen.add_(1)
        torch.rand(2)
        with torch.no_grad():
            y, z = x * 2, x * 3
        return y + 1 + z * 0

    program = program_of(forward, torch.ones(4, 3), seen=torch.zeros(()))

    def forget(module):
        add = next(n for n in module.graph.nodes if n.target is aten.add.Tensor and n.users)
        last = module.graph.output_node().all_input_nodes[0]
        last.replace_all_uses_with(last.args[0])
        del add

    forgotten = program.transform(forget)
    swept = forgotten.transform(passes.dead_code())
    assert count(swept, aten.mul.Tensor) < count(forgotten, aten.mul.Tensor)
    assert count(swept, aten.add_.Tensor) == count(swept, aten.rand.default) == 1
    check(forgotten, swept, torch.randn(7, 3))


def test_common_subexpressions_are_merged_where_nobody_can_tell():
    """Equal arithmetic merges; draws, fresh memory that is written to, and results do not."""

    def forward(self, x):
        a, b = (x + 1).sin(), (x + 1).sin()
        one, other = torch.zeros(3), torch.zeros(3)
        one.add_(1)
        return a * b + torch.rand_like(x) - torch.rand_like(x), one + other, x + 2, x + 2

    program = program_of(forward, torch.ones(4, 3))
    merged = program.transform(passes.common_subexpressions())
    assert count(merged, aten.sin.default) == 1
    assert count(merged, aten.rand_like.default) == count(merged, aten.zeros.default) == 2
    results = merged.module()(torch.ones(2, 3))
    assert results[2].data_ptr() != results[3].data_ptr()
    check(program, merged, torch.randn(6, 3))


def test_what_is_written_between_is_not_merged():
    """The same call before and after a write gives two values."""

    def forward(self, x):
        y = x.clone()
        before = y * 2
        y.add_(1)
        return before + y * 2

    program = program_of(forward, torch.ones(4, 3))
    merged = program.transform(passes.common_subexpressions())
    assert count(merged, aten.mul.Tensor) == 2
    check(program, merged, torch.randn(2, 3))


def test_constants_fold_and_stay_fresh():
    """Arithmetic of constants is done once; a result that the caller gets is its own tensor."""

    def forward(self, x):
        table = torch.arange(3.0) * 2 + torch.tensor([1.0, 2.0, 3.0])
        return x * table, torch.ones(2), x * self.weight.exp()

    program = program_of(forward, torch.ones(4, 3), weight=nn.Parameter(torch.ones(3)))
    folded = program.transform(passes.fold_constants())
    assert count(folded, aten.arange.default) == 0
    assert count(folded, aten.ones.default) == count(folded, aten.exp.default) == 1
    module = folded.module()
    module(torch.ones(2, 3))[1].zero_()
    check(program, folded, torch.randn(5, 3))
    frozen = program.transform(passes.fold_constants(state=True))
    assert count(frozen, aten.exp.default) == 0
    assert not program.transform(passes.fold_constants(max_elements=2)).constants.keys() - {
        *program.constants
    }


def test_folding_asks_for_nothing_more():
    """A size of 1 that the program takes is taken still: values keep their types."""

    def forward(self, x):
        return x[:, :2] * torch.tensor([1.0, 2.0]).exp()

    module = type("Model", (nn.Module,), {"forward": forward})()
    program = export(module, (torch.ones(4, 3),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    folded = program.transform(passes.fold_constants())
    assert count(folded, aten.exp.default) == 0
    check(program, folded, torch.randn(2, 1))


def test_state_that_is_written_to_is_no_constant():
    """A buffer that counts is read anew in each call."""

    def forward(self, x):
        y = x + self.steps.exp()
        self.steps.add_(1)
        return y

    program = program_of(forward, torch.ones(4, 3), steps=torch.zeros(()))
    folded = program.transform(passes.fold_constants(state=True))
    module, x = folded.module(), torch.zeros(2, 3)
    assert not torch.equal(module(x), module(x))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_batch_norm_folds_into_what_is_before(affine, bias):
    """Convolution and linear layer, with and without biases and weights of the normalisation."""
    for layer, norm, shape in (
        (nn.Conv2d(3, 4, 3, bias=bias), nn.BatchNorm2d(4, affine=affine), (2, 3, 8, 8)),
        (nn.Conv1d(3, 4, 3, groups=1, bias=bias), nn.BatchNorm1d(4, affine=affine), (2, 3, 8)),
        (nn.Linear(3, 4, bias=bias), nn.BatchNorm1d(4, affine=affine), (5, 3)),
    ):
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        model = nn.Sequential(layer, norm, nn.ReLU()).eval()
        program = export(model, (torch.randn(shape),))
        folded = program.transform(passes.fold_batch_norm())
        assert count(folded, aten.batch_norm.default) == 0
        x = torch.randn(shape)
        torch.testing.assert_close(folded.module()(x), model(x), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(program.module()(x), model(x))


def test_batch_norm_stays_where_folding_would_show():
    """In training, behind a result that is used twice, and behind shared weights' other users."""
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    training = export(model.train(), (torch.randn(5, 3),))
    assert count(training.transform(passes.fold_batch_norm()), aten.batch_norm.default) == 1

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.norm = nn.Linear(3, 3), nn.BatchNorm1d(3)
            self.norm.running_mean.fill_(0.5)

        def forward(self, x):
            y = self.lin(x)
            return y + self.norm(y) + self.norm(self.lin(y))

    program = export(Twice().eval(), (torch.randn(5, 3),))
    folded = program.transform(passes.fold_batch_norm())
    assert count(folded, aten.batch_norm.default) == 1
    check(program, folded, torch.randn(5, 3))


def test_another_device_moves_state_graph_and_contract():
    """On the meta device nothing is computed, and everything has its size."""

    def forward(self, x):
        return x * self.weight + torch.arange(3, device=x.device) + torch.tensor([1, 2, 3])

    program = program_of(forward, torch.ones(4, 3), weight=nn.Parameter(torch.ones(3)))
    for device in ("meta", {"cpu": "meta"}):
        moved = program.transform(passes.move_to_device(device))
        assert {t.device.type for t in moved.state_dict.values()} == {"meta"}
        assert moved.module()(torch.ones(6, 3, device="meta")).shape == (6, 3)
        with pytest.raises(ContractError):
            moved.module()(torch.ones(6, 3))
        assert isinstance(moved.state_dict["weight"], nn.Parameter)
    assert program.state_dict["weight"].device.type == "cpu"


class CastWithin(nn.Module):
    """Computes in bfloat16 in a part, and makes tensors where its input lies."""

    def __init__(self, kind="cpu"):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.kind = kind

    def forward(self, x):
        y = self.layer(x) + torch.arange(4, device=x.device)
        with torch.autocast(self.kind, dtype=torch.bfloat16):
            return self.layer(y).float(), torch.zeros(x.shape[0], device=x.device)


@pytest.fixture(params=["saved without weights", "captured on meta"])
def without_data(request, tmp_path):
    """A program whose weights are given later."""
    if request.param == "captured on meta":
        with torch.device("meta"):
            given = CastWithin(), (torch.ones(3, 4),)
        return monograph.export(*given, dynamic_shapes="x: n, 4")
    program = monograph.export(CastWithin(), (torch.ones(3, 4),), dynamic_shapes="x: n, 4")
    monograph.save(program, tmp_path / "bare.pt2", weights=False)
    return monograph.load(tmp_path / "bare.pt2")


def test_a_program_without_data_is_moved_to_a_device_that_is_not_here(without_data, tmp_path):
    """Graph, types, contract and autocast say the device; a file keeps it; no call runs."""
    moved = without_data.to("cuda:1")
    monograph.save(moved, tmp_path / "moved.pt2", weights=False)
    for program in (moved, monograph.load(tmp_path / "moved.pt2")):
        values = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
        assert {value.device for value in values} == {torch.device("cuda:1")}
        made = [n.kwargs["device"] for n in program.graph.nodes if "device" in n.kwargs]
        assert set(made) == {torch.device("cuda:1")}
        casts = [n for n in program.graph.nodes if n.target is region_operators()[1]]
        assert [node.args[0] for node in casts] == ["cuda"]
        told = str(program.contract)
        assert "f32[n, 4]  cuda" in told
        assert "autocast on cpu" not in told
        with pytest.raises(MonographError, match="has no data"):
            program.module()(torch.ones(3, 4))
        with pytest.raises(MonographError, match="is on cuda:1 in the"):
            program.with_state(CastWithin().state_dict())


def test_autocast_is_asked_of_the_new_device(without_data):
    """Of the old one nothing is asked any more."""
    asked, asked_there = (
        [answer.path for answer in program.contract.answers if answer.question == "autocast"]
        for program in (without_data, without_data.to("cuda"))
    )
    assert asked_there == ["cuda"] * len(asked)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_data_is_not_moved_to_a_device_that_is_not_here():
    """By name, and the program stays as it was."""
    program = monograph.export(CastWithin(), (torch.ones(3, 4),))
    with pytest.raises(MonographError, match=r"would lie on cuda, which is not\s+here"):
        program.to("cuda")
    assert program.module()(torch.ones(3, 4))[1].device.type == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_program_moved_to_a_gpu_computes_there():
    """As the module moved there; out of autocast only."""
    module = CastWithin().cuda()
    module.kind = "cuda"
    moved = monograph.export(CastWithin(), (torch.ones(3, 4),)).to("cuda")
    moved = moved.with_state(module.state_dict()).module()
    x = torch.randn(3, 4, device="cuda")
    torch.testing.assert_close(moved(x), module(x), rtol=1e-2, atol=1e-2)
    with torch.autocast("cuda"), pytest.raises(ContractError):
        moved(x)


def test_another_dtype_reaches_what_is_made_by_default():
    """Creation, division of ints, and named types give the new type; ints stay ints."""

    def forward(self, x):
        n = torch.arange(3)
        return x + torch.ones(3) + n / 2, (x > 0).float().sum(), n

    program = program_of(forward, torch.ones(4, 3))
    double = program.transform(passes.to_dtype(torch.float64))
    found = double.module()(torch.ones(2, 3, dtype=torch.float64))
    assert [each.dtype for each in found] == [torch.float64, torch.float64, torch.int64]
    with pytest.raises(ContractError):
        double.module()(torch.ones(2, 3))
    half = program.transform(passes.to_dtype(torch.bfloat16))
    assert half.module()(torch.ones(2, 3, dtype=torch.bfloat16))[0].dtype is torch.bfloat16


def test_patterns_match_values_and_sizes():
    """A pattern with a size in it matches where that size varies; what is used elsewhere stays."""

    def forward(self, x):
        y = aten.view.default(aten.neg.default(x), [x.shape[0] * 3])
        z = aten.neg.default(y)
        return aten.exp.default(z), z, aten.exp.default(aten.neg.default(y * 2))

    def pattern(x):
        return aten.exp.default(aten.neg.default(x))

    def replacement(x):
        return aten.reciprocal.default(aten.exp.default(x))

    program = program_of(forward, torch.ones(4, 3))
    rewritten = program.transform(passes.replace_pattern(pattern, replacement))
    assert count(rewritten, aten.reciprocal.default) == 1
    check(program, rewritten, torch.rand(5, 3))

    def flat(x, n):
        return aten.view.default(aten.neg.default(x), [n])

    def flat_first(x, n):
        return aten.neg.default(aten.view.default(x, [n]))

    flattened = program.transform(passes.replace_pattern(flat, flat_first))
    order = [node.target for node in flattened.graph.nodes if node.op == "call_function"]
    assert order.index(aten.view.default) < order.index(aten.neg.default)
    check(program, flattened, torch.rand(5, 3))


def test_any_fx_pass_works_and_is_verified():
    """Nodes get their types, tensors on the module become constants, what is no program is not."""

    def forward(self, x):
        return x.relu() + 1

    def insert(module):
        module.register_buffer("shift", torch.tensor([1.0, 2.0, 3.0]))
        (relu,) = (n for n in module.graph.nodes if n.target is aten.relu.default)
        with module.graph.inserting_after(relu):
            shift = module.graph.get_attr("shift")
        with module.graph.inserting_after(shift):
            add = module.graph.call_function(aten.add.Tensor, (relu, shift))
        relu.replace_all_uses_with(add, delete_user_cb=lambda user: user is not add)

    program = program_of(forward, torch.ones(4, 3))
    shifted = program.transform(insert)
    x = torch.randn(6, 3)
    torch.testing.assert_close(
        shifted.module()(x), program.module()(x) + torch.tensor([1.0, 2.0, 3.0])
    )
    assert list(shifted.constants) == ["shift"]

    def breaks(module):
        for node in module.graph.nodes:
            if node.target is aten.relu.default:
                node.target = torch.relu

    with pytest.raises(BugError, match="invalid-program"):
        program.transform(breaks)

    def drops_input(module):
        return torch.fx.GraphModule({}, torch.fx.symbolic_trace(lambda: 1).graph)

    with pytest.raises(BugError, match="invalid-program"):
        program.transform(drops_input)


def test_partitions_are_convex_and_leave_effects_outside():
    """Each supported part runs as one step between the others."""

    def forward(self, x):
        a = x.sin() + x.cos()
        b = torch.rand_like(a)
        c = (a * 2 + b).exp()
        d = x.clone()
        d.mul_(2)
        return c + a + d

    program = program_of(forward, torch.ones(4, 3))
    parts = passes.partition(program.graph_module, lambda node: "rand" not in str(node.target))
    chosen = [node for part in parts for node in part.nodes]
    assert len(chosen) == len({*chosen})
    assert not [n for n in chosen if n.target in {aten.mul_.Tensor, aten.clone.default}]
    assert len(parts) == 2
    for part in parts:
        inside, reached = {*part.nodes}, {u for n in part.nodes for u in n.users} - {*part.nodes}
        while reached:
            assert not reached & inside, "a value leaves and comes back"
            reached = {user for node in reached for user in node.users}
        graph = part.graph()
        assert len([n for n in graph.nodes if n.op == "placeholder"]) == len(part.inputs)
        graph.lint()


def test_guards_provenance_and_signatures_survive():
    """A rewritten program is explained, printed and unflattened as before."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    program = export(model, (torch.ones(4, 4),), dynamic_shapes="input: n, 4; n <= 9")
    rewritten = program.transform(passes.common_subexpressions(), passes.dead_code())
    assert str(rewritten.guards) == str(program.guards)
    assert str(rewritten.contract) == str(program.contract)
    x = torch.randn(3, 4)
    torch.testing.assert_close(unflatten(rewritten)(x), model(x))
    assert "self.linear" not in rewritten.to_python()
    with pytest.raises(ContractError):
        rewritten.module()(torch.ones(10, 4))
