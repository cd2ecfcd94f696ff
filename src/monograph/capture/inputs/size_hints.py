"""Sizes of 0 and 1 in the example: captured in general first, literally only where it must be.

An example of size 1 must not choose the special side of a question, so its hint is a stand-in (see
`inputs.STAND_IN`). What was captured that way holds for the example too if every guard does, maybe
after the size was probed (see `probing`); where one does not, the sizes it is about are captured
once more with the example's own value, and then the guard says so: an AUTO dimension becomes
constant, a named one is a violation with the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from monograph.capture.torch_overrides.size_conditions import wants_bool
from monograph.diagnostics import problem, raised_at
from monograph.integers import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.integers import Facts


@dataclass(frozen=True, slots=True)
class Paths:
    """Sizes that are not read in general; any other gets a symbol, and a stand-in for 0 or 1.

    The hint of those in `literal` (by path, `x.shape[0]`) is the example's own value. Those in
    `fixed` (by the name of their Dim, without one by path) are numbers, whatever the example says.
    With `decided`, conditions on sizes are decided where they are made (see `conditions`). With
    `unrolled`, loops over sizes that may be fixed fix them; `loops` are those that were tried.
    With `state_decides`, what is asked of buffers alone is answered by what they hold, and the
    program asserts that they still do; tensors that hold a quotient of sizes are that number.
    `asked` are the tensors that were asked.
    """

    literal: AbstractSet[str] = frozenset()
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    decided: bool = False
    unrolled: bool = False
    loops: list[str] = field(default_factory=list[str])
    state_decides: bool = False
    asked: list[str] = field(default_factory=list[str])


Run = TypeVar("Run")


def in_general(
    read: Callable[[Paths], tuple[Inputs, Facts]],
    run: Callable[[Inputs, Facts], Run],
    probe: Callable[[Run, Paths], Run],
) -> tuple[Run, Paths]:
    """The most general run of which the example is an instance, and how its sizes were read.

    `probe` lets sizes of 0 and 1 into a finished run where they may be; see `probing.probed`.

    Law: every guard of the result holds for the example inputs.

    Raises: what the last run raises.
    """
    paths = Paths()
    while True:
        inputs, facts = read(paths)
        try:
            found = run(inputs, facts)
        except Exception as error:
            again = _otherwise(paths, inputs, facts, error)
            if again is None:
                raise
            paths = again
            continue
        found = probe(found, paths)
        contradicted = contradicted_paths(inputs, facts)
        if not contradicted:
            return found, paths
        paths = replace(paths, literal=contradicted | set(paths.literal))


def _otherwise(paths: Paths, inputs: Inputs, facts: Facts, error: Exception) -> Paths | None:
    """How to read sizes after a run that failed, where that may mend it.

    Raises: data-dependent-branch.
    """
    if wants_bool(error):
        if paths.decided:
            raise problem("data-dependent-branch", at=raised_at(error)) from error
        return replace(paths, decided=True)
    if paths.loops and not paths.unrolled:
        return replace(paths, unrolled=True)
    if paths.asked and not paths.state_decides:
        return replace(paths, state_decides=True)
    if inputs.examples == dict(facts.hints):
        return None
    return replace(paths, literal=frozenset(map(facts.source_of, facts.symbols)))


def contradicted_paths(inputs: Inputs, facts: Facts) -> set[str]:
    """Paths of the sizes for which a guard holds at the stand-in but not at the example."""
    return {
        facts.source_of(symbol)
        for guard in facts.guards
        if not holds(guard.relation, inputs.examples)
        for symbol in guard.relation.symbols
    }
