"""Execution of higher-order operators: regions in their mode, branches, steps of loops.

A program's graph calls torch's higher-order operators, which other tools know. Called eagerly they
load Dynamo first (seconds, once), they leave a mode changed if the body raises, and some have no
gradient; so the graph of `program.module()` calls these functions instead, with the same arguments.
"""

from __future__ import annotations

import operator
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import is_a_dropout
from monograph.host.calling import is_read_by_dynamo, recorded_by_fx
from monograph.host.flags import region_operators
from monograph.host.fx_nodes import append_node, close_graph, is_superfluous
from monograph.host.higher_order import (
    ASSOCIATIVE_SCAN,
    COND,
    MAP,
    SCAN,
    WHILE_LOOP,
    generic_associative_scan,
)
from monograph.program.calling.assertions import (
    ASSERT_METADATA,
    ASSERT_SCALAR,
    assert_holds,
    assert_promised,
    is_promise,
    promised,
    with_values,
)
from monograph.program.graph_module import GraphModule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch.fx import Node

    Body = Callable[..., Any]


def _in_place_of(operator: Any) -> Callable[[Body], Body]:
    """Run a function for the operator in eager code; those who trace get a call of it as a whole.

    Dynamo gets the operator, or with None the function; `torch.fx` gets the function.
    """

    def decorated(run: Body) -> Body:
        @wraps(run)
        def call(*args: Any) -> Any:
            if is_read_by_dynamo():
                return run(*args) if operator is None else operator(*args)
            recorded = recorded_by_fx(call, args)
            return run(*args) if recorded is None else recorded

        return call

    return decorated


@_in_place_of(None)
def run_with_grad_mode(enabled: bool, body: Callable[..., Any], /, *args: Any) -> Any:  # noqa: FBT001 - as the operator's
    """Run `body(*args)` with gradients recorded or not."""
    with torch.set_grad_enabled(enabled):
        return body(*args)


@_in_place_of(None)
def run_with_autocast(
    device: str,
    dtype: torch.dtype | None,
    enabled: bool,  # noqa: FBT001
    cache: bool | None,  # noqa: FBT001
    body: Callable[..., Any],
    /,
    *args: Any,
) -> Any:
    """Run `body(*args)` under autocast."""
    with torch.autocast(device, dtype, enabled, cache):
        return body(*args)


@_in_place_of(COND)
def run_cond(pred: Any, on_true: Body, on_false: Body, operands: Sequence[Any], /) -> Any:
    """Run one of two bodies; what it returns of its inputs is copied, but in Python's own `if`."""
    taken = on_true if pred else on_false
    results = taken(*operands)
    if getattr(taken, KEEPS, False):
        return tuple(results)
    given = {id(operand) for operand in operands}
    return tuple(
        [
            each.clone() if id(each) in given and isinstance(each, torch.Tensor) else each
            for each in results
        ]
    )


@_in_place_of(MAP)
def run_map(body: Body, xs: Sequence[torch.Tensor], arguments: Sequence[Any], /) -> Any:
    """Run a body on each slice along the first dimension; its results are stacked."""
    steps = zip(*[x.unbind(0) for x in xs], strict=True)
    return _stacked([body(*step, *arguments) for step in steps])


@_in_place_of(WHILE_LOOP)
def run_while_loop(
    goes_on: Body, body: Body, carried: Sequence[Any], arguments: Sequence[Any], /
) -> Any:
    """Run a body on what it returned last, as long as `goes_on` says so."""
    if not goes_on(*carried, *arguments):
        return tuple([x.clone() if isinstance(x, torch.Tensor) else x for x in carried])
    return run_loop(goes_on, body, body(*carried, *arguments), arguments)


@_in_place_of(WHILE_LOOP)
def run_loop(goes_on: Body, body: Body, carried: Sequence[Any], arguments: Sequence[Any], /) -> Any:
    """The same for Python's own loop: without a round, it gives what it began with."""
    while goes_on(*carried, *arguments):
        carried = body(*carried, *arguments)
    return tuple(carried)


@_in_place_of(SCAN)
def run_scan(
    body: Body, carried: Sequence[Any], xs: Sequence[torch.Tensor], arguments: Sequence[Any], /
) -> Any:
    """Run a body on what is carried and on each slice; what it makes besides is stacked."""
    n_carried, made = len(carried), list[Any]()
    for step in zip(*[x.unbind(0) for x in xs], strict=True):
        results = body(*carried, *step, *arguments)
        carried = results[:n_carried]
        made.append(results[n_carried:])
    if not made:
        return (*carried, *_nothing_stacked(body, carried, xs, arguments))
    return (*carried, *_stacked(made))


def _nothing_stacked(
    body: Body, carried: Sequence[Any], xs: Sequence[torch.Tensor], arguments: Sequence[Any]
) -> list[torch.Tensor]:
    """What no step makes: as many results as of a step, of its kinds, and without elements.

    A step on zeros tells their kinds. It computes only tensors, so nobody notices.

    Raises: RuntimeError (a step on zeros is not possible).
    """
    (returned,) = body.graph.output_node().args  # pyright: ignore[reportFunctionMemberAccess] - a graph module's
    if isinstance(returned, list | tuple) and len(returned) == len(carried):
        return []
    given = [x.new_zeros(x.shape[1:]) for x in xs]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            results = body(*carried, *given, *arguments)
    except (RuntimeError, IndexError) as error:
        raise RuntimeError("a loop without a round makes nothing that could be read") from error
    return [each.new_empty((0, *each.shape)) for each in results[len(carried) :]]


def _stacked(rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    columns = [torch.stack(column) for column in zip(*rows, strict=True)]
    return tuple(columns)


@_in_place_of(ASSOCIATIVE_SCAN)
def run_associative_scan(
    body: Body, xs: Sequence[torch.Tensor], arguments: Sequence[Any], /
) -> Any:
    """Run a body, which works element by element, on pairs of neighbours and pairs of these."""
    made = generic_associative_scan(body, list(xs), additional_inputs=tuple(arguments))
    return tuple([new.clone() if new is old else new for new, old in zip(made, xs, strict=True)])


_GRAD, _AUTOCAST = region_operators()
RUNS: Final[Mapping[object, Callable[..., Any]]] = MappingProxyType(
    {
        _GRAD: run_with_grad_mode,
        _AUTOCAST: run_with_autocast,
        ASSOCIATIVE_SCAN: run_associative_scan,
        COND: run_cond,
        MAP: run_map,
        SCAN: run_scan,
        WHILE_LOOP: run_while_loop,
    }
)


REGIONS: Final = frozenset({run_with_grad_mode, run_with_autocast})
"""The functions that run one body, once."""


LOOPS: Final = frozenset({*RUNS.values(), run_loop} - REGIONS - {run_cond})
"""The functions that run a body for each step."""


def bounded_power(base: Any, exponent: Any, /) -> Any:
    """`base ** exponent`, unless the number would be of more digits than any size has use for.

    Raises: OverflowError.
    """
    return base ** _bounded(base, exponent)


def bounded_shift(number: Any, by: Any, /) -> Any:
    """`number << by`, likewise.

    Raises: OverflowError.
    """
    return number << _bounded(2, by)


def _bounded(base: Any, exponent: Any) -> Any:
    are_integers = isinstance(base, int) and isinstance(exponent, int)
    if are_integers and abs(base) > 1 and exponent * base.bit_length() > MOST_BITS:
        raise OverflowError(f"a number of more than {MOST_BITS} bits")
    return exponent


MOST_BITS: Final = 1 << 16
BOUNDED: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {operator.pow: bounded_power, operator.lshift: bounded_shift}
)
"""Arithmetic of sizes that makes large numbers of small ones."""


def runnable_target(node: Node) -> Any:
    """What to call for a node of a program's graph."""
    if node.target is ASSERT_SCALAR:
        return assert_holds
    if is_promise(node):
        return assert_promised
    if node.target in BOUNDED:
        return BOUNDED[node.target]
    if node.target is WHILE_LOOP and is_superfluous(node):
        return run_loop
    return RUNS.get(node.target, node.target) if node.op == "call_function" else node.target


def runnable_args(node: Node) -> tuple[Any, ...]:
    """With which arguments."""
    if node.target is ASSERT_SCALAR:
        return with_values(node)
    return promised(node) if is_promise(node) else node.args


def _is_left_out(node: Node) -> bool:
    return node.target is torch.ops.aten.clone.default and is_superfluous(node)


_KEEPING: Final = frozenset({run_loop, run_scan})
"""What gives what it began with where there is no step."""
KEEPS: Final = "keeps_inputs"
"""Says of a body that it returns inputs as they are: copies that eager code makes are in it."""


def runnable_child(child: torch.nn.Module) -> torch.nn.Module:
    """A region's subgraph with the regions inside it made runnable too.

    Copies that eager code does not make are left out: Python's `if` gives a tensor itself.
    """
    if not isinstance(child, torch.fx.GraphModule):
        return child
    special = {*RUNS, *BOUNDED, ASSERT_METADATA, ASSERT_SCALAR}
    calls = [node for node in child.graph.nodes if node.op == "call_function"]
    keeps = any(
        _is_left_out(node) or runnable_target(node) in _KEEPING or is_a_dropout(node)
        for node in calls
    )
    if not keeps and not any(node.target in special for node in calls):
        return child
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in child.graph.nodes:
        if _is_left_out(node):
            copies[node] = copies[node.args[0]]
            continue
        args = torch.fx.map_arg(runnable_args(node), copies.__getitem__)
        kwargs = torch.fx.map_arg(node.kwargs, copies.__getitem__)
        copies[node] = append_node(graph, node.name, node.op, runnable_target(node), args, kwargs)
        copies[node].meta = dict(node.meta)
    close_graph(graph)
    children = {name: runnable_child(inner) for name, inner in child.named_children()}
    runnable = GraphModule(children, graph)
    if keeps or any(getattr(inner, KEEPS, False) for inner in children.values()):
        setattr(runnable, KEEPS, True)
    return runnable
