"""An estimate as text, JSON and HTML: the same tables, by operator and by module."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from monograph.pages.document_page import tables_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.estimation.estimate import Estimate
    from monograph.integers import Int

DEPTH: Final = 3
"""Modules nested deeper are in JSON alone."""
LONG: Final = 80
"""A formula with more characters is cut in tables of text."""
UNITS: Final = ("", "k", "M", "G", "T", "P", "E")


def as_text(found: Estimate) -> str:
    """The totals, then what each operator and each module costs."""
    lines = [f"{name:<12} {value}" for name, value in _totals(found)]
    for title, head, rows in _tables(found):
        cut = [
            [cell if len(cell) <= LONG else f"{cell[: LONG - 1]}…" for cell in row] for row in rows
        ]
        widths = [max(map(len, column)) for column in zip(head, *cut, strict=True)]
        lines += ["", title]
        for row in (head, *cut):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append(f"  {'  '.join(cells).rstrip()}")
    return "\n".join([*lines, *[f"note: {note}" for note in found.notes]])


def as_html(found: Estimate) -> str:
    """The same, without scripts or outside resources."""
    tables = [("", ("", "estimate"), _totals(found)), *_tables(found)]
    return tables_body(found.notes, tables)


def as_json(found: Estimate) -> str:
    """Everything: totals, a row per call and per module."""

    def value(each: Int) -> Any:
        return each if isinstance(each, int) else found.text(each)

    peaks = {point.node: value(point.live) for point in found.peaks}
    return json.dumps(
        {
            "sizes": list(found.sizes),
            "parameters": found.parameters,
            "state": found.state,
            "inputs": value(found.inputs),
            "flops": value(found.flops),
            "moved": value(found.moved),
            "activations": value(found.activations),
            "memory": value(found.memory),
            "peaks": peaks,
            "notes": list(found.notes),
            "operators": [
                {
                    "node": row.node,
                    "operator": row.operator,
                    "module": row.module,
                    "flops": value(row.flops),
                    "read": value(row.read),
                    "written": value(row.written),
                }
                for row in found.operators
            ],
            "modules": [
                {
                    "module": row.module,
                    "class": row.kind,
                    "parameters": row.parameters,
                    "flops": value(row.flops),
                    "moved": value(row.moved),
                }
                for row in found.by_module()
            ],
        },
        indent=1,
    )


def _totals(found: Estimate) -> list[tuple[str, str]]:
    where = f" ({found.peaks[0].node})" if len(found.peaks) == 1 else ""
    return [
        ("sizes", ", ".join(found.sizes) or "all fixed"),
        ("parameters", f"{found.parameters:,}"),
        ("state", _bytes(found, found.state)),
        ("inputs", _bytes(found, found.inputs)),
        ("activations", f"{_bytes(found, found.activations)}{where}"),
        ("memory", _bytes(found, found.memory)),
        ("FLOPs", _number(found, found.flops, "FLOP")),
        ("moved", _bytes(found, found.moved)),
    ]


def _tables(found: Estimate) -> list[tuple[str, Sequence[str], list[Sequence[str]]]]:
    operators: list[Sequence[str]] = [
        (name, str(n), found.text(flops), found.text(moved))
        for name, (n, flops, moved) in found.by_operator().items()
        if moved != 0 or flops != 0
    ]
    modules: list[Sequence[str]] = [
        (
            row.module or "(all)",
            row.kind,
            f"{row.parameters:,}",
            found.text(row.flops),
            found.text(row.moved),
        )
        for row in found.by_module()
        if row.module.count(".") < DEPTH
    ]
    return [
        ("by operator", ("operator", "calls", "FLOPs", "bytes"), operators),
        ("by module", ("module", "class", "parameters", "FLOPs", "bytes"), modules),
    ]


def _number(found: Estimate, value: Int, unit: str) -> str:
    """A number as people say it, a formula as it is."""
    if not isinstance(value, int):
        return found.text(value)
    shown, index = float(value), 0
    while abs(shown) >= 1000 and index < len(UNITS) - 1:
        shown, index = shown / 1000, index + 1
    return f"{shown:.4g} {UNITS[index]}{unit}"


def _bytes(found: Estimate, value: Int) -> str:
    return _number(found, value, "B") if isinstance(value, int) else f"{found.text(value)} bytes"


__all__ = ["as_html", "as_json", "as_text"]
