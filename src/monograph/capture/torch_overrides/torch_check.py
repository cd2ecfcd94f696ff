"""`torch._check`: what the user says holds, while user code runs.

A condition on symbolic numbers is required, and from then on known. One that is false already is
the user's own error, as in eager, unless something was learnt about data before: then two checks
contradict each other, and no call can satisfy both.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import SymbolNode
from monograph.capture.torch_overrides.lazy_messages import text_of_message
from monograph.capture.torch_overrides.tensor_literals import current_recorder
from monograph.diagnostics import problem, snippet
from monograph.host.checks import checker, set_checker
from monograph.integers import Relation

if TYPE_CHECKING:
    from collections.abc import Generator

_REAL = checker()


def _check_with(error_type: Any, cond: Any, message: Any) -> None:
    if isinstance(cond, torch.SymBool) and isinstance(cond.node, SymbolNode):
        said, recorder = text_of_message(message), current_recorder()
        if said and recorder is not None and isinstance(cond.node.value, Relation):
            recorder.said[cond.node.value] = said
        cond.node.expect_true("", 0)
        return
    if cond is False:
        recorder = current_recorder()
        if recorder is not None and recorder.facts.has_unbacked:
            raise problem("check-fails", condition=snippet(recorder.origin()[:1]))
    _REAL(error_type, cond, message)


@contextmanager
def checks() -> Generator[None]:
    """Let the conditions of `torch._check` become what is known."""
    before = checker()
    set_checker(_check_with)
    try:
        yield
    finally:
        set_checker(before)
