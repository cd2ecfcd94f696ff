"""What user code asks of modes and of tensors becomes a clause; what nobody asks does not."""

import copy
import io

import pytest
import torch
from torch import is_grad_enabled, nn

import monograph
from monograph import export
from monograph.diagnostics import ContractError, MonographError
from monograph.program.contract import question_text


def exported(forward, *args, strict=True, **attributes):
    """Export a function as a module with these attributes."""
    module = type("Model", (nn.Module,), {"forward": forward})()
    for name, value in attributes.items():
        setattr(module, name, value)
    return export(module, args, strict=strict)


def asked(program):
    """What the contract holds, as code, with the answers."""
    return {question_text(each): each.value for each in program.contract.answers}


def x():
    """Three numbers."""
    return torch.ones(3)


BOTH = pytest.mark.parametrize("strict", [True, False])


@BOTH
def test_nothing_is_asked_where_nothing_depends(strict):
    """A program of operators that follow every mode has no such clause."""
    assert asked(exported(lambda self, x: (x * 2).sum() + x[1:].exp(), x(), strict=strict)) == {}


@BOTH
def test_a_function_imported_by_name_is_heard(strict):
    """The file of the model may have imported what asks."""
    program = export(Imports(), (x(),), strict=strict)
    assert asked(program) == {"torch.is_grad_enabled()": True}
    assert is_grad_enabled is torch.is_grad_enabled


class Imports(nn.Module):
    """Asks by a name of this file."""

    def forward(self, x):
        return x * 2 if is_grad_enabled() else x


@BOTH
def test_a_region_of_forward_answers_itself(strict):
    """Under `no_grad` of its own, forward is told the same by every caller."""

    def forward(self, x):
        with torch.no_grad():
            return x * 2 if torch.is_grad_enabled() else x * 3

    assert asked(exported(forward, x(), strict=strict)) == {}


@BOTH
def test_pytorch_asking_in_order_to_put_back_is_not_counted(strict):
    """`no_grad` asks for the mode before it."""

    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return y * x

    program = exported(forward, x().requires_grad_(), strict=strict)
    assert asked(program) == {}
    for mode in (torch.no_grad, torch.enable_grad):
        with mode():
            y = program.module()(x().requires_grad_())
            assert y.requires_grad is (mode is torch.enable_grad)


@BOTH
def test_a_result_asks_all_that_it_is_computed_from(strict):
    """What requires gradients is decided by the mode and by whatever the result was made of."""

    def forward(self, x, y, z):
        made = x * self.weight + z.long()
        return made * 2 if made.requires_grad else made, y

    program = exported(forward, x(), x(), x().int(), strict=strict, weight=nn.Parameter(x()))
    assert asked(program) == {
        "torch.is_grad_enabled()": True,
        "x.requires_grad": False,
        "weight.requires_grad": True,
    }
    program.module()(x(), x().requires_grad_(), x().int())
    with pytest.raises(ContractError, match=r"x\.requires_grad"):
        program.module()(x().requires_grad_(), x(), x().int())


def forms(program):
    """The program in every form that is called."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    loaded = monograph.load(file)
    each = [program, copy.deepcopy(program), loaded, program.run_decompositions()]
    return [*(form.module() for form in each), *map(monograph.unflatten, each)]


def test_clauses_of_parameters_hold_in_every_form():
    """A parameter that is frozen after the export is not the parameter that was asked."""

    def forward(self, x):
        return x * self.weight * (2 if self.weight.requires_grad else 3)

    program = exported(forward, x(), weight=nn.Parameter(x()))
    for module in forms(program):
        assert torch.equal(module(x()), x() * 2)
        module.get_parameter("weight").requires_grad_(False)
        with pytest.raises(ContractError, match=r"weight\.requires_grad") as refused:
            module(x())
        module.get_parameter("weight").requires_grad_(True)
        assert "test_guarded_queries.py" in str(refused.value)
    program.check_inputs(x())


def test_what_a_program_cannot_know_is_refused():
    """There is no history of operators, and no gradient, in a capture."""
    with pytest.raises(MonographError, match="grad_fn"):
        exported(lambda self, x: x * 2 if (x * 2).grad_fn else x, x().requires_grad_())
    given = x().requires_grad_()
    given.sum().backward()
    with pytest.raises(MonographError, match="gradient"):
        exported(lambda self, x: x if x.grad is None else x * x.grad, given)


def test_gradients_may_begin_within_forward():
    """`requires_grad_` of a tensor of its own is an operator; of an input it is refused."""
    program = exported(lambda self, x: x.detach().requires_grad_() * 2, x())
    assert program.module()(x()).requires_grad
    with pytest.raises(MonographError, match=r"x\.requires_grad"):
        exported(lambda self, x: x.requires_grad_() * 2, x())


@BOTH
def test_conjugate_bits_follow_views(strict):
    """A view has the bit of what it views, `conj` the other one, and what is computed none."""

    def forward(self, z):
        bits = (z.is_conj(), z[1:].is_conj(), z.conj().is_conj(), torch.is_conj(z * 2))
        return [z * bit for bit in bits]

    z = torch.randn(3, dtype=torch.complex64)
    for given in (z, z.conj()):
        program = exported(forward, given, strict=strict)
        expected = type("Model", (nn.Module,), {"forward": forward})()(given)
        assert all(map(torch.equal, program.module()(given), expected))
        with pytest.raises(ContractError, match="is_conj"):
            program.module()(given.conj())


class Named(torch.Tensor):
    """A class that its results have, too."""


def test_a_class_that_results_would_have_is_refused():
    """At the export, and at a call."""
    with pytest.raises(MonographError):
        exported(lambda self, x: x * 2, x().as_subclass(Named))
    program = exported(lambda self, x: x * 2, x())
    with pytest.raises(ContractError, match=r"type\(x\)"):
        program.module()(x().as_subclass(Named))
    program.module()(nn.Parameter(x()))


def test_several_broken_clauses_are_listed_together():
    """The first is the headline, the others follow with their lines."""

    def forward(self, x):
        if torch.is_grad_enabled() and not torch.are_deterministic_algorithms_enabled():
            return x @ x
        return x

    program = exported(forward, torch.ones(2, 2))
    with torch.no_grad(), torch.autocast("cpu"), pytest.raises(ContractError) as refused:
        program.module()(torch.ones(2, 2))
    said = str(refused.value)
    assert "`torch.is_grad_enabled()` expected True, got False, and 1 more difference" in said
    assert "`torch.autocast on cpu` expected off, got bf16" in said


def test_the_contract_shows_what_was_asked():
    """A table of its own, with the line."""
    shown = str(exported(lambda self, x: x if torch.is_grad_enabled() else -x, x()).contract)
    assert "modes and flags\n    torch.is_grad_enabled()  True  test_guarded_queries.py:" in shown


def test_the_text_of_a_program_asks_too():
    """`to_python` writes the questions as assertions."""

    def forward(self, x):
        return x @ x * (2 if torch.is_grad_enabled() and self.weight.requires_grad else 3)

    program = exported(forward, torch.ones(2, 2), weight=nn.Parameter(x()))
    text = program.to_python()
    assert "assert torch.is_grad_enabled()  # test_guarded_queries.py:" in text
    assert 'assert not torch.is_autocast_enabled("cpu")' in text
    names = {}
    exec(text, names)
    state = {**program.state_dict, **program.constants}
    names["forward"](state, torch.ones(2, 2))
    with pytest.raises(AssertionError), torch.no_grad():
        names["forward"](state, torch.ones(2, 2))


class Remembers(torch.nn.Module):
    """A buffer that each call replaces, which the program does at its end."""

    def __init__(self, other):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))
        self.taken = other

    def forward(self, x):
        """The difference to the last call's."""
        result = x - self.last
        self.last = x if self.taken else x * 1
        return result


def test_what_is_around_export_is_not_the_models():
    """Whether the caller catches what `export` raises decides neither contract nor refusals."""
    plain = str(monograph.export(Remembers(False), (torch.ones(3),)).contract)
    try:
        within = str(monograph.export(Remembers(False), (torch.ones(3),)).contract)
        monograph.export(Remembers(True), (torch.ones(3),))
    except monograph.ExportError as error:
        names = [each.diagnostic.name for each in error.problems]
    assert (within, names) == (plain, ["buffer-is-input"])
