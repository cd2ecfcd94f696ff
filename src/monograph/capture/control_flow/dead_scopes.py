"""Dead scopes: what tensors of a region hold on to once it was left, where they cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from monograph.abstract.flags import described
from monograph.abstract.tensor_type import type_text
from monograph.capture.installation import listening
from monograph.capture.recording.alias_analysis import AliasAnalysis
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from torch.fx import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.abstract.tensor import AbstractTensor
    from monograph.diagnostics import MonographError
    from monograph.integers import Facts


class DeadScope:
    """Stands for the recorder in tensors of a region that was left; they still say their types."""

    tells_users = False
    input_nodes: tuple[Node, ...] = ()  # nothing that a region made is an input

    def __init__(self, facts: Facts, operator: str) -> None:
        self.facts = facts
        self.operator = operator
        self.aliases = AliasAnalysis([])

    def layout_asked(self, tensor: AbstractTensor, question: LayoutQuestion) -> None:
        """Nothing: whoever asks prints or saves the program."""

    def dtype_asked(self, tensor: AbstractTensor) -> None:
        """Nothing either."""

    def text_asked(self, tensor: AbstractTensor) -> None:
        """Let a reader of a finished graph read, and no user code."""
        if listening() is not None:
            raise self.refusal_outside(tensor)

    def asked(self, tensor: AbstractTensor, question: str) -> bool:
        """Let a reader of a finished graph look at flags, and no user code."""
        self.text_asked(tensor)
        return described(tensor, question)

    def refusal_outside(self, tensor: AbstractTensor) -> MonographError:
        """The refusal of a tensor of a branch that was left."""
        made = type_text(tensor.tensor_type)
        return problem("branch-value-outside", tensor=made, operator=self.operator)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise problem("branch-value-outside", operator=self.operator)


__all__ = ["DeadScope"]
