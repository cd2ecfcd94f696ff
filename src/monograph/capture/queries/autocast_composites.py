"""Autocast within composite operators: they are recorded as what they call, which is cast.

Autocast knows `bmm`, and not `einsum`, which calls it. So where it is on, such an operator is
recorded in parts, each cast as in eager code: its own rule would tell user code the wrong dtype.
Which parts those are holds for all sizes, but that `einsum` adds up what is contracted by `bmm`
unless its size is 1.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils import _pytree as pytree

from monograph.host.decompositions import composite_formula
from monograph.host.execution_modes import is_cast, outside_of_dispatch
from monograph.host.overloads import aten, present
from monograph.rules.linear_algebra.einsum import contracted

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from monograph.host.operator_types import OpOverload
    from monograph.integers import Facts

_CAST_INSIDE: Final = tuple(
    present(
        (
            *(aten.einsum.default, aten.tensordot.default, aten.inner.default),
            *(aten.chain_matmul.default, aten.linalg_multi_dot.default),
            *(aten.matrix_power.default, aten.linalg_matrix_power.default),
            *(aten.cov.default, aten.corrcoef.default),
            *(aten.rnn_tanh_cell.default, aten.rnn_relu_cell.default),
            *(aten.nll_loss_nd.default, aten.pad.default),
        )
    )
)
"""Composite operators whose results autocast gives another dtype."""


def record_in_parts(recorder: Any) -> None:
    """Record such operators as what they call, from now on and where autocast is on."""
    for overload in _CAST_INSIDE:
        recorder.special[id(overload)] = partial(_in_parts, recorder, overload)


def _in_parts(recorder: Any, overload: OpOverload, *args: Any, **kwargs: Any) -> Any:
    given = pytree.tree_leaves((args, kwargs))
    devices = {each.device.type for each in given if isinstance(each, torch.Tensor)}
    with outside_of_dispatch():
        if not any(map(is_cast, devices)):
            return NotImplemented
        if overload is aten.einsum.default:
            _settle_contraction(*args)
        with _general_answers(recorder.facts), recorder:
            return composite_formula(overload)(*args, **kwargs)


def _settle_contraction(equation: str, operands: Sequence[torch.Tensor], **_: Any) -> None:
    for i, dim in contracted(equation, [each.dim() for each in operands]):
        bool(operands[i].shape[dim] == 1)


@contextmanager
def _general_answers(facts: Facts) -> Generator[None]:
    before, facts.prefers_general = facts.prefers_general, True
    try:
        yield
    finally:
        facts.prefers_general = before


__all__ = ["record_in_parts"]
