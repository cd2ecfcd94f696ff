"""Function overrides of `isinstance`, `type` and `__class__`: what kind of thing user code handles.

Law: a symbolic number is an int, a float or a bool, a range of symbolic length a range, an abstract
tensor a tensor or a parameter, and nothing of PyTorch's or ours. C asks an object for `__class__`
where its type does not decide (`isinstance`, `match`, `numbers`, `singledispatch`), so numbers say
there what they stand for; PyTorch and this package are told the truth.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import torch

from monograph.abstract.chosen_object import ChosenObject
from monograph.abstract.number_methods import STANDS_FOR
from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.code_policy import INTERPRETER, OURS, TORCH
from monograph.capture.installation import OVERRIDES, listening
from monograph.capture.numpy_arrays import AbstractArray
from monograph.capture.recording.symbolic_ranges import SymbolicRange

_STANDS_FOR: Final[dict[type, type]] = {**STANDS_FOR, SymbolicRange: range, SymbolicText: str}
_TOLD: Final = (OURS, TORCH, f"{Path(json.__file__).parent}{os.sep}")
"""Who is told the truth: JSON's encoder looks for ints in C, and says of others what they are."""


def is_instance(value: Any, kinds: Any, /) -> bool:
    """`isinstance(value, kinds)`."""
    if type(value) in _STANDS_FOR:
        return issubclass(_STANDS_FOR[type(value)], kinds)
    return isinstance(value, kinds)


def type_of(*args: Any, **kwargs: Any) -> Any:
    """`type(value)`; with more arguments, a class is made."""
    if len(args) == 1 and not kwargs:
        (value,) = args
        if type(value) in _STANDS_FOR:
            return _STANDS_FOR[type(value)]
        if issubclass(type(value), AbstractTensor):
            return class_of(value)
        if type(value) in {ChosenObject, AbstractArray}:
            return value.__class__
    made = type(*args, **kwargs)
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(OURS) and frame.f_back is not None:
        if frame.f_code.co_filename.startswith(INTERPRETER):
            return made  # which names it
        frame = frame.f_back
    if made.__module__.startswith("monograph."):
        made.__module__ = frame.f_globals.get("__name__", made.__module__)
    return made


def class_of(tensor: AbstractTensor) -> type:
    """The class of what a tensor stands for; whether an input is a parameter, calls must agree."""
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    known = tensor.__class__
    return torch.nn.Parameter if is_parameter and known is torch.Tensor else known


@OVERRIDES.override(torch.SymInt, "__class__")
@OVERRIDES.override(torch.SymFloat, "__class__")
@OVERRIDES.override(torch.SymBool, "__class__")
def _class_shown(_: object) -> property:
    def shown(number: Any) -> type:
        real = type(number)
        if listening() is None or not isinstance(number.node, SymbolNode):
            return real
        file = sys._getframe(1).f_code.co_filename
        is_told = file.startswith(_TOLD) and not file.startswith(INTERPRETER)
        return real if is_told else _STANDS_FOR[real]

    return property(shown)


__all__ = ["class_of", "is_instance", "type_of"]
