"""Fake-kernel checks: what a custom operator's says of its results is asserted at run time.

A capture believes it, so the program compares it with what the operator returns: sizes and dtype of
each tensor, and each number. A program whose operator returns something else raises.
"""

from __future__ import annotations

import operator
from math import isnan
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import as_stated, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.integers import Expr, Real, eq, fresh, negate

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.capture.recording.operators import Operator
    from monograph.capture.recording.recorder import Recorder

ASSERT_METADATA: Final = torch.ops.aten._assert_tensor_metadata.default  # noqa: SLF001 - an operator's name


def check_promises(recorder: Recorder, op: Operator, node: Node) -> None:
    """Record what compares the results of a custom operator with what was said of them."""
    results = node.meta.get("val")
    if not isinstance(results, tuple | list):
        _check(recorder, op, node, results)
        return
    for user in list(node.users):
        if user.target is operator.getitem:
            _check(recorder, op, user, user.meta.get("val"))


def _check(recorder: Recorder, op: Operator, node: Node, result: Any) -> None:
    if isinstance(result, AbstractTensor):
        if node.meta["val"].storage_root is not result or result.node is not node:
            return
        t = result.tensor_type
        sizes = [recorder.writer.number(size) for size in t.shape]
        assertion = recorder.append(
            ASSERT_METADATA, "_assert_tensor_metadata", (node, sizes, None, t.dtype), {}
        )
        assertion.meta["val"] = None
        return
    _check_number(recorder, op, node, as_stated(result))


def _check_number(recorder: Recorder, op: Operator, node: Node, promised: Any) -> None:
    """The number is a new one, which is asserted to be what was promised."""
    if not isinstance(promised, bool | int | float | Expr):
        return
    if isinstance(promised, Expr) and recorder.writer.number(promised) is node:
        return
    most = 1 if isinstance(promised, bool) else None
    returned = fresh(f"a number of {op.overload.name()}", most and 0, most)
    number: Any = Real("unbacked", (returned,)) if isinstance(promised, float) else returned
    recorder.writer.bind(number, node)
    kept = eq(number, promised)
    if isinstance(promised, bool):
        number = eq(returned, 1)
        recorder.writer.bind(number, node)
        kept = number if promised else negate(number)
    node.meta["val"] = to_sym(number)
    if not (isinstance(promised, float) and isnan(promised)):
        recorder.facts.assert_at_run(kept)
        recorder.write_assertions()


__all__ = ["check_promises"]
