"""`monograph inspect`: what a file holds, as text; broken files are said to be so."""

import logging
import subprocess
import sys

import pytest
import torch

import monograph
from monograph import cli
from monograph.archive import inspection
from monograph.archive.inspecting import as_text
from tests.archive.peers import quietly
from tests.archive.test_files import every
from tests.repo.sources import environment


def linear():
    """Export a layer; the batch varies."""
    shapes = {"input": {0: monograph.Dim("batch", min=2, max=64)}}
    return monograph.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=shapes)


def test_it_says_what_a_file_holds(tmp_path, capsys):
    """Programs by name, their inputs, ranges, operators, state and who wrote them."""
    file = tmp_path / "two.pt2"
    programs = {"first": linear(), "second": every()}
    monograph.save(programs, file, extra_files={"notes.txt": "x"}, verify=False)
    assert cli.inspect(str(file)) == 0
    shown = capsys.readouterr().out
    for part in (
        "two.pt2: ",
        "extra files: 'notes.txt'",
        "program 'first'",
        "program 'second'",
        "written by monograph (schema 8.20",
        "f32[batch, 3]",
        "2 … 64",
        "1 calls of 1 operators",
        "aten.linear.default",
        "2 parameters (2 f32): 8 numbers, 32 bytes",
        "no buffers and constants",
        "with example inputs",
    ):
        assert part in shown, part


def test_it_reads_files_of_torch(tmp_path, capsys):
    """They are said to be torch.export's."""
    file = tmp_path / "theirs.pt2"
    with quietly():
        torch.export.save(torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),)), file)
    assert cli.inspect(str(file)) == 0
    assert "written by torch.export (schema 8." in capsys.readouterr().out


def test_broken_files_are_said_to_be(tmp_path, capsys):
    """A damaged program is named and the status is 1; the others are shown all the same."""
    file = tmp_path / "two.pt2"
    monograph.save({"first": linear(), "second": every()}, file, verify=False)
    content = file.read_bytes()
    at = content.index(b"archive/models/second.json") + 200
    file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert cli.inspect(str(file)) == 1
    shown = capsys.readouterr().out
    assert "cannot be read: " in shown
    assert shown.count("aten.linear.default") == 1
    file.write_bytes(content[:100])
    assert cli.inspect(str(file)) == 1
    assert "archive-damaged" in capsys.readouterr().err
    assert cli.inspect(str(tmp_path / "none.pt2")) == 2


def test_the_command_runs(tmp_path, capsys, monkeypatch):
    """With its options and its exit status: here where it succeeds, as a process where it fails."""
    pytest.importorskip("typer")
    file = tmp_path / "linear.pt2"
    monograph.save(linear(), file, verify=False)
    command = ["inspect", str(file), "--checksums"]
    monkeypatch.setattr(sys, "argv", ["monograph", *command])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code in {0, None}
    assert "aten.linear.default" in capsys.readouterr().out
    file.write_bytes(b"no program")
    program = "from monograph.cli import main; main()"
    arguments = [sys.executable, "-c", program, *command]
    done = subprocess.run(arguments, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "archive-damaged" in done.stderr


def test_what_torch_does_not_check_is_shown(tmp_path, caplog):
    """`inspect` lists the conditions that stay behind where torch.export reads the file."""

    class Picky(torch.nn.Module):
        def forward(self, x, y):
            if x.requires_grad:
                return x * 2
            x.add_(y)
            return x * y

    program = monograph.export(Picky(), (torch.ones(3), torch.ones(3))).run_decompositions()
    caplog.set_level(logging.INFO, "monograph.archive")
    monograph.save(program, tmp_path / "picky.pt2")
    for condition in ("x.requires_grad is False", "x apart from y in memory"):
        assert f"model: torch.export does not check {condition}" in caplog.text
        found = inspection(tmp_path / "picky.pt2")
        assert f"not checked by torch.export: {condition}" in as_text(found)
        assert condition in found["programs"][0]["unchecked_by_torch"]
        assert found["is_whole"]
