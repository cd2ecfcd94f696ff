"""Overloads of ATen by name: what a version of PyTorch lacks is a line that nobody asks for."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from monograph import host
from monograph.host.overloads import ABSENT, LACKING, Absent, aten, present

LACKING_A_FIFTH = """
import zlib
import torch
from monograph.host import overloads

NEEDED = {"linear", "relu", "add", "detach", "alias", "addmm", "permute", "t", "mm"}

def lacks(name):
    return name not in NEEDED and zlib.crc32(name.encode()) % 5 == %d

class Packet(overloads._Packet):
    def __getattr__(self, overload):
        if not overload.startswith("_") and lacks(self._name.split(".")[1]):
            found = overloads.Absent(f"{self._name}.{overload}")
            setattr(self, overload, found)
            return found
        return super().__getattr__(overload)

overloads._Packet = Packet

import importlib, pkgutil
import monograph
for each in pkgutil.walk_packages(monograph.__path__, "monograph."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
program = monograph.export(module, (torch.ones(2, 3),)).run_decompositions()
x = torch.randn(2, 3)
assert torch.allclose(program.module()(x), module(x))
assert len(overloads.ABSENT) > 100
"""


def test_what_is_absent_is_known():
    """Of the versions that were verified, the table says what they lack."""
    version = ".".join(torch.__version__.split(".")[:2])
    expected = {name for name, first in LACKING.items() if _number(version) >= _number(first)}
    assert {each.name for each in ABSENT} >= expected
    assert {each.name for each in ABSENT if each.name.startswith("aten.")} - expected == set()


def test_an_absent_overload_is_in_no_table():
    """It has a name, is dropped by who enters rules, and says so when called."""
    missing = aten.no_such_operator.default
    assert isinstance(missing, Absent)
    assert missing is aten.no_such_operator.default
    assert list(present((missing, aten.add.Tensor))) == [torch.ops.aten.add.Tensor]
    with pytest.raises(
        NotImplementedError, match=r"aten\.no_such_operator\.default is not in PyTorch"
    ):
        missing(1)
    ABSENT.remove(missing)


@pytest.mark.parametrize("which", range(5))
def test_a_version_that_lacks_a_fifth_of_the_operators(which):
    """Everything is imported all the same, and what needs none of them is exported."""
    source = textwrap.dedent(LACKING_A_FIFTH).replace("%d", str(which))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _number(version):
    return tuple(map(int, version.split(".")))


def test_tables_are_written_with_it():
    """A file that names `torch.ops.aten` itself fails where an overload of its tables is gone."""
    files = Path(host.__file__).parent.parent.rglob("*.py")
    direct = [
        f.name
        for f in files
        if re.search(r"^_?aten\b.*= torch\.ops\.aten$", f.read_text(), re.MULTILINE)
    ]
    assert not direct
