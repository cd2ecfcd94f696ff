"""What a file of torch.export writes to is known here, also through parts of a buffer."""

import torch
from torch import nn

from tests.archive.peers import loaded, quietly, saved_there
from tests.custom.programs import Model as Custom
from tests.custom.programs import writes_to_a_slice


class WritesPart(nn.Module):
    """Writes to one part of a buffer that was split."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4, 4))

    def forward(self, x):
        part, _ = self.state.split(2)
        part.add_(1)
        return x * self.state


def test_a_write_to_a_part_of_a_buffer_is_a_write_to_the_buffer():
    """The parts are results of one operator, which the graph takes by their places."""
    program = torch.export.export(WritesPart(), (torch.ones(4, 4),))
    assert "target='state'" in str(loaded(saved_there(program)).graph_signature)


def test_a_wrapped_write_to_a_view_of_a_size_that_varies():
    """The view that the file leaves out is inferred by what is known of its sizes."""
    module = Custom(writes_to_a_slice)
    shapes = (({0: torch.export.Dim.DYNAMIC},) * 2,)
    arguments = [torch.arange(4.0), torch.ones(4)]
    with quietly():
        there = torch.export.export(module, tuple(arguments), dynamic_shapes=shapes)
        content = saved_there(there.run_decompositions())
    program = loaded(content)
    for n in (2, 4, 7):
        given = [torch.arange(float(n)), torch.ones(n)]
        torch.testing.assert_close(program.module()(*given), module(*given))
