"""The compilers that torch lists as backends of `torch.compile`, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find", "names"]


def names() -> list[str]:
    """The names of all backends."""
    from torch._dynamo.backends.registry import list_backends

    return list_backends(exclude_tags=())


def find(name: str) -> Callable[[Any, list[Any]], Any] | None:
    """The backend of this name: takes a graph module and example inputs. None if there is none."""
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(name) if name in names() else None
