"""Guard sources of one run: the answers that user code was given about modes and about tensors.

Law: as long as a call gives every answer noted here, user code would be told what it was told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.capture.installation import heard_by
from monograph.capture.queries.query_kinds import SURROUNDINGS, Answer, asking_again

if TYPE_CHECKING:
    import torch
    from torch.fx.node import Node

    from monograph.abstract.tensor import AbstractTensor


class Subject(NamedTuple):
    """A tensor that differs between calls: its path, its place among the inputs, the example."""

    path: str
    argument: int | None
    example: torch.Tensor


class NotedAnswers:
    """The answers that one run was given."""

    __slots__ = ("_before", "_given", "answers", "apart", "hashed", "pairs_apart", "subjects")

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str, int | None], Answer] = {}
        self.subjects: dict[Node, Subject] = {}
        """By their placeholders."""
        self._before: dict[str, Any] = {}
        self._given: dict[int, Subject] = {}
        self.apart: set[int] = set()
        """The places of inputs that nothing else may share memory with."""
        self.pairs_apart: set[tuple[int, int | str]] = set()
        """Places of inputs that share no memory with another, or with what has a name in state."""
        self.hashed: set[int] = set()
        """The places of inputs that user code looked for in sets and dicts."""

    def begin(self, subjects: dict[Node, Subject]) -> None:
        """Remember what surrounds the run."""
        self.subjects = subjects
        self._given = {id(node.meta["val"]): each for node, each in subjects.items()}
        self._before = {
            name: asking_again(name)("")
            for name, each in SURROUNDINGS.items()
            if "{" not in each.code
        }

    def owner(self, tensor: AbstractTensor) -> Subject | None:
        """What gave the memory that a tensor lies in, None where it did not come from outside."""
        return self._given.get(id(tensor.storage_root))

    def keep_apart(self, tensor: AbstractTensor) -> None:
        """Of an input itself: no call may give it in another place, or memory of it, too."""
        subject = self._given.get(id(tensor))
        if subject is not None and subject.argument is not None:
            self.apart.add(subject.argument)

    def note(self, question: str, origin: object, path: str = "") -> None:
        """The surroundings of the call were asked."""
        key = (question, path, None)
        if key not in self.answers:
            with heard_by(None):
                value = asking_again(question)(path)
            value = self._before.get(question, value)
            self.answers[key] = Answer(question, value, path, None, origin)

    def note_tensor(self, question: str, subject: Subject, origin: object) -> bool:
        """An input, a parameter or a buffer was asked; what it said."""
        value = asking_again(question)(subject.example)
        key = (question, subject.path, subject.argument)
        if key not in self.answers:
            self.answers[key] = Answer(question, value, subject.path, subject.argument, origin)
        return value


@dataclass(slots=True)
class ModuleModes:
    """The `training` flags that one run read, by the paths of the modules."""

    found: dict[str, bool] = field(default_factory=dict[str, bool])
    own: set[int] = field(default_factory=set[int])
    """The modules that the run itself has set."""
    only_sets_flags: bool = True
    """Whether `train()` of every module does no more than PyTorch's."""


__all__ = ["ModuleModes", "NotedAnswers", "Subject"]
