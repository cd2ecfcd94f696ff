"""One kind of step: the programs that do it at one length or another, and which of them admits it.

The program that did the last step is asked first: it is another one only where a window fills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import ContractError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.program import ExportedProgram


class Step:
    """Calls whichever program admits what it is given."""

    def __init__(self, programs: Sequence[ExportedProgram]) -> None:
        self._modules = [each.module() for each in programs]

    def __call__(self, *args: Any) -> Any:
        """Run the step.

        Raises: contract-broken (of the first program that was asked).
        """
        refusal: ContractError | None = None
        for place, module in enumerate(self._modules):
            try:
                result = module(*args)
            except ContractError as error:
                refusal = refusal or error
                continue
            if place:
                self._modules.insert(0, self._modules.pop(place))
            return result
        assert refusal is not None, "there is a program"
        raise refusal


__all__ = ["Step"]
