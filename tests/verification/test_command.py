"""`monograph verify`: exit status and words for good, bad and hostile files and modules."""

import json
import sys

import pytest
import torch

import monograph
from monograph import cli

MODEL = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 2)

def other():
    torch.manual_seed(1)
    return torch.nn.Linear(4, 2)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a model's source, its program, and the program with evidence."""
    (tmp_path / "model_to_verify.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 2)
    program = monograph.export(module, (torch.randn(3, 4),))
    monograph.save(program, "plain.pt2")
    evidence = monograph.verify(program, module).extra_files
    monograph.save(program, "with_evidence.pt2", extra_files=evidence)
    yield tmp_path
    sys.modules.pop("model_to_verify", None)


def test_right(place, capsys):
    """With the module, and with the evidence alone."""
    assert cli.verify("plain.pt2", "model_to_verify:make") == 0
    assert capsys.readouterr().out.startswith("no difference: 20 of 20 legal calls")
    assert cli.verify("with_evidence.pt2", samples=4) == 0
    assert cli.verify("plain.pt2", "model_to_verify:make", samples=4, as_json=True) == 0
    assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["right"]


def test_wrong(place, capsys):
    """Another module than the program was exported from."""
    assert cli.verify("plain.pt2", "model_to_verify:other") == cli.WRONG
    assert "weight: 8 of 8 values differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "module", "status", "words"),
    [
        ("nowhere.pt2", None, cli.MISSING, "there is no file nowhere.pt2"),
        ("plain.pt2", "nowhere:make", cli.MISSING, "there is no nowhere:make"),
        ("plain.pt2", "model_to_verify:none", cli.MISSING, "there is no model_to_verify:none"),
        ("plain.pt2", "model_to_verify", cli.MISSING, "write package.module:attribute"),
        ("plain.pt2", None, cli.WRONG, "nothing-to-verify-against"),
        ("model_to_verify.py", None, cli.WRONG, "archive-"),
    ],
)
def test_what_cannot_be_verified(place, capsys, file, module, status, words):
    """One clear sentence, and a status that says whose fault it is."""
    assert cli.verify(file, module) == status
    assert words in capsys.readouterr().err


def test_evidence_that_is_damaged_is_none(place, capsys):
    """Text that is no evidence is as good as none."""
    program = monograph.load("plain.pt2")
    for text in ("", "[]", '{"form": 99}', "{", '{"form": 1}'):
        monograph.save(program, "damaged.pt2", extra_files={"verification.json": text})
        assert cli.verify("damaged.pt2") == cli.WRONG
        assert "nothing-to-verify-against" in capsys.readouterr().err
