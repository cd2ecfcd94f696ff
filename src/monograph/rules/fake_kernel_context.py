"""Sizes that only data tells, as fake kernels of custom operators ask for them.

Law: what `new_dynamic_size` makes is new in every call, and its bounds are asserted when the
program runs: the operator has not promised them.
"""

from __future__ import annotations

import warnings
from typing import Any

from monograph.abstract.symbols import to_python, to_sym
from monograph.integers import Expr, fresh, ge, le, require


class FakeKernelContext:
    """`torch.library.get_ctx()`, while sizes are symbolic."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self.made: list[Expr] = []
        self._stated: list[tuple[Expr, Any, Any]] = []

    def new_dynamic_size(self, *, min: Any = 0, max: Any = None) -> Any:
        """A size that depends on data, within bounds."""
        least, most = to_python(min), to_python(max)
        if isinstance(least, int) and least < 0:
            message = (
                f"ctx.new_dynamic_size(min={least}, ...): expected min to be greater than or equal"
                " to 0: this API can only create non-negative sizes."
            )
            raise ValueError(message)
        size = fresh(f"a size of {self._operator}")
        self.made.append(size)
        self._stated.append((size, least, most))
        return to_sym(size)

    def create_unbacked_symint(self, *, min: Any = 0, max: Any = None) -> Any:
        """As `new_dynamic_size`, under its old name; 0 and 1 are sizes like others here."""
        message = "`create_unbacked_symint` is deprecated, please use `new_dynamic_size` instead"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self.new_dynamic_size(min=min, max=max)

    def state_bounds(self) -> None:
        """Have the program assert the bounds, and know them from here on.

        Raises: operator-refused-types, where they contradict each other.
        """
        for size, least, most in self._stated:
            facts = {"op": self._operator, "reason": f"no size is in [{least}, {most}]"}
            require(ge(size, least), "operator-refused-types", **facts)
            if most is not None:
                require(le(size, most), "operator-refused-types", **facts)


__all__ = ["FakeKernelContext"]
