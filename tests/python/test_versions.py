"""The Pythons that may install the package are those whose bytecode it reads."""

import subprocess
import tomllib
import zipfile

import pytest
from packaging.specifiers import SpecifierSet

from monograph.bytecode.decoding import versions
from tests.python.pythons import ROOT, executable

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_version_that_may_install_it_has_a_decoder():
    """And every decoder is of such a version."""
    allowed = SpecifierSet(PROJECT["requires-python"])
    minors = [(3, minor) for minor in range(20)]
    assert [each for each in minors if "{}.{}".format(*each) in allowed] == versions()


def wheel(folder):
    """Make an empty package that asks for the Python that ours asks for."""
    path = folder / "monograph-0-py3-none-any.whl"
    needed = PROJECT["requires-python"]
    with zipfile.ZipFile(path, "w") as file:
        head = f"Metadata-Version: 2.1\nName: monograph\nVersion: 0\nRequires-Python: {needed}\n"
        file.writestr("monograph-0.dist-info/METADATA", head)
        file.writestr("monograph-0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("monograph-0.dist-info/RECORD", "")
    return path


def test_python_3_10_does_not_install_it(tmp_path):
    """Its code objects know neither qualified names nor columns (decision 0003); pip says so."""
    python = executable("3.10")
    if python is None:
        pytest.skip("there is no Python 3.10 here")
    options = ["--dry-run", "--no-deps", "--no-index", "--disable-pip-version-check"]
    told = subprocess.run(
        [python, "-m", "pip", "install", *options, str(wheel(tmp_path))],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named pip" in told.stderr:
        pytest.skip("that Python has no pip")
    assert told.returncode != 0
    assert "requires a different Python: 3.10" in told.stderr, told.stderr
