"""Output: `print` is made again after the graph of its segment, in the order of its effects.

Plain values are printed as the text that they had; tensors are outputs of the graph, and nobody may
write to their memory between the `print` and the end of the segment.
"""

from __future__ import annotations

import sys
from io import StringIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.special_methods import lookup
from monograph.jit.graphs.sizes import SYMBOLIC
from monograph.jit.guard_code import storage_of
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.jit.recording import SegmentRecorder

__all__ = ["check_print", "write_print"]

_WRITERS: Final = (TextIOWrapper.write, StringIO.write)
_OPTIONS: Final = frozenset({"sep", "end", "flush"})


def _takes_text(stream: Any) -> bool:
    """Whether writing to a stream only keeps the text, and cannot fail."""
    if lookup(type(stream), "write") not in _WRITERS or stream.closed:
        return False
    return (stream.encoding or "utf-8").lower() == "utf-8"


def check_print(
    segment: SegmentRecorder,
    args: list[Any],
    kwargs: dict[str, Any],
    is_plain: Callable[[Any], bool],
) -> None:
    """Guard that a call of `print` can wait. Raises: NotRecordable."""
    if not kwargs.keys() <= _OPTIONS or not _takes_text(sys.stdout):
        raise NotRecordable("`print` to another stream")
    for value in (*args, *kwargs.values()):
        segment.touch(value)
        if isinstance(value, torch.Tensor):
            segment.metadata(value)
            if value.is_inference():
                raise NotRecordable("`print` of a tensor of inference mode")
        elif type(value) not in SYMBOLIC and not is_plain(value):
            raise NotRecordable(f"`print` of an object of type `{type(value).__name__}`")
        elif "\\ud" in ascii(value):
            raise NotRecordable("`print` of text that cannot be encoded")
    guards = segment.guards
    takes, module = guards.constant(_takes_text), guards.constant(sys)
    guards.check(f"not {takes}({module}.stdout)", "sys.stdout", "a stream of text")


def write_print(
    segment: SegmentRecorder, at: Any, function: Any, /, *args: Any, **kwargs: Any
) -> None:
    """Print now, and in each replay; `at` is the instruction."""
    function(*args, **kwargs)
    for value in args:
        if isinstance(value, torch.Tensor):
            segment.shown.setdefault(storage_of(value), at)
    given = [f"{{{index + 1}}}" for index in range(len(args))]
    given += [f"{name}={value!r}" for name, value in kwargs.items()]
    code = f"{{0}}({', '.join(given).replace('{{', '{{{{')})"
    kept = (torch.Tensor, *SYMBOLIC)
    texts = [each if isinstance(each, kept) else str(each) for each in args]
    segment.write(function, code, *texts)
