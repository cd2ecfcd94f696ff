"""The wheel and the sdist: built, installed into a clean environment, and used from outside.

The environment has nothing of its own but the wheel: PyTorch and the others are those of this one.
"""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.repo.sources import ROOT

pytestmark = pytest.mark.slow

DEMO = """
import torch, monograph

class Model(torch.nn.Module):
    def forward(self, x):
        return (x * 2).sum(0) if x.sum() > 0 else x.sum(0)

batch = monograph.Dim("batch", min=1, max=64)
program = monograph.export(Model(), (torch.ones(3, 2),), dynamic_shapes=({0: batch},))
monograph.save(program, "model.pt2")
again = monograph.load("model.pt2").module()
for sign in (1, -1):
    x = sign * torch.ones(7, 2)
    assert torch.equal(again(x), Model()(x))
print(monograph.__file__)
"""

TYPED = """
import monograph
from monograph import ExportedProgram

def loaded(path: str) -> ExportedProgram:
    return monograph.load(path)

wrong: int = monograph.load("model.pt2")
"""


def told(*command, folder, fails=False):
    """What a command says, run in a folder without this source tree."""
    done = subprocess.run(
        [str(each) for each in command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fails or done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the sdist, the wheel that is made of it, and an environment that has it."""
    folder = tmp_path_factory.mktemp("packaging")
    venv.create(folder / "env", with_pip=True)
    python, dist = folder / "env" / "bin" / "python", folder / "dist"
    try:
        import hatchling  # noqa: F401, PLC0415 - where there is no network it may be installed
    except ImportError:
        pip = [python, "-m", "pip", "install", "-q", "hatchling"]
        if subprocess.run(pip, capture_output=True, check=False).returncode:
            pytest.skip("hatchling cannot be installed here")
    site = sysconfig.get_path("purelib")
    (place,) = (folder / "env" / "lib").glob("python*/site-packages")
    (place / "beside.pth").write_text(site)
    told(python, "-m", "hatchling", "build", "-t", "sdist", "-d", dist, folder=ROOT)
    (sdist,) = dist.glob("*.tar.gz")
    offline = ["--no-deps", "--no-build-isolation", "-q"]
    told(python, "-m", "pip", "wheel", *offline, "-w", dist, sdist, folder=folder)
    (wheel,) = dist.glob("*.whl")
    told(python, "-m", "pip", "install", *offline, wheel, folder=folder)
    return folder, sdist, wheel


def test_what_is_inside(built):
    """The wheel has the two packages; the sdist has the tests, too, and nothing that was made."""
    _, sdist, wheel = built
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0].partition("-")[0] for name in names}
    assert roots == {"monograph", "monograph_exportdb"}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources <= set(names)
    assert "monograph/py.typed" in names
    with tarfile.open(sdist) as file:
        inside = [name.partition("/")[2] for name in file.getnames()]
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/conftest.py"} <= set(inside)
    assert not [name for name in inside if "__pycache__" in name or ".venv" in name]


def test_metadata(built):
    """Versions, the licence, the command, and extras all of whose names are there."""
    _, _, wheel = built
    with zipfile.ZipFile(wheel) as file:
        (name,) = (each for each in file.namelist() if each.endswith("METADATA"))
        head = Parser().parsestr(file.read(name).decode())
        entries = file.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert "monograph = monograph.cli:main" in entries
    needed = [Requirement(each) for each in head.get_all("Requires-Dist")]
    extras = set(head.get_all("Provides-Extra"))
    of_ours = {extra for each in needed if each.name == "monograph" for extra in each.extras}
    assert of_ours <= extras
    plain = {each.name for each in needed if each.marker is None}
    assert plain == {"torch", "numpy", "z3-solver"}
    assert SpecifierSet(head["Requires-Python"]) == SpecifierSet(">=3.11,<3.15")
    assert head["License-Expression"] == "BSD-3-Clause"
    assert all(f"Programming Language :: Python :: 3.{n}" in str(head) for n in (11, 12, 13))


def test_it_exports_saves_and_loads(built):
    """A model with a branch, at another size, from the installed files."""
    folder, _, _ = built
    (folder / "demo.py").write_text(DEMO)
    said = told(folder / "env" / "bin" / "python", "-W", "ignore", "demo.py", folder=folder)
    assert str(folder / "env") in said


def test_the_command_line(built):
    """`monograph inspect` and `monograph doctor`, as installed."""
    folder, _, _ = built
    test_it_exports_saves_and_loads(built)
    command = folder / "env" / "bin" / "monograph"
    assert "batch" in told(command, "inspect", "model.pt2", folder=folder)
    assert "it works" in told(command, "doctor", folder=folder)


def test_types_are_seen_from_outside(built):
    """`py.typed`: a type checker knows what `load` returns."""
    folder, _, _ = built
    checkers = [shutil.which(name) for name in ("mypy", "basedpyright")]
    beside = Path(sys.executable).with_name("basedpyright")
    checker = next(filter(None, checkers), str(beside) if beside.exists() else None)
    if checker is None:
        pytest.skip("there is no type checker here")
    (folder / "typed.py").write_text(TYPED)
    python = folder / "env" / "bin" / "python"
    option = "--python-executable" if checker.endswith("mypy") else "--pythonpath"
    said = told(checker, option, python, "typed.py", folder=folder, fails=True)
    wrong = [line for line in said.splitlines() if "error" in line and "typed.py" in line]
    assert len(wrong) == 1, said
    assert "ExportedProgram" in wrong[0]
