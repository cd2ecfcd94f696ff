# ruff: noqa: T201  (it is told at the terminal)
"""Random programs by the thousand: `python -m tests.drawn --count 20000 --jobs 2`.

Some are run again by their numbers, and told: `python -m tests.drawn 3160 4143`.
"""

import argparse
import collections
import multiprocessing
import random
import re
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.drawn.known import is_known
from tests.drawn.reducing import kind_of, reduced
from tests.drawn.running import (
    AGREES,
    FORMS,
    INTERNAL,
    REFUSED,
    UNDETERMINED,
    WRONG,
    drawn,
    verdicts,
)

BLOCK = 50
FAULTS = (WRONG, INTERNAL)
SHOWN = 12

Counts = collections.Counter[tuple[str, ...]]
Fault = tuple[tuple, str]
"""What faults of one kind have in common, and the smallest program that has it."""


def forms_of(number: int) -> list[str]:
    """As exported under the interpreter, and one or two forms in turn."""
    rng = random.Random(number)
    return ["strict", *rng.sample([*FORMS][1:], 1 if rng.random() < 0.6 else 2)]


def run(numbers: Sequence[int], forms: Sequence[str], skip: str) -> tuple[Counts, list[Fault]]:
    """What became of these programs, and each kind of fault once, with its text."""
    warnings.simplefilter("ignore")
    counts: Counts = collections.Counter()
    found: dict[tuple, str] = {}
    for number in numbers:
        program = drawn(number)
        if skip and re.search(skip, program.source):
            continue
        counts["programs",] += 1
        for verdict in verdicts(program, list(forms) or forms_of(number)):
            at = "exported" if verdict.call < 0 else "called"
            kind = verdict.kind
            if kind in FAULTS and is_known(program, verdict):
                kind = "known"
            counts[verdict.form, at, kind] += 1
            if at == "exported" and kind == REFUSED and verdict.form == "strict":
                counts["refused", verdict.why] += 1
            if kind in FAULTS and kind_of(verdict)[1:] not in found:
                found[kind_of(verdict)[1:]] = (
                    f"# {number}\n{reduced(program, verdict).told()}\n>>> {verdict}"
                )
    return counts, [*found.items()]


def tell(numbers: Sequence[int], forms: Sequence[str]) -> None:
    """Print programs and all their verdicts."""
    for number in numbers:
        program = drawn(number)
        print(program.told())
        for verdict in verdicts(program, list(forms) or forms_of(number)):
            print(verdict)


def in_blocks(numbers: range, options: argparse.Namespace) -> Iterator[tuple[Counts, list[Fault]]]:
    """Run them in as many processes as there are jobs."""
    blocks = [numbers[at : at + BLOCK] for at in range(0, len(numbers), BLOCK)]
    if options.jobs == 1:
        yield from (run(each, options.forms, options.skip) for each in blocks)
        return
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        waiting = [pool.submit(run, each, options.forms, options.skip) for each in blocks]
        for each in as_completed(waiting):
            yield each.result()


def table(counts: Counts) -> str:
    """Forms by verdicts: exports, then calls."""
    kinds = (AGREES, REFUSED, "raises", UNDETERMINED, "known", *FAULTS)
    lines = [f"{'':28}" + "".join(f"{kind:>15}" for kind in kinds)]
    for form in FORMS:
        for at in ("exported", "called"):
            row = [counts[form, at, kind] for kind in kinds]
            if any(row):
                lines.append(f"{form + ' ' + at:28}" + "".join(f"{n:15,}" for n in row))
    reasons = [(n, key[1]) for key, n in counts.items() if key[0] == "refused"]
    lines.append(", ".join(f"{why} {n}" for n, why in sorted(reasons, reverse=True)))
    return "\n".join(lines)


def main() -> int:
    """Run what is asked for; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", help="programs to tell")
    parser.add_argument("--first", type=int, help="the first number; any, where none is given")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--forms", nargs="*", default=[])
    parser.add_argument("--skip", default="", help="leave out programs in which this is found")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.numbers:
        tell(options.numbers, options.forms)
        return 0
    first = random.SystemRandom().randrange(1 << 40) if options.first is None else options.first
    print(f"{options.count} random programs, from number {first}", flush=True)
    began, counts, found = time.perf_counter(), collections.Counter(), {}
    for more, faults in in_blocks(range(first, first + options.count), options):
        counts += more
        for kind, text in faults:
            if kind not in found and len(found) < SHOWN:
                print("-" * 100, text, sep="\n", flush=True)
            found.setdefault(kind, text)
    print(table(counts))
    strict = {kind: counts["strict", "exported", kind] for kind in (AGREES, REFUSED)}
    share = strict[AGREES] / max(sum(strict.values()), 1)
    print(
        f"{counts['programs',]} programs from number {first}: {share:.0%} captured, "
        f"{len(found)} kinds of faults, {time.perf_counter() - began:.0f} s"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
