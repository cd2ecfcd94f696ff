"""Retracing: the call of a program's module while it is exported again, operator by operator.

Law: the new graph has the operators, regions and metadata of the old one, and its program accepts
no call that the old one refuses. What eager code runs for control-flow operators and assertions is
recorded as these again.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import map_arg

from monograph.abstract.symbols import SymbolNode
from monograph.capture.control_flow.higher_order.operators import (
    associative_scan,
    cond,
    map_,
    scan,
    while_loop,
)
from monograph.capture.recording.guard_sources import said_in
from monograph.host.fx_modules import codegen, found_at
from monograph.host.fx_nodes import append_node
from monograph.host.module_calls import only_calls_forward
from monograph.integers import Relation
from monograph.program.calling.assertions import assert_holds, assert_promised
from monograph.program.calling.program_module import CallCode, CheckInputs, ProgramModule
from monograph.program.calling.recorded_checks import ask
from monograph.program.calling.subgraph_calls import (
    KEEPS,
    REGIONS,
    run_associative_scan,
    run_cond,
    run_loop,
    run_map,
    run_scan,
    run_while_loop,
)
from monograph.program.graph_module import GraphModule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch.fx import Graph
    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


def recorded_forward(
    module: GraphModule, recorder: Recorder, graph: Graph | None = None
) -> Callable[..., Any]:
    """What stands for `module.forward` while this recorder listens; of another `graph` of it."""
    graph = module.graph if graph is None else graph
    code, run = codegen(graph), _Call(recorder, module, graph).run
    if isinstance(module, ProgramModule) or recorder.scopes.retraced is None:
        run = partial(_as_program, recorder, module, run)
    return _structured(module, graph, code, run) if isinstance(code, CallCode) else run


def _structured(
    module: GraphModule, graph: Graph, structure: CallCode, run: Callable[..., Any]
) -> Callable[..., Any]:
    """A `forward` that takes arguments and gives results as the graph's does, and calls `run`."""
    around = torch.fx.Graph()
    given = [node for node in graph.nodes if node.op == "placeholder"]
    inputs = [append_node(around, each.name, each.op, each.target, (), {}) for each in given]

    def recorded(*leaves: Any) -> Any:
        return run(*leaves)

    values = append_node(around, "values_", "call_function", recorded, tuple(inputs), {})
    (returned,) = graph.output_node().args
    results = [
        append_node(around, f"result_{i}_", "call_function", _item, (values, i), {})
        for i in range(len(returned))  # pyright: ignore[reportArgumentType] - it is a list or tuple
    ]
    append_node(around, "output", "output", "output", (tuple(results),), {})
    around.set_codegen(structure)
    source = around.python_code(root_module="self")
    names = dict(source.globals)
    code = compile(source.src, f"{__file__}, retraced", "exec", dont_inherit=True)
    exec(code, names)  # noqa: S102  (fx generated it)
    return partial(names["forward"], module)


def _item(values: Any, place: int) -> Any:
    return values[place]


def _as_program(
    recorder: Recorder, module: GraphModule, run: Callable[..., Any], *leaves: Any
) -> Any:
    scopes = recorder.scopes
    before, scopes.retraced = scopes.retraced, scopes.retrace(module)
    try:
        return run(*leaves)
    finally:
        scopes.retraced = before


class _Call:
    """One call of a graph that is recorded node by node."""

    def __init__(self, recorder: Recorder, module: torch.nn.Module, graph: Graph) -> None:
        self.recorder, self.module, self.graph = recorder, module, graph

    def run(self, *args: Any) -> Any:
        """Record what the graph computes; returns what it returns."""
        given, values = iter(args), dict[Any, Any]()
        scopes = self.recorder.scopes
        outer = scopes.current
        inside = scopes.inside()
        for node in self.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "get_attr":
                values[node] = found_at(self.module, node.target)
            elif node.op == "output":
                return map_arg(node.args[0], values.__getitem__)
            else:
                arguments = map_arg((node.args, node.kwargs), values.__getitem__)
                scopes.current = scopes.at(node, inside)
                try:
                    values[node] = self._recorded(node, *arguments)
                finally:
                    scopes.current = outer
        return None

    def _recorded(self, node: Node, args: Any, kwargs: Any) -> Any:
        recorder = self.recorder
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        if node.op == "call_module":
            child = found_at(self.module, str(node.target))
            if isinstance(child, CheckInputs):
                return ask(recorder, child.contract, args)
            if isinstance(child, GraphModule) and only_calls_forward(child):
                return recorded_forward(child, recorder)(*args, **kwargs)
            return child(*args, **kwargs)
        target: Any = node.target
        before = len(recorder.operations)
        if "inference" in node.meta:
            recorder.scopes.sets_inference = True
        try:
            with recorder.scopes.running_as(node.meta.get("inference")):
                answer = _ANSWERS.get(target)
                if answer is not None:
                    return answer(recorder, *[_body(recorder, each) for each in args], **kwargs)
                if target in REGIONS:
                    args = [_body(recorder, each) for each in args]
                return target(*args, **kwargs)
        finally:
            notes = node.meta.get("custom")
            for made in recorder.operations[before:] if notes else ():
                made.meta.setdefault("custom", notes)


def _body(recorder: Recorder, value: Any) -> Any:
    """A subgraph as a function; anything else as it is."""
    if not isinstance(value, torch.fx.GraphModule):
        return value
    return _Subgraph(recorder, value)


class _Subgraph(_Call):
    """A subgraph that an operator calls."""

    def __init__(self, recorder: Recorder, module: torch.fx.GraphModule) -> None:
        super().__init__(recorder, module, module.graph)
        self.keeps = getattr(module, KEEPS, False)
        """Whether it returns inputs as they are."""

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)


def _cond(
    recorder: Recorder, pred: Any, on_true: _Subgraph, on_false: _Subgraph, operands: Sequence[Any]
) -> Any:
    keeps = on_true.keeps or on_false.keeps
    results = cond(recorder, pred, on_true, on_false, operands, stays=keeps)
    return results if keeps else _apart(results, operands)


def _apart(results: Any, given: Sequence[Any]) -> Any:
    """The operator's results are none of its inputs, also where it was known what to run."""
    kept = {id(each) for each in given if isinstance(each, torch.Tensor)}
    return tuple([each.clone() if id(each) in kept else each for each in results])


def _while_loop(
    recorder: Recorder,
    goes_on: _Subgraph,
    body: _Subgraph,
    carried: Sequence[Any],
    arguments: Sequence[Any],
    *,
    stays: bool = False,
) -> Any:
    staying = len(carried) * (stays or body.keeps)
    return while_loop(recorder, goes_on, body, carried, arguments, n_staying=staying)


def _scan(
    recorder: Recorder,
    body: _Subgraph,
    carried: Sequence[Any],
    xs: Sequence[Any],
    arguments: Sequence[Any],
) -> Any:
    return scan(recorder, body, carried, xs, arguments, n_staying=len(carried) * body.keeps)


def _assert(
    recorder: Recorder, condition: Any, message: str, names: tuple[str, ...], *values: Any
) -> None:
    """What the program asserts is required, with the same text."""
    if not isinstance(condition, torch.SymBool) or not isinstance(condition.node, SymbolNode):
        assert_holds(condition, message, names, *values)
        return
    said, relation = said_in(message), condition.node.value
    if said and isinstance(relation, Relation):
        recorder.said[relation] = said
    condition.node.expect_true("", 0)


def _promised(*_: Any) -> None:
    """The recorder compares results of custom operators again."""


_ANSWERS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {
        run_associative_scan: associative_scan,
        run_cond: _cond,
        run_loop: partial(_while_loop, stays=True),
        run_map: map_,
        run_scan: _scan,
        run_while_loop: _while_loop,
        assert_holds: _assert,
        assert_promised: _promised,
    }
)
"""What records the operator or the assertion that a function runs in eager code."""


__all__ = ["recorded_forward"]
