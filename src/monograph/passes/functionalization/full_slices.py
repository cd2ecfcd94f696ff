"""Identity slices: one index of several that takes all there is, or a view of the whole.

Python writes `x[:, 0]` as a slice and a selection. PyTorch records the slice only where sizes vary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.host.overloads import aten
from monograph.integers import active, eq, is_symbol, known

if TYPE_CHECKING:
    from torch.fx.node import Node


INDEXES: Final = frozenset(
    {aten.index.Tensor, aten.select.int, aten.slice.Tensor, aten.unsqueeze.default}
)
"""What one pair of brackets comes to, in steps."""


def is_whole(node: Node) -> bool:
    """Whether a slice has the sizes of what it is taken from, whatever they are.

    A length that is a symbol of its own is none of them.
    """
    source, dim, step = (
        _argument(node, 0, "self", None),
        _argument(node, 1, "dim", 0),
        _argument(node, 4, "step", 1),
    )
    before, after = (each.meta["val"].tensor_type.shape[dim] for each in (source, node))
    if step != 1 or (is_symbol(after) and active().depends_on_data(after)):
        return False
    return known(eq(before, after)) is True


def is_indexed_further(node: Node) -> bool:
    """Whether nothing but another index looks at a slice."""
    return bool(node.users) and all(
        user.target in INDEXES and user.args[0] is node for user in node.users
    )


def _argument(node: Node, place: int, name: str, default: Any) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)


__all__ = ["is_indexed_further", "is_whole"]
