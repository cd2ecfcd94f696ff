"""Wrapper subclasses of tensors, taken apart into the tensors inside of them, and put together.

Law: a parameter or buffer of a traceable subclass (`__tensor_flatten__`) is for the program the
plain tensors that it holds, each under a name of its own. User code is given the subclass, made
anew of abstract tensors by `__tensor_unflatten__`; what it does, its own code does with them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from monograph.diagnostics import problem
from monograph.host.dispatch import has_own_dispatch
from monograph.host.process_groups import groups_of, is_distributed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Parts(NamedTuple):
    """What a subclass says it is made of."""

    kind: Any
    tensors: dict[str, Any]
    """By attribute: plain tensors, and `Parts` of those that are made of others in their turn."""
    rest: Any
    size: Any
    stride: Any
    others: Mapping[str, Any] = MappingProxyType({})
    """By attribute: what is no tensor, such as the device mesh of a DTensor."""

    def flat(self, path: str) -> Iterator[tuple[str, torch.Tensor]]:
        """The plain tensors by their paths."""
        for name, part in self.tensors.items():
            if isinstance(part, Parts):
                yield from part.flat(f"{path}.{name}")
            else:
                yield f"{path}.{name}", part

    def groups(self) -> list[str]:
        """The process groups that the parts lie on, by name."""
        return [each.group_name for other in self.others.values() for each in groups_of(other)]

    def assembled(self, stand_in: Callable[[Any], Any]) -> Any:
        """The subclass again, with something else in the place of each plain tensor."""
        inner = {
            name: part.assembled(stand_in) if isinstance(part, Parts) else stand_in(part)
            for name, part in self.tensors.items()
        }
        return self.kind.__tensor_unflatten__(
            inner | {**self.others}, self.rest, self.size, self.stride
        )


def parts_of(real: Any, path: str) -> Parts:
    """Take a tensor apart.

    Raises: unsupported-subclass (it does not say of what it is made, or has a gradient of its own).
    """
    kind = type(real)
    if not hasattr(kind, "__tensor_flatten__") or not hasattr(kind, "__tensor_unflatten__"):
        raise problem("unsupported-subclass", type=kind.__qualname__, path=path)
    if real.requires_grad and (torch.is_grad_enabled() or not is_distributed(real)):
        reason = "it requires a gradient, which goes to its parts"
        raise problem("unsupported-subclass", type=kind.__qualname__, path=path, reason=reason)
    names, rest = real.__tensor_flatten__()
    tensors: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name in names:
        part = getattr(real, name)
        if not isinstance(part, torch.Tensor):  # such as the device mesh of a DTensor
            others[name] = part
            continue
        is_made_of_others = has_own_dispatch(part)
        tensors[name] = parts_of(part, f"{path}.{name}") if is_made_of_others else part
    return Parts(kind, tensors, rest, real.size(), real.stride(), others)
