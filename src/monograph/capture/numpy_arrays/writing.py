"""Writes to arrays: NumPy reads what lies in the memory that is written to before it writes."""

from __future__ import annotations

import opcode
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import are_apart
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.code_policy import OURS
from monograph.capture.numpy_arrays.dispatch import NotRecorded

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["check_setter", "is_elements", "write"]


def write(written: Any, keys: Any, given: Any) -> None:
    """`written[keys] = given`, where these may be views of one memory.

    Raises: NotRecorded (indices and masks there, and what a mask takes, NumPy reads as it writes).
    """
    keys = keys if type(keys) is tuple else (keys,)
    chosen = [each for each in keys if isinstance(each, torch.Tensor)]
    if any(_may_overlap(each, written) and not _is_mask_of(written, each) for each in chosen):
        raise NotRecorded
    if _may_overlap(given, written):
        if any(each.dtype == torch.bool for each in chosen):
            raise NotRecorded
        place = None if chosen else written[keys]
        if place is None or (place.tensor_type != given.tensor_type and _may_overlap(given, place)):
            given = given.clone()
    written[keys] = given


def _may_overlap(given: Any, written: Any) -> bool:
    are_abstract = isinstance(given, AbstractTensor) and isinstance(written, AbstractTensor)
    return are_abstract and not are_apart(written, given)


def _is_mask_of(written: Any, key: Any) -> bool:
    return key.dtype == torch.bool and key.tensor_type == written.tensor_type


def check_setter(frame: FrameType) -> None:
    """An array is written to an item by this frame, or by a C function that it calls.

    Raises: NotRecorded (NumPy's `shuffle` swaps views of what it takes for a sequence).
    """
    code = frame.f_code
    is_call = "CALL" in opcode.opname[code.co_code[frame.f_lasti]]
    if is_call and not code.co_filename.startswith(OURS):
        raise NotRecorded


def is_elements(values: Any) -> bool:
    """Whether nested lists hold no views, which NumPy writes one after the other."""
    if type(values) in {list, tuple}:
        return all(map(is_elements, values))
    return not getattr(values, "ndim", 0)
