"""Python's own branches on data are captured without rewriting, and agree on every way."""

import copy
from types import SimpleNamespace

import pytest
import torch

import monograph
from monograph.abstract.aliasing import aliasing_of
from tests.control_flow import (  # noqa: F401 - they enter programs
    aliases,
    asked,
    callback_writes,
    contexts,
    exits,
    heap,
    held,
    iterators,
    native_writes,
    once_wrong,
    peeled,
    switches,
    unmodified,
    written,
    written_by_compilers,
)
from tests.control_flow.branching import PROGRAMS, Branching
from tests.control_flow.forms import made_forms, naming


def clones(inputs):
    """Inputs that nobody else changes."""
    return tuple(each.clone() for each in inputs)


def unsaid_writes(program):
    """List the inputs that a graph writes to, though its signature does not say so."""
    said = program.graph_signature.mutated_in_place
    nodes = [node for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    written = [each for n in nodes for each in aliasing_of(n.target).writes(n.args, n.kwargs)]
    inputs = [each for each in written if isinstance(each, torch.fx.Node)]
    return [each for each in inputs if each.op == "placeholder" and each.name not in said]


def outcome(function, inputs):
    """The result, or the kind of failure."""
    try:
        return function(*inputs)
    except Exception as error:  # noqa: BLE001
        return error


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda each: each.name)
def test_captured_or_refused_by_name(program: Branching):
    """A program equals eager on calls that take every way, one after the other."""
    module = program.make()
    example = clones(program.calls[0])
    if program.refused:
        with pytest.raises(monograph.MonographError) as caught:
            monograph.export(module, example, control_flow="capture")
        assert program.refused in [each.diagnostic.name for each in caught.value.problems]
        return
    eager = copy.deepcopy(module)
    exported = monograph.export(module, example, control_flow="capture").module()
    for inputs in (*program.calls, *program.calls):
        given, mine = clones(inputs), clones(inputs)
        expected, found = outcome(eager, given), outcome(exported, mine)
        if isinstance(expected, Exception):
            assert isinstance(found, Exception)
            continue
        torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(mine, given, rtol=0, atol=0, equal_nan=True)
    for name, buffer in eager.named_buffers():
        torch.testing.assert_close(exported.get_buffer(name), buffer)


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS.values() if not each.refused], ids=lambda each: each.name
)
def test_agrees_in_every_form(program: Branching):
    """On every way: lowered, saved and loaded, as code, and in torch.export."""
    exported = monograph.export(program.make(), clones(program.calls[0]))
    assert not unsaid_writes(exported)
    for form, made in made_forms(exported):
        if form == "in_stock" and not program.stock:
            continue
        mine, eager = made(), program.make()
        for inputs in program.calls:
            given, taken = clones(inputs), clones(inputs)
            expected, found = outcome(eager, given), outcome(mine, taken)
            with naming(form):
                if isinstance(found, Exception) and not isinstance(expected, Exception):
                    raise found
                if isinstance(expected, Exception):
                    assert isinstance(found, Exception)
                    continue
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
                torch.testing.assert_close(taken, given, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", ["if_else", "elif_chain", "modes_inside", "left_early"])
def test_programs_run_without_gradients_too(name):
    """Capturing a branch is no question about the call's modes."""
    program = PROGRAMS[name]
    exported, eager = monograph.export(program.make(), program.calls[0]).module(), program.make()
    for inputs in program.calls:
        with torch.no_grad():
            expected = eager(*clones(inputs))
            torch.testing.assert_close(exported(*clones(inputs)), expected, rtol=0, atol=0)
        with torch.inference_mode():
            torch.testing.assert_close(exported(*clones(inputs)), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["numbers_by_branch", "both_conditions", "two_tests", "counted"])
def test_programs_run_under_another_default_device(name):
    """What the capture makes of numbers is none of the user's tensors."""
    program = PROGRAMS[name]
    exported, eager = monograph.export(program.make(), program.calls[0]).module(), program.make()
    for inputs in program.calls:
        with torch.device("meta"):
            expected, found = eager(*clones(inputs)), exported(*clones(inputs))
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_what_a_way_raises_is_raised_by_the_program():
    """With the words of the program's own exception."""
    module = PROGRAMS["raise_if_bad"].make()
    exported = monograph.export(module, (torch.ones(3),), control_flow="capture").module()
    with pytest.raises(RuntimeError, match="ValueError: infinite"):
        exported(torch.tensor([1.0, float("inf"), 0.0]))


def test_an_assertion_fails_when_the_program_runs():
    """With its message."""
    module = PROGRAMS["assertion"].make()
    exported = monograph.export(module, (torch.ones(3),), control_flow="capture").module()
    with pytest.raises(RuntimeError, match="too large"):
        exported(torch.full((3,), 50.0))


@pytest.mark.parametrize("name", ["elif_chain", "counted", "branch_in_a_loop"])
def test_programs_with_branches_print(name):
    """With the types of what the branches compute."""
    program = monograph.export(PROGRAMS[name].make(), PROGRAMS[name].calls[0])
    assert (
        "f32[3]"
        in str(program).partition(
            "class true_graph_0" if name == "elif_chain" else "class while_loop"
        )[2]
    )


def test_gradients_follow_the_way_that_is_taken():
    """As in eager code."""
    module = PROGRAMS["elif_chain"].make()
    exported = monograph.export(module, (torch.ones(3),), control_flow="capture").module()
    for call in PROGRAMS["elif_chain"].calls:
        one, other = (each.clone().requires_grad_() for each in (call[0], call[0]))
        exported(one)[0].sum().backward()
        module(other)[0].sum().backward()
        torch.testing.assert_close(one.grad, other.grad)


class WrittenWithoutGradients(torch.nn.Module):
    """A side writes to what has a history, and both end where gradients are followed again."""

    def forward(self, a, b):
        c, box = a * a, SimpleNamespace()
        with torch.no_grad():
            if b.sum() > 1:
                box.pair = (c, b)
                c.add_(1)
        return b * 1, (a, c)


def test_history_of_what_a_side_writes_without_gradients():
    """It is kept: `no_grad` is for what is made in it. Lowered, backward is refused."""
    eager = WrittenWithoutGradients()
    program = monograph.export(eager, (torch.ones(3, requires_grad=True), torch.ones(3)))
    lowered = program.run_decompositions().module()
    for sign in (1, -1):
        inputs = [torch.arange(1.0, 4).requires_grad_() for _ in range(3)]
        modules = eager, program.module(), lowered
        results = [m(x, sign * torch.ones(3)) for m, x in zip(modules, inputs, strict=True)]
        for each in results[1:]:
            assert each[1][1].requires_grad
            torch.testing.assert_close(each, results[0], rtol=0, atol=0)
        for each in results[:2]:
            (each[1][1] ** 2).sum().backward()
        torch.testing.assert_close(inputs[1].grad, inputs[0].grad)


def test_gradients_of_what_rounds_write():
    """They are eager code's, for every number of rounds."""
    eager = written.WritesWithGradients()
    mine = monograph.export(copy.deepcopy(eager), (written.ALL[0],)).module()
    for x in written.ALL:
        results = [module(x) for module in (eager, mine)]
        grads = [
            torch.autograd.grad(result, module.weight)
            for result, module in zip(results, (eager, mine), strict=True)
        ]
        torch.testing.assert_close((results[1], grads[1]), (results[0], grads[0]), rtol=0, atol=0)


def test_a_number_read_in_a_branch_has_the_range_of_its_tensor():
    """A count within 8 values begins a slice of what is longer, lowered too."""

    class Counts(torch.nn.Module):
        def forward(self, x, n):
            if n > 3:
                found = (torch.arange(8) < n).long().sum()
                twice = torch.cat([x, x]).narrow(0, 0, found)
                return twice.sum() + x.narrow(0, found, 8 - found).sum()
            return x.sum()

    program = monograph.export(Counts(), (torch.randn(8), torch.tensor(5)))
    for form in (program, program.run_decompositions()):
        for n in (0, 3, 4, 7, 8, 20):
            given = torch.randn(8), torch.tensor(n)
            torch.testing.assert_close(form.module()(*given), Counts()(*given))
