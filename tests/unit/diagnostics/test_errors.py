"""Errors: who catches what, and how several become one."""

from __future__ import annotations

import copy

import pytest

from monograph.diagnostics import (
    ArchiveError,
    BugError,
    ConstraintViolation,
    ContractError,
    DataDependentError,
    Diagnostic,
    ExportError,
    ExportErrors,
    MonographError,
    SideEffectError,
    SpecError,
    UnsupportedError,
    render,
    together,
)


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (ExportError, [MonographError]),
        (SpecError, [ExportError, ValueError]),
        (ConstraintViolation, [ExportError, ValueError]),
        (DataDependentError, [ExportError, RuntimeError]),
        (UnsupportedError, [ExportError, RuntimeError]),
        (SideEffectError, [ExportError, RuntimeError]),
        (ContractError, [MonographError, RuntimeError]),
        (ArchiveError, [MonographError]),
        (BugError, [MonographError]),
    ],
)
def test_the_tree(error, bases) -> None:
    """Every error is what the tree says, and also the class PyTorch's users expect."""
    assert all(issubclass(error, base) for base in bases)
    assert issubclass(error, ExportError) == (ExportError in bases or error is ExportError)


def test_str_is_the_rendered_message() -> None:
    """`str(error)` is the plain rendering and its page, and the data stays at hand."""
    message = Diagnostic("x", "y")
    error = SpecError(message)
    assert str(error) == f'{render(message)}\nsee: monograph.explain("x"), exportdb.cases["x"]'
    assert error.args == (str(error),)
    assert error.msg == error.message == str(error)
    assert repr(error) == f"SpecError({str(error)!r})"
    assert SpecError(message).diagnostic is message
    assert copy.copy(SpecError(message)).diagnostic is message


def test_handlers_may_put_a_text_in_its_place() -> None:
    """As with other exceptions: what is in `args` is what is shown."""
    error = SpecError(Diagnostic("x", "y"))
    error.args = (f"{error.args[0]}\nwhile exporting a", *error.args[1:])
    assert str(error).endswith("while exporting a")
    assert str(copy.copy(error)) == str(error)
    several = together([SpecError(Diagnostic("x", "y")), SpecError(Diagnostic("z", "y"))])
    assert str(several).endswith("exportdb.cases[...], for each name in brackets")
    assert str(copy.copy(several)) == str(several)


def test_one_problem_is_itself() -> None:
    """A single problem needs no group."""
    error = SpecError(Diagnostic("x", "y"))
    assert together([error]) is error
    assert error.problems == (error,)


@pytest.mark.parametrize("kind", [SpecError, ConstraintViolation])
def test_problems_of_a_kind_are_of_that_kind(kind) -> None:
    """Whoever catches the kind catches the group, in the order given."""
    first, second = (kind(Diagnostic(name, "y")) for name in "ba")
    group = together([first, second])
    assert isinstance(group, kind)
    assert isinstance(group, ExportErrors)
    assert group.problems == (first, second)
    assert group.diagnostic is first.diagnostic
    assert str(group).startswith("error: 2 problems found\n\nerror[b]: y")


def test_problems_of_several_kinds() -> None:
    """A mixed group is caught as ExportError alone; groups in it are opened."""
    first, second = SpecError(Diagnostic("a", "y")), UnsupportedError(Diagnostic("b", "y"))
    inner = together([first, second])
    group = together([inner, DataDependentError(Diagnostic("c", "y"))])
    assert [error.diagnostic.name for error in group.problems] == ["a", "b", "c"]
    assert not isinstance(group, SpecError)


def test_equal_messages_count_once() -> None:
    """One message per cause."""
    twice = [SpecError(Diagnostic("a", "y")) for _ in range(2)]
    assert not isinstance(together(twice), ExportErrors)


def test_no_problem_is_a_mistake() -> None:
    """There is no error without a problem."""
    with pytest.raises(ValueError, match="no problem"):
        together([])


@pytest.mark.parametrize(
    "kind", [SpecError, ConstraintViolation, DataDependentError, UnsupportedError, SideEffectError]
)
def test_a_group_of_one_kind_is_of_that_kind(kind) -> None:
    """Who catches one of them catches several; a mixed group is of no kind."""
    several = [kind(Diagnostic(name, "y")) for name in ("a", "b")]
    group = together(several)
    assert isinstance(group, ExportErrors)
    assert isinstance(group, kind)
    other = DataDependentError if kind is SpecError else SpecError
    mixed = together([*several, other(Diagnostic("c", "y"))])
    assert isinstance(mixed, ExportErrors)
    assert not isinstance(mixed, kind)
