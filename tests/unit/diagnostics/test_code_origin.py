"""Whose code it is does not depend on where and how a distribution was installed."""

from __future__ import annotations

import importlib
import json
import site
import sys
import sysconfig
import zipfile
from typing import TYPE_CHECKING

import pytest
import torch

from monograph import export
from monograph.diagnostics import MonographError
from monograph.diagnostics.code_origin import is_installed, is_standard, standard_part

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
import os
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 if os.environ.get("SWITCH_OF_A_LIBRARY") is None else x
"""
NUMBERS = iter(range(1000))


@pytest.fixture
def name(monkeypatch):
    """The name of a package that nobody imported yet; the path is put back afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"published_{next(NUMBERS)}"
    yield name
    sys.modules.pop(name, None)


def write_package(folder: Path, name: str) -> None:
    """The sources of a package."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(SOURCE)


def write_metadata(folder: Path, name: str, **files: str) -> None:
    """The metadata of an installed distribution that holds the package."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    for file, text in files.items():
        (info / file.replace("_json", ".json").replace("_txt", ".txt")).write_text(text)


def in_site_packages(folder: Path, name: str) -> None:
    """As pip, a user's install, and a base interpreter's shared packages have it."""
    write_package(folder / "lib" / "site-packages", name)
    sys.path.append(str(folder / "lib" / "site-packages"))


def in_dist_packages(folder: Path, name: str) -> None:
    """As Debian has it."""
    write_package(folder / "lib" / "dist-packages", name)
    sys.path.append(str(folder / "lib" / "dist-packages"))


def on_the_path(folder: Path, name: str) -> None:
    """As `pip install --target` and PYTHONPATH have it."""
    write_package(folder, name)
    write_metadata(folder, name, RECORD=f"{name}/__init__.py,,\n")
    sys.path.insert(0, str(folder))


def named_in_a_pth_file(folder: Path, name: str) -> None:
    """A folder of packages that a `.pth` file adds to the path."""
    on_the_path(folder / "shared", name)
    (folder / "site").mkdir()
    (folder / "site" / "shared.pth").write_text(f"{folder / 'shared'}\n")
    sys.path.remove(str(folder / "shared"))
    site.addsitedir(str(folder / "site"))


def editable(folder: Path, name: str) -> None:
    """The sources stay where they are developed."""
    write_package(folder / "project" / "src", name)
    url = {"url": (folder / "project").as_uri(), "dir_info": {"editable": True}}
    write_metadata(folder / "site", name, direct_url_json=json.dumps(url))
    (folder / "site" / f"{name}.pth").write_text(f"{folder / 'project' / 'src'}\n")
    site.addsitedir(str(folder / "site"))


def zipped(folder: Path, name: str) -> None:
    """A wheel that is on the path itself."""
    on_the_path(folder / "built", name)
    sys.path.remove(str(folder / "built"))
    archive = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as file:
        for each in (folder / "built").rglob("*"):
            file.write(each, each.relative_to(folder / "built"))
    sys.path.insert(0, str(archive))


INSTALLS = [in_site_packages, in_dist_packages, on_the_path, named_in_a_pth_file, editable, zipped]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("install", INSTALLS)
def test_switches_of_an_installed_library_are_reported_constants(tmp_path, name, install, strict):
    """However it was installed, it is not refused for what it reads of the environment."""
    install(tmp_path, name)
    package = importlib.import_module(name)
    assert is_installed(package.__file__)
    program = export(package.Model(), (torch.ones(2),), strict=strict)
    assert torch.equal(program.module()(torch.ones(2)), torch.full((2,), 2.0))
    assert "SWITCH_OF_A_LIBRARY" in str(program.report)


@pytest.mark.parametrize("strict", [True, False])
def test_what_the_users_own_file_reads_is_refused(tmp_path, name, strict):
    """A folder on the path without metadata is nobody's distribution."""
    write_package(tmp_path, name)
    write_metadata(tmp_path, f"another_{name}", RECORD=f"another_{name}.py,,\n")
    sys.path.insert(0, str(tmp_path))
    package = importlib.import_module(name)
    assert not is_installed(package.__file__)
    with pytest.raises(MonographError) as caught:
        export(package.Model(), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "outside-read"


def test_tests_beside_an_editable_package_are_the_users(tmp_path, name):
    """A project's root on the path: what is named is of the distribution, the rest is not."""
    write_package(tmp_path, name)
    url = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    write_metadata(tmp_path / "site", name, direct_url_json=json.dumps(url), top_level_txt=name)
    sys.path[:0] = [str(tmp_path), str(tmp_path / "site")]
    assert is_installed(str(tmp_path / name / "__init__.py"))
    assert not is_installed(str(tmp_path / "tests" / "test_it.py"))


def test_pythons_library():
    """Its packages of others lie within it, where no virtual environment is."""
    root = sysconfig.get_paths()["stdlib"]
    assert is_standard(f"{root}/json/decoder.py")
    assert standard_part(f"{root}/json/decoder.py") == "json/decoder.py"
    assert not is_installed(f"{root}/json/decoder.py")
    assert not is_standard(f"{root}/site-packages/einops/einops.py")
    assert is_installed(f"{root}/site-packages/einops/einops.py")
    assert not is_installed("<string>")
