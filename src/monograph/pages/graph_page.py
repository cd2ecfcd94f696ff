"""The graph page: one HTML file with the document of a program, or two, and the scripts to see it.

Everything in the document is data: it stands in a script element that no browser runs, with `<`
escaped, so that no name and no line of source can end it; the scripts only make text of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.pages.graph_document import graph_document
from monograph.pages.program_difference import mark_difference
from monograph.pages.whole_page import asset, whole_page

if TYPE_CHECKING:
    import os

    from monograph.program import ExportedProgram

SCRIPTS: Final = ("sizes", "model", "layout", "canvas", "panel", "main")
"""The page's own scripts, in the order in which they need each other."""


def graph_page(
    program: ExportedProgram, *, beside: ExportedProgram | None = None, titles: tuple[str, ...] = ()
) -> str:
    """Return the graph page of a program, or of two side by side, as HTML."""
    both = [program] if beside is None else [program, beside]
    names = titles or (("program",) if beside is None else ("before", "after"))
    documents = [graph_document(each, title=name) for each, name in zip(both, names, strict=True)]
    found: dict[str, Any] = {"programs": documents}
    if beside is not None:
        found["difference"] = mark_difference(documents[0], documents[1], beside)
    return _page(" → ".join(names), found)


def write_graph_page(
    program: ExportedProgram,
    file: str | os.PathLike[str],
    *,
    beside: ExportedProgram | None = None,
    titles: tuple[str, ...] = (),
) -> Path:
    """Write the graph page of a program, or of two side by side; give the file."""
    path = Path(file)
    names = titles or ((path.stem,) if beside is None else ())
    path.write_text(graph_page(program, beside=beside, titles=names), encoding="utf-8")
    return path


def _page(title: str, document: dict[str, Any]) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    data = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    library = asset("dagre.min.js").partition("\n//# sourceMappingURL")[0]
    licence = asset("dagre.LICENSE.txt").strip()
    own = "\n".join(asset(f"graph/{name}.js") for name in SCRIPTS)
    document_element = f'<script type="application/json" id="document">{data}</script>'
    return whole_page(
        title,
        f"{asset('graph/graph.html')}\n{document_element}\n"
        f"<script>/*! dagre\n{licence}\n*/\n{library}</script>",
        style=asset("graph/graph.css"),
        script=own,
    )


__all__ = ["graph_page", "write_graph_page"]
