"""What a program of an error's page exports: the models and the arguments, as they were before."""

from __future__ import annotations

import contextlib
import copy
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import monograph

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Export:
    """A call of `export`: a copy of the model, its inputs, and the program, if there is one."""

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: Any
    program: Any = None


@contextlib.contextmanager
def exports() -> Iterator[list[Export]]:
    """The calls of `monograph.export` meanwhile; they go on as they do otherwise."""
    found: list[Export] = []
    original = monograph.export

    def export(model: Any, args: Any = (), kwargs: Any = None, **options: Any) -> Any:
        call = Export(_copy(model), _copy(args), kwargs or {}, options.get("dynamic_shapes"))
        found.append(call)
        call.program = original(model, args, kwargs, **options)
        return call.program

    with mock.patch.object(monograph, "export", export):
        yield found


@contextlib.contextmanager
def importable(name: str, model: Any) -> Iterator[None]:
    """Its globals are those of a module: Dynamo, which `torch.cond` uses, looks for them there."""
    names = getattr(type(model).forward, "__globals__", {})
    sys.modules[name] = types.SimpleNamespace(**names)  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  (scripted modules, say, and what holds itself)
        return value
