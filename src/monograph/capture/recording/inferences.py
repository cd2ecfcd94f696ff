"""Shape inference, noted: a rule's arguments and result, and what it was told about sizes.

A rule is a function of the types of its arguments and of what the facts in force answer. So where
they would answer the same, it would make the same (see `replaying`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from monograph.capture.recording.operators import Operator
    from monograph.integers import Truth
    from monograph.rules.fallback import Memo


class Inference(NamedTuple):
    """One call of a rule: what it was given, told, and gave.

    `n_told` is how much anything but rules had been told before.
    """

    op: Operator
    args: list[Any]
    kwargs: dict[str, Any]
    result: Any
    premises: dict[Truth, bool]
    n_told: int


def inferred(op: Operator, args: list[Any], kwargs: dict[str, Any], fallback: Memo) -> Any:
    """The result types of an operator.

    Raises: what its rule refuses; bug.
    """
    rule = op.rule
    try:
        if rule is None:
            return fallback.infer(op.overload, args, kwargs)
        return rule(*args, **kwargs)
    except MonographError:
        raise
    except Exception as error:
        reason = f"the rule of {op.overload} failed: {type(error).__name__}: {error}"
        raise problem("bug", reason=reason) from error


def operator_asking() -> str:
    """The operator whose rule is being applied now, for logs; "" where none is."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not inferred.__code__:
        frame = frame.f_back
    return "" if frame is None else str(frame.f_locals["op"].overload)


__all__ = ["Inference", "inferred", "operator_asking"]
