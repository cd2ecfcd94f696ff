"""The first call of its kind is written straight into the graph, and is the template of the next.

Only where what is written depends on types alone, all sizes are fixed, and nothing of it is unused:
the graph has the same nodes under the same names, whether a process met such a call before or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.host.fx_nodes import last_node
from monograph.passes.decomposition.templates import template_from
from monograph.passes.graph_builder import GraphBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx.node import Node

    from monograph.passes.decomposition.template_cache import TemplateCache


def write_first(
    write: Callable[[], Any],
    tensors: list[Node],
    key: Any,
    builder: GraphBuilder,
    cache: TemplateCache,
) -> Any:
    """Let `write` write to the builder, and remember what it wrote as made of these tensors.

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


__all__ = ["write_first"]
