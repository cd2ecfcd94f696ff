"""Probing: sizes of 0 and 1 that guards leave out are tried, and let in where nothing differs.

Operators and user code may treat a size of 0 or 1 in a way of their own, and then a guard keeps it
out. Whether that was necessary is found out by asking the operators' rules again (see `replaying`)
and, where user code itself asked, by running the module once more with that size fixed, beside what
was captured (see `following`), other sizes being as general as before.

Law: a run with sizes `fixed` that does not differ vouches for the inputs that have these sizes and
satisfy every guard of that run, and for no others. Its guards become guards of the program for
these sizes. So if the runs at n = 1 and at m = 1 each leave out the other size, n = m = 1 (where
two sizes that broadcast meet) stays out, until a run that fixes both vouches for it; what three
sizes would do together is let in only where runs that fix one or two of them allow it.

Nothing is tried if no guard leaves out 0 or 1 while taking the size after them. Nothing is run for
what is left to capture, `Dim.AUTO` without a least size, which declares neither, but at the size
that its example has: each run costs as much as a capture of fixed sizes.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from monograph.capture.captured import Exclusion
from monograph.capture.size_probing.retracing import Different, Follower
from monograph.capture.size_probing.rule_replay import replayed
from monograph.diagnostics import MonographError, raised_at
from monograph.dims import DerivedDim, DimHint
from monograph.integers import (
    Expr,
    Guard,
    Relation,
    declared_interval,
    eq,
    followers,
    leaves_out,
    relax,
    substitute_relation,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from monograph.capture.captured import Capture
    from monograph.capture.inputs.example_inputs import Inputs
    from monograph.capture.run_options import RunOptions
    from monograph.integers import Facts, Int

_SMALL = (1, 0)
_MOST_PAIRS = 6
"""Pairs of sizes that are tried together; any others stay out."""


Fixed = dict[Expr, int]


def probed(
    captured: Capture,
    read: Callable[[RunOptions], tuple[Inputs, Facts]],
    run: Callable[..., Any],
    options: RunOptions,
) -> Capture:
    """The capture, with the sizes of 0 and 1 let in that make no difference.

    Its facts change in place. Where a size stays out, `exclusions` says why.
    """
    let_in: list[Fixed] = []
    left_out: list[Exclusion] = []
    for symbol, value in list(_excluded(captured)):
        fixed = {symbol: value}
        if not _is_declared(symbol, value, captured.inputs):
            if _is_let_in_unrun(captured, fixed):
                let_in.append(fixed)
            continue
        difference = _probe(captured, fixed, read, run, options)
        if difference is None:
            let_in.append(fixed)
        else:
            left_out.append(Exclusion(symbol, value, difference.what, difference.at))
    for pair in itertools.islice(_pairs_left_out(captured.facts, let_in), _MOST_PAIRS):
        _probe(captured, pair, read, run, options)
    return replace(captured, exclusions=tuple(left_out)) if left_out else captured


def _excluded(captured: Capture) -> Iterator[tuple[Expr, int]]:
    """Values of symbols that make a size 0 or 1, that were declared, and that guards leave out.

    A guard that leaves out the next value too is about something else.
    """
    facts, inputs = captured.facts, captured.inputs
    if not facts.guards:
        return
    for symbol, values in _small_values(inputs).items():
        if facts.simplify(symbol) is not symbol:
            continue
        if facts.known(eq(symbol, max(values) + 1)) is False:
            continue
        for value in values:
            within = value in declared_interval(symbol)
            if within and facts.known(eq(symbol, value)) is False:
                yield symbol, value


def _is_declared(symbol: Expr, value: int, inputs: Inputs) -> bool:
    """Whether the user asked for it: by a range, or by an example of it."""
    return inputs.examples[symbol] == value or not all(
        isinstance(size.entry, DimHint) and size.entry.mode == "AUTO" and size.entry.min is None
        for size in inputs.dynamic
        if size.symbol is symbol
    )


def _small_values(inputs: Inputs) -> dict[Expr, list[int]]:
    """For each symbol of a size, its values that make some size 1 or 0."""
    found: dict[Expr, list[int]] = {}
    for size in inputs.dynamic:
        values = found.setdefault(size.symbol, [])
        for small in _SMALL:
            value, rest = small, 0
            if isinstance(size.entry, DerivedDim):
                value, rest = divmod(small - size.entry.offset, size.entry.coefficient)
            if not rest and value not in values:
                values.append(value)
    numbers = {size.symbol for size in inputs.dynamic if size.axis is None}
    return {symbol: values for symbol, values in found.items() if symbol not in numbers and values}


def _pairs_left_out(facts: Facts, let_in: list[Fixed]) -> Iterator[Fixed]:
    for one, other in itertools.combinations(let_in, 2):
        both = one | other
        if len(both) > len(one) and leaves_out(facts, both):
            yield both


def _probe(
    captured: Capture,
    fixed: Fixed,
    read: Callable[[RunOptions], tuple[Inputs, Facts]],
    run: Callable[..., Any],
    options: RunOptions,
) -> Different | None:
    """Run the module with these sizes, and let them in; or say what it does differently."""
    try:
        needed = replayed(captured, fixed)
        if needed is not None and relax(captured.facts, fixed, needed):
            return None
        settled = followers(captured.facts, fixed)
        names = {captured.inputs.names[symbol]: value for symbol, value in settled.items()}
        inputs, facts = read(replace(options, fixed=names))
        values = _values(captured.inputs, inputs, settled)
        follower = partial(Follower, expected=captured, values=values)
        found = run(inputs, facts, recording=follower)
        if found.captured is None or found.harm:
            return Different("changes the module")
        found.captured.recorder.finish(found.captured)
    except Different as difference:
        return difference
    except Exception as error:  # noqa: BLE001 - user code may raise anything at a size of 0 or 1
        return _failure(error)
    back = {mine: symbol for symbol, mine in values.items() if isinstance(mine, Expr)}
    captured.facts.lean_on(back[symbol] for symbol in facts.sizes_leaned_on if symbol in back)
    if relax(captured.facts, fixed, list(_translated(facts.guards, back))):
        return None
    return Different("needs other sizes to be what they are not elsewhere")


def _is_let_in_unrun(captured: Capture, fixed: Fixed) -> bool:
    """Let the size in if what is written down is enough to know that it makes no difference."""
    try:
        needed = replayed(captured, fixed)
    except Different:
        return False
    return needed is not None and relax(captured.facts, fixed, needed)


def _values(general: Inputs, special: Inputs, settled: Fixed) -> dict[Expr, Int]:
    """What the symbols of the general run are in the special one."""
    symbols = {name: symbol for symbol, name in special.names.items()}
    return {
        symbol: settled.get(symbol, symbols.get(name, 0)) for symbol, name in general.names.items()
    }


def _translated(guards: list[Guard], back: Mapping[Expr, Int]) -> Iterator[Guard]:
    for guard in guards:
        relation = substitute_relation(guard.relation, back)
        if isinstance(relation, Relation):
            yield Guard(relation, guard.origin)


def _failure(error: Exception) -> Different:
    if isinstance(error, MonographError):
        diagnostic = error.problems[0].diagnostic
        return Different(f"is refused: {diagnostic.headline}", diagnostic.at)
    text = str(error).split("\n", 1)[0]
    return Different(f"raises {type(error).__name__}: {text}", raised_at(error))
