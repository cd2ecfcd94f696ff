"""Files open in a process that has imported nothing of what wrote them."""

import subprocess
import sys

import torch
from transformers.modeling_outputs import BaseModelOutput

import monograph

READ = """
import sys
import monograph
program = monograph.load(sys.argv[1])
assert "transformers.modeling_outputs" in sys.modules
print(type(program.module()(*program.example_inputs[0])).__name__)
"""


class Gives(torch.nn.Module):
    """Its result is of a class of transformers."""

    def forward(self, x):
        """Wrap it."""
        return BaseModelOutput(last_hidden_state=x * 2)


def test_results_of_transformers(tmp_path):
    """Their classes are registered by the one module that is imported for them."""
    monograph.save(monograph.export(Gives(), (torch.ones(3),)), tmp_path / "program.pt2")
    command = [sys.executable, "-c", READ, str(tmp_path / "program.pt2")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "BaseModelOutput"
