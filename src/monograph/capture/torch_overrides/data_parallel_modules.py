"""Data-parallel modules: DistributedDataParallel, and what `fully_shard` wraps (FSDP2).

Law: a module of FSDP2 has a shard of each parameter. Where it is called, the program gathers them
by `all_gather_into_tensor`, each by itself, in the dtype of the mixed precision policy, and its
forward computes with what was gathered. PyTorch's hooks, which resize storages, do not run.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import is_grad_enabled  # as it is, not as user code is watched asking it

from monograph.capture.installation import OVERRIDES, listening
from monograph.capture.torch_overrides.autograd_overrides import need_no_gradient
from monograph.diagnostics import problem
from monograph.host import process_groups as host


@OVERRIDES.override(torch.nn.parallel.DistributedDataParallel, "forward")
def _replicated(original: Any) -> Any:
    """The module's own forward, behind its buffers; gradients are reduced behind the backward."""

    @functools.wraps(original)
    def forward(ddp: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(ddp, *args, **kwargs)
        need_no_gradient(recorder, None, "DistributedDataParallel")
        if ddp.will_sync_module_buffers():
            for name, buffer in ddp.module.named_buffers():
                if name not in ddp.parameters_to_ignore:
                    torch.distributed.broadcast(buffer, group=ddp.process_group, group_src=0)
        return recorder.scopes.run(ddp.module, *args, **kwargs)

    return forward


@OVERRIDES.override_code_while(host.GROUPS, host.FULLY_SHARDED, "FSDPState._pre_forward")
def _gathering(original: Any) -> Any:
    """Gather what the module has shards of, where it is not gathered yet."""

    def pre_forward(state: Any, module: Any, args: Any, kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(state, module, args, kwargs)
        scopes = recorder.scopes
        if state not in scopes.sharded_calls:  # a group of modules has one
            scopes.sharded_calls.append(state)
        args, kwargs = host.cast_inputs(state, args, kwargs)
        for each in host.sharded_parameters(state):
            if id(each.own) not in scopes.gathered:
                shard = each.held()
                each.hold(_gathered(each, shard))
                reshard = functools.partial(each.hold, shard)
                scopes.gathered[id(each.own)] = reshard, recorder.region
        return args, kwargs

    return pre_forward


@OVERRIDES.override_code_while(host.GROUPS, host.FULLY_SHARDED, "FSDPState._post_forward")
def _resharding(original: Any) -> Any:
    """Give the module its shards back, where it is to be resharded after forward."""

    def post_forward(state: Any, module: Any, args: Any, output: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(state, module, args, output)
        scopes, region = recorder.scopes, recorder.region
        scopes.sharded_calls.remove(state)
        is_root = not scopes.sharded_calls
        for each in host.sharded_parameters(state):
            reshard, gathered_in = scopes.gathered[id(each.own)]
            is_here = gathered_in is region  # what a side of a branch gathered ends with it
            if is_here and (region is not None or each.is_resharded(is_root=is_root)):
                reshard()
                del scopes.gathered[id(each.own)]
        return host.cast_output(state, output)

    return post_forward


def _gathered(parameter: host.ShardedParameter, shard: Any) -> Any:
    """The whole parameter, of what each rank has of it.

    Raises: unsupported-subclass (a gradient would have to be scattered), unsupported-collective.
    """
    if parameter.requires_grad and is_grad_enabled():
        reason = "it requires a gradient, which goes to the shards of all ranks"
        raise problem("unsupported-subclass", type="DTensor", reason=reason)
    if parameter.is_gathered_otherwise():
        raise problem("unsupported-collective", op="fully_shard", reason="it gathers otherwise")
    whole, group = host.local_tensor(shard), parameter.group
    if missing := parameter.n_rows - whole.shape[0]:  # other ranks have more
        whole = torch.cat([whole, whole.new_zeros((missing, *whole.shape[1:]))])
    if whole.dtype != parameter.dtype or whole.device != parameter.device:
        whole = whole.to(device=parameter.device, dtype=parameter.dtype)
    if group is None or group.size() == 1:
        return parameter.made_of(whole.clone())
    args = whole.contiguous(), group.size(), group.group_name
    made = host.functional_operator("all_gather_into_tensor")(*args)
    whole = host.functional_operator("wait_tensor")(made)
    if parameter.dim:
        whole = torch.cat(whole.chunk(group.size()), parameter.dim)
    elif whole.shape[0] != parameter.size[0]:
        whole = whole[: parameter.size[0]]
    return parameter.made_of(whole)
