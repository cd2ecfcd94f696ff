"""A walk gives the graph module and every one below it, with the paths they are read by."""

import torch

from monograph.passes.graph_walks import calls, graph_modules, subgraph_of


def nested():
    """A graph that names a body, which holds a plain module with another graph."""
    inner = torch.fx.symbolic_trace(lambda x: x + 1)
    middle = torch.fx.symbolic_trace(lambda x: x * 2)
    middle.add_module("plain", torch.nn.ModuleDict({"inner": inner}))
    graph = torch.fx.Graph()
    body = graph.get_attr("body")
    graph.output(body)
    return torch.fx.GraphModule({"body": middle}, graph), body, middle


def test_paths_and_calls():
    """Outermost first; modules that are no graphs are passed through."""
    module, body, middle = nested()
    assert [path for path, _ in graph_modules(module)] == ["", "body", "body.plain.inner"]
    assert [node.name for node in calls(module)] == ["mul", "add"]
    assert subgraph_of(body) is middle
