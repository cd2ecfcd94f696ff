"""What a tensor says of itself beside its type: whoever records it answers, and notes who asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import torch

from monograph.abstract.memory_access import MemoryAccess

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType


ATTRIBUTES: Any = vars(torch.Tensor)["__dict__"]
"""The descriptor of a tensor's own `__dict__`, which asks nobody."""


def has_attributes(tensor: torch.Tensor) -> bool:
    """Whether code put something on a tensor that others would look at."""
    return any(not name.startswith(_NOTES) for name in ATTRIBUTES.__get__(tensor))


_NOTES = ("_sizes_", "_strides_", "_sym_", "_dynamo_", "_has_dynamo_")
"""What PyTorch notes there: C++ what it was told of sizes, `flex_attention` which are static."""


class Flags(MemoryAccess):
    """The part of an abstract tensor that is about autograd and the kind of memory."""

    __slots__ = ("__class__",)
    """The class that user code is told; `type` tells us what it is."""
    tensor_type: TensorType
    recorder: Any

    def __dir__(self) -> list[str]:
        """What a tensor has, and what code put there.

        Raises: outside-read (user code gave an input attributes).
        """
        self.recorder.asked(self, "has_no_attributes")
        return [name for name in super().__dir__() if name != "__copy__"]  # which is an override

    @property
    def __dict__(self) -> dict[str, Any]:  # pyright: ignore[reportGeneralTypeIssues] - what a slot holds, asked first
        """What user code put on the tensor.

        Raises: outside-read (user code gave an input attributes).
        """
        self.recorder.asked(self, "has_no_attributes")
        return ATTRIBUTES.__get__(self)

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - as above
        ATTRIBUTES.__set__(self, attributes)

    @property
    def requires_grad(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - a plain attribute there
        """Whether autograd would follow this tensor at run time."""
        return self.recorder.asked(self, "requires_grad")

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.recorder.set_requires_grad(self, flag)

    def requires_grad_(  # pyright: ignore[reportIncompatibleMethodOverride] - Tensor there
        self, requires_grad: bool = True
    ) -> Self:
        """Let autograd follow what this tensor stands for, or not.

        Raises: write-outlives-call (it is an input, or the module's own, and this changes it).
        """
        self.recorder.set_requires_grad(self, requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether autograd would not look behind this tensor."""
        return self.recorder.asked(self, "is_leaf")

    @property
    def grad(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: a program keeps no gradients.

        Raises: outside-read (there is one).
        """
        self.recorder.asked(self, "has_no_grad")

    @property
    def grad_fn(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None, where the tensor has not been computed from one that requires gradients.

        Raises: outside-read (it has).
        """
        self.recorder.asked(self, "has_no_grad_fn")

    @property
    def _base(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None, where the tensor views no other.

        Raises: outside-read (it does, or may).
        """
        self.recorder.asked(self, "has_no_base")

    def _is_view(self) -> bool:
        """Whether the tensor views another; no is the only answer, as of `_base`."""
        return not self.recorder.asked(self, "has_no_base")

    def __getattr__(self, name: str) -> Any:
        """Asked for what PyTorch gives no tensor, and user code has not set here.

        Raises: AttributeError; outside-read (user code gave an input attributes).
        """
        if name != "recorder" and not name.startswith("__"):
            self.recorder.asked(self, "has_no_attributes")
        kinds = self.__class__.__mro__
        found = next((vars(cls)[name] for cls in kinds if name in vars(cls)), self)
        if found is not self:  # a parameter's class of the user's has it
            return found.__get__(self, self.__class__) if hasattr(found, "__get__") else found
        message = f"'Tensor' object has no attribute '{name}'"
        raise AttributeError(message, name=name, obj=self)

    @property
    def _cdata(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Refused: it tells which object a tensor is."""
        return self.recorder.read_data(self, "_cdata")

    def register_hook(self, hook: Any) -> Any:  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Refused, where autograd follows the tensor.

        Raises: gradient-in-forward; RuntimeError (as PyTorch does, where it does not).
        """
        return self.recorder.asked(self, "register_hook")

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:  # noqa: ARG002 - torch's signature
        """Refused, as `register_hook`.

        Raises: gradient-in-forward; RuntimeError.
        """
        return self.recorder.asked(self, "register_post_accumulate_grad_hook")

    def retain_grad(self) -> None:
        """Refused: what the program returns keeps no gradient.

        Raises: gradient-in-forward; RuntimeError.
        """
        self.recorder.asked(self, "retain_grad")

    def is_conj(self) -> bool:
        """Whether it stands for the conjugate of what is in memory."""
        return self.recorder.asked(self, "is_conj")

    def is_neg(self) -> bool:
        """Whether it stands for the negative of what is in memory."""
        return self.recorder.asked(self, "is_neg")

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self.recorder.asked(self, "is_inference")

    def is_pinned(self, device: Any = None) -> bool:  # noqa: ARG002 - torch's signature
        """Whether it lies in pinned memory."""
        return self.recorder.asked(self, "is_pinned")

    def is_shared(self) -> bool:
        """Whether it lies in memory that processes share."""
        return self.recorder.asked(self, "is_shared")

    @property
    def _is_param(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] - a plain attribute there
        """What `isinstance(x, torch.nn.Parameter)` reads, and `torch.nn.Parameter(x)` sets."""
        return self.recorder.asked(self, "is_parameter") or self._made_parameter

    @_is_param.setter
    def _is_param(self, flag: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._made_parameter = flag
        self.__class__: Any = torch.nn.Parameter if flag else torch.Tensor

    _made_parameter = False


def described(tensor: Any, question: str) -> bool:
    """The answer of a tensor that only describes: nobody is told anything that it does not know."""
    if question == "requires_grad":
        return tensor.tensor_type.requires_grad
    return question in {
        *("is_leaf", "has_no_grad", "has_no_grad_fn", "has_no_base", "has_no_attributes")
    }


__all__ = ["ATTRIBUTES", "Flags", "described", "has_attributes"]
