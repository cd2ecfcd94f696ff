"""A module while it is captured: parameters and buffers are abstract, and all comes back after.

`nn.Module.__getattr__` reads `_parameters` and `_buffers`, so their entries are replaced; a tensor
reached in another way (plain attribute, closure, `_flat_weights`) is recognised by its identity.
Every module's `__dict__` and what it leads to are put back as they were, also after an error.

A plain attribute that forward writes may outlive the call. It does no harm if every call writes it
before reading it; otherwise the program would not see what the call before left, and is refused.
Python does not say for free who reads an attribute, so a run that changed some is run once more,
with reads and writes of just those attributes watched.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import type_of
from monograph.capture.snapshots import Snapshot
from monograph.diagnostics import Cause, Frame, problem, user_frames
from monograph.host.dispatch import has_own_dispatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.graph_writer import GraphWriter
    from monograph.capture.recorder import Recorder


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One parameter or buffer: its first name, its placeholder, and what stands for it."""

    target: str
    real: torch.Tensor
    node: Node
    abstract: AbstractTensor
    is_parameter: bool
    persistent: bool


Attribute = tuple[int, str]
"""The identity of a module and the name of an attribute."""


@dataclass(slots=True)
class Watched:
    """Where the attributes that a run before this one changed are written, and read before that."""

    names: frozenset[Attribute]
    written: dict[Attribute, tuple[Frame, ...]] = field(default_factory=dict[Attribute, Any])
    read_first: dict[Attribute, tuple[Frame, ...]] = field(default_factory=dict[Attribute, Any])


class ModuleState:
    """Swaps a module's state for abstract tensors. Use as a context manager."""

    def __init__(self, root: torch.nn.Module, watched: Watched | None = None) -> None:
        self.root = root
        self.watched = watched
        self.modules = list(root.modules())
        self.tensors: list[StateTensor] = []
        self.all_state: list[tuple[str, torch.Tensor, bool]] = []
        """Every name of every parameter and buffer, tied ones too: (path, tensor, persistent)."""
        seen: set[int] = set()
        self._saved = [Snapshot(module, seen) for module in self.modules]
        self._unpatch: list[Any] = []

    def write_placeholders(self, writer: GraphWriter, recorder: Recorder) -> None:
        """Placeholders for every parameter, then every buffer; tied tensors have one.

        Raises: unsupported-subclass.
        """
        seen: set[int] = set()
        for kind, owner, name, path, real in self._state():
            persistent = name not in owner._non_persistent_buffers_set  # noqa: SLF001 - its only record
            self.all_state.append((path, real, persistent))
            if id(real) in seen:
                continue
            seen.add(id(real))
            _check_plain(real, path)
            is_parameter = kind == "_parameters"
            node = writer.placeholder(f"{'p' if is_parameter else 'b'}_{path}")
            abstract = make_tensor(type_of(real), node, recorder)
            _copy_markers(real, abstract, is_parameter)
            node.meta["val"] = abstract
            writer.know(real, abstract)
            self.tensors.append(StateTensor(path, real, node, abstract, is_parameter, persistent))
        writer.name_attributes_by(self.attribute_path)

    def _state(self) -> Iterator[tuple[str, torch.nn.Module, str, str, torch.Tensor]]:
        named = list(self.root.named_modules())
        for kind in ("_parameters", "_buffers"):
            for prefix, module in named:
                for name, real in module.__dict__[kind].items():
                    if real is not None:
                        yield kind, module, name, f"{prefix}.{name}" if prefix else name, real

    def attribute_path(self, real: torch.Tensor) -> str | None:
        """The path of a plain attribute that holds this tensor, if one does."""
        for prefix, module in self.root.named_modules():
            for name, value in module.__dict__.items():
                if value is real:
                    return f"{prefix}.{name}" if prefix else name
        return None

    def __enter__(self) -> ModuleState:
        abstract = {id(t.real): t.abstract for t in self.tensors}
        for module in self.modules:
            for kind in ("_parameters", "_buffers"):
                table = module.__dict__[kind]
                for name, real in table.items():
                    if real is not None:
                        table[name] = abstract[id(real)]
        if self.watched is not None:
            self._unpatch = _watch(self.watched)
        return self

    def __exit__(self, *_: object) -> None:
        for name, original in self._unpatch:
            if original is None:
                delattr(torch.nn.Module, name)
            else:
                setattr(torch.nn.Module, name, original)
        for snapshot in self._saved:
            snapshot.restore()

    # --- what forward changed ----------------------------------------------------------------

    def reassigned(self) -> list[tuple[StateTensor, AbstractTensor]]:
        """Buffers user code replaced by another tensor (`self.n = self.n + 1`), with that tensor."""
        by_target = {t.target: t for t in self.tensors}
        found: list[tuple[StateTensor, AbstractTensor]] = []
        for kind, _, _, path, current in self._state():
            state = by_target.get(path)
            if kind == "_buffers" and state is not None and current is not state.abstract:
                if isinstance(current, AbstractTensor):
                    found.append((state, current))
        return found

    def changed(self) -> frozenset[Attribute]:
        """Attributes that are not what they were, and tables with other entries than they had."""
        found = {(id(saved.module), name) for saved in self._saved for name in saved.changed()}
        abstract = {id(t.real): t.abstract for t in self.tensors}
        for saved in self._saved:
            for kind, before in saved.tables.items():
                now = saved.module.__dict__[kind]
                found |= {
                    (id(saved.module), name)
                    for name in {**before, **now}
                    if not _is_kept(kind, abstract, before.get(name), now.get(name))
                }
        return frozenset(found)

    def refuse_changes(self) -> None:
        """Refuse what outlives the call; to be asked of a run that watched what changed.

        Raises: buffer-reshaped, attribute-changed.
        """
        assert self.watched is not None, "asked of a run that watches"
        for saved in self._saved:
            for name in sorted(n for owner, n in self.changed() if owner == id(saved.module)):
                self._refuse(saved, name, self.watched)

    def _refuse(self, saved: Snapshot, name: str, watched: Watched) -> None:
        path = self._path(saved.module, name)
        key = (id(saved.module), name)
        written = watched.written.get(key)
        before = saved.tables["_buffers"].get(name)
        if before is not None:
            now = saved.module.__dict__["_buffers"].get(name)
            raise problem(
                "buffer-reshaped",
                at=written or (),
                name=path,
                before=_type_text(type_of(before)),
                now=_type_text(now.tensor_type) if isinstance(now, AbstractTensor) else repr(now),
            )
        read = watched.read_first.get(key)
        in_table = any(name in saved.module.__dict__[kind] for kind in saved.tables)
        if read is None and written is not None and not in_table:
            return
        causes: tuple[Cause, ...] = ()
        if written is not None and read is not None:
            label = f"the value that the call before left in `{path}` is read here"
            causes = (Cause(read[:1], label),)
        raise problem("attribute-changed", at=written or read or (), causes=causes, name=path)

    def _path(self, module: torch.nn.Module, name: str) -> str:
        prefix = next(path for path, each in self.root.named_modules() if each is module)
        return ".".join(filter(None, ["self", prefix, name]))


def _is_kept(kind: str, abstract: dict[int, Any], before: Any, now: Any) -> bool:
    """Whether an entry of a module's table is what it was, or a buffer that may replace another."""
    if kind == "_modules" or before is None or now is None:
        return before is now
    stood = abstract[id(before)]
    if now is stood:
        return True
    if kind != "_buffers" or not isinstance(now, AbstractTensor):
        return False
    same_shape = now.tensor_type.shape == stood.tensor_type.shape
    return same_shape and now.tensor_type.dtype == stood.tensor_type.dtype


def _watch(watched: Watched) -> list[tuple[str, Any]]:
    """Note where the watched attributes are written, and read before that; returns what to undo."""
    cls: Any = torch.nn.Module
    names = {name for _, name in watched.names}
    originals = [
        (n, cls.__dict__.get(n)) for n in ("__setattr__", "__delattr__", "__getattribute__")
    ]
    real_set, real_delete, real_get = cls.__setattr__, cls.__delattr__, cls.__getattribute__

    def note(table: dict[Attribute, Any], module: Any, name: str) -> None:
        key = (id(module), name)
        if key in watched.names and key not in table:
            table[key] = user_frames(sys._getframe(2))

    def write(module: Any, name: str, value: Any) -> None:
        if name in names:
            note(watched.written, module, name)
        real_set(module, name, value)

    def delete(module: Any, name: str) -> None:
        if name in names:
            note(watched.written, module, name)
        real_delete(module, name)

    def read(module: Any, name: str) -> Any:
        if name in names and (id(module), name) not in watched.written:
            note(watched.read_first, module, name)
        return real_get(module, name)

    cls.__setattr__, cls.__delattr__, cls.__getattribute__ = write, delete, read
    return originals


def _type_text(t: TensorType) -> str:
    return f"{str(t.dtype).removeprefix('torch.')}[{', '.join(map(str, t.shape))}]"


def _check_plain(real: torch.Tensor, path: str) -> None:
    if has_own_dispatch(real):
        raise problem("unsupported-subclass", type=type(real).__qualname__, path=path)
    if real.layout != torch.strided:
        raise problem("unsupported-subclass", type=f"Tensor of layout {real.layout}", path=path)


def _copy_markers(real: torch.Tensor, abstract: AbstractTensor, is_parameter: bool) -> None:
    """Attributes set on parameters, and what makes `isinstance(x, nn.Parameter)` true."""
    for name, value in real.__dict__.items():
        setattr(abstract, name, value)
    if is_parameter:
        abstract._is_param = True  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001 - what Parameter's isinstance reads
