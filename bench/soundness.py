"""Call probing programs of both exporters with inputs unlike the example, and count by row.

    python -m bench.soundness [--form NAME] [--only REGEX] [--append]

The probes are those of tests/contract. torch.export is given every benefit: whatever it raises, at
the export or at a call, counts as a refusal. `--form` picks ours: plain, strict, decomposed, ...
"""

import argparse
import collections
import re
import warnings

from bench.results import Results
from tests.contract import test_probes  # noqa: F401  importing registers the probes
from tests.contract.forms import FORMS, Form, peer_form
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, Verdict, exported, judged
from tests.contract.registry import PROBES, ROWS, Probe

KINDS = (AGREES, REFUSED, FAILS, WRONG)
Counts = dict[str, collections.Counter]


def verdicts(probe: Probe, form: Form) -> dict[str, Verdict]:
    """Judge each call of one probe; every call of a refused export is refused."""
    program, export = exported(probe, form)
    if program is None:
        return dict.fromkeys(probe.calls, export)
    return {name: judged(probe, program, form, call) for name, call in probe.calls.items()}


def survey(form: Form, only: str) -> tuple[Counts, list[str], int]:
    """Count verdicts by row; name what is wrong; count the programs with a wrong call."""
    counts: Counts = {row: collections.Counter() for row in ROWS}
    wrong, programs = [], 0
    for probe in PROBES.values():
        if not re.search(only, f"{probe.row}/{probe.name}"):
            continue
        found = verdicts(probe, form)
        counts[probe.row].update(verdict.kind for verdict in found.values())
        bad = [name for name, verdict in found.items() if verdict.kind == WRONG]
        programs += bool(bad)
        wrong += [f"{form.name}: {probe.row}/{probe.name}/{name}" for name in bad]
    return counts, wrong, programs


def rows(ours: Counts, theirs: Counts) -> list[tuple[str, ...]]:
    """One line for each row of the table, and the sum."""
    both = [(row, ours[row], theirs[row]) for row in ROWS if ours[row]]
    total = [
        sum((counts for _, *pair in both for counts in [pair[side]]), collections.Counter())
        for side in (0, 1)
    ]
    return [
        (row, str(sum(one.values())), *(str(each[kind]) for each in (one, other) for kind in KINDS))
        for row, one, other in [*both, ("all", *total)]
    ]


def main() -> None:
    """Run both, show both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", choices=FORMS, default="plain")
    parser.add_argument("--only", default="", help="a regular expression for row/name")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    ours, our_wrong, our_programs = survey(FORMS[options.form], options.only)
    theirs, their_wrong, their_programs = survey(peer_form(), options.only)
    probes = [p for p in PROBES.values() if re.search(options.only, f"{p.row}/{p.name}")]
    summary = (
        f"Of {len(probes)} programs, {our_programs} of ours and {their_programs} of torch's are"
        " silently wrong at some call."
    )
    columns = ("row", "calls")
    columns += tuple(f"{name} {kind.split()[-1]}" for name in ("ours", "torch") for kind in KINDS)
    results = Results(
        f"Right or refused: probing programs, {options.form} beside torch.export",
        columns,
        rows(ours, theirs),
        (summary,),
    )
    results.show()
    print("\n".join([*our_wrong, *their_wrong]))
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
