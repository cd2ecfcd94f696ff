"""The region tree of a graph: modules by `nn_module_stack`, branches and loops, and sections.

A region is a subgraph that a reader can open or close. Law: every node is in one region, regions
nest, and none has more than `WIDEST` children: longer ones are cut into sections in the order of
the program, so that each is laid out in bounded time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDEST: Final = 40


@dataclass(slots=True)
class PageRegion:
    """One region; `kind` is module, operator (of control flow), branch, loop, body or section."""

    label: str
    kind: str
    parent: int | None = None
    detail: str = ""
    children: list[int] = field(default_factory=list[int])
    """Nodes as they are, regions as -1 - their number: in the order of the program."""


class RegionTree:
    """Regions by number; 0 is the program."""

    def __init__(self, label: str, detail: str) -> None:
        self.regions = [PageRegion(label, "program", None, detail)]
        self.region_of: dict[int, int] = {}
        self._entered: dict[tuple[int, str], int] = {}

    def add(self, label: str, kind: str, parent: int, detail: str = "") -> int:
        """Make a region, as the next child of its parent."""
        number = len(self.regions)
        self.regions.append(PageRegion(label, kind, parent, detail))
        self.regions[parent].children.append(-1 - number)
        return number

    def enter(self, region: int, stack: Iterable[tuple[str, tuple[str, Any]]]) -> int:
        """The region of a module call, within another region, by what of its stack is inside."""
        outer = ""
        for key, (path, kind) in stack:
            if not path:
                continue
            found = self._entered.get((region, key))
            if found is None:
                label = path.removeprefix(f"{outer}.") if outer else path
                found = self.add(label, "module", region, _class_name(kind))
                self._entered[region, key] = found
            region, outer = found, path
        return region

    def put(self, node: int, region: int) -> None:
        """Place a node, as the next child of its region."""
        self.region_of[node] = region
        self.regions[region].children.append(node)

    def cut_into_sections(self, names: Sequence[str]) -> None:
        """Give each region at most `WIDEST` children."""
        for number in range(len(self.regions)):
            while len(self.regions[number].children) > WIDEST:
                self._cut(number, names)

    def _cut(self, number: int, names: Sequence[str]) -> None:
        children = self.regions[number].children
        self.regions[number].children = []
        width = -(-len(children) // -(-len(children) // WIDEST))  # sections of about one length
        for start in range(0, len(children), width):
            part = children[start : start + width]
            label = f"{self._first(part[0], names)} … {self._last(part[-1], names)}"
            section = self.add(label, "section", number)
            self.regions[section].children = part
            for child in part:
                if child < 0:
                    self.regions[-1 - child].parent = section
                else:
                    self.region_of[child] = section

    def _first(self, child: int, names: Sequence[str]) -> str:
        return names[child] if child >= 0 else self.regions[-1 - child].label.partition(" … ")[0]

    def _last(self, child: int, names: Sequence[str]) -> str:
        return names[child] if child >= 0 else self.regions[-1 - child].label.rpartition(" … ")[2]


def _class_name(kind: Any) -> str:
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return name.rpartition(".")[2]


__all__ = ["WIDEST", "PageRegion", "RegionTree"]
