"""Module call signatures: how modules below the root are called, where that is to be kept.

A call's inputs and outputs are named by the nodes that hold them at that moment. What a kept call
returns stays in the graph, whether anybody uses it or not.
"""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.diagnostics import problem
from monograph.host.module_calls import named_parts
from monograph.host.trees import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from monograph.capture.recording.recorder import Recorder

_CONSTANTS = (int, float, bool, str, type(None), torch.dtype, torch.device)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value that crosses the border of a module: what it is, and its node if it has one."""

    value: Any
    node: Node | None


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a module: its flat values, and how they are structured."""

    key: str
    signature: inspect.Signature
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    in_spec: Any
    out_spec: Any


class ModuleCalls:
    """The calls of the modules at `paths`, recorded during one capture."""

    def __init__(self, recorder: Recorder, paths: Collection[str]) -> None:
        self.recorder = recorder
        self.found: dict[str, RecordedCall] = {}
        modules = dict(named_parts(recorder.scopes.root)) if paths else {}
        for path in paths:
            if path not in modules or not path:
                near = difflib.get_close_matches(path, modules, n=1)
                raise problem("module-not-found", path=path, near=near[0] if near else "")
            recorder.scopes.watchers[id(modules[path])] = self._watcher(path, modules[path])

    @property
    def kept(self) -> set[Node]:
        """The nodes that a kept call takes or returns."""
        leaves = (leaf for call in self.found.values() for leaf in (*call.inputs, *call.outputs))
        return {leaf.node for leaf in leaves if leaf.node is not None}

    def _watcher(
        self, path: str, module: torch.nn.Module
    ) -> Callable[[str, tuple[Any, ...], dict[str, Any]], Callable[[Any], None]]:
        signature = inspect.signature(module.forward)

        def begin(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], None]:
            inputs, in_spec = self._leaves((args, kwargs), path)

            def finish(result: Any) -> None:
                outputs, out_spec = self._leaves(result, path)
                self.found[key] = RecordedCall(key, signature, inputs, outputs, in_spec, out_spec)

            return finish

        return begin

    def _leaves(self, tree: Any, path: str) -> tuple[tuple[Leaf, ...], Any]:
        flat: Sequence[Any]
        flat, spec = flatten(tree)
        return tuple(self._leaf(value, path) for value in flat), spec

    def _leaf(self, value: Any, path: str) -> Leaf:
        if isinstance(value, _CONSTANTS):
            return Leaf(value, None)
        _, node = self.recorder.convert(value)
        if isinstance(node, Node):
            return Leaf(value, node)
        if isinstance(node, _CONSTANTS):
            return Leaf(node, None)
        raise problem("unsupported-input", path=path, type=type(value))


__all__ = ["Leaf", "ModuleCalls", "RecordedCall"]
