"""The module of a program is called like the original and shares the program's state."""

import copy
import dataclasses
import pickle

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph.diagnostics import ContractError, UnsupportedError
from monograph.program import ModesClause, OutputKind, OutputSpec, TensorArgument


def inputs(n):
    """The positional arguments for a batch of n."""
    return torch.randn(n, 3), {"mask": torch.randn(n, 5)}


def same(left, right):
    """Whether two results have equal leaves."""
    return all(
        torch.equal(torch.as_tensor(a), torch.as_tensor(b))
        for a, b in zip(pytree.tree_leaves(left), pytree.tree_leaves(right), strict=True)
    )


def test_it_answers_as_the_original(parts):
    """Results, their structure, constants among them and mutated buffers are the original's."""
    twin = copy.deepcopy(parts.model)
    module = parts.build().module()
    for n in (2, 4, 7):
        x, batch = inputs(n)
        got, expected = module(x, batch, k=2), twin(x, batch, k=2)
        assert pytree.tree_structure(got) == pytree.tree_structure(expected)
        assert same(got, expected)
    assert module.steps.item() == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x, b: m(x, b, k=2),
        lambda m, x, b: m(x, k=2, batch=b),
        lambda m, x, b: m(k=2, batch=b, x=x),
    ],
)
def test_arguments_come_in_any_way_the_original_takes(program, call):
    """By position or by name, in any order."""
    x, batch = inputs(4)
    call(program.module(), x, batch)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, x, b: m(x, b), "`k` expected an argument, got no argument"),
        (lambda m, x, b: m(x, b, 2), "`args[2]` expected no argument, got an int"),
        (lambda m, x, b: m(x, b, k=3), "`k` expected 2, got 3"),
        (lambda m, x, b: m(x, b, k=2, j=1), "`j` expected no argument, got an int"),
        (lambda m, x, b: m(x, [b["mask"]], k=2), "`batch` expected a dict with the keys 'mask'"),
        (
            lambda m, x, b: m(x[:1], {"mask": b["mask"][:1]}, k=2),
            "`x.size()[0]` expected at least 2",
        ),
        (lambda m, x, b: m(x, {"mask": b["mask"][:3]}, k=2), "expected batch = 4, got 3"),
        (lambda m, x, b: m(x.double(), b, k=2), "`x.dtype` expected torch.float32"),
        (
            lambda m, x, b: m(torch.ones(11, 3), {"mask": torch.ones(11, 5)}, k=2),
            "expected to hold",
        ),
    ],
)
def test_nothing_runs_on_inputs_it_cannot_vouch_for(program, call, said):
    """A call outside the contract is refused before any operator runs."""
    module = program.module()
    with pytest.raises(ContractError) as refused:
        call(module, *inputs(4))
    assert said in refused.value.diagnostic.headline
    assert module.steps.item() == 0


def test_a_refusal_points_at_the_caller(program):
    """The line shown is the user's call, not generated code."""
    module = program.module()
    with pytest.raises(ContractError) as refused:
        module(*inputs(4), k=3)
    assert refused.value.diagnostic.at[0].code.co_filename == __file__


def test_checks_can_be_left_out(program):
    """Without checks only the structure is compared."""
    module = program.module(check=False)
    module(*inputs(1), k=2)
    assert not any(node.op == "call_module" for node in module.graph.nodes)
    with pytest.raises(ContractError):
        module(*inputs(1))
    assert "_guards_fn" not in str(program.module(check_guards=False).graph)


def test_state_is_shared_under_its_names(parts):
    """Parameters, buffers and their persistence are the original's, and are the same tensors."""
    program, model = parts.build(), parts.model
    module = program.module()
    assert dict(module.named_parameters()) == dict(model.named_parameters())
    assert dict(module.named_buffers()) == dict(model.named_buffers())
    assert module.state_dict().keys() == model.state_dict().keys()
    assert module.lin.weight is model.lin.weight
    assert module.scale is model.scale
    module(*inputs(4), k=2)[0]["y"].sum().backward()
    assert model.lin.weight.grad is not None


def test_tied_weights_stay_one_parameter(parts):
    """Two names of one parameter stay two names of one parameter."""
    parts.given["state_dict"]["head.weight"] = parts.model.lin.weight
    module = parts.build().module()
    assert module.head.weight is module.lin.weight
    assert "head.weight" in module.state_dict()
    assert [name for name, _ in module.named_parameters()] == ["lin.weight"]


def test_copies_have_their_own_state(program):
    """A deep copy answers alike and does not write to the original's buffers."""
    module = program.module()
    x, batch = inputs(4)
    module(x, batch, k=2)
    copied = copy.deepcopy(module)
    assert same(copied(x, batch, k=2)[0], module(x, batch, k=2)[0])
    copied(x, batch, k=2)
    assert (module.steps.item(), copied.steps.item()) == (2, 3)
    with pytest.raises(ContractError):
        copied(x, batch, k=3)


def test_mutations_of_a_functional_graph_are_written_back(parts):
    """An output that is a mutation goes to its buffer or input, and not to the caller."""
    graph, nodes = parts.graph, parts.nodes
    with graph.inserting_before(nodes["linear"]):
        steps = graph.call_function(torch.ops.aten.add.Tensor, (nodes["b_steps"], 1))
        x = graph.call_function(torch.ops.aten.mul.Tensor, (nodes["x"], 2))
    steps.meta["val"], x.meta["val"] = nodes["b_steps"].meta["val"], nodes["x"].meta["val"]
    graph.erase_node(nodes["add_"])
    nodes["output"].args = ((steps, x, *nodes["output"].args[0]),)
    parts.given["output_specs"][:0] = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(steps.name), "steps"),
        OutputSpec(OutputKind.USER_INPUT_MUTATION, TensorArgument(x.name), "x"),
    ]
    parts.given["mutated_in_place"] = {}
    module = parts.build().module()
    given, batch = inputs(4)
    before = given.clone()
    result = module(given, batch, k=2)
    assert pytree.tree_structure(result) == parts.given["out_spec"]
    assert module.steps.item() == 1
    assert torch.equal(given, before * 2)


def test_the_mode_is_fixed(program):
    """Setting the mode it has is fine; the other is refused with what to do instead."""
    module = program.module()
    assert module.train() is module
    with pytest.raises(UnsupportedError) as refused:
        module.eval()
    assert refused.value.diagnostic.name == "mode-is-fixed"


@pytest.mark.parametrize(
    ("asked", "only_sets_flags", "allowed"),
    [
        ((), True, {True, False}),
        ((), False, set()),
        ((("drop", True),), True, {True}),
        ((("drop", False), ("norm", False)), True, {False}),
        ((("drop", True), ("norm", False)), True, set()),
        ((("drop", True),), False, set()),
    ],
)
def test_the_mode_follows_where_nothing_depends_on_it(parts, asked, only_sets_flags, allowed):
    """What read the flag must have been in the mode that is set."""
    program = parts.build()
    modes = ModesClause(asked, only_sets_flags)
    program.contract = dataclasses.replace(program.contract, modes=modes)
    for mode in (True, False):
        module = program.module()
        if mode in allowed:
            assert all(each.training is mode for each in module.train(mode).modules())
            continue
        with pytest.raises(UnsupportedError) as refused:
            module.train(mode)
        assert refused.value.diagnostic.name == "mode-is-fixed"


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.half(),
        lambda m: m.to(torch.float64),
        lambda m: m.to("meta"),
        lambda m: torch.nn.Sequential(m).double(),
        lambda m: m.load_state_dict(m.state_dict() | {"steps": torch.tensor(1)}, assign=True),
        lambda m: m.load_state_dict(
            m.state_dict() | {"lin.weight": torch.zeros(3, 5).t()}, assign=True
        ),
    ],
)
def test_state_keeps_its_types(program, change):
    """Converting the state without the graph is refused, and nothing has changed."""
    module = program.module()
    before = [(each.dtype, each.device, each.stride()) for each in module.state_dict().values()]
    with pytest.raises(UnsupportedError) as refused:
        change(module)
    assert refused.value.diagnostic.name == "state-converted"
    after = [(each.dtype, each.device, each.stride()) for each in module.state_dict().values()]
    assert before == after


def test_conversions_that_change_nothing_are_fine(program):
    """So are new values of the same types."""
    module = program.module()
    assert module.float().cpu().to(torch.float32) is module
    module.load_state_dict({name: value + 1 for name, value in module.state_dict().items()})
    module.load_state_dict(
        {name: value.clone() for name, value in module.state_dict().items()}, assign=True
    )


def test_a_module_is_not_pickled(program):
    """A pickle would lose the contract."""
    with pytest.raises(UnsupportedError) as refused:
        pickle.dumps(program.module())
    assert refused.value.diagnostic.name == "program-pickled"


def test_it_prints_as_a_graph_module(program):
    """Code, graph and readable text are there, under torch's name."""
    module = program.module()
    assert module.code.strip().startswith(
        "def forward(self, x, batch, *, k):\n"
        "    x, batch_mask, k, = flat_inputs((x, batch), {'k': k})\n"
        "    _guards_fn = self._guards_fn(x, batch_mask, k)"
    )
    assert "lin_weight = self.lin.weight" in module.code
    assert "class GraphModule(torch.nn.Module):" in module.print_readable(print_output=False)
    assert str(module).startswith("GraphModule(")


def test_torchs_own_tools_take_it(program):
    """Wrapping, interpreting and dead-code elimination keep what it computes, checks included."""
    module = program.module()
    x, batch = inputs(4)
    expected = module(x, batch, k=2)[0]
    module.graph.eliminate_dead_code()
    wrapped = torch.fx.GraphModule(module, module.graph)
    assert same(wrapped(x, batch, k=2)[0], expected)
    with pytest.raises(ContractError):
        wrapped(x, batch, k=3)
    assert same(torch.fx.Interpreter(module).run(x, batch, 2)[0], expected)


def test_names_that_python_cannot_write(parts):
    """Keyword arguments that are no identifiers still work."""
    given = parts.given
    args, kwargs = given["example_inputs"]
    given["signature"] = None
    given["in_spec"] = pytree.tree_structure((args, {"a-b": 2}))
    module = parts.build().module()
    x, batch = inputs(4)
    module(x, batch, **{"a-b": 2})
    with pytest.raises(ContractError):
        module(x, batch, **kwargs)
