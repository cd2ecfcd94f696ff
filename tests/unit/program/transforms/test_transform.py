"""Any pass over a graph: what it changed is typed anew, guarded, and held to the signature."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from monograph import BugError, ContractError, export, passes
from tests.seeding import reseed

aten = torch.ops.aten


def program_of(function, *args, shapes="x: n, 3", **state):
    """Export a function of `self` and tensors."""
    module = type("Model", (nn.Module,), {"forward": function})()
    for name, value in state.items():
        if isinstance(value, nn.Parameter):
            setattr(module, name, value)
        else:
            module.register_buffer(name, value)
    return export(module.eval(), args, dynamic_shapes=shapes)


def call_of(module, target):
    """Find the only call of an operator."""
    (node,) = (each for each in module.graph.nodes if each.target is target)
    return node


def _negated(x):
    return aten.neg.default(x)


def _negated_in_place(x):
    return aten.neg_.default(x)


def _sine(x):
    return aten.sin.default(x)


def test_dead_code_of_torch_fx_leaves_what_regions_do():
    """A region that writes, asserts or draws stays, although nobody uses what it returns."""

    def forward(self, x):
        with torch.no_grad():
            self.seen.add_(1)
        with torch.no_grad():
            torch.rand(2)
        with torch.no_grad():
            unused = x * 2
        del unused
        return x + self.seen

    def swept(module):
        module.graph.eliminate_dead_code()

    program = program_of(forward, torch.ones(4, 3), seen=torch.zeros(()))
    for each in (program, program.run_decompositions({})):
        again = each.transform(swept)
        regions = [n for n in again.graph.nodes if "set_grad" in str(n.target)]
        assert len(regions) >= 1
        module, model = again.module(), each.module()
        for _ in range(2):
            reseed(0)
            expected, state = model(torch.ones(2, 3)), torch.get_rng_state()
            reseed(0)
            seen = module.get_buffer("seen")
            seen.sub_(1)  # the programs share it
            assert_close(module(torch.ones(2, 3)), expected)
            assert torch.equal(torch.get_rng_state(), state)


def test_dead_code_is_asked_of_the_caller_where_it_says():
    """A function given to `eliminate_dead_code` decides, as in torch.fx."""

    def forward(self, x):
        with torch.no_grad():
            self.seen.add_(1)
        return x + 1

    program = program_of(forward, torch.ones(4, 3), seen=torch.zeros(()))
    graph = program.graph_module.graph
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in {"placeholder", "output"})


def test_types_follow_what_a_pass_changes():
    """Another operator in a node's place, or other arguments: what comes after is typed anew."""

    def forward(self, x):
        y = x.relu() + 1
        return y.reshape(-1, 3) * 2

    program = program_of(forward, torch.ones(4, 3))

    def halves(module):
        node = call_of(module, aten.relu.default)
        node.target = aten.sum.dim_IntList
        node.args = (node.args[0], [0])

    summed = program.transform(halves)
    (add,) = (n for n in summed.graph.nodes if n.target is aten.add.Tensor)
    assert tuple(add.meta["val"].shape) == (3,)
    assert tuple(summed.graph.output_node().args[0][0].meta["val"].shape) == (1, 3)
    x = torch.randn(5, 3)
    assert_close(summed.module()(x), (x.sum(0) + 1).reshape(-1, 3) * 2)
    assert_close(summed.run_decompositions().module()(x), (x.sum(0) + 1).reshape(-1, 3) * 2)
    (before,) = (n for n in program.graph.nodes if n.target is aten.add.Tensor)
    assert len(before.meta["val"].shape) == 2


def test_what_an_operator_needs_becomes_a_guard_of_the_new_program_alone():
    """A view that a pass puts in holds for some sizes; the program before has no guard."""

    def forward(self, x):
        return x.neg().sum()

    program = program_of(forward, torch.ones(4, 3))
    flat = program.transform(
        passes.replace_pattern(_negated, lambda x: aten.view.default(x, [6, -1]))
    )
    assert str(program.guards) == ""
    assert "2 == 0" in str(flat.guards)
    assert_close(flat.module()(torch.ones(6, 3)), torch.tensor(18.0))
    with pytest.raises(ContractError, match="n % 2"):
        flat.module()(torch.ones(5, 3))


def test_subgraphs_keep_the_types_they_were_made_for():
    """A branch is not traced again: what it is given must be what it was given."""

    def forward(self, x):
        y = x.relu()
        if y.sum() > 1:
            return y * 2
        return y - 1

    program = program_of(forward, torch.ones(4, 3))

    def summed(module):
        node = call_of(module, aten.relu.default)
        node.target = aten.sum.dim_IntList
        node.args = (node.args[0], [0])

    with pytest.raises(BugError, match="other types"):
        program.transform(summed)


def test_a_pass_writes_only_to_what_was_written_to():
    """The signature says which inputs are written to; writes to fresh memory are fine."""

    def forward(self, x):
        y = x * 1
        return x.neg() + y.add_(1), x.sin()

    program = program_of(forward, torch.ones(4, 3))
    replaced = passes.replace_pattern(_negated, _negated_in_place)
    with pytest.raises(BugError, match="`x` is written to"):
        program.transform(replaced)
    fresh = passes.replace_pattern(_sine, lambda x: aten.sin_.default(aten.clone.default(x)))
    x = torch.randn(2, 3)
    assert_close(program.transform(fresh).module()(x)[1], x.sin())


def test_a_graph_written_anew_keeps_its_inputs_and_regions():
    """`torch.fx.Transformer` says nothing of types."""

    class Sigmoid(torch.fx.Transformer):
        def call_function(self, target, args, kwargs):
            target = aten.sigmoid.default if target is aten.relu.default else target
            return super().call_function(target, args, kwargs)

    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return y + x.relu() + self.weight

    program = program_of(forward, torch.ones(4, 3), weight=nn.Parameter(torch.ones(3)))
    x = torch.randn(5, 3)
    again = program.transform(lambda module: Sigmoid(module).transform())
    assert_close(again.module()(x), x * 2 + x.sigmoid() + 1)
    assert_close(again.run_decompositions().module()(x), x * 2 + x.sigmoid() + 1)


def test_the_contract_asks_nothing_of_state_that_is_gone():
    """A constant that was to be apart from an input is folded, and nothing asks for it."""

    def forward(self, x, y):
        x[0] = 5
        return y.index_select(0, torch.tensor([1])) + y[1:2]

    program = program_of(forward, torch.ones(4), torch.ones(4), shapes=None)
    folded = program.transform(passes.fold_constants(), passes.dead_code())
    for each in (folded, program.run_decompositions().transform(passes.fold_constants())):
        assert_close(each.module()(torch.zeros(4), torch.ones(4)), torch.full((1,), 2.0))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is")
def test_zeros_without_memory_are_no_constants():
    """What autograd takes for zero has no elements that could be kept."""

    def forward(self, x):
        return torch.func.jvp(lambda t: (t * t * x).sum(), (x,), (x,))[1]

    program = program_of(forward, torch.ones(4, 3), shapes=None)
    folded = program.transform(passes.fold_constants())
    x = torch.randn(4, 3)
    assert_close(folded.run_decompositions().module()(x), program.module()(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_limits_of_a_type_are_those_of_the_new_one(dtype):
    """Masks are filled with the least number of the model's type."""

    def forward(self, x):
        masked = torch.where(x > 0, x, torch.finfo(x.dtype).min)
        return masked.softmax(-1), x.clamp(max=torch.finfo(x.dtype).max)

    program = program_of(forward, torch.ones(4, 3))
    x = -torch.rand(2, 3).to(dtype)
    for each in (program, program.run_decompositions()):
        found = each.transform(passes.to_dtype(dtype)).module()(x)
        assert_close(found, forward(None, x))
