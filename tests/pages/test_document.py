"""The document of a program: everything that a page shows, as data."""

import json

import pytest
import torch

from monograph import ContractError, Dim, export, exportdb
from monograph.pages import graph_document
from monograph.pages.operator_documentation import documentation
from monograph.pages.program_difference import mark_difference
from monograph.pages.region_tree import WIDEST
from tests.pages.programs import chain, sample


@pytest.fixture(scope="module")
def document():
    """The document of the sample, as it is after JSON."""
    return json.loads(json.dumps(graph_document(sample(), title="sample")))


def node_named(document, name):
    """A node by its name."""
    return next(node for node in document["nodes"] if node["name"] == name)


def path_of(document, node):
    """The labels of the regions around a node, outermost first."""
    labels, region = [], node["region"]
    while region is not None:
        label, _, region, _ = document["regions"][region]
        labels.append(label)
    return labels[::-1]


def test_nodes_are_in_the_regions_of_their_modules(document):
    """Each module call is a region with the class of its module, within that of its caller."""
    assert path_of(document, node_named(document, "linear_1")) == ["sample", "second", "linear"]
    assert path_of(document, node_named(document, "relu_1")) == ["sample", "second"]
    details = {label: detail for label, _, _, detail in document["regions"]}
    assert details["second"] == "Scale"
    assert details["linear"] == "Linear"


def test_every_region_is_there_before_its_nodes_and_nests(document):
    """Parents are other regions, and lead to the program."""
    for start in range(len(document["regions"])):
        seen, region = set(), start
        while region is not None:
            assert region not in seen
            seen.add(region)
            region = document["regions"][region][2]
        assert 0 in seen


def test_branches_and_loops_are_regions_of_what_calls_them(document):
    """The sides of a branch are regions, fed by its operands, and their results feed it."""
    kinds = {(label, kind) for label, kind, *_ in document["regions"]}
    assert {("if true", "branch"), ("if false", "branch")} <= kinds
    assert {("condition", "loop"), ("body", "loop")} <= kinds
    sine = node_named(document, "sin")
    assert path_of(document, sine)[-2:] == ["cond", "if false"]
    (inner,) = sine["inputs"]
    (outer,) = document["nodes"][inner]["inputs"]
    assert document["nodes"][outer]["name"] == "relu_1"
    merged = node_named(document, "cond")
    assert document["nodes"].index(sine) in merged["inputs"]
    assert path_of(document, merged) == ["sample", "cond"]


def test_edges_are_those_of_the_graph():
    """Without subgraphs, inputs are what fx says that they are."""
    program = chain(9)
    document = graph_document(program)
    names = [node["name"] for node in document["nodes"]]
    for node, told in zip(program.graph.nodes, document["nodes"], strict=True):
        assert [names[i] for i in told["inputs"]] == [each.name for each in node.all_input_nodes]


def test_weights_stand_beside_what_uses_them(document):
    """A parameter is in the region of its first user, and in the table of weights."""
    weight = node_named(document, "p_second_linear_weight")
    assert weight["kind"] == "weight"
    assert path_of(document, weight) == ["sample", "second", "linear"]
    row = next(each for each in document["weights"] if each["name"] == "second.linear.weight")
    assert (row["type"], row["bytes"], row["kind"]) == ("f32[4, 4]", 64, "parameter")
    assert document["nodes"][row["node"]] is weight


def test_types_lines_arguments_and_operators(document):
    """A node says its type, its line, what it was called with, and what it calls."""
    node = node_named(document, "reshape_3")
    assert node["types"] == [["f32", ["half", 8], 4]]
    assert node["arguments"][1] == ["shape", "[-1, 8]"]
    innermost = document["places"][node["place"]][0]
    assert innermost["code"] == "return y.reshape(-1, 8), x.nonzero()"
    assert innermost["file"].endswith("tests/pages/programs.py")
    assert not innermost["file"].startswith("/")
    operator = document["operators"][node["operator"]]
    assert operator["name"] == "aten.reshape.default"
    assert operator["schema"].startswith("aten::reshape(Tensor(a) self")


def test_symbols_have_ranges_and_the_values_of_the_example(document):
    """A declared size has its range; one out of data has none of the example."""
    half, rows = document["symbols"][0], document["symbols"][-1]
    assert half == {"name": "half", "lower": 1, "upper": 32, "value": 3, "backed": True}
    assert not rows["backed"]
    assert document["expressions"]["2*half"] == ["*", 2, "s0"]


def evaluate(tree, values):
    """What the page's script computes, in Python."""
    if not isinstance(tree, list):
        return values[int(tree[1:])] if isinstance(tree, str) else tree
    operands = [evaluate(each, values) for each in tree[1:]]
    signs = {"+": "+", "-": "-", "*": "*", "//": "//", "%": "%", "==": "==", ">=": ">=", "<=": "<="}
    if tree[0] in signs:
        return eval(f"a {signs[tree[0]]} b", {"a": operands[0], "b": operands[1]})
    return {"max": max, "min": min}[tree[0]](*operands)


def test_guards_are_trees_that_say_what_the_contract_says():
    """At each size, the trees of all guards hold where the program admits the call."""

    class Rows(torch.nn.Module):
        def forward(self, x, y):
            return x.view(-1, 6)[: y.shape[0] + 1] * y.sum()

    auto = {0: Dim.AUTO(min=2, max=40)}
    program = export(Rows(), (torch.ones(6, 2), torch.ones(3)), dynamic_shapes=(auto, auto))
    document = graph_document(program)
    assert document["guards"]
    assert all(guard["places"] for guard in document["guards"])
    admitted = set()
    for n in range(2, 20):
        for m in range(2, 6):
            values = {"x.shape[0]": n, "y.shape[0]": m}
            chosen = [values[each["name"]] for each in document["symbols"]]
            held = all(evaluate(guard["tree"], chosen) for guard in document["guards"])
            try:
                program.check_inputs(torch.ones(n, 2), torch.ones(m))
            except ContractError:
                assert not held, (n, m)
            else:
                assert held, (n, m)
            admitted.add(held)
    assert admitted == {True, False}


def test_long_regions_are_cut_into_sections():
    """No region has more children than can be laid out at once, however flat the program is."""
    document = graph_document(chain(3000))
    children = [0] * len(document["regions"])
    for _, _, parent, _ in document["regions"][1:]:
        children[parent] += 1
    for node in document["nodes"]:
        children[node["region"]] += 1
    assert max(children) <= WIDEST
    assert any(kind == "section" for _, kind, *_ in document["regions"])


def test_what_is_known_of_an_operator():
    """Its schema, the law of our rule, and PyTorch's words without their markup."""
    told = documentation(torch.ops.aten.cat.default)
    assert told["schema"].startswith("aten::cat(Tensor[] tensors")
    assert told["law"].startswith("cat([")
    assert "Concatenates the given sequence of tensors" in told["text"]
    assert ":attr:" not in told["text"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [each.name for each in exportdb.search("") if not each.error])
def test_every_case_has_a_document_before_and_after_lowering(name):
    """It is JSON, refers to what is there, and can evaluate every size."""
    before = exportdb.cases[name].export()
    after = before.run_decompositions()
    documents = [graph_document(each) for each in (before, after)]
    mark_difference(documents[0], documents[1], after)
    for document in documents:
        again = json.loads(json.dumps(document, allow_nan=False))
        nodes, regions = range(len(again["nodes"])), range(len(again["regions"]))
        for node in again["nodes"]:
            assert node["region"] in regions
            assert set(node["inputs"]) <= set(nodes)
        assert None not in again["expressions"].values()
