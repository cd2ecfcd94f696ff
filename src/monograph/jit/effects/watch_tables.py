"""Tables of watches: what the recorder does before an instruction, by the instruction's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode import InterpreterFrame

    Watch = Callable[[Any, InterpreterFrame, Any], Any]

__all__ = ["entering"]


def entering(table: dict[str, Watch]) -> Callable[..., Callable[[Watch], Watch]]:
    """The decorator of a watch that enters it in a table under the names it is given."""

    def named(*names: str) -> Callable[[Watch], Watch]:
        def entered(watch: Watch) -> Watch:
            table.update(dict.fromkeys(names, watch))
            return watch

        return entered

    return named
