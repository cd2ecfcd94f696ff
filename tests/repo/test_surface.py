"""The public names are written down once, in order, and are all there."""

from types import ModuleType

import pytest

import monograph


def test_public_names_are_sorted_and_exist():
    """`monograph.__all__` is sorted, without repeats, and every name in it can be had."""
    names = monograph.__all__
    assert list(names) == sorted(set(names))
    assert [name for name in names if not hasattr(monograph, name)] == []


def test_nothing_public_is_unlisted():
    """`dir(monograph)` shows the public names, submodules, and nothing else."""
    module = ModuleType
    extra = [
        name
        for name, value in vars(monograph).items()
        if not (name.startswith("_") or isinstance(value, module) or name in monograph.__all__)
    ]
    assert extra == []


@pytest.mark.parametrize("name", monograph.__all__)
def test_public_names_say_what_they_are(name):
    """Every public class and function has a docstring."""
    value = getattr(monograph, name)
    assert not callable(value) or value.__doc__, f"monograph.{name} has no docstring"
