"""Commands that explain: the pages of error names, the cases of ExportDB, the installation."""

from __future__ import annotations

import json

from monograph.cli.output import RIGHT, WRONG, say, verb
from monograph.diagnostics import nearest, page_names
from monograph.factories import NotThereError
from monograph.lazy_imports import deferred

_page = deferred("monograph.diagnostics:explain")
_search = deferred("monograph.exportdb:search")
_diagnosis = deferred("monograph.doctor:diagnosis")


@verb
def explain(name: str, *, as_json: bool = False) -> int:
    """Print the page of an error name."""
    if name not in page_names():
        near = nearest(name, page_names())
        hint = f"; did you mean {near}?" if near else ""
        raise NotThereError(f"no error is called {name}{hint}")
    page = _page(name)
    record = {"name": name, "case": name, "file": f"docs/errors/{name}.md", "page": page}
    case = f'In ExportDB: exportdb.cases["{name}"], {record["file"]}'
    say(json.dumps(record, indent=1) if as_json else f"{page}\n{case}")
    return RIGHT


@verb
def examples(
    words: str = "", *, tag: str | None = None, unsupported: bool = False, as_json: bool = False
) -> int:
    """List the cases of ExportDB that have all words, by name, with what they show."""
    found = [
        case
        for case in _search(words)
        if (tag is None or tag in case.tags) and (case.error or not unsupported)
    ]
    if not found:
        raise NotThereError("no case has all of that")
    if as_json:
        names = ("name", "text", "tags", "support", "error", "page")
        say(json.dumps([{each: getattr(case, each) for each in names} for case in found], indent=1))
        return RIGHT
    width = max(len(case.name) for case in found)
    for case in found:
        refused = f" (refused: {case.error}, {case.page})" if case.error else ""
        say(f"{case.name.ljust(width)}  {case.text}{refused}")
    return RIGHT


@verb
def doctor(*, as_json: bool = False) -> int:
    """Say what is installed and whether it works; give the exit status of the process."""
    text, works = _diagnosis()
    say(json.dumps({"works": works, "lines": text.split("\n")}, indent=1) if as_json else text)
    return RIGHT if works else WRONG


__all__ = ["doctor", "examples", "explain"]
