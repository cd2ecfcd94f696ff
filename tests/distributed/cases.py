"""Distributed functions of one tensor of four rows: what programs of them must equal."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.utils.checkpoint

OP = dist.ReduceOp


def all_reduce(x):
    y = x * 2
    dist.all_reduce(y)
    return y + 1


def all_reduce_largest(x):
    y = x.clone()
    dist.all_reduce(y, op=OP.MAX)
    return y


def all_reduce_of_input(x):
    dist.all_reduce(x)
    return x + 1


def waited_for_later(x):
    y = x.clone()
    work = dist.all_reduce(y, async_op=True)
    z = x * 3
    work.wait()
    return y + z


def all_gather(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)


def all_gather_of_transposed(x):
    parts = [torch.empty_like(x.t()) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.t())
    return torch.cat(parts)


def all_gather_of_scalars(x):
    parts = [torch.zeros(()) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x.sum())
    return torch.stack(parts)


def all_gather_into_tensor(x):
    y = x.new_empty(x.shape[0] * dist.get_world_size(), *x.shape[1:])
    dist.all_gather_into_tensor(y, x)
    return y


def reduce_scatter_tensor(x):
    y = x.new_empty(x.shape[0] // dist.get_world_size(), *x.shape[1:])
    dist.reduce_scatter_tensor(y, x)
    return y


def reduce_scatter(x):
    y = torch.empty_like(x)
    dist.reduce_scatter(y, [x + at for at in range(dist.get_world_size())])
    return y


def all_to_all_single(x):
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    return y


def all_to_all_uneven(x):
    rank = dist.get_rank()
    given, taken = ([1, 3], [1, 2]) if rank == 0 else ([2, 2], [3, 2])
    y = x.new_empty(sum(taken), x.shape[1])
    dist.all_to_all_single(y, x, taken, given)
    return y


def all_to_all(x):
    parts = [torch.empty(2, x.shape[1]) for _ in range(2)]
    dist.all_to_all(parts, list(x.split(2)))
    return torch.cat(parts)


def broadcast(x):
    y = x.clone()
    dist.broadcast(y, 1)
    return y


def reduce(x):
    y = x.clone()
    dist.reduce(y, 1)
    return y if dist.get_rank() == 1 else x


def gather(x):
    is_root = dist.get_rank() == 0
    parts = [torch.empty_like(x) for _ in range(2)] if is_root else None
    dist.gather(x, parts, 0)
    return torch.cat(parts) if is_root else x


def scatter(x):
    y = torch.empty_like(x)
    dist.scatter(y, [x, x * 2] if dist.get_rank() == 0 else None, 0)
    return y


def send_and_receive(x):
    y = torch.empty_like(x)
    if dist.get_rank() == 0:
        dist.send(x, 1)
        dist.recv(y, 1)
    else:
        dist.recv(y, 0)
        dist.send(x, 0)
    return y


def exchanged_at_once(x):
    other, y = 1 - dist.get_rank(), torch.empty_like(x)
    works = dist.isend(x, other), dist.irecv(y, other)
    z = x * 2
    for work in works:
        work.wait()
    return y + z


def barrier(x):
    dist.barrier()
    return x + 1


def coalesced(x):
    y, z = x.clone(), x * 2
    with dist._coalescing_manager():
        dist.all_reduce(y)
        dist.all_reduce(z)
    return y + z


def rank_alone(x):
    return x * (dist.get_rank() + 1)


def of_no_member(x):
    outside = dist.GroupMember.NON_GROUP_MEMBER  # what `new_group` gives to others
    return x * dist.get_world_size(outside) + dist.get_rank(outside)


def reduced_product(x):
    y = x / 50
    dist.all_reduce(y, op=OP.PRODUCT)
    return y


def reduced_average(x):
    y = x.clone()
    dist.all_reduce(y, op=OP.AVG)
    return y


def reduced_in_a_checkpoint(x):
    return torch.utils.checkpoint.checkpoint(all_reduce, x, use_reentrant=False)


def reduced_in_each_round(x):
    for _ in range(3):
        x = all_reduce(x) / 2
    return x


def reduced_on_both_sides_of_cond(x):
    def side(v):
        return functional.all_reduce(v, "sum", dist.group.WORLD) + 0

    return torch.cond(x.sum() > 0, side, lambda v: side(v * 2), (x,))


def other_code_for_each_rank(x):
    return all_reduce(x if dist.get_rank() == 0 else x * 2)


def exchanged_in_a_batch(x):
    y, other = torch.empty_like(x), 1 - dist.get_rank()
    works = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    for work in dist.batch_isend_irecv(works):
        work.wait()
    return y


def functional_all_reduce(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD) + 1


def functional_result(x):
    return functional.all_reduce(x, "max", dist.group.WORLD)


def functional_written(x):
    y = functional.all_reduce(x, "sum", dist.group.WORLD)
    y += 1
    return y


def functional_twice(x):
    first = functional.all_reduce(x, "sum", dist.group.WORLD)
    return first + functional.all_reduce(x, "sum", dist.group.WORLD)


def functional_unused(x):
    functional.all_reduce(x, "sum", dist.group.WORLD)
    return x + 1


def functional_gathered(x):
    return functional.all_gather_tensor(x, 1, dist.group.WORLD) * 2


def functional_reduce_scattered(x):
    return functional.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD) * 2


def functional_all_to_all(x):
    return functional.all_to_all_single(x, None, None, dist.group.WORLD) * 2


def functional_broadcast(x):
    return functional.broadcast(x, 1, dist.group.WORLD) * 2


def functional_coalesced(x):
    a, b = functional.all_reduce_coalesced([x, x * 2], "sum", dist.group.WORLD)
    return a - b


def same_on_both_sides(x):
    if x.sum() > 50:
        y = x.clone()
        dist.all_reduce(y)
    else:
        y = x * 2
        dist.all_reduce(y)
    return y


def on_one_side(x):
    if x.sum() > 50:
        x = functional.all_reduce(x, "sum", dist.group.WORLD)
    return x


def in_another_order(x):
    y = x.clone()
    if x.sum() > 50:
        dist.all_reduce(y)
        dist.broadcast(y, 0)
    else:
        dist.broadcast(y, 0)
        dist.all_reduce(y)
    return y


def of_other_reductions(x):
    y = x.clone()
    if x.sum() > 50:
        dist.all_reduce(y)
    else:
        dist.all_reduce(y, op=OP.MAX)
    return y


def within_a_loop(x):
    x = x.clone()
    while x.abs().max() > 1:
        x = x / 2
        dist.all_reduce(x, op=OP.MAX)
    return x


def never_waited_for(x):
    y = x.clone()
    dist.all_reduce(y, async_op=True)
    return y + 1


def of_a_column(x):
    y = x.clone()
    dist.all_reduce(y[:, 1])
    return y


def received_from_anybody(x):
    y = x.clone()
    dist.recv(y)
    return y


def on_one_side_of_cond(x):
    def side(v):
        return functional.all_reduce(v, "sum", dist.group.WORLD) + 0

    return torch.cond(x.sum() > 0, side, lambda v: v * 2, (x,))


def split_by_data(x):
    n = int(x[0, 0].abs().clamp(0, 1))
    y = x.new_empty(4, 2)
    dist.all_to_all_single(y, x, [2, 2], [n + 1, 3 - n])
    return y


def of_uneven_parts(x):
    parts = [torch.empty(2, 2), torch.empty(3, 2)]
    dist.all_gather(parts, x[: 2 + dist.get_rank()].contiguous())
    return torch.cat(parts)


def of_objects(x):
    factors = [3 if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(factors, 0)
    return x * factors[0]


REFUSED = {
    of_objects: "unsupported-collective",
    on_one_side_of_cond: "collective-in-branch",
    split_by_data: "specialized-value",
    of_uneven_parts: "view-impossible",
    on_one_side: "collective-in-branch",
    in_another_order: "collective-in-branch",
    of_other_reductions: "collective-in-branch",
    within_a_loop: "collective-in-branch",
    never_waited_for: "collective-not-awaited",
    of_a_column: "unsupported-collective",
    received_from_anybody: "unsupported-collective",
}
CAPTURED = [
    each
    for each in vars().copy().values()
    if getattr(each, "__module__", "") == __name__ and callable(each) and each not in REFUSED
]


class Applied(torch.nn.Module):
    """A module that applies a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)
