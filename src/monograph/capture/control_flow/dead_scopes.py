"""What tensors of a branch hold on to once it was left: they cannot be used outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from monograph.capture.control_flow.alias_analysis import Doubts
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from monograph.abstract.layout_origin import LayoutQuestion
    from monograph.abstract.tensor import AbstractTensor
    from monograph.diagnostics import MonographError
    from monograph.integers import Facts


class Departed:
    """Stands for the recorder in tensors of a body that was left; they still say their types."""

    def __init__(self, facts: Facts, operator: str) -> None:
        self.facts = facts
        self.operator = operator
        self.doubts = Doubts()

    def layout_asked(self, tensor: AbstractTensor, question: LayoutQuestion) -> None:
        """Nothing: whoever asks prints or saves the program."""

    def dtype_asked(self, tensor: AbstractTensor) -> None:
        """Nothing either."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise problem("branch-value-outside", operator=self.operator)


def leaked(tensor: AbstractTensor) -> MonographError:
    """The refusal of a tensor of another capture, or of a branch that was left."""
    if isinstance(tensor.recorder, Departed):
        operator = tensor.recorder.operator
        return problem("branch-value-outside", tensor=repr(tensor), operator=operator)
    return problem("leaked-tensor", tensor=repr(tensor))


__all__ = ["Departed", "leaked"]
