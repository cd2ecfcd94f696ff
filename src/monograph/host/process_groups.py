"""Process groups of torch.distributed, as collectives name them; and the objects that c10d passes.

Verified on PyTorch 2.13. `import torch` has imported torch.distributed where that is built in; the
functional collectives are imported with the first group that is asked for.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

IS_DISTRIBUTED: Final = torch.distributed.is_available()
NAMESPACES: Final = frozenset({"_c10d_functional", "_c10d_functional_autograd"})
GROUPS: Final[Any] = torch.distributed.distributed_c10d._pg_names if IS_DISTRIBUTED else ()
"""The process groups that there are, by themselves."""
NO_GROUP: Final = "no process group"
TRACING: Final = ("torch.distributed._functional_collectives", "_are_we_tracing")
"""The function by which torch.distributed knows that symbolic sizes may come."""


def process_group(name: str) -> str:
    """Who is in the group of a name, and which of them this process is: `rank 0 of [0, 1]`.

    The name "" is that of the default group.
    """
    if not IS_DISTRIBUTED or not torch.distributed.is_initialized():
        return NO_GROUP
    _functional_collectives()
    try:
        group = resolved(name)
        ranks = torch.distributed.get_process_group_ranks(group)
    except (KeyError, RuntimeError, ValueError):
        return NO_GROUP
    return f"rank {group.rank()} of {ranks}"


@functools.cache
def _functional_collectives() -> Any:
    """The module whose import gives the operators derivatives and meta kernels."""
    return importlib.import_module(TRACING[0])


def resolved(name: str) -> Any:
    """The group of a name. Raises: RuntimeError, where there is none."""
    c10d: Any = torch.distributed.distributed_c10d
    return c10d._resolve_process_group(name) if name else c10d._get_default_group()


def unboxed_group(group: Any) -> Any:
    """The process group in an object that the dispatcher passes."""
    return torch.distributed.ProcessGroup.unbox(group)


def _c10d() -> Any:
    return vars(torch._C)["_distributed_c10d"]


def reduction(boxed: Any) -> str:
    """How functional collectives call a reduction: `sum`."""
    return _c10d().ReduceOp.RedOpType(boxed.op()).name.lower()


def work(wait: Callable[[], None]) -> Any:
    """What an asynchronous collective returns, boxed; `wait` is called when somebody waits."""

    def waited(_timeout: Any) -> bool:
        wait()
        return True

    return _c10d().PythonCallbackWork(waited).boxed()


def functional_operator(name: str) -> Any:
    """A functional collective by its name."""
    return getattr(torch.ops._c10d_functional, name).default


def is_distributed(tensor: Any) -> bool:
    """Whether a tensor is a DTensor; who never imported the class has none."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def local_tensor(tensor: Any) -> Any:
    """What a rank has of a DTensor, which may be one in its turn; any other tensor itself."""
    return local_tensor(tensor._local_tensor) if is_distributed(tensor) else tensor


def groups_of(mesh: Any) -> list[Any]:
    """The process groups of a device mesh, none of anything else."""
    is_mesh = IS_DISTRIBUTED and isinstance(mesh, torch.distributed.DeviceMesh)
    return mesh.get_all_groups() if is_mesh else []


def operators(*names: str) -> Sequence[Any]:
    """The functional collectives of these names that there are, with and without autograd."""
    spaces = [getattr(torch.ops, each) for each in sorted(NAMESPACES)] if IS_DISTRIBUTED else []
    found = (getattr(space, name, None) for space in spaces for name in names)
    return [each.default for each in found if each is not None]
