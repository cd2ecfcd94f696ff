"""Memoization: `functools.lru_cache` keeps what a call made, for this call and those after it.

A program makes it anew in every call. That is the same where it is made of the arguments of the
memoized function and of the module's own state alone, and where nobody writes to it afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import as_stated
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.hidden_state.container_contents import attributes_of, content_of, parts_of
from monograph.capture.hidden_state.native_state import calls_of, with_types
from monograph.capture.side_effects.digests import LEAVES, Digests
from monograph.capture.side_effects.module_mutation import is_made_of_state
from monograph.capture.side_effects.persistent_writes import Effect, lines
from monograph.capture.side_effects.place_names import Called
from monograph.capture.side_effects.tracking import Effects, WriteTarget
from monograph.diagnostics import problem
from monograph.diagnostics.code_origin import is_installed
from monograph.integers.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.scopes import Scopes
    from monograph.capture.side_effects.tracking import Chain


class _Filled(Effect):
    """What the next call finds in a cache is not what this one would put there."""

    __slots__ = ()

    def is_seen_outside(self) -> bool:
        """Nobody but the next call finds it, which does something else."""
        return True


class _CachedResult:
    """One thing that a cache keeps, as it was when it was put there."""

    def __init__(
        self, name: str, value: Any, by: Chain, sizes: Collection[Expr], *, is_open: bool
    ) -> None:
        self.called, self.by = Called("cached", name), by
        self._effects, self._sizes = Effects(()), sizes
        Digests(self._effects).follow(value, self.called, by)
        self._types: list[tuple[AbstractTensor, TensorType]] = []
        self._is_doubtful = False
        waiting, seen = [value], set[int]()
        while waiting:
            each = waiting.pop()
            if isinstance(each, AbstractTensor):
                self._types.append((each, each.tensor_type))
            elif type(each) not in LEAVES and id(each) not in seen:
                seen.add(id(each))
                waiting += _inside(each)
                self._is_doubtful |= hasattr(type(each), "__next__") or (
                    is_open and not isinstance(each, type | tuple | frozenset)
                )

    def is_for_every_call(self) -> bool:
        """Whether the next call would put the same there, and finds it as it was."""
        return not (self._is_doubtful or self._effects.changed()) and all(
            each.tensor_type == before and is_made_of_state(each, self._sizes)
            for each, before in self._types
        )


class MemoizedCalls:
    """What the functions under `lru_cache` gave in one run; what they gave before is theirs."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, tuple[Effects, ...]]] = {}
        """What calls gave, and in which regions: a value of one exists only in there."""
        self._before: dict[int, tuple[Any, set[Any]]] = {}
        self._kept: list[_CachedResult] = []

    def call(
        self,
        cached: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        interpret: Any,
        by: Chain,
        runs: tuple[Effects, ...],
    ) -> tuple[Any, bool]:
        """What a call gives, and whether that was made before the run.

        The user's cache is not filled: it would keep abstract tensors, for calls after this one.
        `runs` are the run's effects, and those of the regions that it is in.
        Raises: branch-side-effect, of what the run made before a region: who asks it after that
        would find it filled or not, as data tell.
        """
        if len(runs) > 1 and runs[0].made(cached) and not all(run.made(cached) for run in runs):
            name, why = cached.__wrapped__.__name__, "one of them fills it"
            raise problem("branch-side-effect", operator="if", kind="cached", name=name, reason=why)
        stated = tuple(map(as_stated, args)), tuple((k, as_stated(v)) for k, v in kwargs.items())
        try:
            key = with_types(cached, stated)
            known = self._known.get((id(cached), key))
        except TypeError:  # an argument has no hash
            return interpret(cached.__wrapped__, *args, **kwargs), False
        if id(cached) not in self._before:
            self._before[id(cached)] = cached, calls_of(cached)
        if key in self._before[id(cached)][1]:
            return cached(*stated[0], **dict(stated[1])), True
        if known is None or runs[: len(known[1])] != known[1]:
            known = interpret(cached.__wrapped__, *args, **kwargs), runs
            self._known[id(cached), key] = known
            self._note(cached, stated, known[0], by)
        return known[0], False

    def note_filled(self, caches: Iterable[tuple[Any, set[Any], Chain]]) -> None:
        """What plain Python filled caches with, since they held these calls.

        What may have been written to meanwhile is not for every call, where the user's code may.
        """
        for cached, before, by in caches:
            code = getattr(cached.__wrapped__, "__code__", None)
            is_open = code is not None and not is_installed(code.co_filename)
            for key in calls_of(cached) - before:
                self._note(cached, key, cached(*key[0], **dict(key[1])), by, is_open=is_open)

    def _note(self, cached: Any, key: Any, value: Any, by: Chain, *, is_open: bool = False) -> None:
        given = [*key[0], *(each for _, each in key[1])]
        if type(value) in LEAVES and not isinstance(value, torch.Tensor):
            return
        tensors = [each.node for each in given if isinstance(each, AbstractTensor)]
        if any(node is not None and node.op != "placeholder" for node in tensors):
            return  # no other call has that
        sizes = {s for each in given if isinstance(each, Expr) for s in each.symbols}
        name = getattr(cached.__wrapped__, "__name__", "a function")
        self._kept.append(_CachedResult(name, value, by, sizes, is_open=is_open))

    def effects(self, scopes: Scopes) -> list[Effect]:
        """What the caches are left with that is not for every call."""
        found: list[Effect] = []
        for each in self._kept:
            if not each.is_for_every_call():
                held = {each.called.name: None}
                place = WriteTarget("contents", held, "", {}, tracked=True, by=each.by)
                found.append(_Filled(place, each.called, lines(place, scopes)))
        return found


def _inside(value: Any) -> list[Any]:
    if isinstance(value, type | torch.nn.Module):
        return []
    if isinstance(value, tuple | frozenset):
        return [*parts_of(value), *attributes_of(value).values()]
    content = content_of(value) or []
    own = attributes_of(value) if type(value).__dictoffset__ else {}
    return [*(content.values() if isinstance(content, dict) else content), *own.values()]
