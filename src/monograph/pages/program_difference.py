"""The difference of two programs as their documents have it: which nodes correspond, which do not.

Two nodes are the same if they call one operator, in one module, for one line, with one type; a pass
that made a node of others says so (`from_node`), which links what is not the same.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.program import ExportedProgram


def mark_difference(
    before: dict[str, Any], after: dict[str, Any], program: ExportedProgram
) -> dict[str, int]:
    """Mark each node of two documents as `same` or not, and link it to its counterparts.

    `program` is that of the second document. Returns how many nodes each has alone.
    """
    waiting: defaultdict[Any, list[int]] = defaultdict(list)
    for number, node in enumerate(before["nodes"]):
        node.update(same=False, counterparts=[])
        waiting[_key(before, node)].append(number)
    for each in waiting.values():
        each.reverse()
    for number, node in enumerate(after["nodes"]):
        candidates = waiting.get(_key(after, node))
        node.update(same=bool(candidates), counterparts=[])
        if candidates:
            other = candidates.pop()
            before["nodes"][other]["same"] = True
            _link(before, other, after, number)
    _link_what_was_made(before, after, program)
    removed, added = (sum(not node["same"] for node in each["nodes"]) for each in (before, after))
    return {"removed": removed, "added": added}


def _link_what_was_made(
    before: dict[str, Any], after: dict[str, Any], program: ExportedProgram
) -> None:
    """Link what the last pass made to what it was made of, by name; without that, by line."""
    made_of = {
        node.name: [each.name for each in node.meta.get("from_node") or ()]
        for node in program.graph.nodes
    }
    by_name: dict[str, int] = {}
    by_place: defaultdict[Any, list[int]] = defaultdict(list)
    for number, node in enumerate(before["nodes"]):
        by_name.setdefault(node["name"], number)
        if not node["same"]:
            by_place[_origin(before, node)].append(number)
    for number, node in enumerate(after["nodes"]):
        if node["same"]:
            continue
        named: Sequence[int] = [by_name[x] for x in made_of.get(node["name"], ()) if x in by_name]
        origin = _origin(after, node)
        for other in named or (by_place.get(origin, ()) if origin[1] else ()):
            _link(before, other, after, number)


def _link(before: dict[str, Any], other: int, after: dict[str, Any], number: int) -> None:
    before["nodes"][other]["counterparts"].append(number)
    after["nodes"][number]["counterparts"].append(other)


def _key(document: dict[str, Any], node: dict[str, Any]) -> Any:
    operator = node["operator"]
    called = node["name"] if operator < 0 else document["operators"][operator]["name"]
    return (*_origin(document, node), node["kind"], called, repr(node["types"]))


def _origin(document: dict[str, Any], node: dict[str, Any]) -> tuple[str, str]:
    """The regions that a node is in, sections left out, and the user's lines."""
    path: list[str] = []
    region = node["region"]
    while region:
        label, kind, region, _ = document["regions"][region]
        if kind == "module":
            path.append(label)
    lines = document["places"][node["place"]] if node["place"] >= 0 else []
    return "/".join(path), repr([(each["file"], each["line"]) for each in lines])


__all__ = ["mark_difference"]
