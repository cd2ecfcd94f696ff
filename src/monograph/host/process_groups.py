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
FSDP: Final = "torch.distributed.fsdp"
FULLY_SHARDED: Final = f"{FSDP}._fully_shard._fsdp_state"
"""Where the hooks of `fully_shard` are."""
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


# --- fully_shard --------------------------------------------------------------------------------


def reshard(modules: Sequence[torch.nn.Module]) -> None:
    """Give modules of `fully_shard` their shards back, where forward has left them gathered."""
    kind: Any = sys.modules[FSDP].FSDPModule
    for each in modules:
        if isinstance(each, kind):
            kind.reshard(each)


def cast_inputs(state: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a module, as its mixed precision policy casts them."""
    return state._cast_forward_inputs(args, kwargs)


def cast_output(state: Any, output: Any) -> Any:
    """The result of a module, as its mixed precision policy casts it."""
    return state._cast_output_dtype(output)


class ShardedParameter:
    """A parameter of `fully_shard`: what its modules hold, and how it is gathered.

    `group` is the process group to gather it in, None where each rank has all of it; `dtype` is the
    one to gather and compute with; `dim` the dimension that is divided, into `n_rows` at most.
    """

    def __init__(self, parameter: Any, param_group: Any, state: Any) -> None:
        self.own, self._param_group, self._state = parameter, param_group, state
        self.size: tuple[int, ...] = tuple(parameter._orig_size)
        self.dim: int = parameter.fsdp_placement.dim
        self.n_rows: int = parameter.padded_sharded_param_size[0]
        self.device: torch.device = parameter.device
        dtype, wanted = parameter.sharded_param.dtype, parameter.mp_policy.param_dtype
        self.dtype: torch.dtype = wanted if wanted and dtype.is_floating_point else dtype
        self.requires_grad: bool = parameter.sharded_param.requires_grad
        self.group = getattr(parameter.mesh_info, "shard_process_group", None)

    def held(self) -> Any:
        """What the modules hold now."""
        info = self.own._module_info
        return vars(info.module)["_parameters"][info.param_name]

    def hold(self, tensor: Any) -> None:
        """Let the modules hold a tensor."""
        tensor._is_param = True  # by which `isinstance` knows a parameter
        self.own._setattr_on_modules(tensor)

    def made_of(self, whole: Any) -> Any:
        """The parameter, of what was gathered: a DTensor where tensors are parallel, too."""
        if self.own._unsharded_dtensor_spec is None:
            return whole
        spec = self.own._get_unsharded_dtensor_spec(whole)
        kind = sys.modules["torch.distributed.tensor"].DTensor
        return kind(whole, spec, requires_grad=False)

    def is_resharded(self, *, is_root: bool) -> bool:
        """Whether forward gives the shard back: PyTorch decides of the root when it is called."""
        is_new = self._state._is_root is None and self._state._auto_reshard_after_forward
        return self._param_group._reshard_after_forward and not (is_root and is_new)

    def is_gathered_otherwise(self) -> bool:
        """Whether code of others gathers: of a subclass of tensors, or a collective of users."""
        comm = type(self._param_group._all_gather_comm)
        return not comm.__module__.startswith("torch.") or hasattr(
            local_tensor(self.own.sharded_param), "fsdp_pre_all_gather"
        )


def sharded_parameters(state: Any) -> list[ShardedParameter]:
    """The parameters that the hooks of a module of `fully_shard` gather."""
    groups = state._fsdp_param_groups
    return [ShardedParameter(each, group, state) for group in groups for each in group.fsdp_params]


def operators(*names: str) -> Sequence[Any]:
    """The functional collectives of these names that there are, with and without autograd."""
    spaces = [getattr(torch.ops, each) for each in sorted(NAMESPACES)] if IS_DISTRIBUTED else []
    found = (getattr(space, name, None) for space in spaces for name in names)
    return [each.default for each in found if each is not None]
