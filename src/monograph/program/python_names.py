"""Names for what is written anew: variables of Python text, nodes of graphs."""

from __future__ import annotations

import itertools
import keyword
from dataclasses import dataclass, field

from monograph.capture.graph_writer import identifier


@dataclass(slots=True)
class Names:
    """Names that are Python's, each given once."""

    taken: set[str] = field(default_factory=set[str])

    def fresh(self, wanted: str) -> str:
        """This name, or one like it."""
        name = identifier(wanted)
        name = f"{name}_" if keyword.iskeyword(name) else name
        free = name
        for number in itertools.count(1):
            if free not in self.taken:
                break
            free = f"{name}_{number}"
        self.taken.add(free)
        return free


__all__ = ["Names"]
