"""The cache of templates and recorded formulas, kept for one lowering or for a table.

At fixed sizes a template depends on nothing of a program, so it is kept with the table that led to
it and serves every program; what depends on a program's sizes is kept for one lowering.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor_type import TensorType
from monograph.host.fx_nodes import last_node
from monograph.integers import Expr, Facts, Real, Relation
from monograph.passes.decomposition.templates import Template, template_from
from monograph.passes.graph_builder import GraphBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx.node import Node

    from monograph.passes.formulas import Formula

_MOST: Final = 10_000
"""Templates kept beyond a lowering; more than a hundred large models make."""


@dataclass(slots=True)
class StaticTemplates:
    """What holds at fixed sizes, and why operators have no template; for one table as it is."""

    templates: dict[Any, Template | None] = field(default_factory=dict[Any, "Template | None"])
    formulas: dict[Any, Formula] = field(default_factory=dict[Any, "Formula"])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    facts: Facts = field(default_factory=Facts)


class TemplateCache:
    """What one lowering remembers."""

    def __init__(self, static: StaticTemplates) -> None:
        self.static = static
        self._ambient = ambient()
        self._formulas: dict[Any, Formula] = {}
        self._templates: dict[Any, Template | None] = {}

    def keep(self, key: Any, template: Template | None, *, is_static: bool) -> None:
        """Remember a template, or that there is none."""
        if is_static:
            _put(self.static.templates, (self._ambient, key), template)
        else:
            self._templates[key] = template

    def find(self, key: Any, default: Any) -> Any:
        """The template of a call, or the default."""
        found = self._templates.get(key, default)
        if found is default:
            return self.static.templates.get((self._ambient, key), default)
        return found

    def keep_formula(self, key: Any, formula: Formula, *, is_static: bool) -> None:
        """Remember a formula that was run."""
        if is_static:
            _put(self.static.formulas, (self._ambient, key), formula)
        else:
            self._formulas[key] = formula

    def find_formula(self, key: Any) -> Formula | None:
        """The formula of a call, if it was run."""
        return self._formulas.get(key) or self.static.formulas.get((self._ambient, key))


def _put(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= _MOST:
        kept.clear()
    kept[key] = value


def ambient() -> tuple[Any, ...]:
    """What composite operators consult beside their arguments."""
    cuda = torch.backends.cuda
    return (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
    )


def is_static(types: Any) -> bool:
    """Whether arguments have no size or number that varies."""
    for value in types:
        if isinstance(value, TensorType):
            sizes = (*value.shape, *(value.strides or ()), value.offset)
            if any(type(size) is not int for size in sizes):
                return False
        elif isinstance(value, Expr | Real | Relation) or (
            isinstance(value, list | tuple) and not is_static(value)
        ):
            return False
    return True


def write_first(
    write: Callable[[], Any],
    tensors: list[Node],
    key: Any,
    builder: GraphBuilder,
    cache: TemplateCache,
) -> Any:
    """Let `write` write to the builder, and remember what it wrote as made of these tensors.

    The first call of its kind is written straight into the graph, and is the template of the next;
    only where what is written depends on types alone, all sizes are fixed, and nothing of it is
    unused: the graph has the same nodes under the same names, whether a process met such a call
    before or not.

    Gives its results, `NotImplemented` if it wrote nothing. A tensor given twice leaves open which
    of both a node takes, so there is nothing to remember then.
    """
    begin = last_node(builder.writer.graph)
    results = write()
    if results is not NotImplemented and len({*tensors}) == len(tensors):
        describe = GraphBuilder(cache.static.facts, builder.writer).described_anew
        template = template_from(tensors, _after(begin), results, describe)
        cache.keep(key, template, is_static=True)
    return results


def _after(node: Node) -> Iterator[Node]:
    while node.next.op != "root":
        node = node.next
        yield node
