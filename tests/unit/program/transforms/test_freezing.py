"""Freezing: what is hoisted, what must stay, and what a frozen module refuses."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from monograph import ContractError, MonographError, export, load, save
from tests.seeding import reseed

aten = torch.ops.aten


def program_of(function, *args, shapes="x: n, 3; n <= 8", mode=False, **state):
    """Export a function of `self` and tensors."""
    module = type("Model", (nn.Module,), {"forward": function})()
    for name, value in state.items():
        if isinstance(value, nn.Parameter | nn.Module):
            setattr(module, name, value)
        else:
            module.register_buffer(name, value)
    return export(module.train(mode), args, dynamic_shapes=shapes)


def parameter(*sizes):
    """Draw a parameter."""
    reseed(11)
    return nn.Parameter(torch.randn(*sizes))


def calls(module):
    """Name what a module calls."""
    return [str(each.target) for each in module.graph.nodes if each.op == "call_function"]


def equal(program, *args):
    """Hold that the frozen module gives the same values, bit for bit; give it."""
    module = program.module(freeze=True)
    expected, found = program.module()(*args), module(*args)
    assert_close(found, expected, rtol=0, atol=0)
    return module


def rotary(_, x):
    """Turn by a table of constants."""
    angles = torch.outer(torch.arange(8.0), 1 / 10 ** (torch.arange(0, 3) / 3))
    return x * angles.cos()[: x.shape[0]] + x * angles.sin()[: x.shape[0]]


HOISTED = {
    "transposed": lambda self, x: x @ self.weight.t(),
    "scaled": lambda self, x: x @ (self.weight * self.scale),
    "dequantised": lambda self, x: x @ ((self.codes.float() - 3) * self.scale),
    "joined": lambda self, x: x @ torch.cat([self.weight, self.weight * 2], 1),
    "a mask": lambda self, x: x @ (self.weight + torch.ones(3, 3).triu(1) * -1e9).softmax(-1),
    "a table": rotary,
    "several results": lambda self, x: x * self.weight.max(0)[0] + self.weight.split(1)[1],
}


@pytest.mark.parametrize("name", HOISTED)
def test_what_depends_on_state_alone_is_computed_once(name):
    """At other sizes, too; one operator or few are left."""
    weight, codes = parameter(3, 3), torch.arange(9, dtype=torch.int8).reshape(3, 3)
    state = {"weight": weight, "scale": torch.tensor(0.3), "codes": codes}
    program = program_of(HOISTED[name], torch.randn(4, 3), **state)
    frozen = equal(program, torch.randn(5, 3))
    assert len(calls(frozen)) < len(calls(program.module()))
    assert frozen.frozen_state.hoisted
    names = ["mul.Tensor", "add.Tensor", "matmul.default", "slice.Tensor", "sym_size.int"]
    kept = {f"aten.{name}" for name in names}
    assert not {each for each in calls(frozen) if each.startswith("aten")} - kept


def test_results_and_what_is_written_stay_apart():
    """A caller gets a tensor of its own, or the parameter's memory, as from the usual module."""

    def forward(self, x):
        table = self.weight * 2
        table.add_(1)
        return x + table, self.weight * 3, self.weight.t(), self.weight[0], torch.ones(3)

    program = program_of(forward, torch.randn(3, 3), weight=parameter(3, 3), shapes=None)
    frozen, x = equal(program, torch.randn(3, 3)), torch.randn(3, 3)
    _, own, view, row, ones = frozen(x)
    weight = program.state_dict["weight"]
    assert view.data_ptr() == weight.data_ptr() == row.data_ptr()
    own.zero_()
    ones.zero_()
    assert_close(frozen(x)[1:], program.module()(x)[1:], rtol=0, atol=0)


def test_state_that_calls_write_to_stays_state():
    """Counters and running statistics go on; memory that they share is no constant either."""

    def forward(self, x):
        self.steps.add_(1)
        return self.norm(x) * self.steps.exp() + self.weight.exp()

    steps = torch.zeros(2)
    state = {"norm": nn.BatchNorm1d(3), "weight": parameter(3), "steps": steps[:1]}
    program = program_of(forward, torch.randn(4, 3), mode=True, **state)
    again = copy.deepcopy(program)
    frozen, usual = program.module(freeze=True), again.module()
    for _ in range(3):
        x = torch.randn(5, 3)
        assert_close(frozen(x), usual(x), rtol=0, atol=0)
    changing = {"steps", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    assert set(frozen.state_dict()) == changing
    assert "aten.exp.default" in calls(frozen)
    assert not [*frozen.parameters()]


def test_state_in_one_memory_is_written_together():
    """What a written buffer shares its memory with is read in every call."""

    def forward(self, x):
        y = x + self.part.exp()
        self.whole.add_(1)
        return y

    whole = torch.zeros(2, 3)
    program = program_of(forward, torch.randn(4, 3), whole=whole, part=whole[0])
    frozen, x = program.module(freeze=True), torch.zeros(2, 3)
    assert_close([frozen(x), frozen(x)], [x + 1, x + torch.e])


def test_what_draws_is_drawn_in_every_call():
    """Noise of constant sizes, and dropout of a parameter."""

    def forward(self, x):
        noise = torch.rand(3) + torch.zeros(3).bernoulli_(0.5)
        return x * noise + nn.functional.dropout(self.weight, 0.5, training=True)

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3))
    frozen, usual, x = program.module(freeze=True), program.module(), torch.randn(5, 3)
    reseed(5)
    expected = [usual(x) for _ in range(3)]
    reseed(5)
    found = [frozen(x) for _ in range(3)]
    assert_close(found, expected, rtol=0, atol=0)
    assert not torch.equal(found[0], found[1])


def test_checks_of_constants_are_made_when_freezing():
    """One that holds is gone; one that does not stays for the call to refuse."""

    def forward(self, x):
        torch._check(self.scale.sum().item() > 0)
        return x * self.scale.exp()

    program = program_of(forward, torch.randn(4, 3), scale=torch.ones(3))
    frozen = equal(program, torch.randn(5, 3))
    assert calls(frozen) == ["aten.mul.Tensor"]
    broken = program.with_state({"scale": -torch.ones(3)})
    with pytest.raises(RuntimeError):
        broken.module()(torch.ones(2, 3))
    with pytest.raises(RuntimeError):
        broken.module(freeze=True)(torch.ones(2, 3))


@pytest.mark.parametrize("how", ["no_grad", "optimizer", "load_state_dict"])
def test_a_changed_parameter_is_no_silent_mistake(how):
    """Whatever writes to what was hoisted, the next call is refused; a new module is right."""
    program = program_of(
        HOISTED["scaled"], torch.randn(4, 3), weight=parameter(3, 3), scale=torch.ones(1)
    )
    frozen, x = program.module(freeze=True), torch.randn(2, 3)
    frozen(x)
    weight = program.state_dict["weight"]
    if how == "no_grad":
        with torch.no_grad():
            weight.add_(1)
    elif how == "optimizer":
        weight.grad = torch.ones_like(weight)
        torch.optim.SGD([weight], 0.1).step()
    else:
        program.module().load_state_dict({"weight": torch.zeros(3, 3), "scale": torch.ones(1)})
    with pytest.raises(ContractError, match="was changed since") as caught:
        frozen(x)
    assert caught.value.diagnostic.name == "state-frozen"
    equal(program, x)


def test_what_is_read_in_every_call_may_change():
    """A weight of which nothing was computed is read as it is, as is a view of it."""

    def forward(self, x):
        return x @ self.weight.t() + self.bias

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3, 3), bias=parameter(3))
    frozen, x = program.module(freeze=True), torch.randn(2, 3)
    with torch.no_grad():
        for each in program.parameters():
            each.mul_(2)
    assert_close(frozen(x), program.module()(x), rtol=0, atol=0)


def test_constants_take_no_other_values():
    """Neither load_state_dict nor `to` changes a constant, and neither is silent."""

    def forward(self, x):
        return x @ (self.weight * 2) + self.bias

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3, 3), bias=parameter(3))
    frozen = program.module(freeze=True)
    for given in ({"weight": torch.ones(3, 3)}, {"bias": torch.ones(3)}):
        with pytest.raises(ContractError, match="is a constant of a frozen module"):
            frozen.load_state_dict(given, strict=False)
    with pytest.raises(MonographError, match="would change its dtype"):
        frozen.double()
    frozen.to("cpu").load_state_dict({})
    assert program.state_dict["weight"].requires_grad


def test_gradients_reach_inputs_alone():
    """They are what the usual module gives inputs; the program's parameters get none."""
    program = program_of(
        HOISTED["scaled"], torch.randn(4, 3), weight=parameter(3, 3), scale=torch.ones(1)
    )
    frozen, x = program.module(freeze=True), torch.randn(2, 3)
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    frozen(one).sum().backward()
    assert program.state_dict["weight"].grad is None
    program.module()(other).sum().backward()
    assert_close(one.grad, other.grad, rtol=0, atol=0)
    assert not frozen(x).requires_grad


def test_what_nothing_reads_is_dropped_and_listed():
    """The weight that was dequantised goes where nobody holds it; the list says what took it."""
    program = program_of(
        HOISTED["dequantised"],
        torch.randn(4, 3),
        weight=parameter(3, 3),
        scale=torch.tensor(0.5),
        codes=torch.ones(3, 3, dtype=torch.int8),
    )
    state = program.module(freeze=True).frozen_state
    (value,) = state.hoisted
    assert value.sources == ("codes", "scale")
    assert value.operators[-1] == "aten.mul.Tensor"
    assert value.n_bytes == 36
    assert set(state.dropped) == {"codes", "scale", "weight"}
    assert (state.bytes_before, state.bytes_after) == (9 + 4 + 36, 36)
    assert "36 bytes" in str(state)


def test_modes_that_were_asked_are_asked_when_freezing():
    """A module frozen under another default dtype would hold other numbers: it is refused."""

    def forward(self, x):
        return x * torch.ones(3).div(torch.get_default_dtype().itemsize)

    program = program_of(forward, torch.randn(4, 3))
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ContractError, match="get_default_dtype"):
            program.module(freeze=True)
    finally:
        torch.set_default_dtype(torch.float32)
    equal(program, torch.randn(5, 3))


def test_flags_of_parameters_are_asked_when_freezing():
    """Code that asked a parameter whether it needs a gradient has its answer once for all."""

    def forward(self, x):
        return x * (self.weight.exp() if self.weight.requires_grad else 2.0)

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3))
    equal(program, torch.randn(5, 3))
    program.state_dict["weight"].requires_grad_(False)
    with pytest.raises(ContractError, match="requires_grad"):
        program.module(freeze=True)


def test_frozen_under_inference_mode_it_can_be_differentiated():
    """The modes of the moment of freezing do not matter later."""
    program = program_of(
        HOISTED["scaled"], torch.randn(4, 3), weight=parameter(3, 3), scale=torch.ones(1)
    )
    with torch.inference_mode():
        frozen = program.module(freeze=True)
    x = torch.randn(2, 3, requires_grad=True)
    frozen(x).sum().backward()
    assert x.grad is not None


def test_copies_are_frozen_with_what_they_hold():
    """A deep copy does not mind what becomes of the program; it minds what becomes of its own."""

    def forward(self, x):
        return x @ (self.weight * 2) @ self.weight + self.weight[0]

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3, 3))
    x = torch.randn(2, 3)
    frozen = program.module(freeze=True)
    expected, copied = frozen(x), copy.deepcopy(frozen)
    with torch.no_grad():
        program.state_dict["weight"].zero_()
    assert_close(copied(x), expected, rtol=0, atol=0)
    with pytest.raises(ContractError):
        frozen(x)
    copied.weight = torch.zeros(3, 3)
    with pytest.raises(ContractError):
        copied(x)


def test_custom_operators_are_called_each_time():
    """What is not PyTorch's own may count, print or draw."""
    seen = []

    @torch.library.custom_op("frozen_tests::counted", mutates_args=())
    def counted(x: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return x.exp()

    counted.register_fake(torch.empty_like)

    def forward(self, x):
        return x * counted(self.weight)

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3))
    frozen = equal(program, torch.randn(2, 3))
    before = len(seen)
    frozen(torch.randn(2, 3))
    assert len(seen) == before + 1


def test_weights_without_data_are_asked_for_first(tmp_path):
    """A program that was loaded without its weights has nothing to freeze."""
    program = program_of(
        HOISTED["scaled"], torch.randn(4, 3), weight=parameter(3, 3), scale=torch.ones(1)
    )
    save(program, tmp_path / "bare.pt2", weights=False)
    with pytest.raises(MonographError, match="has no data"):
        load(tmp_path / "bare.pt2").module(freeze=True)


def test_compiled():
    """Dynamo reads a frozen module as it reads any other."""
    program = program_of(
        HOISTED["scaled"], torch.randn(4, 3), weight=parameter(3, 3), scale=torch.ones(1)
    )
    frozen, x = program.module(freeze=True), torch.randn(4, 3)
    compiled = torch.compile(frozen, backend="eager", fullgraph=True)
    assert_close(compiled(x), program.module()(x))


@pytest.mark.parametrize("strict", [True, False])
def test_exported_again(strict):
    """A frozen module is a module like any other."""

    def forward(self, x):
        self.steps.add_(1)
        return x @ (self.weight * 2) @ self.weight + self.steps

    program = program_of(forward, torch.randn(4, 3), weight=parameter(3, 3), steps=torch.zeros(1))
    usual, x = copy.deepcopy(program).module(), torch.randn(5, 3)
    frozen = program.module(freeze=True)
    shapes = "x: n, 3; n <= 8"
    again = export(frozen, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=strict)
    assert_close(again.module()(x), usual(x))
    assert "aten.mul.Tensor" not in calls(again.module())
