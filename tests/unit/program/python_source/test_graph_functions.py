"""A graph as one function: it returns what the graph does, and lets go of dead values."""

import operator
import weakref

import torch

from monograph.program.python_source.graph_functions import expression, graph_function


class Value:
    """Lives as long as somebody holds it."""


def test_values_are_let_go_of_behind_their_last_use():
    """Also those that nobody uses; what a node only passes on lives as long as the other."""
    seen = []

    def make(*_before):
        made = Value()
        seen.append(weakref.ref(made))
        return made

    def alive(*_before):
        return [each() is not None for each in seen]

    graph = torch.fx.Graph()
    start = graph.placeholder("start")
    first = graph.call_function(make, (start,))
    second = graph.call_function(make, (first,))
    graph.call_function(make, (second,))
    passed = graph.call_function(operator.not_, (second,))
    graph.output((graph.call_function(alive, (start,)), passed))
    living, result = graph_function(graph, "run", source_of={passed: second}.get)(None)
    assert living == [False, True, False]
    assert isinstance(result, Value)
    seen.clear()
    assert graph_function(graph, "run")(None) == ([False, False, False], False)


def test_what_a_module_holds_and_methods():
    """State is bound, also where it is passed on; a method is called of its first argument."""
    module = torch.nn.Module()
    module.weight, module.relu = torch.tensor([-1.0, 2.0]), torch.nn.ReLU()
    graph = torch.fx.Graph()
    start = graph.placeholder("start")
    weight = graph.get_attr("weight")
    passed = graph.call_function(torch.neg, (weight,))
    total = graph.call_method("add", (start, passed), {"alpha": 2})
    total = graph.call_module("relu", (total,))
    graph.output({"total": total, "half": graph.call_function(operator.getitem, (total, slice(1)))})
    found = graph_function(
        graph,
        "run",
        before=("self",),
        found_at=lambda path: getattr(module, path),
        called=lambda target: target,
        source_of={passed: weight}.get,
    )(None, torch.tensor([1.0, 1.0]))
    torch.testing.assert_close(found["total"], torch.tensor([0.0, 5.0]))
    torch.testing.assert_close(found["half"], torch.tensor([0.0]))


def test_expressions_say_what_they_are_of():
    """Containers of any depth."""
    value = ((1,), [2, (3, [])], {"four": slice(5, None)}, ())
    assert eval(expression(value, repr)) == value
