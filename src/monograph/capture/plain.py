"""Capture by running user code as plain Python, once, on abstract tensors.

The order is the story: flatten the examples, open facts and a recorder, put abstract tensors in the
module's place, run, close the graph, and put everything back, also when user code raises.
"""

from __future__ import annotations

import gc
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.closing import Outputs, close_outputs, drop_unused
from monograph.capture.data import holds_symbols, tensor_from
from monograph.capture.graph_writer import GraphWriter
from monograph.capture.inputs import Inputs, read_inputs, write_inputs
from monograph.capture.module_state import Attribute, ModuleState, Watched
from monograph.capture.recorder import Recorder
from monograph.capture.scopes import Scopes
from monograph.diagnostics import problem
from monograph.host.dispatch import active_modes, below_autograd
from monograph.host.flags import exporting
from monograph.host.trees import pytree
from monograph.integers import Facts, use

if TYPE_CHECKING:
    from collections.abc import Generator

    from torch.fx.node import Node

_LOCK = threading.Lock()
"""One capture at a time: module state, `nn.Module.__call__` and `torch.tensor` are process-wide."""


@dataclass(frozen=True, slots=True)
class Capture:
    """What one run of user code left behind."""

    inputs: Inputs
    input_nodes: tuple[Node, ...]
    outputs: Outputs
    state: ModuleState
    recorder: Recorder
    facts: Facts


def capture(module: torch.nn.Module, args: Any, kwargs: Any, dynamic_shapes: Any) -> Capture:
    """Run `module(*args, **kwargs)` once on abstract tensors and write its graph.

    The module, its state and every process-wide patch are as before, whatever happens.

    Raises: not-a-module, capture-inside-capture, and what inputs, rules and user code refuse.
    """
    if not isinstance(module, torch.nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise problem("not-a-module", given=module)
    if not _LOCK.acquire(blocking=not _is_capturing()):
        raise problem("capture-inside-capture")
    try:
        with _without_garbage_collection():
            result = _attempt(module, args, kwargs, dynamic_shapes, None)
            if not isinstance(result, Capture):
                result = _attempt(module, args, kwargs, dynamic_shapes, Watched(result))
            assert isinstance(result, Capture), "a run that watches refuses or finishes"
            return result
    finally:
        _LOCK.release()


def _attempt(
    module: torch.nn.Module, args: Any, kwargs: Any, dynamic_shapes: Any, watched: Watched | None
) -> Capture | frozenset[Attribute]:
    """One run; or the attributes it changed that may outlive the call, to be watched in another.

    Raises: buffer-reshaped, attribute-changed, where those attributes were watched.
    """
    facts = Facts()
    with use(facts):
        inputs = read_inputs(module, args, kwargs, dynamic_shapes, facts)
        return _run(module, inputs, facts, watched)


def _run(
    module: torch.nn.Module, inputs: Inputs, facts: Facts, watched: Watched | None
) -> Capture | frozenset[Attribute]:
    scopes = Scopes(module, _run.__code__)
    writer = GraphWriter()
    recorder = Recorder(writer, scopes, facts)
    facts.locate = recorder.origin
    state = ModuleState(module, watched)
    state.write_placeholders(writer, recorder)
    leaves, input_nodes = write_inputs(inputs, writer, recorder)
    writer.begin_body()
    with ExitStack() as stack:
        stack.callback(recorder.close)
        for context in (
            scopes,
            exporting(),
            _literals(recorder),
            state,
            below_autograd(),
            recorder,
        ):
            stack.enter_context(context)
        args, kwargs = pytree.tree_unflatten(leaves, inputs.spec)
        result = module(*args, **kwargs)
        changed = state.changed()
        if changed and watched is None:
            return changed
        if watched is not None:
            state.refuse_changes()
        outputs = close_outputs(recorder, state, result)
    drop_unused(recorder)
    return Capture(inputs, input_nodes, outputs, state, recorder, facts)


def _is_capturing() -> bool:
    """Whether this thread is inside a capture already."""
    return any(isinstance(mode, Recorder) for mode in active_modes())


@contextmanager
def _without_garbage_collection() -> Generator[None]:
    """Capture makes many objects that all stay; collecting meanwhile costs a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _literals(recorder: Recorder) -> Generator[None]:
    """`torch.tensor([n, t])` of sizes and tensors: C++ would ask them for their values."""
    real_tensor = torch.tensor
    real_as_tensor = torch.as_tensor

    def tensor(data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
        if holds_symbols(data):
            return tensor_from(recorder, data, dtype, device)
        return real_tensor(data, dtype=dtype, device=device, **options)

    def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
        if isinstance(data, list | tuple | torch.SymInt | torch.SymFloat) and holds_symbols(data):
            return tensor_from(recorder, data, dtype, device)
        return real_as_tensor(data, dtype=dtype, device=device)

    torch.tensor, torch.as_tensor = tensor, as_tensor
    try:
        yield
    finally:
        torch.tensor, torch.as_tensor = real_tensor, real_as_tensor
