"""Every rule of programs is checked, and the message names the node that breaks it."""

import operator
import time

import pytest
import torch

from monograph.diagnostics import BugError
from monograph.program import GraphModule, InputKind, OutputKind, SymIntArgument, TensorArgument
from monograph.program.signature import ExportGraphSignature, OutputSpec
from monograph.program.verifier import verify

aten = torch.ops.aten


def refused(parts):
    """The headline of the refusal."""
    with pytest.raises(BugError) as error:
        parts.build()
    assert error.value.diagnostic.name == "invalid-program"
    return error.value.diagnostic.headline


def method_call(parts):
    """Damage: method call."""
    linear = parts.nodes["linear"]
    with parts.graph.inserting_after(linear):
        parts.graph.call_method("relu", (linear,))


def python_call(parts):
    """Damage: python call."""
    parts.nodes["linear"].target = torch.nn.functional.linear


def no_value(parts):
    """Damage: no value."""
    del parts.nodes["linear"].meta["val"]


def late_value(parts):
    """Damage: late value."""
    parts.nodes["add_1"].append(parts.nodes["linear"])


def reads_a_tensor(parts):
    """Damage: reads a tensor."""
    parts.given["submodules"] = {"w": torch.ones(1)}
    with parts.graph.inserting_before(parts.nodes["linear"]):
        parts.graph.get_attr("w").meta["val"] = None


def reads_nothing(parts):
    """Damage: reads nothing."""
    with parts.graph.inserting_before(parts.nodes["linear"]):
        parts.graph.get_attr("missing").meta["val"] = None


def no_output(parts):
    """Damage: no output."""
    parts.graph.erase_node(parts.nodes["output"])


def after_output(parts):
    """Damage: after output."""
    parts.nodes["output"].append(parts.nodes["add_2"])
    parts.nodes["output"].args = ((parts.nodes["add_1"], 2, parts.nodes["add"]),)


def fewer_inputs(parts):
    """Damage: fewer inputs."""
    parts.given["input_specs"].pop()


def other_input_name(parts):
    """Damage: other input name."""
    parts.given["input_specs"][0].arg = TensorArgument("w")


def missing_state(parts):
    """Damage: missing state."""
    del parts.given["state_dict"]["lin.weight"]


def missing_constant(parts):
    """Damage: missing constant."""
    del parts.given["constants"]["scale"]


def input_with_target(parts):
    """Damage: input with target."""
    parts.given["input_specs"][4].target = "x"


def wrong_input_kind(parts):
    """Damage: wrong input kind."""
    parts.given["input_specs"][4].arg = SymIntArgument("x")


def fewer_outputs(parts):
    """Damage: fewer outputs."""
    parts.given["output_specs"].pop()


def other_output_name(parts):
    """Damage: other output name."""
    parts.given["output_specs"][0].arg = TensorArgument("add")


def constant_for_a_value(parts):
    """Damage: constant for a value."""
    parts.nodes["output"].args = ((parts.nodes["add_1"], parts.nodes["add"], parts.nodes["add_2"]),)


def unknown_buffer(parts):
    """Damage: unknown buffer."""
    parts.given["output_specs"][0].kind = OutputKind.BUFFER_MUTATION
    parts.given["output_specs"][0].target = "nowhere"


def unknown_mutation(parts):
    """Damage: unknown mutation."""
    parts.given["mutated_in_place"] = {"nobody": "x"}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (method_call, "is a call_method, which programs do not have"),
        (python_call, "neither an operator nor arithmetic of sizes"),
        (no_value, "`linear` does not say what it returns"),
        (late_value, "`mul` uses a value that is made later"),
        (reads_a_tensor, "reads a Tensor, where programs read subgraphs only"),
        (reads_nothing, "names an attribute that does not exist"),
        (no_output, "`graph` has no output"),
        (after_output, "`add_2` comes after the output"),
        (fewer_inputs, "`graph` has 7 inputs, and the signature 6"),
        (other_input_name, "`p_lin_weight` is called `w` in the signature"),
        (missing_state, "stands for `lin.weight`, which is not in the state"),
        (missing_constant, "stands for `scale`, which is not among the constants"),
        (input_with_target, "`x` is a user input, and has a target"),
        (wrong_input_kind, "`x` is a Tensor, where the signature has a SymInt"),
        (fewer_outputs, "does not return the 2 values of the signature"),
        (other_output_name, "returns `add_1` where the signature has `add`"),
        (constant_for_a_value, "returns add where the signature has a constant"),
        (unknown_buffer, "is written to `nowhere`, which is not in the signature"),
        (unknown_mutation, "`nobody` is said to be mutated in place, and is no input"),
    ],
)
def test_a_broken_rule_is_named(parts, damage, said):
    """Each damage is found, with its node and reason."""
    damage(parts)
    assert said in refused(parts)


def test_what_is_right_passes(program):
    """The undamaged program obeys every rule."""
    program.validate()
    assert program.graph_signature.input_specs[0].kind is InputKind.PARAMETER


def subgraph(target=aten.sin.default):
    """A branch that calls one function."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    sin = graph.call_function(target, (x,))
    sin.meta["val"] = torch.empty(1, device="meta")
    graph.output((sin,))
    return GraphModule({}, graph)


def with_branches(branch):
    """A program with a branch, and its signature."""
    graph = torch.fx.Graph()
    body = graph.get_attr("body")
    call = graph.call_function(torch.ops.higher_order.cond, (True, body, body, ()))
    call.meta["val"] = ()
    first = graph.call_function(operator.getitem, (call, 0))
    first.meta["val"] = torch.empty(1, device="meta")
    graph.output((first,))
    spec = OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(first.name), None)
    return GraphModule({"body": branch}, graph), ExportGraphSignature([], [spec])


def test_subgraphs_obey_the_same_rules():
    """A mistake in a branch is found."""
    verify(*with_branches(subgraph()), {}, {})
    with pytest.raises(BugError, match=r"neither an\s+operator"):
        verify(*with_branches(subgraph(torch.sin)), {}, {})


def test_names_are_unique():
    """Two nodes of one name cannot be told apart in code."""
    module = subgraph()
    x, sin, _ = module.graph.nodes
    torch.fx.node._NodeBase.__setattr__(sin, "name", x.name)
    with pytest.raises(BugError, match="has a name that an earlier node has"):
        verify(module, ExportGraphSignature([], []), {}, {})


def test_verifying_is_linear_and_fast():
    """A node costs about half a microsecond; four are allowed on a busy machine."""
    graph = torch.fx.Graph()
    value = torch.empty(1, device="meta")
    x = graph.placeholder("x")
    for _ in range(1000):
        x = graph.call_function(aten.sin.default, (x,))
        x.meta["val"] = value
    graph.output(())
    module = GraphModule({}, graph)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        with pytest.raises(BugError, match="inputs"):
            verify(module, ExportGraphSignature([], []), {}, {})
        times.append(time.perf_counter() - started)
    assert min(times) * 1e6 / 1000 < 4
