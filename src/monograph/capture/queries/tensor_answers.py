"""Tensor queries: what abstract tensors ask their recorder, answered by a table it is handed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import type_text
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.diagnostics import MonographError


class TensorAnswers(NamedTuple):
    """What answers a recorder's tensors and operators; each is given the recorder first."""

    special_operators: Callable[[Any], dict[int, Callable[..., Any]]]
    item: Callable[..., Any]
    truth: Callable[..., bool]
    detach: Callable[..., Any]
    getitem: Callable[..., Any]
    setitem: Callable[..., None]
    asked: Callable[..., bool]
    set_requires_grad: Callable[..., None]
    begin_history: Callable[..., None]
    make_sparse: Callable[..., Any]
    collective: Callable[..., Any]
    text_asked: Callable[..., None]
    note_tried: Callable[..., None]
    raise_as_eager: Callable[..., None]
    before_elements: Callable[..., None]
    before_write: Callable[..., None]
    limit_size: Callable[..., None]
    of_constants: Callable[..., Any]
    check_fake_kernel: Callable[..., None]
    access_memory: Callable[..., Any]
    memory_behind: Callable[..., AbstractTensor | None]
    check_read: Callable[..., None]
    check_shown: Callable[..., None]
    show_literal: Callable[..., None]


class AnsweringRecorder:
    """The half of a recorder that passes questions on."""

    answers: TensorAnswers
    tells_users = True
    shown: list[Any]
    """Memory that user code holds otherwise than by tensors of the capture."""
    refused_elsewhere: list[MonographError]
    """What other threads asked."""
    from_factory: AbstractTensor | None = None
    """What C++ made last, and may let autograd follow behind the recorder."""

    def begin_history(self) -> None:
        """C++ is done with what a factory made: record that it let autograd follow it."""
        made, self.from_factory = self.from_factory, None
        if isinstance(made, AbstractTensor):
            self.answers.begin_history(self, made)

    def refused_in_thread(self, op: str) -> MonographError:
        """The refusal of what another thread computes, which the capture's own raises, too."""
        self.refused_elsewhere.append(problem("computed-in-thread", op=op))
        return self.refused_elsewhere[-1]

    def read_data(self, tensor: AbstractTensor, reader: str) -> Any:
        """Raise value-read: there is no data during capture."""
        raise problem("value-read", call=reader, tensor=type_text(tensor.tensor_type))

    def refusal_outside(self, tensor: AbstractTensor) -> MonographError:
        """The refusal of a tensor of this capture in another."""
        return problem("leaked-tensor", tensor=type_text(tensor.tensor_type))

    def item(self, tensor: AbstractTensor) -> Any:
        """The only element: its value if the tensor is a constant, else a new unbacked number."""
        return self.answers.item(self, tensor)

    def asked(self, tensor: AbstractTensor, question: str) -> bool:
        """What a tensor says of itself; every call must be able to say it again."""
        return self.answers.asked(self, tensor, question)

    def text_asked(self, tensor: AbstractTensor) -> None:
        """People may read what a tensor is; user code may not."""
        self.answers.text_asked(self, tensor)

    def set_requires_grad(self, tensor: AbstractTensor, flag: bool) -> None:  # noqa: FBT001 - as torch has it
        """`tensor.requires_grad = flag`."""
        self.answers.set_requires_grad(self, tensor, flag)

    def detached(self, tensor: AbstractTensor) -> Any:
        """`tensor.detach()`, as user code calls it."""
        return self.answers.detach(self, tensor)

    def access_memory(
        self, tensor: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`tensor.name(...)`, where that leads to memory."""
        return self.answers.access_memory(self, tensor, name, args, kwargs)

    def memory_behind(self, real: Any) -> AbstractTensor | None:
        """A view of what a real tensor shares memory with, where calls may change that."""
        return self.answers.memory_behind(self, real)

    def count_write(self, root: AbstractTensor) -> None:
        """The memory of a tensor has other values from here on."""
        root.n_writes += 1
        if self.shown:
            self.answers.check_shown(self, root)

    def truth(self, tensor: AbstractTensor) -> bool:
        """`bool(tensor)`: its value if the tensor is a constant, else refused."""
        return self.answers.truth(self, tensor)

    def getitem(self, tensor: AbstractTensor, index: Any) -> Any:
        """`tensor[index]`."""
        return self.answers.getitem(self, tensor, index)

    def setitem(self, tensor: AbstractTensor, index: Any, value: Any) -> None:
        """`tensor[index] = value`."""
        self.answers.setitem(self, tensor, index, value)


__all__ = ["AnsweringRecorder", "TensorAnswers"]
