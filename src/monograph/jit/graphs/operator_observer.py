"""Operator observer: a dispatch mode that tells which operators run within one recorded call."""

from __future__ import annotations

import functools
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.kernel_errors import raises_for_values
from monograph.host.dispatch import TorchDispatchMode, has_kernel, is_composite
from monograph.host.execution_modes import CALL_WHAT_IS_CAST, casting_within

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Observation", "OperatorObserver"]


@dataclass(slots=True)
class Observation:
    """What operators one recorded call ran."""

    is_tainted: bool = False
    """Whether the shape of a result depends on data."""
    draws: bool = False
    is_empty: bool = False
    """Whether a tensor that it was given has no elements."""
    may_draw: bool = False
    """Whether it would have drawn random numbers from tensors with elements."""
    may_raise: bool = False
    is_of_arrays: bool = False
    """Whether it was given arrays of NumPy, or gives some."""
    arguments: Any = ()
    written: list[torch.Tensor] = field(default_factory=list[torch.Tensor])


_CASTING: Final = ("AutocastCPU", "AutocastCUDA")
_OF_DATA: Final = (torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output)


class OperatorObserver(TorchDispatchMode):
    """Tells a recorder of operators; `one_call` collects those of one recorded call."""

    def __init__(self, unrecorded: Callable[[Any], None], check: Callable[..., None]) -> None:
        """`unrecorded` is told of operators that run while nothing is recorded.

        `check` is told of the others, with what each writes to, before they run.
        """
        super().__init__()
        self._unrecorded, self._check = unrecorded, check
        self._seen: Observation | None = None
        self.is_asked = False
        """Whether an operator is running that nobody records."""

    @contextmanager
    def one_call(self) -> Generator[Observation]:
        """Collect what runs within."""
        seen = self._seen = Observation()
        try:
            yield seen
        finally:
            self._seen = None

    def __torch_dispatch__(
        self, operator: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note an operator, and run it."""
        seen = self._seen
        if seen is None:
            self.is_asked = True
            self._unrecorded(operator)
            self.is_asked = False
        else:
            _note(seen, operator, args, kwargs or {})
            self._check(operator, seen.written)
        with casting_within() if _calls_what_is_cast(operator) else nullcontext():
            if seen is not None and torch.Tag.nondeterministic_seeded in operator.tags:
                return _seeded(seen, operator, args, kwargs or {})
            return operator(*args, **(kwargs or {}))


@functools.cache
def _calls_what_is_cast(operator: Any) -> bool:
    """Whether its kernel calls what autocast casts: in inference mode composite ones get here."""
    if operator.overloadpacket.__name__ in CALL_WHAT_IS_CAST:
        return True
    return is_composite(operator) and not any(has_kernel(operator, key) for key in _CASTING)


def _seeded(seen: Observation, operator: Any, args: Any, kwargs: Any) -> Any:
    """Run an operator that may draw: without tensors to draw for, or with probability 0, none do.

    The former is up to metadata.
    """
    before = torch.default_generator.get_state()
    result = operator(*args, **kwargs)
    tensors = [each for each in args if isinstance(each, torch.Tensor)]
    seen.draws |= not all(each.is_cpu for each in tensors) or not torch.equal(
        before, torch.default_generator.get_state()
    )
    seen.may_draw |= not all(each.numel() for each in tensors)
    return result


def _takes_places(operator: Any, args: Any) -> bool:
    """Whether items are taken at places, which are integers, and not where a mask says so."""
    if operator is not torch.ops.aten.index.Tensor:
        return False
    return not any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])


def _note(seen: Observation, operator: Any, args: Any, kwargs: Any) -> None:
    tags = operator.tags
    seen.is_tainted |= any(tag in tags for tag in _OF_DATA) and not _takes_places(operator, args)
    seen.may_raise |= raises_for_values(operator, args)
    for value in aliasing_of(operator).writes(args, kwargs):
        values = value if isinstance(value, list | tuple) else [value]
        seen.written.extend(each for each in values if isinstance(each, torch.Tensor))
