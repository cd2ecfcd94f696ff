"""A program becomes modules again: same answers, same names, same state, and parts to exchange."""

import collections
import copy
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.testing import assert_close

import monograph
from monograph import ContractError, Dim, UnsupportedError, export, unflatten
from tests.seeding import reseed


class Scaled(nn.Module):
    """Multiplies by a parameter, and by a factor."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x, *, factor=1):
        return x * self.weight * factor


class Twice(nn.Module):
    """One module in two ways, another held by a list."""

    def __init__(self):
        super().__init__()
        self.scaled = Scaled()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.BatchNorm1d(3)])

    def forward(self, x):
        y = self.scaled(x)
        for layer in self.layers:
            y = layer(y)
        return self.scaled(y, factor=x.shape[0])


def x(n=4):
    """Draw an input."""
    return torch.randn(n, 3)


def check(model, args, module, *calls):
    """Hold that both give the same, in this call and in others."""
    for given in (args, *calls):
        reference = copy.deepcopy(model)
        module.load_state_dict(reference.state_dict(), strict=False)
        assert_close(module(*copy.deepcopy(given)), reference(*copy.deepcopy(given)))


def unflattened(model, args, **options):
    """Export and unflatten, and hold that state and answers are the model's."""
    module = unflatten(export(model, args, **options))
    assert set(module.state_dict()) == set(model.state_dict())
    check(model, args, module)
    return module


def test_modules_come_back_under_their_names():
    """Called modules are modules, state has its place, parameters are Parameters."""
    model = Twice().eval()
    module = unflattened(model, (x(),), dynamic_shapes={"x": {0: Dim.AUTO}})
    check(model, (x(),), module, (x(7),), (x(2),))
    assert {"scaled", "layers.0", "layers.1"} <= dict(module.named_modules()).keys()
    assert isinstance(module.layers.get_submodule("0").weight, nn.Parameter)
    assert torch.equal(module.scaled.weight, model.scaled.weight)
    assert [n for n, _ in module.named_parameters()] == [n for n, _ in model.named_parameters()]
    given = x(5)
    assert_close(module.get_submodule("layers.0")(given), model.layers[0](given))


def test_the_contract_is_kept():
    """A call that `program.module()` refuses is refused; without checks it is not."""
    program = export(Twice().eval(), (x(),))
    with pytest.raises(ContractError):
        unflatten(program)(x(5))
    with pytest.raises(ContractError):
        unflatten(program)(x(), x())
    with pytest.raises(UnsupportedError):
        unflatten(program).train()
    assert unflatten(program, check=False)(x(4)).shape == (4, 3)


def test_a_module_is_exchanged_with_all_its_calls():
    """What is put in a module's place is called wherever the module was."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Scaled()
            self.lin = nn.Linear(3, 3)

        def forward(self, x):
            return self.part(self.lin(self.part(x)))

    model = Model()
    module = unflattened(model, (x(),))
    module.part = model.part = nn.Tanh()
    check(model, (x(),), module)
    module.set_submodule("lin", nn.Linear(3, 3, bias=False))
    model.lin = module.lin
    check(model, (x(),), module)


def test_a_kept_call_takes_what_the_original_took():
    """With its signature kept, the original's own class fits in, also where its calls differ."""
    model = Twice().eval()
    module = unflattened(
        model,
        (x(),),
        dynamic_shapes={"x": {0: Dim.AUTO}},
        preserve_module_call_signature=("scaled", "layers.0"),
    )
    check(model, (x(),), module, (x(9),))
    assert_close(module.scaled(x(4)).shape, (4, 3))
    module.scaled = model.scaled = Scaled()
    with torch.no_grad():
        module.scaled.weight.add_(1)
    check(model, (x(),), module, (x(9),))


def test_structures_cross_the_border_of_a_kept_call():
    """Containers, registered classes, None and constants are arguments and results as before."""
    Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024

    @dataclass
    class Found:
        value: torch.Tensor
        rest: list

    monograph.register_dataclass(Found)

    class Inner(nn.Module):
        def forward(self, pair, found, mask=None, *, mode="sum", **others):
            y = pair.left + pair.right * found.value + others["extra"]
            y = y if mask is None else y * mask
            return Found(y, [found.rest[0], None, mode]), {"sum": y.sum()}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x, y):
            found, more = self.inner(Pair(x, y), Found(x * 2, [y, 3]), None, extra=y.sum())
            again, _ = self.inner(Pair(y, x), found, x, extra=x, mode="mean")
            return again.value + found.rest[0], more["sum"], len(again.rest[2])

    model, args = Model(), (x(), x())
    kept = {"preserve_module_call_signature": ["inner"]}
    module = unflattened(model, args, **kept)
    module.inner = Inner()
    check(model, args, module, (x(), x()))


def test_constants_of_a_kept_call_are_checked():
    """A kept module that is called by itself refuses another constant than it was captured with."""
    module = unflattened(Twice().eval(), (x(),), preserve_module_call_signature=["scaled"])
    assert_close(module.scaled(x()).shape, (4, 3))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scaled = Scaled()

        def forward(self, x):
            return self.scaled(x, factor=3)

    module = unflattened(Model(), (x(),), preserve_module_call_signature=["scaled"])
    module.scaled(x(), factor=3)
    with pytest.raises(ContractError, match="3"):
        module.scaled(x(), factor=4)


def test_a_kept_call_that_leaks_is_refused():
    """A value that leaves a kept module in another way than as its result has no place."""

    class Leaky(nn.Module):
        def forward(self, x, seen):
            seen.append(x.sum())
            return x * 2

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaky = Leaky()

        def forward(self, x):
            seen = []
            return self.leaky(x, seen) + seen[0]

    unflattened(Model(), (x(),))
    with pytest.raises(UnsupportedError, match="module-call-lost"):
        unflatten(export(Model(), (x(),), preserve_module_call_signature=["leaky"]))


def test_regions_around_and_inside_of_calls():
    """A module called under no_grad stays outside of it by itself; one that enters it keeps it."""

    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)

        @torch.no_grad()
        def forward(self, x):
            y = self.lin(x)
            with torch.enable_grad():
                return y * self.lin(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.frozen, self.lin = Frozen(), nn.Linear(3, 3)

        def forward(self, x):
            with torch.no_grad():
                y = self.lin(x)
                z = self.frozen(y)
            return self.frozen(y) * self.lin(z)

    model = Model()
    module = unflattened(model, (x(),))
    given = x()
    for each in (model, module):
        each.zero_grad()
        each(given).sum().backward()
    mine, theirs = ({n: p.grad for n, p in each.named_parameters()} for each in (module, model))
    assert_close(mine, theirs)
    assert module.lin(x()).requires_grad
    check(model, (x(),), module, (x(),))


def test_shared_modules_and_tied_weights():
    """A module under two names is one module; a weight under two names is one Parameter."""

    class Inner(nn.Module):
        def __init__(self, shared):
            super().__init__()
            self.shared = shared

        def forward(self, x):
            return self.shared(x) + 1

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Inner(nn.Linear(3, 3))
            self.second = Inner(self.first.shared)
            self.out = nn.Linear(3, 3)
            self.out.weight = self.first.shared.weight

        def forward(self, x):
            return self.out(self.second(self.first(x)))

    module = unflattened(Model(), (x(),))
    assert module.first.shared is module.second.shared
    assert module.out.weight is module.first.shared.weight
    module.load_state_dict(Model().state_dict())
    assert module.out.weight is module.first.shared.weight


def test_state_of_another_module_reaches_where_it_is_read():
    """A module that reads its parent's weight, or a sibling's, is given it."""

    class Reader(nn.Module):
        def __init__(self, owner):
            super().__init__()
            self.owner = [owner]

        def forward(self, x):
            return x @ self.owner[0].weight + self.owner[0].lin(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 3))
            self.lin = nn.Linear(3, 3)
            self.reader = Reader(self)

        def forward(self, x):
            return self.reader(x)

    model = Model()
    check(model, (x(),), unflattened(model, (x(),)), (x(),))
    kept = unflattened(model, (x(),), preserve_module_call_signature=["reader"])
    check(model, (x(),), kept, (x(),))
    kept.reader = nn.Tanh()
    assert_close(kept(given := x()), given.tanh())


def test_mutations_and_random_numbers_are_kept():
    """Buffers and inputs written to inside modules are written to, and draws come in order."""

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(()))
            self.register_buffer("scratch", torch.ones(3), persistent=False)

        def forward(self, x):
            self.steps += 1
            self.scratch = self.scratch * 2
            x.add_(self.scratch)
            return x + torch.rand_like(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter, self.drop = Counter(), nn.Dropout()

        def forward(self, x):
            return self.drop(self.counter(self.counter(x)))

    model = Model()
    module = unflatten(export(copy.deepcopy(model), (x(),)))
    for _ in range(2):
        ours, theirs = x(), None
        theirs = ours.clone()
        reseed(3)
        result = module(ours)
        reseed(3)
        assert_close(result, model(theirs))
        assert_close(ours, theirs)
        assert_close(dict(module.named_buffers()), dict(model.named_buffers()))


def test_a_copy_is_independent():
    """A deep copy has its own state and answers alike, whatever calls its modules have."""
    model = Twice().eval()
    module = unflatten(export(model, (x(),), preserve_module_call_signature=["scaled"]))
    copied = copy.deepcopy(module)
    given = x()
    expected = module(given)
    with torch.no_grad():
        module.scaled.weight.zero_()
    assert_close(copied(given), expected)
    assert_close(module(given), torch.zeros(4, 3))


def test_literals_live_where_they_are_written():
    """A tensor literal of a module's forward is that module's, and goes with it."""

    class Shift(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, 2.0, 3.0])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = Shift()

        def forward(self, x):
            return self.shift(x)

    module = unflattened(Model(), (x(),))
    assert_close(module.shift(torch.zeros(3)), torch.tensor([1.0, 2.0, 3.0]))


def test_lowered_programs_come_back_as_modules_too():
    """After decompositions the modules are there, and buffers are written to as before."""
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Sequential(nn.GELU())).train()
    program = export(copy.deepcopy(model), (x(),)).run_decompositions()
    module = unflatten(program)
    assert {"0", "1", "2.0"} <= dict(module.named_modules()).keys()
    given = x()
    assert_close(module(given), model(given))
    assert_close(dict(module.named_buffers()), dict(model.named_buffers()))


class Counts(nn.Module):
    """Shares a parameter, a view of a buffer, and writes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("first", self.count[:2], persistent=False)
        self.one, self.other = nn.Linear(2, 2), nn.Linear(2, 2)
        self.other.weight = self.one.weight
        self.scale = torch.full((2,), 2.0)

    def forward(self, x):
        self.count.add_(1)
        return self.other(self.one(x)) * self.scale + self.first


def test_state_is_its_own():
    """Running or training one changes neither the program nor the others; what shares, shares."""
    model = Counts()
    program = monograph.export(model, (torch.ones(2),))
    one, other = monograph.unflatten(program), monograph.unflatten(program)
    first = one(torch.ones(2))
    torch.testing.assert_close(other(torch.ones(2)), first)
    assert not program.state_dict["count"].any()
    assert one.one.weight is one.other.weight
    with torch.no_grad():
        one.one.weight.zero_()
    torch.testing.assert_close(program.module()(torch.ones(2)), first)
    torch.testing.assert_close(model.first, torch.ones(2))


class Modal(nn.Module):
    """Computes one thing or another, with state, a child and a constant."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(2))
        self.const = torch.ones(2) * 4

    def forward(self, x, first):
        self.count.add_(1)
        return self.inner(x) + self.const if first else self.inner(x) * self.count


class Several(nn.Module):
    """Calls it four times, below a name and an alias."""

    def __init__(self):
        super().__init__()
        self.k = nn.Module()
        self.k.n = Modal()
        self.alias = self.k.n

    def forward(self, x):
        x = self.k.n(self.k.n(x, True), True)
        return self.k.n(x, False) + self.alias(x, True) + self.k.n.count


def test_calls_with_other_graphs_are_modules_of_their_own():
    """They have names that torch.export gives them, share state, and are exchanged apart."""
    model, args = Several(), (torch.ones(2),)
    program = monograph.export(copy.deepcopy(model), args)
    module = unflatten(program)
    stock = torch.export.unflatten(torch.export.export(copy.deepcopy(model), args))
    names = {name for name, _ in stock.named_modules() if "n@" in name}
    assert names > {name for name, _ in module.named_modules() if "n@" in name} == {"k.n@2"}
    assert module.state_dict().keys() == program.state_dict.keys()
    again = unflatten(program)
    for form in (module, copy.deepcopy(module), export(again, args).module()):
        reference = copy.deepcopy(model)
        for x in (torch.ones(2), torch.zeros(2)):
            torch.testing.assert_close(form(x), reference(x))

    class Plus(nn.Module):
        def forward(self, x):
            return x + 5

    exchanged = unflatten(program)
    exchanged.set_submodule("k.n@2", Plus())
    reference = copy.deepcopy(model)
    inner = reference.k.n
    y = inner(inner(args[0], True), True)
    other = y + 5 + inner(y, True)
    torch.testing.assert_close(exchanged(args[0]), other + inner.count)


def test_what_an_unflattened_program_is():
    """It says what the program is, as torch.export's does; copies too."""
    program = monograph.export(Several(), (torch.ones(2),))
    module = monograph.unflatten(program)
    for each in (module, copy.deepcopy(module)):
        assert each.graph_signature is program.graph_signature
        assert each.module_call_graph is program.module_call_graph
        assert each.range_constraints is program.range_constraints
        assert each.flat_args_adapter is None


def test_parameters_that_share_memory_go_on_sharing_it():
    """An optimizer that writes to one writes to the other, as in the module."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(3, 3, bias=False)
            self.other = nn.Linear(3, 3, bias=False)
            self.other.weight = nn.Parameter(self.one.weight.data, requires_grad=False)
            self.register_buffer("row", self.one.weight.data[1])

        def forward(self, x):
            return self.other(self.one(x)) + self.row

    module = unflattened(Model(), (x(),))
    before = module(x())
    with torch.no_grad():
        module.one.weight.mul_(2)
    assert torch.equal(module.other.weight, module.one.weight)
    assert torch.equal(module.row, module.one.weight[1])
    assert not torch.equal(module(x()), before)
    assert not module.other.weight.requires_grad
