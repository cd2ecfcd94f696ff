"""Sizes of 0 and 1 in the example: captured in general first, literally only where it must be.

An example of size 1 must not choose the special side of a question, so its hint is a stand-in (see
`inputs.STAND_IN`). What was captured that way holds for the example too if every guard does; where
one does not, the sizes it is about are captured once more with the example's own value, and then
the guard says so: an AUTO dimension becomes constant, a named one is a violation with the line.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, TypeVar

from monograph.integers import holds

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.inputs import Inputs
    from monograph.integers import Facts


class Everywhere:
    """Contains every path."""

    def __contains__(self, path: object) -> bool:
        return True


Paths = Container[str]
"""Sizes, by path (`x.shape[0]`), whose hint is the example's own value even if that is 0 or 1."""

Run = TypeVar("Run")


def in_general(
    read: Callable[[Paths], tuple[Inputs, Facts]], run: Callable[[Inputs, Facts], Run]
) -> tuple[Run, Paths]:
    """The most general run of which the example is an instance, and the sizes taken literally.

    Law: every guard of the result holds for the example inputs.

    Raises: what the last run raises.
    """
    inputs, facts = read(())
    if inputs.examples == dict(facts.hints):
        return run(inputs, facts), ()
    literal: set[str] = set()
    while True:
        try:
            found = run(inputs, facts)
        except Exception:  # noqa: BLE001 - user code may raise anything at a size it does not have
            everywhere: Paths = Everywhere()
            return run(*read(everywhere)), everywhere
        contradicted = contradicted_paths(inputs, facts)
        if not contradicted:
            return found, literal
        literal |= contradicted
        inputs, facts = read(literal)


def contradicted_paths(inputs: Inputs, facts: Facts) -> set[str]:
    """Paths of the sizes for which a guard holds at the stand-in but not at the example."""
    return {
        facts.source_of(symbol)
        for guard in facts.guards
        if not holds(guard.relation, inputs.examples)
        for symbol in guard.relation.symbols
    }
