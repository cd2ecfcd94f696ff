"""A report as one HTML page that needs nothing else: no network, no fonts, no libraries.

Style sheet and shell are those of all pages (`monograph.pages`).
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from monograph.pages.document_page import SEARCH, document_page, prose
from monograph.report.findings import findings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.report.findings import Excerpt, Finding, Source


def as_html(source: Source, *, title: str = "What the export found") -> str:
    """Return all findings as one HTML page with a table to search and sort them."""
    found = findings(source)
    sections = [_section(i, each) for i, each in enumerate(found)]
    table = _table(found) if found else "<p>nothing to report</p>"
    return document_page(title, "\n".join([table, *sections]))


def _table(found: Iterable[Finding]) -> str:
    rows = [
        f'<tr class="{each.level}" data-section="finding-{i}">'
        f"<td>{i + 1}</td><td>{each.level}</td>"
        f'<td><a href="#finding-{i}">{escape(each.name)}</a></td>'
        f"<td>{prose(each.headline)}</td><td>{escape(each.where.rpartition('/')[2])}</td>"
        f"<td>{each.times}</td></tr>"
        for i, each in enumerate(found)
    ]
    heads = ("#", "level", "name", "what", "where", "times")
    titles = "".join([f'<th><button type="button">{each}</button></th>' for each in heads])
    shown = f"<thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{SEARCH}<div class="wide"><table>{shown}</table></div>'


def _section(number: int, finding: Finding) -> str:
    parts = [
        f'<section id="finding-{number}" class="{finding.level}">',
        f"<h2><span>{finding.level}[{escape(finding.name)}]</span> {prose(finding.headline)}</h2>",
    ]
    if finding.at:
        parts.append(_excerpt(finding.at[0], finding.label))
    if len(finding.at) > 1:
        calls = "".join([f"<li>{_location(each)}</li>" for each in finding.at[1:]])
        parts.append(f"<details><summary>called from</summary><ol>{calls}</ol></details>")
    if finding.values:
        values = "".join([f"<li><code>{escape(each)}</code></li>" for each in finding.values])
        parts.append(f"<details open><summary>shapes</summary><ul>{values}</ul></details>")
    for each in finding.because:
        parts.append(f"<h3>because {prose(each.label)}</h3>")
        if each.at is not None:
            parts.append(_excerpt(each.at, ""))
    if finding.times > 1:
        parts.append(f"<p>This line was met {finding.times} times in one call of the model.</p>")
    parts += [f"<p>{prose(note)}</p>" for note in finding.notes]
    if finding.assumed:
        checked = "and checks it when it runs" if finding.is_checked else "and cannot check it"
        parts.append(f"<p>The program assumes {prose(finding.assumed)} {checked}.</p>")
    parts += [_help(each) for each in finding.helps]
    if finding.see:
        parts.append(f"<p>{escape(finding.see)}</p>")
    return "".join([*parts, "</section>"])


def _help(text: str) -> str:
    said, _, code = text.partition("\n")
    block = f'<pre class="code">{escape(code)}</pre>' if code else ""
    return f'<div class="help"><p>{prose(said)}</p>{block}</div>'


def _excerpt(at: Excerpt, label: str) -> str:
    where = at.place
    rows: list[str] = []
    for number, line in enumerate(at.lines, at.first):
        inside = where.line <= number <= where.end_line
        text = _marked(at, number, line) if inside else escape(line)
        kind = ' class="here"' if inside else ""
        rows.append(f"<span{kind}><i>{number:>5}</i> {text}\n</span>")
    said = f"<figcaption>{prose(label)}</figcaption>" if label else ""
    return f"<figure><p>{_location(at)}</p><pre>{''.join(rows)}</pre>{said}</figure>"


def _marked(at: Excerpt, number: int, line: str) -> str:
    """A line of source with the part that the place spans marked."""
    where = at.place
    if where.column is None or where.end_column is None:
        return escape(line)
    start = where.column if number == where.line else len(line) - len(line.lstrip())
    end = where.end_column if number == where.end_line else len(line)
    return f"{escape(line[:start])}<mark>{escape(line[start:end])}</mark>{escape(line[end:])}"


def _location(at: Excerpt) -> str:
    where = at.place
    function = "" if where.function == "<module>" else f" in <code>{escape(where.function)}</code>"
    return f"{escape(where.file)}:{where.line}{function}"


__all__ = ["as_html"]
