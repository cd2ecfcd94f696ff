"""Flat-argument adapters: calls of an unflattened module whose structure is not the program's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from monograph.diagnostics import Clause, problem
from monograph.host.trees import flatten, unflatten

if TYPE_CHECKING:
    from monograph.host.trees import TreeSpec
    from monograph.program.unflattening.module_calls import UnflattenedModule


class FlatArgsAdapter(ABC):
    """Makes the flat inputs of the program out of those of a call with another structure."""

    @abstractmethod
    def adapt(
        self,
        target_spec: TreeSpec,
        input_spec: TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        """Return one value for each leaf of `target_spec`; `obj` is the module that is called."""

    def get_flat_arg_paths(self) -> list[str]:
        """Return the paths of the inputs that it reads."""
        return []


def adapt_calls(module: UnflattenedModule, adapter: FlatArgsAdapter, target: TreeSpec) -> None:
    """Ask the adapter before each call whose arguments are structured otherwise.

    Raises (a call): contract-broken, where it returns another number of inputs.
    """

    def adapted(_: Any, args: Any, kwargs: Any) -> Any:
        leaves, found = flatten((args, kwargs))
        if found == target:
            return None
        given = adapter.adapt(target, found, leaves, module.meta, module)
        if len(given) != target.num_leaves:
            n = target.num_leaves
            clause = Clause("what the adapter returned", f"{n} inputs", f"{len(given)} inputs")
            raise problem("contract-broken", clauses=[clause])
        return unflatten(given, target)

    module.register_forward_pre_hook(adapted, with_kwargs=True)


__all__ = ["FlatArgsAdapter", "adapt_calls"]
