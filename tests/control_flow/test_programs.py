"""Each program of the corpus in every form, beside plain Python on inputs that take every way."""

import copy
from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from tests.control_flow import branches, loops  # noqa: F401 - they enter the programs
from tests.control_flow.forms import made_forms, naming
from tests.control_flow.registry import PROGRAMS, Program, in_plain_python
from tests.seeding import reseed


def export(each: Program, *, strict: bool, static: bool) -> tuple[torch.nn.Module, Any]:
    """The module and its program."""
    reseed(0)
    module = each.module()
    arguments = each.inputs(each.sizes[0])
    shapes = None if static else shapes_of(each, arguments)
    return module, monograph.export(module, arguments, dynamic_shapes=shapes, strict=strict)


def shapes_of(each: Program, arguments: tuple[Any, ...]) -> Any:
    """What varies between calls."""
    if each.dynamic is None:
        return None
    n = monograph.Dim("n")
    return tuple(
        {each.dynamic: n} if x.dim() > each.dynamic and x.shape[each.dynamic] == 5 else None
        for x in arguments
    )


def check(each: Program, module: torch.nn.Module, made: Any, *, static: bool) -> None:
    """Results, changed inputs and changed buffers are as in plain Python, call after call."""
    eager = copy.deepcopy(module)
    for arguments in each.calls(static=static):
        mine, other = copy.deepcopy(arguments), copy.deepcopy(arguments)
        with in_plain_python():
            expected = eager(*other)
        got = made(*mine)
        torch.testing.assert_close(
            pytree.tree_leaves(got), pytree.tree_leaves(expected), rtol=1e-4, atol=1e-5
        )
        assert pytree.tree_structure(got) == pytree.tree_structure(expected)
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_agrees_in_every_form(name: str, static: bool) -> None:
    """The example's sizes in strict mode, others in plain mode; one export for all forms."""
    each = PROGRAMS[name]
    module, program = export(each, strict=static, static=static)
    for form, made in made_forms(program):
        if form == "in_stock" and not each.stock:
            continue
        with naming(form):
            check(each, module, made(), static=static)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_exports_again(name: str, strict: bool) -> None:
    """The program's own module is exported in either mode, with the operators it has."""
    each = PROGRAMS[name]
    module, program = export(each, strict=True, static=False)
    arguments = each.inputs(each.sizes[0])
    shapes = shapes_of(each, arguments)
    again = monograph.export(program.module(), arguments, dynamic_shapes=shapes, strict=strict)
    check(each, module, again.module(), static=False)
    kinds = [
        [node.target for node in made.graph.nodes if node.op == "call_function"]
        for made in (program, again)
    ]
    assert Counter(kinds[0]) == Counter(kinds[1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_modes_write_one_graph(name: str) -> None:
    """Strict and plain capture record the same operators."""
    each = PROGRAMS[name]
    graphs = [str(export(each, strict=strict, static=False)[1].graph) for strict in (True, False)]
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree(name: str) -> None:
    """Gradients of inputs and parameters through the program are those of plain Python."""
    each = PROGRAMS[name]
    module, program = export(each, strict=False, static=False)
    eager, made = copy.deepcopy(module), program.module()
    for arguments in each.calls(static=False):
        mine = [x.clone().requires_grad_(x.is_floating_point()) for x in arguments]
        other = [x.detach().clone().requires_grad_(x.requires_grad) for x in mine]
        with in_plain_python():
            expected = gradients(eager, [x * 1 for x in other], other)
        torch.testing.assert_close(
            gradients(made, [x * 1 for x in mine], mine), expected, rtol=1e-4, atol=1e-5
        )


def gradients(function: Any, arguments: Any, leaves: Any) -> list[Any]:
    """Of the sum of all results, by inputs and parameters in order of their names."""
    results = [x for x in pytree.tree_leaves(function(*arguments)) if isinstance(x, torch.Tensor)]
    total = sum(x.sum() for x in results if x.requires_grad)
    parameters = [p for _, p in sorted(function.named_parameters())]
    if not isinstance(total, torch.Tensor):
        return []
    return list(torch.autograd.grad(total, [*leaves, *parameters], allow_unused=True))
