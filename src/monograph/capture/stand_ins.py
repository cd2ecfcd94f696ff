"""Sizes of 0 and 1 in the example: captured in general first, literally only where it must be.

An example of size 1 must not choose the special side of a question, so its hint is a stand-in (see
`inputs.STAND_IN`). What was captured that way holds for the example too if every guard does, maybe
after the size was probed (see `probing`); where one does not, the sizes it is about are captured
once more with the example's own value, and then the guard says so: an AUTO dimension becomes
constant, a named one is a violation with the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from monograph.integers import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from monograph.capture.inputs import Inputs
    from monograph.integers import Facts


class Everywhere:
    """Contains every path."""

    def __contains__(self, path: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Paths:
    """Sizes that are not read in general; any other gets a symbol, and a stand-in for 0 or 1.

    The hint of those in `literal` (by path, `x.shape[0]`) is the example's own value. Those in
    `fixed` (by the name of their Dim, without one by path) are numbers, whatever the example says.
    """

    literal: Container[str] = ()
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])


Run = TypeVar("Run")


class Probe(Protocol[Run]):
    """Lets sizes of 0 and 1 into a finished run where they may be; see `probing.probed`."""

    def __call__(self, found: Run, paths: Paths) -> Run:
        """The run, accepting more."""
        ...


def in_general(
    read: Callable[[Paths], tuple[Inputs, Facts]],
    run: Callable[[Inputs, Facts], Run],
    probe: Probe[Run],
) -> tuple[Run, Paths]:
    """The most general run of which the example is an instance, and the sizes taken literally.

    Law: every guard of the result holds for the example inputs.

    Raises: what the last run raises.
    """
    paths = Paths()
    inputs, facts = read(paths)
    if inputs.examples == dict(facts.hints):
        return probe(run(inputs, facts), paths), paths
    literal: set[str] = set()
    while True:
        try:
            found = run(inputs, facts)
        except Exception:  # noqa: BLE001 - user code may raise anything at a size it does not have
            paths = Paths(Everywhere())
            return probe(run(*read(paths)), paths), paths
        found = probe(found, paths)
        contradicted = contradicted_paths(inputs, facts)
        if not contradicted:
            return found, paths
        literal |= contradicted
        paths = Paths(literal)
        inputs, facts = read(paths)


def contradicted_paths(inputs: Inputs, facts: Facts) -> set[str]:
    """Paths of the sizes for which a guard holds at the stand-in but not at the example."""
    return {
        facts.source_of(symbol)
        for guard in facts.guards
        if not holds(guard.relation, inputs.examples)
        for symbol in guard.relation.symbols
    }
