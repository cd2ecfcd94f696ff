"""Guarded queries of `training`, which neither an operator nor a tensor hears.

Law: a module's `training` flag that the run did not read, or set before it read it, cannot have
decided anything. While user code runs, `training` is a property of `torch.nn.Module`: a property
comes before an instance's own attribute, which stays where it was.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from monograph.capture.installation import OVERRIDES, listening

if TYPE_CHECKING:
    from collections.abc import Callable

FLAG = "training"


def only_sets_flags(kind: type[torch.nn.Module]) -> bool:
    """Whether `train()` of this class does no more than PyTorch's."""
    return kind.train is torch.nn.Module.train and kind.eval is torch.nn.Module.eval


@OVERRIDES.override(torch.nn.Module, FLAG)
def _flag(_: object) -> property:
    def read(module: torch.nn.Module) -> bool:
        try:
            value = vars(module)[FLAG]
        except KeyError:
            # Modules of TorchScript keep theirs elsewhere: Python goes on to `__getattr__`.
            raise AttributeError(FLAG) from None
        recorder = listening()
        if recorder is not None:
            path = recorder.scopes.paths.get(id(module))
            if path is not None and id(module) not in recorder.module_modes.own:
                recorder.module_modes.found.setdefault(path, value)
        return value

    def write(module: torch.nn.Module, value: bool) -> None:  # noqa: FBT001  (a setter)
        recorder = listening()
        if recorder is not None:
            recorder.module_modes.own.add(id(module))
        vars(module)[FLAG] = value

    def remove(module: torch.nn.Module) -> None:
        del vars(module)[FLAG]

    return property(read, write, remove)


@OVERRIDES.override(torch.nn.Module, "train")
def _train(original: Callable[[torch.nn.Module, object], torch.nn.Module]) -> object:
    @functools.wraps(original)
    def train(module: torch.nn.Module, mode: object = True) -> torch.nn.Module:  # noqa: FBT002 - torch's signature
        # PyTorch wants a bool: what sizes or data decide is decided here.
        return original(module, bool(mode) if isinstance(mode, torch.SymBool) else mode)

    return train


__all__ = ["only_sets_flags"]
