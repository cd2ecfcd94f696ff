"""Padding by an amount that may be nothing, where sizes decide no branch by the example alone.

Padding by nothing is a copy that lies as its input does; any other is laid out anew. Which of the
two it is would be a guard. With `control_flow="capture_sizes"` the input is laid out first, so
either gives the same; where eager code may have another layout, nobody is told one, and nobody
writes to the result: see `aliases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.integers import known, le

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.recording.recorder import Recorder

PAD: Final[Any] = torch.nn.functional.pad


def padding(
    args: list[Any],
    kwargs: dict[str, Any],
    on_sizes: bool,  # noqa: FBT001 - as the interpreter's
) -> Callable[..., Any] | None:
    """What stands for this call of `pad`, if it asks whether there is anything to add.

    Without `on_sizes` the example says, and the run is noted to have branched.
    """
    tensor, amounts, mode = _given(*args, **kwargs)
    if mode != "constant" or not isinstance(tensor, AbstractTensor):
        return None
    if tensor.tensor_type.strides is None:
        return None
    in_doubt = [known(le(to_python(amount), 0)) is None for amount in amounts]
    if not any(in_doubt):
        return None
    if on_sizes:
        return _laid_out
    cast("Recorder", tensor.recorder).options.branches.append("padding")
    return None


def _given(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002, ARG001 - torch's signature
    return input, pad, mode


def _laid_out(input: AbstractTensor, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - torch's signature
    recorder = cast("Recorder", input.recorder)
    layout = {"memory_format": torch.contiguous_format}
    result = PAD(recorder.call(torch.ops.aten.clone.default, (input,), layout), *args, **kwargs)
    recorder.aliases.differ("layout", result.node)
    recorder.aliases.may_alias([result])
    return result


__all__ = ["PAD", "padding"]
