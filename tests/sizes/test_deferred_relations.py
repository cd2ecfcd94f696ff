"""Relations that no declaration can spell are left to the contract, where that is asked."""

import pytest
import torch

import monograph
from monograph import ConstraintViolation, ContractError, Dim


class Flattened(torch.nn.Module):
    """A matrix as a vector, and another vector."""

    def forward(self, x, y):
        return x.reshape(-1) + y


class Halves(torch.nn.Module):
    """Needs an even size."""

    def forward(self, x):
        return x.reshape(2, -1)


class Equal(torch.nn.Module):
    """Needs equal sizes, which a declaration says."""

    def forward(self, x, y):
        return x + y


PLANE = ({0: Dim("a"), 1: Dim("b")}, {0: Dim("c")})


@pytest.mark.parametrize("strict", [True, False])
def test_products_are_checked_by_the_program(strict):
    """Refused by default; asked for, each call is checked before an operator runs."""
    example = (torch.ones(3, 4), torch.ones(12))
    with pytest.raises(ConstraintViolation):
        monograph.export(Flattened(), example, dynamic_shapes=PLANE, strict=strict)
    program = monograph.export(
        Flattened(),
        example,
        dynamic_shapes=PLANE,
        strict=strict,
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    for a, b in ((3, 4), (2, 5), (1, 1), (0, 3), (7, 2)):
        x, y = torch.randn(a, b), torch.randn(a * b)
        assert program.module()(x, y).equal(Flattened()(x, y))
        with pytest.raises(ContractError):
            program.module()(x, torch.randn(a * b + 1))


def test_divisors_are_checked_by_the_program():
    """A size that must be even stays under its own name."""
    program = monograph.export(
        Halves(),
        (torch.ones(6),),
        dynamic_shapes={"x": {0: Dim("n")}},
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    assert program.module()(torch.ones(8)).shape == (2, 4)
    with pytest.raises(ContractError):
        program.module()(torch.ones(7))


def test_what_a_declaration_can_say_is_still_refused():
    """Equal sizes under two names, as torch does."""
    with pytest.raises(ConstraintViolation):
        monograph.export(
            Equal(),
            (torch.ones(3), torch.ones(3)),
            dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}),
            prefer_deferred_runtime_asserts_over_guards=True,
        )


def test_a_draft_defers_them_too():
    """Without a problem to report."""
    program = monograph.draft_export(
        Flattened(),
        (torch.ones(3, 4), torch.ones(12)),
        dynamic_shapes=PLANE,
        prefer_deferred_runtime_asserts_over_guards=True,
    )
    assert not program.report.problems
