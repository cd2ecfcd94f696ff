"""Minification: a failing capture or backend as a small script that still fails."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.jit.backends import find_backend
from monograph.jit.minifying.failures import copies, failure_of_graph
from monograph.jit.minifying.graphs import GraphCase, reduced
from monograph.jit.minifying.scripts import script_of_graph
from monograph.jit.minifying.sources import capture_failure, script_of_source
from monograph.jit.optimizing import optimize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["minify"]


@torch.random.fork_rng()  # what it runs is seeded
def minify(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    *,
    backend: str | Callable[..., Any] = "eager",
    accuracy: bool = False,
) -> str:
    """Reduce a failure of `optimize(backend)(fn)(*args)` to a script that fails in the same way.

    Each graph of a call is handed to the backend by itself, in its order. Of the first that fails
    - by an exception, or, with `accuracy`, by numbers that are not eager code's, in the results or
    in a backward pass - outputs, nodes and sizes of inputs are taken away as long as it does. Where
    no graph fails, and `fn` is not one graph (`nopython=True`), its statements are reduced instead:
    of a module, those of the innermost one that is not one graph by itself. The script's first
    lines are the failure and the versions; a backend that is no module's own is put in by hand.

    Raises: nothing-fails; backend-unknown.
    """
    compiled = find_backend(backend)
    if isinstance(fn, torch.nn.Module):
        fn = copy.deepcopy(fn)  # it is called many times, and what it holds is made plainer
    cases: list[GraphCase] = []

    def collect(graph: Any, inputs: list[Any]) -> Any:
        cases.append(GraphCase(graph, tuple(copies(inputs))))
        return graph.forward

    optimize(collect)(fn)(*copies(args))
    for case in cases:
        failure = failure_of_graph(compiled, *case, accuracy=accuracy)
        if failure is not None:
            smallest = reduced(
                case,
                lambda each, failure=failure: failure.is_same(
                    failure_of_graph(compiled, *each, accuracy=accuracy)
                ),
            )
            shown = failure_of_graph(compiled, *smallest, accuracy=accuracy)
            return script_of_graph(smallest, backend, shown or failure)
    broken = capture_failure(fn, args)
    script = None if broken is None else script_of_source(fn, args, broken)
    if script is None:
        raise problem("nothing-fails", n=len(cases))
    return script
