"""ShapesCollection: declare sizes tensor by tensor, however deep in the inputs the tensors are.

A tensor is known by identity: `shapes[x]` is about the object `x`, wherever it is among the inputs.
Equal ints are one object, so an int that differs between calls is wrapped in an `IntInput`, in the
declaration and in the example inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.dims.arguments import bound_arguments
from monograph.dims.nesting import IntInput, is_int_input, nested
from monograph.host.trees import tree_map
from monograph.keyword_aliases import also_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def unwrapped(inputs: Any) -> Any:
    """The inputs with an int for each that stands for one.

    >>> unwrapped((IntInput(3), [4]))
    (3, [4])
    """
    return tree_map(lambda given: given.val if is_int_input(given) else given, inputs, is_int_input)


class ShapesCollection:
    """Declarations by tensor; pass it as `dynamic_shapes`.

    >>> from monograph.dims import Dim
    >>> x, y, n = torch.ones(3, 4, 8), torch.ones(6), Dim("n")
    >>> shapes = ShapesCollection()
    >>> shapes[x] = (n, n + 1, 8)
    >>> shapes[y] = {0: n * 2}
    >>> shapes.dynamic_shapes(lambda inputs: inputs, ({"x": x, "others": [y, torch.ones(6)]},))
    {'inputs': {'x': (n, n + 1, 8), 'others': [{0: 2*n}, None]}}
    """

    def __init__(self) -> None:
        # The tensors are kept, so that no later one can have the identity of one that is gone.
        self._shapes: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, tensor: torch.Tensor | IntInput, shape: Any) -> None:
        """Declare the sizes of a tensor: one entry per dimension, or a dict from dimension to size.

        Of an `IntInput`, the one entry it has.

        Raises: spec-on-non-tensor, spec-assigned-twice.
        """
        before = self._entry(tensor, shape)
        if before is not None and before != shape:
            shown = _shown(tensor)
            raise problem("spec-assigned-twice", shape=shown, first=before, second=shape)
        self._shapes[id(tensor)] = (tensor, shape)

    def __getitem__(self, tensor: torch.Tensor | IntInput) -> Any:
        """The declaration of a tensor; an empty dict to be filled, where there was none.

        >>> shapes, x = ShapesCollection(), torch.ones(3)
        >>> shapes[x][0] = "n"
        >>> shapes[x]
        {0: 'n'}
        """
        found = self._entry(tensor, {})
        if found is None:
            found = {}
            self._shapes[id(tensor)] = (tensor, found)
        return found

    def __len__(self) -> int:
        """How many tensors have a declaration."""
        return len(self._shapes)

    @also_named(module="m")
    def dynamic_shapes(
        self,
        m: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The declaration by argument name, nested like the inputs.

        Raises: spec-inputs-not-found, forward-rejects-inputs.
        """
        seen: set[int] = set()

        def declare(_: str, leaf: Any) -> Any:
            seen.add(id(leaf))
            return self._shapes.get(id(leaf), (None, None))[1]

        arguments = bound_arguments(m, args, kwargs or {})
        found = {name: nested(arguments.by_name[name], declare) for name in arguments.in_signature}
        missing = [tensor for key, (tensor, _) in self._shapes.items() if key not in seen]
        if missing:
            shapes = [_shown(tensor) for tensor in missing]
            raise problem("spec-inputs-not-found", shapes=shapes)
        return found

    def _entry(self, tensor: Any, shape: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) and not is_int_input(tensor):
            raise problem("spec-on-non-tensor", path="shapes[...]", given=shape, value=tensor)
        return self._shapes.get(id(tensor), (None, None))[1]


def _shown(given: Any) -> Any:
    return tuple(given.shape) if isinstance(given, torch.Tensor) else f"int {given.val}"


__all__ = ["IntInput", "ShapesCollection", "is_int_input", "unwrapped"]
