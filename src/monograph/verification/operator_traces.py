"""Operator traces: every ATen operator that a call runs, with its results and the user's line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.dispatch import TorchDispatchMode
from monograph.host.trees import leaves_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_LIBRARIES: Final = (
    str(Path(torch.__file__).parent),
    str(Path(__file__).parent.parent),
    "<eval_with_key>",
)


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One operator: its results as they were then, which calls made its inputs, and from where."""

    name: str
    results: tuple[torch.Tensor, ...]
    inputs: tuple[torch.Tensor, ...]
    makers: tuple[int, ...]
    place: tuple[str, int] | None

    @property
    def dtype(self) -> torch.dtype | None:
        """What its first result is made of."""
        return self.results[0].dtype if self.results else None


class OperatorTrace(TorchDispatchMode):
    """Records operators while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[OperatorCall] = []
        self.begun: tuple[str, tuple[str, int] | None] = ("", None)
        """The last operator that was called, whether it raised or not, and from where."""
        self._makers: dict[int, int] = {}
        # While they live, nothing else has their id.
        self._kept: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.begun = str(func), user_line()
        inputs = [each for each in leaves_of((args, kwargs)) if isinstance(each, torch.Tensor)]
        makers = [self._makers.get(id(each), -1) for each in inputs]
        before = [_copy(each) for each in inputs]
        result = func(*args, **kwargs)
        results = [each for each in leaves_of(result) if isinstance(each, torch.Tensor)]
        written = [each for each in inputs if func._schema.is_mutable]
        for each in (*results, *written):
            self._makers[id(each)] = len(self.calls)
            self._kept.append(each)
        self._kept.extend(inputs)
        copies = tuple([_copy(each) for each in results])
        name, place = self.begun
        self.calls.append(OperatorCall(name, copies, tuple(before), tuple(makers), place))
        return result


def user_line() -> tuple[str, int] | None:
    """File and line of the innermost frame that is neither torch's nor ours."""
    for frame in _frames(sys._getframe(1)):
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and not file.startswith("<frozen"):
            return file, frame.f_lineno
    return None


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach() if tensor.is_meta else tensor.detach().clone()


__all__ = ["OperatorCall", "OperatorTrace"]
