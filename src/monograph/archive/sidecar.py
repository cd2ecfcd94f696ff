"""The sidecar of a program, which only we read: contract, provenance, names, report.

It stands in `extra/monograph.<model>.json`, beside the program it belongs to, and says the checksum
of that program: a contract is never applied to a graph that somebody else changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.abstract.symbols import to_sym
from monograph.archive.contract_validation import check_contract, check_names
from monograph.archive.errors import Refused
from monograph.archive.schema.dataclass_fields import RecordReader, RecordWriter
from monograph.archive.schema.graph_reading import node_metadata
from monograph.archive.schema.json_fields import (
    boolean,
    identifier,
    integer,
    listed,
    mapping,
    one_line,
    qualified_name,
    text,
)
from monograph.archive.schema.symbols import SymbolReader, SymbolWriter
from monograph.archive.source_paths import located
from monograph.archive.versions import FORMAT, upgraded
from monograph.diagnostics import Place
from monograph.passes.graph_walks import graph_modules
from monograph.program import CallNames, Contract, Report
from monograph.program.dialect import ATEN, CORE_ATEN, REASONS, TRAINING

if TYPE_CHECKING:
    import torch

    from monograph.archive.budget import Budget
    from monograph.archive.schema.graph_writing import SidecarValues
    from monograph.archive.schema.values import Json
    from monograph.program import ExportedProgram

DIALECTS = (TRAINING, ATEN, CORE_ATEN)


# ---------------------------------------------------------------------------------------- writing
def sidecar_json(
    program: ExportedProgram,
    symbols: SymbolWriter,
    crc: int,
    aliases: Json,
    beside: SidecarValues,
    outside: Json | None = None,
) -> Json:
    """The record of a program, to stand beside its graph.

    Raises: Refused.
    """
    records = RecordWriter(symbols.expressions, symbols.name)
    contract = records.write(program.contract)
    stated = symbols.stated(records)
    frames = _frames(program.graph_module, records)
    return {
        "format": FORMAT,
        "program": crc,
        "symbols": symbols.table(),
        "stated": stated,
        "contract": contract,
        "call_names": records.write(program.call_names),
        "report": records.write(program.report),
        "mutated_in_place": program.graph_signature.mutated_in_place,
        "training": program.training,
        "dialect": program.dialect,
        "aliases": aliases,
        # Files without it are as they were before there were weights in other files.
        **({} if outside is None else {"outside": outside}),
        "frames": frames,
        "reasons": program.graph_module.meta.get(REASONS, {}),
        "values": beside.values,
        "items": beside.items,
        "places": [
            [
                beside.paths.name(each.file),
                *(each.line, each.end_line, each.column, each.end_column, each.function),
            ]
            for each in records.places
        ],
    }


def _frames(module: torch.nn.Module, records: RecordWriter) -> Json:
    """For each graph by its path: runs of lines, and which run each node has."""
    runs: dict[tuple[int, ...], int] = {}
    graphs: dict[str, dict[str, int]] = {}
    numbered: dict[int, int] = {}
    for path, each in graph_modules(module):
        found: dict[str, int] = {}
        for node in each.graph.nodes:
            frames = node.meta.get("frames")
            if frames:
                number = numbered.get(id(frames))
                if number is None:
                    run = tuple([records.place(frame) for frame in frames])
                    number = numbered[id(frames)] = runs.setdefault(run, len(runs))
                found[node.name] = number
        graphs[path] = found
    return {"runs": [list(run) for run in runs], "graphs": graphs}


# ---------------------------------------------------------------------------------------- reading
@dataclass(frozen=True, slots=True)
class Sidecar:
    """A record that was read, but for the graph's own lines, which need the graph."""

    symbols: SymbolReader
    contract: Contract
    call_names: CallNames
    report: Report
    mutated_in_place: dict[str, str]
    training: bool
    dialect: str
    aliases: Json
    outside: Json | None
    frames: Json
    reasons: dict[str, str]
    values: Json
    items: Json
    places: tuple[Place, ...]


def read_sidecar(written: Any, crc: int, budget: Budget) -> Sidecar:
    """The record beside a program whose checksum this is.

    Raises: Refused.
    """
    record = upgraded(mapping(written))
    if integer(record["program"]) != crc:
        raise Refused("it belongs to another program than the one beside it")
    symbols = SymbolReader(budget)
    symbols.read_table(record["symbols"])
    places = tuple(_place(each) for each in listed(record["places"]))
    records = RecordReader(symbols.expressions, symbols.symbols, places)
    symbols.read_stated(record["stated"], records)
    dialect = text(record["dialect"])
    if dialect not in DIALECTS:
        raise Refused(f"{dialect[:40]!r} is no dialect of graphs")
    mutated = {
        identifier(name): text(target)
        for name, target in mapping(record["mutated_in_place"]).items()
    }
    contract: Contract = _record(records, record["contract"], Contract)
    check_contract(contract)
    names: CallNames = _record(records, record["call_names"], CallNames)
    check_names(names)
    return Sidecar(
        symbols=symbols,
        contract=contract,
        call_names=names,
        report=_record(records, record["report"], Report),
        mutated_in_place=mutated,
        training=boolean(record["training"]),
        dialect=dialect,
        aliases=_aliases(mapping(record["aliases"])),
        outside=record.get("outside"),
        frames=mapping(record["frames"]),
        reasons={text(k): text(v) for k, v in mapping(record["reasons"]).items()},
        values=mapping(record["values"]),
        items=mapping(record["items"]),
        places=places,
    )


def _record(records: RecordReader, written: Any, kind: type[Any]) -> Any:
    return records.record(mapping(written)["record"], kind)


def _place(written: Any) -> Place:
    file, line, end_line, column, end_column, function = listed(written)
    return Place(
        located(one_line(text(file))),
        integer(line, 0),
        integer(end_line, 0),
        None if column is None else integer(column, 0),
        None if end_column is None else integer(end_column, 0),
        one_line(text(function)),
    )


def _aliases(written: Json) -> Json:
    for tensors in written.values():
        for name in mapping(tensors):
            qualified_name(name)
    return written


def restore_values(module: torch.nn.Module, record: Sidecar) -> None:
    """Give the nodes back what the graph's JSON could not say.

    Raises: Refused.
    """
    if record.reasons:
        meta: Any = module.meta
        meta[REASONS] = record.reasons
    for path, each in graph_modules(module):
        values, items = mapping(record.values.get(path, {})), mapping(record.items.get(path, {}))
        if not values and not items:
            continue
        for node in each.graph.nodes:
            if node.name in values:
                relation = record.symbols.expressions.truth(text(values[node.name]))
                node.meta["val"] = to_sym(relation, record.symbols.facts)
            if node.name in items:
                for key in ("stack_trace", "nn_module_stack"):
                    node.meta.pop(key, None)
                node.meta.update(node_metadata(mapping(items[node.name])))


def restore_frames(module: torch.nn.Module, record: Sidecar) -> None:
    """Give the nodes back the lines that made them.

    Raises: Refused.
    """
    places = record.places
    runs = [
        tuple([places[integer(each, 0, len(places) - 1)] for each in listed(run)])
        for run in listed(record.frames["runs"])
    ]
    graphs = mapping(record.frames["graphs"])
    for path, each in graph_modules(module):
        found = mapping(graphs.get(path, {}))
        for node in each.graph.nodes:
            number = found.get(node.name)
            if number is not None:
                node.meta["frames"] = runs[integer(number, 0, len(runs) - 1)]


__all__ = ["Sidecar", "read_sidecar", "restore_frames", "restore_values", "sidecar_json"]
