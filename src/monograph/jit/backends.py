"""Backends: what compiles a graph, by name or as a callable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import MonographError, nearest, problem
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["find_backend"]

_torch_backend = deferred("monograph.interop.torch_backends:find")
_export = deferred("monograph.api:export")
_torch_names = deferred("monograph.interop.torch_backends:names")


def find_backend(backend: str | Callable[..., Any]) -> Callable[..., Any]:
    """What is called with a graph module and example inputs. Raises: backend-unknown."""
    if callable(backend):
        return backend
    own = _OWN.get(backend)
    if own is not None:
        return own
    found = _torch_backend(backend)
    if found is None:
        names = sorted({*_OWN, *_torch_names()})
        raise problem(
            "backend-unknown", name=backend, near=nearest(backend, names), names=", ".join(names)
        )
    return found


class _Eager:
    """Runs graphs as they are, for any inputs."""

    reads_metadata = False

    def __call__(self, graph: Any, _inputs: list[Any]) -> Any:
        return graph.forward


def _lowered(graph: Any, inputs: list[Any]) -> Any:
    """Our lowered program of a graph; the graph itself, where its export is refused."""
    try:
        program = _export(graph, tuple(inputs))
    except MonographError:
        return graph.forward
    return program.run_decompositions().module()


_OWN = {"eager": _Eager(), "monograph": _lowered}
