"""Imports inside forward: what a library does when it is first imported is not the model's."""

import subprocess
import sys

import pytest

PROGRAM = """
import torch, monograph

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        {body}

model = Model()
x = torch.ones(2, 3)
program = monograph.export(model, (x,), strict={strict})
assert torch.equal(program.module()(x + 1), model(x + 1))
"""
BODIES = {
    "checkpoint": """from torch.utils.checkpoint import checkpoint
        return checkpoint(self.linear, x, use_reentrant=False)""",
    "sympy": """import sympy
        return self.linear(x) * int(sympy.Integer(2))""",
}


@pytest.mark.parametrize(
    ("name", "strict"), [("checkpoint", False), ("checkpoint", True), ("sympy", False)]
)
def test_in_a_process_that_has_not_imported_it(name, strict):
    """The program is right, and no error of the library's or ours."""
    program = PROGRAM.format(body=BODIES[name], strict=strict)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
