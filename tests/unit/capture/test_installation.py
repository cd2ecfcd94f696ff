"""Overrides: in force while somebody captures, on top of what others put there, and gone after."""

from __future__ import annotations

import sys
import types

import pytest
import torch

import monograph
from monograph.capture.installation import Overrides, heard_by, listening


@pytest.fixture
def library():
    """A module with a function."""
    made = types.ModuleType("library")
    made.double = lambda x: 2 * x
    return made


@pytest.fixture
def overrides(library):
    """A table that adds one for whoever is heard."""
    table = Overrides()

    @table.override(library, "double")
    def _double(original):
        return lambda x: original(x) + (listening() is not None)

    return table


def test_it_is_told_to_a_thread_that_is_heard(library, overrides) -> None:
    """Only where somebody listens; as before afterwards."""
    before = library.double
    with overrides.installed():
        assert library.double(2) == 4
        with heard_by(object()):
            assert library.double(2) == 5
            with heard_by(None):
                assert library.double(2) == 4
        assert library.double is not before
    assert library.double is before


def test_it_is_removed_with_its_last_user(library, overrides) -> None:
    """Users may end in any order."""
    before, first, second = library.double, overrides.installed(), overrides.installed()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert library.double is not before
    second.__exit__(None, None, None)
    assert library.double is before


def test_what_others_put_there_before_is_called(library, overrides) -> None:
    """Also where that changes between two installations."""
    for factor in (3, 4):
        library.double = lambda x, factor=factor: factor * x
        before = library.double
        with overrides.installed(), heard_by(object()):
            assert library.double(2) == 2 * factor + 1
        assert library.double is before


def test_what_others_put_there_since_stays(library, overrides) -> None:
    """Who wraps the override and puts it back later leaves a function that works as before."""
    before = library.double
    with overrides.installed():
        ours = library.double
        library.double = lambda x: -ours(x)
    assert library.double(2) == -4
    library.double = ours
    assert library.double(2) == 4
    with overrides.installed(), heard_by(object()):
        assert library.double(2) == 5
    assert library.double is ours
    assert ours is not before


def test_names_that_files_of_models_import_are_overridden(library, overrides, monkeypatch) -> None:
    """`from library import double`, until the last user has gone."""
    file = types.ModuleType("models_of_users")
    file.own = library.double
    monkeypatch.setitem(sys.modules, file.__name__, file)
    model = type("Model", (torch.nn.Module,), {"__module__": file.__name__})()
    with overrides.installed([model]), heard_by(object()):
        assert file.own(2) == 5
    assert file.own is library.double


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
def test_functions_that_modules_keep_are_overridden(strict) -> None:
    """A function of torch in an attribute is torch's own, by identity and as a key."""

    class Chooses(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.make, self.pool = torch.tensor, torch.nn.functional.avg_pool2d

        def forward(self, x):
            pools = {torch.nn.functional.avg_pool2d: 2}
            return x * (2 if self.make is torch.tensor else 3) * pools.get(self.pool, 3)

    module, x = Chooses(), torch.ones(2)
    program = monograph.export(module, (x,), strict=strict)
    assert torch.equal(program.module()(x), module(x))
    assert module.make is torch.tensor


def test_a_function_overridden_by_code_is_the_same_object() -> None:
    """Its name, identity, defaults and results are its own again."""
    table = Overrides()

    def add(x, *, y=1):
        return x + y

    @table.override_code(add)
    def _add(original):
        return lambda x, **named: original(x, **named) * (10 if listening() else 1)

    code = add.__code__
    with table.installed():
        assert (add(1), add(1, y=2)) == (2, 3)
        with heard_by(object()):
            assert (add(1), add(1, y=2)) == (20, 30)
    assert (add(1), add(1, y=2)) == (2, 3)
    assert add.__code__ is code
    assert add.__kwdefaults__ == {"y": 1}
