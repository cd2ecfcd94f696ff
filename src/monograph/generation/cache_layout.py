"""Cache layout: which parts of a library's cache are arguments, and which of their sizes vary.

Law: the parts are the tensors, and the ints that are not the same in all caches that were seen. All
else of a cache is one structure, which no call changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.dims import Dim
from monograph.host.trees import flatten, unflatten

if TYPE_CHECKING:
    from collections.abc import Sequence


class CacheChanges(Exception):  # noqa: N818  (no error: another layout is needed)
    """A call leaves a cache of another structure than it was given."""


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """The structure of a cache. `constants` has the values of the leaves that are no parts."""

    spec: Any
    is_part: tuple[bool, ...]
    constants: tuple[Any, ...]

    def parts(self, cache: Any) -> list[Any]:
        """The arguments that a cache is passed as.

        Raises: CacheChanges.
        """
        leaves, spec = flatten(cache)
        if spec != self.spec:
            raise CacheChanges("its structure is another after a call")
        for leaf, is_part, constant in zip(leaves, self.is_part, self.constants, strict=True):
            if not is_part and (type(leaf) is not type(constant) or leaf != constant):
                raise CacheChanges(f"{constant!r} in it becomes {leaf!r}")
        return [leaf for leaf, is_part in zip(leaves, self.is_part, strict=True) if is_part]

    def built(self, parts: Sequence[Any]) -> Any:
        """The cache of these arguments."""
        given = iter(parts)
        pairs = zip(self.is_part, self.constants, strict=True)
        return unflatten([next(given) if is_part else c for is_part, c in pairs], self.spec)


def layout_of(caches: Sequence[Any]) -> CacheLayout:
    """The layout that all of these caches have.

    Raises: CacheChanges.
    """
    flat = [flatten(cache) for cache in caches]
    first, spec = flat[0]
    if any(other != spec for _, other in flat):
        raise CacheChanges("its structure is another at other lengths")
    columns = list(zip(*(leaves for leaves, _ in flat), strict=True))
    is_part = tuple(
        any(isinstance(each, torch.Tensor) for each in column) or len({*column}) > 1
        for column in columns
    )
    return CacheLayout(spec, is_part, tuple(first))


def declarations(
    layout: CacheLayout, base: Any, wider: Any, longer: Sequence[Any], batch: Dim | None
) -> list[Any]:
    """The `dynamic_shapes` of the parts: what differs by batch is `batch`, by length `Dim.AUTO`."""
    columns = zip(*(layout.parts(each) for each in (base, wider, *longer)), strict=True)
    return [_declared(*column, batch=batch) for column in columns]


def _declared(base: Any, wider: Any, *longer: Any, batch: Dim | None) -> Any:
    if not isinstance(base, torch.Tensor):
        varies = any(each != base for each in longer)
        return batch if wider != base else Dim.AUTO if varies else None
    found: dict[int, Any] = {}
    for axis, size in enumerate(base.shape):
        if wider.shape[axis] != size:
            found[axis] = batch
        elif any(each.shape[axis] != size for each in longer):
            found[axis] = Dim.AUTO
    return found


__all__ = ["CacheChanges", "CacheLayout", "declarations", "layout_of"]
