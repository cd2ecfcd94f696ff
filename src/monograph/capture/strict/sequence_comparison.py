"""Sequence comparison: `==` where items are numbers that are only known at run time.

C compares item by item, and asks for the truth of each answer. Here the answers become one
condition, on which code may branch: `assert list(x.size()) == [n, count]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.control_flow.branches.branch_capture import can_fork, truth_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.capture.recording.recorder import Recorder

_PLAIN: Final = frozenset({int, float, bool, str, type(None)})


def alike(recorder: Recorder, left: Sequence[Any], right: Sequence[Any], *, on_sizes: bool) -> Any:
    """Whether two sequences have the same items, as a condition; NotImplemented where C can say."""
    if len(left) != len(right) or (all(map(_is_plain, left)) and all(map(_is_plain, right))):
        return NotImplemented
    answers: list[Any] = []
    for one, other in zip(left, right, strict=True):
        if one is not other:
            answer = _same(one, other)
            if answer is NotImplemented:
                return NotImplemented
            answers.append(answer)
    open_ones = [each for each in answers if can_fork(recorder, each, on_sizes=on_sizes)]
    if not open_ones or any(each is False for each in answers):
        return NotImplemented if not open_ones else False
    if not all(bool(each) for each in answers if not any(each is one for one in open_ones)):
        return False
    result = truth_value(open_ones[0])
    for each in open_ones[1:]:
        result = result & truth_value(each)
    return result


def _is_plain(item: Any) -> bool:
    return type(item) in _PLAIN


def _same(one: Any, other: Any) -> Any:
    """Whether two items are the same; NotImplemented of what is no number."""
    kinds = (type(one), type(other))
    if all(kind in _PLAIN for kind in kinds):
        return bool(one == other)
    if not all(_is_number(each) for each in (one, other)):
        return NotImplemented
    return one == other


def _is_number(item: Any) -> bool:
    if issubclass(type(item), AbstractTensor):
        return item.tensor_type.numel() == 1
    return issubclass(type(item), int | float | torch.SymInt | torch.SymFloat)


__all__ = ["alike"]
