"""What a call's tensors must lie like, where user code asked, and the copies that lie so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from monograph.diagnostics import Clause
from monograph.integers import evaluate, symbols
from monograph.program.calling.memory_overlap import lies, reach_of
from monograph.program.contract import Contract, TensorClause, spots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monograph.integers import Expr

_COPIES = {
    "contiguous()": torch.Tensor.contiguous,
    **{
        f"clone(memory_format=torch.{name})": lambda t, form=form: t.clone(memory_format=form)
        for name, form in (
            ("contiguous_format", torch.contiguous_format),
            ("channels_last", torch.channels_last),
            ("channels_last_3d", torch.channels_last_3d),
        )
    },
}
"""Edits of an argument that may lay it out as asked, the most usual first."""


class _LayoutAsked(NamedTuple):
    path: str
    clause: TensorClause
    tensor: torch.Tensor
    strides: tuple[Any, ...] | None
    offset: Any

    def broken_by(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor of the same sizes lies otherwise."""
        return self.has_other_strides(tensor) or self.offset not in {None, tensor.storage_offset()}

    def has_other_strides(self, tensor: torch.Tensor) -> bool:
        """Whether its strides are others, where that matters."""
        if self.strides is None or tensor.stride() == self.strides:
            return False
        return self.clause.strides_of_one or not lies(tensor, self.strides)


def broken_layouts(
    contract: Contract, env: Mapping[Expr, int], leaves: Sequence[Any]
) -> Iterator[Clause]:
    """Compare strides and offsets, where user code asked for a layout."""
    for each in _asked(contract, env, leaves):
        cause = spots(each.clause.layout_origin)
        found = each.tensor
        if each.has_other_strides(found):
            path = f"{each.path}.stride()"
            yield Clause(path, each.strides, found.stride(), cause, _copy(each))
        elif each.broken_by(found):
            path = f"{each.path}.storage_offset()"
            yield Clause(path, each.offset, found.storage_offset(), cause, _copy(each))


def _asked(
    contract: Contract, env: Mapping[Expr, int], leaves: Sequence[Any]
) -> Iterator[_LayoutAsked]:
    for clause, leaf in zip(contract.clauses, leaves, strict=True):
        if not isinstance(clause, TensorClause) or not isinstance(leaf, torch.Tensor):
            continue
        numbers = (*(clause.strides or ()), clause.offset or 0)
        is_comparable = leaf.layout is torch.strided and leaf.dim() == len(clause.shape)
        if not is_comparable or any(not symbols(each) <= env.keys() for each in numbers):
            continue  # which has been said
        steps = clause.strides and tuple(evaluate(step, env) for step in clause.strides)
        offset = None if clause.offset is None else evaluate(clause.offset, env)
        yield _LayoutAsked(clause.path, clause, leaf, steps, offset)


def _copy(asked: _LayoutAsked) -> str:
    """The edit of a call that lays its argument out as asked, tried on a tensor without data."""
    given = asked.tensor
    offset = int(given.storage_offset())
    room = torch.empty(offset + reach_of(given) if given.numel() else offset, device="meta")
    twin = room.as_strided(given.shape, given.stride(), offset)
    for code, copy in _COPIES.items():
        try:
            is_mended = not asked.broken_by(copy(twin))
        except RuntimeError:
            continue  # a format of images, which it is none of
        if is_mended:
            return f"give a copy that lies as the example does: {asked.path} = {asked.path}.{code}"
    return f"export with an example of `{asked.path}` that lies as calls have it"


__all__ = ["broken_layouts"]
