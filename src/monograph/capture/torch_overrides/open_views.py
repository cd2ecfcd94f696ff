"""Reshapes that view by the example's sizes alone, in a run that goes both ways of sizes.

`x.transpose(1, 2).reshape(n, -1)` is a view where a size happens to be 1, and a copy elsewhere. A
guard would fix such sizes. The operator itself does either when the program runs, as eager code
does; so the run takes it for a copy, nobody is told how the result lies, and nobody writes to it
or to what it may be a view of: see `alias_analysis`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import SymbolicTensor
from monograph.integers.facts import ViewsInDoubt

if TYPE_CHECKING:
    from monograph.capture.recording.recorder import Recorder

_RESHAPES: Final = (
    torch.ops.aten.flatten.using_ints,
    torch.ops.aten.reshape.default,
    torch.ops.aten.reshape_as.default,
)


def leave_views_open(recorder: Recorder) -> None:
    """Note reshapes that view by the example alone, or leave them open, from now on."""
    recorder.facts.views_in_doubt = ViewsInDoubt(are_open=recorder.options.both_ways > 0)
    for overload in _RESHAPES:
        recorder.special[id(overload)] = partial(_reshaped, recorder, overload)


def _reshaped(recorder: Recorder, overload: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    doubt = recorder.facts.views_in_doubt
    if type(tensor) is not SymbolicTensor or tensor.tensor_type.strides is None or doubt is None:
        return NotImplemented
    before = doubt.n_met
    handler = recorder.special.pop(id(overload))
    try:
        made = recorder.call(overload, (tensor, *args), kwargs)
    finally:
        recorder.special[id(overload)] = handler
    if doubt.n_met > before and doubt.are_open:
        recorder.aliases.differ("layout", made.node)
        recorder.aliases.differ("offset", made.node)
        recorder.aliases.may_alias([made, tensor])
    elif doubt.n_met > before:
        recorder.options.branches.append("reshape")
    return made


__all__ = ["leave_views_open"]
