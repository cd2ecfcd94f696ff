"""A GPT of twelve layers in three stages, each in a process that knows its file alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import monograph
from bench.models import GPT
from tests.repo.sources import environment

SCRIPT = Path(__file__).with_name("processes.py")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["by-names", "pipelining"])
def test_three_processes_give_what_one_gives(tmp_path, how):
    """Values sent by their names, or PyTorch's schedule over microbatches."""
    module = GPT(n_layers=12, width=32, n_heads=2, n_tokens=50).eval()
    ids = torch.randint(0, 50, (2, 5))
    sizes = {"ids": {0: monograph.Dim("batch"), 1: monograph.Dim("seq", max=128)}}
    pipeline = monograph.export(module, (ids,), dynamic_shapes=sizes).split(3)
    for number, stage in enumerate(pipeline.stages):
        monograph.save(stage, tmp_path / f"stage_{number}.pt2")
    edges = [(edge.name, edge.source, edge.target) for edge in pipeline.edges]
    (tmp_path / "edges.json").write_text(json.dumps(edges))
    given = torch.randint(0, 50, (4, 9))
    torch.save(pipeline.inputs(given), tmp_path / "inputs.pt")
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    started = [
        subprocess.Popen([*command, str(rank), "3", how], env=environment()) for rank in range(3)
    ]
    try:
        assert [each.wait(240) for each in started] == [0, 0, 0]
    finally:
        for each in started:
            each.kill()
    torch.testing.assert_close(torch.load(tmp_path / f"{how}.pt"), module(given).detach())
