"""Each verb with good, bad and hostile input; help says an example; nothing loads torch for it."""

import json
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

import monograph
from monograph import cli, lazy_imports
from monograph.cli.commands import app
from tests.repo.sources import environment

MODEL = """
import torch
import monograph

class Model(torch.nn.Module):
    def forward(self, x):
        return x.relu() * 2

class Refused(torch.nn.Module):
    def forward(self, x):
        return x.view(7)

def make():
    return Model(), (torch.randn(2, 4),)

def with_shapes():
    return Model(), (torch.randn(2, 4),), {}, {"x": {0: monograph.Dim("batch")}}

def refused():
    return Refused(), (torch.randn(2, 4),)

def nothing():
    return 3

number = 4
"""

VERBS = ["export", "inspect", "show", "run", "verify", "diff", "convert", "explain", "examples"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the models' source and a program lie."""
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monograph.save(monograph.export(torch.nn.ReLU(), (torch.ones(3),)), "relu.pt2")
    yield tmp_path
    sys.modules.pop("model", None)


def invoked(*words):
    """The exit status, and everything that was said."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("place", ["model.py:make", "model:make"])
def test_from_a_factory_to_a_file_that_is_right(folder, place):
    """Exported, shown, run, verified, and compared with itself."""
    assert invoked("export", place, "-o", "m.pt2", "--dynamic", "x: batch, 4")[0] == 0
    status, shown = invoked("show", "m.pt2")
    assert status == 0
    assert "torch.ops.aten.relu.default" in shown
    assert "f32[batch, 4]" in shown
    assert invoked("run", "m.pt2")[0] == 0
    assert invoked("verify", "m.pt2", "--module", place)[0] == 0
    assert invoked("diff", "m.pt2", "m.pt2") == (0, "no difference\n")


def test_shapes_of_the_factory(folder):
    """A factory may say which sizes vary."""
    status, said = invoked("export", "model.py:with_shapes", "-o", "m.pt2")
    assert status == 0, said
    assert "batch  0 …" in said


def test_differences_of_programs(folder):
    """Graphs, contracts and weights."""
    layer = torch.nn.Linear(4, 2)
    monograph.save(monograph.export(layer, (torch.ones(3, 4),)), "one.pt2")
    with torch.no_grad():
        layer.weight[0, 0] += 1
    monograph.save(monograph.export(layer, (torch.ones(5, 4),)), "other.pt2")
    status, said = invoked("diff", "one.pt2", "other.pt2")
    assert status == cli.WRONG
    assert "-    input  f32[3, 4]" in said
    assert "! weight: 1 of 8 elements differ" in said
    assert "+ " not in invoked("diff", "one.pt2", "one.pt2")[1]


@pytest.mark.parametrize("target", ["python", "torch"])
def test_conversions(folder, target):
    """The file is written, and its size said."""
    status, said = invoked("convert", "relu.pt2", "--to", target, "-o", "made")
    assert status == 0
    assert said.startswith("made: ")
    assert (folder / "made").stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("export", "model.py:refused", "-o", "m.pt2"), cli.WRONG, "view-impossible"),
        (("export", "model.py:nothing", "-o", "m.pt2"), cli.MISSING, "gives no module, but int"),
        (("export", "model.py:number", "-o", "m.pt2"), cli.MISSING, "neither a module nor"),
        (("export", "model.py", "-o", "m.pt2"), cli.MISSING, "write package.module:attribute"),
        (("export", "none.py:make", "-o", "m.pt2"), cli.MISSING, "there is no file none.py"),
        (("export", "model.py:make", "-o", "no/m.pt2"), cli.WRONG, "no/"),
        (("show", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("show", "model.py"), cli.WRONG, "archive-"),
        (("run", "model.py"), cli.WRONG, "archive-"),
        (("diff", "relu.pt2", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
        (("convert", "relu.pt2", "--to", "tape", "-o", "x"), cli.MISSING, "not to tape"),
        (("explain", "contract-brokn"), cli.MISSING, "did you mean contract-broken"),
        (("examples", "quantum", "flux"), cli.MISSING, "no case has all of that"),
        (("inspect", "none.pt2"), cli.MISSING, "there is no file none.pt2"),
    ],
)
def test_what_is_not_right_is_said_in_a_sentence(folder, words, status, said):
    """And the status tells what is wrong from what is not there."""
    given, text = invoked(*words)
    assert (given, said in text) == (status, True), text
    assert "Traceback" not in text
    assert "typer" not in text


def test_a_refused_export_writes_its_report(folder):
    """Problems as JSON, and no program."""
    done = invoked("export", "model.py:refused", "-o", "m.pt2", "--report", "problems.json")
    assert done[0] == cli.WRONG
    assert "view-impossible" in json.dumps(json.loads((folder / "problems.json").read_text()))
    assert not (folder / "m.pt2").exists()


def test_pages_and_examples():
    """By name, by words, by tag, and refused ones alone."""
    assert invoked("explain", "contract-broken")[1].startswith("# contract-broken")
    assert invoked("examples", "optional", "input")[1].startswith("optional_input")
    tagged = invoked("examples", "--tag", "torch.map")[1]
    assert tagged.startswith("dynamic_shape_map")
    refused = invoked("examples", "--unsupported")[1].splitlines()
    assert refused
    assert all("refused: " in line for line in refused)


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_an_example(verb):
    """What one would type."""
    status, said = invoked(verb, "--help")
    assert status == 0
    assert f"monograph {verb}" in said


def test_help_and_version_load_no_torch():
    """They answer at once."""
    script = (
        "import sys; from typer.testing import CliRunner; from monograph.cli.commands import app\n"
        "for word in ('--help', '--version'):\n"
        "    assert CliRunner().invoke(app, [word]).exit_code == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], env=environment(), check=True)


def test_as_a_module(folder):
    """`python -m monograph` is the command."""
    command = [sys.executable, "-m", "monograph", "inspect", "relu.pt2"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert "relu.default" in done.stdout


def test_without_typer_it_says_what_is_missing(monkeypatch, capsys):
    """The commands are an extra."""
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "monograph.cli.commands")
    again = lazy_imports.deferred("monograph.cli.commands:app")
    monkeypatch.setattr(cli, "_commands", again)
    with pytest.raises(SystemExit):
        cli.main()
    assert "pip install 'monograph[cli]'" in capsys.readouterr().err
