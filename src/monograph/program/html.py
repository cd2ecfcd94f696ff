"""HTML of a program, for notebooks: summary, signature, contract, code."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from monograph.program.contract import tables
from monograph.program.printing import type_text
from monograph.program.signature import InputKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monograph.program.contract import Contract
    from monograph.program.export_report import Report
    from monograph.program.program import ExportedProgram

STYLE = "text-align:left;font-family:monospace;padding:0 1em 0 0"


def program_html(program: ExportedProgram) -> str:
    """Return the program as HTML without scripts or outside resources."""
    signature = program.graph_signature
    types = {node.name: type_text(node.meta.get("val")) for node in program.graph.nodes}
    inputs = [
        (spec.arg.name, spec.kind.name, types.get(spec.arg.name, ""), spec.target or "")
        for spec in signature.input_specs
        if spec.kind is InputKind.USER_INPUT
    ]
    state = [
        (spec.arg.name, spec.kind.name, types.get(spec.arg.name, ""), spec.target or "")
        for spec in signature.input_specs
        if spec.kind is not InputKind.USER_INPUT
    ]
    outputs = [
        (spec.arg.name, spec.kind.name, types.get(spec.arg.name, ""), spec.target or "")
        for spec in signature.output_specs
    ]
    code = program.graph_module.print_readable(print_output=False)
    return "".join(
        [
            f"<div><b>ExportedProgram</b> {escape(summary(program))}",
            _table(("input", "kind", "type", "target"), inputs),
            _table(("output", "kind", "type", "target"), outputs),
            _folded(f"state ({len(state)})", _table(("name", "kind", "type", "target"), state)),
            _folded("contract", contract_html(program.contract)),
            _report_folded(program.report),
            _folded("code", f"<pre>{escape(code)}</pre>"),
            "</div>",
        ]
    )


def contract_html(contract: Contract) -> str:
    """Return the contract as tables."""
    return "".join(_table((title,), rows) for title, rows in tables(contract) if rows)


def report_html(report: Report) -> str:
    """Return what an export found out as a list per kind, under its title."""
    lines = str(report).split("\n")
    rows = [
        f"<li>{escape(x.strip())}</li>" if x[:1] == " " else f"<b>{escape(x)}</b>" for x in lines
    ]
    return f"<div>{''.join(rows)}</div>"


def _report_folded(report: Report) -> str:
    """The report of a draft, or of an export that found something; else nothing."""
    n = len(report.problems)
    is_empty = str(report) == "nothing to report"
    title = f"report ({n} problem{'' if n == 1 else 's'})" if n else "report"
    return "" if is_empty else _folded(title, report_html(report))


def program_line(program: ExportedProgram) -> str:
    """Return the program in one line: how large it is, and what it takes."""
    inputs = repr(program.contract).removeprefix("<Contract ")
    return f"<ExportedProgram {summary(program)}; {inputs}"


def summary(program: ExportedProgram) -> str:
    """Return how large the program is, in one line."""
    calls = sum(node.op == "call_function" for node in program.graph.nodes)
    n_parameters = sum(parameter.numel() for parameter in program.parameters())
    return f"{calls} operators, {n_parameters:,} parameters"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f'<th style="{STYLE}">{escape(title)}</th>' for title in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{STYLE}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"
