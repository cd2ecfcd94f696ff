"""Names are imported when they are first used, once, and are what they name."""

import sys
from types import ModuleType

import pytest

from monograph import lazy_imports


@pytest.fixture
def package(monkeypatch):
    """A package with one name imported late, and the table of late names as it was."""
    monkeypatch.setattr(lazy_imports, "DEFERRED", set())
    made = ModuleType("late_package")
    monkeypatch.setitem(sys.modules, "late_package", made)
    table = {"dumps": "json", "tools": "json.tool:"}
    made.__getattr__, made.__dir__ = lazy_imports.attributes("late_package", table)
    return made


def test_a_name_of_a_package_is_looked_up_once(package):
    """From then on it is an attribute like any other."""
    import json  # noqa: PLC0415

    assert "dumps" not in vars(package)
    assert package.dumps is json.dumps
    assert vars(package)["dumps"] is json.dumps
    assert package.tools is sys.modules["json.tool"]


def test_late_names_are_listed(package):
    """Whether they were used or not; another name is refused as usual."""
    assert {"dumps", "tools"} <= {*dir(package)}
    with pytest.raises(AttributeError, match="'late_package' has no attribute 'loads'"):
        package.loads  # noqa: B018


def test_a_function_is_imported_when_it_is_called(monkeypatch):
    """Naming it imports nothing, and enters it among what a test resolves."""
    monkeypatch.setattr(lazy_imports, "DEFERRED", set())
    monkeypatch.delitem(sys.modules, "json.tool", raising=False)
    late = lazy_imports.deferred("json.tool:main")
    assert "json.tool" not in sys.modules
    assert {"json.tool:main"} == lazy_imports.DEFERRED
    assert lazy_imports.deferred("json:dumps")([1]) == "[1]"
    with pytest.raises(TypeError, match="main"):
        late("it takes no arguments")
