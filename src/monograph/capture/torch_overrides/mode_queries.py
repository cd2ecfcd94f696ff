"""What user code asks that neither an operator nor a tensor hears: modes of modules, result types.

Law: a module's `training` flag that the run did not read, or set before it read it, cannot have
decided anything. While user code runs, `training` is a property of `torch.nn.Module`: a property
comes before an instance's own attribute, which stays where it was.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from monograph.capture.queries.noted_answers import ModuleModes
    from monograph.capture.recording.recorder import Recorder

FLAG = "training"


@contextmanager
def hearing(recorder: Recorder, root: torch.nn.Module) -> Generator[None]:
    """Hear what is asked in this block, in this thread."""
    asked = recorder.module_modes
    asked.only_sets_flags = all(_only_sets_flags(type(each)) for each in root.modules())
    original = torch.result_type
    setattr(torch.nn.Module, FLAG, _flag(recorder, asked))
    torch.result_type = _result_type(original, get_ident())
    try:
        yield
    finally:
        delattr(torch.nn.Module, FLAG)
        torch.result_type = original


def _only_sets_flags(kind: type[torch.nn.Module]) -> bool:
    return kind.train is torch.nn.Module.train and kind.eval is torch.nn.Module.eval


def _flag(recorder: Recorder, asked: ModuleModes) -> property:
    paths, thread = recorder.scopes.paths, get_ident()

    def read(module: torch.nn.Module) -> bool:
        try:
            value = vars(module)[FLAG]
        except KeyError:
            # Modules of TorchScript keep theirs elsewhere: Python goes on to `__getattr__`.
            raise AttributeError(FLAG) from None
        path = paths.get(id(module))
        if path is not None and id(module) not in asked.own and get_ident() == thread:
            asked.found.setdefault(path, value)
        return value

    def write(module: torch.nn.Module, value: bool) -> None:  # noqa: FBT001  (a setter)
        if get_ident() == thread:
            asked.own.add(id(module))
        vars(module)[FLAG] = value

    def remove(module: torch.nn.Module) -> None:
        del vars(module)[FLAG]

    return property(read, write, remove)


def _result_type(original: Callable[..., Any], thread: int) -> Callable[..., Any]:
    def result_type(*args: Any, **kwargs: Any) -> torch.dtype:
        for each in (*args, *kwargs.values()):
            if isinstance(each, AbstractTensor) and get_ident() == thread:
                each.recorder.dtype_asked(each)
        return original(*args, **kwargs)

    return result_type


__all__ = ["hearing"]
