"""Module-state mutation: what forward leaves behind, and whether the next call would notice.

A program has parameters, buffers and nothing else, so whatever else outlives a call must not matter
to the calls after it. It does not, if every call writes an attribute before reading it; or if the
second call, begun with what the first left, does the same as the first and leaves nothing new: then
so does every other call. Anything else is refused.

Python does not say for free who reads an attribute. So a run that changed something is run again,
with reads and writes of just what it changed watched, and a third time if that must settle it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import as_stated
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import type_of
from monograph.capture.code_policy import INTERPRETER, OURS, TORCH
from monograph.capture.hidden_state.readings import HiddenState
from monograph.capture.installation import THREAD, Overrides, listening
from monograph.capture.queries.arrays_of_state import ArrayOfState, array_of_state
from monograph.capture.recording.operators import is_droppable
from monograph.capture.side_effects.module_state import is_truth, seen_now
from monograph.capture.side_effects.snapshots import Snapshot, held_of
from monograph.diagnostics import Cause, Frame, MonographError, problem, user_frames
from monograph.integers.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Collection, Generator
    from collections.abc import Set as AbstractSet

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.queries.noted_answers import Subject
    from monograph.capture.side_effects.module_state import ModuleState, StateTensor
    from monograph.capture.side_effects.tracking import WriteTarget

Attribute = tuple[int, str]
"""The identity of a module and the name of an attribute."""
ArraysOfState = Mapping[Attribute, tuple[Any, ArrayOfState]]
"""Attributes that lead to arrays in the memory of parameters and buffers: what they hold, which."""

_OUR_DOING = frozenset({"_flat_weights", "_flat_weight_refs"})
"""What `nn.RNNBase` derives anew because the parameters it held were swapped."""


@dataclass(slots=True)
class Watched:
    """Where the attributes that a run before this one changed are written, and read before that."""

    names: frozenset[Attribute]
    places: tuple[WriteTarget, ...] = ()
    """Where else a run of plain Python left something."""
    written: dict[Attribute, tuple[Frame, ...]] = field(default_factory=dict[Attribute, Any])
    read_first: dict[Attribute, tuple[Frame, ...]] = field(default_factory=dict[Attribute, Any])
    on_one_side: dict[Attribute, Any] = field(default_factory=dict[Attribute, Any])
    """What is written on one side of a condition, or in rounds, alone so far: there."""
    arrays: ArraysOfState = field(default_factory=dict[Attribute, Any])


def find_changes(state: ModuleState) -> frozenset[Attribute]:
    """Attributes that are not what they were, and tables with other entries than they had."""
    found: set[Attribute] = set()
    for saved in state.saved:
        found |= {(id(saved.module), n) for n in saved.changed() if n not in _OUR_DOING}
        for kind, before in saved.tables.items():
            now = saved.module.__dict__[kind]
            if before:
                now = seen_now(now)
            elif not now:
                continue
            for name in _changed(kind, state, before, now):
                found.add((id(saved.module), name))
    for module, name, _ in state.flags:
        if is_truth(module.__dict__.get(name)):
            found.discard((id(module), name))
    for each in state.tensors:
        if each.is_left_otherwise():
            path, _, name = each.target.rpartition(".")
            found.add((id(state.root.get_submodule(path)), name))
    return frozenset(found | _newly_shared(state))


def find_spent(state: ModuleState) -> frozenset[Attribute]:
    """Attributes that lead to iterators which a run advanced: nobody can put them back."""
    return frozenset(
        (id(saved.module), name)
        for saved in state.saved
        for name, contents in saved.nested.items()
        for owner, content in contents
        if type(content) is HiddenState and not content.is_still_in(owner)
    )


def flags_changed(state: ModuleState, watched: Watched) -> frozenset[str]:
    """The paths of truths that a run changed, which may be buffers of the program."""
    return frozenset(
        _path(state, saved.module, name).removeprefix("self.")
        for saved in state.saved
        for name, before in saved.attributes.items()
        if type(before) is bool and (id(saved.module), name) in watched.names
        if name != "training" and name not in saved.slots
    )


def _changed(
    kind: str, state: ModuleState, before: dict[str, Any], now: dict[str, Any]
) -> list[str]:
    """The entries of a module's table that are neither what they were nor may take its place."""
    stand_ins = {} if kind == "_modules" else state.stand_ins
    found: list[str] = []
    for name in {**before, **now}:
        was, held = before.get(name), now.get(name)
        is_kept = held is stand_ins.get(id(was), was)
        if not is_kept and not _may_replace(kind, state, was, held):
            found.append(name)
    return found


def _may_replace(kind: str, state: ModuleState, before: Any, now: Any) -> bool:
    """Whether an entry of a module's table that is another one now is a buffer that may be."""
    if kind != "_buffers" or before is None or not isinstance(now, AbstractTensor):
        return False
    stood = state.stand_ins[id(before)]
    if _other_owner(state, now):
        return False
    same_shape = now.tensor_type.shape == stood.tensor_type.shape
    return same_shape and now.tensor_type.dtype == stood.tensor_type.dtype


def _lies_in_an_input(tensor: Any) -> bool:
    """Whether a tensor shares its memory with an input, which the caller may write to later."""
    if not isinstance(tensor, AbstractTensor):
        return False
    recorder: Any = tensor.recorder
    return any(tensor.storage_root is node.meta.get("val") for node in recorder.input_nodes)


def _other_owner(state: ModuleState, now: Any) -> str:
    """Who else has the memory of a tensor that takes a buffer's place, and may write to it."""
    if not isinstance(now, AbstractTensor):
        return ""
    if _lies_in_an_input(now):
        return "an input"
    for each in state.tensors:
        if each.is_parameter and each.abstract is now.storage_root:
            return f"the parameter `self.{each.target}`"
    recorder: Any = now.recorder
    constants = (node.meta.get("val") for node in recorder.writer.constant_of)
    return "a constant" if any(now.storage_root is each for each in constants) else ""


def _newly_shared(state: ModuleState) -> set[Attribute]:
    """Buffers replaced so that one storage has two names now, or had two before."""
    entries = [
        (saved.module, name, before, seen_now(saved.module.__dict__["_buffers"]).get(name))
        for saved in state.saved
        for name, before in saved.tables["_buffers"].items()
    ]
    names_before: dict[int, int] = {}
    names_now: dict[int, int] = {}
    for _, _, before, now in entries:
        names_before[id(before)] = names_before.get(id(before), 0) + 1
        if isinstance(now, AbstractTensor):
            root = id(now.storage_root)
            names_now[root] = names_now.get(root, 0) + 1
    return {
        (id(module), name)
        for module, name, before, now in entries
        if isinstance(now, AbstractTensor)
        and now is not state.stand_ins.get(id(before))
        and (names_before[id(before)] > 1 or names_now[id(now.storage_root)] > 1)
    }


def reshaped(state: ModuleState) -> dict[str, TensorType]:
    """The types that buffers of no state_dict are left with, where they are others, by path."""
    replaced = state.reassigned()
    names = [id(real) for _, real, _ in state.all_state]
    roots = [id(now.storage_root) for _, now in replaced]
    return {
        each.target: now.tensor_type
        for each, now in replaced
        if not each.persistent
        and now.tensor_type.shape != type_of(each.real).shape
        and names.count(id(each.real)) == roots.count(id(now.storage_root)) == 1
    }


def find_harm(
    state: ModuleState, watched: Watched, spent: AbstractSet[Attribute] = frozenset()
) -> list[MonographError]:
    """What outlives this run and may matter to the next: a refusal each, of a run that watched.

    `spent` is what runs before it used up.
    """
    changed = find_changes(state) | spent
    found = (
        _harm(state, saved, name, watched)
        for saved in state.saved
        for name in sorted(n for owner, n in changed if owner == id(saved.module))
    )
    return [harm for harm in found if harm is not None]


def find_filled(state: ModuleState, watched: Watched) -> list[MonographError]:
    """The caches that this run filled: a refusal each, for the case that the next one notices."""
    return [
        _changed_refusal(state, saved, name, watched)
        for saved in state.saved
        for owner, name in sorted(watched.names, key=str)
        if owner == id(saved.module) and _is_filled_once(saved, name)
    ]


def _harm(
    state: ModuleState, saved: Snapshot, name: str, watched: Watched
) -> MonographError | None:
    path = _path(state, saved.module, name)
    key = (id(saved.module), name)
    written, read = watched.written.get(key), watched.read_first.get(key)
    before, now = (
        t.get(name) for t in (saved.tables["_buffers"], saved.module.__dict__["_buffers"])
    )
    for each in state.tensors:
        if path == f"self.{each.target}" and each.is_seen_otherwise():
            return _seen_otherwise(each)
    if before is not None and not _is_of_type(now, type_of(before)):
        if path.removeprefix("self.") in state.scratch and not _lies_in_an_input(now):
            return None
        return problem(
            "buffer-reshaped",
            at=written or (),
            name=path,
            before=_type_text(type_of(before)),
            now=_type_text(now.tensor_type) if isinstance(now, AbstractTensor) else repr(now),
        )
    if before is not None and (owner := _other_owner(state, now)):
        return problem("buffer-is-input", at=written or (), name=path, owner=owner)
    in_table = any(name in {**saved.tables[k], **saved.module.__dict__[k]} for k in saved.tables)
    # Where a flag of one call sends the next another way, that may read what this one overwrites.
    if read is None and written is not None and not in_table:
        return None
    if not state.flags and _is_filled_once(saved, name):
        return None
    return _changed_refusal(state, saved, name, watched)


def _changed_refusal(
    state: ModuleState, saved: Snapshot, name: str, watched: Watched
) -> MonographError:
    path, key = _path(state, saved.module, name), (id(saved.module), name)
    written, read = watched.written.get(key), watched.read_first.get(key)
    causes: tuple[Cause, ...] = ()
    if written is not None and read is not None:
        label = f"the value that the call before left in `{path}` is read here"
        causes = (Cause(read[:1], label),)
    value, at = saved.now().get(name), written or read or ()
    return problem("attribute-changed", at=at, causes=causes, name=path, value=value)


def _seen_otherwise(tensor: StateTensor) -> MonographError:
    """The refusal of `self.b.t_()`: the next call would see another tensor."""
    was, now = tensor.before, tensor.abstract.tensor_type
    texts = [_type_text(each) for each in (was, now)]
    if texts[0] == texts[1]:
        texts = [f"strides {each.stride()}" for each in (was, now)]
    recorder: Any = tensor.abstract.recorder
    node = tensor.abstract.node
    frames = () if node is None else node.meta.get("frames", ())
    at, name = recorder.scopes.filter.innermost_user(frames), f"self.{tensor.target}"
    return problem("buffer-reshaped", at=at, name=name, before=texts[0], now=texts[1])


def _is_filled_once(saved: Snapshot, name: str) -> bool:
    """Whether an attribute is a cache that the first call fills for all others.

    There was nothing (no attribute, None, a missing key), and now there are tensors made of the
    module's own unchanged state alone: computing them again, as the program does, gives the same.
    """
    now = {**saved.now(), **saved.module.__dict__["_buffers"]}.get(name)
    before = {**saved.attributes, **saved.tables["_buffers"]}.get(name)
    if isinstance(now, dict) and now is before:
        contents: Any = next(
            (content for owner, content in saved.nested.get(name, ()) if owner is now), {}
        )
        if type(contents) is HiddenState:
            contents = contents.content[0]  # of a class of the user's: its items, its attributes
        if any(now.get(key, saved) is not value for key, value in contents.items()):
            return False
        filled = [value for key, value in now.items() if key not in contents]
    else:
        filled = [now] if before is None else []
    return bool(filled) and all(is_made_of_state(value) for value in filled)


def is_made_of_state(value: Any, sizes: Collection[Any] = ()) -> bool:
    """Whether a tensor depends on parameters, buffers and constants alone, none written to.

    And on numbers made of these symbols.
    """
    if not isinstance(value, AbstractTensor) or value.node is None or value.storage_root.n_writes:
        return False
    recorder: Any = value.recorder  # of a region that has ended it knows nothing any more
    waiting, seen = [value.node], set[Any]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        number = as_stated(node.meta.get("val"))
        if isinstance(number, Expr) and number.symbols <= set(sizes):
            continue
        if node.op == "placeholder":
            if node in recorder.input_nodes or node.name in recorder.mutated:
                return False
        elif not is_droppable(node.target):
            return False
        waiting.extend(node.all_input_nodes)
    return True


def _is_of_type(value: Any, t: TensorType) -> bool:
    if not isinstance(value, AbstractTensor):
        return False
    return value.tensor_type.shape == t.shape and value.tensor_type.dtype == t.dtype


def _path(state: ModuleState, module: torch.nn.Module, name: str) -> str:
    prefix = next(path for path, each in state.root.named_modules() if each is module)
    return ".".join(filter(None, ["self", prefix, name]))


def _type_text(t: TensorType) -> str:
    return f"{str(t.dtype).removeprefix('torch.')}[{', '.join(map(str, t.shape))}]"


# --- watching --------------------------------------------------------------------------------


_ALL: Final = ("__dict__", "__getstate__")
_WATCHING: Final = Overrides()


def find_arrays(state: ModuleState, subjects: Mapping[Node, Subject]) -> ArraysOfState:
    """The attributes that lead to arrays in the memory of parameters and buffers."""
    held = [
        (saved, name, owner)
        for saved in state.saved
        for name, contents in saved.nested.items()
        for owner, content in contents
        if type(content) is HiddenState
    ]
    arrays = {id(owner): array_of_state(owner, subjects) for _, _, owner in held}
    if not any(arrays.values()):
        return {}
    held += [  # what has two names is in one snapshot alone
        (saved, name, owner)
        for saved in state.saved
        for name in saved.attributes.keys() - saved.tables.keys()
        for owner in held_of(saved.attributes[name], object)
    ]
    found = ((saved, name, arrays.get(id(owner))) for saved, name, owner in held)
    return {
        (id(saved.module), each): (saved.attributes.get(each), array)
        for saved, name, array in found
        if array is not None
        for each in (name, *_ALL)
    }


@contextmanager
def watching(watched: Watched | None, arrays: ArraysOfState) -> Generator[None]:
    """Note where the watched attributes are written, and read before that.

    Who reads one that leads to an array of a parameter's or buffer's memory is refused.
    """
    if watched is None and not arrays:
        yield
        return
    watched = watched or Watched(frozenset())
    watched.arrays = arrays
    with _WATCHING.installed():
        THREAD.watched = watched
        try:
            yield
        finally:
            THREAD.watched = None


@_WATCHING.override(torch.nn.Module, "__setattr__")
def _setting(original: Any) -> Any:
    def write(module: Any, name: str, value: Any) -> None:
        _note_write(module, name)
        original(module, name, value)

    return write


@_WATCHING.override(torch.nn.Module, "__delattr__")
def _deleting(original: Any) -> Any:
    def delete(module: Any, name: str) -> None:
        _note_read(module, name)  # nobody deletes what is not there
        _note_write(module, name)
        original(module, name)

    return delete


@_WATCHING.override(torch.nn.Module, "__getattribute__")
def _getting(_: object) -> Any:
    original: Any = object.__getattribute__

    def read(module: Any, name: str) -> Any:
        _note_read(module, name)
        watched, key = THREAD.watched, (id(module), name)
        if watched is not None and key in watched.arrays:
            if name in _ALL and _is_our_business(sys._getframe(1).f_code.co_filename):
                return original(module, name)
            held, array = watched.arrays[key]
            recorder, now = listening(), original(module, "__dict__").get(name, held)
            if recorder is not None and now is held:
                recorder.refuse(array.refusal())
        return original(module, name)

    return read


def _is_our_business(file: str) -> bool:
    """Whether who reads all attributes is PyTorch or this package, on nobody's behalf."""
    return file.startswith((OURS, TORCH)) and not file.startswith(INTERPRETER)


def _note_read(module: Any, name: str) -> None:
    watched, key = THREAD.watched, (id(module), name)
    if watched is None or key not in watched.names:
        return
    side = watched.on_one_side.get(key)
    if key not in watched.written or (side is not None and not _is_within(_region(), side)):
        watched.read_first.setdefault(key, user_frames(sys._getframe(2)))


def _note_write(module: Any, name: str) -> None:
    watched, key = THREAD.watched, (id(module), name)
    if watched is None or key not in watched.names:
        return
    region, is_first = _region(), key not in watched.written
    if is_first:
        watched.written[key] = user_frames(sys._getframe(2))
    if region is None:
        watched.on_one_side.pop(key, None)
    elif is_first or key in watched.on_one_side:
        watched.on_one_side[key] = region


def _region() -> Any:
    """The side of a condition, or the rounds, that are recorded now."""
    recorder = listening()
    return None if recorder is None else recorder.region


def _is_within(region: Any, side: Any) -> bool:
    while region is not None and region is not side:
        region = region.outer
    return region is side


# --- beginning where a call ended ------------------------------------------------------------


def _may_be_recognised(tensor: AbstractTensor) -> bool:
    """Whether the next call may ask if its input is this tensor, where nobody sees it ask."""
    recorder: Any = tensor.recorder
    return recorder.facts.runs_plainly and _lies_in_an_input(tensor)


class _Over:
    """In the place of a recorder: the call is over that made a tensor, and nobody may use it."""

    @property
    def aliases(self) -> _Over:
        """Who is asked whether it may be told apart from others."""
        return self

    def check_hash(self, _: AbstractTensor) -> None:
        """It may be in a table, as which `buffers()` walks them."""

    def asked(self, _: AbstractTensor, question: str) -> object:
        """Nothing but its hash. Raises: leaked-tensor."""
        if question != "hash":
            raise problem("leaked-tensor", op=question)
        return False

    def __getattr__(self, name: str) -> Any:
        raise problem("leaked-tensor", op=name)


_OVER: Any = _Over()


class Left:
    """What a run left behind, plain attributes and other places; taken before it is put back."""

    def __init__(self, state: ModuleState, places: list[WriteTarget]) -> None:
        seen: set[int] = set()
        self._after = [Snapshot(module, seen) for module in state.modules]
        self._places = [place.as_now() for place in places]
        changed = find_changes(state)
        tables = [(saved, kind) for saved in state.saved for kind in saved.tables]
        values = [
            after.attributes.get(name)
            for after in self._after
            for name in after.attributes
            if (id(after.module), name) in changed
        ] + [place.before for place in self._places]
        self._buffers = [
            (after.module.__dict__["_buffers"], name, tensor)
            for after in self._after
            for name, tensor in after.tables["_buffers"].items()
            if (id(after.module), name) in changed and isinstance(tensor, AbstractTensor)
        ]
        """Caches in the places of buffers, which are none of the module's to the next call."""
        values += [tensor for _, _, tensor in self._buffers]
        numbers = torch.SymInt | torch.SymFloat | torch.SymBool
        self.can_begin_a_call = not any(
            (id(saved.module), name) in changed
            for saved, kind in tables
            for name in {**saved.tables[kind], **saved.module.__dict__[kind]}
        ) and not any(held_of(value, numbers) for value in values)
        """Whether all of it is plain, or abstract tensors, which a call after that one cannot use.

        Entries of tables and symbolic numbers belong to that run.
        """
        self.tensors = [each for value in values for each in held_of(value, AbstractTensor)]
        self.can_begin_a_call &= not any(map(_may_be_recognised, self.tensors))

    def give(self, values: Mapping[int, torch.Tensor]) -> bool:
        """Let all hold these values instead of the abstract tensors, by their identity."""
        held: list[Any] = [after.attributes for after in self._after]
        nested = [
            each for after in self._after for found in after.nested.values() for each in found
        ]
        for _, content in nested:
            hidden: Any = content.content if type(content) is HiddenState else None
            # Of a class of the user's: its items, its attributes.
            held += hidden if isinstance(hidden, tuple) else (content,)
        self._places = [
            replace(each, before=values.get(id(each.before), each.before)) for each in self._places
        ]
        held += [each.before for each in self._places]
        for each in held:
            if type(each) is dict:
                each |= {k: values[id(v)] for k, v in each.items() if id(v) in values}
            elif type(each) is list:
                each[:] = [values.get(id(v), v) for v in each]
        self._buffers = [(table, name, values.get(id(t), t)) for table, name, t in self._buffers]
        return bool(values)

    @contextmanager
    def in_place(self) -> Generator[None]:
        """Put it there again for the duration of a `with` block."""
        seen: set[int] = set()
        before = [Snapshot(after.module, seen) for after in self._after]
        places = [place.as_now() for place in self._places]
        recorders = [(each, each.recorder) for each in self.tensors]
        try:
            for each in self.tensors:
                each.recorder = _OVER
            for after in self._after:
                after.restore_attributes()
            for table, name, tensor in self._buffers:
                table[name] = tensor
            for place in self._places:
                place.put_back()
            yield
        finally:
            for each, recorder in recorders:
                each.recorder = recorder
            for snapshot in before:
                snapshot.restore()
            for place in reversed(places):
                place.put_back()
