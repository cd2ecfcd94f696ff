"""Files say nothing of the machine that wrote them, unless they are asked to."""

import io
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

import monograph
from monograph.archive.source_paths import relative

FOLDERS = {str(Path(torch.__file__).parents[1]), str(Path(__file__).parent), str(Path.home())}


class Asks(nn.Module):
    """Lines of several packages, an assertion, a branch and a guard."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x):
        assert x.shape[0] > 3
        k = x.sum().int().item()
        torch._check(k > -10000)
        if x.sum() > 0:
            x = nn.functional.relu(x)
        return self.block(x)


def exported():
    """Export it with a size that varies."""
    return monograph.export(Asks(), (torch.randn(5, 4),), dynamic_shapes=({0: monograph.Dim.AUTO},))


def written(program, **options):
    """Return a file, and all that is in it."""
    file = io.BytesIO()
    monograph.save(program, file, **options)
    members = zipfile.ZipFile(file)
    text = b"\n".join(members.read(name) for name in members.namelist()).decode("latin-1")
    file.seek(0)
    return file, text


@pytest.mark.parametrize(
    "make",
    [
        exported,
        lambda: exported().run_decompositions({}),
        lambda: monograph.load(written(exported(), source_paths="all")[0]),
    ],
    ids=["captured", "lowered", "loaded"],
)
def test_no_folder_of_this_machine_is_named(make):
    """Files are named from the import path, and their lines are found again."""
    file, text = written(make())
    assert not [folder for folder in FOLDERS if folder in text]
    assert "test_source_paths.py" in text
    loaded = monograph.load(file)
    traces = [node.meta.get("stack_trace", "") for node in loaded.graph.nodes]
    assert any('File "torch/nn/modules/linear.py"' in each for each in traces)
    files = {each.file for node in loaded.graph.nodes for each in node.meta.get("frames", ())}
    assert all(Path(each).is_file() for each in files)
    with pytest.raises(monograph.MonographError, match=r"test_source_paths\.py:2\d"):
        loaded.module()(torch.randn(2, 4))


def test_absolute_paths_and_none_at_all():
    """Callers choose: as they are, or without a file and a line of code."""
    program = exported()
    assert __file__ in written(program, source_paths="all")[1]
    file, text = written(program, source_paths="none")
    assert ".py" not in text
    assert "torch.randn" not in text
    assert monograph.load(file).module()(torch.randn(7, 4)).shape == (7, 4)


def test_names_are_from_the_nearest_folder(monkeypatch):
    """The import path and the working folder; else the file's own name."""
    monkeypatch.setattr(sys, "path", ["/a", "/a/b/lib"])
    assert relative("/a/b/lib/torch/nn.py") == "torch/nn.py"
    assert relative("/a/model.py") == "model.py"
    assert relative(str(Path.cwd() / "one" / "model.py")) == "one/model.py"
    assert relative("/elsewhere/secret/model.py") == "model.py"
