"""Example hints of 0 and 1: a general stand-in first, the example's value only where it must be.

An example of size 1 must not choose the special side of a question, so its hint is a stand-in (see
`inputs.STAND_IN`). What was captured that way holds for the example too if every guard does, maybe
after the size was probed (see `probing`); where one does not, the sizes it is about are captured
once more with the example's own value, and then the guard says so: an AUTO dimension becomes
constant, a named one is a violation with the line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from monograph.capture.captured import asserted_in_regions
from monograph.capture.restart import Restart
from monograph.capture.run_options import RunOptions
from monograph.capture.torch_overrides.symbolic_numbers import wants_bool
from monograph.diagnostics import problem, raised_at
from monograph.integers import holds

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.capture.captured import Capture
    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.integers import Facts


Run = TypeVar("Run", bound=Any)


def in_general(
    read: Callable[[RunOptions], tuple[Inputs, Facts]],
    run: Callable[[Inputs, Facts], Run],
    probe: Callable[[Run, RunOptions], Run],
    *,
    both_ways: int = 0,
    goes_on: bool = False,
) -> tuple[Run, RunOptions]:
    """The most general run of which the example is an instance, and how its sizes were read.

    `probe` lets sizes of 0 and 1 into a finished run where they may be; see `probing.probed`.
    Where possible, branches on sizes are recorded both ways, in up to `both_ways` regions. A run
    that `goes_on` after refusals says what the first run was refused for.

    Law: every guard of the result holds for the example inputs.

    Raises: what the last run raises.
    """
    options = RunOptions(both_ways=both_ways)
    refusal: Exception | None = None
    is_again = False
    while True:
        inputs, facts = read(options)
        try:
            found = run(inputs, facts)
        except Restart as restart:
            options = _as_asked(options, restart)
            continue
        except Exception as error:
            if not goes_on and not options.apart.issuperset(options.doubted):
                refusal = refusal or error
                options = replace(options, apart=options.apart.union(options.doubted))
                continue
            again = _otherwise(options, inputs, facts, error)
            if again is None:
                if refusal is None:
                    raise
                if is_again:
                    raise refusal from None
                # Who holds an object decided it, by counts of references, and other threads hold
                # some for a moment: once more. A test met it in a thousand such runs.
                is_again, again = True, options
            options = again
            continue
        found = probe(found, options)
        contradicted = contradicted_paths(inputs, facts, found.captured)
        if not contradicted:
            return found, options
        options = replace(options, literal=contradicted | set(options.literal))


def _as_asked(options: RunOptions, restart: Restart) -> RunOptions:
    """How the whole run is made again. Raises: Restart (a region asks for it)."""
    if restart.reason == "decide":
        return replace(options, decided=True)
    if restart.reason == "texts":
        return replace(options, texts_made=True)
    if restart.reason == "count":
        return replace(options, counted=options.counted | restart.cause)
    if restart.reason == "plain":
        return replace(options, plain=options.plain | {restart.cause})
    raise restart


def _otherwise(
    options: RunOptions, inputs: Inputs, facts: Facts, error: Exception
) -> RunOptions | None:
    """How to read sizes after a run that failed, where that may mend it.

    Raises: data-dependent-branch.
    """
    if wants_bool(error):
        if options.decided:
            raise problem("data-dependent-branch", at=raised_at(error)) from error
        return replace(options, decided=True)
    if options.lists and not options.lists_made:
        return replace(options, lists_made=True)
    if options.loops and not options.unrolled:
        return replace(options, unrolled=True)
    if options.asked and not options.state_decides:
        return replace(options, state_decides=True)
    if inputs.examples == dict(facts.hints):
        return None
    return replace(options, literal=frozenset(map(facts.source_of, facts.symbols)))


def contradicted_paths(inputs: Inputs, facts: Facts, captured: Capture | None = None) -> set[str]:
    """Paths of the sizes for which a guard holds at the stand-in but not at the example.

    So does what regions assert of sizes, whether the example runs them or not.

    Raises: data-dependent-branch (a guard is about a value of data).
    """
    for guard in facts.guards:
        if not guard.relation.symbols <= inputs.examples.keys():
            at = guard.origin if isinstance(guard.origin, tuple) else ()
            raise problem("data-dependent-branch", at=at)
    relations = [guard.relation for guard in facts.guards]
    if captured is not None and captured.recorder.children:
        inside = asserted_in_regions(captured)
        relations += [each for each in inside if each.symbols <= inputs.examples.keys()]
    if not relations:
        return set()
    return {
        facts.source_of(symbol)
        for relation in relations
        if not holds(relation, inputs.examples)
        for symbol in relation.symbols
    }
