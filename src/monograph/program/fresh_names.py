"""Unique names for what is generated: variables of Python text, nodes of graphs, operators."""

from __future__ import annotations

import itertools
import keyword
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monograph.abstract.aliasing import aliasing_of
from monograph.capture.recording.graph_writer import identifier
from monograph.host.dispatch import overloads_named, schema_of

if TYPE_CHECKING:
    from monograph.host.operator_types import OpOverload


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


def operator_name(target: OpOverload) -> str:
    """How an operator is called: without the overload where no other could be meant.

    >>> import torch
    >>> operator_name(torch.ops.aten.linear.default), operator_name(torch.ops.aten.add.Tensor)
    ('aten.linear', 'aten.add.Tensor')
    """
    namespace, _, name = schema_of(target).name.partition("::")
    home = "aten" if namespace == "aten" else f"torch.ops.{namespace}"
    overload = str(target).rpartition(".")[2]
    others = [each for each in overloads_named(namespace, name) if each is not target]
    if overload == "default" and all(aliasing_of(each).outs for each in others):
        return f"{home}.{name}"
    if keyword.iskeyword(overload):
        return f"getattr({home}.{name}, '{overload}')"
    return f"{home}.{name}.{overload}"


__all__ = ["Names", "operator_name"]
