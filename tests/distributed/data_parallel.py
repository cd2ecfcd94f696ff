"""Data-parallel modules of several processes: DistributedDataParallel, `fully_shard` (FSDP2)."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._composable.replicate_with_fsdp import replicate
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultAllGather
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

import monograph
from tests.distributed.found import found_by, nodes


def rows(n, rank=0):
    """As many rows of three numbers, other ones on each rank."""
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(10 * n + rank))


class Net(nn.Module):
    """Two layers, whose rows two ranks cannot divide evenly, and a number kept in a buffer."""

    def __init__(self, hidden=5, out=3):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = nn.Linear(3, hidden), nn.Linear(hidden, out)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.down(self.up(x).relu()) * self.scale


def replicated(rank, folder):
    """DistributedDataParallel: its forward."""
    del folder

    def model(seed):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))

    def forward():
        module = DistributedDataParallel(model(rank))
        plain = model(0)  # as the first rank has it
        with torch.no_grad():
            program = monograph.export(module, (rows(4, rank),))
            module.module[1].running_mean.add_(rank)
            got, want = program.module()(rows(4, 7 + rank)), plain(rows(4, 7 + rank))
            torch.testing.assert_close(got, want)
            means = [torch.zeros(4) for _ in range(2)]
            dist.all_gather(means, program.state_dict["module.1.running_mean"])
            assert any("broadcast" in str(each.target) for each in nodes(program))
        return found_by(lambda: str(program.module()(rows(4, rank))))

    return {"forward": found_by(forward)}


# --- training -----------------------------------------------------------------------------------


class Step(nn.Module):
    """Forward, loss, gradients, their mean over the ranks, and the update, as one program."""

    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, target):
        weights = dict(self.net.named_parameters())

        def loss(weights):
            return (torch.func.functional_call(self.net, weights, (x,)) - target).pow(2).mean()

        gradients, value = torch.func.grad_and_value(loss)(weights)
        with torch.no_grad():
            for name, weight in weights.items():
                dist.all_reduce(gradients[name])
                weight.sub_(0.1 * gradients[name] / dist.get_world_size())
        return value


def trained(rank, folder):
    """What `load_trained` loads: a forward to be wrapped, one that is sharded, a whole step."""

    def check():
        sizes = "x: n, _"
        forward = monograph.export(Net(), (rows(4, rank),), dynamic_shapes=sizes)
        monograph.save(forward, folder / f"forward.{rank}.pt2")
        with torch.no_grad():
            example = rows(4, rank), rows(4, rank)
            step = monograph.export(Step(), example, dynamic_shapes="x: n, _; target: n, _")
            monograph.save(step, folder / f"step.{rank}.pt2")
            module = fully_shard(Net())
            shards = monograph.export(module, example[:1], dynamic_shapes=sizes)
            monograph.save(shards, folder / f"shards.{rank}.pt2")
        return "saved"

    return {"saved": found_by(check)}


def load_trained(rank, folder):
    """In fresh processes: three steps, equal to those of one process with the rows of all ranks."""
    alone = Net()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for at in range(3):
        optimizer.zero_grad()
        everything = torch.cat([rows(5 + at, each) for each in range(dist.get_world_size())])
        (alone(everything) - everything).pow(2).mean().backward()
        optimizer.step()

    def load(name):
        return monograph.load(folder / f"{name}.{rank}.pt2").module()

    def around(wrap):
        module = wrap(load("forward"))
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for at in range(3):
            optimizer.zero_grad()
            (module(rows(5 + at, rank)) - rows(5 + at, rank)).pow(2).mean().backward()
            optimizer.step()
        for ours, theirs in zip(module.parameters(), alone.parameters(), strict=True):
            whole = ours.full_tensor() if hasattr(ours, "full_tensor") else ours
            torch.testing.assert_close(whole, theirs)
        return "equal"

    def step():
        module = load("step")
        with torch.no_grad():
            for at in range(3):
                module(rows(5 + at, rank), rows(5 + at, rank))
        for ours, theirs in zip(module.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs)
        return "equal"

    def shards():
        module = load("shards")
        with torch.no_grad():
            assert torch.equal(module(rows(9, rank)), Net()(rows(9, rank)))
        sizes = [tuple(each.shape) for each in module.parameters()]
        assert sizes == [[(3, 3), (3,), (2, 5), (2,)], [(2, 3), (2,), (1, 5), (1,)]][rank], sizes
        return "equal"

    return {
        "replicated": found_by(lambda: around(DistributedDataParallel)),
        "sharded": found_by(lambda: around(fully_shard)),
        "step": found_by(step),
        "shards": found_by(shards),
    }


# --- fully_shard --------------------------------------------------------------------------------


def each_layer(**options):
    module = Net()
    for each in (module.up, module.down, module):
        fully_shard(each, **options)
    return module, Net()


def left_gathered():
    """As forward leaves a root."""
    module = fully_shard(Net())
    with torch.no_grad():
        module(rows(2))
    return module, Net()


def of_a_part():
    """A layer of a module that was sharded as a whole."""
    module, plain = each_layer()
    return module.up, plain.up


def in_one_group():
    module = Net()
    fully_shard([module.up, module.down])
    return fully_shard(module), Net()


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.weight = nn.Parameter(torch.randn(3, 4))

    def forward(self, x):
        return x @ self.weight


def by_columns():
    return fully_shard(Product(), shard_placement_fn=lambda _: Shard(1)), Product()


def in_half_precision():
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32)
    module, plain = fully_shard(Net(), mp_policy=policy), Net()
    plain.up.bfloat16()
    plain.down.bfloat16()
    return module, lambda x: plain(x.bfloat16()).float()


def with_prefetch():
    module, plain = each_layer()
    module.up.set_modules_to_forward_prefetch([module.down])
    return module, plain


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.a(self.a(x) + 1)


def twice(*, reshard):
    module = Twice()
    fully_shard(module.a, reshard_after_forward=reshard)
    fully_shard(module.b)
    return fully_shard(module), Twice()


class Tied(Twice):
    def __init__(self):
        super().__init__()
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x)) * isinstance(self.a.weight, nn.Parameter)


class ReadAfterwards(Twice):
    def forward(self, x):
        return self.b(self.a(x)) @ self.a.weight


class OnBothSides(Twice):
    def forward(self, x):
        return self.a(x) if x.sum() > 0 else self.b(x) * 2


class OnOneSide(Twice):
    def forward(self, x):
        if x.sum() > 0:
            x = self.a(x)
        return self.b(x)


class Unsharding(Twice):
    def forward(self, x):
        self.a.unshard()
        return self.a(x)


class Encoding(Twice):
    def encode(self, x):
        return self.a(x) * 2


class ByAMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Encoding()

    def forward(self, x):
        return self.inner.encode(x) + self.inner(x)


def by_a_method():
    module = ByAMethod()
    register_fsdp_forward_method(fully_shard(module.inner), "encode")
    return module, ByAMethod()


def layers_of(kind):
    """Each layer by itself, kept after its forward, and what is around them."""
    module = kind()
    fully_shard(module.a, reshard_after_forward=False)
    fully_shard(module.b, reshard_after_forward=False)
    return fully_shard(module), kind()


def gathering_otherwise():
    module = fully_shard(Net())
    module.set_custom_all_gather(type("Own", (DefaultAllGather,), {"__module__": __name__})())
    return module, Net()


def in_two_dimensions(names):
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=names)


def with_tensor_parallelism():
    mesh = in_two_dimensions(("data", "tensor"))
    module, plan = Net(8, 4), {"up": ColwiseParallel(), "down": RowwiseParallel()}
    parallelize_module(module, mesh["tensor"], plan)
    return fully_shard(module, mesh=mesh["data"]), Net(8, 4)


def in_copies():
    return fully_shard(Net(), mesh=in_two_dimensions(("copy", "shard"))), Net()


EQUAL = {
    "each layer": (each_layer, 4),
    "left gathered": (left_gathered, 4),
    "of a part": (of_a_part, 2),
    "in one group": (in_one_group, 4),
    "by columns": (by_columns, 1),
    "in half precision": (in_half_precision, 4),
    "with prefetch": (with_prefetch, 4),
    "offloaded": (lambda: each_layer(offload_policy=CPUOffloadPolicy(pin_memory=False)), 4),
    "replicated": (lambda: (replicate(Net()), Net()), 0),
    "resharded": (lambda: twice(reshard=True), 4),
    "kept": (lambda: twice(reshard=False), 2),
    "tied": (lambda: (fully_shard(Tied()), Tied()), 3),
    "read afterwards": (lambda: layers_of(ReadAfterwards), 4),
    "on both sides": (lambda: layers_of(OnBothSides), 4),
    "by a method": (by_a_method, 4),
}
"""How a module and one alike that is not sharded are made, and how many gathers its program has."""
REFUSED = {
    "on one side": (lambda: layers_of(OnOneSide), "collective-in-branch"),
    "unsharding": (lambda: layers_of(Unsharding), "memory-exposed"),
    "gathering otherwise": (gathering_otherwise, "unsupported-collective"),
}
OF_FOUR = {"with tensor parallelism": (with_tensor_parallelism, 4), "in copies": (in_copies, 4)}


def sharded(rank, folder):
    """Programs of `fully_shard`, for other rows and another number of them."""

    def check(make, n_gathers, name, *, strict):
        rank_of_rows = 0 if "tensor" in name else rank
        module, plain = make()
        names = [name for name, _ in module.named_parameters()]
        with torch.no_grad():
            example = (rows(4, rank_of_rows),)
            sizes = "input: n, _" if isinstance(module, nn.Linear) else "x: n, _"
            program = monograph.export(module, example, dynamic_shapes=sizes, strict=strict)
            file = folder / f"sharded.{rank}.pt2"
            monograph.save(program, file)
            x, want = rows(7, rank_of_rows), plain(rows(7, rank_of_rows))
            for each in (program, monograph.load(file), program.run_decompositions({})):
                torch.testing.assert_close(each.module()(x), want)
            torch.testing.assert_close(module(x), want)
            program.validate()
            assert {*program.module().state_dict()} >= {f"{each}._local_tensor" for each in names}
        assert names == [name for name, _ in module.named_parameters()]
        found = sum("all_gather" in str(each.target) for each in nodes(program))
        assert found == n_gathers, found
        if n_gathers:
            refused = found_by(lambda: str(program.module()(x)))
            assert refused == "contract-broken", refused
            held_back = found_by(lambda: str(monograph.export(module, example)))
            assert held_back == "unsupported-subclass", held_back
        return "equal"

    def frozen():
        """Gradients go through to inputs, where no parameter needs one."""
        module, plain = fully_shard(Net().requires_grad_(False)), Net()
        ours, theirs = (rows(4, rank).requires_grad_() for _ in range(2))
        program = monograph.export(module, (ours,))
        program.module()(ours).sum().backward()
        plain(theirs).sum().backward()
        assert torch.equal(ours.grad, theirs.grad)
        return "equal"

    if dist.get_world_size() == 4:
        return {
            name: found_by(lambda case=case, name=name: check(*case, name, strict=True))
            for name, case in OF_FOUR.items()
        }
    found = {
        f"{name} {strict}": found_by(
            lambda case=case, name=name, strict=strict: check(*case, name, strict=strict)
        )
        for name, case in EQUAL.items()
        for strict in (True, False)
        if strict or name != "on both sides"
    }
    for name, (make, _) in REFUSED.items():
        found[name] = found_by(lambda make=make, name=name: check(make, 0, name, strict=True))
    return found | {"frozen": found_by(frozen)}
