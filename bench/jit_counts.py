"""Graphs and graph breaks of the programs in `tests/jit`, ours and those of `torch.compile`.

    python -m bench.jit_counts [--accept]

Counted over the six calls of each program: how many graphs are compiled, and at how many places of
the program a graph breaks, by file and line. A function that torch gives up is one break. Where
what torch compiles gives other results than eager code, that is said in place of its counts.
`--accept` writes them to `tests/jit/counts.json`, where a test holds ours.
"""

import argparse
import json
import logging
import warnings
from pathlib import Path

import torch
import torch._dynamo

from monograph.jit import optimize
from tests.jit.more_programs import PROGRAMS
from tests.jit.running import run

FILE = Path("tests/jit/counts.json")


def ours(name):
    """Graphs and places of breaks."""
    optimizer = optimize()
    run(PROGRAMS[name], optimizer)
    graphs = sum(sum(table.graphs) for table in optimizer.tables)
    return graphs, len({place for table in optimizer.tables for _, place in table.breaks})


def theirs(name):
    """The same of torch.compile, with whether it gave functions up."""
    torch.compiler.reset()
    counters = torch._dynamo.utils.counters  # noqa: SLF001 - where it counts
    counters.clear()
    PLACES.clear()
    compiled = []

    def count(graph, _inputs):
        compiled.append(graph)
        return graph.forward

    found = run(PROGRAMS[name], lambda each: torch.compile(each, backend=count))
    if str(found) != str(run(PROGRAMS[name], lambda each: each)):
        return "differs", "differs"
    frames = counters["frames"]
    return len(compiled), max(len(PLACES), int(frames["total"] > frames["ok"]))


PLACES = set()
_TRANSLATOR = torch._dynamo.symbolic_convert.InstructionTranslatorBase  # noqa: SLF001 - see above
_LOG = _TRANSLATOR.log_graph_break


def _note(translator, code_options, reason, exc):
    """Note the place of a break, as torch finds it."""
    stack = getattr(exc, "real_stack", None)
    if stack is None:
        stack = torch._guards.TracingContext.extract_stack()  # noqa: SLF001 - as torch does
    if stack:
        PLACES.add((stack[-1].filename, stack[-1].lineno))
    else:
        PLACES.add((code_options["co_filename"], code_options["co_firstlineno"]))
    return _LOG(translator, code_options, reason, exc)


_TRANSLATOR.log_graph_break = _note


def main():
    """Print the counts, and perhaps keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true")
    accept = parser.parse_args().accept
    warnings.simplefilter("ignore")
    logging.getLogger("torch").setLevel(logging.CRITICAL)  # what programs log is theirs

    found = {}
    for name in PROGRAMS:
        graphs, breaks = ours(name)
        try:
            their_graphs, their_breaks = theirs(name)
        except Exception as error:  # noqa: BLE001 - it fails on some
            their_graphs = their_breaks = f"raises {type(error).__name__}"
        found[name] = [graphs, breaks, their_graphs, their_breaks]
        print(f"{name:36}{graphs:8}{breaks:8}{their_graphs:>24}{their_breaks:>24}")
    both = [each for each in found.values() if isinstance(each[3], int)]
    print("breaks", sum(each[1] for each in both), "beside", sum(each[3] for each in both))
    print("graphs", sum(each[0] for each in both), "beside", sum(each[2] for each in both))
    if accept:
        text = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()
        )
        FILE.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
