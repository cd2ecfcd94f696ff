"""Differentiability of results: which results of an operator get no history from autograd.

All others of a floating dtype do where an argument has one. Law, held in
`tests/laws/test_differentiability.py`: the table agrees with `derivatives.yaml` of torchgen, and
with what PyTorch's kernels do.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.tensor import AbstractTensor, with_requires_grad

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

LIKE: Final = frozenset(
    f"{what}_like" for what in ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
)
"""Factories that take sizes, dtype and device from a tensor, and nothing else."""
_NEW: Final = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")
_ATTENTION: Final = (
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
)
_STATISTICS: Final = ("native_batch_norm", "native_layer_norm")

WITHOUT_HISTORY: Final[Mapping[str, Collection[int]]] = MappingProxyType(
    {
        **dict.fromkeys((*LIKE, *_NEW, "histc"), (0,)),
        **dict.fromkeys(_ATTENTION, range(1, 9)),
        **dict.fromkeys(_STATISTICS, (1, 2)),
        "_linalg_det": (1, 2),
        "_linalg_slogdet": (2, 3),
        "_linalg_solve_ex": (1, 2, 3),
        "linalg_lstsq": (2, 3),
        "linalg_lu": (0,),
        "log_sigmoid_forward": (1,),
        "lu_unpack": (0,),
    }
)
"""By the operator's name, the places of its results."""


def end_histories(made: Any, places: Collection[int]) -> None:
    """Take what an operator gave out of autograd, at these places."""
    results = made if isinstance(made, list | tuple) else (made,)
    for place in places:
        tensor = results[place] if place < len(results) else None
        if isinstance(tensor, AbstractTensor) and tensor.tensor_type.requires_grad:
            tensor.tensor_type = with_requires_grad(tensor.tensor_type, False)


__all__ = ["LIKE", "WITHOUT_HISTORY", "end_histories"]
