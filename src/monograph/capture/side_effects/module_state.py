"""Module state: parameters and buffers are abstract during capture, and all comes back after.

`nn.Module.__getattr__` reads `_parameters` and `_buffers`, so views stand for these tables: the
capturing thread sees abstract tensors there, all others go on with the module's own. A tensor
reached in another way (plain attribute, closure, `_flat_weights`) is recognised by its identity.
Every module's `__dict__` and what it leads to are put back as they were, also after an error.

Law: a module is captured by one thread at a time; exports that share one take turns. What else
forward writes to (plain attributes) other threads see, as they do in eager code.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, get_ident
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import torch
from torch.nn import Parameter

from monograph.abstract.flags import ATTRIBUTES
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import type_of, unusual_layout
from monograph.capture.hidden_state.container_contents import same_content
from monograph.capture.recording.scalar_tensors import number_tensor
from monograph.capture.side_effects.snapshots import TABLES, Snapshot
from monograph.capture.side_effects.sparse_parts import SPARSE, sparse_parts
from monograph.capture.side_effects.tensor_parts import parts_of
from monograph.diagnostics import problem
from monograph.host.dispatch import has_own_dispatch, has_own_functions, is_fake, overrides_methods
from monograph.host.module_calls import is_persistent

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Sequence

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.recorder import Recorder


_PLAIN: Final = (Parameter, torch.Tensor)


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One parameter or buffer: its first name, its placeholder, and what stands for it."""

    target: str
    real: torch.Tensor
    node: Node
    abstract: AbstractTensor
    before: TensorType
    is_parameter: bool
    persistent: bool

    def is_left_otherwise(self) -> bool:
        """Whether it is seen otherwise, or has an attribute that was not there, or was another."""
        if self.abstract.tensor_type is not self.before and self.is_seen_otherwise():
            return True
        real, abstract = vars(self.real), ATTRIBUTES.__get__(self.abstract)
        if not abstract and not real:
            return False
        return not same_content(abstract, {n: v for n, v in real.items() if n != "_is_param"})

    def is_seen_otherwise(self) -> bool:
        """Whether operators such as `t_` gave it other sizes or strides than it had."""
        before, now = self.before, self.abstract.tensor_type
        return before.shape != now.shape or before.stride() != now.stride()


class StateName(NamedTuple):
    """The first name of a parameter or buffer, and which it is."""

    path: str
    is_parameter: bool
    persistent: bool


class ModuleState:
    """Swaps a module's state for abstract tensors. Use as a context manager."""

    def __init__(self, named: Sequence[tuple[str, torch.nn.Module]]) -> None:
        """`named` are the root module and all in it, by path, as `named_modules` yields them."""
        self.root, self._named = named[0][1], named
        self.modules = list({id(each): each for _, each in named}.values())
        self.tensors: list[StateTensor] = []
        self.all_state: list[tuple[str, torch.Tensor, bool]] = []
        """Every name of every parameter and buffer, tied ones too: (path, tensor, persistent)."""
        self.flags: list[tuple[torch.nn.Module, str, StateTensor]] = []
        """Attributes that are buffers of the program: their module, their name."""
        self.flags_read: dict[tuple[int, str], torch.SymBool] = {}
        """What each flag was when the call began."""
        self.scratch: Collection[str] = ()
        """The paths of scratch buffers."""
        self.stand_ins: dict[int, Any] = {}
        """What stands for each of the module's tensors, by their identity."""
        seen: set[int] = set()
        self.saved = [Snapshot(module, seen) for module in self.modules]
        self.remembered = seen
        """The identities of the containers and objects that the modules' attributes lead to."""

    def write_placeholders(self, writer: GraphWriter, recorder: Recorder) -> None:
        """Placeholders for every parameter, then every buffer; tied tensors have one.

        Raises: unsupported-subclass, unsupported-layout.
        """
        self.scratch = recorder.options.scratch.keys()
        seen: set[int] = set()
        wrapped: dict[int, Parameter] = {}  # what parameters are made of, by identity
        entries = [(True, *each) for each in self._state("_parameters")]
        entries += [
            (False, *each)
            for each in self._state("_buffers")
            if not isinstance(each[-1], AbstractTensor)  # a cache that a call before it filled
        ]
        for is_parameter, owner, own_name, path, real in entries:
            persistent = is_persistent(owner, own_name)
            plain, parts = [(path, real)], None
            if has_own_dispatch(real) or real.layout in SPARSE:
                if real.layout in SPARSE and id(real) in self.stand_ins:
                    continue
                parts = (sparse_parts if real.layout in SPARSE else parts_of)(real, path)
                plain = list(parts.flat(path))
                for group in parts.groups():
                    recorder.answers_noted.note("process_group", (), group)
                if real.requires_grad:
                    recorder.answers_noted.note("grad_mode", ())
            for where, each in plain:
                is_part = is_parameter and parts is not None
                held = wrapped.setdefault(id(each), _as_parameter(each)) if is_part else each
                self.all_state.append((where, held, persistent))
                if id(each) not in seen:
                    seen.add(id(each))
                    self._stand_in(
                        StateName(where, is_parameter, persistent), each, writer, recorder
                    )
            if parts is not None and id(real) not in self.stand_ins:
                self.stand_ins[id(real)] = made = parts.assembled(writer.known)
                if isinstance(real, Parameter):
                    made._is_param = True  # noqa: SLF001 - by which `isinstance` knows a parameter
        writer.name_attributes_by(self.attribute_path, {path for path, *_ in self.all_state})

    def write_flags(self, flags: Iterable[str], writer: GraphWriter, recorder: Recorder) -> None:
        """A placeholder for each attribute of these paths, which is a buffer of the program."""
        for path in sorted(flags):
            owner, _, name = path.rpartition(".")
            module = self.root.get_submodule(owner)
            real = torch.tensor(module.__dict__[name])
            self.all_state.append((path, real, False))
            state = StateName(path, is_parameter=False, persistent=False)
            self._stand_in(state, real, writer, recorder)
            del writer.buffer_of[self.tensors[-1].node]  # what it holds now decides nothing
            self.flags.append((module, name, self.tensors[-1]))
        writer.name_attributes_by(self.attribute_path, {path for path, *_ in self.all_state})

    def read_flags(self) -> None:
        """From now on, the flags are what the program's buffers say."""
        for module, name, tensor in self.flags:
            self.flags_read[id(module), name] = module.__dict__[name] = tensor.abstract.item()

    def _stand_in(
        self, name: StateName, real: torch.Tensor, writer: GraphWriter, recorder: Recorder
    ) -> None:
        """A placeholder for a tensor. Raises: unsupported-layout, unsupported-subclass."""
        layout = unusual_layout(real)
        if layout is not None:
            raise problem("unsupported-layout", what=f"`{name.path}`", layout=layout)
        kind = type(real)
        if kind not in _PLAIN and (
            (has_own_functions(real) and not is_fake(real)) or overrides_methods(kind)
        ):
            raise problem("unsupported-subclass", type=kind.__qualname__, path=name.path)
        node = writer.placeholder(f"{'p' if name.is_parameter else 'b'}_{name.path}")
        given = recorder.options.scratch.get(name.path)
        before = given or type_of(real)
        abstract = make_tensor(before, node, recorder)
        for marker, value in real.__dict__.items():  # that code set on it
            if marker != "_is_param":
                setattr(abstract, marker, value)
        abstract.__class__ = type(real)
        node.meta["val"] = abstract
        writer.know(real, abstract)
        self.stand_ins[id(real)] = abstract
        if not name.is_parameter and given is None:
            writer.buffer_of[node] = real
        self.tensors.append(
            StateTensor(name.path, real, node, abstract, before, name.is_parameter, name.persistent)
        )

    def _state(self, kind: str) -> list[tuple[torch.nn.Module, str, str, torch.Tensor]]:
        """The entries of all tables of a kind, with their modules, names and paths."""
        found: list[tuple[torch.nn.Module, str, str, torch.Tensor]] = []
        for prefix, module in self._named:
            table = module.__dict__[kind]
            for name, real in (table.own if type(table) is _View else table).items():
                if real is not None:
                    found.append((module, name, f"{prefix}.{name}" if prefix else name, real))
        return found

    def looked_after(self) -> set[int]:
        """The identities of everything whose writes are found by comparing with what was saved."""
        found = {*self.remembered, *map(id, self.stand_ins.values())}
        for module in self.modules:
            own = module.__dict__
            found |= {id(module), id(own), *map(id, map(own.__getitem__, TABLES))}
        return found

    def attribute_path(self, real: torch.Tensor) -> str | None:
        """The path of a plain attribute that holds this tensor, if one does."""
        for prefix, module in self.root.named_modules():
            for name, value in module.__dict__.items():
                if value is real:
                    return f"{prefix}.{name}" if prefix else name
        return None

    def __enter__(self) -> Self:
        for saved in self.saved:
            for kind in ("_parameters", "_buffers"):
                if saved.tables[kind]:
                    table = _View(saved.attributes[kind])
                    for name, real in saved.tables[kind].items():
                        if real is not None:
                            table.own[name] = self.stand_ins.setdefault(id(real), real)
                    saved.attributes[kind] = saved.module.__dict__[kind] = table
        return self

    def __exit__(self, *_: object) -> None:
        for snapshot in self.saved:
            snapshot.restore()
            for kind, table in snapshot.attributes.items():
                if type(table) is _View:
                    snapshot.attributes[kind] = snapshot.module.__dict__[kind] = table.real

    def reassigned(self) -> list[tuple[StateTensor, AbstractTensor]]:
        """Buffers and flags replaced by another (`self.n = self.n + 1`), with its tensor."""
        by_target = {t.target: t for t in self.tensors}
        flags: list[tuple[StateTensor, AbstractTensor]] = []
        for module, name, tensor in self.flags:
            now = module.__dict__.get(name)
            if is_truth(now) and now is not self.flags_read[id(module), name]:
                made = number_tensor(now, torch.bool)
                flags.append((tensor, tensor.abstract.recorder.abstract(made)))
        return flags + [
            (by_target[path], current)
            for _, _, path, current in self._state("_buffers")
            if path in by_target
            and isinstance(current, AbstractTensor)
            and current is not by_target[path].abstract
        ]


def is_truth(value: Any) -> bool:
    """Whether a flag is still one."""
    return type(value) in {bool, torch.SymBool}


def _as_parameter(part: torch.Tensor) -> Parameter:
    """What a parameter is made of, in the same memory."""
    return Parameter(part, requires_grad=False)


# --- threads -----------------------------------------------------------------------------------


class _View(dict[str, Any]):
    """A table of a module: the thread that made it has entries of its own, others the table's.

    What C reads without asking is the table as it was.
    """

    __slots__ = ("own", "real", "thread")

    def __init__(self, real: dict[str, Any]) -> None:
        super().__init__(real)
        self.real, self.own, self.thread = real, dict(real), get_ident()

    def __reduce_ex__(self, _protocol: object) -> Any:
        """Copied or pickled, it is a dict."""
        return dict, (dict(self),)


def seen_now(table: dict[str, Any]) -> dict[str, Any]:
    """What the capturing thread sees in a table of a module, without asking which thread it is."""
    return table.own if type(table) is _View else table


def _ask_thread(name: str) -> Any:
    def method(self: _View, *args: Any, **kwargs: Any) -> Any:
        table = self.own if get_ident() == self.thread else self.real
        return getattr(table, name)(*args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    *("__contains__", "__delitem__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__"),
    *("__or__", "__repr__", "__reversed__", "__ror__", "__setitem__", "clear", "copy", "get"),
    *("items", "keys", "pop", "popitem", "setdefault", "update", "values"),
):
    setattr(_View, _name, _ask_thread(_name))

_TURN: Final = Condition()
_CAPTURED: Final[set[int]] = set()
"""The identities of the modules that are captured now, in whatever thread."""


@contextmanager
def taking_turns(modules: Iterable[torch.nn.Module]) -> Generator[None]:
    """Wait until no other thread captures one of these modules, and let others wait meanwhile."""
    mine = set(map(id, modules))
    with _TURN:
        _TURN.wait_for(lambda: _CAPTURED.isdisjoint(mine))
        _CAPTURED.update(mine)
    try:
        yield
    finally:
        with _TURN:
            _CAPTURED.difference_update(mine)
            _TURN.notify_all()
