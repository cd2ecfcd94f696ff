"""A program with captured branches is printed with all its bodies and their types."""

import pytest

import monograph
from tests.control_flow.branching import PROGRAMS, Branching

CAPTURED = [each for each in PROGRAMS.values() if not each.refused]


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.name)
def test_printed(program: Branching):
    """Every body appears once as a class."""
    exported = monograph.export(
        program.make(), tuple(each.clone() for each in program.calls[0]), control_flow="capture"
    )
    text = str(exported)
    bodies = [name for name, _ in exported.graph_module.named_modules() if "graph_" in name]
    assert all(f"class {name.rpartition('.')[2]}(torch.nn.Module)" in text for name in bodies)
