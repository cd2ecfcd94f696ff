"""A module while it is captured: parameters and buffers are abstract, and all comes back after.

`nn.Module.__getattr__` reads `_parameters` and `_buffers`, so their entries are replaced; a tensor
reached in another way (plain attribute, closure, `_flat_weights`) is recognised by its identity.
Every module's `__dict__` and what it leads to are put back as they were, also after an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import type_of, unusual_layout
from monograph.capture.side_effects.snapshots import TABLES, Snapshot
from monograph.diagnostics import problem
from monograph.host.dispatch import has_own_dispatch
from monograph.host.module_calls import is_persistent

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch.fx.node import Node

    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.recorder import Recorder


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One parameter or buffer: its first name, its placeholder, and what stands for it."""

    target: str
    real: torch.Tensor
    node: Node
    abstract: AbstractTensor
    is_parameter: bool
    persistent: bool


class ModuleState:
    """Swaps a module's state for abstract tensors. Use as a context manager."""

    def __init__(self, root: torch.nn.Module) -> None:
        self.root = root
        self.modules = list(root.modules())
        self.tensors: list[StateTensor] = []
        self.all_state: list[tuple[str, torch.Tensor, bool]] = []
        """Every name of every parameter and buffer, tied ones too: (path, tensor, persistent)."""
        seen: set[int] = set()
        self.saved = [Snapshot(module, seen) for module in self.modules]
        self.remembered = seen
        """The identities of the containers and objects that the modules' attributes lead to."""

    def write_placeholders(self, writer: GraphWriter, recorder: Recorder) -> None:
        """Placeholders for every parameter, then every buffer; tied tensors have one.

        Raises: unsupported-subclass, unsupported-layout.
        """
        seen: set[int] = set()
        for kind, owner, name, path, real in self._state():
            persistent = is_persistent(owner, name)
            self.all_state.append((path, real, persistent))
            if id(real) in seen:
                continue
            seen.add(id(real))
            _check_plain(real, path)
            is_parameter = kind == "_parameters"
            node = writer.placeholder(f"{'p' if is_parameter else 'b'}_{path}")
            abstract = make_tensor(type_of(real), node, recorder)
            _copy_markers(real, abstract)
            node.meta["val"] = abstract
            writer.know(real, abstract)
            if not is_parameter:
                writer.buffer_of[node] = real
            self.tensors.append(StateTensor(path, real, node, abstract, is_parameter, persistent))
        writer.name_attributes_by(self.attribute_path)

    def _state(self) -> Iterator[tuple[str, torch.nn.Module, str, str, torch.Tensor]]:
        named = list(self.root.named_modules(remove_duplicate=False))
        for kind in ("_parameters", "_buffers"):
            for prefix, module in named:
                for name, real in module.__dict__[kind].items():
                    if real is not None:
                        yield kind, module, name, f"{prefix}.{name}" if prefix else name, real

    def looked_after(self) -> set[int]:
        """The identities of everything whose writes are found by comparing with what was saved."""
        tables = (m.__dict__[kind] for m in self.modules for kind in TABLES)
        own = (each for m in self.modules for each in (m, m.__dict__))
        return {*map(id, tables), *map(id, own), *self.remembered}

    def attribute_path(self, real: torch.Tensor) -> str | None:
        """The path of a plain attribute that holds this tensor, if one does."""
        for prefix, module in self.root.named_modules():
            for name, value in module.__dict__.items():
                if value is real:
                    return f"{prefix}.{name}" if prefix else name
        return None

    def __enter__(self) -> Self:
        abstract = {id(t.real): t.abstract for t in self.tensors}
        for module in self.modules:
            for kind in ("_parameters", "_buffers"):
                table = module.__dict__[kind]
                for name, real in table.items():
                    if real is not None:
                        table[name] = abstract[id(real)]
        return self

    def __exit__(self, *_: object) -> None:
        for snapshot in self.saved:
            snapshot.restore()

    def reassigned(self) -> list[tuple[StateTensor, AbstractTensor]]:
        """Buffers replaced by another tensor (`self.n = self.n + 1`), with that tensor."""
        by_target = {t.target: t for t in self.tensors}
        return [
            (by_target[path], current)
            for kind, _, _, path, current in self._state()
            if kind == "_buffers"
            and path in by_target
            and isinstance(current, AbstractTensor)
            and current is not by_target[path].abstract
        ]


def _check_plain(real: torch.Tensor, path: str) -> None:
    if has_own_dispatch(real):
        raise problem("unsupported-subclass", type=type(real).__qualname__, path=path)
    layout = unusual_layout(real)
    if layout is not None:
        raise problem("unsupported-layout", what=f"`{path}`", layout=layout)


def _copy_markers(real: torch.Tensor, abstract: AbstractTensor) -> None:
    """Attributes that code set on parameters and buffers."""
    for name, value in real.__dict__.items():
        if name != "_is_param":
            setattr(abstract, name, value)
